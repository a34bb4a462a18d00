//! Tests of device logins: displayed data, poll times, end states, and the remaining data.

use serde_json::json;

use super::*;
use crate::{
    oauth::fake_provider::FakeReply,
    session::{ConnectionSummary, LoginProgress},
    testkit::{HookedStore, StoreOperation},
};

fn polls(machine: &Machine) -> Vec<u64> {
    let state = machine.fake.state();
    let all = state.log.iter().zip(&state.times);
    all.filter(|(id, _)| **id == "oauth.token").map(|(_, at)| at.as_secs()).collect()
}

/// IDP-11, IDP-13, IDP-14, IDP-17, IDP-18, DPP-07: a login shows a code, polls for the member's decision, and
/// stores the tokens.
#[tokio::test(start_paused = true)]
async fn a_member_signs_in() {
    let machine = Machine::new();
    let session = machine.process().await;
    assert_eq!((session.state(), kind(&session).await), (SessionState::SignedOut, ErrorKind::SignInNeeded));
    let mut watch = session.watch();
    let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await.unwrap();
    assert_eq!((login.user_code(), login.verification_uri()), ("BCDF-GHJK", "https://id.example/device"));
    assert_eq!((login.expires_in().as_secs(), login.next_check().as_secs()), (600, 6));
    assert!(!format!("{login:?}").contains("BCDF"));
    assert_eq!(machine.stored_entries().await, [true, false, false]);

    let waiting = tokio::spawn(login.finish());
    machine.pass(20).await;
    machine.fake.state().decision = Some(true);
    waiting.await.unwrap().unwrap();
    assert!(watch.has_changed().unwrap());
    assert_eq!(*watch.borrow_and_update(), SessionState::Active);
    assert_eq!(machine.stored_entries().await, [true, true, true]);
    // The granted scopes are those of the response, not the requested ones.
    assert_eq!(&*session.scopes(), [Scope::ExchangeConnect, Scope::ExchangeStockRead]);
    assert!(!session.has_scope(&Scope::ExchangeStockWrite));
    token(&session).await;
    assert_eq!(polls(&machine), [6, 12, 18, 24]);
    assert_eq!(machine.refreshes(), 0);
}

/// ERR-45, ERR-46, IDP-17, CLI-03: after each end state no request is sent, and only the key is stored.
#[tokio::test(start_paused = true)]
async fn login_end_states() {
    let check = async |reply: Option<FakeReply>, kind| {
        let machine = Machine::new();
        let session = machine.process().await;
        let login = session.sign_in(&[]).await.unwrap();
        if let Some(reply) = reply {
            machine.fake.enqueue_reply("oauth.token", reply);
        }
        let error = login.finish().await.unwrap_err();
        is_silent(&error);
        assert_eq!((error.kind(), session.state()), (kind, SessionState::SignedOut));
        let request_count = machine.fake.state().log.len();
        machine.pass(3600).await;
        assert_eq!(machine.fake.state().log.len(), request_count);
        assert_eq!(machine.stored_entries().await, [true, false, false]);
    };
    let refused = |error: &str| Some(FakeReply::Json(400, json!({ "error": error })));
    let tokens = |kind| json!({ "access_token": "hush", "token_type": kind, "refresh_token": "hush" });
    check(refused("access_denied"), ErrorKind::Declined).await;
    check(refused("expired_token"), ErrorKind::CodeExpired).await;
    check(refused("invalid_grant"), ErrorKind::CodeExpired).await;
    check(refused("invalid_client"), ErrorKind::Halted(crate::HaltReason::NotRegistered)).await;
    check(Some(FakeReply::Json(200, tokens("Bearer"))), ErrorKind::Protocol).await;
    check(
        Some(FakeReply::Json(200, json!({ "access_token": "hush", "token_type": "DPoP" }))),
        ErrorKind::Protocol,
    )
    .await;
    check(None, ErrorKind::CodeExpired).await;
}

/// ERR-44: after `slow_down`, the login polls more slowly permanently, gives one hint that the clock runs
/// fast, and continues.
#[tokio::test(start_paused = true)]
async fn login_slows_down_on_request() {
    let machine = Machine::new();
    let session = machine.process().await;
    let login = session.sign_in(&[]).await.unwrap();
    for _ in 0..3 {
        machine.fake.enqueue_error("slow_down");
    }
    let hints = Arc::new(Mutex::new(0));
    let waiting = tokio::spawn({
        let hints = Arc::clone(&hints);
        login.finish_with(move |progress| {
            is_silent(&progress);
            if let LoginProgress::ClockRunsFast = progress {
                *hints.lock().unwrap() += 1;
            }
        })
    });
    machine.pass(120).await;
    machine.fake.state().decision = Some(true);
    waiting.await.unwrap().unwrap();
    assert_eq!(*hints.lock().unwrap(), 1);
    assert_eq!(polls(&machine), [6, 20, 41, 69, 97, 125]);
}

/// CLI-02: no poll is sent before the `Retry-After` of the previous response. This delay is not reported as
/// an error.
#[tokio::test(start_paused = true)]
async fn login_waits_for_retry_after() {
    let machine = Machine::new();
    let session = machine.process().await;
    let login = session.sign_in(&[]).await.unwrap();
    machine.fake.enqueue_reply("oauth.token", FakeReply::ErrorWithRetryAfter("authorization_pending", 30));
    let waiting = tokio::spawn(login.finish_with(|progress| {
        assert!(matches!(progress, LoginProgress::Waiting { .. }), "{progress:?}");
    }));
    machine.pass(60).await;
    machine.fake.state().decision = Some(true);
    waiting.await.unwrap().unwrap();
    assert_eq!(polls(&machine)[..2], [6, 36]);
}

/// A proxy page, a lost connection, a timeout and a suspended machine do not end a login.
#[tokio::test(start_paused = true)]
async fn login_survives_faults() {
    let machine = Machine::new();
    let session = machine.process().await;
    let login = session.sign_in(&[]).await.unwrap();
    for reply in [
        FakeReply::Page(502, "<html>"),
        FakeReply::Refused,
        FakeReply::Delayed(Duration::from_secs(60)),
        FakeReply::Lost,
    ] {
        machine.fake.enqueue_reply("oauth.token", reply);
    }
    let unreachable = Arc::new(Mutex::new(0));
    let waiting = tokio::spawn({
        let unreachable = Arc::clone(&unreachable);
        login.finish_with(move |progress| {
            if let LoginProgress::Unreachable { .. } = progress {
                *unreachable.lock().unwrap() += 1;
            }
        })
    });
    machine.pass(200).await;
    let before = polls(&machine).len();
    machine.time.suspend(Duration::from_secs(100));
    // This is less than the interval between two polls.
    machine.pass(5).await;
    assert!(polls(&machine).len() <= before + 1, "no burst after a suspend");
    machine.fake.state().decision = Some(true);
    waiting.await.unwrap().unwrap();
    assert_eq!(*unreachable.lock().unwrap(), 4);
}

/// A dropped login stops polling and leaves only the key, which the next login uses.
#[tokio::test(start_paused = true)]
async fn dropped_login_leaves_only_the_key() {
    let machine = Machine::new();
    let session = machine.process().await;
    for seconds in 0..8 {
        let login = session.sign_in(&[]).await.unwrap();
        let waiting = tokio::time::timeout(Duration::from_secs(seconds), login.finish());
        assert!(waiting.await.is_err());
        // The response in flight is still received.
        session.wait_until_idle().await;
        let poll_count = polls(&machine).len();
        machine.pass(60).await;
        assert_eq!(polls(&machine).len(), poll_count);
        assert_eq!(machine.stored_entries().await, [true, false, false]);
    }
    machine.sign_in(&session).await;
    // All logins used the first key: the provider's tokens are bound to it.
    machine.pass(250).await;
    token(&session).await;
    assert_eq!(machine.refreshes(), 1);
}

/// CLI-03: if a login is dropped while the provider returns tokens, the tokens are revoked and not stored.
#[tokio::test(start_paused = true)]
async fn login_dropped_during_a_poll_is_revoked() {
    let machine = Machine::new();
    let session = machine.process().await;
    let login = session.sign_in(&[]).await.unwrap();
    machine.fake.state().decision = Some(true);
    let polled_at = login.next_check() + Duration::from_millis(20);
    assert!(tokio::time::timeout(polled_at, login.finish()).await.is_err());
    // The poll is in flight.
    assert_eq!((polls(&machine), machine.fake.count_requests("oauth.revoke")), (vec![], 0));
    session.wait_until_idle().await;
    assert_eq!((polls(&machine), machine.fake.count_requests("oauth.revoke")), (vec![6], 1));
    assert_eq!(
        (session.state(), machine.stored_entries().await),
        (SessionState::SignedOut, [true, false, false])
    );
    // The next login creates a new connection.
    machine.sign_in(&session).await;
    session.wait_until_idle().await;
    assert_eq!(machine.fake.count_requests("oauth.revoke"), 1);
}

/// IDP-18: if the store does not accept the tokens, the login fails and the unused connection is revoked.
#[tokio::test(start_paused = true)]
async fn tokens_that_cannot_be_stored_are_revoked() {
    let machine = Machine::new();
    let session = machine.process().await;
    let login = session.sign_in(&[]).await.unwrap();
    machine.fake.state().decision = Some(true);
    machine.store.be_full(true);
    let error = login.finish().await.unwrap_err();
    assert_eq!((error.kind(), session.state()), (ErrorKind::Secrets, SessionState::SignedOut));
    assert!(error.to_string().contains("Watched Store"));
    assert_eq!(machine.fake.count_requests("oauth.revoke"), 1);
    assert_eq!(machine.stored_entries().await, [true, false, false]);
}

/// IDP-05, IDP-06: an additional capability requires a new login. Scopes that identify the member cannot be
/// requested.
#[tokio::test(start_paused = true)]
async fn additional_capability_requires_a_login() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    assert_eq!(session.sign_in(&[Scope::from("email")]).await.err().unwrap().kind(), ErrorKind::Invalid);
    let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeStockWrite]).await.unwrap();
    assert_eq!(session.state(), SessionState::Active);
    machine.fake.state().scope = Some("exchange.connect exchange.stock.read exchange.stock.write".into());
    machine.fake.state().decision = Some(true);
    login.finish().await.unwrap();
    assert!(session.has_scope(&Scope::ExchangeStockWrite));
    let forms = machine.fake.state().forms.clone();
    let requests_with_scope: Vec<_> = forms.iter().filter(|form| form.contains("scope=")).collect();
    assert_eq!(
        requests_with_scope[1],
        "client_id=desk&scope=exchange.connect+exchange.stock.read+exchange.stock.write+offline_access"
    );
}

/// If a store is slow or locked, the error names the store, and no request is sent.
#[tokio::test(start_paused = true)]
async fn unresponsive_store_is_named() {
    let machine = Machine::new();
    machine.store.slow.store(true, Ordering::SeqCst);
    let error = machine.builder().open().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Secrets);
    assert!(
        error.to_string().starts_with("the secret store (Watched Store) does not respond; unlock"),
        "{error}"
    );
    machine.store.slow.store(false, Ordering::SeqCst);
    let session = machine.process().await;
    machine.store.slow.store(true, Ordering::SeqCst);
    assert_eq!(session.sign_in(&[]).await.err().unwrap().kind(), ErrorKind::Secrets);
    assert!(machine.fake.state().log.is_empty());
    assert_eq!(session.credential_store_name(), "Watched Store");
}

/// DPP-07, IDP-13: several processes that sign in at the same time use one key, and each has its own code.
#[tokio::test(start_paused = true)]
async fn two_processes_sign_in_with_one_key() {
    let machine = Machine::new();
    let (one, two) = (machine.process().await, machine.process().await);
    let (first, second) = tokio::join!(one.sign_in(&[]), two.sign_in(&[]));
    let (first, second) = (first.unwrap(), second.unwrap());
    machine.fake.state().decision = Some(true);
    first.finish().await.unwrap();
    second.finish().await.unwrap();
    machine.pass(250).await;
    token(&one).await;
    token(&two).await;
    assert_eq!((one.state(), two.state()), (SessionState::Active, SessionState::Active));
}

/// IDP-18: if the tokens of a new login cannot be stored, the old connection continues, including its token
/// that is only in memory.
#[tokio::test(start_paused = true)]
async fn unstored_login_keeps_the_old_connection() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    machine.pass(301).await;
    machine.store.be_full(true);
    assert_eq!(kind(&session).await, ErrorKind::Secrets);
    let login = session.sign_in(&[]).await.unwrap();
    machine.fake.state().decision = Some(true);
    assert_eq!(login.finish().await.unwrap_err().kind(), ErrorKind::Secrets);
    machine.store.be_full(false);
    token(&session).await;
    assert_eq!((session.state(), machine.refreshes()), (SessionState::Active, 1));
    let noted = machine.builder().connection_summary().await.unwrap().installation_id;
    assert_eq!((session.installation_id().as_deref(), noted.as_deref()), (Some("i-1"), Some("i-1")));
}

/// SVC-07, OST-14: when the tokens of a new connection are stored, the notes no longer contain the previous
/// installation id.
#[tokio::test(start_paused = true)]
async fn no_token_is_stored_under_a_former_name() {
    let machine = Machine::new();
    store_installation_id(&machine.signed_in().await, "i-former").await;
    let (notes, seen) =
        (machine.folder.path().join("state").join("session.json"), Arc::<Mutex<Vec<String>>>::default());
    assert!(std::fs::read_to_string(&notes).unwrap().contains("i-former"));
    // These are the notes at the time when a refresh token is written.
    let noted = Arc::clone(&seen);
    let store = HookedStore::new("Looking", machine.store.clone(), move |operation, entry| {
        if (operation, entry) == (StoreOperation::Write, CredentialEntry::RefreshToken) {
            noted.lock().unwrap().push(std::fs::read_to_string(&notes).unwrap());
        }
        std::future::ready(Ok(()))
    });
    let session = machine.builder().credentials(store).open().await.unwrap();
    machine.sign_in(&session).await;
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 1 && !seen[0].contains("i-former"), "{seen:?}");
}

/// IDP-18: if the store completes the write of a login after the login failed and was revoked, the previous
/// content is restored.
#[tokio::test(start_paused = true)]
async fn late_write_of_a_dropped_login_is_undone() {
    for had_one in [true, false] {
        let machine = Machine::new();
        let session = if had_one { machine.signed_in().await } else { machine.process().await };
        let before = machine.content(CredentialEntry::RefreshToken).await;
        assert_eq!(before.is_some(), had_one);
        let login = session.sign_in(&[]).await.unwrap();
        machine.fake.state().decision = Some(true);
        machine.store.late.store(true, Ordering::SeqCst);
        assert_eq!(login.finish().await.unwrap_err().kind(), ErrorKind::Secrets);
        assert_eq!(machine.fake.count_requests("oauth.revoke"), 1);
        machine.pass(100).await;
        assert!(
            machine.content(CredentialEntry::RefreshToken).await == before,
            "the revoked token is stored"
        );
    }
}

/// SVC-07: a new login may belong to another member, so the old installation id does not apply to it.
#[tokio::test(start_paused = true)]
async fn new_connection_has_no_installation_id() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    let noted = async || machine.builder().connection_summary().await.unwrap();
    let ConnectionSummary { installation_id, was_connected } = noted().await;
    assert_eq!((installation_id.as_deref(), was_connected), (Some("i-1"), true));
    machine.sign_in(&session).await;
    let ConnectionSummary { installation_id, was_connected } = noted().await;
    assert_eq!((installation_id, was_connected), (None, true));
    assert_eq!((session.installation_id(), machine.process().await.installation_id()), (None, None));
}

/// The connection summary is read without the secret store. Before the first login and after a disconnect, it
/// has the default value.
#[tokio::test(start_paused = true)]
async fn connection_summary_needs_no_store() {
    let machine = Machine::new();
    let noted = async || machine.builder().connection_summary().await.unwrap();
    assert_eq!(noted().await, ConnectionSummary::default());
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    machine.store.slow.store(true, Ordering::SeqCst);
    assert!(noted().await.was_connected);
    machine.store.slow.store(false, Ordering::SeqCst);
    assert!(session.disconnect().await.is_complete());
    assert_eq!(noted().await, ConnectionSummary::default());
}

/// SVC-07: if a process ended after it stored the tokens of a new login but before it wrote the notes, the
/// notes belong to the old connection, possibly of another member. They do not apply to the new connection.
#[tokio::test(start_paused = true)]
async fn notes_of_another_connection_are_ignored() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    note(&session, ConnectionNote::Label("desk")).await.unwrap();
    let notes = machine.folder.path().join("state/session.json");
    let of_the_old_one = std::fs::read(&notes).unwrap();
    assert_eq!(machine.process().await.installation_id().as_deref(), Some("i-1"));
    machine.sign_in(&session).await;
    std::fs::write(notes, of_the_old_one).unwrap();
    let next = machine.process().await;
    assert_eq!((next.state(), next.installation_id(), next.label()), (SessionState::Active, None, None));
    assert_eq!(next.current_grant().await.unwrap().owner.installation, None);
}

/// SVC-07: an installation id that was read for one connection does not apply to a connection that has
/// replaced it since.
#[tokio::test(start_paused = true)]
async fn late_installation_id_is_not_the_new_connections() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let before = session.current_grant().await.unwrap();
    machine.sign_in(&session).await;
    session.record_note(&before.owner, ConnectionNote::Installation("i-1")).await.unwrap();
    assert_eq!((session.installation_id(), machine.process().await.installation_id()), (None, None));
    let now = session.current_grant().await.unwrap();
    session.record_note(&now.owner, ConnectionNote::Installation("i-2")).await.unwrap();
    assert_eq!(session.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-2"));
}

/// SVC-07: a process that switches to the connection of another process's login reads the notes of that
/// login.
#[tokio::test(start_paused = true)]
async fn installation_id_follows_the_connection() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    store_installation_id(&session, "i-1").await;
    let other = machine.process().await;
    machine.sign_in(&other).await;
    store_installation_id(&other, "i-2").await;
    machine.pass(250).await;
    assert_eq!(session.current_grant().await.unwrap().owner.installation.as_deref(), Some("i-2"));
    assert_eq!(session.installation_id().as_deref(), Some("i-2"));
}
