//! The examples of RFC 9449 and RFC 7638, byte for byte.

use dpop_bound::{
    Es256, ExpectedRequest, Htu, KeyBinding, Nonce, ProofWindow, PublicKey, RequestTarget, SignedProof,
    Thumbprint, TokenHash, UnixTime, claims::ClaimError, key::PublicKeyError,
};

/// RFC 9449, figure 2: a proof for the token endpoint.
const AT_THE_TOKEN_ENDPOINT: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg";
/// RFC 9449, figure 12: a proof for a resource, with a token.
const AT_A_RESOURCE: &str = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlMWozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdCI6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptxRimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA";
const TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
/// RFC 9449, 6.1: the thumbprint of the key in all examples.
const JKT: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

fn at<'a>(url: &'a Htu, method: &'a str, iat: u64) -> ExpectedRequest<'a> {
    let now = UnixTime::from_secs(iat + 5);
    ExpectedRequest {
        method,
        target: RequestTarget::Url(url),
        now,
        window: ProofWindow::default(),
        binding: KeyBinding::AnyKey,
    }
}

/// DPP-02, DPP-06, DPP-21; RFC 9449, 4.1 and 6.1: the proof for the token endpoint is accepted.
#[test]
fn the_proof_at_the_token_endpoint() {
    let url = Htu::from_url("https://server.example.com/token").unwrap();
    let signed = SignedProof::verify_signature(AT_THE_TOKEN_ENDPOINT, &Es256).unwrap();
    assert_eq!(signed.nonce(), None);
    assert_eq!(signed.thumbprint().to_string(), JKT);
    let jkt: Thumbprint = JKT.parse().unwrap();
    let any = at(&url, "POST", 1_562_262_616);
    let checked =
        signed.clone().check_claims(&ExpectedRequest { binding: KeyBinding::Key(&jkt), ..any }).unwrap();
    assert_eq!((checked.jti(), checked.iat()), ("-BwC3ESc6acc2lTc", 1_562_262_616));
    // The first request of a grant determines the key to which tokens are bound.
    assert_eq!(*signed.clone().check_claims(&any).unwrap().thumbprint(), jkt);
    let other = Thumbprint::from_bytes([0; 32]);
    let refused = signed.check_claims(&ExpectedRequest { binding: KeyBinding::Key(&other), ..any });
    assert_eq!(refused.err(), Some(ClaimError::Key));
}

/// DPP-04; RFC 9449, 7.1: the proof for a resource is accepted with its token.
#[test]
fn the_proof_at_a_resource() {
    let url = Htu::from_url("https://resource.example.org/protectedresource").unwrap();
    let (token, other) = (TokenHash::from_token(TOKEN), TokenHash::from_token("another"));
    let expected = at(&url, "GET", 1_562_262_618);
    let signed = SignedProof::verify_signature(AT_A_RESOURCE, &Es256).unwrap();
    let jkt: Thumbprint = JKT.parse().unwrap();
    let with = |hash, jkt| ExpectedRequest { binding: KeyBinding::Token { hash, jkt }, ..expected };
    let checked = signed.clone().check_claims(&with(&token, Some(&jkt))).unwrap();
    assert_eq!(checked.jti(), "e1j3V_bKic8-LAEB");
    assert_eq!(token.to_string(), "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo");
    let refused = signed.clone().check_claims(&with(&other, Some(&jkt)));
    assert_eq!(refused.err(), Some(ClaimError::Ath));
    // A token that is bound to no key is a bearer token.
    assert_eq!(signed.check_claims(&with(&token, None)).err(), Some(ClaimError::NotBound));
}

/// RFC 9449, 8 and 8.1: the nonces of the examples are valid.
#[test]
fn the_nonce() {
    assert!(Nonce::new("eyJ7S_zG.eyJH0-Z.HX4w-7v").is_ok());
    for text in ["", "a b", "a\"b", "a\\b", "a\u{7f}", "ä", "a\n", &"a".repeat(257)] {
        assert!(Nonce::new(text).is_err(), "{text:?}");
    }
}

/// RFC 7638, 3.1 has an RSA key: hashing its members by the same rule gives its thumbprint, and it is not a
/// key for ES256. RFC 7517, A.1 has an EC key.
#[test]
fn keys() {
    let rsa = r#"{"e":"AQAB","kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}"#;
    assert_eq!(
        Thumbprint::from_canonical_jwk(rsa).to_string(),
        "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
    );
    assert_eq!(PublicKey::from_jwk(rsa).err(), Some(PublicKeyError::Kty));
    let ec = r#"{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","use":"enc","kid":"1"}"#;
    let key = PublicKey::from_jwk(ec).unwrap();
    assert_eq!(
        key.to_jwk(),
        r#"{"crv":"P-256","kty":"EC","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4","y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"}"#
    );
    assert_eq!(PublicKey::from_jwk(&key.to_jwk()), Ok(key));
}
