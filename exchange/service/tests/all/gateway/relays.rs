//! Tests of the relays to a backend: within the process, and over HTTP with a signature.

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

use super::harness::{ADD, NOW, WRITE};
use super::stand_ins::fixture;
use crate::support::{CONTRACT_VALIDATOR, log};

/// A backend that returns its caller, and panics on a request for locations.
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

fn relayed_request(operation: OperationId, body: &str) -> RelayedRequest {
    relayed_request_with(operation, "undeclared=1", body)
}

fn relayed_request_with(operation: OperationId, query: &str, body: &str) -> RelayedRequest {
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

/// Returns the body of a response after validating it.
fn validated_body(response: &EncodedResponse, operation: OperationId, sent: Option<&str>) -> Value {
    let operation = operation.operation();
    let read = |text: &[u8]| serde_json::from_slice(text).unwrap();
    let (sent, body) = (sent.map(|sent| read(sent.as_bytes())), read(&response.body));
    let line = (operation.method, operation.path);
    CONTRACT_VALIDATOR.exchanged(line, sent.as_ref(), (response.status.as_u16(), &body));
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

/// Both relays have the same behavior.
#[tokio::test]
async fn local_and_http_relays_behave_the_same() {
    let log = log();
    let (_, environment) = environment();
    let key = RelayKey::from_bytes(&[1; 32]);
    let base = serve(&key, &environment).await;
    let http = HttpRelay::new(&base, key, environment, Duration::from_secs(30)).unwrap();
    let relays: [(&str, Box<dyn Relay>); 2] =
        [("here", Box::new(LocalRelay::new(Arc::new(Exchange)))), ("elsewhere", Box::new(http))];
    for (name, relay) in relays {
        let document = relay.send_request(relayed_request(OperationId::ServiceDocument, "")).await.unwrap();
        assert_eq!(document.status, 200, "{name}");
        let description = validated_body(&document, OperationId::ServiceDocument, None);
        assert_eq!(description["installationId"], "installation-1", "{name}");
        let changed = relay.send_request(relayed_request(OperationId::BlueprintsWrite, ADD)).await.unwrap();
        assert_eq!(
            (changed.status.as_u16(), &changed.headers["content-type"]),
            (200, &"application/json".parse().unwrap())
        );
        changed.check_contract(OperationId::BlueprintsWrite.operation()).unwrap();
        validated_body(&changed, OperationId::BlueprintsWrite, Some(ADD));
        let refused = relay.send_request(relayed_request(OperationId::CatalogLocations, "")).await.unwrap();
        assert_eq!(refused.status, 500, "{name}: a panic is an INTERNAL_ERROR");
        let description = validated_body(&refused, OperationId::CatalogLocations, None);
        assert_eq!(description["code"], "INTERNAL_ERROR", "{name}");
        refused.check_contract(OperationId::CatalogLocations.operation()).unwrap();
    }
    // Both relays log the panic under the correlation id in the client's response.
    let description = log.text();
    let panicked = description.lines().filter(|line| line.contains("backend method panicked"));
    assert_eq!(panicked.filter(|line| line.contains("correlation_id=\"c-1\"")).count(), 2, "{description}");
}

/// ERR-37: a backend that is unreachable, or that uses another key or a wrong clock, causes an error without
/// a response. Only the first error proves that the backend has not received the request.
#[tokio::test]
async fn failing_backend_has_no_response() {
    let (_, local_environment) = environment();
    let (ahead, remote_environment) = environment();
    ahead.advance(Duration::from_secs(60));
    let key = RelayKey::from_bytes(&[1; 32]);
    let listening = serve(&key, &local_environment).await;
    let later = serve(&key, &remote_environment).await;
    let other_key = RelayKey::from_bytes(&[2; 32]);
    let unreachable = "http://127.0.0.1:9/".to_owned();
    for (base, key, expected) in [
        (unreachable, &key, RelayError::NotSent),
        (listening, &other_key, RelayError::Failed),
        (later, &key, RelayError::Failed),
    ] {
        let relay =
            HttpRelay::new(&base, key.clone(), local_environment.clone(), Duration::from_secs(5)).unwrap();
        let response = relay.send_request(relayed_request(OperationId::ServiceDocument, "")).await;
        assert_eq!(response.err(), Some(expected), "{base}");
    }
}

/// The log of a backend failure contains neither path nor query, because these contain cursors and units.
#[tokio::test]
async fn backend_failure_log_omits_path_and_query() {
    let (_, local_environment) = environment();
    let log = log();
    let key = RelayKey::from_bytes(&[1; 32]);
    let relay =
        HttpRelay::new("http://127.0.0.1:9/", key, local_environment, Duration::from_secs(5)).unwrap();
    let request = relayed_request_with(OperationId::ServiceDocument, "hush-of-the-query=1", "");
    assert_eq!(relay.send_request(request).await.err(), Some(RelayError::NotSent));
    let log_text = log.text();
    assert!(log_text.contains("backend call failed"), "{log_text}");
    let ours = log_text.lines().filter(|line| line.contains("exchange_service"));
    assert!(!ours.collect::<String>().contains("hush-of-the-query"), "{log_text}");
}

/// ERR-37: if another service responds at the backend's address, its response is neither returned to the
/// client nor stored for a key.
#[tokio::test]
async fn response_of_another_service_is_rejected() {
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
        let response = relay.send_request(relayed_request(OperationId::ServiceDocument, "")).await;
        assert_eq!(response.err(), Some(RelayError::Failed), "{path}");
    }
}

/// An unsigned request is rejected before its body is read.
#[tokio::test]
async fn unsigned_request_is_rejected_before_its_body() {
    let (_, environment) = environment();
    let backends =
        BackendServer::new(Arc::new(Exchange), RelayKey::from_bytes(&[1; 32]), environment, 2 << 20);
    let never_ending_body = unread();
    let request = http::Request::post(WRITE).body(axum::body::Body::new(never_ending_body)).unwrap();
    let response = tower::ServiceExt::oneshot(backends.into_router(), request).await.unwrap();
    assert_eq!(response.status(), 401);
}

/// Returns a body that never yields data and fails the test when it is polled.
fn unread() -> impl hyper::body::Body<Data = bytes::Bytes, Error = std::io::Error> + Send + 'static {
    struct UnreadBody;
    impl hyper::body::Body for UnreadBody {
        type Data = bytes::Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<hyper::body::Frame<bytes::Bytes>, std::io::Error>>> {
            panic!("the body was read")
        }
    }
    UnreadBody
}

/// LIM-03: a backend that exceeds the timeout causes an error.
#[tokio::test(start_paused = true)]
async fn slow_backend_times_out() {
    let (_, environment) = environment();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let relay =
        HttpRelay::new(&base, RelayKey::from_bytes(&[1; 32]), environment, Duration::from_secs(30)).unwrap();
    let response = relay.send_request(relayed_request(OperationId::ServiceDocument, "")).await;
    assert_eq!(response.err(), Some(RelayError::TimedOut));
}

/// The signature covers the caller, method, path, query, body and time; changing any of them invalidates it.
#[test]
fn signature_covers_every_part_of_the_request() {
    let key = RelayKey::from_bytes(&[1; 32]);
    let uri = |text: &str| text.parse::<Uri>().unwrap();
    let target = uri("/exchange/v1/me/stock?limit=1");
    let signature_header =
        signature::sign_request(&key, &caller(), (&Method::GET, &target, b"body"), NOW).unwrap();
    let verify = |value: &str, method: &Method, uri: &Uri, body: &[u8], seconds: i64, key: &RelayKey| {
        let mut headers = HeaderMap::new();
        headers.insert(signature::HEADER, value.parse().unwrap());
        let now = exchange_service::time::Moment::from_secs(NOW.as_secs() + seconds);
        signature::verify_request(key, &headers, (method, uri), now)?.into_caller(body)
    };
    let value = signature_header.to_str().unwrap().to_owned();
    assert_eq!(verify(&value, &Method::GET, &target, b"body", 0, &key), Ok(caller()));
    assert_eq!(verify(&value, &Method::GET, &target, b"body", 35, &key), Ok(caller()));
    let other_key = RelayKey::from_bytes(&[2; 32]);
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
        (SignatureError::Signature, verify(&value, &Method::GET, &target, b"body", 0, &other_key)),
        (SignatureError::Signature, verify(&forged, &Method::GET, &target, b"body", 0, &key)),
        (SignatureError::Signature, verify(&format!("{payload}."), &Method::GET, &target, b"body", 0, &key)),
        (SignatureError::Malformed, verify("garbage", &Method::GET, &target, b"body", 0, &key)),
    ] {
        assert_eq!(got, Err(expect));
    }
    let mut twice = HeaderMap::new();
    twice.append(signature::HEADER, signature_header.clone());
    twice.append(signature::HEADER, signature_header.clone());
    for headers in [twice, HeaderMap::new()] {
        let refused = signature::verify_request(&key, &headers, (&Method::GET, &target), NOW).unwrap_err();
        assert_eq!(refused, SignatureError::Malformed);
    }
    assert_eq!(format!("{signature_header:?} {key:?}"), "Sensitive RelayKey(…)");
    assert_eq!(WRITE, OperationId::BlueprintsWrite.operation().path);
}
