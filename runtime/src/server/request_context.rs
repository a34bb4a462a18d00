//! The HTTP request of a handler, beyond the parameters of the contract.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Extensions, HeaderMap, Method, Uri};

use crate::operation::Operation;

/// The HTTP request behind a call: method, URI, headers, extensions that layers added, and the raw body.
/// Cheap to clone.
#[derive(Clone)]
pub struct RequestContext {
    parts: Arc<Parts>,
    operation: Option<&'static Operation>,
    body: Bytes,
    #[cfg(feature = "authentication")]
    authentication: Option<super::authentication::AuthenticationOutcome>,
    #[cfg(feature = "stream")]
    body_slots: super::streaming::BodySlots,
}

impl RequestContext {
    /// Creates a context. `operation` is `None` before routing; `body` is empty before it was read.
    #[must_use]
    pub fn new(parts: Arc<Parts>, operation: Option<&'static Operation>, body: Bytes) -> Self {
        Self {
            parts,
            operation,
            body,
            #[cfg(feature = "authentication")]
            authentication: None,
            #[cfg(feature = "stream")]
            body_slots: super::streaming::BodySlots::default(),
        }
    }

    #[cfg(feature = "stream")]
    pub(super) const fn body_slots(&self) -> &super::streaming::BodySlots {
        &self.body_slots
    }

    pub(super) fn with_operation(&self, operation: &'static Operation) -> Self {
        Self { operation: Some(operation), ..self.clone() }
    }

    pub(super) fn with_body(&self, body: Bytes) -> Self {
        Self { body, ..self.clone() }
    }

    #[cfg(feature = "authentication")]
    pub(super) fn with_authentication(&self, outcome: super::authentication::AuthenticationOutcome) -> Self {
        Self { authentication: Some(outcome), ..self.clone() }
    }

    /// Returns the verified caller. `P` is the principal of the router's authentication.
    ///
    /// # Errors
    /// [`Rejection::Unauthorized`](super::Rejection::Unauthorized) if the operation can be called without
    /// credentials and was. [`Rejection::Internal`](super::Rejection::Internal) if the router has no
    /// authentication or another type of principal.
    #[cfg(feature = "authentication")]
    pub fn principal<P: Clone + 'static>(&self) -> Result<P, super::Rejection> {
        use super::authentication::AuthenticationOutcome;
        match &self.authentication {
            Some(AuthenticationOutcome::Anonymous(challenge)) => {
                Err(super::Rejection::Unauthorized { challenge: challenge.clone() })
            }
            outcome => {
                let principal = outcome.as_ref().and_then(AuthenticationOutcome::principal);
                principal.ok_or(super::Rejection::Internal)
            }
        }
    }

    /// Returns the verified caller, or `None` for a call without credentials.
    #[cfg(feature = "authentication")]
    #[must_use]
    pub fn optional_principal<P: Clone + 'static>(&self) -> Option<P> {
        self.authentication.as_ref()?.principal()
    }

    /// Returns the operation; `None` if no route was found.
    #[must_use]
    pub fn operation(&self) -> Option<&'static Operation> {
        self.operation
    }

    /// Returns the method of the request as received. `HEAD` is not replaced by `GET`.
    #[must_use]
    pub fn method(&self) -> &Method {
        &self.parts.method
    }

    /// Returns the URI as the router received it.
    #[must_use]
    pub fn uri(&self) -> &Uri {
        &self.parts.uri
    }

    /// Returns all request headers.
    #[must_use]
    pub fn headers(&self) -> &HeaderMap {
        &self.parts.headers
    }

    /// Returns the first value of a header, if it is visible ASCII.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// Returns the value of a header that must not be repeated. `None` if it is missing, occurs more than
    /// once or is not visible ASCII, so that two tokens or proofs count as none.
    #[must_use]
    pub fn unique_header(&self, name: &str) -> Option<&str> {
        let mut lines = self.parts.headers.get_all(name).iter();
        lines.next().filter(|_| lines.next().is_none())?.to_str().ok()
    }

    /// Returns the extensions that layers added.
    #[must_use]
    pub fn extensions(&self) -> &Extensions {
        &self.parts.extensions
    }

    /// Returns the extension of this type.
    #[must_use]
    pub fn extension<T: Clone + Send + Sync + 'static>(&self) -> Option<T> {
        self.parts.extensions.get().cloned()
    }

    /// Returns the head of the request.
    #[must_use]
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Returns the raw body. Empty for operations without a body, and in rejections that occurred before the
    /// body was read.
    #[must_use]
    pub fn body(&self) -> &Bytes {
        &self.body
    }
}

/// Shows the method, the operation and sizes. Path, query, headers and body are omitted, because they may
/// contain secrets.
impl fmt::Debug for RequestContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestContext")
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

    fn context() -> RequestContext {
        let request = http::Request::get("/secret-path?secret-query=1")
            .header("authorization", "DPoP secret-token")
            .header("dpop", "secret-proof")
            .header("twice", "a")
            .header("twice", "b");
        let (parts, ()) = request.body(()).unwrap().into_parts();
        RequestContext::new(Arc::new(parts), None, Bytes::from_static(b"secret-body"))
    }

    #[test]
    fn debug_shows_method_operation_and_sizes() {
        let shown = format!("{:?}", context());
        assert_eq!(shown, "RequestContext { method: GET, operation: None, headers: 4, body: 11, .. }");
    }

    #[test]
    fn repeated_unique_header_is_absent() {
        let context = context();
        assert_eq!(context.unique_header("DPoP"), Some("secret-proof"));
        assert_eq!((context.unique_header("twice"), context.unique_header("never")), (None, None));
        assert_eq!(context.header("twice"), Some("a"));
    }
}
