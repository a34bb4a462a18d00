//! Typed responses: a parsed body together with its status, headers and extensions.

use std::{fmt, marker::PhantomData, ops::Deref};

use http::{Extensions, HeaderMap, StatusCode, response::Parts};

use super::ResponseHeaders;

/// A response whose body has been parsed into `T`. `H` is the type of the headers that the contract declares.
///
/// It dereferences to the body. All fields are private, so that they never shadow a field of the body:
/// `page.status` is the `status` of the body, and `page.status()` is the HTTP status.
pub struct Response<T, H = NoHeaders> {
    inner: http::Response<T>,
    /// One line about an error response, built from the fields that may be logged.
    error_summary: Option<Box<str>>,
    declared_headers: PhantomData<fn() -> H>,
}

/// The header type of a response for which the contract declares no headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NoHeaders;

impl<T> Response<T> {
    /// Creates a response without extensions, for tests and caches.
    pub fn new(status: StatusCode, headers: HeaderMap, body: T) -> Self {
        let mut inner = http::Response::new(body);
        *inner.status_mut() = status;
        *inner.headers_mut() = headers;
        Self { inner, error_summary: None, declared_headers: PhantomData }
    }

    /// Creates a response from the head of an HTTP response and a parsed body.
    pub fn from_parts(parts: Parts, body: T) -> Self {
        let inner = http::Response::from_parts(parts, body);
        Self { inner, error_summary: None, declared_headers: PhantomData }
    }

    pub(super) fn with_error_summary(mut self, error_summary: Option<Box<str>>) -> Self {
        self.error_summary = error_summary;
        self
    }

    pub(super) fn error_summary(&self) -> Option<&str> {
        self.error_summary.as_deref()
    }

    /// Returns the response of an operation whose declared headers have the type `H`.
    pub fn with_header_type<H>(self) -> Response<T, H> {
        let Self { inner, error_summary, .. } = self;
        Response { inner, error_summary, declared_headers: PhantomData }
    }
}

impl<T, H> Response<T, H> {
    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        self.inner.status()
    }

    /// Returns all headers.
    pub fn headers(&self) -> &HeaderMap {
        self.inner.headers()
    }

    /// Returns the first header with that name, if its value consists of visible ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().get(name)?.to_str().ok()
    }

    /// Returns the headers that the contract declares for the operation. Each method of the result parses one of
    /// them, so that an invalid header affects no other.
    pub fn typed_headers(&self) -> H::Borrowed<'_>
    where
        H: ResponseHeaders,
    {
        H::from_headers(self.headers())
    }

    /// Returns the response without the type of its headers, so that responses of several operations have one
    /// type.
    pub fn without_header_type(self) -> Response<T> {
        let Self { inner, error_summary, .. } = self;
        Response { inner, error_summary, declared_headers: PhantomData }
    }

    /// Returns the values that the transport attached, such as the number of attempts.
    pub fn extensions(&self) -> &Extensions {
        self.inner.extensions()
    }

    /// Returns the parsed body.
    pub fn body(&self) -> &T {
        self.inner.body()
    }

    /// Returns the body and discards status, headers and extensions.
    pub fn into_body(self) -> T {
        self.inner.into_body()
    }

    /// Splits the response into its head and its body, as [`http::Response::into_parts`] does.
    pub fn into_parts(self) -> (Parts, T) {
        self.inner.into_parts()
    }

    /// Replaces the body by the result of `convert` and keeps status, headers and extensions.
    pub fn map<U>(self, convert: impl FnOnce(T) -> U) -> Response<U, H> {
        let Self { inner, error_summary, .. } = self;
        Response { inner: inner.map(convert), error_summary, declared_headers: PhantomData }
    }
}

impl<T: Clone, H> Clone for Response<T, H> {
    fn clone(&self) -> Self {
        let Self { inner, error_summary, declared_headers } = self;
        Self {
            inner: inner.clone(),
            error_summary: error_summary.clone(),
            declared_headers: *declared_headers,
        }
    }
}

/// Compares status, headers and body. Extensions cannot be compared.
impl<T: PartialEq, H> PartialEq for Response<T, H> {
    fn eq(&self, other: &Self) -> bool {
        (self.status(), self.headers(), self.body()) == (other.status(), other.headers(), other.body())
    }
}

impl<T: Eq, H> Eq for Response<T, H> {}

impl<T, H> Deref for Response<T, H> {
    type Target = T;

    fn deref(&self) -> &T {
        self.body()
    }
}

/// Shows only the status, because headers and body may contain secrets.
impl<T, H> fmt::Debug for Response<T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status()).finish_non_exhaustive()
    }
}
