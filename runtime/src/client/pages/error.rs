//! Why there is no next page.

use std::{error::Error as StdError, fmt};

use crate::client::Error;

/// A page that did not come, or one behind which nobody can tell what comes. Prints no body, no
/// address and no cursor.
#[non_exhaustive]
pub enum PageError<E> {
    /// The call of the page failed, as every call may.
    Call(Error<E>),
    /// The page before it came, and does not say how to go on.
    Page(PageFault),
}

/// What is wrong with how a page names the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageFault {
    /// What names it is neither text nor a number.
    Cursor,
    /// The page says that there is more, and not where.
    NoCursor,
    /// It was given already: pages would never end.
    Repeated,
    /// Too many pages in a row without an item.
    Empty,
    /// A `Link` header that is none, or a target that is no address.
    Link,
    /// The target is of another origin, or another path of it, which is not allowed.
    Elsewhere,
    /// An offset, a page or a limit that is no whole number, or the next of which is too large.
    Count,
}

impl<E> PageError<E> {
    /// Why the call failed, if that is it.
    #[must_use]
    pub const fn call(&self) -> Option<&Error<E>> {
        match self {
            Self::Call(error) => Some(error),
            Self::Page(_) => None,
        }
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
            Self::Cursor => "the cursor of the next page is neither text nor a number",
            Self::NoCursor => "there are more pages, but no cursor of the next one",
            Self::Repeated => "the next page is one that was given already",
            Self::Empty => "too many pages in a row are empty",
            Self::Link => "the link to the next page is no link",
            Self::Elsewhere => "the link to the next page leads to another address",
            Self::Count => "the next page cannot be counted",
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

/// The variant and the text of `Display`.
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
            // Its text is this error's text already.
            Self::Call(error) => error.source(),
            Self::Page(_) => None,
        }
    }
}
