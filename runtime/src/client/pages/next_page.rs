//! Determines the position of the next page from the request and the response of the current page.

use std::fmt;

use http::{HeaderMap, Uri};
use serde::Serialize;

use super::{PageCursor, PageFault, link, link_target};
use crate::{Json, contract::to_json};

/// The rule by which the next page is found. Parameters are indices into the operation's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pagination {
    /// A parameter takes a value from the current page or from its last item ([`PageMarkers::with_cursor`]).
    Cursor {
        /// The index of the parameter.
        argument: usize,
    },
    /// A `Link` header contains the address of the next page (RFC 8288).
    Link {
        /// The relation type of the link, usually `next`.
        rel: &'static str,
        /// The targets that are accepted.
        targets: LinkPolicy,
    },
    /// A URL in the body is the address of the next page ([`PageMarkers::with_cursor`]).
    Url {
        /// The targets that are accepted.
        targets: LinkPolicy,
    },
    /// A parameter is the number of items before the page.
    Offset {
        /// The index of the parameter.
        argument: usize,
        /// The offset of the first page, which a request without the parameter returns.
        first: u64,
        /// The increment of the offset from page to page.
        step: OffsetStep,
    },
    /// A parameter is the page number.
    Page {
        /// The index of the parameter.
        argument: usize,
        /// The number of the first page.
        first: u64,
        /// The number of items on every page except the last, if the configuration declares it.
        full: Option<PageLimit>,
    },
}

/// The link targets that are accepted.
///
/// Only the query of a target is used, with the address of the call, so that a page cannot redirect
/// credentials to another server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkPolicy {
    /// Targets with the path of the request.
    SamePath,
    /// Targets with the origin of the request, for servers that use several paths for one list.
    SameOrigin,
    /// Any target, for servers that do not know their public address.
    AnyOrigin,
}

/// The increment of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetStep {
    /// The number of items of the page.
    Items {
        /// The number of items on every page except the last, if the configuration declares it.
        full: Option<PageLimit>,
    },
    /// The requested limit, for servers whose pages may have fewer items even if they are not the last.
    Limit(PageLimit),
}

/// The parameter for the maximum number of items on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLimit {
    /// The index of the parameter.
    pub argument: usize,
    /// The limit for a request without the parameter.
    pub default: u64,
}

impl Pagination {
    /// Returns the index of the parameter for the position of a page; `None` for links.
    pub(super) const fn position_argument(&self) -> Option<usize> {
        match self {
            Self::Cursor { argument } | Self::Offset { argument, .. } | Self::Page { argument, .. } => {
                Some(*argument)
            }
            Self::Link { .. } | Self::Url { .. } => None,
        }
    }

    /// Returns the limit from which the next position is computed.
    pub(super) const fn page_limit(&self) -> Option<PageLimit> {
        match self {
            Self::Offset { step: OffsetStep::Limit(limit), .. } => Some(*limit),
            Self::Offset { step: OffsetStep::Items { full }, .. } | Self::Page { full, .. } => *full,
            Self::Cursor { .. } | Self::Link { .. } | Self::Url { .. } => None,
        }
    }

    /// Returns the offset or the number of the first page, or `None` if pages have neither.
    pub(super) const fn first_number(&self) -> Option<u64> {
        match self {
            Self::Offset { first, .. } | Self::Page { first, .. } => Some(*first),
            Self::Cursor { .. } | Self::Link { .. } | Self::Url { .. } => None,
        }
    }

    /// Returns true if the next position is computed from the current one.
    pub(super) const fn is_counted(&self) -> bool {
        matches!(self, Self::Offset { .. } | Self::Page { .. })
    }
}

/// The values in the body of a page that determine the next page. Absent and `null` values are ignored.
#[derive(Clone, Default)]
pub struct PageMarkers {
    cursor: Option<Json>,
    more: Option<Json>,
    total: Option<Json>,
    total_items: Option<Json>,
}

impl PageMarkers {
    /// Creates an empty set of values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the cursor or the URL of the next page. An empty string means that there is no next page.
    #[must_use]
    pub fn with_cursor(self, value: &impl Serialize) -> Self {
        Self { cursor: non_null_json(value), ..self }
    }

    /// Sets the flag for whether there is a next page.
    #[must_use]
    pub fn with_more(self, value: &impl Serialize) -> Self {
        Self { more: non_null_json(value), ..self }
    }

    /// Sets the total number of items or, if pages are numbered, of pages.
    #[must_use]
    pub fn with_total(self, value: &impl Serialize) -> Self {
        Self { total: non_null_json(value), ..self }
    }

    /// Sets the total number of items of numbered pages.
    #[must_use]
    pub fn with_total_items(self, value: &impl Serialize) -> Self {
        Self { total_items: non_null_json(value), ..self }
    }

    /// Returns the cursor as a string.
    fn cursor_string(&self) -> Result<Option<String>, PageFault> {
        match &self.cursor {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(number @ Json::Number(_)) => Ok(Some(number.to_string())),
            Some(_) => Err(PageFault::InvalidCursor),
        }
    }

    /// Returns the total, if it is a natural number.
    fn total_count(&self) -> Option<u64> {
        natural_number(self.total.as_ref()?)
    }

    /// Returns true if `received` items are all items.
    fn has_all_items(&self, received: Option<u64>) -> bool {
        let total = self.total_items.as_ref().and_then(natural_number);
        total.zip(received).is_some_and(|(total, received)| received >= total)
    }
}

/// Returns the value as a natural number, or `None` for other values. Servers send `-1` for an unknown total.
fn natural_number(value: &Json) -> Option<u64> {
    match value {
        Json::Number(number) => number.as_u64(),
        Json::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Hides the values, because cursors are internal to the server.
impl fmt::Debug for PageMarkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageMarkers").finish_non_exhaustive()
    }
}

fn non_null_json(value: &impl Serialize) -> Option<Json> {
    to_json(value).ok().filter(|json| !json.is_null())
}

/// The parts of a page's request that determine the next position.
pub(super) struct PageRequest {
    pub(super) uri: Uri,
    /// The offset or page number, if the request has one.
    pub(super) number: Option<u64>,
    /// The requested number of items, if it determines the next position.
    pub(super) limit: Option<u64>,
    /// The number of items on the pages before this one, or `None` if the stream did not start at the first
    /// page.
    pub(super) received: Option<u64>,
}

impl PageRequest {
    /// Returns the number of items up to and including this page, which has `count` items.
    pub(super) fn received_with(&self, count: usize) -> Option<u64> {
        self.received?.checked_add(u64::try_from(count).ok()?)
    }
}

/// The position after a page, or the end of the list.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NextPage {
    At(PageCursor),
    /// There is no next page. Contains the position at which later additions will appear, if the page has
    /// one.
    End(Option<PageCursor>),
}

impl NextPage {
    fn from_cursor(text: Option<String>) -> Self {
        text.map_or(Self::End(None), |text| Self::At(PageCursor(text)))
    }
}

/// Determines the position after a page of `count` items.
pub(super) fn find_next_page(
    paging: &Pagination,
    request: &PageRequest,
    count: usize,
    marks: &PageMarkers,
    headers: &HeaderMap,
) -> Result<NextPage, PageFault> {
    let received = request.received_with(count);
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let total = marks.total_count();
    let is_short = request.limit.is_some_and(|limit| count < limit);
    match *paging {
        Pagination::Cursor { .. } => match (&marks.more, marks.cursor_string()?) {
            (Some(Json::Bool(false)), cursor) => Ok(NextPage::End(cursor.map(PageCursor))),
            (Some(Json::Bool(true)), None) => Err(PageFault::MissingCursor),
            (_, cursor) => Ok(NextPage::from_cursor(cursor)),
        },
        Pagination::Link { rel, targets } => {
            let found = link::find_link_target(headers, rel)?;
            Ok(NextPage::from_cursor(
                found.map(|found| link_target::resolve_query(&request.uri, &found, targets)).transpose()?,
            ))
        }
        Pagination::Url { targets } => {
            let found = marks.cursor_string()?;
            Ok(NextPage::from_cursor(
                found.map(|found| link_target::resolve_query(&request.uri, &found, targets)).transpose()?,
            ))
        }
        Pagination::Offset { first, step, .. } => {
            let (grown, is_last) = match step {
                OffsetStep::Items { .. } => (count, count == 0 || is_short),
                // If the total is known, an empty page may be a gap in the list.
                OffsetStep::Limit(limit) => {
                    (request.limit.unwrap_or(limit.default), count == 0 && total.is_none())
                }
            };
            if is_last {
                return Ok(NextPage::End(None));
            }
            let next = request.number.unwrap_or(first).checked_add(grown).ok_or(PageFault::InvalidCount)?;
            let more = total.is_none_or(|total| next.saturating_sub(first) < total);
            Ok(NextPage::from_cursor(more.then(|| next.to_string())))
        }
        Pagination::Page { first, .. } => {
            let number = request.number.unwrap_or(first);
            let next = number.checked_add(1).ok_or(PageFault::InvalidCount)?;
            let is_last = is_short
                || marks.has_all_items(received)
                || match total {
                    Some(total) => next.saturating_sub(first) >= total,
                    None => count == 0,
                };
            Ok(NextPage::from_cursor((!is_last).then(|| next.to_string())))
        }
    }
}

/// A detector of cycles and of long sequences of empty pages.
#[derive(Debug)]
pub(super) struct LoopGuard {
    pub(super) max_empty_pages: u32,
    empty_pages: u32,
    /// An earlier cursor, which is replaced after exponentially growing numbers of steps, so that a cycle of
    /// any length is detected (Brent's algorithm).
    saved: Option<PageCursor>,
    steps: u64,
    span: u64,
}

impl LoopGuard {
    pub(super) const fn new(most_empty: u32) -> Self {
        Self { max_empty_pages: most_empty, empty_pages: 0, saved: None, steps: 0, span: 1 }
    }

    /// Returns `next`, or an error if its cursor repeats an earlier one or if too many consecutive pages were
    /// empty. `before` is the cursor of the current page.
    pub(super) fn check(
        &mut self,
        next: NextPage,
        before: Option<&PageCursor>,
        count: usize,
    ) -> Result<NextPage, PageFault> {
        let NextPage::At(cursor) = &next else { return Ok(next) };
        if before == Some(cursor) || self.saved.as_ref() == Some(cursor) {
            return Err(PageFault::RepeatedPage);
        }
        self.steps += 1;
        if self.steps == self.span {
            (self.saved, self.steps) = (Some(cursor.clone()), 0);
            self.span = self.span.saturating_mul(2);
        }
        self.empty_pages = if count == 0 { self.empty_pages + 1 } else { 0 };
        if self.empty_pages > self.max_empty_pages { Err(PageFault::TooManyEmpty) } else { Ok(next) }
    }
}
