//! The relays to a backend: in this process, and over HTTP with a signature.

use std::sync::Arc;
use std::time::Duration;

use contract_runtime::server::{EncodedResponse, IncomingRequest, Rejection, RequestContext, Response};
use dpop_bound::SystemRandom;
use exchange_api::calls::{BlueprintsWriteCall, CatalogLocationsCall, ServiceDocumentCall};
use exchange_api::operations::OperationId;
use exchange_api::server::{AnyCall, ErrorResponse, Service};
use exchange_api::types::{ChangeResult, CorrelationId, LocationList, Problem, ServiceDocument};
use exchange_service::Environment;
use exchange_service::caller::{Caller, KeyClaim};
use exchange_service::ids::{ClientId, InstallationId, MemberId};
use exchange_service::relay::server::BackendServer;
use exchange_service::relay::signature::{self, RelayKey, SignatureError};
use exchange_service::relay::{HttpRelay, LocalRelay, Relay, RelayError, RelayedRequest};
use exchange_service::time::ManualClock;
use http::{HeaderMap, Method, Uri};
use serde_json::Value;

use super::stand_ins::fixture;
use super::world::{ADD, NOW, WRITE};
use crate::kit::{JUDGE, log};

/// A backend that returns its caller, and panics when asked for locations.
struct Exchange;

fn id() -> CorrelationId {
    CorrelationId::new("c-1").unwrap()
}

impl Service for Exchange {
    async fn service_document(
        &self,
        _: ServiceDocumentCall,
        context: RequestContext,
    ) -> Result<ServiceDocument, ErrorResponse> {
        let caller = context.extension::<Caller>().expect("the caller");
        let mut document: ServiceDocument =
            exchange_api::Contract::parse(&fixture("service_document").body).unwrap();
        document.installation_id = caller.installation.map(|id| id.as_str().parse().unwrap());
        Ok(document)
    }

    async fn blueprints_write(
        &self,
        call: BlueprintsWriteCall,
        context: RequestContext,
    ) -> Result<ChangeResult, ErrorResponse> {
        let caller = context.extension::<Caller>().expect("the caller");
        assert_eq!(caller.claim.map(|claim| claim.fence), Some(7));
        assert_eq!(call.idempotency_key, "key-0001");
        Ok(exchange_api::Contract::parse(&fixture("blueprints_write").body).unwrap())
    }

    async fn catalog_locations(
        &self,
        _: CatalogLocationsCall,
        _: RequestContext,
    ) -> Result<LocationList, ErrorResponse> {
        panic!("told to")
    }

    fn reject(&self, context: &RequestContext, rejection: Rejection) -> Response {
        Problem::rejection_response(&rejection, id(), context)
    }
}

fn environment() -> (ManualClock, Environment) {
    let clock = ManualClock::fixed_at(NOW);
    (clock.clone(), Environment::new(Arc::new(clock), Arc::new(SystemRandom)))
}

fn caller() -> Caller {
    Caller {
        member: MemberId::from("member"),
        client: ClientId::from("client"),
        installation: Some(InstallationId::from("installation-1")),
        jkt: "jkt".to_owned(),
        scopes: ["exchange.connect".to_owned()].into(),
        auth_time: NOW,
        correlation_id: "c-1".to_owned(),
        claim: Some(KeyClaim { key_hash: "hash".to_owned(), fence: 7 }),
    }
}

fn relayed(operation: OperationId, body: &str) -> RelayedRequest {
    relayed_with(operation, "undeclared=1", body)
}

fn relayed_with(operation: OperationId, query: &str, body: &str) -> RelayedRequest {
    let operation = operation.operation();
    let request = http::Request::builder()
        .method(operation.method)
        .uri(format!("{}?{query}", operation.path))
        .header("Content-Type", "application/json")
        .header("Idempotency-Key", "key-0001")
        .header("X-Member", "somebody else")
        .extension(caller());
    let (parts, ()) = request.body(()).unwrap().into_parts();
    let context = RequestContext::new(Arc::new(parts), Some(operation), body.to_owned().into());
    let call = IncomingRequest::new(operation, context).unwrap();
    RelayedRequest { caller: caller(), incoming: AnyCall::from_request(&call).unwrap(), call }
}

/// Returns the body of a response, after validation.
fn judged(answer: &EncodedResponse, operation: OperationId, sent: Option<&str>) -> Value {
    let operation = operation.operation();
    let read = |text: &[u8]| serde_json::from_slice(text).unwrap();
    let (sent, body) = (sent.map(|sent| read(sent.as_bytes())), read(&answer.body));
    let line = (operation.method, operation.path);
    JUDGE.exchanged(line, sent.as_ref(), (answer.status.as_u16(), &body));
    body
}

async fn serve(key: &RelayKey, environment: &Environment) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let backends = BackendServer::new(Arc::new(Exchange), key.clone(), environment.clone(), 2 << 20);
    let router = backends.into_router();
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/")
}

/// Both relays behave the same.
#[tokio::test]
async fn a_backend_here_or_elsewhere() {
    let log = log();
    let (_, environment) = environment();
    let key = RelayKey::from_bytes(&[1; 32]);
    let base = serve(&key, &environment).await;
    let http = HttpRelay::new(&base, key, environment, Duration::from_secs(30)).unwrap();
    let relays: [(&str, Box<dyn Relay>); 2] =
        [("here", Box::new(LocalRelay::new(Arc::new(Exchange)))), ("elsewhere", Box::new(http))];
    for (name, relay) in relays {
        let document = relay.send_request(relayed(OperationId::ServiceDocument, "")).await.unwrap();
        assert_eq!(document.status, 200, "{name}");
        let told = judged(&document, OperationId::ServiceDocument, None);
        assert_eq!(told["installationId"], "installation-1", "{name}");
        let changed = relay.send_request(relayed(OperationId::BlueprintsWrite, ADD)).await.unwrap();
        assert_eq!(
            (changed.status.as_u16(), &changed.headers["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        changed.check_contract(OperationId::BlueprintsWrite.operation()).unwrap();
        judged(&changed, OperationId::BlueprintsWrite, Some(ADD));
        let refused = relay.send_request(relayed(OperationId::CatalogLocations, "")).await.unwrap();
        assert_eq!(refused.status, 500, "{name}: a panic is an INTERNAL_ERROR");
        let told = judged(&refused, OperationId::CatalogLocations, None);
        assert_eq!(told["code"], "INTERNAL_ERROR", "{name}");
        refused.check_contract(OperationId::CatalogLocations.operation()).unwrap();
    }
    // Both are logged under the id in the client's response.
    let told = log.text();
    let panicked = told.lines().filter(|line| line.contains("backend method panicked"));
    assert_eq!(panicked.filter(|line| line.contains("correlation_id=\"c-1\"")).count(), 2, "{told}");
}

/// ERR-37: an unreachable backend, another key, a wrong clock: no response.
#[tokio::test]
async fn a_backend_that_does_not_answer() {
    let (_, here) = environment();
    let (ahead, there) = environment();
    ahead.advance(Duration::from_secs(60));
    let key = RelayKey::from_bytes(&[1; 32]);
    let listening = serve(&key, &here).await;
    let later = serve(&key, &there).await;
    let other = RelayKey::from_bytes(&[2; 32]);
    let gone = "http://127.0.0.1:9/".to_owned();
    for (base, key) in [(gone, &key), (listening, &other), (later, &key)] {
        let relay = HttpRelay::new(&base, key.clone(), here.clone(), Duration::from_secs(5)).unwrap();
        let answer = relay.send_request(relayed(OperationId::ServiceDocument, "")).await;
        assert_eq!(answer.err(), Some(RelayError::Unreachable), "{base}");
    }
}

/// The log of a backend failure contains neither path nor query, which contain cursors and units.
#[tokio::test]
async fn a_backend_that_does_not_answer_is_logged_without_what_was_asked() {
    let (_, here) = environment();
    let log = log();
    let key = RelayKey::from_bytes(&[1; 32]);
    let relay = HttpRelay::new("http://127.0.0.1:9/", key, here, Duration::from_secs(5)).unwrap();
    let asked = relayed_with(OperationId::ServiceDocument, "hush-of-the-query=1", "");
    assert_eq!(relay.send_request(asked).await.err(), Some(RelayError::Unreachable));
    let told = log.text();
    assert!(told.contains("backend call failed"), "{told}");
    let ours = told.lines().filter(|line| line.contains("exchange_service"));
    assert!(!ours.collect::<String>().contains("hush-of-the-query"), "{told}");
}

/// ERR-37: a response of another service at the address is neither returned to the client nor stored for a key.
#[tokio::test]
async fn somebody_else_at_the_backends_address() {
    let (_, environment) = environment();
    let html = || ([("content-type", "text/html")], "<h1>hello</h1>");
    let json = || ([("content-type", "application/json")], "{}");
    let router = axum::Router::new()
        .route("/404/exchange/v1", axum::routing::get(async move || (http::StatusCode::NOT_FOUND, html())))
        .route("/empty/exchange/v1", axum::routing::get(async || http::StatusCode::NOT_FOUND))
        .route("/login/exchange/v1", axum::routing::get(async move || html()))
        .route("/json/exchange/v1", axum::routing::get(async move || json()))
        .route(
            "/teapot/exchange/v1",
            axum::routing::get(async move || (http::StatusCode::IM_A_TEAPOT, json())),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    for path in ["404", "empty", "login", "json", "teapot"] {
        let (base, key) = (format!("{base}/{path}"), RelayKey::from_bytes(&[1; 32]));
        let relay = HttpRelay::new(&base, key, environment.clone(), Duration::from_secs(5)).unwrap();
        let answer = relay.send_request(relayed(OperationId::ServiceDocument, "")).await;
        assert_eq!(answer.err(), Some(RelayError::Unreachable), "{path}");
    }
}

/// An unsigned request gets its response before its body is read.
#[tokio::test]
async fn a_backend_reads_no_bodies_of_strangers() {
    let (_, environment) = environment();
    let backends =
        BackendServer::new(Arc::new(Exchange), RelayKey::from_bytes(&[1; 32]), environment, 2 << 20);
    let never = unread();
    let request = http::Request::post(WRITE).body(axum::body::Body::new(never)).unwrap();
    let answer = tower::ServiceExt::oneshot(backends.into_router(), request).await.unwrap();
    assert_eq!(answer.status(), 401);
}

/// A body that never yields data, and fails the test when it is polled.
fn unread() -> impl hyper::body::Body<Data = bytes::Bytes, Error = std::io::Error> + Send + 'static {
    struct Unread;
    impl hyper::body::Body for Unread {
        type Data = bytes::Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<bytes::Bytes>, std::io::Error>>> {
            panic!("it is read")
        }
    }
    Unread
}

/// LIM-03: a backend that exceeds its timeout.
#[tokio::test(start_paused = true)]
async fn a_backend_that_is_slow() {
    let (_, environment) = environment();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let relay =
        HttpRelay::new(&base, RelayKey::from_bytes(&[1; 32]), environment, Duration::from_secs(30)).unwrap();
    let answer = relay.send_request(relayed(OperationId::ServiceDocument, "")).await;
    assert_eq!(answer.err(), Some(RelayError::TimedOut));
}

/// The signature covers the caller, method, path, query, body and time; none of them can change.
#[test]
fn what_a_gateway_signs() {
    let key = RelayKey::from_bytes(&[1; 32]);
    let uri = |text: &str| text.parse::<Uri>().unwrap();
    let target = uri("/exchange/v1/me/stock?limit=1");
    let said = signature::sign_request(&key, &caller(), (&Method::GET, &target, b"body"), NOW).unwrap();
    let verify = |value: &str, method: &Method, uri: &Uri, body: &[u8], seconds: i64, key: &RelayKey| {
        let mut headers = HeaderMap::new();
        headers.insert(signature::HEADER, value.parse().unwrap());
        let now = exchange_service::time::Moment::from_secs(NOW.as_secs() + seconds);
        signature::verify_request(key, &headers, (method, uri), now)?.into_caller(body)
    };
    let value = said.to_str().unwrap().to_owned();
    assert_eq!(verify(&value, &Method::GET, &target, b"body", 0, &key), Ok(caller()));
    assert_eq!(verify(&value, &Method::GET, &target, b"body", 35, &key), Ok(caller()));
    let other = RelayKey::from_bytes(&[2; 32]);
    let (payload, mac) = value.split_once('.').unwrap();
    let forged = format!("{}.{mac}", payload.replacen('e', "f", 1));
    for (expect, got) in [
        (SignatureError::OtherRequest, verify(&value, &Method::POST, &target, b"body", 0, &key)),
        (
            SignatureError::OtherRequest,
            verify(&value, &Method::GET, &uri("/exchange/v1/me/stock"), b"body", 0, &key),
        ),
        (
            SignatureError::OtherRequest,
            verify(&value, &Method::GET, &uri("/exchange/v1/me/stock?limit=2"), b"body", 0, &key),
        ),
        (SignatureError::OtherRequest, verify(&value, &Method::GET, &target, b"Body", 0, &key)),
        (SignatureError::Expired, verify(&value, &Method::GET, &target, b"body", 36, &key)),
        (SignatureError::Expired, verify(&value, &Method::GET, &target, b"body", -6, &key)),
        (SignatureError::Signature, verify(&value, &Method::GET, &target, b"body", 0, &other)),
        (SignatureError::Signature, verify(&forged, &Method::GET, &target, b"body", 0, &key)),
        (SignatureError::Signature, verify(&format!("{payload}."), &Method::GET, &target, b"body", 0, &key)),
        (SignatureError::Malformed, verify("garbage", &Method::GET, &target, b"body", 0, &key)),
    ] {
        assert_eq!(got, Err(expect));
    }
    let mut twice = HeaderMap::new();
    twice.append(signature::HEADER, said.clone());
    twice.append(signature::HEADER, said.clone());
    for headers in [twice, HeaderMap::new()] {
        let refused = signature::verify_request(&key, &headers, (&Method::GET, &target), NOW).unwrap_err();
        assert_eq!(refused, SignatureError::Malformed);
    }
    assert_eq!(format!("{said:?} {key:?}"), "Sensitive RelayKey(…)");
    assert_eq!(WRITE, OperationId::BlueprintsWrite.operation().path);
}
