//! Attacks on the encoding of proofs, tested at the gateway. The tests of the DPoP library
//! distinguish the errors. Here, each proof is rejected without a challenge and not recorded, and the
//! response has a nonce.

use super::harness::{DOCUMENT, GatewayHarness};
use super::proof_requirements::{cases, check};
use crate::proofs::forgeries::{self, ORDER};
use crate::proofs::{base64, unbase64};

/// Replaces s by n − s in the signature of a proof.
fn other_s(proof: &str) -> String {
    let (signed, signature) = proof.rsplit_once('.').unwrap();
    let bytes = unbase64(signature);
    let mut complement = [0; 32];
    let mut borrow = 0_i16;
    for index in (0..32).rev() {
        let difference = i16::from(ORDER[index]) - i16::from(bytes[32 + index]) - borrow;
        borrow = i16::from(difference < 0);
        complement[index] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{signed}.{}", base64([&bytes[..32], &complement].concat()))
}

/// DPP-06: malformed and invalid signatures are rejected.
#[tokio::test]
async fn invalid_signatures_are_rejected() {
    check(cases(forgeries::signatures())).await;
}

/// The signatures with s and with n − s are both valid. The second form of a proof has the same id, so it is
/// a replay.
#[tokio::test]
async fn proof_with_high_s_is_a_replay() {
    let harness = GatewayHarness::new().await;
    let request = harness.get(DOCUMENT);
    let proof = request.draft.proof();
    assert_eq!(harness.send(request.clone().proof(other_s(&proof))).await.status, 200);
    for again in [proof.clone(), other_s(&proof)] {
        let reply = harness.send(request.clone().proof(again)).await;
        assert_eq!((reply.code(), reply.challenge().as_str()), ("DPOP_INVALID", "invalid_dpop_proof"));
    }
}

/// DPP-02, DPP-16; RFC 7518, 6.2.1: invalid keys are rejected.
#[tokio::test]
async fn invalid_proof_keys_are_rejected() {
    check(cases(forgeries::keys())).await;
}

/// RFC 7515, 2, 4 and 5.2: other encodings of a part, and repeated members, are rejected.
#[tokio::test]
async fn alternative_encodings_are_rejected() {
    check(cases(forgeries::spellings())).await;
}

/// RFC 7515, 4.1; RFC 7797; LIM-23: header members that change the encoding, and oversized proofs, are
/// rejected.
#[tokio::test]
async fn header_rules_and_size_limits_apply() {
    check(cases(forgeries::rules_and_sizes())).await;
}
