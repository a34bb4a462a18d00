//! Tests of the requests to the provider: each of its responses, and failures in transit.

use std::time::SystemTime;

use dpop_bound::{KeyPair, ProofSigner};
use serde_json::json;

use super::{
    fake_provider::{FakeProvider, FakeReply, ISSUER, PLANTED},
    *,
};
use crate::testkit::VirtualEnvironment;

struct ProviderFixture {
    time: VirtualEnvironment,
    fake: FakeProvider,
    provider: IdentityProvider,
    proofs: ProofSession,
}

fn fixture() -> ProviderFixture {
    let time = VirtualEnvironment::new(1);
    let fake = FakeProvider::new(&time);
    let address = ExchangeAddress::new(ISSUER, "https://api.example").unwrap();
    let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
    let provider = IdentityProvider::new(&address, &identity, Arc::new(fake.clone()), time.environment());
    let key: Arc<dyn ProofSigner> = Arc::new(KeyPair::generate().unwrap());
    let proofs = ProofSession::new(key, time.environment());
    ProviderFixture { time, fake, provider, proofs }
}

impl ProviderFixture {
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
    let fixture = fixture();
    let scope = build_scope(&[exchange_api::scopes::Scope::ExchangeStockRead]).unwrap();
    let login = fixture.provider.start_device_login(&scope).await.ok().unwrap();
    assert_eq!((&*login.user_code, &*login.verification_uri), ("BCDF-GHJK", "https://id.example/device"));
    fixture.fake.state().decision = Some(true);
    let tokens = fixture.provider.poll_device_login(&fixture.proofs, &login.device_code).await.ok().unwrap();
    let tokens =
        fixture.provider.refresh_tokens(&fixture.proofs, &tokens.refresh.unwrap()).await.ok().unwrap();
    fixture.provider.revoke_token(&fixture.proofs, &tokens.refresh.unwrap()).await.unwrap();
    let state = fixture.fake.state();
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
    let fixture = fixture();
    fixture.fake.state().issuer = Some("https://id.example/realms/y");
    let failure = fixture.failed().await;
    assert_eq!((failure.error.kind(), failure.is_transient), (ErrorKind::Protocol, false));
    assert_eq!(fixture.polls(), 0);
    // A document that was valid a day ago stays in use if no new document can be read.
    fixture.fake.state().issuer = None;
    fixture.failed().await;
    tokio::time::sleep(DISCOVERY_LIFETIME).await;
    fixture.fake.enqueue_reply("oauth.discovery", FakeReply::Page(502, "<html>"));
    assert_eq!(fixture.failed().await.poll_result(), Some(PollResult::Pending));
    fixture.fake.state().issuer = Some("https://id.example");
    assert_eq!(fixture.failed().await.error.kind(), ErrorKind::Protocol);
}

/// ERR-43 to ERR-47: each error of the provider has its kind and its effect on a polling login.
#[tokio::test(start_paused = true)]
async fn each_error_has_its_kind_and_poll_result() {
    let fixture = fixture();
    let check = async |error: &'static str, kind, polled| {
        fixture.fake.enqueue_error(error);
        let failure = fixture.failed().await;
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
    assert_eq!(fixture.polls(), 9);
}

/// A response that does not come from the provider is a transient failure, as are a redirect, a lost
/// connection and a timeout.
#[tokio::test(start_paused = true)]
async fn foreign_responses_are_transient() {
    let fixture = fixture();
    let check = async |reply, kind, after: Option<u64>| {
        fixture.fake.enqueue_reply("oauth.token", reply);
        let failure = fixture.failed().await;
        assert_eq!(failure.error.kind(), kind);
        assert_eq!(failure.poll_result(), Some(PollResult::Failed(after.map(Duration::from_secs))));
        let Some(after) = after.map(Duration::from_secs) else { return };
        // CLI-02: nothing is sent before that time, whichever caller requests it.
        let (polls, half) = (fixture.polls(), after / 2);
        tokio::time::sleep(half).await;
        let failure = fixture.failed().await;
        assert_eq!(
            (failure.poll_result(), fixture.polls()),
            (Some(PollResult::Failed(Some(after - half))), polls)
        );
        tokio::time::sleep(after - half).await;
    };
    let busy = |status, after: &str| FakeReply::Headers(status, vec![("retry-after", after.into())]);
    check(FakeReply::Page(502, "<html>"), ErrorKind::OutcomeUnknown, None).await;
    check(FakeReply::Page(302, ""), ErrorKind::Protocol, None).await;
    check(FakeReply::Page(200, "<html>sign in to this network"), ErrorKind::Protocol, None).await;
    check(FakeReply::Refused, ErrorKind::Unreachable, None).await;
    check(FakeReply::Lost, ErrorKind::OutcomeUnknown, None).await;
    check(FakeReply::Delayed(Duration::from_secs(60)), ErrorKind::OutcomeUnknown, None).await;
    check(busy(429, "7"), ErrorKind::Busy, Some(7)).await;
    check(busy(503, "soon"), ErrorKind::Busy, None).await;
    let huge = |status, after: &str| FakeReply::TooLarge(status, vec![("retry-after", after.into())]);
    check(huge(503, "3600"), ErrorKind::Busy, Some(3600)).await;
    check(huge(200, "7"), ErrorKind::Protocol, None).await;
    let unavailable = json!({ "error": "temporarily_unavailable" });
    check(FakeReply::Json(503, unavailable), ErrorKind::Busy, None).await;
    // A `Retry-After` date is relative to the provider's clock, which an earlier response showed if this one
    // has no `Date`.
    for dateless in [false, true] {
        let fixture = self::fixture();
        fixture.time.set_clock_offset(-3600);
        fixture.failed().await;
        fixture.fake.state().without_date = dateless;
        let date =
            SystemTime::UNIX_EPOCH + (fixture.time.true_time() + Duration::from_secs(90)).since_epoch();
        fixture.fake.enqueue_reply("oauth.token", busy(503, &httpdate::fmt_http_date(date)));
        let retry_after = fixture.failed().await.error.retry_after().unwrap();
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
        let fixture = fixture();
        fixture.fake.state().nonce = (error == "use_dpop_nonce").then(|| "n-1".to_owned());
        fixture.fake.enqueue_reply("oauth.token", FakeReply::ErrorWithRetryAfter(error, 30));
        let failure = fixture.failed().await;
        assert_eq!(failure.error.retry_after(), Some(Duration::from_secs(30)), "{error}");
        assert!(failure.poll_result().is_some(), "{error} ended the login");
        tokio::time::sleep(Duration::from_secs(29)).await;
        assert!(matches!(fixture.failed().await.poll_result(), Some(PollResult::Failed(Some(_)))), "{error}");
        assert_eq!(fixture.polls(), 1, "{error}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(
            (fixture.failed().await.poll_result(), fixture.polls()),
            (Some(PollResult::Pending), 2),
            "{error}"
        );
    }
}

/// ERR-50, DPP-17: a challenge with the provider's nonce is retried once, and nonces of other servers are not
/// used.
#[tokio::test(start_paused = true)]
async fn nonce_challenge_is_retried_once() {
    let fixture = fixture();
    fixture.fake.state().nonce = Some("n-1".into());
    assert_eq!(fixture.failed().await.poll_result(), Some(PollResult::Pending));
    assert_eq!(fixture.polls(), 2);
    // The nonce is kept for the next request.
    assert_eq!(fixture.failed().await.poll_result(), Some(PollResult::Pending));
    assert_eq!(fixture.polls(), 3);
    // A challenge without a nonce, or with the same nonce again, does not cause a loop.
    for nonce in [None, Some("n-1".to_owned())] {
        fixture.fake.state().nonce = nonce;
        for _ in 0..2 {
            fixture.fake.enqueue_error("use_dpop_nonce");
        }
        let failure = fixture.failed().await;
        assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Proof, None));
        fixture.fake.state().nonce = Some("n-2".into());
        let _ = fixture.poll().await;
    }
    assert!(fixture.polls() <= 3 + 8);
}

/// ERR-48, ERR-49: a rejected proof is retried once with a new proof. A second rejection is an error that
/// does not end the grant.
#[tokio::test(start_paused = true)]
async fn rejected_proof_is_retried_once() {
    for error in ["invalid_dpop_proof", "invalid_request"] {
        let fixture = fixture();
        fixture.fake.enqueue_error(error);
        assert_eq!(fixture.failed().await.poll_result(), Some(PollResult::Pending), "{error}");
        assert_eq!(fixture.polls(), 2);
        for _ in 0..2 {
            fixture.fake.enqueue_error(error);
        }
        let failure = fixture.failed().await;
        assert_eq!(failure.poll_result(), None);
        assert!(
            matches!(failure.error.kind(), ErrorKind::Proof | ErrorKind::Bug | ErrorKind::Clock),
            "{error}"
        );
        assert_eq!(fixture.polls(), 4, "{error}");
    }
}

/// DPP-10: a wrong clock costs one request. If no response has a date, the member has to set the clock.
#[tokio::test(start_paused = true)]
async fn wrong_clock_is_corrected_once() {
    for ahead in [-3600, -60, 60, 3600] {
        let fixture = fixture();
        fixture.time.set_clock_offset(ahead);
        assert_eq!(fixture.failed().await.poll_result(), Some(PollResult::Pending), "{ahead}");
        assert!(fixture.polls() <= 2, "{ahead}");
    }
    let fixture = fixture();
    fixture.fake.state().without_date = true;
    fixture.time.set_clock_offset(3600);
    let failure = fixture.failed().await;
    assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Clock, None));
    assert!(failure.error.to_string().ends_with("synchronize the clock of this computer with the network"));
    assert_eq!(fixture.polls(), 1);
}

/// IDP-17: a token of type `Bearer` is rejected.
#[tokio::test(start_paused = true)]
async fn bearer_token_is_rejected() {
    let fixture = fixture();
    fixture.fake.state().decision = Some(true);
    fixture.fake.state().token_type = Some("Bearer");
    let failure = fixture.failed().await;
    assert_eq!((failure.error.kind(), failure.poll_result()), (ErrorKind::Protocol, None));
}
