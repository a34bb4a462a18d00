//! What a handler knows about its call beside the contract's own parameters.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

use crate::operation::Operation;

/// The request behind a call: method, URI, headers, what layers left behind, the body as
/// it was sent. Cheap to clone.
#[derive(Clone)]
pub struct Context {
    parts: Arc<Parts>,
    operation: Option<&'static Operation>,
    body: Bytes,
    #[cfg(feature = "stream")]
    beside: super::pieces::Beside,
}

impl Context {
    /// A context. `operation` is `None` as long as no route was found, `body` empty as long
    /// as it was not read.
    #[must_use]
    pub fn new(parts: Arc<Parts>, operation: Option<&'static Operation>, body: Bytes) -> Self {
        Self {
            parts,
            operation,
            body,
            #[cfg(feature = "stream")]
            beside: super::pieces::Beside::default(),
        }
    }

    #[cfg(feature = "stream")]
    pub(super) const fn beside(&self) -> &super::pieces::Beside {
        &self.beside
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

    /// The value of a header that must not repeat. `None` when it is not there, when it is there
    /// twice or when it is no text: two tokens or proofs are none.
    #[must_use]
    pub fn only(&self, name: &str) -> Option<&str> {
        let mut lines = self.parts.headers.get_all(name).iter();
        lines.next().filter(|_| lines.next().is_none())?.to_str().ok()
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

/// Method, operation and sizes: a path, a query, a header or a body may hold what no log may show.
impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("method", &self.parts.method)
            .field("operation", &self.operation.map(|operation| operation.id))
            .field("headers", &self.parts.headers.len())
            .field("body", &self.body.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context() -> Context {
        let request = http::Request::get("/secret-path?secret-query=1")
            .header("authorization", "DPoP secret-token")
            .header("dpop", "secret-proof")
            .header("twice", "a")
            .header("twice", "b");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        Context::new(Arc::new(parts), None, Bytes::from_static(b"secret-body"))
    }

    #[test]
    fn debug_shows_method_operation_and_sizes() {
        let shown = format!("{:?}", context());
        assert_eq!(shown, "Context { method: GET, operation: None, headers: 4, body: 11, .. }");
    }

    #[test]
    fn a_header_that_must_not_repeat_is_there_once_or_not_at_all() {
        let context = context();
        assert_eq!(context.only("DPoP"), Some("secret-proof"));
        assert_eq!((context.only("twice"), context.only("never")), (None, None));
        assert_eq!(context.header("twice"), Some("a"));
    }
}
