//! Replays and limits, tested at the gateway.

use dpop_bound::KeyPair;
use dpop_bound::replay::ReplayLimits;
use dpop_bound::replay::contract::{self, StoreFactory};
use dpop_bound::{ProofWindow, ReplayCache};
use std::sync::{Arc, Mutex};

use super::harness::{DOCUMENT, GatewayHarness, MEMBER, TOKEN};

/// DPP-18: of two identical proofs that are sent concurrently, one is accepted.
#[tokio::test]
async fn one_of_two_identical_concurrent_proofs_is_accepted() {
    let harness = GatewayHarness::new().await;
    let request = harness.get(DOCUMENT);
    let proof = request.draft.proof();
    let one = || harness.send(request.clone().proof(proof.clone()));
    let (first, second, third) = tokio::join!(one(), one(), one());
    let mut statuses = [first.status, second.status, third.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401]);
}

/// DPP-18, LIM-12: after a restart, nonces have a new key, so an old proof is challenged and not accepted.
#[tokio::test]
async fn replay_after_a_restart_is_challenged() {
    let mut harness = GatewayHarness::new().await;
    let request = harness.get(DOCUMENT);
    let accepted = request.clone().proof(request.draft.proof());
    assert_eq!(harness.send(accepted.clone()).await.status, 200);
    harness.restart();
    // The new process has no record of used proofs, and needs none.
    assert_eq!(harness.traces().await.live, 0);
    let reply = harness.send(accepted).await;
    assert_eq!((reply.status, reply.challenge().as_str()), (401, "use_dpop_nonce"));
    assert_eq!(
        harness.send(harness.get(DOCUMENT)).await.status,
        200,
        "the response has a nonce of the new process"
    );
}

/// LIM-06, ERR-09: at a member's limit, proofs are rejected with the exact delay and not recorded.
#[tokio::test]
async fn live_proofs_per_member_are_limited() {
    let harness = GatewayHarness::new().await;
    harness.fill(MEMBER, 600);
    for _ in 0..3 {
        let reply = harness.send(harness.get(DOCUMENT)).await;
        assert_eq!((reply.status, reply.code()), (429, "DPOP_PROOF_LIMIT"));
        assert_eq!(reply.header("retry-after"), Some("31"), "the delay ends just after 30 s past the `iat`");
        assert!(reply.has("dpop-nonce") && !reply.has("www-authenticate") && !reply.has("ratelimit"));
    }
    assert_eq!(harness.traces().await.live, 600);
    harness.token("anothers", |claims| claims.member = "other".into());
    assert_eq!(harness.send(harness.get(DOCUMENT).token("anothers")).await.status, 200);
    harness.advance(30);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.header("retry-after"), Some("1"));
    harness.advance(1);
    assert_eq!(harness.send(harness.get(DOCUMENT)).await.status, 200);
}

/// LIM-06, ERR-10: the limit for all members together is enforced.
#[tokio::test]
async fn live_proofs_in_total_are_limited() {
    let harness = GatewayHarness::with_config(|config| config.limits.live_proofs = 1200).await;
    harness.fill("a", 600);
    harness.fill("b", 600);
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.status, reply.code()), (503, "SERVICE_UNAVAILABLE"));
    assert_eq!(reply.header("retry-after"), Some("31"));
    assert!(reply.has("dpop-nonce"));
}

/// DPP-21: ids of proofs belong to keys, so two installations may use the same id.
#[tokio::test]
async fn proof_ids_are_per_key() {
    let harness = GatewayHarness::new().await;
    let other_key = Arc::new(KeyPair::generate().unwrap());
    let jkt = other_key.public_key().thumbprint().to_string();
    harness.token("anothers", |claims| claims.jkt = Some(jkt));
    let same = |draft: crate::proofs::Draft| draft.claim("jti", "the-same-id-of-two-keys");
    assert_eq!(harness.send(harness.get(DOCUMENT).draft(same)).await.status, 200);
    let request = harness
        .get(DOCUMENT)
        .token("anothers")
        .draft(|draft| same(draft).signed_with(Arc::clone(&other_key)));
    assert_eq!(harness.send(request).await.status, 200);
}

/// A9: if the store of used proofs is unavailable, the response is 503.
#[tokio::test]
async fn unavailable_proof_store_is_a_503() {
    let harness = GatewayHarness::new().await;
    harness.live.off();
    let reply = harness.send(harness.get(DOCUMENT)).await;
    assert_eq!((reply.code(), reply.header("retry-after")), ("SERVICE_UNAVAILABLE", Some("60")));
    assert_eq!(harness.traces().await.relayed, 0);
}

/// Invalid proofs are not recorded, however many there are.
#[tokio::test]
async fn invalid_proofs_are_not_recorded() {
    let harness = GatewayHarness::new().await;
    for index in 0..200 {
        let request =
            harness.get(DOCUMENT).with_peer(&format!("198.51.100.{index}")).draft(|d| d.claim("htm", "PUT"));
        assert_eq!(harness.send(request.token(TOKEN)).await.status, 401);
    }
    assert_eq!(harness.traces().await.live, 0);
}

struct Memory;

impl StoreFactory for Memory {
    type Store = Arc<Mutex<ReplayCache>>;

    async fn create_empty(&self, window: ProofWindow, caps: ReplayLimits) -> Self::Store {
        Arc::new(Mutex::new(ReplayCache::new(window, caps)))
    }

    async fn open_again(&self, store: &Self::Store) -> Self::Store {
        Arc::clone(store)
    }

    async fn with_window(&self, store: Self::Store, window: ProofWindow) -> Self::Store {
        store.lock().unwrap().set_window(window);
        store
    }
}

/// DPP-18, DPP-19: the gateway's store of used proofs passes the contract tests.
#[tokio::test]
async fn replay_cache_passes_the_store_contract() {
    contract::check_every_rule(&Memory).await;
}
