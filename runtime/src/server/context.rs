//! What a handler knows about its call beside the contract's own parameters.

use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

use crate::operation::Operation;

/// The request behind a call: method, URI, headers, what layers left behind, the body as
/// it was sent. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Context {
    parts: Arc<Parts>,
    operation: Option<&'static Operation>,
    body: Bytes,
}

impl Context {
    /// A context. `operation` is `None` as long as no route was found, `body` empty as long
    /// as it was not read.
    #[must_use]
    pub fn new(parts: Arc<Parts>, operation: Option<&'static Operation>, body: Bytes) -> Self {
        Self { parts, operation, body }
    }

    pub(super) fn routed(&self, operation: &'static Operation) -> Self {
        Self { operation: Some(operation), ..self.clone() }
    }

    pub(super) fn with_body(&self, body: Bytes) -> Self {
        Self { body, ..self.clone() }
    }

    /// The operation; `None` when no route was found.
    #[must_use]
    pub fn operation(&self) -> Option<&'static Operation> {
        self.operation
    }

    /// The method as sent: `HEAD` stays `HEAD`.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.parts.method
    }

    /// The URI as the router saw it.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// All request headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// A header's first value, when it is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// What layers in front of the router left behind.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// One thing that a layer left behind, by its type.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.parts.extensions.get().cloned()
    }

    /// The whole head of the request.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The body as it was sent; empty for operations that read none, and in rejections that
    /// came before it was read.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}
