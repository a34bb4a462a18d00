//! Tests of credentials with a transport that verifies them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Wake, Waker},
    time::{Duration, Instant},
};

use http::{HeaderValue, Request, Response};

use super::*;
use crate::format::base64;

const SCHEMES: &[SecurityScheme] = &[
    SecurityScheme { name: "header", kind: SchemeKind::Header("X-Key") },
    SecurityScheme { name: "query", kind: SchemeKind::Query("a key") },
    SecurityScheme { name: "cookie", kind: SchemeKind::Cookie("sid") },
    SecurityScheme { name: "basic", kind: SchemeKind::Basic },
    SecurityScheme { name: "oauth", kind: SchemeKind::Bearer { token_url: "http://id.example/token" } },
    SecurityScheme { name: "tls", kind: SchemeKind::Connection },
    SecurityScheme { name: "hoba", kind: SchemeKind::Authorization("HOBA") },
    SecurityScheme { name: "person", kind: SchemeKind::Bearer { token_url: "" } },
];

static OPEN: Operation = Operation { id: "open", ..Operation::EMPTY };
static MAYBE: Operation = Operation { id: "maybe", ..Operation::EMPTY };
static BOTH: Operation = Operation { id: "both", ..Operation::EMPTY };
static EITHER: Operation = Operation { id: "either", ..Operation::EMPTY };
static OAUTH: Operation = Operation { id: "oauth", ..Operation::EMPTY };
static CLASH: Operation = Operation { id: "clash", ..Operation::EMPTY };
static ALIKE: Operation = Operation { id: "alike", ..Operation::EMPTY };
static SCOPED: Operation = Operation { id: "scoped", ..Operation::EMPTY };
static HOBA: Operation = Operation { id: "hoba", ..Operation::EMPTY };

fn requirements_of(operation: &Operation) -> &'static [SecurityRequirement] {
    match operation.id {
        "maybe" => &[&[], &[0]],
        "both" => &[&[1, 2, 5]],
        "either" => &[&[0, 2], &[3]],
        "oauth" => &[&[4]],
        "hoba" => &[&[6]],
        "clash" => &[&[4, 3]],
        "alike" => &[&[4, 7]],
        "scoped" => &[&[], &[0, 4], &[4]],
        _ => &[],
    }
}

fn scopes(operation: &Operation) -> &'static [RequiredScopes] {
    match operation.id {
        "scoped" => &[
            RequiredScopes { alternative: 1, scheme: 4, names: &["read", "list"] },
            RequiredScopes { alternative: 2, scheme: 4, names: &["all"] },
        ],
        _ => &[],
    }
}

const SECURITY: SecurityTable = SecurityTable { schemes: SCHEMES, requirements: requirements_of, scopes };

type Answer = Arc<dyn Fn(&Request<Bytes>) -> (u16, String) + Send + Sync>;

/// A transport that records requests and returns scripted responses.
#[derive(Clone)]
struct Fake(Arc<Mutex<Vec<String>>>, Answer);

impl Fake {
    fn new(response: impl Fn(&Request<Bytes>) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self(Arc::default(), Arc::new(response))
    }

    fn sent(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

fn shown(request: &Request<Bytes>) -> String {
    let mut text = format!("{} {}", request.method(), request.uri());
    for name in ["x-key", "cookie", "authorization"] {
        if let Some(value) = request.headers().get(name) {
            assert!(value.is_sensitive(), "{name}");
            text.push_str(&format!(" {name}={}", String::from_utf8_lossy(value.as_bytes())));
        }
    }
    if !request.body().is_empty() {
        text.push_str(&format!(" {}", String::from_utf8_lossy(request.body())));
    }
    text
}

impl Transport for Fake {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        self.0.lock().unwrap().push(shown(&request));
        let (status, body) = (self.1)(&request);
        Box::pin(async move {
            tokio::task::yield_now().await;
            Ok(Response::builder().status(status).body(body.into()).unwrap())
        })
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        Some(self)
    }
}

#[cfg(feature = "stream")]
impl crate::transport::StreamTransport for Fake {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        use crate::transport::{ByteStream, RequestBody};

        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let body = match body {
                RequestBody::Buffered(bytes) => bytes,
                RequestBody::Streaming(pieces) => pieces.collect(100).await?,
            };
            let response = self.send(operation, Request::from_parts(parts, body)).await?;
            Ok(response.map(ByteStream::from))
        })
    }
}

fn request(uri: &str) -> Request<Bytes> {
    Request::builder().uri(uri).body(Bytes::new()).unwrap()
}

fn ok(_: &Request<Bytes>) -> (u16, String) {
    (200, String::new())
}

async fn sends(keyring: Keyring, operation: &'static Operation, uri: &str) -> Result<String, String> {
    let fake = Fake::new(ok);
    let transport = keyring.wrap(fake.clone());
    match transport.send(operation, request(uri)).await {
        Ok(_) => Ok(fake.sent().remove(0)),
        Err(error) => {
            assert!(fake.sent().is_empty());
            assert_eq!((error.fault(), error.delivery()), (TransportFault::Declined, Delivery::NotSent));
            Err(error.to_string())
        }
    }
}

#[tokio::test]
async fn each_credential_kind_has_its_location() {
    let all = || {
        Keyring::new(SECURITY)
            .secret(0, "k1")
            .secret(1, "k 2&")
            .secret(2, "k3")
            .basic(3, "Aladdin", "open sesame")
            .secret(6, "r")
    };
    let check = async |operation, uri, expect: &str| {
        assert_eq!(sends(all(), operation, uri).await.unwrap(), expect);
    };
    check(&OPEN, "http://a/", "GET http://a/").await;
    check(&MAYBE, "http://a/", "GET http://a/ x-key=k1").await;
    check(&BOTH, "http://a/b", "GET http://a/b?a%20key=k%202%26 cookie=sid=k3").await;
    check(&BOTH, "http://a/b?c=d", "GET http://a/b?c=d&a%20key=k%202%26 cookie=sid=k3").await;
    let again = "http://a/b?a%20key=old&c=d&a%20keys=x";
    check(&BOTH, again, "GET http://a/b?c=d&a%20keys=x&a%20key=k%202%26 cookie=sid=k3").await;
    check(&EITHER, "http://a/", "GET http://a/ x-key=k1 cookie=sid=k3").await;
    check(&HOBA, "http://a/", "GET http://a/ authorization=HOBA r").await;
    let mut own = request("http://a/");
    own.headers_mut().insert("cookie", "own=1".parse().unwrap());
    let fake = Fake::new(ok);
    all().wrap(fake.clone()).send(&BOTH, own).await.unwrap();
    assert!(fake.sent()[0].ends_with("cookie=own=1; sid=k3"));
    // A parameter with the name of the scheme is replaced, in cookies as in headers and queries.
    let mut own = request("http://a/");
    for line in ["sid=old; own=1;sid=older", "asid=2; odd"] {
        own.headers_mut().append("cookie", line.parse().unwrap());
    }
    let fake = Fake::new(ok);
    all().wrap(fake.clone()).send(&BOTH, own).await.unwrap();
    assert!(fake.sent()[0].ends_with("cookie=own=1; asid=2; odd; sid=k3"), "{:?}", fake.sent());
    // Other cookies may contain non-ASCII bytes (RFC 9110, 5.5).
    let mut own = request("http://a/");
    own.headers_mut().insert("cookie", HeaderValue::from_bytes(b"own=\xe9; sid=old").unwrap());
    let fake = Fake::new(ok);
    all().wrap(fake.clone()).send(&BOTH, own).await.unwrap();
    assert!(fake.sent()[0].ends_with("cookie=own=\u{fffd}; sid=k3"), "{:?}", fake.sent());
}

#[tokio::test]
async fn first_satisfied_alternative_is_sent() {
    let basic = || Keyring::new(SECURITY).basic(3, "Aladdin", "open sesame");
    let sent = sends(basic(), &EITHER, "http://a/").await.unwrap();
    assert_eq!(sent, "GET http://a/ authorization=Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    assert_eq!(sends(Keyring::new(SECURITY), &MAYBE, "http://a/").await.unwrap(), "GET http://a/");
}

/// The scopes are those of the alternative in use, even if other alternatives require other credentials or
/// none.
#[test]
fn scopes_are_those_of_the_sent_alternative() {
    let one = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b"));
    let both = one.clone().secret(0, "k");
    assert_eq!(one.scopes(&SCOPED, 4), ["all"]);
    assert_eq!(both.scopes(&SCOPED, 4), ["read", "list"]);
    assert!(both.scopes(&SCOPED, 0).is_empty() && both.scopes(&OAUTH, 4).is_empty());
    assert!(Keyring::new(SECURITY).scopes(&SCOPED, 4).is_empty());
}

#[tokio::test]
async fn missing_credentials_are_named_and_nothing_is_sent() {
    let keyring = || Keyring::new(SECURITY).secret(0, "secret-key");
    let error = sends(keyring(), &EITHER, "http://a/").await.unwrap_err();
    assert_eq!(
        error,
        "the request was not sent: `either` requires credentials that are not set: `cookie`, or `basic`"
    );
    let error = sends(keyring(), &BOTH, "http://a/").await.unwrap_err();
    assert!(error.ends_with("`query` and `cookie`"), "{error}");
    // A user name with a colon is rejected, because the server would read the part after it as the password.
    let error = sends(keyring().basic(3, "a:b", "c"), &EITHER, "http://a/").await.unwrap_err();
    assert!(
        error.ends_with("not set: `cookie`, or `basic` (the user name must not contain a colon)"),
        "{error}"
    );
    let other = sends(keyring().secret(2, "k").basic(3, "a:b", "c"), &EITHER, "http://a/").await.unwrap();
    assert_eq!(other, "GET http://a/ x-key=secret-key cookie=sid=k");
    assert!(!format!("{:?}", keyring().basic(3, "a:b", "c")).contains("basic"));
    // A value that is invalid in a header is rejected and not truncated.
    let transport = Keyring::new(SECURITY).secret(6, "bad\nkey").wrap(Fake::new(ok));
    let error = transport.send(&HOBA, request("http://a/")).await.unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Request, Delivery::NotSent));
    assert!(!format!("{error} {error:?}").contains("bad"), "{error:?}");
    assert_eq!(error.downcast_source(), Some(&InvalidCredential::InvalidCharacters("hoba")));
    let expected = "the credential of `hoba` contains characters that cannot be sent";
    assert_eq!(error.to_string(), format!("the request cannot be sent: {expected}"));
    let cookie = Keyring::new(SECURITY).secret(1, "k").secret(2, "a b");
    let error = cookie.wrap(Fake::new(ok)).send(&BOTH, request("http://a/")).await.unwrap_err();
    assert_eq!(error.downcast_source(), Some(&InvalidCredential::InvalidCharacters("cookie")));
}

/// If two required credentials share the `Authorization` header, nothing is sent, because a server might
/// accept a request with only one of them.
#[tokio::test]
async fn two_credentials_for_one_location_are_rejected() {
    let refused = async |operation: &'static Operation, keyring: Keyring, other: &'static str| {
        let fake = Fake::new(ok);
        let error = keyring.wrap(fake.clone()).send(operation, request("http://a/")).await.unwrap_err();
        assert!(fake.sent().is_empty());
        assert_eq!((error.fault(), error.delivery()), (TransportFault::Request, Delivery::NotSent));
        assert_eq!(error.downcast_source(), Some(&InvalidCredential::SameLocation("oauth", other)));
        let expected = format!(
            "the credentials of `oauth` and `{other}` conflict, because both are sent in the same place of the request"
        );
        assert!(error.to_string().ends_with(&expected), "{error}");
    };
    let token = || Keyring::new(SECURITY).secret(4, "t");
    refused(&CLASH, token().basic(3, "me", "pw"), "basic").await;
    refused(&ALIKE, token().secret(7, "other"), "person").await;
    let sent = sends(token().secret(7, "t"), &ALIKE, "http://a/").await.unwrap();
    assert_eq!(sent, "GET http://a/ authorization=Bearer t");
}

#[test]
fn debug_output_hides_credentials() {
    let keyring = Keyring::new(SECURITY)
        .secret(0, "hidden-key")
        .basic(3, "hidden", "hidden")
        .client(4, ClientCredentials::new("app", "hidden"));
    let text = format!("{keyring:?} {:?}", keyring.clone().wrap(Fake::new(ok)));
    assert!(text.contains("header") && text.contains("oauth"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
    let text = format!("{:?}", ClientCredentials::new("app", "hidden"));
    assert!(text.contains("app") && !text.contains("hidden"), "{text}");
}

/// Returns a server that issues the tokens `t7`, `t8` … and rejects requests with a token that ends in `9`.
fn server() -> impl Fn(&Request<Bytes>) -> (u16, String) + Send + Sync {
    let next = AtomicU64::new(7);
    move |request| {
        if request.uri().host() == Some("id.example") {
            let number = next.fetch_add(1, Ordering::SeqCst);
            return (
                200,
                format!(r#"{{"access_token":"t{number}","token_type":"Bearer","expires_in":100}}"#),
            );
        }
        let token = request.headers()["authorization"].to_str().unwrap();
        (if token.ends_with('9') { 401 } else { 200 }, String::new())
    }
}

/// Concurrent calls share one token request (RFC 6749, 4.4). Another one is sent before the token expires or
/// after the server rejects it.
#[tokio::test]
async fn tokens_are_fetched_once_and_before_expiry() {
    let (start, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = Arc::clone(&passed);
    let client = ClientCredentials::new("my app", "s:ecret")
        .with_scopes(["a", "b"])
        .with_parameter("audience", "x y")
        .with_clock(move || start + Duration::from_secs(clock.load(Ordering::SeqCst)));
    let fake = Fake::new(server());
    let transport = Keyring::new(SECURITY).client(4, client).wrap(fake.clone());
    let call = || transport.send(&OAUTH, request("http://a/"));
    let (one, two, three) = tokio::join!(call(), call(), call());
    assert!([one, two, three].into_iter().all(|response| response.unwrap().status() == 200));
    let token = format!(
        "POST http://id.example/token authorization=Basic {} grant_type=client_credentials&scope=a%20b&audience=x%20y",
        base64::encode(b"my%20app:s%3Aecret")
    );
    let with = |token: &str| format!("GET http://a/ authorization=Bearer {token}");
    assert_eq!(fake.sent(), [token.clone(), with("t7"), with("t7"), with("t7")]);
    passed.store(69, Ordering::SeqCst);
    call().await.unwrap();
    passed.store(70, Ordering::SeqCst);
    assert_eq!(call().await.unwrap().status(), 200);
    assert_eq!(fake.sent()[4..], [with("t7"), token.clone(), with("t8")]);
    // The server rejects the next token and accepts the one after it. One rejection causes one token request.
    passed.store(200, Ordering::SeqCst);
    assert_eq!(call().await.unwrap().status(), 200);
    assert_eq!(fake.sent()[7..], [token.clone(), with("t9"), token, with("t10")]);
}

/// Calls that wait for the same fetch share its error. Otherwise they would query a failing token endpoint
/// one after another.
#[tokio::test]
async fn failed_fetch_is_shared_by_waiting_calls() {
    let fake = Fake::new(|_| (503, String::new()));
    let transport = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b")).wrap(fake.clone());
    let call = || transport.send(&OAUTH, request("http://a/"));
    let (one, two, three) = tokio::join!(call(), call(), call());
    for came in [one, two, three] {
        let text = came.unwrap_err().to_string();
        assert!(
            text.ends_with("cannot get an access token: the token endpoint returned 503 Service Unavailable"),
            "{text}"
        );
    }
    assert_eq!(fake.sent().len(), 1);
    // A later call fetches again.
    call().await.unwrap_err();
    assert_eq!(fake.sent().len(), 2);
}

/// A task that polls for a token repeatedly is registered only once.
#[tokio::test]
async fn repeated_polls_register_one_waker() {
    struct Task;
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let fake = Fake::new(server());
    let transport = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b")).wrap(fake);
    let task = Arc::new(Task);
    let waker = Waker::from(Arc::clone(&task));
    let mut context = Context::from_waker(&waker);
    let mut first = transport.send(&OAUTH, request("http://a/"));
    let mut second = transport.send(&OAUTH, request("http://a/"));
    assert!(first.as_mut().poll(&mut context).is_pending());
    assert!((0..100).all(|_| second.as_mut().poll(&mut context).is_pending()));
    assert!(Arc::strong_count(&task) < 10);
}

/// The lifetime of a token starts when the token was requested, by the local clock.
#[tokio::test]
async fn token_lifetime_starts_at_its_request() {
    let (start, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let (clock, way) = (Arc::clone(&passed), Arc::clone(&passed));
    let client = ClientCredentials::new("a", "b")
        .with_clock(move || start + Duration::from_secs(clock.load(Ordering::SeqCst)));
    let answers = server();
    let fake = Fake::new(move |request| {
        if request.uri().host() == Some("id.example") {
            way.fetch_add(50, Ordering::SeqCst);
        }
        answers(request)
    });
    let transport = Keyring::new(SECURITY).client(4, client).wrap(fake.clone());
    transport.send(&OAUTH, request("http://a/")).await.unwrap();
    assert_eq!(fake.sent().len(), 2);
    passed.store(70, Ordering::SeqCst);
    transport.send(&OAUTH, request("http://a/")).await.unwrap();
    assert_eq!(fake.sent().len(), 4);
}

/// The lifetime should be a number of seconds (RFC 6749, 5.1), but a string is accepted as well.
#[tokio::test]
async fn lifetime_may_be_a_string() {
    let (start, passed) = (Instant::now(), Arc::new(AtomicU64::new(0)));
    let clock = Arc::clone(&passed);
    let client = ClientCredentials::new("a", "b")
        .with_clock(move || start + Duration::from_secs(clock.load(Ordering::SeqCst)));
    let fake =
        Fake::new(|_| (200, r#"{"access_token":"t","token_type":"Bearer","expires_in":"100"}"#.to_owned()));
    let transport = Keyring::new(SECURITY).client(4, client).wrap(fake.clone());
    transport.send(&OAUTH, request("http://a/")).await.unwrap();
    passed.store(69, Ordering::SeqCst);
    transport.send(&OAUTH, request("http://a/")).await.unwrap();
    assert_eq!(fake.sent().len(), 3);
    passed.store(70, Ordering::SeqCst);
    transport.send(&OAUTH, request("http://a/")).await.unwrap();
    assert_eq!(fake.sent().len(), 5);
}

/// If no new token can be fetched, the response that rejected the old one is returned.
#[tokio::test]
async fn rejection_without_a_new_token_is_returned() {
    let fetched = AtomicU64::new(0);
    let fake = Fake::new(move |request| {
        if request.uri().host() != Some("id.example") {
            return (401, String::new());
        }
        let first = fetched.fetch_add(1, Ordering::SeqCst) == 0;
        (if first { 200 } else { 500 }, r#"{"access_token":"t","token_type":"Bearer"}"#.to_owned())
    });
    let transport = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b")).wrap(fake.clone());
    assert_eq!(transport.send(&OAUTH, request("http://a/")).await.unwrap().status(), 401);
    assert_eq!(fake.sent().len(), 3);
}

/// A streaming request is not repeated after its token was rejected, but the next call uses a new token.
#[cfg(feature = "stream")]
#[tokio::test]
async fn token_rejected_for_an_upload_is_replaced() {
    use crate::transport::{ByteStream, RequestBody};

    let fetched = AtomicU64::new(0);
    let fake = Fake::new(move |request| {
        if request.uri().host() == Some("id.example") {
            let number = fetched.fetch_add(1, Ordering::SeqCst);
            return (200, format!(r#"{{"access_token":"t{number}","token_type":"Bearer"}}"#));
        }
        (if request.headers()["authorization"] == "Bearer t0" { 401 } else { 200 }, String::new())
    });
    let transport = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b")).wrap(fake);
    let upload = async || {
        let body = RequestBody::Streaming(ByteStream::from("piece"));
        let request = Request::builder().uri("http://a/").body(body).unwrap();
        transport.stream_transport().unwrap().open_stream(&OAUTH, request).await.unwrap().status().as_u16()
    };
    assert_eq!([upload().await, upload().await], [401, 200]);
}

#[tokio::test]
async fn dropped_fetch_lets_the_next_call_fetch() {
    let fake = Fake::new(server());
    let transport = Keyring::new(SECURITY).client(4, ClientCredentials::new("a", "b")).wrap(fake.clone());
    let mut first = transport.send(&OAUTH, request("http://a/"));
    let mut context = Context::from_waker(Waker::noop());
    assert!(first.as_mut().poll(&mut context).is_pending());
    drop(first);
    assert_eq!(transport.send(&OAUTH, request("http://a/")).await.unwrap().status().as_u16() / 100, 2);
}

/// A table that is built at run time has a function with captured state.
#[tokio::test]
async fn requirements_of_a_keyring_replace_those_of_the_table() {
    let alternatives: &'static [SecurityRequirement] = &[&[3], &[0]];
    let keyring = Keyring::new(SECURITY).secret(0, "k").secret(5, "t");
    let fake = Fake::new(ok);
    let transport = keyring.with_requirements(move |_| alternatives).wrap(fake.clone());
    transport.send(&BOTH, request("http://a/")).await.unwrap();
    assert_eq!(fake.sent(), ["GET http://a/ x-key=k"]);
}

#[tokio::test]
async fn nothing_is_sent_without_a_token() {
    let error_text = async |client: ClientCredentials, response: fn(&Request<Bytes>) -> (u16, String)| {
        let transport = Keyring::new(SECURITY).client(4, client).wrap(Fake::new(response));
        let error = transport.send(&OAUTH, request("http://a/")).await.unwrap_err();
        assert_eq!((error.fault(), error.delivery()), (TransportFault::Declined, Delivery::NotSent));
        let is_client_refused = error.downcast_source::<TokenError>().unwrap().is_client_refused();
        assert_eq!(is_client_refused, error.to_string().contains("invalid_client"));
        error.to_string()
    };
    let client = || ClientCredentials::new("a", "hidden");
    // A token endpoint may reject the client with status 400 or 401 (RFC 6749, 5.2).
    error_text(client(), |_| (400, r#"{"error":"invalid_client"}"#.into())).await;
    let text = error_text(client(), |_| (401, r#"{"error":"invalid_client"}"#.into())).await;
    assert!(
        text.ends_with(
            "cannot get an access token: the token endpoint returned 401 Unauthorized invalid_client"
        ),
        "{text}"
    );
    let text =
        error_text(client(), |_| (200, r#"{"access_token":"hidden","token_type":"mac"}"#.into())).await;
    assert!(text.contains("bearer") && !text.contains("hidden"), "{text}");
    let text = error_text(client(), |_| (500, "hidden".into())).await;
    assert!(!text.contains("hidden"), "{text}");
    let text = error_text(client().with_token_url(""), ok).await;
    assert!(text.contains("with_token_url"), "{text}");
}
