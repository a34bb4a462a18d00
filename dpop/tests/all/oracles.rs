//! Other implementations in Rust: they accept ours, we accept theirs, all refuse the broken ones.
//!
//! `dpop-verifier` is a verifier of DPoP, `jsonwebtoken` signs and verifies JWS with a JWK. Those of other
//! languages are asked by `cargo xtask oracles`.

use std::time::{SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use dpop_verifier::{DpopError, DpopVerifier, ReplayContext, ReplayStore};
use exchange_dpop::{
    Es256, Htu, ProofRequest, Prover, SignNow, SignedProof, SystemRandom, UnixTime,
    backend::{aws_lc_rs, p256, ring},
    form::FormRefusal,
};
use jsonwebtoken::{
    Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode,
    jwk::{Jwk, ThumbprintHash},
};
use serde_json::{Value, json};

use crate::{
    forge::{self, Draft, METHOD, ORIGIN, PATH, TOKEN, key},
    gateway::{Answer, verdict},
    proofs::now,
};

/// Knows no proof yet.
struct Fresh;

#[async_trait]
impl ReplayStore for Fresh {
    async fn insert_once(&mut self, _: [u8; 32], _: ReplayContext<'_>) -> Result<bool, DpopError> {
        Ok(true)
    }
}

/// What `dpop-verifier` says. It reads the clock, so `iat` has no say here.
fn verifier(proof: &str) -> Result<String, DpopError> {
    let verifier = DpopVerifier::new()
        .with_max_age_seconds(i64::from(u32::MAX))
        .with_future_skew_seconds(i64::from(u32::MAX));
    let (mut fresh, htu) = (Fresh, format!("{ORIGIN}{PATH}"));
    now(verifier.verify(&mut fresh, proof, &htu, METHOD, Some(TOKEN))).map(|verified| verified.jkt)
}

/// What `jsonwebtoken` says, given the key in the header.
fn jws(proof: &str) -> Result<Value, jsonwebtoken::errors::Error> {
    let header = jsonwebtoken::decode_header(proof)?;
    let key = DecodingKey::from_jwk(&header.jwk.ok_or(jsonwebtoken::errors::ErrorKind::InvalidToken)?)?;
    let mut validation = Validation::new(Algorithm::ES256);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    decode(proof, &key, &validation).map(|data| data.claims)
}

fn made_by(key: impl SignNow) -> String {
    let htu = Htu::of(&format!("{ORIGIN}{PATH}")).unwrap();
    let token = exchange_dpop::TokenHash::of(TOKEN);
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

/// DPP-02 to DPP-06, whichever library signs.
#[test]
fn they_accept_ours() {
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
fn we_accept_theirs() {
    let key = forge::client();
    let jwk: Jwk = serde_json::from_str(&key.public_key().to_jwk()).unwrap();
    let header = Header { typ: Some("dpop+jwt".into()), jwk: Some(jwk), ..Header::new(Algorithm::ES256) };
    let claims = Draft::good().claims;
    let secret = EncodingKey::from_ec_der(&key.to_pkcs8().unwrap());
    let proof = encode(&header, &claims, &secret).unwrap();
    assert_eq!(verdict(proof), Answer::Accepted);
}

/// Refused by all three, or known to be taken by one that is less strict.
#[test]
fn all_refuse_the_broken_ones() {
    let good = Draft::good;
    let flip = |mut bytes: Vec<u8>| {
        bytes[40] ^= 1;
        bytes
    };
    let mut off = forge::unbase64(good().header["jwk"]["x"].as_str().unwrap());
    off[0] ^= 1;
    // Name, proof, who else refuses: the verifier of DPoP, the one of JWS.
    for (name, proof, dpop, any) in [
        ("nothing", String::new(), true, true),
        ("signature", good().signature(flip), true, true),
        (
            "signature in DER",
            good().signature(|s| {
                ::p256::ecdsa::Signature::from_slice(&s).unwrap().to_der().as_bytes().to_vec()
            }),
            true,
            true,
        ),
        ("signature of 63 bytes", good().signature(|s| s[1..].to_vec()), true, true),
        ("other key", good().signed_by(key(2)).proof(), true, true),
        ("off the curve", good().jwk("x", forge::base64(off)).proof(), true, true),
        ("P-384", good().jwk("crv", "P-384").proof(), true, false),
        ("no key", good().without_header("jwk").proof(), true, true),
        ("alg none", good().header("alg", "none").proof(), true, true),
        ("HS256", good().header("alg", "HS256").proof(), true, true),
        ("typ", good().header("typ", "JWT").proof(), true, false),
        ("two parts", "e30.e30".to_owned(), true, true),
        ("padded", format!("{}==", good().proof()), true, true),
        ("claims no object", good().claims_text(|_| "[]".into()).proof(), true, true),
    ] {
        assert!(SignedProof::read(&proof, &Es256).is_err(), "{name}");
        assert_eq!((verifier(&proof).is_err(), jws(&proof).is_err()), (dpop, any), "{name}");
    }
}

/// What we refuse and others take: each a difference that RFC 9449 or RFC 7515 leaves open, or asks for.
#[test]
fn where_we_are_stricter() {
    let good = Draft::good;
    let twice = good().claims_text(|text| text.replacen('{', r#"{"z":1,"z":2,"#, 1)).proof();
    let private = good().jwk("d", forge::base64([7; 32])).proof();
    let critical = good().header("crit", json!(["x"])).proof();
    let read = |proof: &str| SignedProof::read(proof, &Es256).err();
    assert_eq!(read(&twice), Some(FormRefusal::ClaimsRepeated));
    assert_eq!(read(&private), Some(FormRefusal::Jwk(exchange_dpop::key::KeyRefusal::Private)));
    assert_eq!(read(&critical), Some(FormRefusal::Critical));
    assert!(jws(&twice).is_ok() && jws(&private).is_ok() && jws(&critical).is_ok());
}
