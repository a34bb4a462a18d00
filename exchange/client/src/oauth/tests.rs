//! Tests of the requests to the provider: each of its responses, and failures in transit.

use std::time::SystemTime;

use dpop_bound::{KeyPair, ProofSigner};
use serde_json::json;

use super::{
    fake_provider::{FakeProvider, FakeReply, ISSUER, PLANTED},
    *,
};
use crate::testkit::VirtualEnvironment;

struct Desk {
    time: VirtualEnvironment,
    fake: FakeProvider,
    provider: IdentityProvider,
    proofs: ProofSession,
}

fn desk() -> Desk {
    let time = VirtualEnvironment::new(1);
    let fake = FakeProvider::new(&time);
    let place = ExchangeAddress::new(ISSUER, "https://api.example").unwrap();
    let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
    let provider = IdentityProvider::new(&place, &identity, Arc::new(fake.clone()), time.environment());
    let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().unwrap());
    let proofs = ProofSession::new(key, time.environment());
    Desk { time, fake, provider, proofs }
}

impl Desk {
    async fn poll(&self) -> Result<TokenResponse, ProviderFailure> {
        let response = self.provider.poll_device_login(&self.proofs, "code").await;
        if let Err(failure) = &response {
            let error = &failure.error;
            assert!(!format!("{error} {error:?}").contains(PLANTED), "{error:?}");
        }
        response
    }

    async fn failed(&self) -> ProviderFailure {
        self.poll().await.err().unwrap()
    }

    fn polls(&self) -> usize {
        self.fake.count_requests("oauth.token")
    }
}

/// IDP-09, IDP-11, IDP-14: requests are form-encoded, and the discovery document is requested once.
#[tokio::test(start_paused = true)]
async fn requests_are_forms() {
    let desk = desk();
    let scope = build_scope(&[exchange_api::scopes::Scope::ExchangeStockRead]).unwrap();
    let login = desk.provider.start_device_login(&scope).await.ok().unwrap();
    assert_eq!((&*login.user_code, &*login.verification_uri), ("BCDF-GHJK", "https://id.example/device"));
    desk.fake.state().decision = Some(true);
    let tokens = desk.provider.poll_device_login(&desk.proofs, &login.device_code).await.ok().unwrap();
    let tokens = desk.provider.refresh_tokens(&desk.proofs, &tokens.refresh.unwrap()).await.ok().unwrap();
    desk.provider.revoke_token(&desk.proofs, &tokens.refresh.unwrap()).await.unwrap();
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

/// IDP-02: a document of another issuer is rejected, and no login request is sent.
#[tokio::test(start_paused = true)]
async fn document_of_another_issuer_is_not_used() {
    let desk = desk();
    desk.fake.state().issuer = Some("https://id.example/realms/y");
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.is_transient), (ErrorKind::Protocol, false));
    assert_eq!(desk.polls(), 0);
    // A document that was valid a day ago stays in use if no new document can be read.
    desk.fake.state().issuer = None;
    desk.failed().await;
    tokio::time::sleep(DISCOVERY_LIFETIME).await;
    desk.fake.enqueue_reply("oauth.discovery", FakeReply::Page(502, "<html>"));
    assert_eq!(desk.failed().await.poll_result(), Some(PollResult::Pending));
    desk.fake.state().issuer = Some("https://id.example");
    assert_eq!(desk.failed().await.error.kind(), ErrorKind::Protocol);
}

/// ERR-43 to ERR-47: each error of the provider has its kind and its effect on a polling login.
#[tokio::test(start_paused = true)]
async fn each_error_has_its_kind_and_poll_result() {
    let desk = desk();
    let check = async |error: &'static str, kind, polled| {
        desk.fake.enqueue_error(error);
        let failure = desk.failed().await;
        assert_eq!((failure.error.kind(), failure.poll_result()), (kind, polled), "{error}");
    };
    check("authorization_pending", ErrorKind::Busy, Some(PollResult::Pending)).await;
    check("slow_down", ErrorKind::Busy, Some(PollResult::SlowDown)).await;
    check("access_denied", ErrorKind::Declined, None).await;
    check("expired_token", ErrorKind::CodeExpired, None).await;
    check("invalid_grant", ErrorKind::Ended(crate::EndReason::GrantRevoked), None).await;
    check("invalid_client", ErrorKind::Halted(crate::HaltReason::NotRegistered), None).await;
    check("unauthorized_client", ErrorKind::Halted(crate::HaltReason::NotRegistered), None).await;
    check("invalid_scope", ErrorKind::Bug, None).await;
    check("something_new", ErrorKind::Invalid, None).await;
    assert_eq!(desk.polls(), 9);
}

/// A response that does not come from the provider is a transient failure, as are a redirect, a lost
/// connection and a timeout.
#[tokio::test(start_paused = true)]
async fn foreign_responses_are_transient() {
    let desk = desk();
    let check = async |fate, kind, after: Option<u64>| {
        desk.fake.enqueue_reply("oauth.token", fate);
        let failure = desk.failed().await;
        assert_eq!(failure.error.kind(), kind);
        assert_eq!(failure.poll_result(), Some(PollResult::Failed(after.map(Duration::from_secs))));
        let Some(after) = after.map(Duration::from_secs) else { return };
        // CLI-02: nothing is sent before that time, whichever caller requests it.
        let (polls, half) = (desk.polls(), after / 2);
        tokio::time::sleep(half).await;
        let held = desk.failed().await;
        assert_eq!((held.poll_result(), desk.polls()), (Some(PollResult::Failed(Some(after - half))), polls));
        tokio::time::sleep(after - half).await;
    };
    let busy = |status, after: &str| FakeReply::Headers(status, vec![("retry-after", after.into())]);
    check(FakeReply::Page(502, "<html>"), ErrorKind::OutcomeUnknown, None).await;
    check(FakeReply::Page(302, ""), ErrorKind::Protocol, None).await;
    check(FakeReply::Page(200, "<html>sign in to this network"), ErrorKind::Protocol, None).await;
    check(FakeReply::Refused, ErrorKind::Unreachable, None).await;
    check(FakeReply::Lost, ErrorKind::OutcomeUnknown, None).await;
    check(FakeReply::Late(Duration::from_secs(60)), ErrorKind::OutcomeUnknown, None).await;
    check(busy(429, "7"), ErrorKind::Busy, Some(7)).await;
    check(busy(503, "soon"), ErrorKind::Busy, None).await;
    let huge = |status, after: &str| FakeReply::Huge(status, vec![("retry-after", after.into())]);
    check(huge(503, "3600"), ErrorKind::Busy, Some(3600)).await;
    check(huge(200, "7"), ErrorKind::Protocol, None).await;
    let unavailable = json!({ "error": "temporarily_unavailable" });
    check(FakeReply::Answer(503, unavailable), ErrorKind::Busy, None).await;
    // A `Retry-After` date is relative to the provider's clock, which an earlier response showed if this one
    // has no `Date`.
    for dateless in [false, true] {
        let desk = self::desk();
        desk.time.set_clock_offset(-3600);
        desk.failed().await;
        desk.fake.state().without_date = dateless;
        let date = SystemTime::UNIX_EPOCH + (desk.time.true_time() + Duration::from_secs(90)).since_epoch();
        desk.fake.enqueue_reply("oauth.token", busy(503, &httpdate::fmt_http_date(date)));
        let retry_after = desk.failed().await.error.retry_after().unwrap();
        assert!((85..=91).contains(&retry_after.as_secs()), "{retry_after:?}");
    }
}

/// CLI-02: after any error with a `Retry-After`, no request is sent before that time has passed: neither the
/// next poll nor the same poll with a new proof.
#[tokio::test(start_paused = true)]
async fn no_retry_before_retry_after() {
    for error in
        ["authorization_pending", "slow_down", "invalid_dpop_proof", "invalid_request", "use_dpop_nonce"]
    {
        let desk = desk();
        desk.fake.state().nonce = (error == "use_dpop_nonce").then(|| "n-1".to_owned());
        desk.fake.enqueue_reply("oauth.token", FakeReply::Waits(error, 30));
        let failure = desk.failed().await;
        assert_eq!(failure.error.retry_after(), Some(Duration::from_secs(30)), "{error}");
        assert!(failure.poll_result().is_some(), "{error} ended the login");
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(matches!(desk.failed().await.poll_result(), Some(PollResult::Failed(Some(_)))), "{error}");
        assert_eq!(desk.polls(), 1, "{error}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(
            (desk.failed().await.poll_result(), desk.polls()),
            (Some(PollResult::Pending), 2),
            "{error}"
        );
    }
}

/// ERR-50, DPP-17: a challenge with the provider's nonce is retried once, and nonces of other servers are not
/// used.
#[tokio::test(start_paused = true)]
async fn nonce_challenge_is_retried_once() {
    let desk = desk();
    desk.fake.state().nonce = Some("n-1".into());
    assert_eq!(desk.failed().await.poll_result(), Some(PollResult::Pending));
    assert_eq!(desk.polls(), 2);
    // The nonce is kept for the next request.
    assert_eq!(desk.failed().await.poll_result(), Some(PollResult::Pending));
    assert_eq!(desk.polls(), 3);
    // A challenge without a nonce, or with the same nonce again, does not cause a loop.
    for given in [None, Some("n-1".to_owned())] {
        desk.fake.state().nonce = given;
        for _ in 0..2 {
            desk.fake.enqueue_error("use_dpop_nonce");
        }
        let failure = desk.failed().await;
        assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Proof, None));
        desk.fake.state().nonce = Some("n-2".into());
        let _ = desk.poll().await;
    }
    assert!(desk.polls() <= 3 + 8);
}

/// ERR-48, ERR-49: a rejected proof is retried once with a new proof. A second rejection is an error that
/// does not end the grant.
#[tokio::test(start_paused = true)]
async fn rejected_proof_is_retried_once() {
    for error in ["invalid_dpop_proof", "invalid_request"] {
        let desk = desk();
        desk.fake.enqueue_error(error);
        assert_eq!(desk.failed().await.poll_result(), Some(PollResult::Pending), "{error}");
        assert_eq!(desk.polls(), 2);
        for _ in 0..2 {
            desk.fake.enqueue_error(error);
        }
        let failure = desk.failed().await;
        assert_eq!(failure.poll_result(), None);
        assert!(
            matches!(failure.error.kind(), ErrorKind::Proof | ErrorKind::Bug | ErrorKind::Clock),
            "{error}"
        );
        assert_eq!(desk.polls(), 4, "{error}");
    }
}

/// DPP-10: a wrong clock costs one request. If no response has a date, the member has to set the clock.
#[tokio::test(start_paused = true)]
async fn wrong_clock_is_corrected_once() {
    for ahead in [-3600, -60, 60, 3600] {
        let desk = desk();
        desk.time.set_clock_offset(ahead);
        assert_eq!(desk.failed().await.poll_result(), Some(PollResult::Pending), "{ahead}");
        assert!(desk.polls() <= 2, "{ahead}");
    }
    let desk = desk();
    desk.fake.state().without_date = true;
    desk.time.set_clock_offset(3600);
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Clock, None));
    assert!(failure.error.to_string().ends_with("synchronize the clock of this computer with the network"));
    assert_eq!(desk.polls(), 1);
}

/// IDP-17: a token of type `Bearer` is rejected.
#[tokio::test(start_paused = true)]
async fn bearer_token_is_rejected() {
    let desk = desk();
    desk.fake.state().decision = Some(true);
    desk.fake.state().token_type = Some("Bearer");
    let failure = desk.failed().await;
    assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Protocol, None));
}
