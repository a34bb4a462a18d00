//! The telemetry and common response headers of the identity provider and the web pages: one log line, one
//! counter and one duration per request.
//!
//! All labels are bounded: routes, methods, statuses, and errors of the provider. No log line contains a
//! path, a query, a header or a body, because these may contain codes and handoffs.

use std::cell::RefCell;

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::{HeaderValue, Method};
use metrics::{counter, histogram};
use tracing::Instrument as _;

use crate::correlation::{CORRELATION_ID, correlation_id};
use crate::environment::Environment;
use crate::ids::{ClientId, MemberId};
use crate::logging::member_label;
use crate::peer::PeerAddr;
use crate::time::Stopwatch;

/// The error code of a response, which is stored in the extensions of the response for the telemetry layer.
/// It must be from a bounded set, because it becomes a label.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ErrorLabel(pub(crate) &'static str);

/// The client and the member of a request, once they are verified.
#[derive(Clone, Default)]
struct RequestSubject {
    client: Option<ClientId>,
    member: Option<MemberId>,
}

tokio::task_local! {
    /// The subject of the request that the current task handles.
    static SUBJECT: RefCell<RequestSubject>;
}

/// Notes the registered client of the current request for its log line. Does nothing outside of a request.
pub(crate) fn note_client(client: &ClientId) {
    // The closure does not wait, so that the value is not borrowed.
    let _ = SUBJECT.try_with(|subject| subject.borrow_mut().client = Some(client.clone()));
}

/// Notes the member of the current request for its log line. Does nothing outside of a request.
pub(crate) fn note_member(member: &MemberId) {
    let _ = SUBJECT.try_with(|subject| subject.borrow_mut().member = Some(member.clone()));
}

/// Adds telemetry to a router. Also adds the header with the correlation id to every response.
pub(crate) fn with_telemetry<S>(router: Router<S>, environment: &Environment) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    router.layer(middleware::from_fn_with_state(environment.clone(), observe_request))
}

async fn observe_request(State(environment): State<Environment>, request: Request, next: Next) -> Response {
    let stopwatch = Stopwatch::start();
    let (head, body) = request.into_parts();
    let id = correlation_id(&head, &environment);
    let endpoint = head.extensions.get::<MatchedPath>().cloned();
    let endpoint = endpoint.as_ref().map_or("none", MatchedPath::as_str);
    let method = method_label(&head.method);
    // The span adds the correlation id to every event of the request, at every log level.
    let span = tracing::error_span!("request", correlation_id = id.as_str());
    let source = PeerAddr::from_extensions(&head.extensions).0.to_canonical();
    let run = async {
        let response = next.run(Request::from_parts(head, body)).instrument(span).await;
        (response, SUBJECT.with(|subject| subject.take()))
    };
    let (mut response, subject) = SUBJECT.scope(RefCell::default(), run).await;

    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        response.headers_mut().insert(CORRELATION_ID, id);
    }
    let status = response.status().as_u16();
    let error = response.extensions().get().map_or("none", |ErrorLabel(error)| error);
    counter!(
        "exchange_endpoint_requests_total",
        "endpoint" => endpoint.to_owned(), "method" => method, "status" => status.to_string(), "error" => error
    )
    .increment(1);
    histogram!("exchange_endpoint_request_seconds", "endpoint" => endpoint.to_owned())
        .record(stopwatch.elapsed().as_secs_f64());
    let member = subject.member.as_ref().map(member_label);
    tracing::info!(
        correlation_id = id.as_str(),
        %source,
        client = subject.client.as_ref().map(ClientId::as_str),
        member = member.as_deref(),
        endpoint,
        method,
        status,
        error,
        micros = stopwatch.elapsed_micros(),
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
