//! Checks links in Markdown files to files and headings of the repository.

use std::collections::BTreeSet;

use crate::{
    repository::{RepositoryFiles, SourceFile, resolve_relative_path},
    violation::RuleViolation,
};

/// Checks that the file and the heading of every relative link exist.
pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for file in repository.with_suffix(".md") {
        for (line, link) in find_links(file) {
            if let Some((what, repair)) = check_link(repository, file, &link) {
                problems.push(RuleViolation::new("links", &file.path, what, repair).at_line(line));
            }
        }
    }
    problems
}

/// Returns the problem of a link and its fix, or `None` if the link is valid.
fn check_link(repository: &RepositoryFiles, file: &SourceFile, link: &str) -> Option<(String, &'static str)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target =
        if path.is_empty() { Some(file.path.clone()) } else { resolve_relative_path(&file.path, path) };
    let Some(target) = target.filter(|target| repository.contains_path(target)) else {
        return Some((format!("broken link to `{path}`"), "fix the path, relative to this file"));
    };
    let page = repository.find_file(&target).filter(|page| page.path.ends_with(".md"))?;
    let anchor = anchor.filter(|anchor| !heading_anchors(page).contains(*anchor))?;
    let what = format!("broken link to the heading `#{anchor}` of {target}");
    Some((what, "use the anchor of a heading as on GitHub: lower case, `-` for spaces"))
}

/// Returns the targets of `[label](target)` and `[name]: target`, with their line numbers.
fn find_links(file: &SourceFile) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in prose_lines(file) {
        let text = without_code(text);
        for (at, _) in text.match_indices("](") {
            let rest = &text[at + 2..];
            if let Some(end) = rest.find([')', ' ']) {
                found.push((line, rest[..end].trim_matches(['<', '>']).to_owned()));
            }
        }
        if let Some((_, target)) = text.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            found.push((line, target.split_whitespace().next().unwrap_or_default().to_owned()));
        }
    }
    found.retain(|(_, link)| !link.is_empty());
    found
}

/// Returns the lines outside of code blocks.
fn prose_lines(file: &SourceFile) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.numbered_lines().filter(move |(_, text)| {
        let fence = text.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// Removes inline `code` from a line.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

fn heading_anchors(page: &SourceFile) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in prose_lines(page) {
        let Some(heading) = text.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = heading.trim().to_lowercase().chars().filter(is_kept).collect();
        let name = name.replace(' ', "-");
        let mut unique = name.clone();
        let mut number = 0;
        while !found.insert(unique) {
            number += 1;
            unique = format!("{name}-{number}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    #[test]
    fn broken_links_are_reported() {
        let page = "# Page\n\n[a](a.md) [up](../README.md) [folder](sub/) [web](https://example.com) [b](<b.md>)\n\n[ref]: c.md\n";
        assert_problems(
            check,
            &[
                ("docs/page.md", page),
                ("docs/a.md", ""),
                ("docs/sub/x.md", ""),
                ("README.md", "[out](../x)\n"),
            ],
            &["README.md:1 links", "docs/page.md:3 links", "docs/page.md:5 links"],
        );
    }

    #[test]
    fn links_to_missing_headings_are_reported() {
        let page =
            "# The Page: `x`, twice\n## Same\n## Same\n[1](#the-page-x-twice) [2](#same-1) [3](#same-2)\n";
        let other = "[1](page.md#same) [2](page.md#other)\n";
        assert_problems(check, &[("page.md", page), ("z.md", other)], &["page.md:4 links", "z.md:1 links"]);
    }

    #[test]
    fn links_in_code_are_ignored() {
        assert_problems(check, &[("a.md", "```\n[a](none.md)\n```\n`[b](none.md)`\n")], &[]);
    }
}
