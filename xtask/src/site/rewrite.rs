//! Changes the links of the book that lead out of it, so that they work on the site.
//!
//! In the sources, such links are relative to the Markdown file, so that they work in a checkout and at the
//! code host. mdBook keeps them, and replaces `.md` with `.html`.

use std::collections::BTreeMap;

use super::{
    API_FOLDER, PLAYGROUND_PAGES, PLAYGROUND_SOURCE,
    attributes::read_attributes,
    link_check::{is_relative, split_fragment},
};
use crate::repository::{RepositoryFiles, resolve_relative_path};

const BOOK_FOLDER: &str = "docs/book/";
/// The pages that consist of the beginning of README.md, whose links are relative to the repository.
const README_PAGES: [&str; 2] = ["index.html", "introduction.html"];

pub(super) struct LinkRewriter<'a> {
    files: &'a RepositoryFiles,
    /// The address of the repository's root folder, without `/` at the end.
    address: String,
    /// The pages of the site by the file of the repository: each documented crate by the path of its `lib.rs`,
    /// and the playground.
    built_pages: BTreeMap<String, String>,
}

impl<'a> LinkRewriter<'a> {
    /// Creates a rewriter from the files, the address, and the folders of the documented crates by name.
    pub(super) fn new(
        files: &'a RepositoryFiles,
        address: String,
        crates: &BTreeMap<String, String>,
    ) -> Self {
        let page = |(name, folder): (&String, &String)| {
            let library = name.replace('-', "_");
            (format!("{folder}/src/lib.rs"), format!("{API_FOLDER}/{library}/index.html"))
        };
        let playground = (PLAYGROUND_SOURCE.to_owned(), format!("{PLAYGROUND_PAGES}/index.html"));
        Self { files, address, built_pages: crates.iter().map(page).chain([playground]).collect() }
    }

    /// Returns the page with changed links. The path of the page is relative to the site.
    ///
    /// Links that lead nowhere are not changed, so that the link check reports them.
    pub(super) fn rewrite_page(&self, page: &str, html: &str) -> String {
        let mut out = String::with_capacity(html.len());
        let mut copied = 0;
        for attribute in read_attributes(html) {
            let is_link = matches!((attribute.tag, attribute.name), ("a", "href") | ("img", "src"));
            if !is_link || !is_relative(attribute.value) {
                continue;
            }
            if let Some(link) = self.rewrite_link(page, attribute.value) {
                out.push_str(&html[copied..attribute.range.start]);
                out.push_str(&link);
                copied = attribute.range.end;
            }
        }
        out.push_str(&html[copied..]);
        out
    }

    /// Returns the changed link, or `None` if the link stays within the book.
    fn rewrite_link(&self, page: &str, link: &str) -> Option<String> {
        let (path, fragment) = split_fragment(link);
        let folder = if README_PAGES.contains(&page) { "" } else { BOOK_FOLDER };
        let target = resolve_relative_path(&format!("{folder}{page}"), path).filter(|_| !path.is_empty())?;
        let source = target.strip_suffix(".html").map(|stem| format!("{stem}.md"));
        let source = source.filter(|source| self.files.contains_path(source)).unwrap_or(target);
        let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        // The way from the page to the root folder of the site.
        let root = "../".repeat(page.matches('/').count());
        if let Some(built_page) = self.built_pages.get(&source) {
            return Some(format!("{root}{built_page}{fragment}"));
        }
        match source.strip_prefix(BOOK_FOLDER) {
            Some("README.md") => Some(format!("{root}index.html{fragment}")),
            // mdBook resolves links between the pages, but not those from README.md.
            Some(_) if !folder.is_empty() => None,
            Some(path) => {
                let path =
                    path.strip_suffix(".md").map_or_else(|| path.to_owned(), |stem| format!("{stem}.html"));
                Some(format!("{root}{path}{fragment}"))
            }
            None if source.is_empty() || !self.files.contains_path(&source) => None,
            None => Some(format!("{}/{source}{fragment}", self.address)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(page: &str, html: &str) -> String {
        let files = RepositoryFiles::from_files(&[
            ("README.md", ""),
            ("BENCHMARKS.md", ""),
            ("docs/book/README.md", ""),
            ("docs/book/a.md", ""),
            ("docs/book/b.md", ""),
            ("docs/book/images/x.svg", ""),
            ("docs/releasing.md", ""),
            ("lib/src/lib.rs", ""),
            (PLAYGROUND_SOURCE, ""),
        ]);
        let crates = BTreeMap::from([("my-lib".to_owned(), "lib".to_owned())]);
        LinkRewriter::new(&files, "https://host/x".to_owned(), &crates).rewrite_page(page, html)
    }

    #[test]
    fn links_out_of_the_book_lead_to_the_repository() {
        for (link, expected) in [
            ("../../BENCHMARKS.html#sizes", "https://host/x/BENCHMARKS.md#sizes"),
            ("../releasing.html", "https://host/x/docs/releasing.md"),
            ("../../lib", "https://host/x/lib"),
            ("../../lib/src/lib.rs", "api/my_lib/index.html"),
            ("../../codegen/playground/web/index.html", "playground/index.html"),
            ("README.html", "index.html"),
        ] {
            let page = |link: &str| format!("<p><a href=\"{link}\">é</a></p>");
            assert_eq!(rewrite("a.html", &page(link)), page(expected), "{link}");
        }
    }

    #[test]
    fn other_links_are_kept() {
        for link in
            ["b.html#x", "#x", "https://host/y.html", "../../none.html", "../../../out.html", "images/x.svg"]
        {
            let page = format!("<a href=\"{link}\"><img src={link}>");
            assert_eq!(rewrite("a.html", &page), page);
        }
    }

    #[test]
    fn links_of_the_readme_are_relative_to_the_repository() {
        let page = "<a href=a.html></a><a href=docs/book/b.html#x></a><img src=docs/book/images/x.svg>\
                    <a href=BENCHMARKS.html></a><a href=docs/book/README.html></a>";
        let expected = "<a href=a.html></a><a href=b.html#x></a><img src=images/x.svg>\
                        <a href=https://host/x/BENCHMARKS.md></a><a href=index.html></a>";
        assert_eq!(rewrite("index.html", page), expected);
    }
}
