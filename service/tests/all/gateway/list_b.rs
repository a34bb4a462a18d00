//! List B: attacks on the encoding, at the gateway. What each of them breaks is told apart in the tests of the
//! DPoP library; here every one is refused at once, takes no room, and carries a nonce.

use serde_json::json;

use super::forge::{Draft, base64, unbase64};
use super::list_a::{Case, INVALID, OK, check, draft, text};
use super::world::{DOCUMENT, NOW, World};

/// The order of the group (SP 800-186, 3.2.1.3), the highest byte first.
const N: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// The same proof with n − s in place of s.
fn other_s(proof: &str) -> String {
    let (signed, signature) = proof.rsplit_once('.').unwrap();
    let bytes = unbase64(signature);
    let mut other = [0; 32];
    let mut borrow = 0_i16;
    for at in (0..32).rev() {
        let difference = i16::from(N[at]) - i16::from(bytes[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        other[at] = u8::try_from(difference.rem_euclid(256)).unwrap();
    }
    format!("{signed}.{}", base64([&bytes[..32], &other].concat()))
}

/// A DER form of a signature: two integers in a sequence.
fn der(signature: &[u8]) -> Vec<u8> {
    let integer = |half: &[u8]| [&[2, 33, 0], half].concat();
    let both = [integer(&signature[..32]), integer(&signature[32..])].concat();
    [&[0x30, u8::try_from(both.len()).unwrap()][..], &both].concat()
}

/// DPP-06
#[tokio::test]
async fn signatures() {
    let with = |name, at: std::ops::Range<usize>, bytes: [u8; 32]| {
        text(name, INVALID, move |draft: &Draft| {
            let at = at.clone();
            draft.signature(|mut signature| {
                signature[at].copy_from_slice(&bytes);
                signature
            })
        })
    };
    check(vec![
        text("DER", INVALID, |draft| draft.signature(|signature| der(&signature))),
        text("63 bytes", INVALID, |draft| draft.signature(|signature| signature[1..].to_vec())),
        text("65 bytes", INVALID, |draft| draft.signature(|signature| [&[0][..], &signature].concat())),
        with("r = 0", 0..32, [0; 32]),
        with("s = 0", 32..64, [0; 32]),
        with("r = n", 0..32, N),
        with("s = n", 32..64, N),
    ])
    .await;
}

/// s and n − s are both valid, so the other one is another text of the same id: a replay.
#[tokio::test]
async fn a_high_s_is_no_second_proof() {
    let world = World::new().await;
    let asking = world.get(DOCUMENT);
    let proof = asking.draft.proof();
    assert_eq!(world.send(asking.clone().proof(other_s(&proof))).await.status, 200);
    for again in [proof.clone(), other_s(&proof)] {
        let reply = world.send(asking.clone().proof(again)).await;
        assert_eq!((reply.code(), reply.challenge().as_str()), ("DPOP_INVALID", "invalid_dpop_proof"));
    }
}

/// DPP-02, DPP-16; RFC 7518, 6.2.1.
#[tokio::test]
async fn keys() {
    let x = |draft: &Draft| unbase64(draft.header["jwk"]["x"].as_str().unwrap());
    let p384 = json!({ "kty": "EC", "crv": "P-384", "x": base64([7; 48]), "y": base64([7; 48]) });
    let with_x = |name, change: fn(Vec<u8>) -> String| -> Case {
        draft(name, INVALID, move |draft| {
            let changed = change(x(&draft));
            draft.jwk("x", changed)
        })
    };
    check(vec![
        with_x("point not on the curve", |mut x| {
            x[31] ^= 1;
            base64(x)
        }),
        with_x("x padded with =", |x| format!("{}=", base64(x))),
        with_x("x with a leading zero", |x| base64([&[0][..], &x].concat())),
        with_x("x short", |x| base64(&x[..31])),
        draft("y empty", INVALID, |draft| draft.jwk("y", "")),
        draft("y missing", INVALID, |draft| draft.without_jwk("y")),
        draft("P-384", INVALID, move |draft| draft.header("jwk", p384.clone())),
        draft("kid of another key", OK, |draft| draft.header("kid", "2").jwk("kid", "3")),
        draft("a key in the key", OK, |draft| draft.jwk("jwk", json!({ "kty": "oct", "k": "AA" }))),
    ])
    .await;
}

/// RFC 7515, 2, 4 and 5.2: one spelling of each part, each member once.
#[tokio::test]
async fn spellings() {
    let first = |text: String, member: &str| text.replacen('{', &format!("{{{member},"), 1);
    check(vec![
        draft("alg twice", INVALID, move |draft| draft.header_text(|text| first(text, r#""alg":"none""#))),
        draft("alg twice, escaped", INVALID, move |draft| {
            draft.header_text(|text| first(text, r#""\u0061lg":"ES256""#))
        }),
        draft("htu twice", INVALID, move |draft| draft.claims_text(|text| first(text, r#""htu":"x""#))),
        text("header padded", INVALID, |draft| draft.spelt(|header, _| header.push('='))),
        text("claims padded", INVALID, |draft| draft.spelt(|_, claims| claims.push('='))),
        text("claims in lines", INVALID, |draft| draft.spelt(|_, claims| claims.insert(10, ' '))),
        text("signature padded", INVALID, |draft| format!("{}==", draft.proof())),
        text("stray last bits", INVALID, |draft| {
            let proof = draft.proof();
            let (rest, last) = proof.split_at(proof.len() - 1);
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            let at = alphabet.find(last).unwrap();
            format!("{rest}{}", &alphabet[at + 1..at + 2])
        }),
        draft("claims and more", INVALID, |draft| draft.claims_text(|text| text + "{}")),
        draft("claims a list", INVALID, |draft| draft.claims_text(|_| "[]".to_owned())),
        draft("header too deep", INVALID, |draft| draft.header_text(|_| "{\"a\":".repeat(200))),
    ])
    .await;
}

/// RFC 7515, 4.1; RFC 7797; LIM-23.
#[tokio::test]
async fn rules_and_sizes() {
    let now = NOW.secs();
    check(vec![
        draft("alg in lower case", INVALID, |draft| draft.header("alg", "es256")),
        draft("crit", INVALID, |draft| draft.header("crit", json!(["exp"])).header("exp", 1)),
        draft("b64 false", INVALID, |draft| draft.header("b64", false)),
        draft("a header of 8 KiB", INVALID, |draft| draft.header("x", "x".repeat(8192))),
        draft("jti empty", INVALID, |draft| draft.claim("jti", "")),
        draft("jti of a megabyte", INVALID, |draft| draft.claim("jti", "x".repeat(1 << 20))),
        draft("iat as text", INVALID, move |draft| draft.claim("iat", now.to_string())),
        draft("iat with a fraction", INVALID, move |draft| {
            draft.claims_text(|text| text.replace(&now.to_string(), &format!("{now}.5")))
        }),
        draft("iat negative", INVALID, |draft| draft.claim("iat", -1)),
        draft("iat of 2^63", INVALID, |draft| draft.claim("iat", 9_223_372_036_854_775_808_u64)),
        draft("NUL in htu", INVALID, |draft| draft.claim("htu", "https://gateway.example/exchange/v1\0")),
        draft("NUL in jti", INVALID, |draft| draft.claim("jti", "e1j3V_bKic8-LAEB\0")),
    ])
    .await;
}
