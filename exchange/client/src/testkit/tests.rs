//! Tests of the violations that the scripted server detects.

use std::time::Duration;

use bytes::Bytes;
use dpop_bound::{AccessToken, Htu, KeyPair, Nonce, Prover, proof::ProofRequest};
use exchange_api::{codes::Code, operations::OperationId, runtime::transport::Transport as _};
use http::{Request, Response, header::AUTHORIZATION};

use super::{ScriptedReply, ScriptedServer, VirtualEnvironment};

const LOCATIONS: &str = "https://gateway.test/exchange/v1/catalog/locations";

/// A client that sends valid requests, which the tests then make invalid.
struct Client {
    server: ScriptedServer,
    machine: VirtualEnvironment,
    prover: Prover<KeyPair, VirtualEnvironment>,
    token: AccessToken,
}

impl Client {
    fn new() -> Self {
        let machine = VirtualEnvironment::new(1);
        let prover = Prover::new(KeyPair::generate().unwrap(), machine.clone());
        let token = AccessToken::new("token-1").unwrap();
        Self { server: ScriptedServer::gateway(&machine), machine, prover, token }
    }

    fn request(&self, method: &str, url: &str, nonce: Option<&str>) -> Request<Bytes> {
        let proof = self.prover.prove_now(&ProofRequest {
            method,
            htu: &Htu::from_url(url).unwrap(),
            iat: self.machine.true_time(),
            nonce: nonce.map(|nonce| Nonce::new(nonce).unwrap()).as_ref(),
            token: Some(self.token.hash()),
        });
        let mut request = Request::builder().method(method).uri(url);
        request = request.header("User-Agent", "Desk/1.0.0 (+https://desk.example)");
        request = request.header("X-Correlation-Id", "c-1");
        request = request.header("DPoP", proof.unwrap().as_str());
        request.header(AUTHORIZATION, "DPoP token-1").body(Bytes::new()).unwrap()
    }

    async fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.server.send(OperationId::ServiceDocument.operation(), request).await.unwrap()
    }

    /// Sends a request and returns the violations of the server.
    async fn violation(&self, request: Request<Bytes>) -> String {
        let _ = self.send(request).await;
        self.server.take_violations().concat()
    }
}

#[tokio::test(start_paused = true)]
async fn correct_request_causes_no_violation() {
    let client = Client::new();
    let response = client.send(client.request("GET", LOCATIONS, None)).await;
    assert_eq!(response.headers()["X-Correlation-Id"], "c-1");
    assert_eq!(response.headers()["Date"], "Mon, 21 Sep 2026 14:15:00 GMT");
    let seen = client.server.requests().remove(0);
    let proof = seen.proof.as_ref().unwrap();
    assert_eq!(proof.iat, client.machine.true_time().as_secs());
    assert_eq!(proof.ath, Some(client.token.hash().to_string()));
    assert_eq!((seen.token(), seen.received_at), (Some("token-1"), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn every_violated_rule_is_a_violation() {
    let client = Client::new();
    let good = || client.request("GET", LOCATIONS, None);
    let spoilt = |spoil: fn(&mut Request<Bytes>)| {
        let mut request = good();
        spoil(&mut request);
        request
    };
    let check = async |request: Request<Bytes>, expect: &str| {
        let violation = client.violation(request).await;
        assert!(violation.contains(expect), "{violation} / {expect}");
    };
    let twice = good();
    let _ = client.send(twice.clone()).await;
    check(twice, "was used before").await;
    check(client.request("GET", LOCATIONS, Some("stranger")), "was not issued by this server").await;
    check(spoilt(|request| *request.method_mut() = http::Method::POST), "`htm`").await;
    check(spoilt(|request| *request.uri_mut() = "https://gateway.test/other".parse().unwrap()), "`htu`")
        .await;
    check(client.request("GET", "https://far.test/exchange/v1", None), "it was addressed to another server")
        .await;
    let other_token = |request: &mut Request<Bytes>| {
        request.headers_mut().insert(AUTHORIZATION, "DPoP token-2".parse().unwrap());
    };
    check(spoilt(other_token), "`ath`").await;
    check(spoilt(|request| drop(request.headers_mut().remove("DPoP"))), "no DPoP header").await;
    let doubled = |request: &mut Request<Bytes>| {
        let proof = request.headers()["DPoP"].clone();
        request.headers_mut().append("DPoP", proof);
    };
    check(spoilt(doubled), "more than one DPoP header").await;
    check(spoilt(|request| drop(request.headers_mut().remove("User-Agent"))), "User-Agent").await;
    client.server.pin_key(&KeyPair::generate().unwrap().public_key().thumbprint());
    check(good(), "key").await;
}

#[tokio::test(start_paused = true)]
async fn request_before_retry_after_is_a_violation() {
    let client = Client::new();
    client.server.enqueue_reply(ScriptedReply::problem(Code::RelayBusy));
    let good = || client.request("GET", LOCATIONS, None);
    let response = client.send(good()).await;
    assert_eq!(response.headers()["Retry-After"], "10");
    tokio::time::sleep(Duration::from_secs(9)).await;
    assert!(client.violation(good()).await.contains("requested wait ended at 10s"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(client.violation(good()).await, "");
}

#[tokio::test(start_paused = true)]
async fn gateway_checks_nonce_and_time() {
    let client = Client::new();
    client.server.require_nonce("n-1");
    let response = client.send(client.request("GET", LOCATIONS, None)).await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["DPoP-Nonce"]),
        (401, &"n-1".parse().unwrap())
    );
    let response = client.send(client.request("GET", LOCATIONS, Some("n-1"))).await;
    assert_eq!(response.status(), 200);
    let late = client.request("GET", LOCATIONS, Some("n-1"));
    tokio::time::sleep(Duration::from_secs(31)).await;
    let response = client.send(late).await;
    assert!(response.headers()["WWW-Authenticate"].to_str().unwrap().contains("invalid_dpop_proof"));
    client.server.refuse_token("token-1");
    let response = client.send(client.request("GET", LOCATIONS, Some("n-1"))).await;
    assert!(String::from_utf8_lossy(response.body()).contains("UNAUTHENTICATED"));
}

#[tokio::test(start_paused = true)]
async fn write_is_applied_once_per_key() {
    let machine = VirtualEnvironment::new(1);
    let server = ScriptedServer::gateway(&machine).unsigned();
    server.enqueue_reply(ScriptedReply::interrupted());
    server.enqueue_reply(ScriptedReply::json(200, "1").then_lost());
    let url = "https://gateway.test/exchange/v1/me/stock/changes";
    let send = async |body: &'static str| {
        let request = Request::builder().method("POST").uri(url).header("Idempotency-Key", "key-1");
        let request = request.body(Bytes::from_static(body.as_bytes())).unwrap();
        server.send(OperationId::StockWrite.operation(), request).await
    };
    assert!(send("a").await.is_err());
    assert!(server.applied_keys().is_empty());
    assert!(send("a").await.is_err());
    let again = send("a").await.unwrap();
    assert_eq!(
        (&again.headers()["Idempotency-Replayed"], &again.body()[..]),
        (&"true".parse().unwrap(), &b"1"[..])
    );
    assert_eq!(server.applied_keys(), ["key-1"]);
    server.assert_no_violations();
    assert_eq!(send("b").await.unwrap().status(), 422);
    assert!(server.take_violations().concat().contains("used for another request"));
}
