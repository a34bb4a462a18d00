//! The requirements of RFC 9449, 4.3 for resource servers, one by one.

use dpop_bound::{
    claims::ClaimError::*, credentials::CredentialsError, key::PublicKeyError,
    signed_proof::ProofFormatError::*,
};
use serde_json::json;

use crate::{
    forge::{Draft, NOW, ORIGIN, PATH, base64, key},
    gateway::{Case, Gateway, GatewayVerdict, GatewayVerdict::*, Request, cases, verdict},
};

cases! { form, claims, htu_is_plain_text, unknown_members_are_ignored }

/// ERR-06; RFC 9449, 4.3 (1) and 7.1: a request needs exactly one token and one proof.
#[test]
fn headers() {
    let gateway = Gateway::new();
    let proof = Draft::good().proof();
    let request = |authorization: &[&str], proofs: &[&str]| Request {
        authorization: authorization.iter().map(|text| (*text).to_owned()).collect(),
        proofs: proofs.iter().map(|text| (*text).to_owned()).collect(),
        ..Request::with_proof("")
    };
    let dpop = format!("DPoP {}", crate::forge::TOKEN);
    let bearer = format!("Bearer {}", crate::forge::TOKEN);
    for (name, request, expect) in [
        ("as it should be", request(&[&dpop], &[&proof]), Accepted),
        ("no proof", request(&[&dpop], &[]), Presented(CredentialsError::NoProof)),
        ("two proofs", request(&[&dpop], &[&proof, &proof]), Presented(CredentialsError::SeveralProofs)),
        ("two proofs in one header", request(&[&dpop], &[&format!("{proof}, {proof}")]), Form(Parts)),
        ("Bearer scheme", request(&[&bearer], &[&proof]), Presented(CredentialsError::Bearer)),
        ("two tokens", request(&[&dpop, &dpop], &[&proof]), Presented(CredentialsError::SeveralTokens)),
        ("anonymous", request(&[], &[&proof]), Presented(CredentialsError::NoToken)),
    ] {
        assert_eq!(gateway.verify(&request), expect, "{name}");
    }
}

/// DPP-02, DPP-06, DPP-16; RFC 9449, 4.3 (2) to (7): proofs with an invalid format or signature.
fn form() -> Vec<Case> {
    let good = Draft::good;
    let jwk_rsa = json!({ "kty": "RSA", "e": "AQAB", "n": base64([0xc1; 256]) });
    vec![
        ("nothing", String::new(), Form(Parts)),
        ("not a JWT", "proof".into(), Form(Parts)),
        ("two parts", "e30.e30".into(), Form(Parts)),
        ("four parts", format!("{}.e30", good().proof()), Form(Parts)),
        ("an encrypted JWT", "e30.AA.AA.AA.AA".into(), Form(Parts)),
        ("missing typ", good().without_header("typ").proof(), Form(TypMissing)),
        ("typ of another type", good().header("typ", 1).proof(), Form(TypMissing)),
        ("typ of another JWT", good().header("typ", "JWT").proof(), Form(Typ)),
        ("typ of an access token", good().header("typ", "at+jwt").proof(), Form(Typ)),
        ("typ with its media type", good().header("typ", "application/dpop+jwt").proof(), Form(Typ)),
        ("missing alg", good().without_header("alg").proof(), Form(AlgMissing)),
        ("alg none", good().header("alg", "none").proof(), Form(Alg)),
        ("alg none without a signature", good().header("alg", "none").signature(|_| vec![]), Form(Alg)),
        ("RS256", good().header("alg", "RS256").header("jwk", jwk_rsa.clone()).proof(), Form(Alg)),
        ("HS256", good().header("alg", "HS256").proof(), Form(Alg)),
        ("ES384", good().header("alg", "ES384").proof(), Form(Alg)),
        ("missing jwk", good().without_header("jwk").proof(), Form(JwkMissing)),
        ("jwk as text", good().header("jwk", "{}").proof(), Form(JwkMissing)),
        (
            "jwk by its address",
            good().without_header("jwk").header("jku", "https://id.example").proof(),
            Form(JwkMissing),
        ),
        ("jwk of RSA", good().header("jwk", jwk_rsa).proof(), Form(Jwk(PublicKeyError::Kty))),
        ("private jwk", good().jwk("d", base64([7; 32])).proof(), Form(Jwk(PublicKeyError::Private))),
        ("private jwk, empty", good().jwk("d", json!(null)).proof(), Form(Jwk(PublicKeyError::Private))),
        (
            "symmetric jwk",
            good().header("jwk", json!({ "kty": "oct", "k": base64([7; 32]) })).proof(),
            Form(Jwk(PublicKeyError::Private)),
        ),
        ("signature of another key", good().signed_by(key(2)).proof(), Form(Signature)),
        ("signature of another message", good().signature(|_| unsigned_bytes()), Form(Signature)),
        ("no signature", good().signature(|_| vec![]), Form(SignatureLength)),
    ]
}

/// Returns a signature by the right key over other data.
fn unsigned_bytes() -> Vec<u8> {
    use dpop_bound::SyncSigner as _;
    crate::forge::client().sign_now(b"something else").unwrap().as_bytes().to_vec()
}

/// DPP-03, DPP-04, DPP-08, DPP-15, DPP-21, ERR-08; RFC 9449, 4.3 (8) to (12): proofs with wrong claims.
fn claims() -> Vec<Case> {
    let good = Draft::good;
    let hour = 3600;
    vec![
        ("missing htm", good().without_claim("htm").proof(), Claim(HtmMissing)),
        ("htm of another type", good().claim("htm", 1).proof(), Claim(HtmMissing)),
        ("wrong htm", good().claim("htm", "GET").proof(), Claim(Htm)),
        ("htm in lower case", good().claim("htm", "post").proof(), Claim(Htm)),
        ("missing htu", good().without_claim("htu").proof(), Claim(HtuMissing)),
        ("other htu", good().claim("htu", "https://other.example/").proof(), Claim(Htu)),
        ("missing iat", good().without_claim("iat").proof(), Claim(IatMissing)),
        ("iat an hour ago", good().claim("iat", NOW - hour).proof(), Claim(Old)),
        ("iat in an hour", good().claim("iat", NOW + hour).proof(), Claim(Early)),
        ("other key", good().signed_with(key(2)).proof(), Claim(Key)),
        ("missing ath", good().without_claim("ath").proof(), Claim(AthMissing)),
        ("ath of another type", good().claim("ath", json!([])).proof(), Claim(AthMissing)),
        ("wrong ath", good().claim("ath", base64([7; 32])).proof(), Claim(Ath)),
        ("missing jti", good().without_claim("jti").proof(), Claim(JtiMissing)),
        ("jti of another type", good().claim("jti", 1).proof(), Claim(JtiMissing)),
    ]
}

/// DPP-08: deliberate deviations. RFC 9449, 4.3 recommends that servers normalize `htu` and ignore query and
/// fragment of the *request*. This crate compares bytes, so it rejects some proofs that other test suites
/// accept.
fn htu_is_plain_text() -> Vec<Case> {
    let with = |htu: &str| Draft::good().claim("htu", htu).proof();
    vec![
        ("as it should be", with(&format!("{ORIGIN}{PATH}")), Accepted),
        ("with a query", with(&format!("{ORIGIN}{PATH}?a=b")), Claim(Htu)),
        ("with a fragment", with(&format!("{ORIGIN}{PATH}#a")), Claim(Htu)),
        ("upper-case scheme", with(&format!("HTTPS://gateway.example{PATH}")), Claim(Htu)),
        ("upper-case host", with(&format!("https://GATEWAY.example{PATH}")), Claim(Htu)),
        ("default port", with(&format!("{ORIGIN}:443{PATH}")), Claim(Htu)),
        ("trailing slash", with(&format!("{ORIGIN}{PATH}/")), Claim(Htu)),
        ("other percent-encoding", with(&format!("{ORIGIN}/%65xchange/v1/me/stock/changes")), Claim(Htu)),
        ("dot segments", with(&format!("{ORIGIN}/exchange/v1/../v1/me/stock/changes")), Claim(Htu)),
        ("http", with(&format!("http://gateway.example{PATH}")), Claim(Htu)),
        ("path alone", with(PATH), Claim(Htu)),
    ]
}

/// The query of the request is not compared.
#[test]
fn request_query_is_ignored() {
    let request = |path| Request { path, ..Request::with_proof(Draft::good().proof()) };
    let verify = |path| Gateway::new().verify(&request(path));
    assert_eq!(verify("/exchange/v1/me/stock/changes?limit=1"), Accepted);
    assert_eq!(verify("/exchange/v1/me/stock/changes/"), Claim(Htu));
    assert_eq!(verify("/exchange/v1/me/ships/changes"), Claim(Htu));
}

/// Unknown members of header and claims are ignored (RFC 7515, 4; RFC 7519, 4.3).
fn unknown_members_are_ignored() -> Vec<Case> {
    let good = Draft::good;
    vec![
        ("extra header", good().header("kid", "1").header("x", json!({ "a": [1, 2] })).proof(), Accepted),
        (
            "extra claims",
            good().claim("iss", "me").claim("exp", 1).claim("x", json!({ "a": {} })).proof(),
            Accepted,
        ),
        (
            "extra members of jwk",
            good().jwk("kid", "1").jwk("use", "sig").jwk("alg", "ES256").proof(),
            Accepted,
        ),
        ("whitespace in JSON", good().claims_text(|text| text.replace(',', " ,\n ")).proof(), Accepted),
        ("escapes in JSON", good().claims_text(|text| text.replace("POST", "\\u0050OST")).proof(), Accepted),
    ]
}

/// DPP-15: of several wrong claims, the first one in this order is reported.
#[test]
fn first_wrong_claim_is_reported() {
    let mut draft = Draft::good()
        .signed_with(key(2))
        .claim("htm", "GET")
        .claim("htu", "x")
        .claim("iat", 1)
        .claim("ath", "x")
        .claim("jti", "x");
    let good = Draft::good();
    let expect = |draft: &Draft, expected: GatewayVerdict| assert_eq!(verdict(draft.proof()), expected);
    for (name, expected) in [("htm", Claim(Htm)), ("htu", Claim(Htu)), ("iat", Claim(Old))] {
        expect(&draft, expected);
        draft.claims[name] = good.claims[name].clone();
    }
    expect(&draft, Claim(Key));
    draft = draft.signed_with(crate::forge::client());
    for (name, expected) in [("ath", Claim(Ath)), ("jti", Claim(Jti))] {
        expect(&draft, expected);
        draft.claims[name] = good.claims[name].clone();
    }
    expect(&draft, Accepted);
}
