//! Errors of paginated calls.

use std::{error::Error as StdError, fmt};

use crate::client::Error;

/// The error of a request for a page, or of a page that does not define a valid next page. It contains no
/// body, address or cursor.
#[non_exhaustive]
pub enum PageError<E> {
    /// The request of the page failed.
    Call(Error<E>),
    /// The previous page was returned, but does not refer to a valid next page.
    Page(PageFault),
}

/// The reason why the next page cannot be determined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageFault {
    /// The cursor is neither a string nor a number.
    InvalidCursor,
    /// The page reports more items but has no cursor.
    MissingCursor,
    /// The cursor was used before, so the list would never end.
    RepeatedPage,
    /// There were more consecutive empty pages than allowed.
    TooManyEmpty,
    /// The `Link` header or the URL in the body is malformed.
    InvalidLink,
    /// The link target has an origin or path that the [`LinkPolicy`](super::LinkPolicy) does not allow.
    ForeignTarget,
    /// An offset, page number or limit is not an integer, or its next value overflows.
    InvalidCount,
}

impl<E> PageError<E> {
    /// Returns the error of the request, if the request failed.
    #[must_use]
    pub const fn call_error(&self) -> Option<&Error<E>> {
        match self {
            Self::Call(error) => Some(error),
            Self::Page(_) => None,
        }
    }

    /// Returns the body of a documented error response.
    #[must_use]
    pub fn body(&self) -> Option<&E> {
        self.call_error().and_then(Error::body)
    }
}

impl<E> From<Error<E>> for PageError<E> {
    fn from(error: Error<E>) -> Self {
        Self::Call(error)
    }
}

impl fmt::Display for PageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InvalidCursor => "the cursor of the next page is neither a string nor a number",
            Self::MissingCursor => "the page announces a next page, but has no cursor for it",
            Self::RepeatedPage => "the next page repeats an earlier one",
            Self::TooManyEmpty => "too many pages in a row are empty",
            Self::InvalidLink => "the link to the next page is malformed",
            Self::ForeignTarget => "the link to the next page has an origin or path that is not allowed",
            Self::InvalidCount => "the position of the next page is not a valid number",
        })
    }
}

impl<E> fmt::Display for PageError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => write!(f, "{error}"),
            Self::Page(fault) => write!(f, "{fault}"),
        }
    }
}

/// Shows the variant and the `Display` output.
impl<E> fmt::Debug for PageError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Call(error) => write!(f, "Call({error})"),
            Self::Page(fault) => write!(f, "Page({fault})"),
        }
    }
}

impl StdError for PageFault {}

impl<E> StdError for PageError<E> {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            // `Display` already includes this error, so its source comes next.
            Self::Call(error) => error.source(),
            Self::Page(_) => None,
        }
    }
}
