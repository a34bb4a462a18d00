//! Writes a store to a backup file, and restores a backup. Both work while a service is running.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dpop_bound::RandomSource;
use rusqlite::{Connection, OpenFlags, params};

use super::{OpenError, StoreError, migrate, private, read_setting};
use crate::time::Moment;

/// The name of the database file in the data folder.
pub(super) const DATABASE_FILE: &str = "exchange.db";
/// The files that SQLite keeps next to a database: the log, its index, and the rollback journal.
const SIDECAR_FILES: [&str; 3] = ["exchange.db-wal", "exchange.db-shm", "exchange.db-journal"];
/// The name of the setting with the time of the last restore.
const RESTORED_AT: &str = "restored-at";

/// The reason a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The folder does not contain a store.
    #[error("there is no store in {0}: pass the folder of `serve.data`")]
    Missing(PathBuf),
    /// The target already exists. Nothing is overwritten.
    #[error("{0} exists already: pass a path that does not exist")]
    Exists(PathBuf),
    /// The file is not a store or a backup, or it is corrupt.
    #[error("{path} is not an intact store or backup: {reason}")]
    Corrupt {
        /// The path of the file.
        path: PathBuf,
        /// The error that SQLite reported, or the finding of the integrity check.
        reason: String,
    },
    /// The backup has a version that this service does not support.
    #[error(transparent)]
    Version(#[from] OpenError),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file could not be written.
    #[error("cannot write {path}: {error}")]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

fn map_io_error(path: &Path) -> impl Fn(io::Error) -> BackupError {
    let path = path.to_owned();
    move |error| match error.kind() {
        io::ErrorKind::AlreadyExists => BackupError::Exists(path.clone()),
        _ => BackupError::Io { path: path.clone(), error },
    }
}

/// Writes a consistent copy of the store in a folder to a new file.
///
/// The store is opened read-only. A running service continues, and a store of another version is not
/// migrated.
///
/// # Errors
/// See [`BackupError`]. An incomplete file is deleted.
pub fn write_backup(folder: &Path, to: &Path) -> Result<(), BackupError> {
    let from = folder.join(DATABASE_FILE);
    if !from.is_file() {
        return Err(BackupError::Missing(folder.to_owned()));
    }
    let corrupt =
        |error: rusqlite::Error| BackupError::Corrupt { path: from.clone(), reason: error.to_string() };
    let connection = Connection::open_with_flags(&from, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(corrupt)?;
    connection
        .query_row("SELECT count(*) FROM migration", [], |row| row.get::<_, i64>(0))
        .map_err(corrupt)?;
    copy_database(&connection, to, || Ok(()))
}

/// Copies a database and its log into a new file, then runs `rest`. Deletes the file if any step fails.
fn copy_database(
    from: &Connection,
    to: &Path,
    rest: impl FnOnce() -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    // `VACUUM INTO` requires the path as a string.
    let unnamed = || io::Error::new(io::ErrorKind::InvalidInput, "the path is not valid UTF-8");
    let target = to.to_str().ok_or_else(|| map_io_error(to)(unnamed()))?;
    // `VACUUM INTO` accepts an existing empty file. Creating the file first restricts its permissions to the
    // owner.
    let begun = private::create_file(to).map_err(map_io_error(to))?;
    let copied = from.execute("VACUUM INTO ?1", [target]).map_err(StoreError::from);
    let flushed = copied
        .map_err(BackupError::from)
        .and_then(|_| rest())
        .and_then(|()| begun.sync_all().map_err(map_io_error(to)));
    if flushed.is_err() {
        let _ = fs::remove_file(to);
    }
    flushed
}

/// Restores a backup into a folder without a store, and creates a new epoch. All earlier cursors are answered
/// with `410 CURSOR_EXPIRED`, because changes after the backup are lost. The store records the time of the
/// restore (`restored_at`).
///
/// # Errors
/// See [`BackupError`]. In case of an error, the folder contains no store.
pub fn restore_backup(
    from: &Path,
    folder: &Path,
    random: &dyn RandomSource,
    now: Moment,
) -> Result<(), BackupError> {
    let place = folder.join(DATABASE_FILE);
    // SQLite would apply the log of another database if it were next to the file.
    let parts = std::iter::once(place.clone()).chain(SIDECAR_FILES.map(|name| folder.join(name)));
    for part in parts {
        // Links are not followed, and a path that cannot be checked is not overwritten.
        match fs::symlink_metadata(&part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(_) => return Err(BackupError::Exists(part)),
            Err(error) => return Err(map_io_error(&part)(error)),
        }
    }
    let corrupt = |reason: String| BackupError::Corrupt { path: from.to_owned(), reason };
    let intact = open_intact(from).map_err(|error| corrupt(error.to_string()))?.map_err(corrupt)?;
    private::create_folder(folder).map_err(map_io_error(folder))?;
    let begun = folder.join("exchange.db.restoring");
    copy_database(&intact, &begun, || finish_restore(&begun, random, now))?;
    fs::rename(&begun, &place).map_err(|error| {
        let _ = fs::remove_file(&begun);
        map_io_error(&place)(error)
    })
}

/// Returns the time of the last restore, or `None` if the store was never restored. Changes between the
/// backup and this time are lost.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn restored_at(connection: &Connection) -> Result<Option<Moment>, StoreError> {
    let Some(at) = read_setting(connection, RESTORED_AT)? else { return Ok(None) };
    let at = at.parse().map_err(|_| StoreError::Corrupt("invalid time of the last restore"))?;
    Ok(Some(Moment::from_millis(at)))
}

/// Opens a database if it passes the integrity check. The outer error comes from SQLite; the inner error is
/// the finding of the check.
fn open_intact(file: &Path) -> rusqlite::Result<Result<Connection, String>> {
    let connection = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Ok(Err(found));
    }
    connection.query_row("SELECT count(*) FROM migration", [], |row| row.get::<_, i64>(0))?;
    Ok(Ok(connection))
}

fn finish_restore(file: &Path, random: &dyn RandomSource, now: Moment) -> Result<(), BackupError> {
    let mut connection = Connection::open(file).map_err(OpenError::from)?;
    migrate::run_migrations(&mut connection)?;
    super::epoch::renew_epoch(&connection, random)?;
    let sql = "INSERT INTO setting (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.execute(sql, params![RESTORED_AT, now.as_millis().to_string()]).map_err(StoreError::from)?;
    connection.close().map_err(|(_, error)| StoreError::from(error))?;
    Ok(())
}
