//! An answer whose body has been read.

use std::{fmt, ops::Deref};

use http::{Extensions, HeaderMap, StatusCode};

/// A body with the status and headers it came with. Dereferences to the body.
#[derive(Clone)]
pub struct Answer<T> {
    /// The status.
    pub status: StatusCode,
    /// All headers.
    pub headers: HeaderMap,
    /// The body, read.
    pub body: T,
    /// What the transport left behind, by its type: how often it sent, what it waited for.
    pub extensions: Extensions,
    /// What may be said of a refusal in one line.
    pub(super) said: Option<Box<str>>,
}

impl<T> Answer<T> {
    /// An answer as a test or a cache has it.
    pub fn new(status: StatusCode, headers: HeaderMap, body: T) -> Self {
        Self { status, headers, body, extensions: Extensions::new(), said: None }
    }

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
        let Self { status, headers, body, extensions, said } = self;
        Answer { status, headers, body: read(body), extensions, said }
    }
}

/// By status, headers and body.
impl<T: PartialEq> PartialEq for Answer<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.status, &self.headers, &self.body) == (other.status, &other.headers, &other.body)
    }
}

impl<T: Eq> Eq for Answer<T> {}

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
