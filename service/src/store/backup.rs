//! Backup and restore: one file each way.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpop_bound::Random;
use rusqlite::{Connection, OpenFlags};

use super::{OpenError, Store, StoreError, migrate};

/// The database's file in a store's folder.
pub(super) const FILE: &str = "exchange.db";

/// Why a backup cannot be made, or not be taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is something at the place already; nothing is overwritten.
    #[error("{0} is there already: name a place where nothing is")]
    Exists(PathBuf),
    /// The file is no backup of a store, or a damaged one.
    #[error("{path} is no whole backup of a store: {reason}")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What the database says of it.
        reason: String,
    },
    /// The backup is of a version that this service does not know.
    #[error(transparent)]
    Version(#[from] OpenError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

impl Store {
    /// Writes all of it, as it is at one moment, into a file that is not there yet.
    ///
    /// # Errors
    /// [`BackupError::Exists`], or why it could not be written; a file that was begun is removed.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        if to.exists() {
            return Err(BackupError::Exists(to.to_owned()));
        }
        let target = to.to_string_lossy().into_owned();
        let outcome = self.beside(move |connection| {
            connection.execute("VACUUM INTO ?1", [&target])?;
            Ok::<(), StoreError>(())
        });
        outcome.await.map_err(|error| {
            // It may have been begun; there was nothing here before.
            let _ = fs::remove_file(to);
            BackupError::Store(error)
        })
    }
}

/// Puts a backup into a folder that has no store, with an epoch of its own: every cursor that was
/// issued before is answered `410 CURSOR_EXPIRED`, since what came after the backup is not in it.
///
/// # Errors
/// See [`BackupError`]; the folder has no store then.
pub fn restore(from: &Path, folder: &Path, random: &dyn Random) -> Result<(), BackupError> {
    let place = folder.join(FILE);
    if place.exists() {
        return Err(BackupError::Exists(place));
    }
    let damaged = |reason: String| BackupError::Damaged { path: from.to_owned(), reason };
    check(from).map_err(|error| damaged(error.to_string()))?.map_err(damaged)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| BackupError::Io { path, error }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let begun = folder.join("exchange.db.restoring");
    fs::copy(from, &begun).map_err(failed(&begun))?;
    let settled = settle(&begun, random).and_then(|()| fs::rename(&begun, &place).map_err(failed(&place)));
    if settled.is_err() {
        let _ = fs::remove_file(&begun);
    }
    settled
}

/// The outer error is the database's, the inner one what its own check found.
fn check(file: &Path) -> rusqlite::Result<Result<(), String>> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Err(found));
    }
    connection.query_row("SELECT count(*) FROM migration", [], |row| row.get::<_, i64>(0))?;
    Ok(Ok(()))
}

fn settle(file: &Path, random: &dyn Random) -> Result<(), BackupError> {
    let mut connection = Connection::open(file).map_err(OpenError::from)?;
    migrate::migrate(&mut connection)?;
    super::epoch::renew(&connection, random)?;
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    Ok(())
}
