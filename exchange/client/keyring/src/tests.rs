//! Tests of the platform store with in-memory stores: stored entries, errors, and timeouts.

use std::{
    any::Any,
    collections::HashMap,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use exchange_client::{
    ClientIdentity, CredentialEntry, CredentialError, CredentialOwner, CredentialStore, ErrorKind,
    ExchangeAddress, SecretBytes, Session,
    testkit::{ScriptedServer, VirtualEnvironment},
};
use keyring_core::{Error, api::CredentialStoreApi, mock};

use super::{PlatformStore, platform};

fn place() -> ExchangeAddress {
    ExchangeAddress::new("https://id.example", "https://api.example").unwrap()
}

fn identity() -> ClientIdentity {
    ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap()
}

fn owner(profile: &str) -> CredentialOwner {
    CredentialOwner::new(&place(), &identity(), profile)
}

fn secret(bytes: &[u8]) -> SecretBytes {
    SecretBytes::new(bytes.to_vec())
}

/// Makes the next call on the refresh token of the default profile fail with this error.
fn fail_once(mock: &mock::Store, error: Error) {
    let entry =
        mock.build("desk", "https://id.example/https://api.example/default/refresh-token", None).unwrap();
    entry.as_any().downcast_ref::<mock::Cred>().unwrap().set_error(error);
}

/// Returns a store, the persistent in-memory store that it uses, and the number of its connections.
fn counted() -> (PlatformStore, Arc<mock::Store>, Arc<AtomicUsize>) {
    let (mock, connections) = (mock::Store::new().unwrap(), Arc::new(AtomicUsize::new(0)));
    let store = PlatformStore::with_connect({
        let (mock, connections) = (Arc::clone(&mock), Arc::clone(&connections));
        move || {
            connections.fetch_add(1, Ordering::SeqCst);
            Ok(mock.clone())
        }
    });
    (store, mock, connections)
}

/// IDP-18: entries can be stored, replaced and deleted, and those of different owners are separate.
#[tokio::test]
async fn stored_entries_round_trip() {
    let (store, _, connections) = counted();
    let (mine, other) = (owner("default"), owner("second"));
    let elsewhere = ExchangeAddress::new("https://id.example", "https://api-2.example").unwrap();
    let elsewhere = CredentialOwner::new(&elsewhere, &identity(), "default");
    for entry in CredentialEntry::ALL {
        assert_eq!(store.read(&mine, entry).await, Ok(None));
        assert_eq!(store.delete(&mine, entry).await, Ok(()));
        store.write(&mine, entry, &secret(b"first")).await.unwrap();
        store.write(&mine, entry, &secret(b"\xff")).await.unwrap();
        assert_eq!(store.read(&mine, entry).await, Ok(Some(secret(b"\xff"))));
        assert_eq!(store.read(&other, entry).await, Ok(None));
        assert_eq!(store.read(&elsewhere, entry).await, Ok(None), "the entry belongs to another gateway");
    }
    store.delete(&mine, CredentialEntry::RefreshToken).await.unwrap();
    // A clone shares the connection.
    assert_eq!(store.clone().read(&mine, CredentialEntry::RefreshToken).await, Ok(None));
    assert_eq!(store.read(&mine, CredentialEntry::DpopKey).await, Ok(Some(secret(b"\xff"))));
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

/// IDP-24: a disconnection also deletes entries under the names of earlier versions, which did not contain
/// the gateway. Entries of other profiles are kept.
#[tokio::test]
async fn entries_under_old_names_are_deleted() {
    let (store, mock, _) = counted();
    let old = |profile| {
        let name = format!("https://id.example/{profile}/refresh-token");
        let entry = mock.build("desk", &name, None).unwrap();
        entry.set_secret(b"hex:68757368").unwrap();
        entry
    };
    let (mine, others) = (old("default"), old("second"));
    let report = open(store).await.unwrap().disconnect().await;
    assert!(report.is_complete(), "{report:?}");
    assert!(matches!(mine.get_secret(), Err(Error::NoEntry)));
    assert!(others.get_secret().is_ok());
}

/// IDP-18: an entry that another program wrote is neither used as a secret nor printed.
#[tokio::test]
async fn foreign_entry_is_rejected() {
    let (store, mock, _) = counted();
    let entry = mock.build("desk", "https://id.example/https://api.example/default/dpop-key", None).unwrap();
    entry.set_secret(b"hex:hush").unwrap();
    let error = store.read(&owner("default"), CredentialEntry::DpopKey).await.unwrap_err();
    assert_eq!(error.to_string(), "failed: an entry was changed by another program");
}

/// IDP-18: a missing store causes an error, no secret is stored elsewhere, and the next call looks the store
/// up again.
#[tokio::test]
async fn missing_store_is_looked_up_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let mock = mock::Store::new().unwrap();
    let store = PlatformStore::with_connect({
        let tries = Arc::clone(&tries);
        move || match tries.fetch_add(1, Ordering::SeqCst) {
            0 => Err(Error::PlatformFailure("no session bus".into())),
            1 => Err(Error::NoStorageAccess("not for you".into())),
            _ => Ok(mock.clone()),
        }
    });
    let owner = owner("default");
    let write = async || store.write(&owner, CredentialEntry::RefreshToken, &secret(b"hush")).await;
    assert_eq!(write().await, Err(CredentialError::Missing("no session bus".into())));
    assert_eq!(write().await, Err(CredentialError::Denied("not for you".into())));
    assert_eq!(write().await, Ok(()));
    assert_eq!(write().await, Ok(()));
    assert_eq!(tries.load(Ordering::SeqCst), 3);
}

/// After a restart of the session bus or the keyring service, one new connection is made, which the caller
/// does not notice. A second failure is an error.
#[tokio::test]
async fn lost_connection_is_reopened() {
    let (store, mock, connections) = counted();
    let owner = owner("default");
    store.write(&owner, CredentialEntry::RefreshToken, &secret(b"hush")).await.unwrap();
    fail_once(&mock, Error::PlatformFailure("no such session".into()));
    assert_eq!(store.read(&owner, CredentialEntry::RefreshToken).await, Ok(Some(secret(b"hush"))));
    assert_eq!(connections.load(Ordering::SeqCst), 2);

    // A rejection by the member is not a connection error and is not retried.
    fail_once(&mock, Error::NoStorageAccess("no".into()));
    let refused = store.read(&owner, CredentialEntry::RefreshToken).await;
    assert_eq!(refused, Err(CredentialError::Denied("no".into())));
    assert_eq!(connections.load(Ordering::SeqCst), 2);
    // The first call on a new connection is not retried either.
    fail_once(&mock, Error::PlatformFailure("broken".into()));
    let refused = store.read(&owner, CredentialEntry::RefreshToken).await;
    assert_eq!(refused, Err(CredentialError::Other("broken".into())));
    assert_eq!(connections.load(Ordering::SeqCst), 3);
    assert_eq!(store.read(&owner, CredentialEntry::RefreshToken).await, Ok(Some(secret(b"hush"))));
}

/// If the code of a store panics, only one call fails.
#[tokio::test]
async fn panicking_store_is_an_error() {
    let tries = AtomicUsize::new(0);
    let mock = mock::Store::new().unwrap();
    let store = PlatformStore::with_connect(move || {
        assert!(tries.fetch_add(1, Ordering::SeqCst) > 0, "a panic that this test causes");
        Ok(mock.clone())
    });
    let read = async || store.read(&owner("default"), CredentialEntry::DpopKey).await;
    assert_eq!(read().await, Err(CredentialError::Other("the call was aborted".into())));
    assert_eq!(read().await, Ok(None));
}

/// A store that responds only after it is opened, like a store that waits for the member's password.
struct BlockingStore {
    store: Arc<mock::Store>,
    opened: Arc<Gate>,
}

#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    fn wait(&self) {
        drop(self.1.wait_while(self.0.lock().unwrap(), |open| !*open).unwrap());
    }
}

impl CredentialStoreApi for BlockingStore {
    fn vendor(&self) -> String {
        "waiting".to_owned()
    }

    fn id(&self) -> String {
        "waiting".to_owned()
    }

    fn build(
        &self,
        service: &str,
        user: &str,
        modifiers: Option<&HashMap<&str, &str>>,
    ) -> keyring_core::Result<keyring_core::Entry> {
        self.opened.wait();
        self.store.build(service, user, modifiers)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn waiting() -> (PlatformStore, Arc<Gate>) {
    let opened = Arc::new(Gate::default());
    let waiting = Arc::new(BlockingStore { store: mock::Store::new().unwrap(), opened: Arc::clone(&opened) });
    (PlatformStore::with_connect(move || Ok(waiting.clone())), opened)
}

async fn open(store: PlatformStore) -> Result<Session, exchange_client::Error> {
    let surroundings = VirtualEnvironment::new(1);
    let network = ScriptedServer::gateway(&surroundings);
    let opened = Session::builder(&place(), &identity())
        .credentials(store)
        .environment(surroundings.environment())
        .transport(network.clone())
        .open()
        .await;
    assert_eq!(network.requests().len(), 0);
    opened
}

/// IDP-18: if a store waits for the member longer than 30 seconds, the error names the store. No other store
/// replaces it, and the next session uses the same one.
#[tokio::test(start_paused = true)]
async fn unresponsive_store_times_out() {
    let (store, opened) = waiting();
    let start = tokio::time::Instant::now();
    let error = open(store.clone()).await.err().unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
    assert_eq!(error.kind(), ErrorKind::Secrets);
    assert_eq!(
        error.to_string(),
        format!(
            "the secret store ({}) does not respond; unlock the secret store of this computer, or choose \
             another before signing in",
            platform::NAME
        )
    );
    opened.open();
    // From here on, time is real, because it has to pass while a thread works.
    tokio::time::resume();
    open(store).await.unwrap();
}

/// A call whose caller stopped waiting runs before later calls, so that the last write persists.
#[tokio::test]
async fn calls_are_executed_in_order() {
    let (store, opened) = waiting();
    let owner = owner("default");
    let (first, second) = (secret(b"first"), secret(b"second"));
    for given_up in [&first, &second] {
        let write = store.write(&owner, CredentialEntry::RefreshToken, given_up);
        tokio::select! {
            biased;
            done = write => panic!("the call did not wait: {done:?}"),
            () = std::future::ready(()) => {}
        }
    }
    opened.open();
    assert_eq!(store.read(&owner, CredentialEntry::RefreshToken).await, Ok(Some(second)));
}

/// A program can end although its store still waits for the member.
#[test]
fn program_exits_without_waiting_for_the_store() {
    let (store, opened) = waiting();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let owner = owner("default");
        tokio::select! {
            biased;
            done = store.read(&owner, CredentialEntry::DpopKey) => panic!("the call did not wait: {done:?}"),
            () = std::future::ready(()) => {}
        }
    });
    // The runtime would wait forever here if the store used one of its threads.
    drop(runtime);
    opened.open();
}

/// IDP-18: no error message contains the content of an entry.
#[test]
fn errors_contain_no_secret() {
    let errors = [
        Error::BadEncoding(b"hush".to_vec()),
        Error::BadDataFormat(b"hush".to_vec(), "hush".into()),
        Error::BadStoreFormat("hush".into()),
        Error::Invalid("hush".into(), "hush".into()),
    ]
    .map(platform::map_call_error);
    for error in &errors {
        assert!(!format!("{error} {error:?}").contains("hush"));
    }
    let bytes = format!("{:?}", secret(b"hush").as_slice());
    assert!(!format!("{errors:?}").contains(&bytes));
    assert_eq!(
        platform::map_call_error(Error::TooLong("secret".into(), 2560)).to_string(),
        "failed: secret has more than 2560 characters"
    );
}

#[cfg(target_os = "linux")]
mod linux {
    use std::{env, process::Command, time::Duration};

    use super::*;

    const VARIABLE: &str = "DBUS_SESSION_BUS_ADDRESS";

    /// Invalid session bus addresses, with the expected messages.
    const NOWHERE: [(&str, &str); 2] = [
        ("nowhere", "no session bus, or no secret service on it"),
        (
            "unix:path=/nonexistent/bus",
            "zbus error: Failed to connect to address `unix:path=/nonexistent/bus`: No such file or directory \
             (os error 2)",
        ),
    ];

    /// IDP-18: on a machine without a desktop, nothing is stored, and an immediate error names the store and
    /// the remedy.
    #[test]
    fn missing_session_bus_error_names_the_remedy() {
        let address = env::var(VARIABLE).unwrap_or_default();
        let Some((_, why)) = NOWHERE.iter().find(|(nowhere, _)| *nowhere == address) else {
            return NOWHERE.iter().for_each(|(nowhere, _)| on_a_machine_with(nowhere));
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let start = std::time::Instant::now();
        let error = runtime.block_on(open(PlatformStore::new())).err().unwrap();
        let time = start.elapsed();
        println!("refused after {time:?}");
        assert!(time < Duration::from_secs(5), "{time:?}");
        assert_eq!(error.kind(), ErrorKind::Secrets);
        assert_eq!(
            error.to_string(),
            format!(
                "the secret store (Secret Service) is not available: {why}; unlock the secret store of this \
                 computer, or choose another before signing in"
            )
        );
    }

    /// Runs the same test in a separate process with this session bus address.
    fn on_a_machine_with(address: &str) {
        let name = "tests::linux::missing_session_bus_error_names_the_remedy";
        let this = Command::new(env::current_exe().unwrap())
            .args([name, "--exact", "--nocapture"])
            .env(VARIABLE, address)
            .output()
            .unwrap();
        let output = String::from_utf8_lossy(&this.stdout);
        let wrong = String::from_utf8_lossy(&this.stderr);
        assert!(this.status.success() && output.contains("1 passed"), "{output}{wrong}");
    }

    /// IDP-18: a locked keyring, or one that the member did not unlock, is distinguished from a missing
    /// keyring.
    #[test]
    fn locked_keyring_is_distinguished() {
        use secret_service::Error as Why;
        let refused = |why: Why| platform::map_call_error(Error::NoStorageAccess(Box::new(why)));
        assert_eq!(refused(Why::Locked), CredentialError::Locked);
        assert_eq!(refused(Why::Prompt), CredentialError::Locked);
        assert_eq!(refused(Why::NoResult), CredentialError::Missing("it has no default keyring".into()));
        // Other errors keep their original message.
        let broken = platform::map_call_error(Error::PlatformFailure(Box::new(Why::Crypto("bad"))));
        assert_eq!(broken, CredentialError::Other("Crypto error: bad".into()));
        let nobody = platform::map_connect_error(Error::PlatformFailure(Box::new(Why::Crypto("bad"))));
        assert_eq!(nobody, CredentialError::Missing("Crypto error: bad".into()));
    }
}
