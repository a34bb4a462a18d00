//! Compares this crate with other Rust implementations: they accept each other's proofs and reject invalid
//! ones.
//!
//! `dpop-verifier` verifies DPoP proofs, and `jsonwebtoken` signs and verifies JWS with a JWK.
//! `cargo xtask oracles` compares implementations in other languages.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use dpop_bound::{
    Htu, ProofRequest, Prover, SyncSigner, SystemRandom, UnixTime,
    backend::{aws_lc_rs, p256, ring},
};
use dpop_verifier::{DpopError, DpopVerifier, ReplayContext, ReplayStore};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode,
    jwk::{Jwk, ThumbprintHash},
};
use serde_json::Value;

use crate::{
    forge::{self, Draft, METHOD, ORIGIN, PATH, TOKEN},
    freshness,
    gateway::{GatewayVerdict, verdict},
    proof_encoding, proof_requirements,
    proofs::now,
};

/// A replay store for `dpop-verifier` that is always empty.
struct FreshnessOracle;

#[async_trait]
impl ReplayStore for FreshnessOracle {
    async fn insert_once(&mut self, _: [u8; 32], _: ReplayContext<'_>) -> Result<bool, DpopError> {
        Ok(true)
    }
}

/// Verifies the proof with `dpop-verifier` and returns the thumbprint of its key. The crate reads the system
/// clock, so the maximum age is set so high that `iat` is not checked.
fn verifier(proof: &str) -> Result<String, DpopError> {
    let verifier = DpopVerifier::new()
        .with_max_age_seconds(i64::from(u32::MAX))
        .with_future_skew_seconds(i64::from(u32::MAX));
    let (mut fresh, htu) = (FreshnessOracle, format!("{ORIGIN}{PATH}"));
    now(verifier.verify(&mut fresh, proof, &htu, METHOD, Some(TOKEN))).map(|verified| verified.jkt)
}

/// Verifies the signature with `jsonwebtoken` and the key in the header, and returns the claims.
fn jws(proof: &str) -> Result<Value, jsonwebtoken::errors::Error> {
    let header = jsonwebtoken::decode_header(proof)?;
    let key = DecodingKey::from_jwk(&header.jwk.ok_or(jsonwebtoken::errors::ErrorKind::InvalidToken)?)?;
    let mut validation = Validation::new(Algorithm::ES256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    decode(proof, &key, &validation).map(|data| data.claims)
}

fn made_by(key: impl SyncSigner) -> String {
    let htu = Htu::from_url(&format!("{ORIGIN}{PATH}")).unwrap();
    let token = dpop_bound::TokenHash::from_token(TOKEN);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let request = ProofRequest {
        method: METHOD,
        htu: &htu,
        iat: UnixTime::from_secs(now),
        nonce: None,
        token: Some(&token),
    };
    Prover::new(key, SystemRandom).prove_now(&request).unwrap().into_string()
}

/// DPP-02 to DPP-06: the other libraries accept the proofs of every backend.
#[test]
fn other_libraries_accept_our_proofs() {
    let pkcs8 = forge::client().to_pkcs8().unwrap();
    let jkt = forge::client().public_key().thumbprint().to_string();
    for proof in [
        made_by(aws_lc_rs::KeyPair::from_pkcs8(&pkcs8).unwrap()),
        made_by(ring::KeyPair::from_pkcs8(&pkcs8).unwrap()),
        made_by(p256::KeyPair::from_pkcs8(&pkcs8).unwrap()),
    ] {
        assert_eq!(verifier(&proof).unwrap(), jkt);
        assert_eq!(jws(&proof).unwrap()["htm"], METHOD);
        let jwk = jsonwebtoken::decode_header(&proof).unwrap().jwk.unwrap();
        assert_eq!(jwk.thumbprint(ThumbprintHash::SHA256).unwrap(), jkt);
    }
}

/// A proof that `jsonwebtoken` signed, with its own header and order of members, is accepted.
#[test]
fn proof_of_another_library_is_accepted() {
    let key = forge::client();
    let jwk: Jwk = serde_json::from_str(&key.public_key().to_jwk()).unwrap();
    let header = Header { typ: Some("dpop+jwt".into()), jwk: Some(jwk), ..Header::new(Algorithm::ES256) };
    let claims = Draft::good().claims;
    let secret = EncodingKey::from_ec_der(&key.to_pkcs8().unwrap());
    let proof = encode(&header, &claims, &secret).unwrap();
    assert_eq!(verdict(proof), GatewayVerdict::Accepted);
}

/// The names of invalid proofs that `dpop-verifier` accepts: known differences that RFC 7515, RFC 7517 or RFC
/// 9449 allow or require.
const TAKEN_BY_DPOP: &[&str] = &[
    // RFC 7515, 4 allows parsers to use the last of several members with the same name.
    "alg twice",
    "alg twice, escaped",
    "unknown member twice",
    "x twice in jwk",
    "deep in a claim",
    // RFC 7515, 4.1.11 and RFC 7797 do not allow these.
    "crit",
    "crit of nothing",
    "b64 false",
    "b64 false and critical",
    // The limit is specific to this crate.
    "more than 4 KiB",
];
const TAKEN_BY_JWS: &[&str] = &[
    // These rules are part of DPoP, not of JWS.
    "missing typ",
    "typ of another JWT",
    "typ of an access token",
    "typ with its media type",
    "private jwk",
    "private jwk, empty",
    // The reasons for these are the same as above.
    "unknown member twice",
    "htu twice",
    "deep in a claim",
    "crit",
    "crit of nothing",
    "b64 false",
    "b64 false and critical",
    "more than 4 KiB",
    "jti of a megabyte",
    // This case of `freshness` also has a stale nonce.
    "typ",
];

/// DPP-16: the other libraries reject all malformed proofs of the lists, except for the known differences.
#[test]
fn other_libraries_reject_malformed_proofs() {
    let lists = [proof_requirements::all(), proof_encoding::all(), freshness::all()].concat();
    let broken = || lists.iter().filter(|(_, _, response)| matches!(response, GatewayVerdict::Form(_)));
    let taken = |takes: fn(&str) -> bool| -> Vec<&str> {
        broken().filter(|(_, proof, _)| takes(proof)).map(|(name, ..)| *name).collect()
    };
    assert!(broken().count() > 60, "{}", broken().count());
    assert_eq!(taken(|proof| verifier(proof).is_ok()), TAKEN_BY_DPOP);
    assert_eq!(taken(|proof| jws(proof).is_ok()), TAKEN_BY_JWS);
}

/// The other libraries accept every proof that this crate accepts.
#[test]
fn other_libraries_accept_valid_proofs() {
    let lists = [proof_requirements::all(), proof_encoding::all(), freshness::all()].concat();
    let good: Vec<_> =
        lists.iter().filter(|(_, _, response)| *response == GatewayVerdict::Accepted).collect();
    assert!(good.len() > 10, "{}", good.len());
    let refused = |takes: fn(&str) -> bool| -> Vec<&str> {
        good.iter().filter(|(_, proof, _)| !takes(proof)).map(|(name, ..)| *name).collect()
    };
    assert_eq!(refused(|proof| verifier(proof).is_ok()), [""; 0]);
    assert_eq!(refused(|proof| jws(proof).is_ok()), [""; 0]);
}
