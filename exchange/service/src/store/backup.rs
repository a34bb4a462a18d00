//! Backup and restore: one file each way, beside a running service or without one.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpop_bound::Random;
use rusqlite::{Connection, OpenFlags, params};

use super::{OpenError, StoreError, migrate, private, setting};
use crate::time::Moment;

/// The database's file in a store's folder.
pub(super) const FILE: &str = "exchange.db";
/// What SQLite keeps beside it: the log, its index, and the journal of a database that has no log.
const BESIDE: [&str; 3] = ["exchange.db-wal", "exchange.db-shm", "exchange.db-journal"];
/// The setting that says when.
const RESTORED_AT: &str = "restored-at";

/// Why a backup cannot be made, or not be taken back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// There is no store to back up.
    #[error("there is no store in {0}: name the folder of `serve.data`")]
    Missing(PathBuf),
    /// There is something at the place already; nothing is overwritten.
    #[error("{0} is there already: name a place where nothing is")]
    Exists(PathBuf),
    /// The file is no store, no backup of one, or a damaged one.
    #[error("{path} is no whole store, or backup of one: {reason}")]
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

fn failed(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(path.clone()),
        _ => BackupError::Io { path: path.clone(), error },
    }
}

/// Writes all of the store in a folder, as it is at one moment, into a file that is not there yet.
///
/// The store is only read: a service that runs over it goes on, and one of another version finds it as it was.
///
/// # Errors
/// See [`BackupError`]; a file that was begun is removed.
pub fn backup(folder: &Path, to: &Path) -> Result<(), BackupError> {
    let from = folder.join(FILE);
    if !from.is_file() {
        return Err(BackupError::Missing(folder.to_owned()));
    }
    let damaged =
        |error: rusqlite::Error| BackupError::Damaged { path: from.clone(), reason: error.to_string() };
    let connection = Connection::open_with_flags(&from, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(damaged)?;
    connection
        .query_row("SELECT count(*) FROM migration", [], |row| row.get::<_, i64>(0))
        .map_err(damaged)?;
    copy(&connection, to, || Ok(()))
}

/// Writes all of a database, its log included, into a file that is not there yet, and does the rest with it; a file
/// that was begun is removed when anything of it fails.
fn copy(
    from: &Connection,
    to: &Path,
    rest: impl FnOnce() -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    // The database is told the place as text.
    let unnamed = || io::Error::new(io::ErrorKind::InvalidInput, "the name is no UTF-8");
    let target = to.to_str().ok_or_else(|| failed(to)(unnamed()))?;
    // An empty file is written over; from here on it is ours, and nobody else may read it.
    let begun = private::file(to).map_err(failed(to))?;
    let copied = from.execute("VACUUM INTO ?1", [target]).map_err(StoreError::from);
    let kept = copied
        .map_err(BackupError::from)
        .and_then(|_| rest())
        .and_then(|()| begun.sync_all().map_err(failed(to)));
    if kept.is_err() {
        let _ = fs::remove_file(to);
    }
    kept
}

/// Puts a backup into a folder that has no store, with an epoch of its own: every cursor that was
/// issued before is answered `410 CURSOR_EXPIRED`, since what came after the backup is not in it. The store remembers when
/// that was (`restored_at`).
///
/// # Errors
/// See [`BackupError`]; the folder has no store then.
pub fn restore(from: &Path, folder: &Path, random: &dyn Random, now: Moment) -> Result<(), BackupError> {
    let place = folder.join(FILE);
    // Whatever lies beside a database is taken for a part of it: a log that another one left is played into it.
    let parts = std::iter::once(place.clone()).chain(BESIDE.map(|name| folder.join(name)));
    for part in parts {
        // Asked without following links: what cannot be asked is not overwritten, either.
        match fs::symlink_metadata(&part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => return Err(BackupError::Exists(part)),
            Err(error) => return Err(failed(&part)(error)),
        }
    }
    let damaged = |reason: String| BackupError::Damaged { path: from.to_owned(), reason };
    let whole = whole(from).map_err(|error| damaged(error.to_string()))?.map_err(damaged)?;
    private::folder(folder).map_err(failed(folder))?;
    let begun = folder.join("exchange.db.restoring");
    copy(&whole, &begun, || settle(&begun, random, now))?;
    fs::rename(&begun, &place).map_err(|error| {
        let _ = fs::remove_file(&begun);
        failed(&place)(error)
    })
}

/// When the store was restored last, if ever: of what happened between the backup and that moment it knows nothing.
///
/// # Errors
/// What the database says.
pub(crate) fn restored_at(connection: &Connection) -> Result<Option<Moment>, StoreError> {
    let Some(at) = setting(connection, RESTORED_AT)? else { return Ok(None) };
    let at = at.parse().map_err(|_| StoreError::Corrupt("the moment of the restore"))?;
    Ok(Some(Moment::from_millis(at)))
}

/// A database that is whole. The outer error is the database's, the inner one what its own check found.
fn whole(file: &Path) -> rusqlite::Result<Result<Connection, String>> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Err(found));
    }
    connection.query_row("SELECT count(*) FROM migration", [], |row| row.get::<_, i64>(0))?;
    Ok(Ok(connection))
}

fn settle(file: &Path, random: &dyn Random, now: Moment) -> Result<(), BackupError> {
    let mut connection = Connection::open(file).map_err(OpenError::from)?;
    migrate::migrate(&mut connection)?;
    super::epoch::renew(&connection, random)?;
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, params![RESTORED_AT, now.millis().to_string()]).map_err(StoreError::from)?;
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    Ok(())
}
