//! The other end of [`HttpRelay`](super::HttpRelay): a backend that believes gateways, and nobody else.

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use contract_runtime::server::{Answer, Bytes, Call, Context, HeaderMap, Response};
use exchange_api::operations::TABLE;
use exchange_api::server::{Incoming, Service};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};

use super::local::Local;
use super::signed::{self, RelayKey};
use super::{RelayFailure, Relayed};
use crate::Environment;

/// The largest body that a gateway passes on (LIM-23, as far as it can be configured).
const LARGEST: usize = 16 << 20;

/// Serves a backend's methods to gateways.
pub struct Backends<S> {
    local: Local<S>,
    key: RelayKey,
    environment: Environment,
}

impl<S> fmt::Debug for Backends<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Backends").finish_non_exhaustive()
    }
}

impl<S: Service> Backends<S> {
    /// The methods of this service, for whoever has the key.
    #[must_use]
    pub fn new(service: Arc<S>, key: RelayKey, environment: Environment) -> Self {
        Self { local: Local::new(service), key, environment }
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
        let Ok(body) = Limited::new(body, LARGEST).collect().await.map(|whole| whole.to_bytes()) else {
            return bare(StatusCode::PAYLOAD_TOO_LARGE);
        };
        let said = (&parts.method, &parts.uri, &body[..]);
        let caller = match signed::verify(&self.key, &parts.headers, said, self.environment.now()) {
            Ok(caller) => caller,
            Err(reason) => {
                tracing::warn!(%reason, "a request that no gateway signed");
                return bare(StatusCode::UNAUTHORIZED);
            }
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

fn bare(status: StatusCode) -> Response {
    Answer { status, headers: HeaderMap::new(), body: Bytes::new() }.into_response()
}
