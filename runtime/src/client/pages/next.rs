//! Decides where the next page begins, from what the last one was asked and what it says.

use std::fmt;

use http::{HeaderMap, Uri};
use serde::Serialize;

use super::{Cursor, PageFault, link, target};
use crate::{Json, contract::to_json};

/// How pages follow one another. Parameters are rows of the operation's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paging {
    /// A parameter takes what the page says, or its last item ([`Marks::cursor`]).
    Cursor {
        /// The parameter.
        argument: usize,
    },
    /// A `Link` header names the next page (RFC 8288).
    Link {
        /// Its relation: `next`.
        rel: &'static str,
        /// Which targets are followed.
        targets: Targets,
    },
    /// A URL in the body names the next page ([`Marks::cursor`]).
    Url {
        /// Which targets are followed.
        targets: Targets,
    },
    /// A parameter counts the items before the page.
    Offset {
        /// The parameter.
        argument: usize,
        /// Where the list begins: the parameter where the caller leaves it out.
        first: u64,
        /// By how much it grows.
        step: Step,
    },
    /// A parameter counts the pages.
    Page {
        /// The parameter.
        argument: usize,
        /// The number of the first page.
        first: u64,
        /// What a page has that is not the last, where the contract's owner says so.
        full: Option<Limit>,
    },
}

/// Which targets of links are followed: of a target always its query alone, at the address of the
/// call, so that no page sends anybody's credentials elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Targets {
    /// Those of the path that was asked.
    Path,
    /// Those of any path: the server has several for the same list.
    Origin,
    /// Those of any origin: the server does not know by which address it is called.
    Any,
}

/// By how much an offset grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// By the items of the page.
    Items {
        /// What a page has that is not the last, where the contract's owner says so.
        full: Option<Limit>,
    },
    /// By the limit: a page may have fewer items and be not the last.
    Limit(Limit),
}

/// The greatest number of items that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The parameter.
    pub argument: usize,
    /// What it is where the caller leaves it out.
    pub default: u64,
}

impl Paging {
    /// The parameter that says where a page begins; none where links do.
    pub(super) const fn argument(&self) -> Option<usize> {
        match self {
            Self::Cursor { argument } | Self::Offset { argument, .. } | Self::Page { argument, .. } => {
                Some(*argument)
            }
            Self::Link { .. } | Self::Url { .. } => None,
        }
    }

    /// The limit that the next page is reckoned from.
    pub(super) const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Offset { step: Step::Limit(limit), .. } => Some(*limit),
            Self::Offset { step: Step::Items { full }, .. } | Self::Page { full, .. } => *full,
            Self::Cursor { .. } | Self::Link { .. } | Self::Url { .. } => None,
        }
    }

    /// Whether the next page is reckoned from the number of this one.
    pub(super) const fn is_counted(&self) -> bool {
        matches!(self, Self::Offset { .. } | Self::Page { .. })
    }
}

/// What a page says of the next one. What is absent or `null` says nothing.
#[derive(Clone, Default)]
pub struct Marks {
    cursor: Option<Json>,
    more: Option<Json>,
    total: Option<Json>,
}

impl Marks {
    /// Nothing.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Where the next page begins. An empty text says that there is none.
    #[must_use]
    pub fn cursor(self, value: &impl Serialize) -> Self {
        Self { cursor: said(value), ..self }
    }

    /// Whether there is a next page.
    #[must_use]
    pub fn more(self, value: &impl Serialize) -> Self {
        Self { more: said(value), ..self }
    }

    /// How many items there are, or pages where pages are counted.
    #[must_use]
    pub fn total(self, value: &impl Serialize) -> Self {
        Self { total: said(value), ..self }
    }

    /// Where the next page begins, as text.
    fn start(&self) -> Result<Option<String>, PageFault> {
        match &self.cursor {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text.clone()).filter(|text| !text.is_empty())),
            Some(number @ Json::Number(_)) => Ok(Some(number.to_string())),
            Some(_) => Err(PageFault::Cursor),
        }
    }

    /// How many there are, where that is said: servers write `-1` for what they have not counted.
    fn count(&self) -> Option<u64> {
        match self.total.as_ref()? {
            Json::Number(number) => number.as_u64(),
            Json::String(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// Nothing of what it says: cursors are the server's.
impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marks").finish_non_exhaustive()
    }
}

fn said(value: &impl Serialize) -> Option<Json> {
    to_json(value).ok().filter(|json| !json.is_null())
}

/// What a page was asked.
pub(super) struct Asked {
    pub(super) uri: Uri,
    /// The offset, or the number of the page.
    pub(super) number: Option<u64>,
    /// The greatest number of items, where it counts.
    pub(super) limit: Option<u64>,
}

/// Where it goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    At(Cursor),
    /// Nowhere; where more may come later, when the page says it.
    End(Option<Cursor>),
}

impl Next {
    fn at(text: Option<String>) -> Self {
        text.map_or(Self::End(None), |text| Self::At(Cursor(text)))
    }
}

/// Where it goes on behind a page of so many items.
pub(super) fn next(
    paging: &Paging,
    asked: &Asked,
    count: usize,
    marks: &Marks,
    headers: &HeaderMap,
) -> Result<Next, PageFault> {
    let count = u64::try_from(count).unwrap_or(u64::MAX);
    let total = marks.count();
    let is_short = asked.limit.is_some_and(|limit| count < limit);
    match *paging {
        Paging::Cursor { .. } => match (&marks.more, marks.start()?) {
            (Some(Json::Bool(false)), cursor) => Ok(Next::End(cursor.map(Cursor))),
            (Some(Json::Bool(true)), None) => Err(PageFault::NoCursor),
            (_, cursor) => Ok(Next::at(cursor)),
        },
        Paging::Link { rel, targets } => {
            let found = link::target(headers, rel)?;
            Ok(Next::at(found.map(|found| target::query(&asked.uri, &found, targets)).transpose()?))
        }
        Paging::Url { targets } => {
            let found = marks.start()?;
            Ok(Next::at(found.map(|found| target::query(&asked.uri, &found, targets)).transpose()?))
        }
        Paging::Offset { first, step, .. } => {
            let (grown, is_last) = match step {
                Step::Items { .. } => (count, count == 0 || is_short),
                // Where the total is known, an empty page may be a gap.
                Step::Limit(limit) => (asked.limit.unwrap_or(limit.default), count == 0 && total.is_none()),
            };
            if is_last {
                return Ok(Next::End(None));
            }
            let next = asked.number.unwrap_or(first).checked_add(grown).ok_or(PageFault::Count)?;
            let more = total.is_none_or(|total| next.saturating_sub(first) < total);
            Ok(Next::at(more.then(|| next.to_string())))
        }
        Paging::Page { first, .. } => {
            let number = asked.number.unwrap_or(first);
            let next = number.checked_add(1).ok_or(PageFault::Count)?;
            let is_last = is_short
                || match total {
                    Some(total) => next.saturating_sub(first) >= total,
                    None => count == 0,
                };
            Ok(Next::at((!is_last).then(|| next.to_string())))
        }
    }
}

/// Sees to it that pages come to an end: neither a circle nor a long row of empty ones is followed.
#[derive(Debug)]
pub(super) struct Guard {
    pub(super) most_empty: u32,
    empty: u32,
    /// A cursor that came some steps ago; after ever more steps a later one takes its place, so that
    /// every circle is met, however long it is.
    saved: Option<Cursor>,
    steps: u64,
    span: u64,
}

impl Guard {
    pub(super) const fn new(most_empty: u32) -> Self {
        Self { most_empty, empty: 0, saved: None, steps: 0, span: 1 }
    }

    /// Whether it goes on behind a page of so many items that began at `before`.
    pub(super) fn let_pass(
        &mut self,
        next: Next,
        before: Option<&Cursor>,
        count: usize,
    ) -> Result<Next, PageFault> {
        let Next::At(cursor) = &next else { return Ok(next) };
        if before == Some(cursor) || self.saved.as_ref() == Some(cursor) {
            return Err(PageFault::Repeated);
        }
        self.steps += 1;
        if self.steps == self.span {
            (self.saved, self.steps) = (Some(cursor.clone()), 0);
            self.span = self.span.saturating_mul(2);
        }
        self.empty = if count == 0 { self.empty + 1 } else { 0 };
        if self.empty > self.most_empty { Err(PageFault::Empty) } else { Ok(next) }
    }
}
