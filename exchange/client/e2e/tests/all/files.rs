//! Tests of files and secrets with local faults (a read-only disk, a locked credential store), and of the
//! missing HTTP/2 support.

use std::{
    path::Path,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use exchange_client::{
    CredentialEntry, CredentialError, ErrorKind, MemoryCredentials, Session,
    api::{
        Transport,
        runtime::{client::ReqwestTransport, operation::Operation, transport::ResponseFuture},
        scopes::Scope,
    },
    testkit::{HookedStore, StoreOperation},
};
use exchange_client_e2e::{MEMBER, SandboxClock, SleepMode, exchange_address, identity};
use exchange_service::sandbox::Sandbox;
use http::Request;

/// Returns a credential store that accepts the key, and that is locked when a token is stored.
fn locking() -> HookedStore<MemoryCredentials> {
    HookedStore::new("Locking Store", MemoryCredentials::new(), async |operation, entry| {
        match (operation, entry) {
            (StoreOperation::Write, CredentialEntry::AccessToken | CredentialEntry::RefreshToken) => {
                Err(CredentialError::Locked)
            }
            _ => Ok(()),
        }
    })
}

/// A network transport that records each secret that the provider returned.
#[derive(Clone)]
struct RecordingNetwork(ReqwestTransport, Arc<Mutex<Vec<String>>>);

impl Transport for RecordingNetwork {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let response = self.0.send(operation, request).await?;
            let body = serde_json::from_slice::<serde_json::Value>(response.body()).unwrap_or_default();
            let named = ["access_token", "refresh_token", "device_code"].iter();
            let secrets = named.filter_map(|name| Some(body[*name].as_str()?.to_owned()));
            self.1.lock().unwrap().extend(secrets);
            Ok(response)
        })
    }
}

/// Returns true if a file below a folder contains this string.
fn holds(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).any(|path| {
        if path.is_dir() {
            return holds(&path, text);
        }
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

/// IDP-18: if a store is locked when the tokens arrive, the error names the store, no file contains a secret,
/// and no member is signed in.
#[tokio::test]
async fn locked_store_leaves_no_secret_in_files() {
    let (sandbox, folder) = (Sandbox::start().await.unwrap(), tempfile::tempdir().unwrap());
    let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::AdvanceClock);
    let network = RecordingNetwork(ReqwestTransport::new().unwrap(), Arc::default());
    let open = || {
        let session = Session::builder(&exchange_address(&sandbox), &identity("sandbox-client"));
        let session = session.state_folder(folder.path()).environment(clock.environment());
        session.transport(network.clone()).credentials(locking()).open()
    };
    let session = open().await.unwrap();
    let login = session.sign_in(&[Scope::ExchangeStockRead]).await.unwrap();
    sandbox.approve(login.user_code(), MEMBER).await.unwrap();
    let error = login.finish().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Secrets, "{error}");
    assert!(error.to_string().contains("Locking Store"), "{error}");
    session.wait_until_idle().await;
    let secrets = network.1.lock().unwrap().clone();
    assert!(secrets.len() >= 3, "the provider returned a code and two tokens");
    for secret in &secrets {
        assert!(!holds(folder.path(), secret), "a secret is in a file");
    }
    assert!(session.scopes().is_empty());
}

/// On a read-only disk, calls fail and existing files are left unchanged.
#[cfg(unix)]
#[tokio::test]
async fn read_only_files_are_left_unchanged() {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use exchange_client::{
        Lane,
        outbox::{NewEntryRow, OutboxStore as _},
    };
    use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};

    let folder = tempfile::tempdir().unwrap();
    let row = NewEntryRow {
        owner: "i-1".to_owned(),
        lane: Lane::Stock,
        head: "{}".to_owned(),
        body: Bytes::from_static(b"the only copy"),
    };
    let number = {
        let store = SqliteOutbox::open(folder.path()).unwrap();
        let number = store.append(vec![row]).await.unwrap()[0];
        store.purge_removed().await.unwrap();
        drop(SqliteReplica::open(folder.path()).unwrap());
        number
    };
    let files = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
        let mut files: Vec<_> = files.map(|path| (fs::read(&path).unwrap(), path)).collect();
        files.sort();
        files
    };
    let before = files();
    // A file cannot be used as a folder, even by an administrator.
    let nowhere = folder.path().join("outbox.db");
    assert_eq!(SqliteOutbox::open(&nowhere).err().unwrap().kind(), ErrorKind::Storage);
    assert_eq!(SqliteReplica::open(&nowhere).err().unwrap().kind(), ErrorKind::Storage);
    assert!(files() == before, "a file was changed");
    let allow = |file_mode: u32, folder_mode: u32| {
        let folder_mode = fs::Permissions::from_mode(folder_mode);
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        for (_, path) in files() {
            fs::set_permissions(path, fs::Permissions::from_mode(file_mode)).unwrap();
        }
        fs::set_permissions(folder.path(), folder_mode).unwrap();
    };
    allow(0o400, 0o500);
    let probe = folder.path().join("probe");
    if fs::write(&probe, "").is_ok() {
        fs::remove_file(probe).unwrap();
        eprintln!("nothing is read-only for an administrator: that part was left out");
        return;
    }
    assert_eq!(SqliteOutbox::open(folder.path()).err().unwrap().kind(), ErrorKind::Storage);
    assert_eq!(SqliteReplica::open(folder.path()).err().unwrap().kind(), ErrorKind::Storage);
    assert!(files() == before, "a file was changed");
    allow(0o600, 0o700);
    let store = SqliteOutbox::open(folder.path()).unwrap();
    assert_eq!(store.get_row(number).await.unwrap().unwrap().body, b"the only copy"[..]);
}

/// The client is built without HTTP/2, because an HTTP/2 library may send requests again by itself.
#[test]
fn client_is_built_without_http_2() {
    let lock = include_str!("../../../../../Cargo.lock").replace("\r\n", "\n");
    let packages: Vec<_> =
        lock.split("[[package]]\n").filter(|package| package.starts_with("name = \"reqwest\"\n")).collect();
    assert_eq!(packages.len(), 1, "{packages:?}");
    assert!(packages[0].contains("\n \"hyper\",\n") && !packages[0].contains("\n \"h2\",\n"), "{packages:?}");
}
