//! The other end of [`HttpRelay`](super::HttpRelay): a backend that believes gateways, and nobody else.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use contract_runtime::server::{Answer, Bytes, Call, Context, HeaderMap, Response};
use exchange_api::operations::TABLE;
use exchange_api::server::{Incoming, Service};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

use super::local::Local;
use super::signed::{self, RelayKey, Unbelieved};
use super::{RelayFailure, Relayed};
use crate::Environment;

/// Serves a backend's methods to gateways.
pub struct Backends<S> {
    local: Local<S>,
    key: RelayKey,
    environment: Environment,
    largest: usize,
}

impl<S> fmt::Debug for Backends<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backends").finish_non_exhaustive()
    }
}

impl<S: Service> Backends<S> {
    /// The methods of this service, for whoever has the key; bodies are at most so many bytes, as gateways take
    /// them (LIM-23).
    #[must_use]
    pub fn new(service: Arc<S>, key: RelayKey, environment: Environment, largest: usize) -> Self {
        Self { local: Local::new(service), key, environment, largest }
    }

    /// As a router: every path.
    pub fn into_router(self) -> Router {
        let backends = Arc::new(self);
        Router::new().fallback(move |request: Request<Body>| {
            let backends = Arc::clone(&backends);
            async move { backends.serve(request).await }
        })
    }

    async fn serve(&self, request: Request<Body>) -> Response {
        let (mut parts, body) = request.into_parts();
        // Whoever is no gateway is not listened to any further.
        let believed =
            signed::verify(&self.key, &parts.headers, (&parts.method, &parts.uri), self.environment.now());
        let believed = match believed {
            Ok(believed) => believed,
            Err(reason) => return unbelieved(reason),
        };
        let body = match Limited::new(body, self.largest).collect().await {
            Ok(whole) => whole.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return bare(StatusCode::PAYLOAD_TOO_LARGE),
            Err(_) => return bare(StatusCode::BAD_REQUEST),
        };
        let caller = match believed.of_body(&body) {
            Ok(caller) => caller,
            Err(reason) => return unbelieved(reason),
        };
        parts.headers.remove(signed::HEADER);
        parts.extensions.insert(caller.clone());
        let found = TABLE.find(parts.method.as_str(), parts.uri.path());
        let contract_runtime::operation::Lookup::Found(operation) = found else {
            return bare(StatusCode::NOT_FOUND);
        };
        let context = Context::new(Arc::new(parts), Some(operation), body);
        let answered =
            match Call::new(operation, context.clone()).and_then(|call| Ok((Incoming::read(&call)?, call))) {
                Ok((incoming, call)) => self.local.answer(Relayed { caller, call, incoming }).await,
                Err(rejection) => self.local.rejected(&context, rejection).await,
            };
        match answered {
            Ok(answer) => answer.into_response(),
            Err(RelayFailure::Unreachable | RelayFailure::TooLate) => bare(StatusCode::INTERNAL_SERVER_ERROR),
        }
    }
}

fn unbelieved(reason: Unbelieved) -> Response {
    tracing::warn!(%reason, "a request that no gateway signed");
    bare(StatusCode::UNAUTHORIZED)
}

fn bare(status: StatusCode) -> Response {
    Answer { status, headers: HeaderMap::new(), body: Bytes::new() }.into_response()
}
