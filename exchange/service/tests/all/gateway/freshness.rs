//! Nonces and times, tested at the gateway.

use std::time::Duration;

use dpop_bound::nonce::{NonceIssuer, NonceKey};
use exchange_service::idp::tokens::TokenError;

use super::harness::{DOCUMENT, GatewayHarness, NOW};
use super::proof_requirements::{CHALLENGED, INVALID, OK, check, draft};
use crate::proofs::{base64, unbase64};

/// DPP-05, DPP-13: a missing nonce, one of another server, an altered one, and one of another JSON type are
/// challenged.
#[tokio::test]
async fn foreign_nonces_are_challenged() {
    let foreign_nonce = |key: [u8; 32], name: &str| {
        NonceIssuer::new(&NonceKey::from_bytes(key), name).issue(NOW.to_unix_time()).as_str().to_owned()
    };
    let (foreign, idp) = (foreign_nonce([8; 32], "gateway"), foreign_nonce([7; 32], "provider"));
    check(vec![
        draft("no nonce", CHALLENGED, |draft| draft.without_claim("nonce")),
        draft("another server's", CHALLENGED, move |draft| draft.claim("nonce", foreign.clone())),
        draft("the provider's", CHALLENGED, move |draft| draft.claim("nonce", idp.clone())),
        draft("no text", CHALLENGED, |draft| draft.claim("nonce", 1)),
        draft("one bit flipped", CHALLENGED, |draft| {
            let mut nonce = unbase64(draft.claims["nonce"].as_str().unwrap());
            nonce[0] ^= 1;
            draft.claim("nonce", base64(nonce))
        }),
        draft("its own", OK, |draft| draft),
    ])
    .await;
}

/// DPP-14, ERR-07: a retry with the nonce in the challenge is accepted.
#[tokio::test]
async fn challenge_nonce_allows_the_retry() {
    let harness = GatewayHarness::new().await;
    let first = harness.send(harness.get(DOCUMENT).draft(|draft| draft.without_claim("nonce"))).await;
    assert_eq!((first.status, first.challenge().as_str()), (401, "use_dpop_nonce"));
    assert_eq!(first.header("www-authenticate"), Some(r#"DPoP algs="ES256", error="use_dpop_nonce""#));
    let nonce = first.header("dpop-nonce").unwrap().to_owned();
    let second = harness.send(harness.get(DOCUMENT).draft(|draft| draft.claim("nonce", nonce))).await;
    assert_eq!(second.status, 200);
}

/// LIM-12, A31: a nonce is valid for five to ten minutes, in windows of five minutes.
#[tokio::test]
async fn nonces_expire() {
    for (seconds, status) in [(0, 200), (299, 200), (300, 200), (599, 200), (600, 401), (900, 401)] {
        let harness = GatewayHarness::new().await;
        // Advances to the start of a window.
        harness.advance(300 - u64::try_from(NOW.as_secs() % 300).unwrap());
        let nonce = harness.nonces.issue(harness.now().to_unix_time());
        harness.advance(seconds);
        let request = harness.get(DOCUMENT).draft(|draft| draft.claim("nonce", nonce.as_str()));
        let reply = harness.send(request).await;
        assert_eq!(reply.status, status, "{seconds}");
        assert!(reply.has("dpop-nonce"), "{seconds}");
    }
}

/// LIM-10: the window extends thirty seconds in each direction, both bounds included.
#[tokio::test]
async fn proof_window_bounds_are_inclusive() {
    let build_case = |name, expect, offset: i64| {
        draft(name, expect, move |draft| draft.claim("iat", NOW.as_secs() + offset))
    };
    check(vec![
        build_case("31 s ago", INVALID, -31),
        build_case("30 s ago", OK, -30),
        build_case("in 30 s", OK, 30),
        build_case("in 31 s", INVALID, 31),
    ])
    .await;
}

/// DPP-18: a replay is rejected as a replay until the proof expires, and as expired afterwards.
#[tokio::test]
async fn replay_is_rejected_until_the_proof_expires() {
    for offset in [-30, 0, 30] {
        let harness = GatewayHarness::new().await;
        let request = harness.get(DOCUMENT).draft(|draft| draft.claim("iat", NOW.as_secs() + offset));
        let proof = request.draft.proof();
        assert_eq!(harness.send(request.clone().proof(proof.clone())).await.status, 200);
        for second in 0..=(offset + 32) {
            let reply = harness.send(request.clone().proof(proof.clone())).await;
            assert_eq!(reply.challenge(), "invalid_dpop_proof", "{offset} {second}");
            harness.advance(1);
        }
    }
}

/// After the clock is set back, no replay is admitted and no client is locked out.
#[tokio::test]
async fn clock_set_back_admits_no_replay() {
    let harness = GatewayHarness::new().await;
    let request = harness.get(DOCUMENT);
    let proof = request.draft.proof();
    assert_eq!(harness.send(request.clone().proof(proof.clone())).await.status, 200);
    harness.advance(61);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
    harness.clock.step_back(Duration::from_secs(61));
    let again = harness.send(request.proof(proof)).await;
    assert_eq!(again.challenge(), "invalid_dpop_proof");
    harness.advance(70);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
}

/// DPP-11: responses before the token is read, and responses to anonymous requests, have no nonce. (`pairs`
/// covers the other responses.)
#[tokio::test]
async fn early_and_anonymous_responses_have_no_nonce() {
    let harness = GatewayHarness::new().await;
    harness.refused_token("unknowable", TokenError::Unavailable);
    let mut options = harness.get(DOCUMENT);
    options.method = "OPTIONS".to_owned();
    for (request, status) in [
        (harness.get(DOCUMENT).token("unknowable"), 503),
        (harness.get("/exchange/v1/openapi.json"), 200),
        (harness.get("/exchange/v1/schemas/page.schema.json"), 200),
        (harness.get("/exchange/v1/schemas/nothing.schema.json"), 404),
        (harness.get("/exchange/v1?=1"), 400),
        (options, 204),
    ] {
        let target = request.target.clone();
        let reply = harness.send(request).await;
        assert_eq!((reply.status, reply.has("dpop-nonce")), (status, false), "{target}");
    }
    let reply = harness.send(harness.get("/exchange/v1/schemas/page")).await;
    assert_eq!((reply.status, reply.has("dpop-nonce")), (404, true), "the path is not an anonymous route");
}

/// A9: if the identity provider is unreachable, the response has `Retry-After: 5`.
#[tokio::test]
async fn unreachable_provider_sets_retry_after() {
    let harness = GatewayHarness::new().await;
    harness.refused_token("unknowable", TokenError::Unavailable);
    let reply = harness.send(harness.get(DOCUMENT).token("unknowable")).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("5")));
    assert_eq!(reply.challenge(), "-");
}

/// DPP-09: every response has a `Date`.
#[tokio::test]
async fn every_response_has_a_date() {
    let harness = GatewayHarness::new().await;
    for request in
        [harness.get(DOCUMENT), harness.get("/exchange/v1?=1"), harness.get("/exchange/v1/openapi.json")]
    {
        let reply = harness.send(request).await;
        assert_eq!(reply.header("date"), Some("Mon, 21 Sep 2026 14:13:20 GMT"));
    }
}
