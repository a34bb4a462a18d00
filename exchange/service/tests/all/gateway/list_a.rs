//! List A: the requirements of RFC 9449, 4.3 on a resource server, at the gateway.

use dpop_bound::KeyPair;
use serde_json::json;

use super::world::{Asking, DOCUMENT, NOW, ORIGIN, TOKEN, World};
use crate::proofs::forgeries::{self, Forgery, Verdict};
use crate::proofs::{Draft, base64};

pub(crate) type Case = (&'static str, &'static str, Box<dyn Fn(Asking) -> Asking>);

/// Creates a case from a change of the unsigned proof.
pub(crate) fn draft(
    name: &'static str,
    answer: &'static str,
    change: impl Fn(Draft) -> Draft + 'static,
) -> Case {
    (name, answer, Box::new(move |asking: Asking| asking.draft(&change)))
}

/// Creates a case from a change of the signed proof's string.
pub(crate) fn text(
    name: &'static str,
    answer: &'static str,
    change: impl Fn(&Draft) -> String + 'static,
) -> Case {
    (
        name,
        answer,
        Box::new(move |asking: Asking| {
            let proof = change(&asking.draft);
            asking.proof(proof)
        }),
    )
}

/// Creates cases from forgeries.
pub(crate) fn cases(forgeries: Vec<Forgery>) -> Vec<Case> {
    let case = |Forgery { name, verdict, make }: Forgery| {
        let answer = match verdict {
            Verdict::Taken => OK,
            Verdict::Refused => INVALID,
        };
        text(name, answer, make)
    };
    forgeries.into_iter().map(case).collect()
}

pub(crate) const OK: &str = "";
pub(crate) const INVALID: &str = "DPOP_INVALID invalid_dpop_proof";
pub(crate) const CHALLENGED: &str = "DPOP_INVALID use_dpop_nonce";
pub(crate) const REQUIRED: &str = "DPOP_REQUIRED ";

/// Sends each: exact code, challenge and status; a nonce on every response; only accepted proofs are recorded.
pub(crate) async fn check(cases: Vec<Case>) {
    let world = World::new().await;
    for (at, (name, expect, change)) in cases.into_iter().enumerate() {
        let asking = change(world.get(DOCUMENT).from(&format!("198.51.100.{at}")));
        let before = world.traces().await;
        let reply = world.send(asking).await;
        let answer = match reply.status {
            200 => OK.to_owned(),
            _ => format!("{} {}", reply.code(), reply.challenge()),
        };
        assert_eq!(answer, expect, "{name}");
        assert_eq!(reply.status, if expect == OK { 200 } else { 401 }, "{name}");
        assert!(reply.has("dpop-nonce"), "{name}");
        let after = world.traces().await;
        assert_eq!(after.live - before.live, usize::from(expect == OK), "{name}");
    }
}

/// ERR-06, DPP-20; RFC 9449, 4.3 (1) and 7.1.
#[tokio::test]
async fn headers() {
    let with = |name, expect, authorization: &'static [&'static str], proofs: usize| -> Case {
        (
            name,
            expect,
            Box::new(move |mut asking: Asking| {
                asking.authorization =
                    authorization.iter().map(|text| text.replace("TOKEN", TOKEN)).collect();
                asking.proofs = Some(vec![asking.draft.proof(); proofs]);
                asking
            }),
        )
    };
    check(vec![
        with("as it should be", OK, &["DPoP TOKEN"], 1),
        with("any case of letters", OK, &["dpop TOKEN"], 1),
        with("no proof", REQUIRED, &["DPoP TOKEN"], 0),
        with("two proofs", INVALID, &["DPoP TOKEN"], 2),
        with("Bearer scheme", REQUIRED, &["Bearer TOKEN"], 1),
        with("another scheme", "UNAUTHENTICATED ", &["Basic TOKEN"], 1),
        with("two tokens", "UNAUTHENTICATED ", &["DPoP TOKEN", "DPoP TOKEN"], 1),
        with("Bearer beside DPoP", "UNAUTHENTICATED ", &["Bearer TOKEN", "DPoP TOKEN"], 1),
        with("no token in it", "UNAUTHENTICATED ", &["DPoP"], 1),
        with("two tokens in one", "UNAUTHENTICATED ", &["DPoP TOKEN TOKEN"], 1),
        with("anonymous", "UNAUTHENTICATED ", &[], 1),
        text("two proofs in one header", INVALID, |draft| format!("{0}, {0}", draft.proof())),
    ])
    .await;
}

/// DPP-02, DPP-06, DPP-16; RFC 9449, 4.3 (2) to (7): refused at once, also without a nonce.
#[tokio::test]
async fn form() {
    let all = || cases(forgeries::form());
    check(all()).await;
    let bare = all().into_iter().map(|(name, expect, change)| -> Case {
        (
            name,
            expect,
            Box::new(move |asking| {
                let bare = asking.draft(|draft| draft.without_claim("nonce"));
                change(bare)
            }),
        )
    });
    check(bare.collect()).await;
}

/// DPP-03, DPP-04, DPP-08, DPP-21, ERR-08; RFC 9449, 4.3 (8) to (12).
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
        draft("other key", INVALID, |draft| draft.of(KeyPair::generate().unwrap())),
        draft("missing ath", INVALID, |draft| draft.without_claim("ath")),
        draft("wrong ath", INVALID, |draft| draft.claim("ath", base64([7; 32]))),
        draft("missing jti", INVALID, |draft| draft.without_claim("jti")),
        draft("jti of another type", INVALID, |draft| draft.claim("jti", 1)),
    ]
}

#[tokio::test]
async fn claims_that_are_wrong() {
    check(claims()).await;
}

/// DPP-15: without a nonce the challenge comes first, whatever the claims are.
#[tokio::test]
async fn the_challenge_precedes_every_claim() {
    let bare = claims().into_iter().map(|(name, _, change)| -> Case {
        (name, CHALLENGED, Box::new(move |asking| change(asking).draft(|draft| draft.without_claim("nonce"))))
    });
    check(bare.collect()).await;
}

/// DPP-08: deliberate deviations. RFC 9449, 4.3 lets servers normalize `htu`; this API compares strings, so variants
/// that other implementations accept are refused here.
#[tokio::test]
async fn htu_is_plain_text() {
    let with = |name, expect, htu: &'static str| {
        draft(name, expect, move |draft| draft.claim("htu", htu.replace("ORIGIN", ORIGIN)))
    };
    check(vec![
        with("as it should be", OK, "ORIGIN/exchange/v1"),
        with("with a query", INVALID, "ORIGIN/exchange/v1?a=b"),
        with("with a fragment", INVALID, "ORIGIN/exchange/v1#a"),
        with("upper-case scheme", INVALID, "HTTPS://gateway.example/exchange/v1"),
        with("upper-case host", INVALID, "https://GATEWAY.example/exchange/v1"),
        with("default port", INVALID, "ORIGIN:443/exchange/v1"),
        with("trailing slash", INVALID, "ORIGIN/exchange/v1/"),
        with("other percent-encoding", INVALID, "ORIGIN/%65xchange/v1"),
        with("http", INVALID, "http://gateway.example/exchange/v1"),
        with("path alone", INVALID, "/exchange/v1"),
    ])
    .await;
}

/// Additional fields that a proof may contain (RFC 7515, 4; RFC 7519, 4.3).
#[tokio::test]
async fn more_than_is_asked_for() {
    check(vec![
        draft("extra header", OK, |draft| draft.header("kid", "1").header("x", json!({ "a": [1, 2] }))),
        draft("extra claims", OK, |draft| draft.claim("iss", "me").claim("exp", 1)),
        draft("extra members of jwk", OK, |draft| draft.jwk("kid", "1").jwk("use", "sig")),
        draft("whitespace in JSON", OK, |draft| draft.claims_text(|text| text.replace(',', " ,\n "))),
    ])
    .await;
}
