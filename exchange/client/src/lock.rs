//! What the processes of one installation share beside secrets: a lock, and notes that are none.
//!
//! A refresh spends the refresh token, so two processes that refresh at once spend it twice, which may end the
//! connection. Whoever refreshes therefore holds a lock on a file, and reads the store anew once it has it. The
//! operating system releases the lock when the process ends, however it ends.

pub(crate) mod durable;

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use dpop_bound::session::Saved;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    gates::SavedGates,
};

/// What servers asked for.
const WAITS: &str = "waits.json";
/// How long to wait for another process: longer than a refresh with all its retries takes.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often to look whether it is done, at first and after a while.
const LOOK: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// A folder of one installation. Nothing in it is secret, and nothing is lost with it but the name of the
/// installation: the exchange tells everything else again.
#[derive(Clone, Debug)]
pub(crate) struct Folder {
    path: Arc<Path>,
}

/// Holding the lock. Dropped, or at the end of the process, it is released.
#[derive(Debug)]
#[must_use = "the lock is released at once"]
pub(crate) struct Locked {
    _file: File,
}

/// What is noted of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Notes {
    /// The id of the connection that the names and scopes here are of. Tokens and notes are written one after the
    /// other: notes of another connection than the tokens' say nothing of it.
    pub(crate) connection: Option<String>,
    /// What the member granted.
    pub(crate) scopes: Vec<String>,
    /// What the exchange calls this installation (SVC-07).
    pub(crate) installation_id: Option<String>,
    /// The label that the member chose (SVC-12).
    pub(crate) label: Option<String>,
    /// Which connection is over, and why.
    pub(crate) ended: Option<EndedNote>,
    /// The connections that the member ended while their secrets could not be deleted. A login elsewhere, such as in
    /// another store, changes nothing of that.
    pub(crate) left: Vec<String>,
}

impl Notes {
    /// Makes them notes of this connection: what another one's say is none of its.
    pub(crate) fn belong_to(&mut self, connection: &str) {
        if self.connection.as_deref() != Some(connection) {
            (self.connection, self.installation_id, self.label) = (Some(connection.to_owned()), None, None);
            self.scopes.clear();
        }
    }
}

/// A connection that is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct EndedNote {
    /// The connection's own id.
    pub(crate) connection: String,
    /// Why.
    pub(crate) why: String,
}

/// What servers asked to wait, as far as it is not over, for the next process (CLI-02).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedWaits {
    pub(crate) gateway: SavedGates,
    pub(crate) provider: SavedGates,
}

/// What the next process knows of servers: it begins without a challenge. Of the gateway and of the provider
/// apart, since a nonce belongs to one of them even where both have one origin (DPP-17).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SavedProofs {
    pub(crate) gateway: Saved,
    pub(crate) provider: Saved,
}

impl Folder {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into().into() }
    }

    /// Waits for the lock.
    ///
    /// Fails when the file cannot be used, or another process holds it for five minutes.
    pub(crate) async fn lock(&self, environment: &Environment) -> Result<Locked, Error> {
        let mut file = self.apart("lock", |path| open(path, "session.lock")).await?;
        let (mut waited, mut look) = (Duration::ZERO, LOOK.0);
        loop {
            let tried = self.apart("lock", move |_| match file.try_lock() {
                Ok(()) => Ok((file, true)),
                Err(TryLockError::WouldBlock) => Ok((file, false)),
                Err(TryLockError::Error(error)) => Err(error),
            });
            match tried.await? {
                (file, true) => return Ok(Locked { _file: file }),
                (held, false) => file = held,
            }
            if waited >= PATIENCE {
                let what = "another process of this program holds the lock of the session and does not end";
                return Err(Error::new(ErrorKind::Storage, what));
            }
            environment.sleep(look).await;
            waited += look;
            look = (look * 2).min(LOOK.1);
        }
    }

    /// What is noted; nothing when there are no notes, or none that can be read.
    pub(crate) async fn notes(&self) -> Result<Notes, Error> {
        self.read("session.json").await
    }

    /// Notes it, in the place of what was there. To be called under the lock.
    pub(crate) async fn note(&self, notes: &Notes) -> Result<(), Error> {
        self.write("session.json", notes).await
    }

    /// What was saved of servers.
    pub(crate) async fn proofs(&self) -> Result<SavedProofs, Error> {
        self.read("proofs.json").await
    }

    /// Saves it; of several processes the last one's stays, which is as good as any other's.
    pub(crate) async fn save_proofs(&self, saved: &SavedProofs) -> Result<(), Error> {
        self.write("proofs.json", saved).await
    }

    /// What servers asked for.
    pub(crate) async fn waits(&self) -> Result<SavedWaits, Error> {
        self.read(WAITS).await
    }

    /// Changes that, in one step for all processes: what one was told, none forgets. Gives what was there.
    pub(crate) async fn change_waits(
        &self,
        change: impl FnOnce(SavedWaits) -> SavedWaits + Send + 'static,
    ) -> Result<SavedWaits, Error> {
        let work = move |path: &Path| {
            // Nobody holds it for longer than this.
            let _locked = open(path, "waits.lock").and_then(|file| file.lock().map(|()| file))?;
            let before: SavedWaits = parsed(WAITS, &bytes(path, WAITS)?);
            let after = change(before.clone());
            if after != before {
                durable::write(&path.join(WAITS), &serde_json::to_vec(&after)?)?;
            }
            Ok(before)
        };
        self.apart(WAITS, work).await
    }

    /// Deletes all of it but the locks, which others may be waiting for, and what servers asked for, which they
    /// asked of whoever is next too.
    pub(crate) async fn forget(&self) -> Result<(), Error> {
        let delete = |path: &Path| {
            durable::delete(&path.join("session.json"))?;
            durable::delete(&path.join("proofs.json"))
        };
        self.apart("notes", delete).await
    }

    async fn read<T: DeserializeOwned + Default>(&self, name: &'static str) -> Result<T, Error> {
        let bytes = self.apart(name, move |path| bytes(path, name)).await?;
        Ok(parsed(name, &bytes))
    }

    async fn write(&self, name: &'static str, value: &impl Serialize) -> Result<(), Error> {
        let bytes = serde_json::to_vec(value)
            .map_err(|error| Error::caused(ErrorKind::Bug, "the session's notes cannot be written", error))?;
        let write = move |path: &Path| {
            durable::make_private(path)?;
            durable::write(&path.join(name), &bytes)
        };
        self.apart(name, write).await
    }

    async fn apart<T: Send + 'static>(
        &self,
        what: &'static str,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let path = Arc::clone(&self.path);
        let done = tokio::task::spawn_blocking(move || work(&path)).await;
        done.map_err(io::Error::other).flatten().map_err(|error| {
            let what = format!("the state folder cannot be used ({what}): {error}");
            Error::caused(ErrorKind::Storage, what, error)
        })
    }
}

fn open(path: &Path, name: &str) -> io::Result<File> {
    durable::make_private(path)?;
    durable::private().create(true).truncate(false).open(path.join(name))
}

/// Nothing, where there is no such file.
fn bytes(path: &Path, name: &str) -> io::Result<Vec<u8>> {
    match fs::read(path.join(name)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => read,
    }
}

/// What a file says; nothing when it is none of ours.
fn parsed<T: DeserializeOwned + Default>(name: &str, bytes: &[u8]) -> T {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        if !bytes.is_empty() {
            tracing::warn!(name, %error, "a file of the state folder cannot be read; it is made anew");
        }
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One at a time, and the next as soon as the lock is dropped, wherever the future was dropped before.
    #[tokio::test(start_paused = true)]
    async fn one_at_a_time_holds_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment::system();
        let (one, two) = (Folder::new(folder.path().join("state")), Folder::new(folder.path().join("state")));
        let held = one.lock(&environment).await.unwrap();
        let short = tokio::time::timeout(Duration::from_secs(1), two.lock(&environment)).await;
        assert!(short.is_err());
        let waiting = tokio::spawn({
            let (two, environment) = (two.clone(), environment.clone());
            async move { two.lock(&environment).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!waiting.is_finished());
        drop(held);
        waiting.await.unwrap().unwrap();

        let _held = one.lock(&environment).await.unwrap();
        let error = two.lock(&environment).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Storage);
        assert!(error.to_string().contains("another process"), "{error}");
    }

    #[tokio::test]
    async fn notes_are_kept_and_broken_ones_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let state = Folder::new(folder.path().join("state"));
        assert_eq!(state.notes().await.unwrap(), Notes::default());
        let notes = Notes { scopes: vec!["a".into()], label: Some("desk".into()), ..Notes::default() };
        state.note(&notes).await.unwrap();
        assert_eq!(state.notes().await.unwrap(), notes);
        fs::write(folder.path().join("state/session.json"), "{ half").unwrap();
        assert_eq!(state.notes().await.unwrap(), Notes::default());
        state.note(&notes).await.unwrap();
        state.forget().await.unwrap();
        assert_eq!(state.notes().await.unwrap(), Notes::default());

        fs::write(folder.path().join("file"), "").unwrap();
        let nowhere = Folder::new(folder.path().join("file"));
        assert_eq!(nowhere.note(&notes).await.unwrap_err().kind(), ErrorKind::Storage);
    }
}
