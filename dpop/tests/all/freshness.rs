//! Nonces and times.

use std::time::Duration;

use dpop_bound::{
    UnixTime,
    claims::ClaimError::*,
    nonce::{NonceError::*, NonceIssuer, NonceKey},
    signed_proof::ProofFormatError::{Signature, Typ},
};
use serde_json::json;

use crate::{
    forge::{Draft, METHOD, NOW, key},
    gateway::{Case, Gateway, GatewayVerdict, GatewayVerdict::*, Request, cases},
};

cases! { nonces, the_challenge_precedes_the_claims, no_challenge_for_what_is_no_proof }

/// DPP-05, DPP-13, DPP-17, LIM-12, ERR-07: missing, expired and wrong nonces.
fn nonces() -> Vec<Case> {
    let at = |seconds: i64| UnixTime::from_secs(NOW.strict_add_signed(seconds));
    let issued_at = |seconds| crate::forge::issuer().issue(at(seconds)).as_str().to_owned();
    let other = |key: u8, server: &str| {
        NonceIssuer::new(&NonceKey::from_bytes([key; 32]), server).issue(at(0)).as_str().to_owned()
    };
    let with = |nonce: String| Draft::good().claim("nonce", nonce).proof();
    let flipped = {
        let mut nonce = issued_at(0).into_bytes();
        nonce[0] = if nonce[0] == b'A' { b'B' } else { b'A' };
        String::from_utf8(nonce).unwrap()
    };
    vec![
        ("this window's", with(issued_at(0)), Accepted),
        ("the previous window's", with(issued_at(-300)), Accepted),
        ("of two windows ago", with(issued_at(-600)), Nonce(Foreign)),
        ("the next window's", with(issued_at(300)), Nonce(Foreign)),
        ("none", Draft::good().without_claim("nonce").proof(), Nonce(Missing)),
        ("null", Draft::good().claim("nonce", json!(null)).proof(), Nonce(Missing)),
        ("a number", Draft::good().claim("nonce", 7).proof(), Nonce(Missing)),
        ("empty", with(String::new()), Nonce(Foreign)),
        ("another server's, same key", with(other(7, "identity")), Nonce(Foreign)),
        ("before the restart", with(other(8, "gateway")), Nonce(Foreign)),
        ("altered", with(flipped), Nonce(Foreign)),
        ("with a NUL", with(format!("{}\0", issued_at(0))), Nonce(Foreign)),
    ]
}

/// DPP-15: the nonce is checked before every claim.
fn the_challenge_precedes_the_claims() -> Vec<Case> {
    let stale = || Draft::good().claim("nonce", "stale");
    let mut cases = vec![
        ("htm", stale().claim("htm", "GET")),
        ("htu", stale().claim("htu", "https://other.example/")),
        ("iat", stale().claim("iat", 1)),
        ("iat as text", stale().claim("iat", "now")),
        ("key", stale().signed_with(key(2))),
        ("ath", stale().claim("ath", "x")),
        ("jti", stale().claim("jti", "")),
    ];
    for name in ["htm", "htu", "iat", "ath", "jti"] {
        cases.push((name, stale().without_claim(name)));
    }
    cases.iter().map(|(name, draft)| (*name, draft.proof(), Nonce(Foreign))).collect()
}

/// DPP-16: a malformed proof never causes a nonce challenge.
fn no_challenge_for_what_is_no_proof() -> Vec<Case> {
    let stale = || Draft::good().claim("nonce", "stale");
    vec![
        ("typ", stale().header("typ", "JWT").proof(), Form(Typ)),
        ("signature", stale().signed_by(key(2)).proof(), Form(Signature)),
    ]
}

/// DPP-03, LIM-10: the window is 30 s in each direction, both bounds included, compared with the exact time
/// of the gateway.
#[test]
fn gateway_window_bounds() {
    for (iat, fraction, expect) in [
        (-31, 0, Claim(Old)),
        (-30, 1, Claim(Old)),
        (-30, 0, Accepted),
        (-29, 999, Accepted),
        (0, 500, Accepted),
        (30, 0, Accepted),
        (30, 999, Accepted),
        (31, 0, Claim(Early)),
        (31, 999, Claim(Early)),
        (31, 1000, Accepted),
    ] {
        let mut gateway = Gateway::new();
        gateway.now = gateway.now + Duration::from_millis(fraction);
        let proof = Draft::good().claim("iat", NOW.strict_add_signed(iat)).proof();
        assert_eq!(gateway.verify(&Request::with_proof(proof)), expect, "{iat} {fraction}");
    }
}

/// After the gateway's clock is set back, the nonce of an earlier proof is rejected as unknown, and a proof
/// with a new nonce but the old `iat` is rejected as too early.
#[test]
fn clock_step_back() {
    let mut gateway = Gateway::new();
    gateway.now = UnixTime::from_secs(NOW - 3600);
    assert_eq!(gateway.verify(&Request::with_proof(Draft::good().proof())), Nonce(Foreign));
    let nonce = gateway.issuer.issue(gateway.now);
    let again = Draft::good().claim("nonce", nonce.as_str());
    assert_eq!(gateway.verify(&Request::with_proof(again.proof())), Claim(Early));
    let corrected = again.claim("iat", NOW - 3600).proof();
    assert_eq!(gateway.verify(&Request::with_proof(corrected)), Accepted);
}

/// Each request is checked independently of earlier requests.
#[test]
fn requests_are_checked_independently() {
    let gateway = Gateway::new();
    let good = || Request::with_proof(Draft::good().proof());
    let responses: Vec<GatewayVerdict> = [
        good(),
        Request { method: "GET", ..good() },
        Request { path: "/", ..good() },
        good(),
        Request { method: METHOD, authorization: vec!["DPoP other".into()], ..good() },
        good(),
    ]
    .iter()
    .map(|request| gateway.verify(request))
    .collect();
    assert_eq!(responses, [Accepted, Claim(Htm), Claim(Htu), Accepted, Claim(Ath), Accepted]);
}
