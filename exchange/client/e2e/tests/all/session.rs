//! Tests of device logins, refreshes and ends of connections, with the real identity provider and gateway.
//!
//! The client uses the sandbox's clock, which the test advances, so that the test does not wait.

use std::{path::Path, time::Duration};

use exchange_client::{
    BlueprintChanges, ClientIdentity, Connection, CredentialEntry, CredentialOwner, CredentialStore,
    DisconnectReport, EndReason, Error, ErrorKind, Exchange, ExchangeAddress, HaltReason,
    InsecureFileCredentials, LoginProgress, MemoryCredentials, MemoryOutbox, Session, SessionState,
    StepOutcome, api::scopes::Scope, changes::known::KnownItem,
};
use exchange_client_e2e::{LossyNetwork, MEMBER, SandboxClock, SleepMode};
use exchange_service::{
    admin::{self, AdminContext, AdminError},
    config::{Config, ProofProfile},
    ids::InstallationId,
    sandbox::{Sandbox, SandboxAction, SandboxOptions},
    store,
    time::Clock as _,
};

/// A fixture: a sandbox, and a machine with a client.
struct SessionFixture {
    sandbox: Sandbox,
    address: ExchangeAddress,
    clock: SandboxClock,
    network: LossyNetwork,
}

fn identity() -> ClientIdentity {
    exchange_client_e2e::identity("sandbox-client")
}

impl SessionFixture {
    async fn new() -> Self {
        Self::with(SandboxOptions::default()).await
    }

    async fn with(options: SandboxOptions) -> Self {
        let sandbox = Sandbox::with_options(options).await.unwrap();
        let address = exchange_client_e2e::exchange_address(&sandbox);
        let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::WaitForTest);
        Self { sandbox, address, clock, network: LossyNetwork::new() }
    }

    /// Starts a process with its secrets in this store and its other data in this folder.
    async fn process(&self, store: impl CredentialStore + 'static, folder: Option<&Path>) -> Session {
        let builder = Session::builder(&self.address, &identity())
            .environment(self.clock.environment())
            .transport(self.network.clone())
            .credentials(store);
        let builder = match folder {
            Some(folder) => builder.state_folder(folder),
            None => builder,
        };
        builder.open().await.unwrap()
    }

    /// Starts a process that is signed in, and returns its session and its store.
    async fn signed_in(&self) -> (Session, MemoryCredentials) {
        let store = MemoryCredentials::new();
        let session = self.process(store.clone(), None).await;
        self.sign_in(&session, &[Scope::ExchangeStockRead]).await;
        (session, store)
    }

    async fn sign_in(&self, session: &Session, scopes: &[Scope]) {
        exchange_client_e2e::sign_in(session, &self.sandbox, scopes).await.unwrap();
    }

    fn exchange(&self, session: &Session) -> Exchange {
        Exchange::builder(self.address.clone(), identity()).build(session).unwrap()
    }

    /// Calls the gateway and returns the installation id from its response.
    async fn call(&self, session: &Session) -> Result<String, Error> {
        let connection = self.exchange(session).connection().await?;
        Ok(connection.installation_id().unwrap().to_string())
    }

    fn advance(&self, seconds: u64) {
        self.sandbox.advance(Duration::from_secs(seconds));
    }

    async fn has(&self, store: &MemoryCredentials, entry: CredentialEntry) -> bool {
        let owner = CredentialOwner::new(&self.address, &identity(), "default");
        store.read(&owner, entry).await.unwrap().is_some()
    }
}

/// IDP-05, IDP-09, IDP-11, IDP-14, IDP-17, ERR-43: a member approves a login, and the client can then call
/// the gateway.
#[tokio::test]
async fn a_member_approves_a_login() {
    let fixture = SessionFixture::new().await;
    let session = fixture.process(MemoryCredentials::new(), None).await;
    let login = session.sign_in(&[Scope::ExchangeStockRead, Scope::ExchangeHangarRead]).await.unwrap();
    assert_eq!(login.verification_uri(), fixture.sandbox.directory().pages);
    assert!(login.expires_in() > Duration::from_secs(590));
    let code = login.user_code().to_owned();
    fixture.sandbox.advance(login.next_check());
    // The client polls once, after the approval.
    let (sender, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let finish = login.finish_with(move |progress| sender.send(progress).unwrap());
    let approve = async {
        let Some(LoginProgress::Waiting { next, .. }) = waits.recv().await else {
            panic!("the login does not wait")
        };
        fixture.sandbox.approve(&code, MEMBER).await.unwrap();
        fixture.sandbox.advance(next);
    };
    let (done, ()) = tokio::join!(finish, approve);
    done.unwrap();
    assert_eq!(session.state(), SessionState::Active);
    for scope in [Scope::ExchangeConnect, Scope::ExchangeStockRead, Scope::ExchangeHangarRead] {
        assert!(session.has_scope(&scope), "{scope}");
    }
    assert_eq!(session.scopes().len(), 3);
    fixture.call(&session).await.unwrap();
}

/// ERR-45, ERR-46: after a declined or expired login, no member is signed in.
#[tokio::test]
async fn login_is_declined_or_expires() {
    let fixture = SessionFixture::new().await;
    let session = fixture.process(MemoryCredentials::new(), None).await;
    let login = session.sign_in(&[]).await.unwrap();
    fixture.sandbox.decline(login.user_code(), MEMBER).await.unwrap();
    fixture.sandbox.advance(login.next_check());
    assert_eq!(login.finish().await.unwrap_err().kind(), ErrorKind::Declined);

    let login = session.sign_in(&[]).await.unwrap();
    // The machine was suspended but its clock shows the old time, so the provider reports the expiry.
    fixture.advance(601);
    fixture.clock.set_clock_offset(-601);
    let error = login.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::CodeExpired);
    assert_eq!(error.oauth_error().map(ToString::to_string).as_deref(), Some("expired_token"));
    assert_eq!(session.state(), SessionState::SignedOut);
    assert_eq!(fixture.call(&session).await.unwrap_err().kind(), ErrorKind::SignInNeeded);
}

/// ERR-44: after `slow_down` the client polls less often.
#[tokio::test]
async fn login_slows_down_on_request() {
    let fixture = SessionFixture::new().await;
    let session = fixture.process(MemoryCredentials::new(), None).await;
    let login = session.sign_in(&[]).await.unwrap();
    let code = login.user_code().to_owned();
    fixture.sandbox.advance(login.next_check());
    let (sender, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let finish = login.finish_with(move |progress| sender.send(progress).unwrap());
    let member = async {
        let mut wait = async || {
            let Some(LoginProgress::Waiting { next, .. }) = waits.recv().await else {
                panic!("the login does not wait")
            };
            next
        };
        assert_eq!(wait().await.as_secs_f64().round(), 6.0);
        // The timer of this machine runs fast.
        fixture.clock.set_ahead(6);
        let next = wait().await;
        assert_eq!(next.as_secs_f64().round(), 14.0);
        fixture.sandbox.approve(&code, MEMBER).await.unwrap();
        fixture.sandbox.advance(next);
    };
    let (done, ()) = tokio::join!(finish, member);
    done.unwrap();
}

/// IDP-19, IDP-22: tokens are refreshed before they expire, and the gateway accepts each of them.
#[tokio::test]
async fn tokens_are_refreshed() {
    let fixture = SessionFixture::new().await;
    let (session, _) = fixture.signed_in().await;
    let id = fixture.call(&session).await.unwrap();
    for _ in 0..4 {
        fixture.advance(241);
        assert_eq!(fixture.call(&session).await.unwrap(), id);
    }
    assert_eq!(session.state(), SessionState::Active);
}

/// IDP-19, ERR-47: if the response to a refresh is lost, the same token is sent again, and the connection
/// continues.
#[tokio::test]
async fn lost_token_rotation_is_recovered() {
    let fixture = SessionFixture::new().await;
    let (session, _) = fixture.signed_in().await;
    let id = fixture.call(&session).await.unwrap();
    fixture.advance(301);
    fixture.network.lose_next_response("oauth.token");
    assert_eq!(fixture.call(&session).await.unwrap_err().kind(), ErrorKind::Unreachable);
    assert_eq!(session.state(), SessionState::Active);
    fixture.advance(6);
    assert_eq!(fixture.call(&session).await.unwrap(), id);
    // From now on, the successor of the token is used.
    fixture.advance(301);
    assert_eq!(fixture.call(&session).await.unwrap(), id);
}

/// ERR-05, ERR-06: a token that the gateway rejects is refreshed once, and the call continues.
#[tokio::test]
async fn rejected_token_is_refreshed() {
    let fixture = SessionFixture::new().await;
    let (session, _) = fixture.signed_in().await;
    let id = fixture.call(&session).await.unwrap();
    // The local clocks did not advance, so the client considers the token valid.
    fixture.advance(400);
    fixture.clock.set_ahead(-400);
    assert_eq!(fixture.call(&session).await.unwrap(), id);
}

/// IDP-18, IDP-19: two processes share the key, the tokens and the lock through files.
#[tokio::test]
async fn processes_share_a_connection() {
    let fixture = SessionFixture::new().await;
    let folder = tempfile::tempdir().unwrap();
    let (secrets, state) = (folder.path().join("secrets"), folder.path().join("state"));
    let store = || InsecureFileCredentials::open(&secrets).unwrap();
    let one = fixture.process(store(), Some(&state)).await;
    fixture.sign_in(&one, &[Scope::ExchangeStockRead]).await;
    let id = fixture.call(&one).await.unwrap();
    let two = fixture.process(store(), Some(&state)).await;
    assert_eq!((two.state(), two.installation_id()), (SessionState::Active, Some(id.clone())));
    assert!(two.has_scope(&Scope::ExchangeStockRead));
    for _ in 0..3 {
        fixture.advance(301);
        let (first, second) = tokio::join!(fixture.call(&one), fixture.call(&two));
        assert_eq!((first.unwrap(), second.unwrap()), (id.clone(), id.clone()));
    }
    let DisconnectReport { revoked, .. } = two.disconnect().await;
    assert!(matches!(revoked, StepOutcome::Done), "{revoked:?}");
    fixture.advance(301);
    assert_eq!(fixture.call(&one).await.unwrap_err().kind(), ErrorKind::SignInNeeded);
    assert_eq!(one.state(), SessionState::SignedOut);
}

/// IDP-25, ERR-12: after the member disconnects the client in the web application, the tokens are deleted,
/// the key is kept, and the client does not sign in by itself.
#[tokio::test]
async fn the_member_disconnects_the_client() {
    let fixture = SessionFixture::new().await;
    let (session, store) = fixture.signed_in().await;
    let id = fixture.call(&session).await.unwrap();
    fixture.advance(1);
    let act = SandboxAction::Disconnect { client: "sandbox-client".to_owned() };
    fixture.sandbox.act(MEMBER, act).await.unwrap();
    let error = fixture.call(&session).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Ended(EndReason::ClientDisconnected));
    assert_eq!(session.state(), SessionState::Ended(EndReason::ClientDisconnected));
    assert!(fixture.has(&store, CredentialEntry::DpopKey).await);
    assert!(
        !fixture.has(&store, CredentialEntry::RefreshToken).await
            && !fixture.has(&store, CredentialEntry::AccessToken).await
    );
    // After the member signs in again, the installation is the same.
    fixture.advance(1);
    fixture.sign_in(&session, &[]).await;
    assert_eq!(fixture.call(&session).await.unwrap(), id);
}

/// IDP-25, ERR-47: the end of a connection is also detected during a refresh.
#[tokio::test]
async fn refresh_detects_an_ended_connection() {
    let fixture = SessionFixture::new().await;
    let (session, store) = fixture.signed_in().await;
    fixture.advance(301);
    let act = SandboxAction::Disconnect { client: "sandbox-client".to_owned() };
    fixture.sandbox.act(MEMBER, act).await.unwrap();
    assert_eq!(fixture.call(&session).await.unwrap_err().kind(), ErrorKind::Ended(EndReason::GrantRevoked));
    assert_eq!(session.state(), SessionState::Ended(EndReason::GrantRevoked));
    assert!(!fixture.has(&store, CredentialEntry::RefreshToken).await);
}

/// ERR-13: if this installation is disconnected, its key is deleted as well, and the next sign-in creates a
/// new installation.
#[tokio::test]
async fn an_installation_is_disconnected() {
    let folder = tempfile::tempdir().unwrap();
    let options = SandboxOptions { data: Some(folder.path().to_owned()), ..SandboxOptions::default() };
    let fixture = SessionFixture::with(options).await;
    let (session, store) = fixture.signed_in().await;
    let id = fixture.call(&session).await.unwrap();
    fixture.advance(1);
    let now = fixture.sandbox.clock().now();
    let installation = InstallationId::new(id.clone());
    let ended: Result<_, AdminError> = store::edit_store(folder.path(), |connection| {
        admin::end_installation(connection, &AdminContext::new("admin", now)?, &installation)
    });
    ended.unwrap();
    assert_eq!(
        fixture.call(&session).await.unwrap_err().kind(),
        ErrorKind::Ended(EndReason::InstallationDisconnected)
    );
    assert!(
        !fixture.has(&store, CredentialEntry::DpopKey).await
            && !fixture.has(&store, CredentialEntry::RefreshToken).await
    );
    fixture.sign_in(&session, &[]).await;
    assert_ne!(fixture.call(&session).await.unwrap(), id);
}

/// ERR-15, CLI-04: a suspended client halts and sends no request until the member resumes it.
#[tokio::test]
async fn suspended_client_halts() {
    let fixture = SessionFixture::new().await;
    let (session, _) = fixture.signed_in().await;
    let suspend = |suspended| {
        fixture.sandbox.act(MEMBER, SandboxAction::Suspend { client: "sandbox-client".to_owned(), suspended })
    };
    suspend(true).await.unwrap();
    assert_eq!(fixture.call(&session).await.unwrap_err().kind(), ErrorKind::Halted(HaltReason::Suspended));
    suspend(false).await.unwrap();
    // The gateway would accept the client within five seconds, but the client does not send a request.
    fixture.advance(6);
    assert_eq!(fixture.call(&session).await.unwrap_err().kind(), ErrorKind::Halted(HaltReason::Suspended));
    assert_eq!(session.resume().await.unwrap(), SessionState::Active);
    fixture.call(&session).await.unwrap();
}

/// DPP-17, ERR-50, IDP-23: if the provider requires nonces, the client sends the provider's nonce to its
/// token and revocation endpoints, although the gateway has the same origin.
#[tokio::test]
async fn provider_may_require_nonces() {
    let mut config = Config::default();
    config.idp.profile = ProofProfile::Rfc9449;
    config.idp.password_kib = 64;
    config.idp.password_passes = 1;
    let fixture =
        SessionFixture::with(SandboxOptions { config: Some(config), ..SandboxOptions::default() }).await;
    let (session, _) = fixture.signed_in().await;
    for _ in 0..3 {
        fixture.call(&session).await.unwrap();
        fixture.advance(301);
    }
    let report = session.disconnect().await;
    assert!(matches!(report.revoked, StepOutcome::Done) && report.is_complete(), "{report:?}");
}

/// DPP-10, ERR-49: the client works with a clock that is wrong by an hour.
#[tokio::test]
async fn wrong_clock_is_tolerated() {
    for wrong_by in [-3600, 3600] {
        let fixture = SessionFixture::new().await;
        fixture.clock.set_clock_offset(wrong_by);
        let (session, _) = fixture.signed_in().await;
        fixture.call(&session).await.unwrap();
        fixture.advance(301);
        fixture.call(&session).await.unwrap();
    }
}

/// SVC-03, SVC-07: reading the connection stores the installation id, also for the next process. An outbox
/// belongs to that installation, and cannot be created without an id.
#[tokio::test]
async fn reading_the_connection_stores_the_installation() {
    let (fixture, store, folder) =
        (SessionFixture::new().await, MemoryCredentials::new(), tempfile::tempdir().unwrap());
    let session = fixture.process(store.clone(), Some(folder.path())).await;
    fixture.sign_in(&session, &[Scope::ExchangeStockRead]).await;
    assert_eq!(session.installation_id(), None);
    let exchange = fixture.exchange(&session);
    let connection = exchange.connection().await.unwrap();
    let id = connection.installation_id().unwrap().to_string();
    assert_eq!(session.installation_id().as_deref(), Some(&*id));
    let next = fixture.process(store, Some(folder.path())).await;
    assert_eq!(next.installation_id(), Some(id));

    let store = MemoryOutbox::new();
    let outbox = exchange.outbox(store.clone(), &connection).unwrap();
    let mut changes = BlueprintChanges::new();
    changes
        .add(KnownItem { name: Some("Sandbox Knife".to_owned()), ..KnownItem::default() }.item_ref().unwrap())
        .unwrap();
    outbox.enqueue(changes).await.unwrap();
    let reopened = exchange.outbox(store, &connection).unwrap();
    assert_eq!(reopened.entries().await.unwrap().len(), 1);

    let mut nameless = connection.document().clone();
    nameless.installation_id = None;
    let nameless = Connection::from_document(nameless, exchange.identity(), None);
    let refused = exchange.outbox(MemoryOutbox::new(), &nameless).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Busy);
}
