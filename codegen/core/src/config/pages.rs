//! The tables `[[pages]]`: paginated operations.

use serde::Deserialize;

use super::OperationSelector;

/// A table `[[pages]]`: operations that return a list page by page, and the strategy by which the client
/// finds the next page.
///
/// Exactly one strategy must be given: `cursor`, `last-item`, `link`, `next-url`, `offset` or `page`.
/// Pointers are JSON Pointers into the body of a success response.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PaginationConfig {
    /// The `operationId`s of the paginated operations.
    pub operations: Vec<String>,
    /// Selectors of further paginated operations. A selected operation without the required parameters and
    /// properties is skipped.
    pub include: Vec<OperationSelector>,
    /// The pointer of the array of items. The default is the whole body.
    pub items: String,
    /// The strategy `cursor`: a value in the body of a page is sent as a query parameter of the next request.
    pub cursor: Option<CursorPagination>,
    /// The strategy `last-item`: a value in the last item of a page is sent as a query parameter of the next
    /// request.
    pub last_item: Option<CursorPagination>,
    /// The strategy `link`: the `Link` header of a response contains the URL of the next page.
    pub link: Option<LinkPagination>,
    /// The strategy `next-url`: the body of a page contains the URL of the next page.
    pub next_url: Option<NextUrlPagination>,
    /// The strategy `offset`: a query parameter contains the number of items before the page.
    pub offset: Option<OffsetPagination>,
    /// The strategy `page`: a query parameter contains the number of the page.
    pub page: Option<PageNumberPagination>,
}

/// The strategies `cursor` and `last-item`: a value of a page is sent as a query parameter of the next
/// request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CursorPagination {
    /// The pointer of the value: in the body for `cursor`, in the last item for `last-item`.
    pub from: String,
    /// The name of the query parameter in which the value is sent.
    pub to: String,
    /// The pointer of a boolean in the body that is true if there is a next page. By default, there is one if
    /// the value is present or, for `last-item`, if the page has items.
    pub more: Option<String>,
}

/// The strategy `link`: the relation of the link, such as `"next"`, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "`link` is a relation (`\"next\"`), or `{ rel = \"next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum LinkPagination {
    /// The relation of the link. Links to the origin of the call are followed ([`LinkTargetScope::Origin`]).
    Rel(String),
    /// The relation of the link, and the targets that are allowed.
    Table(LinkPaginationTable),
}

/// The table form of `link`: `{ rel = "next", targets = "origin" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkPaginationTable {
    /// The relation of the link to the next page.
    pub rel: String,
    /// The targets that are allowed. Other links are not followed.
    #[serde(default)]
    pub targets: LinkTargetScope,
}

/// The strategy `next-url`: the pointer of the URL, or a table.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "`next-url` is a JSON Pointer (`\"/next\"`), or `{ from = \"/next\", targets = \"path\" }` with the targets `path`, `origin` or `any`"
)]
pub enum NextUrlPagination {
    /// The pointer of the next page's URL in the body. URLs with the origin of the call are followed
    /// ([`LinkTargetScope::Origin`]).
    From(String),
    /// The pointer of the URL in the body, and the targets that are allowed.
    Table(NextUrlTable),
}

/// The table form of `next-url`: `{ from = "/next", targets = "origin" }`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NextUrlTable {
    /// The pointer of the next page's URL in the body.
    pub from: String,
    /// The targets that are allowed. Other URLs are not followed.
    #[serde(default)]
    pub targets: LinkTargetScope,
}

/// The targets of links that are followed. Only the query of a target is used: the next request is sent to
/// the URL of the first call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LinkTargetScope {
    /// Only links to the path of the call are followed.
    Path,
    /// Links to any path of the same origin are followed: servers often name another path of the same resource.
    #[default]
    Origin,
    /// Links to any origin and path are followed.
    Any,
}

/// The strategy `offset`: a query parameter contains the number of items before the page.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct OffsetPagination {
    /// The name of the query parameter in which the offset is sent.
    pub to: String,
    /// The number by which the offset increases from one page to the next.
    #[serde(default)]
    pub by: OffsetIncrement,
    /// The offset of the first page if the caller does not set one. The default is that of the parameter in
    /// the contract, or 0.
    pub first: Option<u64>,
    /// The name of the parameter with the maximum number of items of a page. A page with fewer items is the
    /// last one, unless `by` is `limit`.
    pub limit: Option<String>,
    /// The pointer of the total number of items in the body. The client stops after this number of items.
    pub total: Option<String>,
}

/// The number by which an offset increases from one page to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum OffsetIncrement {
    /// The number of items that the page contains.
    #[default]
    Items,
    /// The value of the parameter `limit`, even if the page contains fewer items. Such a page need not be the
    /// last one.
    Limit,
}

/// The strategy `page`: a query parameter contains the number of the page.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PageNumberPagination {
    /// The name of the query parameter in which the page number is sent.
    pub to: String,
    /// The number of the first page. The default is that of the parameter in the contract, or 1.
    pub first: Option<u64>,
    /// The name of the parameter with the maximum number of items of a page. A page with fewer items is the
    /// last one.
    pub limit: Option<String>,
    /// The pointer of the total number of pages in the body. The client stops after this number of pages.
    pub total_pages: Option<String>,
    /// The pointer of the total number of items in the body.
    pub total: Option<String>,
}

impl LinkPagination {
    /// Returns the relation of the link and the targets that are allowed.
    #[must_use]
    pub fn relation_and_scope(&self) -> (&str, LinkTargetScope) {
        match self {
            Self::Rel(rel) => (rel, LinkTargetScope::default()),
            Self::Table(table) => (&table.rel, table.targets),
        }
    }
}

impl NextUrlPagination {
    /// Returns the pointer of the URL and the targets that are allowed.
    #[must_use]
    pub fn pointer_and_scope(&self) -> (&str, LinkTargetScope) {
        match self {
            Self::From(from) => (from, LinkTargetScope::default()),
            Self::Table(table) => (&table.from, table.targets),
        }
    }
}

impl PaginationConfig {
    /// Returns the names of the strategies that the table contains, as they are spelled in the file.
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
