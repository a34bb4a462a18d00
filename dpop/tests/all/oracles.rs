//! Comparison with other implementations in Rust: all accept each other's proofs and reject the invalid ones.
//!
//! `dpop-verifier` is a verifier of DPoP, `jsonwebtoken` signs and verifies JWS with a JWK. `cargo xtask
//! oracles` covers those in other languages.

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
    gateway::{Answer, verdict},
    list_a, list_b, list_c,
    proofs::now,
};

/// An empty replay store of `dpop-verifier`.
struct Fresh;

#[async_trait]
impl ReplayStore for Fresh {
    async fn insert_once(&mut self, _: [u8; 32], _: ReplayContext<'_>) -> Result<bool, DpopError> {
        Ok(true)
    }
}

/// Returns true if `dpop-verifier` accepts the proof. It reads the system clock, so `iat` is not compared.
fn verifier(proof: &str) -> Result<String, DpopError> {
    let verifier = DpopVerifier::new()
        .with_max_age_seconds(i64::from(u32::MAX))
        .with_future_skew_seconds(i64::from(u32::MAX));
    let (mut fresh, htu) = (Fresh, format!("{ORIGIN}{PATH}"));
    now(verifier.verify(&mut fresh, proof, &htu, METHOD, Some(TOKEN))).map(|verified| verified.jkt)
}

/// Returns true if `jsonwebtoken` accepts the signature with the key in the header.
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

/// DPP-02 to DPP-06, with each of the signing libraries.
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

/// A proof signed by `jsonwebtoken`, with its own header and its own order of members.
#[test]
fn proof_of_another_library_is_accepted() {
    let key = forge::client();
    let jwk: Jwk = serde_json::from_str(&key.public_key().to_jwk()).unwrap();
    let header = Header { typ: Some("dpop+jwt".into()), jwk: Some(jwk), ..Header::new(Algorithm::ES256) };
    let claims = Draft::good().claims;
    let secret = EncodingKey::from_ec_der(&key.to_pkcs8().unwrap());
    let proof = encode(&header, &claims, &secret).unwrap();
    assert_eq!(verdict(proof), Answer::Accepted);
}

/// The names of cases that only the others accept: known differences that RFC 7515, RFC 7517 or RFC 9449
/// allow or require.
const TAKEN_BY_DPOP: &[&str] = &[
    // RFC 7515, 4 lets a reader take the last of repeated members.
    "alg twice",
    "alg twice, escaped",
    "unknown member twice",
    "x twice in jwk",
    "deep in a claim",
    // RFC 7515, 4.1.11 and RFC 7797 do not.
    "crit",
    "crit of nothing",
    "b64 false",
    "b64 false and critical",
    // A limit of this crate.
    "more than 4 KiB",
];
const TAKEN_BY_JWS: &[&str] = &[
    // Rules of DPoP, not of JWS.
    "missing typ",
    "typ of another JWT",
    "typ of an access token",
    "typ with its media type",
    "private jwk",
    "private jwk, empty",
    // As above.
    "unknown member twice",
    "htu twice",
    "deep in a claim",
    "crit",
    "crit of nothing",
    "b64 false",
    "b64 false and critical",
    "more than 4 KiB",
    "jti of a megabyte",
    // List C's, with a nonce that is stale.
    "typ",
];

/// DPP-16: of all named cases that are no proof, the others refuse every one but those.
#[test]
fn other_libraries_reject_malformed_proofs() {
    let lists = [list_a::all(), list_b::all(), list_c::all()].concat();
    let broken = || lists.iter().filter(|(_, _, response)| matches!(response, Answer::Form(_)));
    let taken = |takes: fn(&str) -> bool| -> Vec<&str> {
        broken().filter(|(_, proof, _)| takes(proof)).map(|(name, ..)| *name).collect()
    };
    assert!(broken().count() > 60, "{}", broken().count());
    assert_eq!(taken(|proof| verifier(proof).is_ok()), TAKEN_BY_DPOP);
    assert_eq!(taken(|proof| jws(proof).is_ok()), TAKEN_BY_JWS);
}

/// The others accept every proof that this crate accepts, except for known differences.
#[test]
fn other_libraries_accept_valid_proofs() {
    let lists = [list_a::all(), list_b::all(), list_c::all()].concat();
    let good: Vec<_> = lists.iter().filter(|(_, _, response)| *response == Answer::Accepted).collect();
    assert!(good.len() > 10, "{}", good.len());
    let refused = |takes: fn(&str) -> bool| -> Vec<&str> {
        good.iter().filter(|(_, proof, _)| !takes(proof)).map(|(name, ..)| *name).collect()
    };
    assert_eq!(refused(|proof| verifier(proof).is_ok()), [""; 0]);
    assert_eq!(refused(|proof| jws(proof).is_ok()), [""; 0]);
}
