//! The gateway: the order of checks (GW-01) as a list of stages, and what each of them costs.
//!
//! ```text
//! request ──► stages 1 and 2 ──┬─► anonymous: schema files, openapi.json, OPTIONS
//!                              └─► stages 3 to 14 ──► relay ──► answer
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`stages`] | `STAGES`: name, codes, effects, what each asks, what each decides |
//! | [`facts`] | what was found out about one request so far; all that a decision may look at |
//! | [`ports`] | whom the stages ask: proofs, tokens, registry, limits, keys, the backend |
//! | [`ending`] | how a request ends before the backend: a refusal, or the answer to an earlier one |
//! | `relaying` | bulkhead, relay, and what becomes of the claim and the quota |
//! | `answering` | the headers of every answer |
//! | [`contract`] | the contract's files, byte for byte |
//!
//! A stage first *asks* (the only place with effects), then *decides*, purely, over the facts. Nothing
//! here knows a member's data.

mod answering;
mod body;
pub mod contract;
pub mod ending;
pub mod facts;
mod installations;
mod keys;
mod measures;
mod newcomers;
pub mod ports;
mod relaying;
pub mod stages;
mod tokens;
mod version;

use std::fmt;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use contract_runtime::server::{HeaderValue, Response, without_body};
use exchange_api::operations::TABLE;
use exchange_api::refusals::PlainCode;
use http::request::Parts as Head;
use http::{Method, Request, header};

use self::answering::Sent;
use self::ending::{Ending, Refused};
use self::facts::Facts;
pub use self::ports::{Parts, Ports};
use self::stages::{ANONYMOUS_AFTER, STAGES, Stage};
use crate::Environment;
use crate::correlation::{CORRELATION_ID, correlation_id};

/// The gateway of an exchange. Cheap to clone.
#[derive(Clone)]
pub struct Gateway {
    ports: Arc<Ports>,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").finish_non_exhaustive()
    }
}

impl Gateway {
    /// One that asks these.
    #[must_use]
    pub fn new(ports: Ports) -> Self {
        Self { ports: Arc::new(ports) }
    }

    /// Serves everything below `/exchange`; what is in front of it says where a request comes from
    /// ([`Peer`](crate::peer::Peer)).
    pub fn router(&self) -> Router {
        let serve = |gateway: Self| {
            move |request: Request<Body>| {
                let gateway = gateway.clone();
                async move { gateway.answer(request).await }
            }
        };
        ROUTES
            .iter()
            .fold(Router::new(), |router, route| router.route(route, axum::routing::any(serve(self.clone()))))
    }

    /// Answers one request for `/exchange` or what is below it.
    pub async fn answer(&self, request: Request<Body>) -> Response {
        let ports = &*self.ports;
        let mut facts = Facts::of(request, &ports.environment);
        let response = self.pass(&mut facts).await;
        measures::tell(&facts, &response, ports.environment.now());
        if facts.head.method == Method::HEAD { without_body(response) } else { response }
    }

    /// Takes it through the stages, as far as it comes.
    async fn pass(&self, facts: &mut Facts) -> Response {
        let ports = &*self.ports;
        let mut sent = Sent::default();
        for (at, stage) in STAGES.iter().enumerate() {
            if at == ANONYMOUS_AFTER
                && let Some(answered) = contract::anonymous(facts)
            {
                return match answered {
                    Ok(answer) => answering::anonymous(ports, facts, answer),
                    Err(ending) => {
                        let answer = relaying::end(ports, facts, ending).await;
                        answering::finish(ports, facts, &sent, answer)
                    }
                };
            }
            if let Err(ending) = self.ask(stage, facts).await {
                sent = Sent::at(stage, facts, &ending);
                let answer = relaying::end(ports, facts, ending).await;
                return answering::finish(ports, facts, &sent, answer);
            }
            sent = Sent::after(stage, sent);
        }
        let answer = relaying::relay(ports, facts).await;
        answering::finish(ports, facts, &sent, answer)
    }

    async fn ask(&self, stage: &Stage, facts: &mut Facts) -> Result<(), Ending> {
        facts.now = self.ports.environment.now();
        if let Some(ask) = stage.ask {
            ask(&self.ports, facts).await;
        }
        (stage.decide)(facts, &self.ports.config)?;
        if let Some(then) = stage.then {
            then(&self.ports, facts).await;
        }
        Ok(())
    }
}

/// All that is the gateway's.
const ROUTES: [&str; 2] = ["/exchange", "/exchange/{*rest}"];

/// Whether a path is one of the gateway's, for whoever has no router.
pub(crate) fn serves(path: &str) -> bool {
    path.strip_prefix("/exchange")
        .is_some_and(|rest| rest.is_empty() || rest.len() > 1 && rest.starts_with('/'))
}

/// What a request is answered whose head no part has looked at, and nobody reads on: a problem that closes its
/// connection.
pub(crate) fn refuse_head(head: &Head, code: PlainCode, environment: &Environment) -> Response {
    let id = correlation_id(head, environment);
    let mut answer = Refused::plain(code).into_answer(id.clone(), head.uri.path());
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        answer.headers.insert(CORRELATION_ID, id);
    }
    answer.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer.headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    tracing::info!(correlation_id = id.as_str(), code = ?code, "a head that is not taken");
    answer.into_response()
}

/// The operation that a method and a path name, whether or not anybody may call it.
fn operation(method: &Method, path: &str) -> Option<&'static contract_runtime::operation::Operation> {
    match TABLE.find(method.as_str(), path) {
        contract_runtime::operation::Lookup::Found(operation) => Some(operation),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use tower::ServiceExt as _;

    use super::*;

    /// What is the gateway's with a router is so without one.
    #[tokio::test]
    async fn a_router_takes_the_same_paths() {
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
            let asked = Request::get(path).body(Body::empty()).unwrap();
            let answered = routed.clone().oneshot(asked).await.unwrap().status();
            assert_eq!(answered == StatusCode::OK, serves(path), "{path}");
        }
    }
}
