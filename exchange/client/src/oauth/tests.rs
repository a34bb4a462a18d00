//! The provider's answers, each of them, and what goes wrong on the way to it.

use std::time::SystemTime;

use dpop_bound::{KeyPair, ProofSigner};
use serde_json::json;

use super::{
    fake::{Fake, Fate, ISSUER, PLANTED},
    *,
};
use crate::testkit::VirtualEnvironment;

struct Desk {
    time: VirtualEnvironment,
    fake: Fake,
    provider: Provider,
    proofs: Proofs,
}

fn desk() -> Desk {
    let time = VirtualEnvironment::new(1);
    let fake = Fake::new(&time);
    let place = Place::new(ISSUER, "https://api.example").unwrap();
    let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
    let provider = Provider::new(&place, &identity, Arc::new(fake.clone()), time.environment());
    let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().unwrap());
    let proofs = Proofs::new(key, time.environment());
    Desk { time, fake, provider, proofs }
}

impl Desk {
    async fn poll(&self) -> Result<TokenAnswer, Failure> {
        let answer = self.provider.poll(&self.proofs, "code").await;
        if let Err(failure) = &answer {
            let error = &failure.error;
            assert!(!format!("{error} {error:?}").contains(PLANTED), "{error:?}");
        }
        answer
    }

    async fn failed(&self) -> Failure {
        self.poll().await.err().unwrap()
    }

    fn polls(&self) -> usize {
        self.fake.count("oauth.token")
    }
}

/// IDP-09, IDP-11, IDP-14: the forms, and that discovery is asked for once.
#[tokio::test(start_paused = true)]
async fn requests_are_forms() {
    let desk = desk();
    let scope = asked(&[exchange_api::scopes::Scope::ExchangeStockRead]).unwrap();
    let login = desk.provider.begin(&scope).await.ok().unwrap();
    assert_eq!((&*login.user_code, &*login.verification_uri), ("BCDF-GHJK", "https://id.example/device"));
    desk.fake.state().decision = Some(true);
    let tokens = desk.provider.poll(&desk.proofs, &login.device_code).await.ok().unwrap();
    let tokens = desk.provider.refresh(&desk.proofs, &tokens.refresh.unwrap()).await.ok().unwrap();
    desk.provider.revoke(&desk.proofs, &tokens.refresh.unwrap()).await.unwrap();
    let state = desk.fake.state();
    assert_eq!(state.log, ["oauth.discovery", "oauth.device", "oauth.token", "oauth.token", "oauth.revoke"]);
    assert_eq!(
        state.forms[1..],
        [
            "client_id=desk&scope=exchange.connect+exchange.stock.read+offline_access",
            "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code&device_code=hush-device\
             &client_id=desk",
            "grant_type=refresh_token&refresh_token=hush-refresh-1&client_id=desk",
            "token=hush-refresh-3&token_type_hint=refresh_token&client_id=desk",
        ]
    );
}

/// IDP-02: a document of another issuer is not used, and nothing is sent.
#[tokio::test(start_paused = true)]
async fn another_issuers_document_is_not_used() {
    let desk = desk();
    desk.fake.state().issuer = Some("https://id.example/realms/y");
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.passes), (ErrorKind::Protocol, false));
    assert_eq!(desk.polls(), 0);
    // What was good a day ago is used on while no other can be read.
    desk.fake.state().issuer = None;
    desk.failed().await;
    tokio::time::sleep(DOCUMENT).await;
    desk.fake.next("oauth.discovery", Fate::Page(502, "<html>"));
    assert_eq!(desk.failed().await.of_poll(), Some(Polled::Pending));
    desk.fake.state().issuer = Some("https://id.example");
    assert_eq!(desk.failed().await.error.kind(), ErrorKind::Protocol);
}

/// ERR-43 to ERR-47 and what else the provider says: what it means for a login that polls.
#[tokio::test(start_paused = true)]
async fn what_each_error_means() {
    let desk = desk();
    let check = async |error: &'static str, kind, polled| {
        desk.fake.next_refused(error);
        let failure = desk.failed().await;
        assert_eq!((failure.error.kind(), failure.of_poll()), (kind, polled), "{error}");
    };
    check("authorization_pending", ErrorKind::Busy, Some(Polled::Pending)).await;
    check("slow_down", ErrorKind::Busy, Some(Polled::SlowDown)).await;
    check("access_denied", ErrorKind::Declined, None).await;
    check("expired_token", ErrorKind::CodeExpired, None).await;
    check("invalid_grant", ErrorKind::Ended(crate::End::Grant), None).await;
    check("invalid_client", ErrorKind::Halted(crate::Halt::NotRegistered), None).await;
    check("unauthorized_client", ErrorKind::Halted(crate::Halt::NotRegistered), None).await;
    check("invalid_scope", ErrorKind::Bug, None).await;
    check("something_new", ErrorKind::Invalid, None).await;
    assert_eq!(desk.polls(), 9);
}

/// What is no answer of the provider's passes: a proxy's page, a redirection, a cut connection, silence.
#[tokio::test(start_paused = true)]
async fn what_is_no_answer_passes() {
    let desk = desk();
    let check = async |fate, kind, after: Option<u64>| {
        desk.fake.next("oauth.token", fate);
        let failure = desk.failed().await;
        assert_eq!(failure.error.kind(), kind);
        assert_eq!(failure.of_poll(), Some(Polled::Failed(after.map(Duration::from_secs))));
        let Some(after) = after.map(Duration::from_secs) else { return };
        // CLI-02: whoever asks, nothing is sent before that.
        let (polls, half) = (desk.polls(), after / 2);
        tokio::time::sleep(half).await;
        let held = desk.failed().await;
        assert_eq!((held.of_poll(), desk.polls()), (Some(Polled::Failed(Some(after - half))), polls));
        tokio::time::sleep(after - half).await;
    };
    let busy = |status, after: &str| Fate::Headers(status, vec![("retry-after", after.into())]);
    check(Fate::Page(502, "<html>"), ErrorKind::OutcomeUnknown, None).await;
    check(Fate::Page(302, ""), ErrorKind::Protocol, None).await;
    check(Fate::Page(200, "<html>sign in to this network"), ErrorKind::Protocol, None).await;
    check(Fate::Refused, ErrorKind::Unreachable, None).await;
    check(Fate::Lost, ErrorKind::OutcomeUnknown, None).await;
    check(Fate::Late(Duration::from_secs(60)), ErrorKind::OutcomeUnknown, None).await;
    check(busy(429, "7"), ErrorKind::Busy, Some(7)).await;
    check(busy(503, "soon"), ErrorKind::Busy, None).await;
    let huge = |status, after: &str| Fate::Huge(status, vec![("retry-after", after.into())]);
    check(huge(503, "3600"), ErrorKind::Busy, Some(3600)).await;
    check(huge(200, "7"), ErrorKind::Protocol, None).await;
    let unavailable = json!({ "error": "temporarily_unavailable" });
    check(Fate::Answer(503, unavailable), ErrorKind::Busy, None).await;
    // A date is of the provider's clock, which was learnt before where the answer does not say its own.
    for dateless in [false, true] {
        let desk = self::desk();
        desk.time.set_wrong_by(-3600);
        desk.failed().await;
        desk.fake.state().dateless = dateless;
        let date = SystemTime::UNIX_EPOCH + (desk.time.true_time() + Duration::from_secs(90)).since_epoch();
        desk.fake.next("oauth.token", busy(503, &httpdate::fmt_http_date(date)));
        let asked = desk.failed().await.error.retry_after().unwrap();
        assert!((85..=91).contains(&asked.as_secs()), "{asked:?}");
    }
}

/// CLI-02: whatever a refusal says, nothing is sent before it wants that, be it the next poll or the same with another
/// proof.
#[tokio::test(start_paused = true)]
async fn no_refusal_is_answered_before_it_wants() {
    for error in
        ["authorization_pending", "slow_down", "invalid_dpop_proof", "invalid_request", "use_dpop_nonce"]
    {
        let desk = desk();
        desk.fake.state().nonce = (error == "use_dpop_nonce").then(|| "n-1".to_owned());
        desk.fake.next("oauth.token", Fate::Waits(error, 30));
        let failure = desk.failed().await;
        assert_eq!(failure.error.retry_after(), Some(Duration::from_secs(30)), "{error}");
        assert!(failure.of_poll().is_some(), "{error} ends no login");
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(matches!(desk.failed().await.of_poll(), Some(Polled::Failed(Some(_)))), "{error}");
        assert_eq!(desk.polls(), 1, "{error}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!((desk.failed().await.of_poll(), desk.polls()), (Some(Polled::Pending), 2), "{error}");
    }
}

/// ERR-50, DPP-17: the provider's nonce, once, and never anybody else's.
#[tokio::test(start_paused = true)]
async fn a_nonce_is_answered_once() {
    let desk = desk();
    desk.fake.state().nonce = Some("n-1".into());
    assert_eq!(desk.failed().await.of_poll(), Some(Polled::Pending));
    assert_eq!(desk.polls(), 2);
    // It is kept for the next request.
    assert_eq!(desk.failed().await.of_poll(), Some(Polled::Pending));
    assert_eq!(desk.polls(), 3);
    // Asked for one without being given any, and asked for the same again: no loop.
    for given in [None, Some("n-1".to_owned())] {
        desk.fake.state().nonce = given;
        for _ in 0..2 {
            desk.fake.next_refused("use_dpop_nonce");
        }
        let failure = desk.failed().await;
        assert_eq!((failure.error.kind(), failure.of_poll()), (ErrorKind::Proof, None));
        desk.fake.state().nonce = Some("n-2".into());
        let _ = desk.poll().await;
    }
    assert!(desk.polls() <= 3 + 8);
}

/// ERR-48, ERR-49: one more try with another proof, then it is an error that says nothing of the grant.
#[tokio::test(start_paused = true)]
async fn a_refused_proof_is_tried_once_more() {
    for error in ["invalid_dpop_proof", "invalid_request"] {
        let desk = desk();
        desk.fake.next_refused(error);
        assert_eq!(desk.failed().await.of_poll(), Some(Polled::Pending), "{error}");
        assert_eq!(desk.polls(), 2);
        for _ in 0..2 {
            desk.fake.next_refused(error);
        }
        let failure = desk.failed().await;
        assert_eq!(failure.of_poll(), None);
        assert!(
            matches!(failure.error.kind(), ErrorKind::Proof | ErrorKind::Bug | ErrorKind::Clock),
            "{error}"
        );
        assert_eq!(desk.polls(), 4, "{error}");
    }
}

/// DPP-10: a clock that is wrong costs one request; without any date the member is asked to set it.
#[tokio::test(start_paused = true)]
async fn a_wrong_clock_is_corrected_once() {
    for ahead in [-3600, -60, 60, 3600] {
        let desk = desk();
        desk.time.set_wrong_by(ahead);
        assert_eq!(desk.failed().await.of_poll(), Some(Polled::Pending), "{ahead}");
        assert!(desk.polls() <= 2, "{ahead}");
    }
    let desk = desk();
    desk.fake.state().dateless = true;
    desk.time.set_wrong_by(3600);
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.of_poll()), (ErrorKind::Clock, None));
    assert!(failure.error.to_string().ends_with("let this computer set its clock from the network"));
    assert_eq!(desk.polls(), 1);
}

/// IDP-17
#[tokio::test(start_paused = true)]
async fn a_bearer_token_is_refused() {
    let desk = desk();
    desk.fake.state().decision = Some(true);
    desk.fake.state().token_type = Some("Bearer");
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.of_poll()), (ErrorKind::Protocol, None));
}
