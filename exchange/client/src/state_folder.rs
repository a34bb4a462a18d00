//! The folder that the processes of one installation share. It contains a lock, and data about the connection
//! without secrets.
//!
//! A refresh token can be used only once. If two processes refreshed at the same time, they would use it
//! twice, which may end the connection. Therefore a process holds a file lock during a refresh, and reads the
//! secret store after it has acquired the lock. The operating system releases the lock when the process ends,
//! even after a crash.

pub(crate) mod durable;

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dpop_bound::session::SavedSession;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    retry_after::SavedRetryAfterTable,
};

const WAITS_FILE: &str = "waits.json";
/// The maximum time to wait for the lock, which is longer than a refresh with all of its retries.
const LOCK_TIMEOUT: Duration = Duration::from_secs(300);
/// The first interval between attempts to acquire the lock, and the maximum interval after doubling.
const LOCK_POLL_INTERVALS: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// The state folder of one installation. It contains no secret. If it is lost, the exchange returns the
/// installation id again. The label, the `Retry-After` times and the recorded end of a connection are lost.
#[derive(Clone, Debug)]
pub(crate) struct StateFolder {
    path: Arc<Path>,
}

/// A file lock that this process holds. It is released when the value is dropped and when the process ends.
#[derive(Debug)]
#[must_use = "the lock is released at once"]
pub(crate) struct FolderLock {
    _file: File,
}

/// Persistent data about the connection, stored in `session.json`. Comments call it the notes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct ConnectionNotes {
    /// The local id of the connection to which label, installation, and scopes belong. The tokens and
    /// `session.json` are written one after the other, so `session.json` may belong to an earlier connection
    /// than the tokens.
    pub(crate) connection: Option<String>,
    /// The scopes that the member granted.
    pub(crate) scopes: Vec<String>,
    /// The id of this installation at the exchange (SVC-07).
    pub(crate) installation_id: Option<String>,
    /// The label that the member chose (SVC-12).
    pub(crate) label: Option<String>,
    /// The connection that has ended, and the reason.
    pub(crate) ended: Option<EndNote>,
    /// The connections that the member ended although their secrets could not be deleted. The list is kept
    /// after a later login, for example with a different store.
    pub(crate) left: Vec<String>,
}

impl ConnectionNotes {
    /// Assigns the notes to this connection. Clears them if they belong to a different connection.
    pub(crate) fn assign_to(&mut self, connection: &str) {
        if self.connection.as_deref() != Some(connection) {
            (self.connection, self.installation_id, self.label) = (Some(connection.to_owned()), None, None);
            self.scopes.clear();
        }
    }
}

/// A connection that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndNote {
    pub(crate) connection: String,
    /// The reason, in the format of `session::inner::end_name`.
    pub(crate) why: String,
}

/// The remaining `Retry-After` times of the servers, saved for the next process (CLI-02).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedWaits {
    pub(crate) gateway: SavedRetryAfterTable,
    pub(crate) provider: SavedRetryAfterTable,
}

/// The DPoP state for both servers, with which the next process starts without a challenge. The states of
/// gateway and provider are separate, because a nonce belongs to one of them even if both have the same
/// origin (DPP-17).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedProofs {
    pub(crate) gateway: SavedSession,
    pub(crate) provider: SavedSession,
}

impl StateFolder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into() }
    }

    /// Acquires the lock. Waits for other processes.
    ///
    /// Fails if the lock file cannot be used, or if another process holds the lock for five minutes.
    pub(crate) async fn acquire_lock(&self, environment: &Environment) -> Result<FolderLock, Error> {
        let mut file = self.run_blocking("lock", |path| open_lock_file(path, "session.lock")).await?;
        let (mut waited, mut look) = (Duration::ZERO, LOCK_POLL_INTERVALS.0);
        loop {
            let tried = self.run_blocking("lock", move |_| match file.try_lock() {
                Ok(()) => Ok((file, true)),
                Err(TryLockError::WouldBlock) => Ok((file, false)),
                Err(TryLockError::Error(error)) => Err(error),
            });
            match tried.await? {
                (file, true) => return Ok(FolderLock { _file: file }),
                (held, false) => file = held,
            }
            if waited >= LOCK_TIMEOUT {
                let what = "another process of this program has held the session lock for five minutes";
                return Err(Error::new(ErrorKind::Storage, what));
            }
            environment.sleep(look).await;
            waited += look;
            look = (look * 2).min(LOCK_POLL_INTERVALS.1);
        }
    }

    /// Reads the notes. They are empty if the file is missing or invalid.
    pub(crate) async fn read_notes(&self) -> Result<ConnectionNotes, Error> {
        self.read_file("session.json").await
    }

    /// Replaces the notes. The caller must hold the lock.
    pub(crate) async fn write_notes(&self, notes: &ConnectionNotes) -> Result<(), Error> {
        self.write_file("session.json", notes).await
    }

    pub(crate) async fn read_proofs(&self) -> Result<SavedProofs, Error> {
        self.read_file("proofs.json").await
    }

    /// Replaces the DPoP state. If several processes write it, the last one takes effect, because all states
    /// are equally good.
    pub(crate) async fn save_proofs(&self, saved: &SavedProofs) -> Result<(), Error> {
        self.write_file("proofs.json", saved).await
    }

    pub(crate) async fn read_waits(&self) -> Result<SavedWaits, Error> {
        self.read_file(WAITS_FILE).await
    }

    /// Changes the saved waits in one step, under a separate lock, so that no process loses a wait of another
    /// process. Returns the previous waits.
    pub(crate) async fn change_waits(
        &self,
        change: impl FnOnce(SavedWaits) -> SavedWaits + Send + 'static,
    ) -> Result<SavedWaits, Error> {
        let work = move |path: &Path| {
            // Other processes hold this lock only while they read and write the file.
            let _locked = open_lock_file(path, "waits.lock").and_then(|file| file.lock().map(|()| file))?;
            let before: SavedWaits = parse_or_default(WAITS_FILE, &read_bytes(path, WAITS_FILE)?);
            let after = change(before.clone());
            if after != before {
                durable::replace_file(&path.join(WAITS_FILE), &serde_json::to_vec(&after)?)?;
            }
            Ok(before)
        };
        self.run_blocking(WAITS_FILE, work).await
    }

    /// Deletes the notes and the DPoP state. Keeps the lock files, because other processes may be waiting for
    /// them, and the waits, because they also apply to the next member.
    pub(crate) async fn delete_notes(&self) -> Result<(), Error> {
        let delete = |path: &Path| {
            durable::delete_file(&path.join("session.json"))?;
            durable::delete_file(&path.join("proofs.json"))
        };
        self.run_blocking("notes", delete).await
    }

    async fn read_file<T: DeserializeOwned + Default>(&self, name: &'static str) -> Result<T, Error> {
        let bytes = self.run_blocking(name, move |path| read_bytes(path, name)).await?;
        Ok(parse_or_default(name, &bytes))
    }

    async fn write_file(&self, name: &'static str, value: &impl Serialize) -> Result<(), Error> {
        let bytes = serde_json::to_vec(value).map_err(|error| {
            Error::with_source(ErrorKind::Bug, "the session's notes cannot be written", error)
        })?;
        let write = move |path: &Path| {
            durable::create_private_folder(path)?;
            durable::replace_file(&path.join(name), &bytes)
        };
        self.run_blocking(name, write).await
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let path = Arc::clone(&self.path);
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.map_err(io::Error::other).flatten().map_err(|error| {
            let what = format!("the state folder cannot be used ({what}): {error}");
            Error::with_source(ErrorKind::Storage, what, error)
        })
    }
}

fn open_lock_file(path: &Path, name: &str) -> io::Result<File> {
    durable::create_private_folder(path)?;
    durable::private_options().create(true).truncate(false).open(path.join(name))
}

/// Reads a file. Returns no bytes if the file is missing.
fn read_bytes(path: &Path, name: &str) -> io::Result<Vec<u8>> {
    match fs::read(path.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// Parses a file. Returns the default and logs a warning if the file is invalid.
fn parse_or_default<T: DeserializeOwned + Default>(name: &str, bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        if !bytes.is_empty() {
            tracing::warn!(name, %error, "a file of the state folder is unreadable and is replaced");
        }
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Only one process holds the lock at a time. The lock is available immediately after its guard or a
    /// pending acquisition is dropped.
    #[tokio::test(start_paused = true)]
    async fn lock_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::system();
        let (one, two) =
            (StateFolder::new(folder.path().join("state")), StateFolder::new(folder.path().join("state")));
        let guard = one.acquire_lock(&environment).await.unwrap();
        let short = tokio::time::timeout(Duration::from_secs(1), two.acquire_lock(&environment)).await;
        assert!(short.is_err());
        let waiting = tokio::spawn({
            let (two, environment) = (two.clone(), environment.clone());
            async move { two.acquire_lock(&environment).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        drop(guard);
        waiting.await.unwrap().unwrap();

        let _held = one.acquire_lock(&environment).await.unwrap();
        let error = two.acquire_lock(&environment).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.to_string().contains("another process"), "{error}");
    }

    #[tokio::test]
    async fn notes_round_trip_and_corrupt_ones_are_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::new(folder.path().join("state"));
        assert_eq!(state.read_notes().await.unwrap(), ConnectionNotes::default());
        let notes = ConnectionNotes {
            scopes: vec!["a".into()],
            label: Some("desk".into()),
            ..ConnectionNotes::default()
        };
        state.write_notes(&notes).await.unwrap();
        assert_eq!(state.read_notes().await.unwrap(), notes);
        fs::write(folder.path().join("state/session.json"), "{ half").unwrap();
        assert_eq!(state.read_notes().await.unwrap(), ConnectionNotes::default());
        state.write_notes(&notes).await.unwrap();
        state.delete_notes().await.unwrap();
        assert_eq!(state.read_notes().await.unwrap(), ConnectionNotes::default());

        fs::write(folder.path().join("file"), "").unwrap();
        let nowhere = StateFolder::new(folder.path().join("file"));
        assert_eq!(nowhere.write_notes(&notes).await.unwrap_err().kind(), ErrorKind::Storage);
    }
}
