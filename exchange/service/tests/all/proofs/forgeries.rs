//! Forged proofs: proofs that are invalid only in format, key, signature, encoding or size, which every
//! server must treat in the same way.

use std::ops::Range;

use dpop_bound::KeyPair;
use serde_json::{Value, json};

use super::{Draft, base64, unbase64};

/// The order of the group (SP 800-186, 3.2.1.3), most significant byte first.
pub(crate) const ORDER: [u8; 32] = [
    0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xbc,
    0xe6, 0xfa, 0xad, 0xa7, 0x17, 0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51,
];

/// A function that forges a proof from a valid unsigned one, with the expected verdict.
pub(crate) struct Forgery {
    pub(crate) name: &'static str,
    pub(crate) verdict: Verdict,
    pub(crate) make: Box<dyn Fn(&Draft) -> String>,
}

/// The expected verdict of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The proof is accepted.
    Taken,
    /// The proof is refused.
    Refused,
}

/// Creates a forgery that changes the signed, serialized proof.
fn text(name: &'static str, make: impl Fn(&Draft) -> String + 'static) -> Forgery {
    Forgery { name, verdict: Verdict::Refused, make: Box::new(make) }
}

/// Creates a forgery that changes the proof before it is signed.
fn draft(name: &'static str, change: impl Fn(Draft) -> Draft + 'static) -> Forgery {
    text(name, move |draft| change(draft.clone()).proof())
}

/// Creates an unusual, but valid variant of a proof.
fn taken(name: &'static str, change: impl Fn(Draft) -> Draft + 'static) -> Forgery {
    Forgery { verdict: Verdict::Taken, ..draft(name, change) }
}

/// DPP-02, DPP-06, DPP-16; RFC 9449, 4.3 (2) to (7): malformed proofs.
pub(crate) fn form() -> Vec<Forgery> {
    let rsa = || json!({ "kty": "RSA", "e": "AQAB", "n": base64([0xc1; 256]) });
    vec![
        text("nothing", |_| String::new()),
        text("not a JWT", |_| "proof".into()),
        text("two parts", |_| "e30.e30".into()),
        text("four parts", |draft| format!("{}.e30", draft.proof())),
        text("an encrypted JWT", |_| "e30.AA.AA.AA.AA".into()),
        draft("missing typ", |draft| draft.without_header("typ")),
        draft("typ of another JWT", |draft| draft.header("typ", "JWT")),
        draft("typ of an access token", |draft| draft.header("typ", "at+jwt")),
        draft("missing alg", |draft| draft.without_header("alg")),
        draft("alg none", |draft| draft.header("alg", "none")),
        text("alg none without a signature", |draft| {
            draft.clone().header("alg", "none").signature(|_| vec![])
        }),
        draft("RS256", move |draft| draft.header("alg", "RS256").header("jwk", rsa())),
        draft("HS256", |draft| draft.header("alg", "HS256")),
        draft("missing jwk", |draft| draft.without_header("jwk")),
        draft("jwk by its address", |draft| draft.without_header("jwk").header("jku", "https://id.example")),
        draft("jwk of RSA", move |draft| draft.header("jwk", rsa())),
        draft("private jwk", |draft| draft.jwk("d", base64([7; 32]))),
        draft("symmetric jwk", |draft| draft.header("jwk", json!({ "kty": "oct", "k": base64([7; 32]) }))),
        draft("signature of another key", |draft| draft.signed_by(KeyPair::generate().unwrap())),
        text("no signature", |draft| draft.signature(|_| vec![])),
    ]
}

/// Encodes a signature in DER: a sequence of two integers.
fn der(signature: &[u8]) -> Vec<u8> {
    let integer = |half: &[u8]| [&[2, 33, 0], half].concat();
    let both = [integer(&signature[..32]), integer(&signature[32..])].concat();
    [&[0x30, u8::try_from(both.len()).unwrap()][..], &both].concat()
}

/// DPP-06: signatures in other encodings or with invalid integers.
pub(crate) fn signatures() -> Vec<Forgery> {
    let with_integer = |name, range: Range<usize>, bytes: [u8; 32]| {
        text(name, move |draft: &Draft| {
            let range = range.clone();
            draft.signature(|mut signature| {
                signature[range].copy_from_slice(&bytes);
                signature
            })
        })
    };
    let (r, s) = (0..32, 32..64);
    let mut above = ORDER;
    above[31] += 1;
    vec![
        text("DER", |draft| draft.signature(|signature| der(&signature))),
        text("63 bytes", |draft| draft.signature(|signature| signature[1..].to_vec())),
        text("65 bytes", |draft| draft.signature(|signature| [&[0][..], &signature].concat())),
        with_integer("r = 0", r.clone(), [0; 32]),
        with_integer("s = 0", s.clone(), [0; 32]),
        with_integer("r = n", r.clone(), ORDER),
        with_integer("s = n", s.clone(), ORDER),
        with_integer("r = n + 1", r.clone(), above),
        with_integer("s = n + 1", s.clone(), above),
        with_integer("r = 2^256 - 1", r, [0xff; 32]),
        with_integer("s = 2^256 - 1", s, [0xff; 32]),
    ]
}

/// Returns a coordinate of the key in the header.
fn coordinate(draft: &Draft, name: &str) -> Vec<u8> {
    unbase64(draft.header["jwk"][name].as_str().unwrap())
}

/// Creates an unsigned proof with a key whose coordinate begins with a zero byte, as one key in 256 has.
fn of_short(draft: &Draft, name: &str) -> Draft {
    let drafts = (0..100_000).map(|_| draft.clone().signed_with(KeyPair::generate().unwrap()));
    let mut short = drafts.filter(|draft| coordinate(draft, name)[0] == 0);
    short.next().unwrap()
}

/// DPP-02, DPP-16; RFC 7518, 6.2.1: invalid keys.
pub(crate) fn keys() -> Vec<Forgery> {
    let p384 = json!({ "kty": "EC", "crv": "P-384", "x": base64([7; 48]), "y": base64([7; 48]) });
    let with_coordinate = |description, name: &'static str, change: fn(Vec<u8>) -> String| {
        draft(description, move |draft| {
            let changed = change(coordinate(&draft, name));
            draft.jwk(name, changed)
        })
    };
    let stripped = |description, name: &'static str| {
        draft(description, move |draft| {
            let draft = of_short(&draft, name);
            let rest = base64(&coordinate(&draft, name)[1..]);
            draft.jwk(name, rest)
        })
    };
    let padded = |bytes: Vec<u8>| format!("{}=", base64(bytes));
    let led = |bytes: Vec<u8>| base64([&[0][..], &bytes].concat());
    let short = |bytes: Vec<u8>| base64(&bytes[..31]);
    let move_off_curve = |mut bytes: Vec<u8>| {
        bytes[31] ^= 1;
        base64(bytes)
    };
    vec![
        with_coordinate("point not on the curve", "x", move_off_curve),
        with_coordinate("x padded with =", "x", padded),
        with_coordinate("y padded with =", "y", padded),
        with_coordinate("x with a leading zero", "x", led),
        with_coordinate("y with a leading zero", "y", led),
        with_coordinate("x short", "x", short),
        with_coordinate("y short", "y", short),
        stripped("x without its leading zero", "x"),
        stripped("y without its leading zero", "y"),
        draft("y empty", |draft| draft.jwk("y", "")),
        draft("y missing", |draft| draft.without_jwk("y")),
        draft("P-384", move |draft| draft.header("jwk", p384.clone())),
        taken("kid of another key", |draft| draft.header("kid", "2").jwk("kid", "3")),
        taken("a key in the key", |draft| draft.jwk("jwk", json!({ "kty": "oct", "k": "AA" }))),
    ]
}

/// RFC 7515, 2, 4 and 5.2: proofs with other encodings or repeated members.
pub(crate) fn spellings() -> Vec<Forgery> {
    let first = |text: String, member: &str| text.replacen('{', &format!("{{{member},"), 1);
    vec![
        draft("alg twice", move |draft| draft.header_text(|text| first(text, r#""alg":"none""#))),
        draft("alg twice, escaped", move |draft| {
            draft.header_text(|text| first(text, r#""\u0061lg":"ES256""#))
        }),
        draft("htu twice", move |draft| draft.claims_text(|text| first(text, r#""htu":"x""#))),
        text("header padded", |draft| draft.spelt(|header, _| header.push('='))),
        text("claims padded", |draft| draft.spelt(|_, claims| claims.push('='))),
        text("claims in lines", |draft| draft.spelt(|_, claims| claims.insert(10, ' '))),
        text("signature padded", |draft| format!("{}==", draft.proof())),
        text("stray last bits", |draft| {
            let proof = draft.proof();
            let (rest, last) = proof.split_at(proof.len() - 1);
            let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
            let index = alphabet.find(last).unwrap();
            format!("{rest}{}", &alphabet[index + 1..index + 2])
        }),
        draft("claims and more", |draft| draft.claims_text(|text| text + "{}")),
        draft("claims a list", |draft| draft.claims_text(|_| "[]".to_owned())),
        draft("header too deep", |draft| draft.header_text(|_| "{\"a\":".repeat(200))),
    ]
}

/// RFC 7515, 4.1; RFC 7797; LIM-23: header members that change the encoding, and oversized proofs.
pub(crate) fn rules_and_sizes() -> Vec<Forgery> {
    let iat = |draft: &Draft| draft.claims["iat"].to_string();
    vec![
        draft("alg in lower case", |draft| draft.header("alg", "es256")),
        draft("crit", |draft| draft.header("crit", json!(["exp"])).header("exp", 1)),
        draft("b64 false", |draft| draft.header("b64", false)),
        draft("a header of 8 KiB", |draft| draft.header("x", "x".repeat(8192))),
        draft("jti empty", |draft| draft.claim("jti", "")),
        draft("jti of a megabyte", |draft| draft.claim("jti", "x".repeat(1 << 20))),
        draft("iat as text", move |draft| {
            let now = iat(&draft);
            draft.claim("iat", now)
        }),
        draft("iat with a fraction", move |draft| {
            let now = iat(&draft);
            draft.claims_text(|text| text.replace(&now, &format!("{now}.5")))
        }),
        draft("iat negative", |draft| draft.claim("iat", -1)),
        draft("iat of 2^63", |draft| draft.claim("iat", 9_223_372_036_854_775_808_u64)),
        draft("NUL in htu", |draft| {
            let htu = Value::from(format!("{}\0", draft.claims["htu"].as_str().unwrap()));
            draft.claim("htu", htu)
        }),
        draft("NUL in jti", |draft| draft.claim("jti", "e1j3V_bKic8-LAEB\0")),
    ]
}
