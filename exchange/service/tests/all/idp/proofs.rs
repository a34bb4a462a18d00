//! Tests of proofs at the token and the revocation endpoint, in both profiles.

use std::time::Duration;

use axum::body::Body;
use exchange_service::config::ProofProfile;
use exchange_service::idp::{self, IdentityProvider, REFRESH_GRANT, SharedProviderState};
use exchange_service::peer::PeerAddr;
use http::Request;
use http::header::CONTENT_TYPE;

use super::harness::{Device, ISSUER, ProviderHarness, Reply, SCOPES, Tokens, config, encode};

const TOKEN: &str = "http://127.0.0.1:8080/idp/token";

async fn refresh(harness: &ProviderHarness, token: &str, proofs: &[&str]) -> Reply {
    let fields = [("grant_type", REFRESH_GRANT), ("refresh_token", token), ("client_id", "tool")];
    harness.form("token", &fields, proofs).await
}

/// ERR-48, ERR-49, LIM-11, IDP-22: if the proof is invalid, the refresh token is neither checked nor used up.
#[tokio::test]
async fn invalid_proofs_do_not_spend_the_token() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let now = harness.now();
    let proof_at = |offset: i64| {
        let distance = Duration::from_secs(offset.unsigned_abs());
        let time = if offset < 0 { now.minus(distance) } else { now.plus(distance) };
        device.prove("POST", TOKEN, time, None)
    };
    let check = async |proofs: &[&str], expect: &str| {
        let reply = refresh(&harness, &tokens.refresh, proofs).await;
        reply.expect_error(400, expect);
        let description = reply.json()["error_description"].as_str().unwrap().to_owned();
        assert!(description.starts_with("DPoP: "), "{description}");
        assert_eq!(reply.header("dpop-nonce"), "");
    };
    check(&[], "invalid_dpop_proof").await;
    check(&[&proof_at(0), &proof_at(0)], "invalid_dpop_proof").await;
    check(&["a.b.c"], "invalid_dpop_proof").await;
    check(&[&device.prove("GET", TOKEN, now, None)], "invalid_dpop_proof").await;
    for url in [
        "http://127.0.0.1:8080/idp/revoke",
        "http://127.0.0.1:8080/idp/token/",
        "http://localhost:8080/idp/token",
        "https://127.0.0.1:8080/idp/token",
    ] {
        check(&[&device.prove("POST", url, now, None)], "invalid_dpop_proof").await;
    }
    // The clock of this test is a quarter of a second past the full second.
    check(&[&proof_at(-25)], "invalid_request").await;
    check(&[&proof_at(16)], "invalid_request").await;
    check(&[&proof_at(-3600)], "invalid_request").await;
    // The rejected requests did not use up the token.
    let tokens = Tokens::from_reply(&refresh(&harness, &tokens.refresh, &[&proof_at(-24)]).await);
    Tokens::from_reply(&refresh(&harness, &tokens.refresh, &[&proof_at(15)]).await);
}

/// LIM-11, A40: the window extends exactly from −25 s to +15 s.
#[tokio::test]
async fn proof_window_bounds_are_exact() {
    for (offset, expect) in [(-26, 400), (-25, 200), (0, 200), (15, 200), (16, 400)] {
        let harness = ProviderHarness::new().await;
        // Advances to the full second.
        harness.clock.advance(Duration::from_millis(750));
        let device = Device::new();
        let tokens = harness.connect(&device, SCOPES).await;
        let distance = Duration::from_secs(i64::unsigned_abs(offset));
        let time = if offset < 0 { harness.now().minus(distance) } else { harness.now().plus(distance) };
        let reply = refresh(&harness, &tokens.refresh, &[&device.prove("POST", TOKEN, time, None)]).await;
        assert_eq!(reply.status, expect, "{offset}: {}", reply.body);
    }
}

/// IDP-22: the proof is checked before the grant, so a reused token with an invalid proof does not end the
/// connection.
#[tokio::test]
async fn proof_is_checked_before_the_grant() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let first = harness.connect(&device, SCOPES).await;
    let second = Tokens::from_reply(&harness.refresh(&first.refresh, &device).await);
    let third = Tokens::from_reply(&harness.refresh(&second.refresh, &device).await);
    refresh(&harness, &first.refresh, &["a.b.c"]).await.expect_error(400, "invalid_dpop_proof");
    refresh(&harness, "no token at all", &["a.b.c"]).await.expect_error(400, "invalid_dpop_proof");
    let late = device.prove("POST", TOKEN, harness.now().minus(Duration::from_secs(60)), None);
    refresh(&harness, &first.refresh, &[&late]).await.expect_error(400, "invalid_request");
    harness.refresh(&third.refresh, &device).await.expect(200);
}

/// DPP-03: a proof can be used only once.
#[tokio::test]
async fn proof_is_used_once() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let proof = device.proof(harness.now());
    let next = Tokens::from_reply(&refresh(&harness, &tokens.refresh, &[&proof]).await);
    refresh(&harness, &next.refresh, &[&proof]).await.expect_error(400, "invalid_dpop_proof");
    harness.refresh(&next.refresh, &device).await.expect(200);
}

/// IDP-23: the revocation endpoint requires a separate proof.
#[tokio::test]
async fn revocation_requires_a_proof() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let tokens = harness.connect(&device, SCOPES).await;
    let fields = [("token", tokens.refresh.as_str()), ("client_id", "tool")];
    harness.form("revoke", &fields, &[]).await.expect_error(400, "invalid_dpop_proof");
    let elsewhere = device.proof(harness.now());
    harness.form("revoke", &fields, &[&elsewhere]).await.expect_error(400, "invalid_dpop_proof");
    let nameless = [("token", tokens.refresh.as_str())];
    harness.form("revoke", &nameless, &[]).await.expect_error(400, "invalid_request");
    harness.refresh(&tokens.refresh, &device).await.expect(200);
}

/// DPP-17, ERR-50: the profile of RFC 9449 requires a nonce and has one error for every invalid proof.
#[tokio::test]
async fn strict_profile_requires_a_nonce() {
    let harness = ProviderHarness::with_config(&config(ProofProfile::Rfc9449)).await;
    let device = Device::new();
    let prove = |nonce: &str, time| device.prove("POST", TOKEN, time, (!nonce.is_empty()).then_some(nonce));
    let now = harness.now();
    let challenge = refresh(&harness, "x.y", &[&prove("", now)]).await;
    challenge.expect_error(400, "use_dpop_nonce");
    let nonce = challenge.header("dpop-nonce").to_owned();
    refresh(&harness, "x.y", &[&prove("AAAAAAAAAAAAAAAAAAAAAA", now)])
        .await
        .expect_error(400, "use_dpop_nonce");
    let valid_reply = refresh(&harness, "x.y", &[&prove(&nonce, now)]).await;
    valid_reply.expect_error(400, "invalid_grant");
    assert_eq!(valid_reply.header("dpop-nonce"), nonce);
    // An invalid claim is reported after the nonce challenge, and a malformed proof before it.
    let late = now.minus(Duration::from_secs(60));
    refresh(&harness, "x.y", &[&prove("", late)]).await.expect_error(400, "use_dpop_nonce");
    refresh(&harness, "x.y", &[&prove(&nonce, late)]).await.expect_error(400, "invalid_dpop_proof");
    refresh(&harness, "x.y", &["a.b.c"]).await.expect_error(400, "invalid_dpop_proof");
    refresh(&harness, "x.y", &[]).await.expect_error(400, "invalid_dpop_proof");
    // Two windows of five minutes later, the nonce has expired.
    harness.advance(600);
    let stale = refresh(&harness, "x.y", &[&prove(&nonce, harness.now())]).await;
    stale.expect_error(400, "use_dpop_nonce");
    assert_ne!(stale.header("dpop-nonce"), nonce);
    let revoked = harness
        .form(
            "revoke",
            &[("token", "x.y"), ("client_id", "tool")],
            &[&device.prove(
                "POST",
                &format!("{ISSUER}/revoke"),
                harness.now(),
                Some(stale.header("dpop-nonce")),
            )],
        )
        .await;
    assert_ne!(revoked.expect(200).header("dpop-nonce"), "");
}

/// DPP-19: used proofs are limited per source and client, so a client with many new keys cannot exhaust the
/// store.
#[tokio::test]
async fn used_proofs_are_limited_per_source() {
    let harness = ProviderHarness::new().await;
    let send = async |address: &str, client: &str| {
        let fields = [("grant_type", REFRESH_GRANT), ("refresh_token", "x.y"), ("client_id", client)];
        let request = Request::post("/idp/token")
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("DPoP", Device::new().proof(harness.now()))
            .extension(PeerAddr(address.parse().unwrap()))
            .body(Body::from(encode(&fields)))
            .unwrap();
        harness.send(request).await
    };
    for _ in 0..600 {
        send("2001:db8::1", "tool").await.expect_error(400, "invalid_grant");
    }
    let refused = send("2001:db8::2", "tool").await;
    refused.expect_error(429, "temporarily_unavailable");
    // The `iat` of a proof is truncated by a quarter of a second, and the proof counts for 25 s after it.
    assert_eq!(refused.header("retry-after"), "25");
    send("2001:db8::2", "other").await.expect_error(400, "invalid_grant");
    send("2001:db8:0:1::1", "tool").await.expect_error(400, "invalid_grant");
    harness.advance(25);
    send("2001:db8::1", "tool").await.expect_error(400, "invalid_grant");
}

/// Requests without a valid proof are limited by address, for the token and revocation endpoints together
/// (docs/decisions.md; there is no requirement). Requests with valid proofs do not count, and other addresses
/// are not affected.
#[tokio::test]
async fn requests_without_valid_proof_are_limited() {
    let harness = ProviderHarness::new().await;
    let device = Device::new();
    let mut tokens = harness.connect(&device, SCOPES).await;
    let send = async |endpoint: &str, address: &str, token: &str, proof: &str| {
        let fields = [
            ("grant_type", REFRESH_GRANT),
            ("refresh_token", token),
            ("token", token),
            ("client_id", "tool"),
        ];
        let request = Request::post(format!("/idp/{endpoint}"))
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header("DPoP", proof)
            .extension(PeerAddr(address.parse().unwrap()))
            .body(Body::from(encode(&fields)))
            .unwrap();
        harness.send(request).await
    };
    let (here, network, elsewhere) = ("2001:db8::1", "2001:db8::2", "192.0.2.1");
    for number in 0..599 {
        let endpoint = if number % 2 == 0 { "token" } else { "revoke" };
        send(endpoint, here, "x.y", "a.b.c").await.expect_error(400, "invalid_dpop_proof");
    }
    for _ in 0..3 {
        let proof = device.proof(harness.now());
        tokens = Tokens::from_reply(&send("token", network, &tokens.refresh, &proof).await);
    }
    send("token", network, "x.y", "a.b.c").await.expect_error(400, "invalid_dpop_proof");
    for endpoint in ["token", "revoke"] {
        let refused = send(endpoint, here, "x.y", "a.b.c").await;
        refused.expect_error(429, "temporarily_unavailable");
        assert_eq!(refused.header("retry-after"), "1");
    }
    let proof = device.proof(harness.now());
    send("token", here, &tokens.refresh, &proof).await.expect_error(429, "temporarily_unavailable");
    let tokens = Tokens::from_reply(&send("token", elsewhere, &tokens.refresh, &proof).await);
    harness.advance(1);
    Tokens::from_reply(&send("token", here, &tokens.refresh, &device.proof(harness.now())).await);
}

/// DPP-17: identity providers behind one load balancer accept each other's nonces and share the used proofs.
#[tokio::test]
async fn providers_share_nonces_and_used_proofs() {
    let config = config(ProofProfile::Rfc9449);
    let mut harness = ProviderHarness::with_config(&config).await;
    let environment = harness.provider.environment().clone();
    let shared = SharedProviderState::in_memory(&config, &environment).unwrap();
    let one_more = async || {
        let (store, shared) = (harness.store.clone(), shared.clone());
        idp::router(IdentityProvider::with_shared(store, environment.clone(), &config, shared).await.unwrap())
    };
    let (first, second) = (one_more().await, one_more().await);
    let device = Device::new();
    harness.app = first.clone();
    let challenge = refresh(&harness, "x.y", &[&device.proof(harness.now())]).await;
    challenge.expect_error(400, "use_dpop_nonce");
    let proof = device.prove("POST", TOKEN, harness.now(), Some(challenge.header("dpop-nonce")));
    harness.app = second;
    refresh(&harness, "x.y", &[&proof]).await.expect_error(400, "invalid_grant");
    harness.app = first;
    refresh(&harness, "x.y", &[&proof]).await.expect_error(400, "invalid_dpop_proof");
}
