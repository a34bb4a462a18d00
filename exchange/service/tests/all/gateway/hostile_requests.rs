//! Further attacks on a gateway. (`pairs` tests the order of checks, `serving` tests connections.)

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use exchange_service::shared::rate::{RateBucket, RatePolicy};
use hyper::body::Frame;

use super::harness::{ADD, DOCUMENT, GatewayHarness, MEMBER, ORIGIN, PEER};

/// Internal headers that a client sends have no effect and are not forwarded.
#[tokio::test]
async fn internal_headers_from_clients_are_ignored() {
    let harness = GatewayHarness::new().await;
    let mut request = harness.write("key-0001");
    for name in
        ["Exchange-Relay", "X-Exchange-Member", "X-Exchange-Caller", "X-Forwarded-User", "X-Member-Id"]
    {
        request = request.header(name, "somebody else");
    }
    assert_eq!(harness.send(request).await.status, 200);
    let received = harness.backend.received.lock().unwrap();
    assert_eq!(received[0].1.member.as_str(), MEMBER);
}

/// DPP-20: a header that occurs more than once counts as missing.
#[tokio::test]
async fn repeated_headers_are_ignored() {
    let harness = GatewayHarness::new().await;
    let mut tokens = harness.get(DOCUMENT);
    tokens.authorization = vec![tokens.authorization[0].clone(); 2];
    let mut proofs = harness.get(DOCUMENT);
    proofs.proofs = Some(vec![proofs.draft.proof(), proofs.draft.proof()]);
    for (request, code) in [
        (tokens, "UNAUTHENTICATED"),
        (proofs, "DPOP_INVALID"),
        (harness.write("key-0001").header("Idempotency-Key", "key-0001"), "IDEMPOTENCY_KEY_MISSING"),
        (harness.write("key-0002").header("Content-Type", "application/json"), "UNSUPPORTED_MEDIA_TYPE"),
    ] {
        assert_eq!(harness.send(request).await.code(), code);
    }
    let request = harness.get(DOCUMENT).header("X-Correlation-Id", "a").header("X-Correlation-Id", "a");
    assert_eq!(
        harness.send(request).await.header("x-correlation-id").unwrap().len(),
        36,
        "the gateway generates an id"
    );
}

/// DPP-08, A29: `htu` is compared with the configured origin, whatever the request line or `Host` contains.
#[tokio::test]
async fn proofs_use_the_configured_origin() {
    let harness = GatewayHarness::new().await;
    let mut absolute = harness.get(DOCUMENT);
    absolute.target = format!("http://evil.example{DOCUMENT}");
    assert_eq!(harness.send(absolute).await.status, 200);
    let htu = |request: super::harness::TestRequest| {
        request.draft(|draft| draft.claim("htu", format!("http://evil.example{DOCUMENT}")))
    };
    for request in [
        htu(harness.get(DOCUMENT).header("Host", "evil.example")),
        htu(harness.get(DOCUMENT).header("X-Forwarded-Host", "evil.example")),
    ] {
        assert_eq!(harness.send(request).await.challenge(), "invalid_dpop_proof");
    }
    assert_eq!(harness.send(harness.get(DOCUMENT).header("Host", "evil.example")).await.status, 200);
}

/// A1, DPP-08, ERR-29: a route has exactly one path, and a proof is compared with the path that was sent.
#[tokio::test]
async fn only_one_spelling_of_a_path_is_routed() {
    let harness = GatewayHarness::new().await;
    for (path, status, nonce) in [
        ("/exchange/v1/me/stock", 200, true),
        ("/exchange/v1/me/stock/", 404, true),
        ("/exchange/v1//me/stock", 404, true),
        ("/exchange/v1/me/%73tock", 404, true),
        ("/EXCHANGE/v1/me/stock", 404, true),
        ("/exchange/v1/me/stock;a=b", 404, true),
        ("/exchange/v1/me%2fstock", 404, false),
        ("/exchange/v1/me/../me/stock", 404, false),
        ("/exchange/v1/me/%2e%2e/me/stock", 404, false),
    ] {
        let reply = harness.send(harness.get(path)).await;
        assert_eq!((reply.status, reply.has("dpop-nonce")), (status, nonce), "{path}");
    }
    let other = harness.get("/exchange/v1/me/stock");
    let other = other.draft(|draft| draft.claim("htu", format!("{ORIGIN}/exchange/v1/me/%73tock")));
    assert_eq!(harness.send(other).await.challenge(), "invalid_dpop_proof");
}

/// GW-03: only the request line determines the method.
#[tokio::test]
async fn method_override_headers_are_ignored() {
    let harness = GatewayHarness::new().await;
    for name in ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"] {
        let reply = harness.send(harness.get("/exchange/v1/me/blueprints").header(name, "POST")).await;
        assert_eq!(reply.status, 200, "{name}");
    }
    assert_eq!(harness.send(harness.get("/exchange/v1/me/blueprints?_method=POST")).await.status, 200);
    let received = harness.backend.received.lock().unwrap();
    assert!(received.iter().all(|(operation, _)| *operation == "blueprints_read"));
}

/// A body of unknown length: the chunks, and then its end or no further data.
struct Chunks {
    chunks: VecDeque<Result<Bytes, std::io::Error>>,
    ends: bool,
}

impl hyper::body::Body for Chunks {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        match self.chunks.pop_front() {
            Some(chunk) => Poll::Ready(Some(chunk.map(Frame::data))),
            None if self.ends => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

fn chunked_body(chunks: Vec<Vec<u8>>) -> Body {
    let chunks = chunks.into_iter().map(|chunk| Ok(Bytes::from(chunk))).collect();
    Body::new(Chunks { chunks, ends: true })
}

fn never_ending_body() -> Body {
    Body::new(Chunks { chunks: VecDeque::new(), ends: false })
}

/// A body that ends with an error.
pub(crate) fn broken_body() -> Body {
    let chunks = [Ok(Bytes::from_static(b"{")), Err(std::io::Error::other("gone"))];
    Body::new(Chunks { chunks: chunks.into(), ends: true })
}

/// LIM-23, A8, ERR-31: a body that exceeds the limit, in one chunk or in several, is rejected before the
/// token is read.
#[tokio::test]
async fn oversized_bodies_are_rejected() {
    let harness = GatewayHarness::new().await;
    let padded = |bytes: usize| [ADD.as_bytes(), &vec![b' '; bytes - ADD.len()]].concat();
    let limit = 2 << 20;
    let mut exact = harness.write("key-0001");
    exact.body = padded(limit);
    assert_eq!(harness.send(exact).await.status, 200);
    let pieces = |bytes: usize| padded(bytes).chunks(60_000).map(<[u8]>::to_vec).collect();
    assert_eq!(
        harness.send_body(harness.write("key-0002"), Some(chunked_body(pieces(limit)))).await.status,
        200
    );
    let mut over = harness.write("key-0003");
    over.body = padded(limit + 1);
    over.authorization.clear();
    for body in [None, Some(chunked_body(pieces(limit + 1)))] {
        let reply = harness.send_body(over.clone(), body).await;
        assert_eq!((reply.code(), reply.has("dpop-nonce")), ("PAYLOAD_TOO_LARGE", false));
    }
    // The limit applies on every route, also on those without a body.
    let mut get = harness.get(DOCUMENT);
    get.body = padded(limit + 1);
    assert_eq!(harness.send(get).await.code(), "PAYLOAD_TOO_LARGE");
}

/// A body that never ends times out.
#[tokio::test(start_paused = true)]
async fn slow_body_times_out() {
    let harness = GatewayHarness::new().await;
    let body = never_ending_body();
    let before = tokio::time::Instant::now();
    let reply = harness.send_body(harness.write("key-0001"), Some(body)).await;
    assert_eq!((reply.status, reply.has("dpop-nonce")), (400, false));
    assert_eq!(before.elapsed().as_secs(), 20);
}

/// An interrupted body, and a body that exceeds the memory budget, are rejected before the token is read.
#[tokio::test(start_paused = true)]
async fn interrupted_body_and_exhausted_budget_are_rejected() {
    let harness = GatewayHarness::with_config(|config| config.limits.held_bytes = 0).await;
    let reply = harness.send_body(harness.write("key-0001"), Some(broken_body())).await;
    assert_eq!((reply.code(), reply.has("dpop-nonce")), ("SCHEMA_INVALID", false));
    let slow = never_ending_body();
    let (first, second) = tokio::join!(
        harness.send_body(harness.write("key-0001"), Some(slow)),
        harness.send(harness.write("key-0002").header("Content-Length", "48")),
    );
    assert_eq!(first.status, 400);
    assert_eq!((second.code(), second.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("5")));
    assert!(!second.has("dpop-nonce"));
    // The body was not read, so the connection closes.
    assert_eq!(second.header("connection"), Some("close"));
}

/// ERR-30: bodies are never decompressed.
#[tokio::test]
async fn compressed_bodies_are_rejected() {
    let harness = GatewayHarness::new().await;
    for coding in ["gzip", "br", "deflate", "zstd", "identity, gzip"] {
        let mut request = harness.write("key-0001").header("Content-Encoding", coding);
        request.body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
        assert_eq!(harness.send(request).await.code(), "UNSUPPORTED_MEDIA_TYPE", "{coding}");
    }
    let mut plain = harness.write("key-0001");
    plain.body = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0];
    let reply = harness.send(plain).await;
    assert_eq!((reply.code(), reply.pointers()), ("SCHEMA_INVALID", vec![""]));
}

/// ERR-22, A38: malformed JSON is reported as one error at the root, also if it is nested too deeply or
/// repeats a property.
#[tokio::test]
async fn malformed_json_has_one_error_at_the_root() {
    let harness = GatewayHarness::new().await;
    let op = |extra_fields: &str| format!(r#"{{"ops":[{{"op":"add","ref":{{"bt":"b"}}{extra_fields}}}]}}"#);
    for (index, (body, status, pointers)) in [
        ("".to_owned(), 400, Some(vec![""])),
        ("{".to_owned(), 400, Some(vec![""])),
        ("NaN".to_owned(), 400, Some(vec![""])),
        (r#"{"ops":[NaN]}"#.to_owned(), 400, Some(vec![""])),
        (format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)), 400, Some(vec![""])),
        ("{\"ops\":[]}\0".to_owned(), 400, Some(vec![""])),
        ("\u{feff}{}".to_owned(), 400, Some(vec![""])),
        ("null".to_owned(), 400, Some(vec![""])),
        ("[]".to_owned(), 400, Some(vec![""])),
        // A property is repeated, at any depth, with or without escapes, declared or not.
        (format!(r#"{{"ops":[],{}"#, &ADD[1..]), 400, Some(vec![""])),
        (op(r#","op":"remove""#), 400, Some(vec![""])),
        (op(r#","\u006fp":"add""#), 400, Some(vec![""])),
        (op(r#","x":[{"y":1,"y":1}]"#), 400, Some(vec![""])),
        (op(r#","acquiredAt":1e400"#), 400, Some(vec!["/ops/0/acquiredAt"])),
        (op(r#","x":1e999999999"#), 200, None),
        (op(&format!(r#","x":{}"#, "9".repeat(100_000))), 200, None),
    ]
    .into_iter()
    .enumerate()
    {
        let mut request = harness.write(&format!("key-{index:04}"));
        let shown = body.chars().take(40).collect::<String>();
        request.body = body.into_bytes();
        let reply = harness.send(request).await;
        assert_eq!(reply.status, status, "{shown} {}", reply.body);
        if let Some(pointers) = pointers {
            assert_eq!((reply.code(), reply.pointers()), ("SCHEMA_INVALID", pointers), "{shown}");
        }
    }
}

/// SVC-09: a label contains letters and digits. Characters that are special in a database, a page or
/// a terminal are rejected.
#[tokio::test]
async fn labels_with_special_characters_are_rejected() {
    let harness = GatewayHarness::new().await;
    for label in [
        "<script>alert(1)</script>",
        "<img src=x>",
        "a&b",
        "' OR 1=1--",
        "x'); DROP TABLE installation;--",
        "a\0b",
        "a\nb",
        "a\u{202e}b",
        "a\u{200f}b",
        "a\u{feff}b",
        "a\u{1b}[2J",
    ] {
        let body = serde_json::json!({ "label": label }).to_string();
        let reply = harness.send(harness.post("/exchange/v1/me/installation", &body)).await;
        assert_eq!((reply.status, reply.code(), reply.pointers()), (400, "SCHEMA_INVALID", vec!["/label"]));
    }
    assert_eq!(harness.traces().await.relayed, 0);
}

/// ERR-02, LIM-26, CON-09: a response has at most 50 errors, whose pointers have at most 200 characters and
/// never a value.
#[tokio::test]
async fn errors_are_bounded() {
    let harness = GatewayHarness::new().await;
    let mut many_errors = harness.write("key-0001");
    many_errors.body = format!(r#"{{"ops":[{}]}}"#, vec![r#"{"op":"hush"}"#; 60].join(",")).into_bytes();
    let reply = harness.send(many_errors).await;
    assert_eq!((reply.code(), reply.pointers().len()), ("SCHEMA_INVALID", 50));
    assert!(!String::from_utf8_lossy(&reply.bytes).contains("hush"));
    let mut long = harness.write("key-0002");
    long.body = ADD.replacen('{', &format!(r#"{{"{}":1,"#, "x".repeat(200)), 1).into_bytes();
    let reply = harness.send(long).await;
    assert_eq!((reply.code(), reply.pointers()), ("SCHEMA_INVALID", vec![""]));
    let mut fits = harness.write("key-0003");
    fits.body = ADD.replacen('{', &format!(r#"{{"{}":1,"#, "x".repeat(199)), 1).into_bytes();
    assert_eq!(harness.send(fits).await.status, 200);
}

/// GW-13: no part of an invalid correlation id is returned.
#[tokio::test]
async fn invalid_correlation_ids_are_not_echoed() {
    let harness = GatewayHarness::new().await;
    let max_id = "a".repeat(128);
    for (id, echoed) in [
        ("my-id_1.2", true),
        (max_id.as_str(), true),
        (&format!("{max_id}a"), false),
        ("", false),
        ("a b", false),
        ("<script>", false),
        ("a\tb", false),
        ("ä", false),
        ("a,b", false),
    ] {
        let reply = harness.send(harness.get("/exchange/v1?=1").header("X-Correlation-Id", id)).await;
        assert_eq!(reply.header("x-correlation-id") == Some(id), echoed, "{id}");
        assert_eq!(reply.body["correlationId"].as_str(), reply.header("x-correlation-id"));
    }
}

/// LIM-04: a forged `X-Forwarded-For` header does not change the client's address. (The tests of
/// `serve::forwarded` cover trusted proxies.)
#[tokio::test]
async fn forged_forwarded_for_is_ignored() {
    let harness = GatewayHarness::new().await;
    let peer = exchange_service::peer::PeerAddr(PEER.parse().unwrap());
    harness.exhaust(RateBucket::for_peer(peer), RatePolicy::per_minute(120)).await;
    let request =
        harness.get(DOCUMENT).header("X-Forwarded-For", "203.0.113.7").header("Forwarded", "for=203.0.113.7");
    assert_eq!(harness.send(request).await.code(), "RATE_LIMITED");
}

/// FED-08, WRT-09: the gateway accepts any string as a cursor, which the backend checks, and validates the
/// limit.
#[tokio::test]
async fn page_limit_is_validated_by_the_gateway() {
    let harness = GatewayHarness::new().await;
    for (query, status, pointers) in [
        ("cursor=anything", 200, vec![]),
        ("cursor=%27%20OR%201%3D1--", 200, vec![]),
        ("limit=1", 200, vec![]),
        ("limit=1000", 200, vec![]),
        ("limit=0", 400, vec!["/limit"]),
        ("limit=1001", 400, vec!["/limit"]),
        ("limit=1e2", 400, vec!["/limit"]),
        ("limit=", 400, vec!["/limit"]),
        ("limit=0010", 200, vec![]),
        ("limit=00010", 400, vec!["/limit"]),
        ("limit=10.0", 400, vec!["/limit"]),
        ("limit=%2B10", 400, vec!["/limit"]),
        ("limit=1&limit=2", 400, vec!["/limit"]),
        ("undeclared=1", 200, vec![]),
        ("=1", 400, vec!["/"]),
    ] {
        let reply = harness.send(harness.get(&format!("/exchange/v1/me/blueprints?{query}"))).await;
        assert_eq!((reply.status, reply.pointers()), (status, pointers), "{query}");
    }
}

/// Patterns are matched in linear time: strings that are worst for a backtracking engine cause no delay.
#[tokio::test]
async fn patterns_run_in_linear_time() {
    let harness = GatewayHarness::new().await;
    let key = "a".repeat(100_000);
    assert_eq!(harness.send(harness.write(&key)).await.code(), "IDEMPOTENCY_KEY_MISSING");
    // TYP-12, LIM-28: the names of extensions have a pattern. The tests of the runtime count the steps of
    // matching.
    let mut request = harness.write("key-0001");
    let name = "a-".repeat(200_000);
    request.body = ADD.replacen('{', &format!(r#"{{"extensions":{{"{name}":{{}}}},"#), 1).into();
    let reply = harness.send(request).await;
    assert_eq!((reply.status, reply.code()), (400, "SCHEMA_INVALID"));
}

/// LIM-23: any number of slow bodies from one address leaves budget for other addresses.
#[tokio::test]
async fn slow_bodies_of_one_source_leave_room_for_others() {
    let harness = GatewayHarness::with_config(|config| config.limits.per_address = 1000).await;
    let send_slow_body = |index: usize| {
        let slow_request = harness.write(&format!("slow-{index:04}")).with_peer("198.51.100.7");
        harness.send_body(slow_request, Some(never_ending_body()))
    };
    // At 2 MiB each, these bodies far exceed the total budget of 128 MiB.
    let mut slow: Vec<_> = (0..80).map(|index| Box::pin(send_slow_body(index))).collect();
    let mut refused = 0;
    for request in &mut slow {
        // Each request proceeds as far as it can.
        if let Poll::Ready(reply) = poll_once(request) {
            assert_eq!((reply.code(), reply.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("5")));
            refused += 1;
        }
    }
    assert_eq!(refused, 72, "one address can use an eighth of the budget");
    assert_eq!(
        harness.send(harness.write("key-0001")).await.status,
        200,
        "the rest of the budget is left for other addresses"
    );
    drop(slow);
    let again = harness.write("key-0002").with_peer("198.51.100.7");
    assert_eq!(harness.send(again).await.status, 200, "the budget is free again");
}

/// Polls a future once.
fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(std::task::Waker::noop()))
}
