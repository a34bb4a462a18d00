//! Tests of sessions with an in-memory provider, in virtual time. Several sessions with the same store and
//! folder stand for several processes.

mod ends;
mod members;
mod secrets;
mod shared;
mod signing_in;
mod waits;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use exchange_api::scopes::Scope;

use super::{Session, SessionBuilder};
use crate::{
    address::ExchangeAddress,
    credentials::{
        CredentialEntry, CredentialError, CredentialOwner, CredentialStore, MemoryCredentials, SecretBytes,
    },
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    oauth::fake_provider::{FakeProvider, ISSUER, PLANTED},
    state::SessionState,
    testkit::VirtualEnvironment,
    token_source::{AccessGrant, BoxFuture, ConnectionNote, TokenSource as _},
};

/// A simulated machine with a provider, a secret store and a folder.
struct Machine {
    time: VirtualEnvironment,
    fake: FakeProvider,
    store: WatchedStore,
    folder: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let time = VirtualEnvironment::new(7);
        let fake = FakeProvider::new(&time);
        let store = WatchedStore::new(&fake);
        Self { time, fake, store, folder: tempfile::tempdir().unwrap() }
    }

    fn builder(&self) -> SessionBuilder {
        let address = ExchangeAddress::new(ISSUER, "https://api.example").unwrap();
        let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        Session::builder(&address, &identity)
            .environment(self.time.environment())
            .credentials(self.store.clone())
            .state_folder(self.folder.path().join("state"))
            .transport(self.fake.clone())
    }

    /// Starts a process, which opens the stored session.
    async fn process(&self) -> Session {
        self.builder().open().await.unwrap()
    }

    /// Starts a process and signs a member in.
    async fn signed_in(&self) -> Session {
        let session = self.process().await;
        self.sign_in(&session).await;
        session
    }

    async fn sign_in(&self, session: &Session) {
        let login = session.sign_in(&[Scope::ExchangeStockRead]).await.unwrap();
        self.fake.state().decision = Some(true);
        login.finish().await.unwrap();
        assert_eq!(session.state(), SessionState::Active);
    }

    async fn is_stored(&self, entry: CredentialEntry) -> bool {
        self.content(entry).await.is_some()
    }

    async fn content(&self, entry: CredentialEntry) -> Option<SecretBytes> {
        let owner = CredentialOwner::new(
            &ExchangeAddress::new(ISSUER, "https://api.example").unwrap(),
            &ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap(),
            "default",
        );
        self.store.inner.read(&owner, entry).await.unwrap()
    }

    /// Returns whether the key, the refresh token and the access token are stored.
    async fn stored_entries(&self) -> [bool; 3] {
        [
            self.is_stored(CredentialEntry::DpopKey).await,
            self.is_stored(CredentialEntry::RefreshToken).await,
            self.is_stored(CredentialEntry::AccessToken).await,
        ]
    }

    fn refreshes(&self) -> usize {
        let state = self.fake.state();
        state.forms.iter().filter(|form| form.contains("grant_type=refresh_token")).count()
    }

    async fn pass(&self, seconds: u64) {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

/// Returns a name that identifies the current token in assertions.
async fn token(session: &Session) -> String {
    name(&session.current_grant().await.unwrap())
}

fn name(grant: &AccessGrant) -> String {
    grant.token.hash().to_string()
}

async fn kind(session: &Session) -> ErrorKind {
    let error = session.current_grant().await.err().unwrap();
    is_silent(&error);
    error.kind()
}

/// Asserts that the `Debug` output does not contain a secret.
fn is_silent(shown: &(impl std::fmt::Debug + ?Sized)) {
    assert!(!format!("{shown:?}").contains(PLANTED), "{shown:?}");
}

/// An in-memory store that can fail. It records deletions together with the number of revocations before
/// them.
#[derive(Clone)]
struct WatchedStore {
    inner: MemoryCredentials,
    fake: FakeProvider,
    /// True if writes of refresh tokens fail.
    full: Arc<AtomicBool>,
    slow: Arc<AtomicBool>,
    /// True if writes of refresh tokens are performed after the session has stopped waiting for them.
    late: Arc<AtomicBool>,
    /// True if deletions of access tokens fail.
    stuck: Arc<AtomicBool>,
    deleted: Arc<Mutex<Vec<(CredentialEntry, usize)>>>,
}

impl WatchedStore {
    fn new(fake: &FakeProvider) -> Self {
        Self {
            inner: MemoryCredentials::new(),
            fake: fake.clone(),
            full: Arc::default(),
            slow: Arc::default(),
            late: Arc::default(),
            stuck: Arc::default(),
            deleted: Arc::default(),
        }
    }

    fn be_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }

    async fn wait(&self) {
        if self.slow.load(Ordering::SeqCst) {
            tokio::time::sleep(Duration::from_secs(40)).await;
        }
    }
}

impl CredentialStore for WatchedStore {
    fn name(&self) -> &'static str {
        "Watched Store"
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        Box::pin(async move {
            self.wait().await;
            self.inner.read(owner, entry).await
        })
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.wait().await;
            if entry == CredentialEntry::RefreshToken && self.full.load(Ordering::SeqCst) {
                return Err(CredentialError::Locked);
            }
            if entry == CredentialEntry::RefreshToken && self.late.load(Ordering::SeqCst) {
                tokio::time::sleep(Duration::from_secs(35)).await;
            }
            self.inner.write(owner, entry, secret).await
        })
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.deleted.lock().unwrap().push((entry, self.fake.count_requests("oauth.revoke")));
            if entry == CredentialEntry::AccessToken && self.stuck.load(Ordering::SeqCst) {
                return Err(CredentialError::Locked);
            }
            self.inner.delete(owner, entry).await
        })
    }
}

/// The client reads a provider's response only up to the size limit.
#[cfg(feature = "reqwest")]
#[tokio::test]
async fn oversized_response_is_not_read_further() {
    use exchange_api::runtime::{
        operation::Operation,
        transport::{Transport as _, TransportFault},
    };

    use crate::testkit::{TcpServer, TcpStep};

    // The response announces a hundred megabytes, but sends only the first bytes, up to one byte above the
    // limit.
    let begun = bytes::Bytes::from(vec![b' '; crate::oauth::MAX_RESPONSE_SIZE + 1]);
    let server = TcpServer::start(move |_, _| {
        let head = TcpStep::write("HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n");
        vec![head, TcpStep::Write(begun.clone()), TcpStep::Wait(Duration::from_secs(3600))]
    });
    let server = server.await.unwrap();
    let request = http::Request::post(server.origin()).body(bytes::Bytes::new()).unwrap();
    let network = super::default_transport().unwrap();
    let response = tokio::time::timeout(Duration::from_secs(60), network.send(&Operation::EMPTY, request));
    let error = response.await.expect("the client stops at the limit").unwrap_err();
    assert_eq!(error.fault(), TransportFault::TooLarge);
}

/// Records data about the current connection, as if the exchange had returned it.
async fn note(session: &Session, note: ConnectionNote<'_>) -> Result<(), Error> {
    session.record_note(&session.current_owner().unwrap(), note).await
}

async fn store_installation_id(session: &Session, installation: &str) {
    note(session, ConnectionNote::Installation(installation)).await.unwrap();
}

/// Reports an error as the transport does for a call that is sent now.
async fn report_error(session: &Session, kind: ErrorKind) {
    let grant = session.current_grant().await.unwrap();
    report_error_for(session, &grant, kind).await;
}

/// Reports an error as the transport does for a call that was sent with this grant.
async fn report_error_for(session: &Session, grant: &AccessGrant, kind: ErrorKind) {
    session.report_rejection(grant, &Error::new(kind, "refused")).await;
}
