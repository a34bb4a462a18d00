//! The telemetry and common response headers of the identity provider and the web pages: one log line, one
//! counter and one duration per request.
//!
//! All labels are bounded: routes, methods, statuses, and errors of the provider. No log line contains a
//! path, a query, a header or a body, because these may contain codes and handoffs.

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderValue, Method};
use metrics::{counter, histogram};
use tracing::Instrument as _;

use crate::correlation::{CORRELATION_ID, correlation_id};
use crate::environment::Environment;

/// The error code of a response, which is stored in the extensions of the response for the telemetry layer.
/// It must be from a bounded set, because it becomes a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorLabel(pub(crate) &'static str);

/// Adds telemetry to a router. Also adds the header with the correlation id to every response.
pub(crate) fn with_telemetry<S>(router: Router<S>, environment: &Environment) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    router.layer(middleware::from_fn_with_state(environment.clone(), observe_request))
}

async fn observe_request(State(environment): State<Environment>, request: Request, next: Next) -> Response {
    let received_at = environment.now();
    let (head, body) = request.into_parts();
    let id = correlation_id(&head, &environment);
    let endpoint = head.extensions.get::<MatchedPath>().cloned();
    let endpoint = endpoint.as_ref().map_or("none", MatchedPath::as_str);
    let method = method_label(&head.method);
    // The span adds the correlation id to every event of the request, at every log level.
    let span = tracing::error_span!("request", correlation_id = id.as_str());
    let mut response = next.run(Request::from_parts(head, body)).instrument(span).await;

    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(CORRELATION_ID, id);
    }
    let status = response.status().as_u16();
    let error = response.extensions().get().map_or("none", |ErrorLabel(error)| error);
    let took = environment.now().since(received_at);
    counter!(
        "exchange_endpoint_requests_total",
        "endpoint" => endpoint.to_owned(), "method" => method, "status" => status.to_string(), "error" => error
    )
    .increment(1);
    histogram!("exchange_endpoint_request_seconds", "endpoint" => endpoint.to_owned())
        .record(took.as_secs_f64());
    tracing::info!(
        correlation_id = id.as_str(),
        endpoint,
        method,
        status,
        error,
        millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        "endpoint request",
    );
    response
}

/// Returns a label from a bounded set for a method, so that clients cannot create labels.
fn method_label(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}
