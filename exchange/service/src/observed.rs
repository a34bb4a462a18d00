//! What the identity provider's endpoints and the pages have in common: headers of every answer, and what is told of each
//! request to whoever runs the service, as of a call of the gateway: a line in the log, a count, a duration.
//!
//! Labels are bounded: routes as they are declared, methods, statuses, errors of the provider. Nothing tells a path, a
//! query, a header or a body: codes and handoffs stand in them.

use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use http::header::STRICT_TRANSPORT_SECURITY;
use http::{HeaderValue, Method};
use metrics::{counter, histogram};
use tracing::Instrument as _;

use crate::correlation::{CORRELATION_ID, correlation_id};
use crate::environment::Environment;

/// RFC 6797, 6.1: for a year browsers come back by TLS alone. Other hosts of the domain are not this service's to speak for.
const TLS_ALONE: HeaderValue = HeaderValue::from_static("max-age=31536000");

/// The error that an answer tells: a layer that has the answer alone finds it among its extensions. One of a bounded set,
/// which stands in labels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told(pub(crate) &'static str);

#[derive(Clone)]
struct Observer {
    environment: Environment,
    /// Whether browsers reach it by TLS.
    is_secure: bool,
}

/// The same router, with an id, and TLS for good where its public origin has it, in every answer, and with each request told.
pub(crate) fn observed<S>(router: Router<S>, environment: &Environment, origin: &str) -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    let observer = Observer { environment: environment.clone(), is_secure: origin.starts_with("https://") };
    router.layer(middleware::from_fn_with_state(observer, observe))
}

async fn observe(State(observer): State<Observer>, request: Request, next: Next) -> Response {
    let Observer { environment, is_secure } = observer;
    let came = environment.now();
    let (head, body) = request.into_parts();
    let id = correlation_id(&head, &environment);
    let endpoint = head.extensions.get::<MatchedPath>().cloned();
    let endpoint = endpoint.as_ref().map_or("none", MatchedPath::as_str);
    let method = known(&head.method);
    // Whatever else is logged of the request has its id, at whichever level.
    let span = tracing::error_span!("request", correlation_id = id.as_str());
    let mut answer = next.run(Request::from_parts(head, body)).instrument(span).await;

    let headers = answer.headers_mut();
    if let Ok(id) = HeaderValue::from_str(id.as_str()) {
        headers.insert(CORRELATION_ID, id);
    }
    if is_secure {
        headers.insert(STRICT_TRANSPORT_SECURITY, TLS_ALONE);
    }
    let status = answer.status().as_u16();
    let error = answer.extensions().get().map_or("none", |Told(error)| error);
    let took = environment.now().since(came);
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
        "request of an endpoint",
    );
    answer
}

/// A method that pages and endpoints have, so that nobody can make up labels.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        _ => "other",
    }
}
