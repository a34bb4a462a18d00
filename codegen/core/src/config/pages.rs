//! The tables `[[pages]]`: paginated operations.

use serde::Deserialize;

use super::OperationSelector;

/// A table `[[pages]]`: operations that return a list page by page, and the strategy that finds the next
/// page.
///
/// Exactly one of the last six members must be given. Pointers are JSON Pointers into the body of a success.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PaginationConfig {
    /// The `operationId`s of the operations.
    pub operations: Vec<String>,
    /// Selectors of further operations. Those whose parameters and responses do not fit are skipped.
    pub include: Vec<OperationSelector>,
    /// The pointer of the array of items; the default is the whole body.
    pub items: String,
    /// A value of the page is a query parameter of the next request.
    pub cursor: Option<CursorPagination>,
    /// A value of the page's last item is a query parameter of the next request.
    pub last_item: Option<CursorPagination>,
    /// The relation of the `Link` header that names the next page.
    pub link: Option<LinkPagination>,
    /// A value of the page is the URL of the next page.
    pub next_url: Option<NextUrlPagination>,
    /// A query parameter counts the items before the page.
    pub offset: Option<OffsetPagination>,
    /// A query parameter counts the pages.
    pub page: Option<PageNumberPagination>,
}

/// The strategies `cursor` and `last-item`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CursorPagination {
    /// The pointer of the cursor, in the body or in an item.
    pub from: String,
    /// The query parameter that receives the cursor.
    pub to: String,
    /// The pointer of a boolean in the body that is true if there is a next page.
    pub more: Option<String>,
}

/// The strategy `link`: a relation such as `"next"`, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`link` is a relation (`\"next\"`), or `{ rel = \"next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum LinkPagination {
    /// The relation of the link.
    Rel(String),
    /// The relation with the allowed targets.
    Table(LinkPaginationTable),
}

/// The table form of `link`: `{ rel = "next", targets = "origin" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkPaginationTable {
    /// The relation of the link.
    pub rel: String,
    /// The allowed targets of the link.
    #[serde(default)]
    pub targets: LinkTargetScope,
}

/// The strategy `next-url`: a pointer, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`next-url` is a JSON Pointer (`\"/next\"`), or `{ from = \"/next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum NextUrlPagination {
    /// The pointer of the URL in the body.
    From(String),
    /// The pointer with the allowed targets.
    Table(NextUrlTable),
}

/// The table form of `next-url`: `{ from = "/next", targets = "origin" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NextUrlTable {
    /// The pointer of the URL in the body.
    pub from: String,
    /// The allowed targets of the URL.
    #[serde(default)]
    pub targets: LinkTargetScope,
}

/// The links that are followed. Only the query of a target is used, at the URL of the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkTargetScope {
    /// Links to the path of the call.
    #[default]
    Path,
    /// Links to any path of the same origin.
    Origin,
    /// Links to any origin and path.
    Any,
}

/// The strategy `offset`: a parameter counts items.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OffsetPagination {
    /// The query parameter that receives the offset.
    pub to: String,
    /// The increment from one page to the next.
    #[serde(default)]
    pub by: OffsetIncrement,
    /// The first offset if the caller omits it; the default is that of the contract, or 0.
    pub first: Option<u64>,
    /// The parameter with the maximum number of items of a page. A page with fewer items is the last one,
    /// unless the offset grows by this parameter.
    pub limit: Option<String>,
    /// The pointer of the total number of items in the body.
    pub total: Option<String>,
}

/// The increment of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffsetIncrement {
    /// The number of items on the page.
    #[default]
    Items,
    /// The limit: a page with fewer items need not be the last one.
    Limit,
}

/// The strategy `page`: a parameter counts pages.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PageNumberPagination {
    /// The query parameter that receives the page number.
    pub to: String,
    /// The number of the first page; the default is that of the contract, or 1.
    pub first: Option<u64>,
    /// The parameter with the maximum number of items of a page. A page with fewer items is the last one.
    pub limit: Option<String>,
    /// The pointer of the total number of pages in the body.
    pub total_pages: Option<String>,
    /// The pointer of the total number of items in the body.
    pub total: Option<String>,
}

impl LinkPagination {
    /// Returns the relation and the allowed targets.
    #[must_use]
    pub fn relation_and_scope(&self) -> (&str, LinkTargetScope) {
        match self {
            Self::Rel(rel) => (rel, LinkTargetScope::default()),
            Self::Table(table) => (&table.rel, table.targets),
        }
    }
}

impl NextUrlPagination {
    /// Returns the pointer and the allowed targets.
    #[must_use]
    pub fn pointer_and_scope(&self) -> (&str, LinkTargetScope) {
        match self {
            Self::From(from) => (from, LinkTargetScope::default()),
            Self::Table(table) => (&table.from, table.targets),
        }
    }
}

impl PaginationConfig {
    /// Returns the names of the given strategies, as spelled in the file.
    #[must_use]
    pub fn strategy_names(&self) -> Vec<&'static str> {
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
