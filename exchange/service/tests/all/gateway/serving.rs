//! Tests of connections over real sockets, and of the resources that an unauthenticated peer can use.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use dpop_bound::SystemRandom;
use exchange_service::Environment;
use exchange_service::config::Config;
use exchange_service::peer::PeerAddr;
use exchange_service::serve::monitoring::{GaugeSource, MetricsRecorder, Readiness, health_router};
use exchange_service::serve::{RequestDispatcher, ServeError, Server};
use exchange_service::store::{Store, StoreLocation, StoreOptions};
use exchange_service::time::ManualClock;
use http::Extensions;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::harness::{DOCUMENT, GatewayHarness, NOW, ORIGIN, WRITE};
use crate::support::{CONTRACT_VALIDATOR, log};

struct TestServer {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    done: JoinHandle<()>,
}

async fn serve(router: Router, change: impl FnOnce(&mut Config)) -> TestServer {
    let mut config = Config::default();
    change(&mut config);
    let environment = Environment::new(Arc::new(ManualClock::fixed_at(NOW)), Arc::new(SystemRandom));
    let server = Server::new(router, &config, &environment).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(server.serve_until(listener, async {
        let _ = stopped.await;
    }));
    TestServer { address, stop, done }
}

/// Sends bytes and reads one response: its head, and a body of the length in the head.
async fn exchange_bytes(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), bytes: &[u8]) -> String {
    // After an early rejection, the server may close the connection while the client is still sending.
    let _ = stream.write_all(bytes).await;
    let mut received = Vec::new();
    let mut buffer = [0; 65_536];
    loop {
        let text = String::from_utf8_lossy(&received).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_lowercase().split("content-length: ").nth(1).map(str::to_owned);
            let length = length.and_then(|rest| rest.lines().next()?.parse::<usize>().ok()).unwrap_or(0);
            if body.len() >= length {
                return text;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(0) | Err(_) => return text,
            Ok(read) => received.extend_from_slice(&buffer[..read]),
        }
    }
}

/// Returns status and body of the gateway's response to a request after validating it.
fn validated_body(method: &str, target: &str, response: &str) -> (u16, serde_json::Value) {
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = body.parse().unwrap();
    CONTRACT_VALIDATOR.exchanged((method, target), None, (status, &body));
    (status, body)
}

/// Reads until the peer closes the connection.
async fn read_to_end(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    String::from_utf8_lossy(&rest).into_owned()
}

/// Returns a router that responds with the source address of the request.
fn whoami() -> Router {
    Router::new().fallback(async |request: axum::extract::Request| {
        let extensions: &Extensions = request.extensions();
        PeerAddr::from_extensions(extensions).0.to_string()
    })
}

/// DPP-08, DPP-09: a gateway serves requests over one persistent connection.
#[tokio::test]
async fn gateway_serves_over_a_socket() {
    let harness = GatewayHarness::new().await;
    let served = serve(harness.gateway.router(), |config| config.gateway_origin = ORIGIN.to_owned()).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    for _ in 0..2 {
        let signed_request = harness.get(DOCUMENT);
        let request = format!(
            "GET {DOCUMENT} HTTP/1.1\r\nHost: gateway.example\r\nAuthorization: {}\r\nDPoP: {}\r\n\r\n",
            signed_request.authorization[0],
            signed_request.draft.proof()
        );
        let response = exchange_bytes(&mut stream, request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
        assert_eq!(validated_body("GET", DOCUMENT, &response).0, 200);
        assert!(
            response.contains("dpop-nonce: ") && response.contains("date: Mon, 21 Sep 2026 14:13:20 GMT")
        );
    }
    // GW-01: a path that cannot be routed reaches the gateway unchanged.
    let response = exchange_bytes(&mut stream, b"GET /exchange/v1/../v1 HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let (status, body) = validated_body("GET", "/exchange/v1/../v1", &response);
    assert_eq!((status, &body["code"]), (404, &"NOT_FOUND".into()));
}

/// RFC 6797: every response has the security headers, whichever part of the service creates it. HSTS is sent if
/// and only if the public origin uses TLS. The policy of a page is kept.
#[tokio::test]
async fn responses_have_security_headers() {
    let none = "default-src 'none'; frame-ancestors 'none'";
    let page = "default-src 'none'; style-src 'self'";
    for (origin, hsts) in
        [("https://exchange.example", Some("max-age=31536000")), ("http://127.0.0.1:80", None)]
    {
        let harness = GatewayHarness::new().await;
        let with_policy = async move || ([("content-security-policy", page)], "<h1>Page</h1>");
        let router = harness.gateway.router().route("/page", axum::routing::get(with_policy));
        let served = serve(router, |config| config.issuer = format!("{origin}/idp")).await;
        let long_head = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(70 << 10));
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
        for (request, status, policy) in [
            (get("/exchange/v1"), 401, none),
            (get("/exchange/v1/openapi.json"), 200, none),
            (get("/nothing"), 404, none),
            (get("/page"), 200, page),
            (long_head, 413, none),
        ] {
            let mut stream = TcpStream::connect(served.address).await.unwrap();
            let response = exchange_bytes(&mut stream, request.as_bytes()).await;
            let (head, _) = response.split_once("\r\n\r\n").unwrap();
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            let values = |name: &str| -> Vec<String> {
                let prefix = format!("{name}: ");
                head.lines().filter_map(|line| line.strip_prefix(&prefix)).map(str::to_owned).collect()
            };
            assert_eq!(values("x-content-type-options"), ["nosniff"], "{head}");
            assert_eq!(values("content-security-policy"), [policy], "{head}");
            assert_eq!(values("strict-transport-security"), Vec::from_iter(hsts), "{head}");
        }
    }
}

/// LIM-23, ERR-01, ERR-31: the limit applies to all headers together. A head far above the limit is rejected
/// without a body.
#[tokio::test]
async fn request_heads_are_bounded() {
    let served = serve(whoami(), |_| {}).await;
    // The request line has 16 bytes, the host header 9, and the long header 10 besides its value.
    for (bytes, status, code) in [
        ((64 << 10) - 35, "200", None),
        ((64 << 10) - 34, "413", Some("PAYLOAD_TOO_LARGE")),
        (70 << 10, "413", Some("PAYLOAD_TOO_LARGE")),
        (100 << 10, "431", None),
    ] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nHost: x\r\nX-Long: {}\r\n\r\n", "x".repeat(bytes));
        let response = exchange_bytes(&mut stream, request.as_bytes()).await;
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{bytes}: {response}");
        if let Some(code) = code {
            is_problem(&response, code);
            assert_eq!(read_to_end(&mut stream).await, "", "no further data is read");
        }
    }
    let many_headers = "X: y\r\n".repeat(101);
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let response =
        exchange_bytes(&mut stream, format!("GET / HTTP/1.1\r\nHost: x\r\n{many_headers}\r\n").as_bytes())
            .await;
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
}

/// Asserts that the response is a problem with this code and a correlation id.
fn is_problem(response: &str, code: &str) {
    let (head, _) = response.split_once("\r\n\r\n").unwrap();
    let (status, body) = validated_body("GET", "/", response);
    assert_eq!((&body["code"], &body["status"]), (&code.into(), &status.into()), "{response}");
    assert!(
        head.contains("content-type: application/problem+json") && head.contains("connection: close"),
        "{head}"
    );
    let id = format!("x-correlation-id: {}", body["correlationId"].as_str().unwrap());
    assert!(head.contains(&id) && head.contains("date: "), "{head}");
}

/// A request with no host, or with more than one, is rejected before any other processing.
#[tokio::test]
async fn request_must_name_exactly_one_host() {
    let served = serve(whoami(), |_| {}).await;
    for hosts in ["", "Host: x\r\nHost: x\r\n", "Host: x\r\nHost: evil.example\r\n"] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let response = exchange_bytes(&mut stream, format!("GET / HTTP/1.1\r\n{hosts}\r\n").as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 400"), "{hosts}: {response}");
        is_problem(&response, "SCHEMA_INVALID");
    }
    let mut old = TcpStream::connect(served.address).await.unwrap();
    let response = exchange_bytes(&mut old, b"GET / HTTP/1.0\r\n\r\n").await;
    assert!(response.lines().next().unwrap().contains(" 200 "), "{response}");
}

/// Ambiguous framing is rejected, and no further data is read.
#[tokio::test]
async fn ambiguous_framing_is_rejected() {
    let served = serve(whoami(), |_| {}).await;
    for head in [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: 5, 6\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "X-Line\x01: x\r\n",
        "X Space: x\r\n",
    ] {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let request =
            format!("POST / HTTP/1.1\r\nHost: x\r\n{head}\r\nhelloGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
        let response = exchange_bytes(&mut stream, request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 400"), "{head}: {response}");
        assert_eq!(read_to_end(&mut stream).await, "", "{head}");
    }
}

/// A chunked body is read by its chunks, even if the request also has a length. The connection is
/// then closed, because a proxy may have used the length (RFC 9112, 6.1).
#[tokio::test]
async fn chunked_body_with_a_length_closes_the_connection() {
    let reads = Router::new().fallback(async |body: String| format!("{} bytes", body.len()));
    let served = serve(reads, |_| {}).await;
    let behind = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
    let (chunked_body, length) =
        ("Transfer-Encoding: chunked\r\n", format!("Content-Length: {}\r\n", 15 + behind.len()));
    for head in
        [format!("{chunked_body}{length}"), format!("{length}{chunked_body}"), chunked_body.to_owned()]
    {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let request = format!("POST / HTTP/1.1\r\nHost: x\r\n{head}\r\n5\r\nhello\r\n0\r\n\r\n{behind}");
        let response = exchange_bytes(&mut stream, request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("5 bytes"), "{head}: {response}");
        assert!(response.to_lowercase().contains("connection: close"), "{head}: {response}");
        assert_eq!(read_to_end(&mut stream).await, "", "{head}");
    }
}

/// LIM-04: forwarding headers are used only if trusted proxies are configured.
#[tokio::test]
async fn forwarding_headers_need_trusted_proxies() {
    for (hops, source) in [(0, "127.0.0.1"), (1, "192.0.2.9"), (2, "203.0.113.7")] {
        let served = serve(whoami(), |config| config.limits.trusted_hops = hops).await;
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 203.0.113.7, 192.0.2.9\r\n\r\n";
        assert!(exchange_bytes(&mut stream, request).await.ends_with(&format!("\r\n\r\n{source}")), "{hops}");
    }
}

/// A connection times out if it is idle or if a request head does not arrive.
#[tokio::test]
async fn slow_heads_time_out() {
    let served = serve(whoami(), |_| {}).await;
    let mut slow = TcpStream::connect(served.address).await.unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost:").await.unwrap();
    let mut idle = TcpStream::connect(served.address).await.unwrap();
    assert!(
        exchange_bytes(&mut idle, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.starts_with("HTTP/1.1 200")
    );
    // From here on, time advances whenever all tasks are idle.
    tokio::time::pause();
    let before = Instant::now();
    for stream in [&mut slow, &mut idle] {
        assert!(!read_to_end(stream).await.contains("200"));
    }
    assert!(before.elapsed() >= Duration::from_secs(29), "{:?}", before.elapsed());
}

/// A request body that does not arrive times out, whichever handler reads it. This test covers pages; forms
/// of the identity provider are read in the same way.
#[tokio::test]
async fn slow_bodies_time_out() {
    let reads = Router::new().fallback(async |body: String| body);
    let served = serve(reads, |config| config.limits.body_seconds = 20).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n";
    assert!(exchange_bytes(&mut stream, &[&head[..], b"all of it"].concat()).await.ends_with("all of it"));
    stream.write_all(head).await.unwrap();
    stream.write_all(b"not").await.unwrap();
    tokio::time::pause();
    let before = Instant::now();
    let response = read_to_end(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    let waited = before.elapsed().as_secs();
    assert!((15..60).contains(&waited), "{waited}");
}

/// If a body does not arrive, the gateway responds with a problem and closes the connection.
#[tokio::test]
async fn slow_body_gets_a_problem_response() {
    let harness = GatewayHarness::new().await;
    let served = serve(harness.gateway.router(), |_| {}).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    let head = format!("POST {WRITE} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nnot");
    stream.write_all(head.as_bytes()).await.unwrap();
    let log = log();
    tokio::time::pause();
    let response = read_to_end(&mut stream).await;
    assert!(response.starts_with("HTTP/1.1 400") && response.contains("connection: close"), "{response}");
    is_problem(&response, "SCHEMA_INVALID");
    assert!(log.text().contains("body-timeout"));
}

/// A connection times out if its peer does not read the response.
#[tokio::test]
async fn slow_readers_time_out() {
    let large = Router::new().fallback(async || vec![b'x'; 64 << 20]);
    let served = serve(large, |config| config.serve.shutdown_seconds = 3600).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut first = [0; 1];
    stream.read_exact(&mut first).await.unwrap();
    // The connection ends although its peer does not read, so the shutdown does not wait for it.
    served.stop.send(()).unwrap();
    tokio::time::pause();
    served.done.await.unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest).await;
    assert!(rest.len() < 64 << 20, "{}", rest.len());
}

/// The number of connections is limited: a further one waits until another one ends.
#[tokio::test]
async fn connections_are_bounded() {
    let served = serve(whoami(), |config| config.serve.connections = 1).await;
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut first = TcpStream::connect(served.address).await.unwrap();
    assert!(exchange_bytes(&mut first, request).await.starts_with("HTTP/1.1 200"));
    let mut second = TcpStream::connect(served.address).await.unwrap();
    second.write_all(request).await.unwrap();
    // The first connection receives another response while the second waits.
    assert!(exchange_bytes(&mut first, request).await.starts_with("HTTP/1.1 200"));
    let mut byte = [0; 1];
    assert!(second.try_read(&mut byte).is_err(), "the second connection is not accepted");
    drop(first);
    assert!(exchange_bytes(&mut second, b"").await.starts_with("HTTP/1.1 200"));
}

/// An address cannot use all connections: those above its share are closed at once.
#[tokio::test]
async fn connections_of_one_address_are_bounded() {
    let served = serve(whoami(), |config| config.serve.connections_of_address = Some(1)).await;
    let request = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut first = TcpStream::connect(served.address).await.unwrap();
    assert!(exchange_bytes(&mut first, request).await.starts_with("HTTP/1.1 200"));
    let mut second = TcpStream::connect(served.address).await.unwrap();
    assert_eq!(read_to_end(&mut second).await, "");
    drop(first);
    // The server notices the end of the first connection asynchronously.
    loop {
        let mut third = TcpStream::connect(served.address).await.unwrap();
        if exchange_bytes(&mut third, request).await.starts_with("HTTP/1.1 200") {
            break;
        }
    }
    // By default, connections from loopback addresses are not limited.
    let served = serve(whoami(), |_| {}).await;
    let mut connections = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        assert!(exchange_bytes(&mut stream, request).await.starts_with("HTTP/1.1 200"));
        connections.push(stream);
    }
}

/// On shutdown, the service finishes running requests and accepts no further connections.
#[tokio::test]
async fn shutdown_finishes_running_requests() {
    let (begun, running) = oneshot::channel::<()>();
    let (release, released) = oneshot::channel::<()>();
    let gates = Arc::new(std::sync::Mutex::new(Some((begun, released))));
    let slow = Router::new().fallback(move || {
        let gates = Arc::clone(&gates);
        async move {
            let taken = gates.lock().unwrap().take();
            if let Some((begun, released)) = taken {
                begun.send(()).unwrap();
                let _ = released.await;
            }
            "done"
        }
    });
    let served = serve(slow, |_| {}).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    running.await.unwrap();
    served.stop.send(()).unwrap();
    release.send(()).unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.ends_with("done"), "{response}");
    served.done.await.unwrap();
    assert!(TcpStream::connect(served.address).await.is_err());
}

/// `/healthz` and `/readyz` report whether the service runs and whether it can serve requests.
#[tokio::test]
async fn health_and_readiness_are_reported() {
    let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
    let readiness = Readiness::new(store.clone(), Environment::system());
    let served = serve(health_router(readiness.clone()), |_| {}).await;
    let ask = async |path: &str| {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        let response =
            exchange_bytes(&mut stream, format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes()).await;
        response.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(ask("/healthz").await.as_deref(), Some("200"));
    assert_eq!(ask("/readyz").await.as_deref(), Some("200"));
    store
        .write(|connection| {
            connection.execute_batch("ALTER TABLE client RENAME TO gone")?;
            Ok::<_, exchange_service::store::StoreError>(())
        })
        .await
        .unwrap();
    assert_eq!(ask("/readyz").await.as_deref(), Some("503"));
    assert_eq!(ask("/healthz").await.as_deref(), Some("200"));
    readiness.mark_stopping();
    assert_eq!(ask("/readyz").await.as_deref(), Some("503"));
}

/// The gateway serves the certificate over TLS, negotiates the protocol, and limits the time of a handshake.
#[tokio::test]
async fn gateway_serves_over_tls() {
    use tokio_rustls::rustls::crypto::aws_lc_rs;
    use tokio_rustls::rustls::{ClientConfig, RootCertStore};

    let folder = tempfile::tempdir().unwrap();
    let (certificate, private_key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    let generated = rcgen::generate_simple_self_signed(["exchange.example".to_owned()]).unwrap();
    std::fs::write(&certificate, generated.cert.pem()).unwrap();
    std::fs::write(&private_key, generated.signing_key.serialize_pem()).unwrap();
    let served = serve(whoami(), |config| {
        (config.serve.certificate, config.serve.private_key) = (Some(certificate.clone()), Some(private_key));
    })
    .await;

    let mut roots = RootCertStore::empty();
    roots.add(generated.cert.der().clone()).unwrap();
    let client = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots);
    let mut client = client.with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let connector = tokio_rustls::TlsConnector::from(Arc::new(client));
    let stream = TcpStream::connect(served.address).await.unwrap();
    let name = "exchange.example".try_into().unwrap();
    let mut stream = connector.connect(name, stream).await.unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
    for _ in 0..2 {
        let response = exchange_bytes(&mut stream, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("127.0.0.1"), "{response}");
    }
    // The certificate does not contain this name.
    let other = TcpStream::connect(served.address).await.unwrap();
    assert!(connector.connect("other.example".try_into().unwrap(), other).await.is_err());
    // An invalid handshake fails, and one that does not arrive times out.
    let mut plain = TcpStream::connect(served.address).await.unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    assert!(!read_to_end(&mut plain).await.contains("HTTP"));
    let mut silent = TcpStream::connect(served.address).await.unwrap();
    tokio::time::pause();
    let before = Instant::now();
    assert_eq!(read_to_end(&mut silent).await, "");
    assert!((9..15).contains(&before.elapsed().as_secs()), "{:?}", before.elapsed());
    // The key belongs to another certificate.
    let other = rcgen::generate_simple_self_signed(["exchange.example".to_owned()]).unwrap();
    let stranger = folder.path().join("stranger.pem");
    std::fs::write(&stranger, other.signing_key.serialize_pem()).unwrap();
    let mut config = Config::default();
    (config.serve.certificate, config.serve.private_key) = (Some(certificate), Some(stranger));
    let refused = Server::new(Router::new(), &config, &Environment::system());
    assert!(matches!(refused, Err(ServeError::Certificate(_))));
}

/// `/metrics` has the format of Prometheus, with labels whose values clients cannot create.
#[tokio::test]
async fn metrics_have_bounded_labels() {
    let metrics = MetricsRecorder::install().unwrap();
    let harness = GatewayHarness::new().await;
    let served = serve(harness.gateway.router(), |_| {}).await;
    let (store, config) =
        (Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap(), Config::default());
    let front = RequestDispatcher::from(Router::new());
    let server = Server::new(front.clone(), &config, &Environment::system()).unwrap();
    let gauges = GaugeSource::new(store, &config, &front, &server);
    let metrics_server = serve(metrics.into_router(gauges), |_| {}).await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    for target in ["/exchange/v1/hush-1", "/exchange/v1?hush-2=1", "/exchange/v1/schemas/hush-3.schema.json"]
    {
        for method in ["GET", "HUSH"] {
            let request = format!(
                "{method} {target} HTTP/1.1\r\nHost: x\r\nX-Correlation-Id: hush-4\r\nUser-Agent: hush-5\r\n\r\n"
            );
            let response = exchange_bytes(&mut stream, request.as_bytes()).await;
            assert!((400..500).contains(&validated_body(method, target, &response).0), "{response}");
        }
    }
    let mut reader = TcpStream::connect(metrics_server.address).await.unwrap();
    let page = exchange_bytes(&mut reader, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(page.contains("content-type: text/plain; version=0.0.4"), "{page}");
    assert!(
        page.contains(r#"exchange_requests_total{operation="none",status="401",code="UNAUTHENTICATED"}"#),
        "{page}"
    );
    let unknown = r#"exchange_requests_total{operation="contract_schema",status="404",code="NOT_FOUND"}"#;
    assert!(page.contains(unknown), "{page}");
    assert!(page.contains(r#"exchange_request_seconds_bucket{operation="none",le="0.001"}"#), "{page}");
    assert!(!page.to_lowercase().contains("hush"), "{page}");
    for gauge in [
        "# HELP exchange_requests_total Requests to the gateway",
        "exchange_store_queue_capacity{queue=\"write\"} 1024",
        "exchange_usage_limit{resource=\"responses\"} 67108864",
        "exchange_connections_limit 16384",
        "exchange_build_info{version=",
        "# HELP process_open_fds ",
        "process_resident_memory_bytes ",
    ] {
        assert!(page.contains(gauge), "{gauge}: {page}");
    }
    let mut other = TcpStream::connect(served.address).await.unwrap();
    let nobody = exchange_bytes(&mut other, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert!(nobody.starts_with("HTTP/1.1 404"), "metrics are not served on the public address");
}

/// The error for an unusable certificate names the file.
#[test]
fn certificate_error_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "").unwrap();
    let environment = Environment::system();
    let make = |certificate: Option<std::path::PathBuf>, private_key: Option<std::path::PathBuf>| {
        let mut config = Config::default();
        (config.serve.certificate, config.serve.private_key) = (certificate, private_key);
        Server::new(Router::new(), &config, &environment).err()
    };
    assert!(make(None, None).is_none());
    assert!(matches!(make(Some(empty.clone()), None), Some(ServeError::IncompleteTls)));
    let missing = folder.path().join("missing.pem");
    for path in [empty.clone(), missing] {
        let error = make(Some(path.clone()), Some(empty.clone())).unwrap();
        assert!(error.to_string().contains(&path.display().to_string()), "{error}");
    }
}
