//! `[[pages]]`: operations that answer page by page.

use serde::Deserialize;

use super::Selection;

/// `[[pages]]`: operations whose answers are pages of a list, and how one page leads to the next.
///
/// Exactly one of the last six is given. Pointers are JSON Pointers into a success's body.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Pages {
    /// The operations, by `operationId`.
    pub operations: Vec<String>,
    /// More of them, by tag, path or id with wildcards: those of what they choose whose parameters
    /// and answers fit.
    pub include: Vec<Selection>,
    /// The array of items; the whole body unless it is said.
    pub items: String,
    /// A member of the page is the parameter of the next.
    pub cursor: Option<CursorWay>,
    /// A member of the page's last item is the parameter of the next.
    pub last_item: Option<CursorWay>,
    /// The relation of a `Link` header that names the next page.
    pub link: Option<LinkWay>,
    /// A member of the page is the URL of the next.
    pub next_url: Option<UrlWay>,
    /// A parameter counts the items before the page.
    pub offset: Option<OffsetWay>,
    /// A parameter counts the pages.
    pub page: Option<PageWay>,
}

/// `cursor`, `last-item`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CursorWay {
    /// Where it stands: in the body, or in an item.
    pub from: String,
    /// The parameter of the query that takes it.
    pub to: String,
    /// Where the body says whether there is a next page.
    pub more: Option<String>,
}

/// `link`: `"next"`, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`link` is a relation (`\"next\"`), or `{ rel = \"next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum LinkWay {
    /// The relation.
    Rel(String),
    /// The same, and which targets are followed.
    Of(LinkTable),
}

/// `link = { rel = "next", targets = "origin" }`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkTable {
    /// The relation.
    pub rel: String,
    /// Which targets are followed.
    #[serde(default)]
    pub targets: Targets,
}

/// `next-url`: a pointer, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`next-url` is a JSON Pointer (`\"/next\"`), or `{ from = \"/next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum UrlWay {
    /// Where it stands.
    From(String),
    /// The same, and which targets are followed.
    Of(UrlTable),
}

/// `next-url = { from = "/next", targets = "origin" }`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct UrlTable {
    /// Where it stands.
    pub from: String,
    /// Which targets are followed.
    #[serde(default)]
    pub targets: Targets,
}

/// Which targets of links are followed: of a target its query alone, at the address of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Targets {
    /// Those of the call's path.
    #[default]
    Path,
    /// Those of any path of the origin.
    Origin,
    /// Those of any origin.
    Any,
}

/// `offset`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OffsetWay {
    /// The parameter of the query.
    pub to: String,
    /// By how much it grows.
    #[serde(default)]
    pub by: OffsetBy,
    /// What it is where a caller leaves it out: the contract's default, or 0, unless it is said.
    pub first: Option<u64>,
    /// The parameter that says how many items a page has at most. A page with fewer is the last,
    /// unless the offset grows by it.
    pub limit: Option<String>,
    /// Where the body says how many items there are.
    pub total: Option<String>,
}

/// By how much an offset grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffsetBy {
    /// By the items of the page.
    #[default]
    Items,
    /// By the limit: a page may have fewer and not be the last.
    Limit,
}

/// `page`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PageWay {
    /// The parameter of the query.
    pub to: String,
    /// The number of the first page: the contract's default, or 1, unless it is said.
    pub first: Option<u64>,
    /// The parameter that says how many items a page has at most: a page with fewer is the last.
    pub limit: Option<String>,
    /// Where the body says how many pages there are.
    pub total_pages: Option<String>,
}

impl LinkWay {
    /// The relation, and which targets are followed.
    #[must_use]
    pub fn parts(&self) -> (&str, Targets) {
        match self {
            Self::Rel(rel) => (rel, Targets::default()),
            Self::Of(table) => (&table.rel, table.targets),
        }
    }
}

impl UrlWay {
    /// The pointer, and which targets are followed.
    #[must_use]
    pub fn parts(&self) -> (&str, Targets) {
        match self {
            Self::From(from) => (from, Targets::default()),
            Self::Of(table) => (&table.from, table.targets),
        }
    }
}

impl Pages {
    /// The ways that are given, by their names in the file.
    #[must_use]
    pub fn ways(&self) -> Vec<&'static str> {
        let Self { cursor, last_item, link, next_url, offset, page, .. } = self;
        let all = [
            ("cursor", cursor.is_some()),
            ("last-item", last_item.is_some()),
            ("link", link.is_some()),
            ("next-url", next_url.is_some()),
            ("offset", offset.is_some()),
            ("page", page.is_some()),
        ];
        all.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
    }
}
