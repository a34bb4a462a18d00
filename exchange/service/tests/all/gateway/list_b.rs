//! List B: attacks on the encoding, at the gateway. The tests of the DPoP library distinguish their errors; here every
//! one is refused at once, is not recorded, and gets a nonce.

use super::list_a::{cases, check};
use super::world::{DOCUMENT, World};
use crate::proofs::forgeries::{self, ORDER};
use crate::proofs::{base64, unbase64};

/// Replaces s by n − s in a proof's signature.
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

/// DPP-06
#[tokio::test]
async fn invalid_signatures_are_rejected() {
    check(cases(forgeries::signatures())).await;
}

/// s and n − s are both valid, so the other signature is another string with the same id: a replay.
#[tokio::test]
async fn proof_with_high_s_is_a_replay() {
    let world = World::new().await;
    let request = world.get(DOCUMENT);
    let proof = request.draft.proof();
    assert_eq!(world.send(request.clone().proof(other_s(&proof))).await.status, 200);
    for again in [proof.clone(), other_s(&proof)] {
        let reply = world.send(request.clone().proof(again)).await;
        assert_eq!((reply.code(), reply.challenge().as_str()), ("DPOP_INVALID", "invalid_dpop_proof"));
    }
}

/// DPP-02, DPP-16; RFC 7518, 6.2.1.
#[tokio::test]
async fn invalid_proof_keys_are_rejected() {
    check(cases(forgeries::keys())).await;
}

/// RFC 7515, 2, 4 and 5.2: one encoding of each part, each property once.
#[tokio::test]
async fn alternative_encodings_are_rejected() {
    check(cases(forgeries::spellings())).await;
}

/// RFC 7515, 4.1; RFC 7797; LIM-23.
#[tokio::test]
async fn header_rules_and_size_limits_apply() {
    check(cases(forgeries::rules_and_sizes())).await;
}
