//! The server side of [`HttpRelay`](super::HttpRelay): it passes requests to the backend only if a gateway
//! signed them.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use contract_runtime::server::{
    Bytes, EncodedResponse, HeaderMap, IncomingRequest, RequestContext, Response,
};
use exchange_api::operations::TABLE;
use exchange_api::server::{AnyCall, Service};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::local::LocalRelay;
use super::signature::{self, RelayKey, SignatureError};
use super::{RelayError, RelayedRequest};
use crate::Environment;

/// A server through which gateways call a backend's methods.
pub struct BackendServer<S> {
    local: LocalRelay<S>,
    key: RelayKey,
    environment: Environment,
    max_body_bytes: usize,
}

impl<S> fmt::Debug for BackendServer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackendServer").finish_non_exhaustive()
    }
}

impl<S: Service> BackendServer<S> {
    /// Creates a server for gateways that have the key. A request body may have at most `largest` bytes,
    /// which must be the gateway's limit (LIM-23).
    #[must_use]
    pub fn new(service: Arc<S>, key: RelayKey, environment: Environment, largest: usize) -> Self {
        Self { local: LocalRelay::new(service), key, environment, max_body_bytes: largest }
    }

    /// Returns a router that handles every path.
    pub fn into_router(self) -> Router {
        let backends = Arc::new(self);
        Router::new().fallback(move |request: Request<Body>| {
            let backends = Arc::clone(&backends);
            async move { backends.serve_request(request).await }
        })
    }

    async fn serve_request(&self, request: Request<Body>) -> Response {
        let (mut parts, body) = request.into_parts();
        // Requests without a valid signature are refused before the body is read.
        let verified = signature::verify_request(
            &self.key,
            &parts.headers,
            (&parts.method, &parts.uri),
            self.environment.now(),
        );
        let verified = match verified {
            Ok(verified) => verified,
            Err(reason) => return reject_unsigned(reason),
        };
        let body = match Limited::new(body, self.max_body_bytes).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => {
                return bare_status(StatusCode::PAYLOAD_TOO_LARGE);
            }
            Err(_) => return bare_status(StatusCode::BAD_REQUEST),
        };
        let caller = match verified.into_caller(&body) {
            Ok(caller) => caller,
            Err(reason) => return reject_unsigned(reason),
        };
        parts.headers.remove(signature::HEADER);
        parts.extensions.insert(caller.clone());
        let found = TABLE.find(parts.method.as_str(), parts.uri.path());
        let contract_runtime::operation::OperationLookup::Found(operation) = found else {
            return bare_status(StatusCode::NOT_FOUND);
        };
        let context = RequestContext::new(Arc::new(parts), Some(operation), body);
        let answered_response = match IncomingRequest::new(operation, context.clone())
            .and_then(|call| Ok((AnyCall::from_request(&call)?, call)))
        {
            Ok((incoming, call)) => self.local.answer_call(RelayedRequest { caller, call, incoming }).await,
            Err(rejection) => self.local.answer_rejection(&context, rejection).await,
        };
        match answered_response {
            Ok(response) => response.into_response(),
            Err(RelayError::NotSent | RelayError::Failed | RelayError::TimedOut) => {
                bare_status(StatusCode::INTERNAL_SERVER_ERROR)
            }
        }
    }
}

fn reject_unsigned(reason: SignatureError) -> Response {
    tracing::warn!(%reason, "request without a valid gateway signature");
    bare_status(StatusCode::UNAUTHORIZED)
}

fn bare_status(status: StatusCode) -> Response {
    EncodedResponse { status, headers: HeaderMap::new(), body: Bytes::new() }.into_response()
}
