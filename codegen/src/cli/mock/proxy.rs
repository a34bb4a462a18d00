//! `mock --proxy`: forwards requests to a live service, and reports requests and responses that violate the
//! contract. The responses are returned unchanged and as they arrive, so that streams work.

use std::{
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody},
    extract::Request,
    response::Response,
};
use contract_codegen::mock::{ExchangeVerdict, MessageViolation, MockServer};
use http::{HeaderMap, StatusCode, response};
use http_body::{Frame, SizeHint};
use serde_json::{Value, json};

use super::{
    MAX_BODY_BYTES, MAX_LISTED_ITEMS, describe_large_body, is_printed, read_body,
    statistics::SessionStatistics, violation_object,
};
use crate::cli::{
    console::Console,
    error::CommandError,
    service::{ServiceClient, end_to_end_headers},
};

/// Returns a router that forwards all requests.
pub(super) fn proxy_router(session: &Arc<ProxySession>) -> Router {
    let session = Arc::clone(session);
    Router::new().fallback(move |request: Request| forward_request(Arc::clone(&session), request))
}

/// A run of the proxy.
#[derive(Debug)]
pub(super) struct ProxySession {
    service: ServiceClient,
    mock: Arc<MockServer>,
    console: Arc<Console>,
    statistics: Mutex<SessionStatistics>,
}

impl ProxySession {
    pub(super) fn new(service: ServiceClient, mock: Arc<MockServer>, console: Arc<Console>) -> Self {
        let operations = mock.operations().all().iter().map(|operation| operation.id.to_owned());
        let statistics = Mutex::new(SessionStatistics::new(operations));
        Self { service, mock, console, statistics }
    }

    /// Prints the operations that were called or not, and the violations of each operation.
    pub(super) fn print_summary(&self, console: &Console) -> Result<(), CommandError> {
        let statistics = self.statistics.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = if console.is_verbose() { usize::MAX } else { MAX_LISTED_ITEMS };
        console.print_result(&statistics.format_text(limit))?;
        console.print_summary(statistics.to_json());
        Ok(())
    }

    /// Validates an exchange, records it and prints its violations. Each violation is one line; the JSON of an
    /// exchange is one object. `failure` describes the reason why the service sent no response.
    fn report_exchange(&self, exchange: &Exchange, failure: Option<&str>) {
        let response = failure.is_none().then_some(&exchange.response);
        let verdict = self.mock.validate_exchange(&exchange.request, response);
        let mut statistics = self.statistics.lock().unwrap_or_else(PoisonError::into_inner);
        statistics.add_exchange(&verdict);
        drop(statistics);
        self.print_exchange(exchange, &verdict, failure);
    }

    fn print_exchange(&self, exchange: &Exchange, verdict: &ExchangeVerdict, failure: Option<&str>) {
        let has_findings = failure.is_some() || sided_violations(verdict).next().is_some();
        if !is_printed(&self.console, has_findings) {
            return;
        }
        let lines = exchange_lines(exchange, verdict, failure, self.console.is_verbose());
        // The proxy keeps running if standard output is closed.
        let _ = self.console.print_event(&lines.join("\n"), exchange_event(exchange, verdict, failure));
    }
}

/// A request and the response that the client received. A body that is not in memory has the reason instead.
#[derive(Debug)]
struct Exchange {
    request: Request<Bytes>,
    response: Response<Result<Bytes, String>>,
}

impl Exchange {
    /// Returns an exchange that the proxy answers itself.
    fn without_response(request: Request<Bytes>, status: StatusCode) -> Self {
        let mut response = Response::new(Err("the service sent none".to_owned()));
        *response.status_mut() = status;
        Self { request, response }
    }
}

/// Forwards a request to the service and returns the response.
async fn forward_request(session: Arc<ProxySession>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Some(body) = read_body(body).await else {
        // A request without its body cannot be validated.
        let detail = describe_large_body();
        let response = MockServer::error_response(StatusCode::PAYLOAD_TOO_LARGE, &detail);
        let exchange =
            Exchange::without_response(Request::from_parts(parts, Bytes::new()), response.status());
        session.print_exchange(&exchange, &ExchangeVerdict::default(), Some(&detail));
        return response.map(Body::from);
    };
    let request = Request::from_parts(parts, body);
    match session.service.send(&request).await {
        Ok(response) => {
            let (received, body) = response.into_parts();
            let (mut head, ()) = Response::new(()).into_parts();
            head.status = received.status;
            head.headers = end_to_end_headers(&received.headers);
            let observer = Some(BodyObserver::new(session, request, &head));
            Response::from_parts(head, Body::new(ObservedBody { body, observer }))
        }
        Err(reason) => {
            let detail = format!("no response from {}: {reason}", session.service.base_url());
            let response = MockServer::error_response(StatusCode::BAD_GATEWAY, &detail);
            let exchange = Exchange::without_response(request, response.status());
            tokio::task::spawn_blocking(move || session.report_exchange(&exchange, Some(&detail)));
            response.map(Body::from)
        }
    }
}

/// A response body that is forwarded to the client, and validated after its end.
#[derive(Debug)]
struct ObservedBody {
    body: Body,
    /// `None` if the exchange was reported.
    observer: Option<BodyObserver>,
}

/// Collects the body of a response, and reports the exchange after its end.
#[derive(Debug)]
struct BodyObserver {
    session: Arc<ProxySession>,
    request: Request<Bytes>,
    status: StatusCode,
    headers: HeaderMap,
    copy: Vec<u8>,
    is_too_large: bool,
}

impl BodyObserver {
    fn new(session: Arc<ProxySession>, request: Request<Bytes>, head: &response::Parts) -> Self {
        let (status, headers) = (head.status, head.headers.clone());
        Self { session, request, status, headers, copy: Vec::new(), is_too_large: false }
    }

    fn append(&mut self, data: &[u8]) {
        self.is_too_large |= self.copy.len() + data.len() > MAX_BODY_BYTES;
        if self.is_too_large {
            self.copy = Vec::new();
        } else {
            self.copy.extend_from_slice(data);
        }
    }

    /// Validates and reports the exchange on another thread. `incomplete` is the reason why the body is
    /// incomplete.
    fn finish(self, incomplete: Option<&str>) {
        let large = self.is_too_large.then(|| format!("it exceeds {} MiB", MAX_BODY_BYTES >> 20));
        let reason = incomplete.map(str::to_owned).or(large);
        let mut response = Response::new(reason.map_or(Ok(Bytes::from(self.copy)), Err));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        let exchange = Exchange { request: self.request, response };
        let session = self.session;
        // After Ctrl-C, bodies are dropped outside of the runtime.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn_blocking(move || session.report_exchange(&exchange, None));
        }
    }
}

impl HttpBody for ObservedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                if let (Some(observer), Some(data)) = (&mut self.observer, frame.data_ref()) {
                    observer.append(data);
                }
            }
            Poll::Ready(Some(Err(_))) => {
                if let Some(observer) = self.observer.take() {
                    observer.finish(Some("the service closed the connection early"));
                }
            }
            Poll::Ready(None) => {
                if let Some(observer) = self.observer.take() {
                    observer.finish(None);
                }
            }
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for ObservedBody {
    /// Reports the exchange if the server did not poll the body to its end, which it does not if the length is
    /// known.
    fn drop(&mut self) {
        if let Some(observer) = self.observer.take() {
            observer.finish((!self.body.is_end_stream()).then_some("the client closed the connection early"));
        }
    }
}

/// Formats one line for each violation, such as `200 GET /tickets/a-17 readTicket: response body /seat must be
/// at most 99`. An exchange without violations has one line as well.
fn exchange_lines(
    exchange: &Exchange,
    verdict: &ExchangeVerdict,
    failure: Option<&str>,
    all: bool,
) -> Vec<String> {
    let Exchange { request, response } = exchange;
    // The query is not printed, because it may contain an API key.
    let (status, method, path) = (response.status().as_u16(), request.method(), request.uri().path());
    let operation = verdict.operation.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let head = format!("{status} {method} {path}{operation}: ");
    let mut details: Vec<String> =
        sided_violations(verdict).map(|(side, violation)| format!("{side} {violation}")).collect();
    if let Some(failure) = failure {
        details.insert(0, failure.to_owned());
    }
    let limit = if all { usize::MAX } else { MAX_LISTED_ITEMS };
    if details.len() > limit {
        let rest = details.len() - limit;
        details.truncate(limit);
        details.push(format!("and {rest} more; use --verbose to list all"));
    }
    if let Some(reason) = &verdict.unvalidated {
        details.push(format!("the response body was not validated: {reason}"));
    }
    if details.is_empty() {
        details.push("valid".to_owned());
    }
    details.into_iter().map(|detail| format!("{head}{detail}")).collect()
}

fn exchange_event(exchange: &Exchange, verdict: &ExchangeVerdict, failure: Option<&str>) -> Value {
    let Exchange { request, response } = exchange;
    let violations = sided_violations(verdict).map(|(side, each)| {
        let mut members = violation_object(each);
        members.insert("side".to_owned(), Value::from(side));
        Value::Object(members)
    });
    json!({ "exchange": {
        "method": request.method().as_str(), "path": request.uri().path(), "operation": verdict.operation,
        "status": response.status().as_u16(), "violations": violations.collect::<Vec<_>>(),
        "failure": failure, "unvalidated": verdict.unvalidated,
    } })
}

/// Returns the violations of the request and then of the response, each with the name of its side.
pub(super) fn sided_violations(
    verdict: &ExchangeVerdict,
) -> impl Iterator<Item = (&'static str, &MessageViolation)> {
    let request = verdict.request.iter().map(|violation| ("request", violation));
    request.chain(verdict.response.iter().map(|violation| ("response", violation)))
}
