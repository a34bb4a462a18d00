//! Tests of the generated client of the case `hangar` with transports in this process. The generated code is
//! compiled with warnings as errors.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[rustfmt::skip]
#[path = "cases/hangar/expected/responses.rs"]
pub mod responses;
#[rustfmt::skip]
#[path = "cases/hangar/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/hangar/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/hangar/expected/headers.rs"]
pub mod headers;
#[rustfmt::skip]
#[path = "cases/hangar/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/hangar/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/hangar/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/hangar/expected/security_requirements.rs"]
pub mod security_requirements;
#[rustfmt::skip]
#[path = "cases/hangar/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "cases/hangar/expected/types.rs"]
pub mod types;

#[path = "client_runs/bodies.rs"]
mod bodies;
#[path = "harness/split_mix.rs"]
mod split_mix;
#[path = "harness/texts.rs"]
mod texts;

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::Duration,
};

use calls::{ManualCall, PictureOptions, ShipsReadOptions, ShipsWriteCall, ShipsWriteOptions};
use client::{Bytes, Call as _, Client, Error, RequestChecks};
use contract_runtime::{
    Contract,
    client::{ReqwestTransport, RetryAfter, UnexpectedReason},
    layers::{AttemptCount, RetryOptions, TowerTransport, TransportStack},
    operation::{Operation, RepeatSafety, ResponseKind},
    server::{self as runtime, Rejection, RouterOptions},
    transport::{
        ByteStream, Delivery, ResponseFuture, SleepFuture, Timer, TokioTimer, Transport, TransportError,
        TransportFault,
    },
};
use http::{Request, Response, StatusCode};
use responses::{EmptyOrProblem, OtherOrProblem};
use tower::ServiceExt;
use types::{IdempotencyKey, Problem, Ship, ShipChangeSet};

type Reply = fn() -> Result<Response<Bytes>, TransportError>;

/// A transport that returns the same response to all requests and records the requests.
struct FakeTransport(Reply, Arc<Mutex<Vec<Request<Bytes>>>>);

impl Transport for FakeTransport {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        self.1.lock().unwrap().push(request);
        Box::pin(std::future::ready((self.0)()))
    }
}

fn make_response(
    status: u16,
    media_type: &str,
    body: &'static str,
) -> Result<Response<Bytes>, TransportError> {
    Ok(Response::builder()
        .status(status)
        .header("Content-Type", media_type)
        .header("Retry-After", "7")
        .body(Bytes::from_static(body.as_bytes()))
        .unwrap())
}

fn fake_client(reply: Reply) -> (Client, Arc<Mutex<Vec<Request<Bytes>>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    (Client::new("https://exchange.example/v1/", FakeTransport(reply, Arc::clone(&sent))), sent)
}

/// Polls a call once. The transports are never pending.
fn run<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

fn key() -> IdempotencyKey {
    IdempotencyKey::new("key-000001").unwrap()
}

fn changes(note: &str) -> ShipChangeSet {
    ShipChangeSet::new(note).unwrap()
}

/// A client with the default layers over reqwest is created in one line, and each layer has options.
#[test]
fn default_transport_takes_one_line() {
    let client = Client::new("https://exchange.example", ReqwestTransport::with_default_layers().unwrap());
    let transport = ReqwestTransport::new().unwrap().with_idle_timeout(Duration::from_secs(5));
    let layers = TransportStack {
        retry: Some(RetryOptions { max_attempts: 5, ..RetryOptions::default() }),
        max_concurrency: Some(4),
        call_timeout: Some(Duration::from_secs(30)),
        ..TransportStack::default()
    };
    let other = Client::new("https://exchange.example", layers.wrap(transport, TokioTimer));
    assert_eq!(client.api_client().base_url(), other.api_client().base_url());
}

/// A timer that does not wait.
struct InstantTimer;

impl Timer for InstantTimer {
    fn sleep(&self, _: Duration) -> SleepFuture {
        Box::pin(std::future::ready(()))
    }
}

/// The layers around a transport retry safe calls. Responses contain the number of attempts.
#[test]
fn calls_pass_through_all_layers() {
    /// A transport that succeeds only for every third request.
    #[derive(Clone, Default)]
    struct FlakyTransport(Arc<Mutex<Vec<String>>>);
    impl Transport for FlakyTransport {
        fn send<'a>(&'a self, operation: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
            let mut sent = self.0.lock().unwrap();
            sent.push(operation.id.to_owned());
            let result = match sent.len() % 3 {
                0 => make_response(200, "application/json", r#"{"ships":["a"]}"#),
                _ => Err(TransportError::new(TransportFault::Interrupted, Delivery::Unknown)),
            };
            Box::pin(std::future::ready(result))
        }
    }
    let flaky = FlakyTransport::default();
    let client =
        Client::new("https://exchange.example", TransportStack::default().wrap(flaky.clone(), InstantTimer));
    let page = run(client.ships_read("a", "t", ShipsReadOptions::new())).unwrap();
    assert_eq!((page.ships.len(), page.extensions().get()), (1, Some(&AttemptCount(3))));
    assert_eq!(*flaky.0.lock().unwrap(), ["ships_read"; 3]);
    // The error after the last attempt also contains the number of attempts.
    let retries = Some(RetryOptions { max_attempts: 2, ..RetryOptions::default() });
    let layers = TransportStack { retry: retries, ..TransportStack::default() };
    let client = Client::new("https://exchange.example", layers.wrap(flaky, InstantTimer));
    let error = run(client.ships_read("a", "t", ShipsReadOptions::new())).unwrap_err();
    let Error::Transport(error) = error else { panic!("{error}") };
    assert_eq!(error.attempts(), Some(2));
}

/// A tower service can be used as a transport. In this test, the service is the generated router.
#[test]
fn tower_service_is_a_transport() {
    let echo = Arc::new(Echo(Mutex::default()));
    let router = server::router(Arc::clone(&echo), RouterOptions::default());
    let client = Client::new("https://exchange.example", TowerTransport::new(router));
    let page = poll_to_completion(client.ships_read("here", "t", ShipsReadOptions::new())).unwrap();
    assert_eq!((page.status(), page.ships.len()), (StatusCode::OK, 0));
    let calls_received = echo.0.lock().unwrap();
    assert!(
        matches!(&calls_received[..], [server::AnyCall::ShipsRead(call)] if call.ship_id == "here"),
        "{calls_received:?}"
    );
}

#[test]
fn arguments_are_sent_at_their_locations() {
    let (client, sent) = fake_client(|| make_response(200, "application/json", r#"{"ships":["a"]}"#));
    let page =
        run(client.ships_read("a/b c", "é", ShipsReadOptions::new().limit(100).tag(["x&y", "z"]))).unwrap();
    assert_eq!((page.status(), page.ships.len()), (StatusCode::OK, 1));
    let request = sent.lock().unwrap().remove(0);
    assert_eq!(request.method(), "GET");
    assert_eq!(
        request.uri(),
        "https://exchange.example/v1/ships/a%2Fb%20c/parts?limit=100&tag=x%26y&tag=z&type=%C3%A9"
    );
    let headers: Vec<_> = request.headers().keys().map(http::HeaderName::as_str).collect();
    assert_eq!(headers, ["accept"]);
    // The code is compiled as a part of this package.
    let user_agent =
        contract_runtime::transport::UserAgent(concat!("contract-codegen/", env!("CARGO_PKG_VERSION")));
    assert_eq!(request.extensions().get(), Some(&user_agent));
    assert_eq!(request.headers()["accept"], "application/json, application/problem+json");
}

#[test]
fn bodies_and_headers_are_sent() {
    let (client, sent) = fake_client(|| make_response(200, "application/ship+json", r#"{"name":"x"}"#));
    let result = run(client.ships_write(&key(), &changes("n"), ShipsWriteOptions::new())).unwrap();
    assert_eq!(result.into_body(), Some(ship("x")));
    let request = sent.lock().unwrap().remove(0);
    assert_eq!(request.headers()["idempotency-key"], "key-000001");
    assert_eq!(request.headers()["content-type"], "application/merge-patch+json");
    assert_eq!(request.body(), "\"n\"");

    let (client, _) = fake_client(|| make_response(202, "text/plain", ""));
    assert_eq!(
        run(client.ships_write(&key(), &changes("n"), ShipsWriteOptions::new().x_note("hi")))
            .unwrap()
            .into_body(),
        None
    );

    let (client, sent) = fake_client(|| make_response(204, "text/plain", ""));
    let imported: contract_runtime::client::Response<()> = run(client.import("a,b")).unwrap();
    assert_eq!(imported.status(), StatusCode::NO_CONTENT);
    assert_eq!(sent.lock().unwrap()[0].headers()["content-type"], "text/csv");

    let (client, sent) = fake_client(|| make_response(200, "image/png", "PNG"));
    assert_eq!(run(client.picture(PictureOptions::default())).unwrap().into_body(), "PNG");
    assert!(sent.lock().unwrap()[0].body().is_empty());
}

#[test]
fn error_responses_are_typed_and_have_headers() {
    let (client, _) = fake_client(|| {
        make_response(
            429,
            "application/problem+json; charset=utf-8",
            r#"{"code":"LIMITED","id":"7","detail":"SECRET"}"#,
        )
    });
    let error = run(client.ships_write(&key(), &changes("n"), ShipsWriteOptions::new())).unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::TOO_MANY_REQUESTS));
    assert_eq!(error.header("retry-after"), Some("7"));
    assert_eq!(error.retry_after(), Some(RetryAfter::Delay(Duration::from_secs(7))));
    assert_eq!(error.body().unwrap().code, "LIMITED");
    // The message contains only the fields that the option `shown` lists.
    assert_eq!(error.to_string(), "the server returned 429 Too Many Requests: code LIMITED, id 7");
    assert_eq!(format!("{error:?}"), format!("ErrorResponse({error})"));
}

/// The body of an error response has the type that the contract declares for the status. An error for an
/// unexpected response, such as that of a proxy, contains its status, headers and body.
#[test]
fn error_responses_have_one_type_per_status() {
    #[allow(deprecated, reason = "the contract declares the operation as deprecated")]
    let call = |reply: Reply| run(fake_client(reply).0.ship_remove("a")).unwrap_err();
    let unknown = call(|| make_response(404, "application/json", r#"{"code":"GONE"}"#));
    assert_eq!(unknown.body(), Some(&OtherOrProblem::Problem(problem("GONE"))));
    let used = call(|| make_response(409, "application/json", r#"{"other":"x"}"#));
    assert_eq!(used.body(), Some(&OtherOrProblem::Other(read(r#"{"other":"x"}"#))));
    let page = call(|| make_response(404, "text/html", "<html>"));
    let Error::UnexpectedResponse(page) = page else { panic!("{page}") };
    assert_eq!((page.status().as_u16(), page.reason()), (404, &UnexpectedReason::MediaType));
    assert_eq!((&page.headers()["retry-after"], &page.body()[..]), (&"7".parse().unwrap(), &b"<html>"[..]));
}

/// The error for an unexpected response contains the status. Its message contains no part of the body.
#[test]
fn unexpected_responses_hide_their_body() {
    let check = |reply: Reply, status: u16, expect: &str| {
        let (client, _) = fake_client(reply);
        let error = run(client.ships_read("a", "t", ShipsReadOptions::default())).unwrap_err();
        assert_eq!(error.status().unwrap().as_u16(), status);
        let text = format!("{error} {error:?}");
        let Error::UnexpectedResponse(unexpected) = error else { panic!("{error}") };
        assert_eq!(unexpected.reason().to_string(), expect);
        assert!(!format!("{text} {unexpected:?}").contains("SECRET"), "{text}");
    };
    check(|| make_response(502, "text/html", "<html>SECRET"), 502, "unexpected content type");
    check(|| make_response(200, "application/json", ""), 200, "there is no body");
    check(
        || make_response(200, "application/json", r#"{"ships":["SECRET"#),
        200,
        "the body is not JSON (line 1, byte 17)",
    );
    // The position and the keyword are the same as those of `T::parse`.
    check(
        || make_response(200, "application/json", r#"{"ships":"SECRET"}"#),
        200,
        "the body does not match its type (line 1, byte 17): /ships: must be an array",
    );
    check(|| make_response(301, "text/html", "SECRET"), 301, "undocumented status");
}

#[test]
fn transport_errors_are_returned_unchanged() {
    let (client, _) = fake_client(|| {
        Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown)
            .with_source(std::io::Error::other("stalled")))
    });
    let error = run(client.ships_read("a", "t", ShipsReadOptions::default())).unwrap_err();
    assert_eq!(error.to_string(), "the request timed out: stalled");
    assert_eq!(error.status(), None);
    let Error::Transport(cause) = error else { panic!("{error}") };
    assert_eq!((cause.fault(), cause.delivery()), (TransportFault::Timeout, Delivery::Unknown));
    assert!(cause.downcast_source::<std::io::Error>().is_some());
}

#[test]
fn invalid_requests_are_not_sent() {
    let long: ShipChangeSet = read(&format!("{:?}", "x".repeat(17)));
    let (client, sent) = fake_client(|| make_response(202, "text/plain", ""));
    fn violations_of<E>(error: Error<E>) -> Vec<String> {
        let Error::InvalidRequest(violations) = error else { panic!("{error}") };
        violations.iter().map(|each| format!("{} {}", each.pointer, each.keyword)).collect()
    }
    let error = run(client.ships_write(&key(), &long, ShipsWriteOptions::new())).unwrap_err();
    assert_eq!(violations_of(error), [" maxLength"]);
    let key: IdempotencyKey = read(r#""a key of far too many characters""#);
    let error = run(client.ships_write(&key, &changes(""), ShipsWriteOptions::new().x_note("line\nbreak")))
        .unwrap_err();
    assert_eq!(violations_of(error), ["/Idempotency-Key maxLength", "/X-Note style"]);
    for segment in ["", ".", ".."] {
        let error = run(client.ships_read(segment, "t", ShipsReadOptions::new())).unwrap_err();
        assert_eq!(violations_of(error), ["/shipId style"]);
    }
    assert!(sent.lock().unwrap().is_empty());

    let client = client.with_request_checks(RequestChecks::Off);
    run(client.ships_write(&key, &long, ShipsWriteOptions::new())).unwrap();
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[test]
fn invalid_base_urls_are_reported_by_the_call() {
    for base in ["", "exchange.example", "https://", "https://a/?b", "not a url"] {
        let client = Client::new(base, FakeTransport(|| make_response(200, "", ""), Arc::default()));
        let error = run(client.picture(PictureOptions::default())).unwrap_err();
        let Error::Transport(cause) = error else { panic!("{base}: {error}") };
        assert_eq!((cause.fault(), cause.delivery()), (TransportFault::Request, Delivery::NotSent));
    }
}

#[test]
fn operations_have_their_repeat_safety() {
    let repeat = |id: operations::OperationId| id.operation().repeat;
    assert_eq!(repeat(operations::OperationId::ShipsRead), RepeatSafety::Safe);
    assert_eq!(repeat(operations::OperationId::ShipsWrite), RepeatSafety::Keyed);
    assert_eq!(repeat(operations::OperationId::ShipRemove), RepeatSafety::Idempotent);
    assert_eq!(repeat(operations::OperationId::Picture), RepeatSafety::Idempotent);
    // The configuration declares this `POST` operation as idempotent.
    assert_eq!(repeat(operations::OperationId::Import), RepeatSafety::Idempotent);
    assert_eq!(repeat(operations::OperationId::Resolve), RepeatSafety::Safe);
}

fn read<T: Contract>(text: &str) -> T {
    T::parse(text.as_bytes()).unwrap()
}

fn ship(name: &str) -> Ship {
    read(&format!(r#"{{"name":{name:?}}}"#))
}

fn problem(code: &str) -> Problem {
    read(&format!(r#"{{"code":{code:?}}}"#))
}

/// A stored call is validated once and can be sent several times.
#[test]
fn stored_calls_are_sent_byte_for_byte() {
    let (client, sent) = fake_client(|| make_response(200, "application/ship+json", r#"{"name":"x"}"#));
    let call = ShipsWriteCall {
        idempotency_key: key(),
        body: changes("n"),
        options: ShipsWriteOptions::new().x_note("hi"),
    };
    let stored = call.build_request(client.api_client()).into_stored().unwrap();
    assert_eq!(stored.operation, "ships_write");
    for _ in 0..2 {
        let response = run(client.api_client().send_stored::<ShipsWriteCall>(&stored)).unwrap();
        assert_eq!(*response, Some(ship("x")));
    }
    let direct = run(client.api_client().call(&call)).unwrap();
    assert_eq!(direct.into_body(), Some(ship("x")));
    let sent = sent.lock().unwrap();
    for again in &sent[1..] {
        assert_eq!(
            (again.uri(), again.headers(), again.body()),
            (sent[0].uri(), sent[0].headers(), sent[0].body())
        );
    }
    // Invalid calls cannot be stored.
    let broken = ShipsWriteCall { body: read(&format!("{:?}", "x".repeat(17))), ..call };
    assert!(broken.build_request(client.api_client()).into_stored().is_err());
}

/// Callers and transports can exchange values in extensions.
#[test]
fn extensions_pass_between_caller_and_transport() {
    #[derive(Clone, Debug, PartialEq)]
    struct Attempt(u32);
    struct CountingTransport;
    impl Transport for CountingTransport {
        fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
            let Attempt(before) = request.extensions().get().cloned().unwrap_or(Attempt(0));
            let mut response = make_response(204, "text/plain", "").unwrap();
            response.extensions_mut().insert(Attempt(before + 1));
            Box::pin(std::future::ready(Ok(response)))
        }
    }
    let client = Client::new("https://exchange.example", CountingTransport);
    let response = run(client.import("a").with_extension(Attempt(4))).unwrap();
    assert_eq!(response.extensions().get(), Some(&Attempt(5)));
}

/// A service that records its calls.
struct Echo(Mutex<Vec<server::AnyCall>>);

impl server::Service for Echo {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> runtime::Response {
        let mut response = runtime::Response::new(format!("{rejection}").into());
        *response.status_mut() = StatusCode::from_u16(rejection.status()).unwrap();
        response
    }

    async fn ships_read(
        &self,
        call: calls::ShipsReadCall,
        _: runtime::RequestContext,
    ) -> Result<types::ShipPage, runtime::ErrorResponse<EmptyOrProblem>> {
        let moved = call.ship_id == "moved";
        self.0.lock().unwrap().push(server::AnyCall::ShipsRead(call));
        match moved {
            true => Err(runtime::ErrorResponse::new(StatusCode::FOUND, EmptyOrProblem::Empty)),
            false => Ok(read(r#"{"ships":[]}"#)),
        }
    }

    async fn manual(
        &self,
        call: ManualCall,
        _: runtime::RequestContext,
    ) -> Result<runtime::Bytes, runtime::ErrorResponse<Problem>> {
        let bytes = call.body.clone();
        self.0.lock().unwrap().push(server::AnyCall::Manual(call));
        Ok(bytes)
    }
}

struct RouterTransport(runtime::Router);

impl Transport for RouterTransport {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        let router = self.0.clone();
        Box::pin(async move {
            let response = router.oneshot(request.map(axum::body::Body::from)).await.unwrap();
            let (head, body) = response.into_parts();
            Ok(Response::from_parts(head, axum::body::to_bytes(body, usize::MAX).await.unwrap()))
        })
    }
}

fn echo_client() -> (Client, Arc<Echo>) {
    let echo = Arc::new(Echo(Mutex::default()));
    let router = server::router(Arc::clone(&echo), RouterOptions::default());
    (Client::new("https://exchange.example", RouterTransport(router)), echo)
}

/// Polls a call to completion. No test waits for I/O.
fn poll_to_completion<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    for _ in 0..100 {
        if let Poll::Ready(value) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("pending")
}

/// Parameters with equal names, or with names that differ only in case, are distinct in client and server.
/// Raw bodies and objects without `type` round-trip.
#[test]
fn calls_round_trip_between_client_and_server() {
    let (client, echo) = echo_client();
    let call = ManualCall {
        path_name: "a/b".to_owned(),
        query_name: 7,
        lower_query_name: "x".to_owned(),
        body: Bytes::from_static(b"{ \"a\" : 1 }"),
        options: calls::ManualOptions::new().range(read(r#"{"from":1,"to":2}"#)),
    };
    let response = poll_to_completion(client.api_client().call(&call)).unwrap();
    assert_eq!(*response, call.body);
    assert_eq!(*echo.0.lock().unwrap(), [server::AnyCall::Manual(call)]);
}

/// If the contract declares a redirect status in addition to `200`, the redirect is an error for the client,
/// for the service and in the tables.
#[test]
fn client_and_server_agree_on_success() {
    let (client, _) = echo_client();
    let error = poll_to_completion(client.ships_read("moved", "t", ShipsReadOptions::new())).unwrap_err();
    assert_eq!((error.status(), error.body()), (Some(StatusCode::FOUND), Some(&EmptyOrProblem::Empty)));
    let row = operations::OperationId::ShipsRead.operation();
    assert_eq!(
        (row.response_kind(302), row.response_kind(200)),
        (Some(ResponseKind::Error), Some(ResponseKind::Success))
    );
    assert!(poll_to_completion(client.ships_read("here", "t", ShipsReadOptions::new())).is_ok());
}
