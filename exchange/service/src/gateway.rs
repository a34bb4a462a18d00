//! The gateway, which authenticates, limits and validates each request for `/exchange` before the backend
//! receives it.
//!
//! The checks run as a list of stages, in the order of GW-01. Each stage declares which resources a refused
//! request has consumed.
//!
//! ```text
//! request ──► stages 1 and 2 ──┬─► anonymous: schema files, openapi.json, OPTIONS
//!                              └─► stages 3 to 14 ──► relay ──► response
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`stages`] | `STAGES`: name, codes and effects of each stage, the action that gathers facts, and the decision |
//! | [`facts`] | the facts gathered about one request, which a decision is based on |
//! | [`ports`] | the collaborators of the stages: proofs, tokens, registry, limits, keys, the backend |
//! | [`early_response`] | responses that end a request before it reaches the backend: a rejection or a replayed response |
//! | `backend_call` | bulkhead, relay, and releasing the key claim and the quota |
//! | `response_headers` | headers of every response |
//! | [`contract`] | the contract's files, served byte for byte |
//!
//! A stage first *gathers* facts, which is the only step with side effects. It then *decides* with a pure
//! function of the facts. The gateway does not store or interpret the data of members.

mod backend_call;
mod body;
pub mod contract;
pub mod early_response;
pub mod facts;
mod installations;
mod keys;
mod newcomers;
pub mod ports;
mod response_headers;
pub mod stages;
mod telemetry;
mod tokens;
mod version;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use contract_runtime::server::{HeaderValue, Response, without_body};
use exchange_api::codes::Code;
use exchange_api::error_responses::{PlainCode, TimedCode};
use exchange_api::operations::TABLE;
use exchange_api::types::CorrelationId;
use http::request::Parts as Head;
use http::{Method, Request, header};

use self::early_response::{EarlyResponse, StageRejection};
use self::facts::RequestFacts;
pub(crate) use self::ports::PROOF_WINDOW;
pub use self::ports::{GatewayParts, GatewayPorts};
pub(crate) use self::response_headers::REPLAYED;
use self::response_headers::ResponseHeaders;
use self::stages::{ANONYMOUS_AFTER, STAGES, Stage};
use crate::Environment;
use crate::correlation::{CORRELATION_ID, correlation_id};
use crate::peer::PeerAddr;

/// The gateway of the exchange. Clones are cheap and share all state.
#[derive(Clone)]
pub struct Gateway {
    ports: Arc<GatewayPorts>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// Creates a gateway that uses these collaborators.
    #[must_use]
    pub fn new(ports: GatewayPorts) -> Self {
        Self { ports: Arc::new(ports) }
    }

    /// Returns a router for `/exchange` and all paths below it. The server must store the source address of
    /// each request as a [`PeerAddr`](crate::peer::PeerAddr) extension.
    pub fn router(&self) -> Router {
        let serve = |gateway: Self| {
            move |request: Request<Body>| {
                let gateway = gateway.clone();
                async move { gateway.handle_request(request).await }
            }
        };
        ROUTES
            .iter()
            .fold(Router::new(), |router, route| router.route(route, axum::routing::any(serve(self.clone()))))
    }

    /// Handles one request for `/exchange` or a path below it.
    pub async fn handle_request(&self, request: Request<Body>) -> Response {
        let ports = &*self.ports;
        let mut facts = RequestFacts::from_request(request, &ports.environment);
        let response = self.run_stages(&mut facts).await;
        telemetry::record_request(&facts, &response);
        if facts.head.method == Method::HEAD { without_body(response) } else { response }
    }

    /// Makes the next request read the registry of clients from the store.
    pub fn reload_registry(&self) {
        self.ports.registry.invalidate();
    }

    /// Returns the number of entries and the capacity of each cache and budget, with its name.
    #[must_use]
    pub fn usage(&self) -> [(&'static str, u64, u64); 2] {
        let (tokens, tokens_limit) = self.ports.tokens.usage();
        let (bodies, bodies_limit) = self.ports.body_budget.usage();
        [("tokens", tokens, tokens_limit), ("request-body-bytes", bodies, bodies_limit)]
    }

    /// Runs the stages in order. Calls the backend if the request passes all of them.
    async fn run_stages(&self, facts: &mut RequestFacts) -> Response {
        let ports = &*self.ports;
        let mut sent = ResponseHeaders::default();
        for (index, stage) in STAGES.iter().enumerate() {
            if index == ANONYMOUS_AFTER
                && let Some(answered_response) = contract::serve_anonymous(facts)
            {
                return match answered_response {
                    Ok(response) => response_headers::finish_anonymous(ports, facts, response),
                    Err(ending) => {
                        let response = backend_call::finish_early(ports, facts, ending).await;
                        response_headers::finish_response(ports, facts, &sent, response)
                    }
                };
            }
            if let Err(ending) = self.run_stage(stage, facts).await {
                sent = ResponseHeaders::for_early_response(stage, facts, &ending);
                let response = backend_call::finish_early(ports, facts, ending).await;
                let mut response = response_headers::finish_response(ports, facts, &sent, response);
                if let Some((_, reason)) = &facts.rejection {
                    response.extensions_mut().insert(RejectedBy { stage: stage.name, reason });
                }
                return response;
            }
            sent = ResponseHeaders::after_stage(stage, sent);
        }
        let response = backend_call::call_backend(ports, facts).await;
        response_headers::finish_response(ports, facts, &sent, response)
    }

    async fn run_stage(&self, stage: &Stage, facts: &mut RequestFacts) -> Result<(), EarlyResponse> {
        facts.now = self.ports.environment.now();
        if let Some(ask) = stage.gather {
            ask(&self.ports, facts).await;
        }
        (stage.decide)(facts, &self.ports.config)?;
        if let Some(then) = stage.on_pass {
            then(&self.ports, facts).await;
        }
        Ok(())
    }
}

const ROUTES: [&str; 2] = ["/exchange", "/exchange/{*rest}"];

/// Returns true if the gateway serves the path. Callers use this function instead of the router.
pub(crate) fn is_gateway_path(path: &str) -> bool {
    path.strip_prefix("/exchange")
        .is_some_and(|rest| rest.is_empty() || rest.len() > 1 && rest.starts_with('/'))
}

/// Refuses a request because of its head, before any stage runs. The response is a problem document, and the
/// connection is closed.
pub(crate) fn reject_head(head: &Head, code: PlainCode, environment: &Environment) -> Response {
    let id = correlation_id(head, environment);
    let mut response = render_rejection(StageRejection::from_code(code), id.clone(), head);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    let source = PeerAddr::from_extensions(&head.extensions).0.to_canonical();
    tracing::info!(correlation_id = id.as_str(), %source, code = ?code, "request head refused");
    response
}

/// Builds the response of a rejection outside of the stages.
fn render_rejection(rejection: StageRejection, id: CorrelationId, head: &Head) -> Response {
    let header_value = HeaderValue::from_str(id.as_str());
    let mut response = rejection.into_response(id, head.uri.path());
    if let Ok(id) = header_value {
        response.headers.insert(CORRELATION_ID, id);
    }
    response.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response.into_response()
}

/// Among the extensions of a response: the stage that refused the request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RejectedBy {
    /// The name of the stage.
    pub(crate) stage: &'static str,
    /// A keyword for the reason. It is empty if the code is sufficient.
    pub(crate) reason: &'static str,
}

/// Returns true if the contract has this code and the gateway can refuse a request with it.
pub(crate) fn is_known_code(code: &str) -> bool {
    rejection_with_code(code, Duration::ZERO).is_some()
}

/// Builds the response with which a stage would refuse a request, for the faults of the sandbox. Returns `None` for an
/// unknown code.
pub(crate) fn refuse_with_code(
    head: &Head,
    code: &str,
    wait: Duration,
    environment: &Environment,
) -> Option<Response> {
    let rejection = rejection_with_code(code, wait)?;
    Some(render_rejection(rejection, correlation_id(head, environment), head))
}

fn rejection_with_code(code: &str, wait: Duration) -> Option<StageRejection> {
    let plain = PlainCode::ALL.iter().find(|known| Code::from(**known).as_str() == code);
    let timed = TimedCode::ALL.iter().find(|known| Code::from(**known).as_str() == code);
    match (plain, timed) {
        (Some(plain), _) => Some(StageRejection::from_code(*plain)),
        (None, Some(timed)) => Some(StageRejection::from_timed_code(*timed, wait)),
        (None, None) => None,
    }
}

/// Finds the operation with a method and a path, whether or not the caller may use it.
fn find_operation(method: &Method, path: &str) -> Option<&'static contract_runtime::operation::Operation> {
    match TABLE.find(method.as_str(), path) {
        contract_runtime::operation::OperationLookup::Found(operation) => Some(operation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use tower::ServiceExt as _;

    use super::*;

    /// The router and `is_gateway_path` accept the same paths.
    #[tokio::test]
    async fn router_and_path_check_agree() {
        let routed = ROUTES.iter().fold(Router::new(), |router, route| {
            router.route(route, axum::routing::any(async || StatusCode::OK))
        });
        for path in [
            "/exchange",
            "/exchange/",
            "/exchange//",
            "/exchange/v1",
            "/exchange/v1/",
            "/exchange/./",
            "/exchanges",
            "/exchange%2Fv1",
            "/Exchange/v1",
            "//exchange",
            "/",
            "/idp/jwks",
        ] {
            let request = Request::get(path).body(Body::empty()).unwrap();
            let status = routed.clone().oneshot(request).await.unwrap().status();
            assert_eq!(status == StatusCode::OK, is_gateway_path(path), "{path}");
        }
    }
}
