//! Links of Markdown files to files and headings of the repository.

use std::collections::BTreeSet;

use crate::{
    problem::Problem,
    repository::{File, Repository},
};

/// Checks every relative link, and the heading that it names.
pub(super) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in repository.ending(".md") {
        for (line, link) in links(file) {
            if let Some((what, repair)) = broken(repository, file, &link) {
                problems.push(Problem::new("links", &file.path, what, repair).at(line));
            }
        }
    }
    problems
}

/// What is wrong with a link, and what to do.
fn broken(repository: &Repository, file: &File, link: &str) -> Option<(String, &'static str)> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
    let target = if path.is_empty() { Some(file.path.clone()) } else { resolved(&file.path, path) };
    let Some(target) = target.filter(|target| repository.has(target)) else {
        return Some((
            format!("links to `{path}`, which is not there"),
            "correct the path, relative to this file",
        ));
    };
    let page = repository.file(&target).filter(|page| page.path.ends_with(".md"))?;
    let anchor = anchor.filter(|anchor| !anchors(page).contains(*anchor))?;
    let what = format!("links to `#{anchor}`, a heading that {target} does not have");
    Some((what, "name a heading as GitHub does: lower case, `-` for blanks"))
}

/// A path relative to a file, as one of the repository; `None` when it leads out of it.
fn resolved(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Targets of `[text](target)` and `[name]: target`, with their lines.
fn links(file: &File) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (line, text) in prose(file) {
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

/// The lines outside of code blocks.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter(move |(_, text)| {
        let fence = text.trim_start().starts_with("```");
        fenced ^= fence;
        !fenced && !fence
    })
}

/// A line without its `code`.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// The names that headings can be linked by.
fn anchors(page: &File) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, text) in prose(page) {
        let Some(heading) = text.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
        let name: String = heading.trim().to_lowercase().chars().filter(kept).collect();
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
    fn links_lead_somewhere() {
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
    fn headings_are_there() {
        let page =
            "# The Page: `x`, twice\n## Same\n## Same\n[1](#the-page-x-twice) [2](#same-1) [3](#same-2)\n";
        let other = "[1](page.md#same) [2](page.md#other)\n";
        assert_problems(check, &[("page.md", page), ("z.md", other)], &["page.md:4 links", "z.md:1 links"]);
    }

    #[test]
    fn code_is_no_prose() {
        assert_problems(check, &[("a.md", "```\n[a](none.md)\n```\n`[b](none.md)`\n")], &[]);
    }
}
