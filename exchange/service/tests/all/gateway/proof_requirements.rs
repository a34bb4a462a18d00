//! The requirements of RFC 9449, 4.3 for resource servers, tested at the gateway.

use dpop_bound::KeyPair;
use serde_json::json;

use super::harness::{DOCUMENT, GatewayHarness, NOW, ORIGIN, TOKEN, TestRequest};
use crate::proofs::forgeries::{self, Forgery, Verdict};
use crate::proofs::{Draft, base64};

pub(crate) type Case = (&'static str, &'static str, Box<dyn Fn(TestRequest) -> TestRequest>);

/// Creates a case that changes the unsigned proof.
pub(crate) fn draft(
    name: &'static str,
    expected_answer: &'static str,
    change: impl Fn(Draft) -> Draft + 'static,
) -> Case {
    (name, expected_answer, Box::new(move |request: TestRequest| request.draft(&change)))
}

/// Creates a case that changes the string of the signed proof.
pub(crate) fn text(
    name: &'static str,
    expected_answer: &'static str,
    change: impl Fn(&Draft) -> String + 'static,
) -> Case {
    (
        name,
        expected_answer,
        Box::new(move |request: TestRequest| {
            let proof = change(&request.draft);
            request.proof(proof)
        }),
    )
}

/// Creates cases from forgeries.
pub(crate) fn cases(forgeries: Vec<Forgery>) -> Vec<Case> {
    let case = |Forgery { name, verdict, make }: Forgery| {
        let expected_answer = match verdict {
            Verdict::Taken => OK,
            Verdict::Refused => INVALID,
        };
        text(name, expected_answer, make)
    };
    forgeries.into_iter().map(case).collect()
}

pub(crate) const OK: &str = "";
pub(crate) const INVALID: &str = "DPOP_INVALID invalid_dpop_proof";
pub(crate) const CHALLENGED: &str = "DPOP_INVALID use_dpop_nonce";
pub(crate) const REQUIRED: &str = "DPOP_REQUIRED ";

/// Sends all cases and asserts code, challenge and status. Every response has a nonce, and only accepted
/// proofs are recorded.
pub(crate) async fn check(cases: Vec<Case>) {
    let harness = GatewayHarness::new().await;
    for (index, (name, expect, change)) in cases.into_iter().enumerate() {
        let request = change(harness.get(DOCUMENT).with_peer(&format!("198.51.100.{index}")));
        let before = harness.traces().await;
        let reply = harness.send(request).await;
        let actual = match reply.status {
            200 => OK.to_owned(),
            _ => format!("{} {}", reply.code(), reply.challenge()),
        };
        assert_eq!(actual, expect, "{name}");
        assert_eq!(reply.status, if expect == OK { 200 } else { 401 }, "{name}");
        assert!(reply.has("dpop-nonce"), "{name}");
        let after = harness.traces().await;
        assert_eq!(after.live - before.live, usize::from(expect == OK), "{name}");
    }
}

/// ERR-06, DPP-20; RFC 9449, 4.3 (1) and 7.1: a request needs exactly one token and one proof.
#[tokio::test]
async fn malformed_authorization_headers_are_rejected() {
    let build_case = |name, expect, authorization: &'static [&'static str], proofs: usize| -> Case {
        (
            name,
            expect,
            Box::new(move |mut request: TestRequest| {
                request.authorization =
                    authorization.iter().map(|text| text.replace("TOKEN", TOKEN)).collect();
                request.proofs = Some(vec![request.draft.proof(); proofs]);
                request
            }),
        )
    };
    check(vec![
        build_case("as it should be", OK, &["DPoP TOKEN"], 1),
        build_case("any case of letters", OK, &["dpop TOKEN"], 1),
        build_case("no proof", REQUIRED, &["DPoP TOKEN"], 0),
        build_case("two proofs", INVALID, &["DPoP TOKEN"], 2),
        build_case("Bearer scheme", REQUIRED, &["Bearer TOKEN"], 1),
        build_case("another scheme", "UNAUTHENTICATED ", &["Basic TOKEN"], 1),
        build_case("two tokens", "UNAUTHENTICATED ", &["DPoP TOKEN", "DPoP TOKEN"], 1),
        build_case("Bearer beside DPoP", "UNAUTHENTICATED ", &["Bearer TOKEN", "DPoP TOKEN"], 1),
        build_case("no token in it", "UNAUTHENTICATED ", &["DPoP"], 1),
        build_case("two tokens in one", "UNAUTHENTICATED ", &["DPoP TOKEN TOKEN"], 1),
        build_case("anonymous", "UNAUTHENTICATED ", &[], 1),
        text("two proofs in one header", INVALID, |draft| format!("{0}, {0}", draft.proof())),
    ])
    .await;
}

/// DPP-02, DPP-06, DPP-16; RFC 9449, 4.3 (2) to (7): malformed proofs are rejected without a nonce challenge,
/// even if they have no nonce.
#[tokio::test]
async fn malformed_proofs_are_rejected_without_challenge() {
    let all_forms = || cases(forgeries::form());
    check(all_forms()).await;
    let bare = all_forms().into_iter().map(|(name, expect, change)| -> Case {
        (
            name,
            expect,
            Box::new(move |request| {
                let bare = request.draft(|draft| draft.without_claim("nonce"));
                change(bare)
            }),
        )
    });
    check(bare.collect()).await;
}

/// Returns cases of wrong claims: DPP-03, DPP-04, DPP-08, DPP-21, ERR-08; RFC 9449, 4.3 (8) to (12).
fn claims() -> Vec<Case> {
    let now = NOW.as_secs();
    vec![
        draft("missing htm", INVALID, |draft| draft.without_claim("htm")),
        draft("wrong htm", INVALID, |draft| draft.claim("htm", "POST")),
        draft("htm in lower case", INVALID, |draft| draft.claim("htm", "get")),
        draft("missing htu", INVALID, |draft| draft.without_claim("htu")),
        draft("other htu", INVALID, |draft| draft.claim("htu", "https://other.example/exchange/v1")),
        draft("missing iat", INVALID, |draft| draft.without_claim("iat")),
        draft("iat an hour ago", INVALID, move |draft| draft.claim("iat", now - 3600)),
        draft("iat in an hour", INVALID, move |draft| draft.claim("iat", now + 3600)),
        draft("other key", INVALID, |draft| draft.signed_with(KeyPair::generate().unwrap())),
        draft("missing ath", INVALID, |draft| draft.without_claim("ath")),
        draft("wrong ath", INVALID, |draft| draft.claim("ath", base64([7; 32]))),
        draft("missing jti", INVALID, |draft| draft.without_claim("jti")),
        draft("jti of another type", INVALID, |draft| draft.claim("jti", 1)),
    ]
}

#[tokio::test]
async fn invalid_claims_are_rejected() {
    check(claims()).await;
}

/// DPP-15: a proof without a nonce is challenged, whatever its claims are.
#[tokio::test]
async fn nonce_challenge_precedes_claim_checks() {
    let bare = claims().into_iter().map(|(name, _, change)| -> Case {
        (
            name,
            CHALLENGED,
            Box::new(move |request| change(request).draft(|draft| draft.without_claim("nonce"))),
        )
    });
    check(bare.collect()).await;
}

/// DPP-08: deliberate deviations. RFC 9449, 4.3 allows servers to normalize `htu`. The gateway compares
/// strings, so it rejects variants that other implementations accept.
#[tokio::test]
async fn htu_is_compared_as_a_string() {
    let build_case = |name, expect, htu: &'static str| {
        draft(name, expect, move |draft| draft.claim("htu", htu.replace("ORIGIN", ORIGIN)))
    };
    check(vec![
        build_case("as it should be", OK, "ORIGIN/exchange/v1"),
        build_case("with a query", INVALID, "ORIGIN/exchange/v1?a=b"),
        build_case("with a fragment", INVALID, "ORIGIN/exchange/v1#a"),
        build_case("upper-case scheme", INVALID, "HTTPS://gateway.example/exchange/v1"),
        build_case("upper-case host", INVALID, "https://GATEWAY.example/exchange/v1"),
        build_case("default port", INVALID, "ORIGIN:443/exchange/v1"),
        build_case("trailing slash", INVALID, "ORIGIN/exchange/v1/"),
        build_case("other percent-encoding", INVALID, "ORIGIN/%65xchange/v1"),
        build_case("http", INVALID, "http://gateway.example/exchange/v1"),
        build_case("path alone", INVALID, "/exchange/v1"),
    ])
    .await;
}

/// Additional members of a proof are ignored (RFC 7515, 4; RFC 7519, 4.3).
#[tokio::test]
async fn additional_proof_fields_are_ignored() {
    check(vec![
        draft("extra header", OK, |draft| draft.header("kid", "1").header("x", json!({ "a": [1, 2] }))),
        draft("extra claims", OK, |draft| draft.claim("iss", "me").claim("exp", 1)),
        draft("extra members of jwk", OK, |draft| draft.jwk("kid", "1").jwk("use", "sig")),
        draft("whitespace in JSON", OK, |draft| draft.claims_text(|text| text.replace(',', " ,\n "))),
    ])
    .await;
}
