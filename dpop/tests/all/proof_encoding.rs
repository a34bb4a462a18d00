//! Attacks on the encoding of proofs.

use dpop_bound::{claims::ClaimError::*, key::PublicKeyError, signed_proof::ProofFormatError::*};
use serde_json::{Value, json};

use crate::{
    forge::{Draft, NOW, base64, unbase64},
    gateway::{Case, GatewayVerdict::*, cases, verdict},
};

cases! { signatures, keys, repeated_members, spellings, headers_that_change_the_rules, sizes, numbers_and_texts }

/// The order of the group (SP 800-186, 3.2.1.3), most significant byte first.
const N: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// DPP-06: malformed and invalid signatures.
fn signatures() -> Vec<Case> {
    let good = Draft::good;
    let with_r = |r: &[u8; 32]| good().signature(|signature| [r, &signature[32..]].concat());
    let with_s = |s: &[u8; 32]| good().signature(|signature| [&signature[..32], s].concat());
    let der = |signature: Vec<u8>| {
        p256::ecdsa::Signature::from_slice(&signature).unwrap().to_der().as_bytes().to_vec()
    };
    vec![
        ("DER", good().signature(der), Form(SignatureLength)),
        ("63 bytes", good().signature(|signature| signature[1..].to_vec()), Form(SignatureLength)),
        ("65 bytes", good().signature(|signature| [&[0][..], &signature].concat()), Form(SignatureLength)),
        (
            "96 bytes",
            good().signature(|signature| [&[0; 32][..], &signature].concat()),
            Form(SignatureLength),
        ),
        ("r = 0", with_r(&[0; 32]), Form(Signature)),
        ("s = 0", with_s(&[0; 32]), Form(Signature)),
        ("r = n", with_r(&N), Form(Signature)),
        ("s = n", with_s(&N), Form(Signature)),
        ("r = 2^256 - 1", with_r(&[0xff; 32]), Form(Signature)),
        ("s = 2^256 - 1", with_s(&[0xff; 32]), Form(Signature)),
        ("r and s exchanged", good().signature(|both| [&both[32..], &both[..32]].concat()), Form(Signature)),
        ("all zeros", good().signature(|_| vec![0; 64]), Form(Signature)),
        (
            "one bit",
            good().signature(|mut both| {
                both[63] ^= 1;
                both
            }),
            Form(Signature),
        ),
    ]
}

/// Returns the proof with n − s in place of s.
pub(crate) fn other_s(proof: &str) -> String {
    let (signed, signature) = proof.rsplit_once('.').unwrap();
    let bytes = unbase64(signature);
    let mut other = [0; 32];
    let mut borrow = 0i16;
    for at in (0..32).rev() {
        let difference = i16::from(N[at]) - i16::from(bytes[32 + at]) - borrow;
        borrow = i16::from(difference < 0);
        other[at] = difference.rem_euclid(256) as u8;
    }
    format!("{signed}.{}", base64([&bytes[..32], &other].concat()))
}

/// A signature is valid with s and with n − s. The second form of a proof has the same id, so it is a replay.
#[test]
fn a_high_s_is_accepted() {
    let proof = Draft::good().proof();
    let other = other_s(&proof);
    assert_ne!(proof, other);
    assert_eq!((verdict(proof), verdict(other)), (Accepted, Accepted));
}

/// DPP-02, DPP-16; RFC 7518, 6.2.1: invalid keys.
fn keys() -> Vec<Case> {
    let good = Draft::good;
    let x = unbase64(good().header["jwk"]["x"].as_str().unwrap());
    let mut off = x.clone();
    off[31] ^= 1;
    let p384 = json!({ "kty": "EC", "crv": "P-384", "x": base64([7; 48]), "y": base64([7; 48]) });
    let jwk = |error| Form(Jwk(error));
    let zeros = base64([0; 32]);
    vec![
        ("point not on the curve", good().jwk("x", base64(&off)).proof(), jwk(PublicKeyError::OffCurve)),
        ("the origin", good().jwk("x", zeros.clone()).jwk("y", zeros).proof(), jwk(PublicKeyError::OffCurve)),
        ("x beyond p", good().jwk("x", base64([0xff; 32])).proof(), jwk(PublicKeyError::OffCurve)),
        (
            "x padded with =",
            good().jwk("x", format!("{}=", base64(&x))).proof(),
            jwk(PublicKeyError::Coordinate),
        ),
        (
            "x with a leading zero",
            good().jwk("x", base64([&[0][..], &x].concat())).proof(),
            jwk(PublicKeyError::Coordinate),
        ),
        ("x short", good().jwk("x", base64(&x[..31])).proof(), jwk(PublicKeyError::Coordinate)),
        ("y empty", good().jwk("y", "").proof(), jwk(PublicKeyError::Coordinate)),
        ("y missing", good().without_jwk("y").proof(), jwk(PublicKeyError::Coordinate)),
        ("y as a number", good().jwk("y", 7).proof(), jwk(PublicKeyError::Coordinate)),
        ("standard alphabet", good().jwk("x", "+".repeat(43)).proof(), jwk(PublicKeyError::Coordinate)),
        ("P-384", good().header("jwk", p384).proof(), jwk(PublicKeyError::Curve)),
        ("crv missing", good().without_jwk("crv").proof(), jwk(PublicKeyError::Curve)),
        ("crv in lower case", good().jwk("crv", "p-256").proof(), jwk(PublicKeyError::Curve)),
        ("kty missing", good().without_jwk("kty").proof(), jwk(PublicKeyError::Kty)),
        ("kty in lower case", good().jwk("kty", "ec").proof(), jwk(PublicKeyError::Kty)),
        ("Ed25519", good().jwk("kty", "OKP").jwk("crv", "Ed25519").proof(), jwk(PublicKeyError::Kty)),
    ]
}

/// A coordinate that begins with a zero byte keeps this byte (RFC 7518, 6.2.1.2).
#[test]
fn leading_zeros_are_preserved() {
    let key = (0..=u8::MAX)
        .map(crate::forge::key)
        .find(|key| key.public_key().point()[1] == 0 || key.public_key().point()[33] == 0)
        .expect("one key of 128 has such a coordinate");
    let jwk: Value = key.public_key().to_jwk().parse().unwrap();
    let (x, y) = (unbase64(jwk["x"].as_str().unwrap()), unbase64(jwk["y"].as_str().unwrap()));
    assert_eq!((x.len(), y.len()), (32, 32));
    let name = if x[0] == 0 { "x" } else { "y" };
    let stripped = base64(&if name == "x" { x } else { y }[1..]);
    let draft = Draft::good().signed_with(key);
    assert_eq!(verdict(draft.proof()), Claim(Key));
    assert_eq!(verdict(draft.jwk(name, stripped).proof()), Form(Jwk(PublicKeyError::Coordinate)));
}

/// RFC 7515, 4: repeated members are rejected, because two parsers could otherwise read two proofs from one
/// string.
fn repeated_members() -> Vec<Case> {
    let good = Draft::good;
    let first = |text: String, member: &str| text.replacen('{', &format!("{{{member},"), 1);
    vec![
        (
            "alg twice",
            good().header_text(|text| first(text, r#""alg":"none""#)).proof(),
            Form(HeaderRepeated),
        ),
        (
            "alg twice, escaped",
            good().header_text(|text| first(text, r#""\u0061lg":"ES256""#)).proof(),
            Form(HeaderRepeated),
        ),
        (
            "unknown member twice",
            good().header_text(|text| first(text, r#""z":1,"z":1"#)).proof(),
            Form(HeaderRepeated),
        ),
        (
            "x twice in jwk",
            good().header_text(|text| text.replace(r#""x":"#, r#""x":"","x":"#)).proof(),
            Form(HeaderRepeated),
        ),
        ("htu twice", good().claims_text(|text| first(text, r#""htu":"x""#)).proof(), Form(ClaimsRepeated)),
        (
            "deep in a claim",
            good().claims_text(|text| first(text, r#""z":[{"a":1,"a":1}]"#)).proof(),
            Form(ClaimsRepeated),
        ),
    ]
}

/// RFC 7515, 2 and 5.2: each part has only one valid encoding, and header and claims are JSON objects.
fn spellings() -> Vec<Case> {
    let good = Draft::good;
    let padded = |text: &mut String| text.push('=');
    let broken = |text: &mut String| text.insert(10, '\n');
    vec![
        ("header padded", good().spelt(|header, _| padded(header)), Form(HeaderEncoding)),
        ("claims padded", good().spelt(|_, claims| padded(claims)), Form(ClaimsEncoding)),
        ("signature padded", format!("{}==", good().proof()), Form(SignatureEncoding)),
        ("header in lines", good().spelt(|header, _| broken(header)), Form(HeaderEncoding)),
        ("claims in lines", good().spelt(|_, claims| broken(claims)), Form(ClaimsEncoding)),
        (
            "space before the signature",
            good()
                .proof()
                .rsplit_once('.')
                .map(|(signed, signature)| format!("{signed}. {signature}"))
                .unwrap(),
            Form(SignatureEncoding),
        ),
        (
            "stray bits in the header",
            good().header_text(to_two_mod_three).spelt(|header, _| stray(header)),
            Form(HeaderEncoding),
        ),
        (
            "stray bits in the claims",
            good().claims_text(to_two_mod_three).spelt(|_, claims| stray(claims)),
            Form(ClaimsEncoding),
        ),
        (
            "stray bits in the signature",
            {
                let mut proof = good().proof();
                stray(&mut proof);
                proof
            },
            Form(SignatureEncoding),
        ),
        (
            "standard alphabet",
            good().spelt(|_, claims| {
                claims.insert_str(0, "+/+/");
            }),
            Form(ClaimsEncoding),
        ),
        ("not ASCII", good().spelt(|header, _| header.push('ä')), Form(HeaderEncoding)),
        ("header empty", good().spelt(|header, _| header.clear()), Form(HeaderJson)),
        ("header a list", good().header_text(|_| "[]".into()).proof(), Form(HeaderJson)),
        (
            "header with a byte order mark",
            good().header_text(|text| format!("\u{feff}{text}")).proof(),
            Form(HeaderJson),
        ),
        ("header and more", good().header_text(|text| text + "{}").proof(), Form(HeaderJson)),
        ("header too deep", good().header_text(|_| "{\"a\":".repeat(200)).proof(), Form(HeaderJson)),
        ("claims empty", good().spelt(|_, claims| claims.clear()), Form(ClaimsJson)),
        ("claims null", good().claims_text(|_| "null".into()).proof(), Form(ClaimsJson)),
        (
            "claims with a comma too many",
            good().claims_text(|text| text.replace('}', ",}")).proof(),
            Form(ClaimsJson),
        ),
    ]
}

/// Appends spaces until the last character of the encoding has two unused bits.
fn to_two_mod_three(mut text: String) -> String {
    while text.len() % 3 != 2 {
        text.push(' ');
    }
    text
}

/// Sets one of the unused bits of the last character.
fn stray(text: &mut String) {
    const ALPHABET: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let last = text.pop().unwrap();
    let at = ALPHABET.find(last).unwrap();
    text.push(char::from(ALPHABET.as_bytes()[at | 1]));
    assert_eq!(at & 1, 0, "the bit was not set before");
}

/// RFC 7515, 4.1; RFC 7797: header members that would change the algorithm or the encoding.
fn headers_that_change_the_rules() -> Vec<Case> {
    let good = Draft::good;
    vec![
        ("alg in lower case", good().header("alg", "es256").proof(), Form(Alg)),
        ("alg with a blank", good().header("alg", "ES256 ").proof(), Form(Alg)),
        ("alg in a list", good().header("alg", json!(["ES256"])).proof(), Form(AlgMissing)),
        ("crit", good().header("crit", json!(["exp"])).header("exp", 1).proof(), Form(Critical)),
        ("crit of nothing", good().header("crit", json!([])).proof(), Form(Critical)),
        ("b64 false", good().header("b64", false).proof(), Form(Unencoded)),
        (
            "b64 false and critical",
            good().header("b64", false).header("crit", json!(["b64"])).proof(),
            Form(Critical),
        ),
        ("b64 true", good().header("b64", true).proof(), Accepted),
        (
            "kid of another key",
            good().header("kid", "2").header("jku", "https://evil.example").proof(),
            Accepted,
        ),
        ("a key in the key", good().jwk("jwk", json!({ "kty": "oct", "k": "AA" })).proof(), Accepted),
    ]
}

/// Creates a proof of exactly this many bytes. Base64url encodes three bytes as four characters, so padding
/// only the header cannot produce every length; the claims are padded as well.
fn of_length(bytes: usize) -> String {
    let padded = |header: usize, claims: usize| {
        Draft::good().header("x", "a".repeat(header)).claim("x", "a".repeat(claims)).proof()
    };
    let room = (bytes - padded(0, 0).len()) / 4 * 3 - 6;
    let pads = (room..room + 8).flat_map(|header| (0..4).map(move |claims| (header, claims)));
    pads.map(|(header, claims)| padded(header, claims)).find(|proof| proof.len() == bytes).unwrap()
}

fn sizes() -> Vec<Case> {
    let good = Draft::good;
    vec![
        ("4 KiB", of_length(4096), Accepted),
        ("more than 4 KiB", of_length(4097), Form(TooLong)),
        ("jti of a megabyte", good().claim("jti", "a".repeat(1_000_000)).proof(), Form(TooLong)),
        ("a megabyte of dots", ".".repeat(1_000_000), Form(TooLong)),
        ("jti empty", good().claim("jti", "").proof(), Claim(Jti)),
        ("jti of 15", good().claim("jti", "a".repeat(15)).proof(), Claim(Jti)),
        ("jti of 16", good().claim("jti", "a".repeat(16)).proof(), Accepted),
        ("jti of 256", good().claim("jti", "a".repeat(256)).proof(), Accepted),
        ("jti of 257", good().claim("jti", "a".repeat(257)).proof(), Claim(Jti)),
        ("NUL in jti", good().claim("jti", "e1j3V_bKic8-LAEB\0").proof(), Claim(Jti)),
    ]
}

/// LIM-23: the limits of lengths can be configured.
#[test]
fn limits_are_configurable() {
    use dpop_bound::{
        Es256, ExpectedRequest, Htu, KeyBinding, ProofWindow, RequestTarget, SignedProof, UnixTime,
        signed_proof::ProofLimits,
    };

    let url = Htu::from_url(&format!("{}{}", crate::forge::ORIGIN, crate::forge::PATH)).unwrap();
    let expected = ExpectedRequest {
        method: crate::forge::METHOD,
        target: RequestTarget::Url(&url),
        now: UnixTime::from_secs(NOW),
        window: ProofWindow::from_secs(30, 30),
        binding: KeyBinding::AnyKey,
    };
    let check = |limits, proof: &str| {
        let signed = SignedProof::verify_with_limits(limits, proof, &Es256).map_err(Form)?;
        signed.check_claims(&expected).map(|_| ()).map_err(Claim)
    };
    let long = ProofLimits { max_proof_bytes: 8192, ..ProofLimits::default() };
    assert_eq!(check(long, &of_length(8192)), Ok(()));
    assert_eq!(check(long, &of_length(8193)), Err(Form(TooLong)));
    let short = ProofLimits { min_jti_bytes: 3, max_jti_bytes: 5, ..ProofLimits::default() };
    for (length, expect) in [(2, Err(Claim(Jti))), (3, Ok(())), (5, Ok(())), (6, Err(Claim(Jti)))] {
        let proof = Draft::good().claim("jti", "a".repeat(length)).proof();
        assert_eq!(check(short, &proof), expect, "{length}");
    }
}

/// DPP-03: numbers and strings in unusual notation.
fn numbers_and_texts() -> Vec<Case> {
    let iat = |text: &str| Draft::good().claims_text(|claims| claims.replace(&NOW.to_string(), text)).proof();
    let htu = |text: &str| Draft::good().claims_text(|claims| claims.replace("/v1/", text)).proof();
    vec![
        ("iat as text", iat(&format!("\"{NOW}\"")), Claim(IatMalformed)),
        ("iat with a fraction", iat(&format!("{NOW}.0")), Claim(IatMalformed)),
        ("iat with an exponent", iat("1.79e9"), Claim(IatMalformed)),
        ("iat negative", iat(&format!("-{NOW}")), Claim(IatMalformed)),
        ("iat minus zero", iat("-0"), Claim(IatMalformed)),
        ("iat null", iat("null"), Claim(IatMalformed)),
        ("iat 0", iat("0"), Claim(Old)),
        ("iat 2^63", iat("9223372036854775808"), Claim(Early)),
        ("iat 2^64 - 1", iat("18446744073709551615"), Claim(Early)),
        ("iat 2^64", iat("18446744073709551616"), Claim(IatMalformed)),
        ("iat with 300 digits", iat(&"9".repeat(300)), Claim(IatMalformed)),
        ("iat beyond every number", iat(&"9".repeat(1000)), Form(ClaimsJson)),
        ("iat in milliseconds", iat(&format!("{NOW}000")), Claim(Early)),
        ("NUL in htu", htu("/v1\\u0000/"), Claim(Htu)),
        ("NUL in htu, not escaped", htu("/v1\0/"), Form(ClaimsJson)),
        ("half a character in htu", htu("/v1\\ud800/"), Form(ClaimsJson)),
    ]
}
