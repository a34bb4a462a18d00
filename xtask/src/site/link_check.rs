//! Finds broken links between the files of a folder of HTML pages.
//!
//! Checks that the file of each relative `href` and `src` exists, and that its page has the fragment. Does not
//! send requests: addresses with a scheme are not checked.

use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs, io,
    path::Path,
};

use super::{
    API_FOLDER,
    attributes::{TagAttribute, read_attributes},
    list_files,
};
use crate::{repository::resolve_relative_path, violation::RuleViolation};

/// Broken links in documentation that rustdoc copies from other crates: tracing, http and axum.
const COPIED_LINKS: [&str; 4] = [
    "dispatcher#setting-the-default-subscriber",
    "struct.GetAll.html",
    "crate#sharing-state-with-handlers",
    "middleware/index.html#routing-to-servicesmiddleware-and-backpressure",
];
/// The folder of rustdoc's lists of implementations. The page of a trait refers to its list even if there is none.
const IMPLEMENTATION_LISTS: &str = "/trait.impl/";

/// The fragments and the links of a page.
#[derive(Clone, Debug, Default)]
struct SitePage {
    fragments: HashSet<String>,
    links: BTreeSet<String>,
}

/// Returns each broken link, sorted by page.
///
/// # Errors
/// Returns an error if a file cannot be read.
pub(super) fn find_broken_links(site: &Path) -> io::Result<Vec<RuleViolation>> {
    let mut pages: BTreeMap<String, Option<SitePage>> = BTreeMap::new();
    for path in list_files(site)? {
        let is_page = path.ends_with(".html");
        let page = if is_page { Some(SitePage::parse(&fs::read_to_string(site.join(&path))?)) } else { None };
        pages.insert(path, page);
    }
    let mut problems = Vec::new();
    for (path, page) in &pages {
        for link in page.iter().flat_map(|page| &page.links) {
            let is_excluded = path.starts_with(&format!("{API_FOLDER}/"))
                && (COPIED_LINKS.contains(&link.as_str()) || link.contains(IMPLEMENTATION_LISTS));
            if is_excluded {
                continue;
            }
            if let Some(reason) = check_link(&pages, path, link) {
                let what = format!("broken link `{link}`: {reason}");
                problems.push(RuleViolation::new(
                    "site",
                    path,
                    what,
                    "fix the link in the source of the page",
                ));
            }
        }
    }
    Ok(problems)
}

/// Returns the problem of a link, or `None` if the link is valid.
fn check_link(pages: &BTreeMap<String, Option<SitePage>>, page: &str, link: &str) -> Option<&'static str> {
    if !is_relative(link) {
        return None;
    }
    let (path, fragment) = split_fragment(link);
    let path = path.split('?').next().unwrap_or_default();
    if path.starts_with('/') {
        return Some("the site is not at the root of its host; use a relative link");
    }
    let target = if path.is_empty() {
        page.to_owned()
    } else {
        let Some(target) = resolve_relative_path(page, &decode_percent(path)) else {
            return Some("leads out of the site");
        };
        target
    };
    let index = format!("{target}/index.html");
    let index = index.trim_start_matches('/');
    let Some((target, found)) = pages.get_key_value(&target).or_else(|| pages.get_key_value(index)) else {
        return Some("no such file");
    };
    let found = found.as_ref().filter(|_| !fragment.is_empty() && !is_line_range(target, fragment))?;
    // Browsers compare the fragment as written, and then decoded.
    let exists = found.fragments.contains(fragment) || found.fragments.contains(&decode_percent(fragment));
    (!exists).then_some("no such fragment")
}

/// Returns true for lines of a source file, such as `#12-20`, which rustdoc finds with a script.
fn is_line_range(page: &str, fragment: &str) -> bool {
    page.contains("/src/") && fragment.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Returns true for addresses without a scheme and without a host.
pub(super) fn is_relative(link: &str) -> bool {
    let end = link.find(['/', '?', '#']).unwrap_or(link.len());
    !link.starts_with("//") && !link[..end].contains(':')
}

/// Splits a link into its path and its fragment, which is empty if the link has none.
pub(super) fn split_fragment(link: &str) -> (&str, &str) {
    link.split_once('#').unwrap_or((link, ""))
}

/// Decodes `%20`. Invalid sequences remain as written.
fn decode_percent(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = tail.get(..2).filter(|_| *first == b'%').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// Decodes the character references that mdBook and rustdoc write in attributes.
fn decode_references(text: &str) -> String {
    let text = text.replace("&quot;", "\"").replace("&#39;", "'").replace("&#x27;", "'");
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

impl SitePage {
    fn parse(html: &str) -> Self {
        let mut page = Self::default();
        for TagAttribute { tag, name, value, .. } in read_attributes(html) {
            match (tag, name) {
                (_, "id") | ("a", "name") => {
                    page.fragments.insert(decode_references(value));
                }
                ("base", _) => {}
                (_, "href" | "src") => {
                    page.links.insert(decode_references(value));
                }
                _ => {}
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files into a folder, and returns the pages with broken links and the reasons.
    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let problems = find_broken_links(folder.path()).unwrap();
        problems.into_iter().map(|problem| format!("{}: {}", problem.file, problem.message)).collect()
    }

    #[test]
    fn valid_links_are_accepted() {
        let index = "<a href=sub/page.html><a href='sub/page.html?x=1#one'><a href=sub/><a href=#><a href=#top>\
                     <h1 id=top><img src=\"a%20b.svg\"><a href=https://example.com/none><a href=mailto:a@b.c>\
                     <a href=//example.com/none>";
        let page =
            "<p id=one><a name=two><a href=../index.html#top><a href=#two><a href=..><a href=index.html#1>";
        let files =
            [("index.html", index), ("sub/page.html", page), ("sub/index.html", "<p id=1>"), ("a b.svg", "")];
        assert_eq!(check(&files), [""; 0]);
    }

    #[test]
    fn broken_links_are_reported() {
        let page = "<p id=one><a href=none.html><img src=none.svg><a href=#two><a href=index.html#one>\
                    <a href=../../x><a href=/sub/page.html>";
        let expected = [
            "sub/page.html: broken link `#two`: no such fragment",
            "sub/page.html: broken link `../../x`: leads out of the site",
            "sub/page.html: broken link `/sub/page.html`: the site is not at the root of its host; use a relative link",
            "sub/page.html: broken link `index.html#one`: no such fragment",
            "sub/page.html: broken link `none.html`: no such file",
            "sub/page.html: broken link `none.svg`: no such file",
        ];
        assert_eq!(check(&[("sub/page.html", page), ("sub/index.html", "<p id=two>")]), expected);
    }

    #[test]
    fn encoded_fragments_are_compared_in_both_forms() {
        let page = "<p id=\"impl-A%3CT%3E\"><p id='b&amp;c'><p id=é><a href=#impl-A%3CT%3E><a href=#b&amp;c><a href=#%C3%A9>\
                    <a href=#%zz>";
        assert_eq!(check(&[("a.html", page)]), ["a.html: broken link `#%zz`: no such fragment"]);
    }

    #[test]
    fn links_that_rustdoc_creates_or_copies_are_excluded() {
        let page = "<a href=struct.GetAll.html><script src=../trait.impl/a/trait.A.js></script>";
        assert_eq!(check(&[("api/a/index.html", page)]), [""; 0]);
        assert_eq!(check(&[("a/index.html", page)]).len(), 2);
    }

    #[test]
    fn lines_of_source_files_are_not_fragments() {
        let files = [
            ("api/src/a/lib.rs.html", "<a id=1>"),
            ("api/a/index.html", "<a href=../src/a/lib.rs.html#1-20><a href=../src/a/lib.rs.html#x>"),
        ];
        assert_eq!(
            check(&files),
            ["api/a/index.html: broken link `../src/a/lib.rs.html#x`: no such fragment"]
        );
    }
}
