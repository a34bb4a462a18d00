//! An answer whose body has been read.

use std::{fmt, ops::Deref};

use http::{HeaderMap, StatusCode};

/// A body with the status and headers it came with. Dereferences to the body.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, read.
    pub body: T,
}

impl<T> Answer<T> {
    /// The body alone.
    pub fn into_body(self) -> T {
        self.body
    }

    /// The first header of that name, if it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The same answer with another body.
    pub fn map<U>(self, read: impl FnOnce(T) -> U) -> Answer<U> {
        Answer { status: self.status, headers: self.headers, body: read(self.body) }
    }
}

impl<T> Deref for Answer<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.body
    }
}

/// The status alone: bodies and headers may hold what no log may show.
impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).finish_non_exhaustive()
    }
}
