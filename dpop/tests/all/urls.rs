//! Every URL that the `url` crate serializes has an `htu`: the URL without query and fragment.

use dpop_bound::{
    AccessToken, Es256, ExpectedRequest, Htu, KeyBinding, Origin, ProofRequest, ProofWindow, Prover,
    RequestTarget, SignedProof, SystemRandom, UnixTime,
};
use proptest::prelude::*;
use url::Url;

use crate::forge::{self, NOW};

/// Parses a string with the `url` crate. Returns `None` if it is not a URL of a request.
fn written(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let sent =
        matches!(url.scheme(), "http" | "https") && url.username().is_empty() && url.password().is_none();
    sent.then_some(url)
}

fn without_query(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// Checks the `htu` of the URL, its origin, and the comparison with the request target.
#[track_caller]
fn check(url: &Url) {
    let htu = Htu::from_url(url.as_str()).unwrap_or_else(|error| panic!("{url}: {error}"));
    assert_eq!(htu.as_str(), without_query(url).as_str(), "{url}");
    let origin = Origin::from_url(&url.origin().ascii_serialization()).unwrap();
    assert_eq!(htu.origin(), origin, "{url}");
    let target = &url[url::Position::BeforePath..];
    assert!(RequestTarget::Request(&origin, target).matches(htu.as_str()), "{url}");
}

/// DPP-03, DPP-08: creates a proof for the URL and checks that it is accepted.
#[track_caller]
fn check_in_a_proof(url: &Url) {
    let htu = Htu::from_url(url.as_str()).unwrap();
    let (key, token) = (forge::client(), AccessToken::new("token").unwrap());
    let (bound, iat) = (key.public_key().thumbprint(), UnixTime::from_secs(NOW));
    let request = ProofRequest { method: "GET", htu: &htu, iat, nonce: None, token: Some(token.hash()) };
    let proof = Prover::new(key, SystemRandom).prove_now(&request).unwrap();
    let expected = ExpectedRequest {
        method: "GET",
        target: RequestTarget::Url(&htu),
        now: iat,
        window: ProofWindow::default(),
        binding: KeyBinding::Token { hash: token.hash(), jkt: Some(&bound) },
    };
    let checked = SignedProof::verify_signature(proof.as_str(), &Es256).unwrap().check_claims(&expected);
    assert!(checked.is_ok(), "{url}: {checked:?}");
}

#[test]
fn handwritten_urls() {
    for text in [
        "https://gateway.example",
        "https://gateway.example/a|b",
        "https://gateway.example/a|b?c={\"d\":[1, 2]}#e f",
        "https://gateway.example/a\\b/../c d/ä{}<>`^\"",
        "https://gateway.example?q='\"<>`{}|\\^ä",
        "http://!\"$&'()*+,-.;=_`{}~/",
        "https://a\"b\"c/d",
        "https://GÄTEWAY.example:443/ä",
        "http://[2001:DB8::0:1]:8080/[a]",
        "http://0x7f.1/",
        "https://gateway.example:0/",
        "https:gateway.example/a",
        "https://gateway.example/%7Ea%2F%00",
    ] {
        let url = written(text).unwrap_or_else(|| panic!("{text}"));
        check(&url);
        check_in_a_proof(&url);
    }
    for text in ["https://me@gateway.example/", "https://me:secret@gateway.example/"] {
        assert_eq!(Htu::from_url(text).err(), Some(dpop_bound::target::UrlError::User), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// Every URL that the `url` crate serializes has the expected `htu`, for strings with many URL
    /// delimiters.
    #[test]
    fn every_url_that_the_url_crate_writes(
        scheme in "https?:/{0,3}",
        authority in r#"([a-z0-9.:\[\]-]{0,6}|[!-~]{0,3}|\PC{0,2}){1,4}"#,
        path in r#"([/.%|^{}<>"`'\\;:@&=+$,~!*()\[\]a-z -]|[^?#\x00]){0,12}"#,
        rest in r#"([?#][^\x00]{0,8}){0,2}"#,
    ) {
        if let Some(url) = written(&format!("{scheme}{authority}/{path}{rest}")) {
            check(&url);
        }
    }

    /// Every host is escaped correctly in the JSON of a proof.
    #[test]
    fn every_host_is_escaped_in_a_proof(authority in r#"[a-z"`{}!$&'()*+,;=_~.-]{1,12}"#) {
        if let Some(url) = written(&format!("https://{authority}/")) {
            check_in_a_proof(&url);
        }
    }
}
