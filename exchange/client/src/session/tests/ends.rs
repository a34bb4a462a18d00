//! Tests of the ends and halts of connections, and of the data that they delete.

use super::*;
use crate::{
    Exchange, Lane, MemoryOutbox,
    oauth::fake_provider::FakeReply,
    outbox::{NewEntryRow, OutboxStore as _},
    session::{LocalData, StepOutcome},
    state::{EndReason, HaltReason},
    test_members::test_connection,
    testkit::{HookedStore, StoreOperation},
};

/// ERR-47, CLI-03, IDP-25: after `invalid_grant` the refresh token is deleted, the key is kept, and no
/// further request is sent.
#[tokio::test(start_paused = true)]
async fn invalid_grant_ends_the_connection() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let other = machine.process().await;
    machine.fake.end_connection();
    machine.pass(301).await;
    assert_eq!(kind(&session).await, ErrorKind::Ended(EndReason::GrantRevoked));
    assert_eq!(session.state(), SessionState::Ended(EndReason::GrantRevoked));
    assert_eq!(machine.stored_entries().await, [true, false, false]);
    for _ in 0..5 {
        machine.pass(600).await;
        assert_eq!(kind(&session).await, ErrorKind::Ended(EndReason::GrantRevoked));
    }
    // The other process and the next process read the end from the notes.
    assert_eq!(kind(&other).await, ErrorKind::Ended(EndReason::GrantRevoked));
    assert_eq!(machine.process().await.state(), SessionState::Ended(EndReason::GrantRevoked));
    assert_eq!(machine.refreshes(), 1);
    machine.sign_in(&session).await;
    assert_eq!(machine.process().await.state(), SessionState::Active);
    assert_eq!(other.resume().await.unwrap(), SessionState::Active);
}

/// ERR-12, ERR-13, IDP-25: if the client or the installation is disconnected, the tokens are deleted. The key
/// is deleted only with the installation.
#[tokio::test(start_paused = true)]
async fn gateway_ends_client_or_installation() {
    for (end, kept) in [(EndReason::ClientDisconnected, true), (EndReason::InstallationDisconnected, false)] {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        store_installation_id(&session, "i-1").await;
        report_error(&session, ErrorKind::Ended(end)).await;
        assert_eq!(
            (session.state(), kind(&session).await),
            (SessionState::Ended(end), ErrorKind::Ended(end))
        );
        assert_eq!(machine.stored_entries().await, [kept, false, false], "{end:?}");
        let next = machine.process().await;
        assert_eq!(next.state(), SessionState::Ended(end));
        assert_eq!(next.installation_id().is_some(), kept);
        assert!(next.scopes().is_empty());
        assert_eq!(machine.refreshes(), 0);
        machine.sign_in(&next).await;
    }
}

/// ERR-13: an unreadable key entry is deleted with the installation, because it would prevent the next login
/// from creating a key.
#[tokio::test(start_paused = true)]
async fn unreadable_key_is_deleted_with_the_installation() {
    for (end, kept) in [(EndReason::InstallationDisconnected, false), (EndReason::ClientDisconnected, true)] {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        let owner = CredentialOwner::new(session.address(), session.identity(), "default");
        let garbage = SecretBytes::new(b"no key".to_vec());
        machine.store.inner.write(&owner, CredentialEntry::DpopKey, &garbage).await.unwrap();
        report_error(&session, ErrorKind::Ended(end)).await;
        assert_eq!(machine.stored_entries().await, [kept, false, false], "{end:?}");
        assert_eq!(session.sign_in(&[]).await.is_ok(), !kept);
    }
}

/// A late rejection does not apply to a connection that another process created since.
#[tokio::test(start_paused = true)]
async fn late_rejection_does_not_end_a_new_connection() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let other = machine.process().await;
    machine.sign_in(&other).await;
    report_error(&session, ErrorKind::Ended(EndReason::ClientDisconnected)).await;
    assert_eq!((session.state(), other.state()), (SessionState::Active, SessionState::Active));
    assert_eq!(token(&session).await, token(&other).await);
}

/// If a process ended after it recorded the end but before it deleted the tokens, the next process deletes
/// them.
#[tokio::test(start_paused = true)]
async fn interrupted_deletion_is_finished() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let connection = session.0.connection_state().connection.clone().unwrap();
    let noted = |of: &str| {
        let notes = format!(r#"{{"ended":{{"connection":"{of}","why":"client"}}}}"#);
        std::fs::write(machine.folder.path().join("state/session.json"), notes).unwrap();
    };
    noted("another");
    assert_eq!(machine.process().await.state(), SessionState::Active);
    noted(&connection);
    assert_eq!(machine.process().await.state(), SessionState::Ended(EndReason::ClientDisconnected));
    assert_eq!(machine.stored_entries().await, [true, false, false]);
}

/// ERR-14 to ERR-20: the session stays halted until the member resumes it or the program restarts. Nothing is
/// deleted or sent.
#[tokio::test(start_paused = true)]
async fn halt_lasts_until_the_member_resumes() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    report_error(&session, ErrorKind::Halted(HaltReason::Suspended)).await;
    let request_count = machine.fake.state().log.len();
    for _ in 0..5 {
        machine.pass(600).await;
        assert_eq!(kind(&session).await, ErrorKind::Halted(HaltReason::Suspended));
    }
    assert_eq!(machine.fake.state().log.len(), request_count);
    assert_eq!(machine.stored_entries().await, [true, true, true]);
    assert_eq!(machine.process().await.state(), SessionState::Active);
    assert_eq!(session.resume().await.unwrap(), SessionState::Active);
    token(&session).await;
    // If the client is not registered with the provider, the session halts as well, and the refresh token is
    // kept.
    machine.pass(301).await;
    machine.fake.enqueue_error("invalid_client");
    assert_eq!(kind(&session).await, ErrorKind::Halted(HaltReason::NotRegistered));
    assert_eq!(machine.stored_entries().await, [true, true, true]);
    assert_eq!(session.resume().await.unwrap(), SessionState::Active);
    token(&session).await;
}

/// DPP-07, IDP-20: if there is a token but no key, the connection has ended. A new key is created only when
/// the member signs in.
#[tokio::test(start_paused = true)]
async fn lost_key_ends_the_connection() {
    let machine = Machine::new();
    machine.signed_in().await;
    let owner = CredentialOwner::new(
        &ExchangeAddress::new(ISSUER, "https://api.example").unwrap(),
        &ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap(),
        "default",
    );
    machine.store.inner.delete(&owner, CredentialEntry::DpopKey).await.unwrap();
    let session = machine.process().await;
    assert_eq!(
        (session.state(), kind(&session).await),
        (SessionState::Ended(EndReason::KeyLost), ErrorKind::Ended(EndReason::KeyLost))
    );
    assert!(!machine.is_stored(CredentialEntry::DpopKey).await);
    machine.sign_in(&session).await;
    assert!(machine.is_stored(CredentialEntry::DpopKey).await);
    machine.pass(301).await;
    token(&session).await;
}

/// Local data that records its deletion.
struct Replica(Arc<AtomicBool>);

impl LocalData for Replica {
    fn name(&self) -> &'static str {
        "replica"
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        self.0.store(true, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }
}

/// Returns a store that no longer exists.
fn gone() -> HookedStore<MemoryCredentials> {
    let missing = || async { Err(CredentialError::Missing("no session bus".to_owned())) };
    HookedStore::new("Gone", MemoryCredentials::new(), move |_, _| missing())
}

/// IDP-24, IDP-23, CLI-06: a disconnection revokes the connection, then deletes the tokens, the key and the
/// local data.
#[tokio::test(start_paused = true)]
async fn disconnection_keeps_its_order() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let other = machine.process().await;
    note(&session, ConnectionNote::Label("desk")).await.unwrap();
    let gone = Arc::new(AtomicBool::new(false));
    session.register_local_data(Replica(Arc::clone(&gone)));
    let report = session.disconnect().await;
    assert!(matches!(report.revoked, StepOutcome::Done) && report.is_complete(), "{report:?}");
    let names: Vec<_> = report.data.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["notes", "replica"]);
    assert!(gone.load(Ordering::SeqCst));
    assert_eq!(
        *machine.store.deleted.lock().unwrap(),
        [
            (CredentialEntry::AccessToken, 1),
            (CredentialEntry::RefreshToken, 1),
            // These are the entries under the names of earlier versions.
            (CredentialEntry::AccessToken, 1),
            (CredentialEntry::RefreshToken, 1),
            (CredentialEntry::DpopKey, 1),
            (CredentialEntry::DpopKey, 1)
        ]
    );
    assert_eq!(machine.stored_entries().await, [false, false, false]);
    assert_eq!((session.state(), session.label()), (SessionState::SignedOut, None));
    // The other process finds no secrets in the store.
    machine.pass(301).await;
    assert_eq!((kind(&other).await, other.state()), (ErrorKind::SignInNeeded, SessionState::SignedOut));
    assert_eq!(machine.refreshes(), 0);
    // A second disconnection has nothing to revoke.
    let report = session.disconnect().await;
    assert!(matches!(report.revoked, StepOutcome::NotNeeded) && report.is_complete());
}

/// CLI-06: an outbox sends with the session, and the session deletes the outbox's data. Neither keeps the
/// other alive, so no files stay open after a program has dropped both.
#[tokio::test(start_paused = true)]
async fn registered_data_does_not_keep_the_session_alive() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let exchange = Exchange::builder(session.address().clone(), session.identity().clone())
        .transport(machine.fake.clone())
        .build(&session)
        .unwrap();
    let store = Arc::new(MemoryOutbox::new());
    let outbox = exchange.outbox(Arc::clone(&store), &test_connection("i-1", &[])).unwrap();
    session.register_local_data(outbox.clone());
    let row =
        NewEntryRow { owner: "i-1".to_owned(), lane: Lane::Stock, head: String::new(), body: "{}".into() };
    store.append(vec![row]).await.unwrap();
    drop(outbox);
    let report = session.disconnect().await;
    assert!(report.data.iter().any(|(name, step)| name == "outbox" && step.is_done()), "{report:?}");
    assert_eq!(store.list_rows("i-1").await.unwrap().len(), 0);

    session.wait_until_idle().await;
    let inside = Arc::downgrade(&session.0);
    drop((session, exchange));
    assert!(inside.upgrade().is_none(), "the registered data keeps the session alive");
    assert_eq!(Arc::strong_count(&store), 1, "the session keeps the store alive");
}

/// IDP-18, DPP-20: two gateways of one issuer have separate connections. None of them signs with the other's
/// key, ends the other's connection, or uses its refresh token.
#[tokio::test(start_paused = true)]
async fn gateways_of_one_issuer_share_no_secrets() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let address = ExchangeAddress::new(ISSUER, "https://api-2.example").unwrap();
    let elsewhere = Session::builder(&address, session.identity())
        .environment(machine.time.environment())
        .credentials(machine.store.clone())
        .state_folder(machine.folder.path().join("elsewhere"))
        .transport(machine.fake.clone());
    let elsewhere = elsewhere.open().await.unwrap();
    assert_eq!(elsewhere.state(), SessionState::SignedOut);
    machine.sign_in(&elsewhere).await;
    let (grant, other_grant) =
        (session.current_grant().await.unwrap(), elsewhere.current_grant().await.unwrap());
    assert_ne!((name(&grant), &grant.jkt), (name(&other_grant), &other_grant.jkt));
    assert!(elsewhere.disconnect().await.is_complete());
    assert_eq!(machine.stored_entries().await, [true, true, true]);
    assert_eq!((session.state(), token(&session).await), (SessionState::Active, name(&grant)));
}

/// IDP-18, IDP-24, CLI-06: a member who cannot access the secret store can still delete all other data, and
/// the report contains the secrets that remain.
#[tokio::test(start_paused = true)]
async fn disconnecting_works_without_the_store() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    note(&session, ConnectionNote::Label("desk")).await.unwrap();
    drop(session);
    let builder = || machine.builder().credentials(gone());
    assert_eq!(builder().open().await.err().unwrap().kind(), ErrorKind::Secrets);
    let session = builder().open_without_credentials().await.unwrap();
    assert_eq!((session.state(), session.label().as_deref()), (SessionState::SignedOut, Some("desk")));
    assert!(session.has_scope(&Scope::ExchangeStockRead));
    let gone = Arc::new(AtomicBool::new(false));
    session.register_local_data(Replica(Arc::clone(&gone)));
    let report = session.disconnect().await;
    for step in [&report.revoked, &report.tokens, &report.key] {
        assert!(
            matches!(step, StepOutcome::Failed(error) if error.kind() == ErrorKind::Secrets),
            "{report:?}"
        );
    }
    assert!(report.data.iter().all(|(_, step)| step.is_done()) && gone.load(Ordering::SeqCst), "{report:?}");
    assert!(!report.is_complete() && !builder().connection_summary().await.unwrap().was_connected);
    // No member is signed in with the remaining secrets, and the next process with access to the store
    // deletes them.
    assert_eq!(machine.stored_entries().await, [true, true, true]);
    assert_eq!(machine.process().await.state(), SessionState::SignedOut);
    assert_eq!(machine.stored_entries().await, [false, false, false]);
    let session = machine.process().await;
    assert_eq!((session.state(), session.label()), (SessionState::SignedOut, None));
    machine.sign_in(&session).await;
}

/// IDP-24: remaining secrets cannot be used, even after a later login and logout with a different store.
#[tokio::test(start_paused = true)]
async fn leftovers_are_deleted_after_a_login_elsewhere() {
    let machine = Machine::new();
    drop(machine.signed_in().await);
    let builder = || machine.builder().credentials(gone());
    assert!(!builder().open_without_credentials().await.unwrap().disconnect().await.is_complete());
    let files = MemoryCredentials::new();
    let elsewhere = machine.builder().credentials(files.clone()).open().await.unwrap();
    machine.sign_in(&elsewhere).await;
    let again = machine.builder().credentials(files).open().await.unwrap();
    assert_eq!(again.state(), SessionState::Active);
    assert!(elsewhere.disconnect().await.is_complete());
    // The same applies after a second logout without access to the store.
    assert!(!builder().open_without_credentials().await.unwrap().disconnect().await.is_complete());
    assert_eq!(machine.stored_entries().await, [true; 3]);
    assert_eq!(machine.process().await.state(), SessionState::SignedOut);
    assert_eq!(machine.stored_entries().await, [false; 3]);
}

/// IDP-24: a running process detects the logout of another process at its next refresh or login, and deletes
/// the remaining secrets. It sends no token request with them, and the next login has a new key.
#[tokio::test(start_paused = true)]
async fn running_process_deletes_logout_leftovers() {
    for signs_in in [false, true] {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        let key = machine.content(CredentialEntry::DpopKey).await;
        let without = machine.builder().credentials(gone()).open_without_credentials().await.unwrap();
        assert!(!without.disconnect().await.is_complete());
        assert_eq!(machine.stored_entries().await, [true; 3]);
        if signs_in {
            machine.sign_in(&session).await;
            assert!(machine.content(CredentialEntry::DpopKey).await != key);
        } else {
            machine.pass(301).await;
            let found = (kind(&session).await, session.state());
            assert_eq!(found, (ErrorKind::SignInNeeded, SessionState::SignedOut));
            assert_eq!(machine.stored_entries().await, [false; 3]);
        }
        assert_eq!(machine.refreshes(), 0);
    }
}

/// IDP-24: if nothing can be deleted, a second logout records the connection only once.
#[tokio::test(start_paused = true)]
async fn second_logout_records_leftovers_once() {
    let machine = Machine::new();
    drop(machine.signed_in().await);
    let mut noted = Vec::new();
    for _ in 0..2 {
        let undeletable = HookedStore::new(
            "Undeletable",
            machine.store.inner.clone(),
            async |operation, _| match operation {
                StoreOperation::Delete => Err(CredentialError::Locked),
                StoreOperation::Read | StoreOperation::Write => Ok(()),
            },
        );
        let builder = machine.builder().credentials(undeletable);
        assert!(!builder.open_without_credentials().await.unwrap().disconnect().await.is_complete());
        let notes = std::fs::read_to_string(machine.folder.path().join("state/session.json")).unwrap();
        noted.push(serde_json::from_str::<serde_json::Value>(&notes).unwrap()["left"].clone());
    }
    assert_eq!(noted[0].as_array().map(Vec::len), Some(1));
    assert_eq!(noted[0], noted[1]);
}

/// IDP-23, IDP-24: tokens that an earlier version stored, under a name without the gateway, are revoked with
/// their own key and deleted. A failed revocation is reported.
#[tokio::test(start_paused = true)]
async fn tokens_under_old_names_are_revoked() {
    for is_reachable in [true, false] {
        let machine = Machine::new();
        drop(machine.signed_in().await);
        let address = ExchangeAddress::new(ISSUER, "https://api.example").unwrap();
        let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        let now = CredentialOwner::new(&address, &identity, "default");
        let (before, store) = (now.without_gateway(), &machine.store.inner);
        for entry in CredentialEntry::ALL {
            let secret = store.read(&now, entry).await.unwrap().unwrap();
            store.write(&before, entry, &secret).await.unwrap();
            store.delete(&now, entry).await.unwrap();
        }
        let session = machine.process().await;
        assert_eq!(session.state(), SessionState::SignedOut);
        if !is_reachable {
            machine.fake.enqueue_reply("oauth.revoke", FakeReply::Refused);
        }
        let report = session.disconnect().await;
        assert!(report.is_complete(), "{report:?}");
        assert_eq!(matches!(report.revoked, StepOutcome::Done), is_reachable, "{report:?}");
        assert_eq!(matches!(report.revoked, StepOutcome::Failed(_)), !is_reachable, "{report:?}");
        assert_eq!(machine.fake.count_requests("oauth.revoke"), 1);
        for entry in CredentialEntry::ALL {
            assert_eq!(store.read(&before, entry).await, Ok(None), "{entry}");
        }
    }
}

/// IDP-24: local data is deleted whatever the result of the revocation is.
#[tokio::test(start_paused = true)]
async fn disconnection_does_not_wait_for_the_provider() {
    let replies = [
        FakeReply::Refused,
        FakeReply::Lost,
        FakeReply::Delayed(Duration::from_secs(60)),
        FakeReply::Page(502, "<html>hush"),
        FakeReply::Json(400, serde_json::json!({ "error": "invalid_grant", "error_description": "hush" })),
    ];
    for reply in replies {
        let machine = Machine::new();
        let session = machine.signed_in().await;
        machine.fake.enqueue_reply("oauth.revoke", reply);
        let report = session.disconnect().await;
        is_silent(&report);
        assert!(matches!(report.revoked, StepOutcome::Failed(_)) && report.is_complete());
        assert_eq!(machine.fake.count_requests("oauth.revoke"), 1);
        assert_eq!(machine.stored_entries().await, [false, false, false]);
    }
}

/// IDP-02: tokens are sent only to the exchange for which they were issued.
#[tokio::test(start_paused = true)]
async fn session_is_bound_to_one_exchange() {
    let machine = Machine::new();
    let session = machine.process().await;
    let built = |issuer: &str, gateway: &str| {
        let address = ExchangeAddress::new(issuer, gateway).unwrap();
        crate::Exchange::builder(address, session.identity().clone())
            .transport(machine.fake.clone())
            .build(&session)
    };
    assert!(built(ISSUER, "https://api.example").unwrap().session().is_some());
    for (issuer, gateway) in [(ISSUER, "https://api.other"), ("https://id.example", "https://api.example")] {
        assert_eq!(built(issuer, gateway).unwrap_err().kind(), ErrorKind::Bug);
    }
}

/// If any future is dropped at any moment, no token is lost and no lock remains, and later calls succeed.
#[tokio::test(start_paused = true)]
async fn futures_can_be_dropped_anywhere() {
    let machine = Machine::new();
    machine.fake.state().strict = true;
    let session = machine.signed_in().await;
    let other = machine.process().await;
    for millis in (0..120).step_by(5) {
        machine.pass(301).await;
        let short = Duration::from_millis(millis);
        let _ = tokio::time::timeout(short, session.current_grant()).await;
        let _ = tokio::time::timeout(short, note(&session, ConnectionNote::Label("desk"))).await;
        token(&other).await;
        token(&session).await;
    }
    assert_eq!((session.state(), machine.refreshes()), (SessionState::Active, 24));
    let _ = tokio::time::timeout(
        Duration::from_millis(10),
        report_error(&session, ErrorKind::Ended(EndReason::ClientDisconnected)),
    )
    .await;
    let _ = tokio::time::timeout(Duration::from_millis(10), session.disconnect()).await;
    machine.pass(1).await;
    assert_eq!(machine.stored_entries().await, [false, false, false]);
}

/// ERR-12, ERR-13, ERR-15: a rejection has no effect if its call was sent before a new sign-in, or before the
/// member lifted a halt. It does not end or halt the session, and does not delete a newer key.
#[tokio::test(start_paused = true)]
async fn late_rejection_applies_to_its_own_grant() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let old = session.current_grant().await.unwrap();
    session.resume().await.unwrap();
    report_error_for(&session, &old, ErrorKind::Halted(HaltReason::TermsNotAccepted)).await;
    assert_eq!(session.state(), SessionState::Active);
    machine.sign_in(&session).await;
    report_error_for(&session, &old, ErrorKind::Ended(EndReason::InstallationDisconnected)).await;
    assert_eq!((session.state(), machine.stored_entries().await), (SessionState::Active, [true; 3]));
    // Another process disconnects and creates a new key, without completing a login.
    let old = session.current_grant().await.unwrap();
    let other = machine.process().await;
    other.disconnect().await;
    let _login = other.sign_in(&[]).await.unwrap();
    report_error_for(&session, &old, ErrorKind::Ended(EndReason::InstallationDisconnected)).await;
    assert_eq!(machine.stored_entries().await, [true, false, false]);
}

/// IDP-24: the current token is revoked even if the store did not accept it, and the refresh token is deleted
/// even if the access token cannot be deleted.
#[tokio::test(start_paused = true)]
async fn disconnection_revokes_the_current_token() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    machine.pass(301).await;
    machine.store.be_full(true);
    assert_eq!(kind(&session).await, ErrorKind::Secrets);
    machine.store.stuck.store(true, Ordering::SeqCst);
    let report = session.disconnect().await;
    assert!(
        matches!(report.tokens, StepOutcome::Failed(_))
            && !machine.is_stored(CredentialEntry::RefreshToken).await
    );
    let form = machine.fake.state().forms.last().cloned().unwrap();
    assert!(form.contains("hush-refresh-3"), "{form}");
}

/// ERR-12: if the store does not respond, the owner of its tokens is unknown, so a reported end of the
/// connection does not delete any token.
#[tokio::test(start_paused = true)]
async fn unresponsive_store_loses_no_entries() {
    let machine = Machine::new();
    let session = machine.signed_in().await;
    let old = session.current_grant().await.unwrap();
    let other = machine.process().await;
    machine.sign_in(&other).await;
    machine.store.slow.store(true, Ordering::SeqCst);
    report_error_for(&session, &old, ErrorKind::Ended(EndReason::ClientDisconnected)).await;
    assert_eq!(session.state(), SessionState::Ended(EndReason::ClientDisconnected));
    machine.store.slow.store(false, Ordering::SeqCst);
    machine.pass(100).await;
    assert_eq!(machine.stored_entries().await, [true; 3]);
    machine.pass(250).await;
    token(&other).await;
}
