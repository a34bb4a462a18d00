//! Tests of token refreshes: before expiry, once for all callers, and across processes, crashes and lost
//! responses.

use super::*;
use crate::{oauth::fake_provider::FakeReply, session::stored::StoredRefresh};

/// IDP-19: a token is refreshed before it expires, each time with the refresh token that was received last.
#[tokio::test(start_paused = true)]
async fn token_is_refreshed_before_expiry() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let first = token(&session).await;
    machine.pass(220).await;
    assert_eq!(token(&session).await, first);
    assert_eq!(machine.refreshes(), 0);
    machine.pass(25).await;
    let second = token(&session).await;
    assert_ne!(second, first);
    assert_eq!((token(&session).await, machine.refreshes()), (second, 1));
    for round in 2..10 {
        machine.pass(241).await;
        token(&session).await;
        assert_eq!(machine.refreshes(), round);
    }
    assert_eq!(session.state(), SessionState::Active);
}

/// IDP-19: all callers share one refresh, which continues when the first caller is dropped.
#[tokio::test(start_paused = true)]
async fn concurrent_callers_share_one_refresh() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(290).await;
    let first = tokio::spawn({
        let session = session.clone();
        async move { session.current_grant().await.map(|_| ()) }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    first.abort();
    let all: Vec<_> = (0..20)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { token(&session).await })
        })
        .collect();
    let mut tokens = Vec::new();
    for task in all {
        tokens.push(task.await.unwrap());
    }
    tokens.dedup();
    assert_eq!((tokens.len(), machine.refreshes()), (1, 1));
}

/// IDP-19, ERR-05: a token that the gateway rejects is replaced once for all of its callers.
#[tokio::test(start_paused = true)]
async fn rejected_token_is_replaced_once() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let refused = session.current_grant().await.unwrap();
    let hash = *refused.token.hash();
    let (one, two) = tokio::join!(session.renew_grant(&hash), session.renew_grant(&hash));
    assert_eq!(name(&one.unwrap()), name(&two.unwrap()));
    assert_eq!(machine.refreshes(), 1);
    // A late rejection of the old token causes no refresh.
    session.renew_grant(&hash).await.unwrap();
    assert_eq!(machine.refreshes(), 1);
    // A gateway that rejects every token causes only a few refreshes.
    for _ in 0..20 {
        let hash = *session.current_grant().await.unwrap().token.hash();
        if let Err(error) = session.renew_grant(&hash).await {
            assert_eq!(error.kind(), ErrorKind::SignInNeeded);
        }
        machine.pass(1).await;
    }
    assert!((3..=5).contains(&machine.refreshes()), "{}", machine.refreshes());
}

/// If two processes refresh at the same time, one request is sent and both continue.
#[tokio::test(start_paused = true)]
async fn processes_share_a_refresh() {
    let machine = Machine::new();
    machine.fake.state().strict = true;
    let one = machine.signed_in().await;
    let two = machine.process().await;
    assert_eq!(token(&two).await, token(&one).await);
    machine.pass(290).await;
    let (first, second) = tokio::join!(token(&one), token(&two));
    assert_eq!((first, machine.refreshes()), (second, 1));
}

/// Within an hour, eight processes refresh as often as one.
#[tokio::test(start_paused = true)]
async fn eight_processes_refresh_as_often_as_one() {
    let hour = async |processes: usize| {
        let machine = Machine::new();
        machine.fake.state().strict = true;
        let mut all = vec![machine.signed_in().await];
        while all.len() < processes {
            all.push(machine.process().await);
        }
        for _ in 0..360 {
            machine.pass(10).await;
            let calls = all.iter().map(|session| {
                let session = session.clone();
                tokio::spawn(async move { token(&session).await })
            });
            for call in calls.collect::<Vec<_>>() {
                call.await.unwrap();
            }
        }
        machine.refreshes()
    };
    let (one, eight) = (hour(1).await, hour(8).await);
    assert!((15..=16).contains(&one), "{one}");
    assert_eq!(eight, one);
}

/// If the response is lost, the same refresh token is sent again later, and the connection continues.
#[tokio::test(start_paused = true)]
async fn lost_response_is_requested_again() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(245).await;
    let old = session.grant_now();
    machine.fake.enqueue_reply("oauth.token", FakeReply::Lost);
    // The old access token is still valid for some time.
    assert_eq!(Some(token(&session).await), old);
    // No refresh is attempted at the next call.
    assert_eq!(Some(token(&session).await), old);
    assert_eq!(machine.refreshes(), 1);
    machine.pass(6).await;
    assert_ne!(Some(token(&session).await), old);
    assert_eq!((machine.refreshes(), session.state()), (2, SessionState::Active));
}

/// CLI-02: requests to an unreachable provider are sent at growing intervals, and never before `Retry-After`.
#[tokio::test(start_paused = true)]
async fn unreachable_provider_is_polled_rarely() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(301).await;
    for _ in 0..100 {
        machine.fake.enqueue_reply("oauth.token", FakeReply::Refused);
    }
    for _ in 0..3600 {
        assert_eq!(kind(&session).await, ErrorKind::Unreachable);
        machine.pass(1).await;
    }
    assert!((12..=18).contains(&machine.refreshes()), "{}", machine.refreshes());
    assert_eq!(session.state(), SessionState::Active);

    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(301).await;
    machine.fake.enqueue_reply("oauth.token", FakeReply::Headers(429, vec![("retry-after", "100".into())]));
    for _ in 0..99 {
        assert_eq!(kind(&session).await, ErrorKind::Busy);
        machine.pass(1).await;
    }
    assert_eq!(machine.refreshes(), 1);
    machine.pass(12).await;
    token(&session).await;
}

/// If the store does not accept the new token, the token is not used until it is stored. No further request
/// is sent for it.
#[tokio::test(start_paused = true)]
async fn new_refresh_token_is_stored_before_use() {
    let machine = Machine::new();
    machine.fake.state().strict = true;
    let session = machine.signed_in().await;
    machine.pass(301).await;
    machine.store.be_full(true);
    for _ in 0..3 {
        assert_eq!(kind(&session).await, ErrorKind::Secrets);
    }
    assert_eq!(machine.refreshes(), 1);
    machine.store.be_full(false);
    token(&session).await;
    assert_eq!(machine.refreshes(), 1);
    machine.pass(301).await;
    token(&session).await;
    assert_eq!((machine.refreshes(), session.state()), (2, SessionState::Active));
}

/// After a crash between the response and the store, the next process sends the old token once. If the
/// provider returns the same successor again, the connection continues; otherwise it ends cleanly.
#[tokio::test(start_paused = true)]
async fn crash_before_storing_the_token_is_survived() {
    for strict in [false, true] {
        let machine = Machine::new();
        machine.fake.state().strict = strict;
        let crashed = machine.signed_in().await;
        machine.pass(301).await;
        machine.store.be_full(true);
        assert_eq!(kind(&crashed).await, ErrorKind::Secrets);
        drop(crashed);
        machine.store.be_full(false);
        let next = machine.process().await;
        assert_eq!(next.state(), SessionState::Active);
        if strict {
            assert_eq!(kind(&next).await, ErrorKind::Ended(crate::EndReason::GrantRevoked));
            assert_eq!(machine.stored_entries().await, [true, false, false]);
            assert_eq!(kind(&next).await, ErrorKind::Ended(crate::EndReason::GrantRevoked));
        } else {
            token(&next).await;
        }
        assert_eq!(machine.refreshes(), 2);
    }
}

/// ERR-47: an `invalid_grant` for a token that another process has replaced since has no effect.
#[tokio::test(start_paused = true)]
async fn concurrently_replaced_token_ends_nothing() {
    let machine = Machine::new();
    machine.fake.state().strict = true;
    let session = machine.signed_in().await;
    machine.pass(301).await;
    machine.fake.enqueue_error("invalid_grant");
    let asking = tokio::spawn({
        let session = session.clone();
        async move { token(&session).await }
    });
    tokio::time::sleep(Duration::from_millis(25)).await;
    // Another program replaces the token without using the lock.
    let owner = CredentialOwner::new(
        &ExchangeAddress::new(ISSUER, "https://api.example").unwrap(),
        &ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap(),
        "default",
    );
    let token = machine.store.inner.read(&owner, CredentialEntry::RefreshToken).await.unwrap().unwrap();
    let mut refresh = StoredRefresh::from_bytes(&token).unwrap();
    refresh.token = crate::oauth::RefreshToken::new(machine.fake.rotate_token());
    machine.store.inner.write(&owner, CredentialEntry::RefreshToken, &refresh.to_bytes()).await.unwrap();
    asking.await.unwrap();
    assert_eq!((machine.refreshes(), session.state()), (2, SessionState::Active));
}

/// ERR-48, ERR-49, ERR-50: after an error about the proof, the refresh token is kept and the request is
/// retried once.
#[tokio::test(start_paused = true)]
async fn rejected_proof_keeps_the_token() {
    for (error, refresh_count) in [
        ("invalid_dpop_proof", 2),
        ("invalid_request", 2),
        ("use_dpop_nonce", 1),
        ("invalid_scope", 1),
        ("new_one", 1),
    ] {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        machine.pass(301).await;
        for _ in 0..refresh_count {
            machine.fake.enqueue_error(error);
        }
        kind(&session).await;
        assert_eq!(machine.refreshes(), refresh_count, "{error}");
        assert_eq!(machine.stored_entries().await, [true, true, true], "{error}");
        machine.pass(6).await;
        token(&session).await;
        assert_eq!(machine.refreshes(), refresh_count + 1, "{error}");
    }
}

/// DPP-17: the provider's nonce is saved for the next process, which starts without a challenge.
#[tokio::test(start_paused = true)]
async fn nonces_outlive_the_process() {
    let machine = Machine::new();
    machine.fake.state().nonce = Some("n-1".into());
    let session = machine.signed_in().await;
    machine.pass(290).await;
    token(&session).await;
    let refresh_count = machine.refreshes();
    drop(session);
    machine.pass(290).await;
    let next = machine.process().await;
    token(&next).await;
    assert_eq!((machine.refreshes(), machine.fake.state().foreign_nonces), (refresh_count + 1, 0));
}

/// A wrong clock, or a clock that was set back while the program ran, costs at most one refresh.
#[tokio::test(start_paused = true)]
async fn wrong_clocks_are_tolerated() {
    for seconds in [-3600, 3600] {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        token(&session).await;
        machine.time.set_clock_offset(seconds);
        token(&session).await;
        assert!(machine.refreshes() <= 2, "{seconds}");
        for _ in 0..4 {
            machine.pass(241).await;
            token(&session).await;
        }
        assert!((4..=7).contains(&machine.refreshes()), "{seconds}: {}", machine.refreshes());
        machine.time.suspend(Duration::from_secs(8 * 3600));
        token(&session).await;
    }
}

impl Session {
    fn grant_now(&self) -> Option<String> {
        self.0.grant().as_ref().map(name)
    }
}

/// IDP-17: after a response without scopes, the scopes are unchanged, even in a process that has no token
/// yet.
#[tokio::test(start_paused = true)]
async fn response_without_scopes_keeps_the_scopes() {
    let machine = Machine::new();
    machine.signed_in().await;
    machine.pass(301).await;
    let owner = CredentialOwner::new(
        &ExchangeAddress::new(ISSUER, "https://api.example").unwrap(),
        &ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap(),
        "default",
    );
    machine.store.inner.delete(&owner, CredentialEntry::AccessToken).await.unwrap();
    let next = machine.process().await;
    let response = serde_json::json!({
        "access_token": "hush-access", "token_type": "DPoP", "expires_in": 300, "refresh_token": "hush-refresh",
    });
    machine.fake.enqueue_reply("oauth.token", FakeReply::Json(200, response));
    token(&next).await;
    assert!(next.has_scope(&Scope::ExchangeStockRead));
}
