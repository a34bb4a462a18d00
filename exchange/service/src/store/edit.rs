//! Runs a single transaction on a store that a service may be using, for commands.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::backup::DATABASE_FILE;
use super::writer::finish_actions;
use super::{OpenError, StoreError, migrate};

/// The reason a store could not be edited or inspected.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The folder does not contain a store.
    #[error("there is no store in {0}: `exchange-service serve` creates one when it starts")]
    Missing(PathBuf),
    /// The store has an unsupported version.
    #[error(transparent)]
    Version(#[from] OpenError),
    /// The database cannot be opened, or the transaction cannot be begun or committed.
    #[error("cannot use the store {path}: {error}")]
    File {
        /// The path of the database.
        path: PathBuf,
        /// The error of the store.
        error: StoreError,
    },
    /// SQLite failed to read or write the store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs a closure in a write transaction on the store in a folder, and commits the transaction. Rolls it back
/// if the closure returns an error.
///
/// A running service continues, and sees the change in its next transaction. The function does not create or
/// migrate a store; only the service does so when it starts.
///
/// # Errors
/// Returns the error of the closure, or an [`EditError`].
pub fn edit_store<T, E>(folder: &Path, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<EditError>,
{
    let mut connection = open_existing(folder, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| database_error(&folder.join(DATABASE_FILE), error))?;
    let done = match work(&transaction) {
        Ok(done) => done,
        Err(error) => {
            finish_actions(false);
            return Err(error);
        }
    };
    let committed = transaction.commit();
    finish_actions(committed.is_ok());
    committed.map_err(|error| database_error(&folder.join(DATABASE_FILE), error))?;
    Ok(done)
}

/// Runs a closure over a read-only snapshot of the store in a folder. Does not block a running service.
///
/// # Errors
/// Returns the error of the closure, or an [`EditError`].
pub fn inspect_store<T, E>(folder: &Path, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<EditError>,
{
    let mut connection = open_existing(folder, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let snapshot = connection
        .transaction_with_behavior(TransactionBehavior::Deferred)
        .map_err(|error| database_error(&folder.join(DATABASE_FILE), error))?;
    work(&snapshot)
}

fn open_existing(folder: &Path, access: OpenFlags) -> Result<Connection, EditError> {
    let path = folder.join(DATABASE_FILE);
    if !path.is_file() {
        return Err(EditError::Missing(folder.to_owned()));
    }
    let failed = |error| database_error::<EditError>(&path, error);
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
    // Checkpoints are left to the running service.
    let settings = "PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                    PRAGMA wal_autocheckpoint = 0;";
    connection.execute_batch(settings).map_err(failed)?;
    migrate::check_version(&connection).map_err(|error| match error {
        OpenError::Database(error) => failed(error),
        error => error.into(),
    })?;
    Ok(connection)
}

fn database_error<E: From<EditError>>(path: &Path, error: rusqlite::Error) -> E {
    EditError::File { path: path.to_owned(), error: error.into() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreLocation, StoreOptions};

    fn count(connection: &Connection) -> Result<i64, EditError> {
        let sql = "SELECT count(*) FROM setting WHERE name = 'x'";
        Ok(connection.query_row(sql, [], |row| row.get(0)).map_err(StoreError::from)?)
    }

    fn insert(connection: &Connection) -> Result<(), EditError> {
        connection.execute("INSERT INTO setting VALUES ('x', 'y')", []).map_err(StoreError::from)?;
        Ok(())
    }

    #[tokio::test]
    async fn running_store_is_edited_atomically() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(edit_store(folder.path(), insert), Err(EditError::Missing(_))));
        assert!(!folder.path().join(DATABASE_FILE).exists(), "no store is created");
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()))).unwrap();
        let undone = edit_store(folder.path(), |connection| {
            insert(connection)?;
            Err::<(), _>(EditError::Store(StoreError::Closed))
        });
        assert!(undone.is_err());
        assert_eq!(edit_store(folder.path(), count).unwrap(), 0);
        let written = inspect_store(folder.path(), insert);
        assert!(matches!(written, Err(EditError::Store(_))), "a closure of `inspect_store` cannot write");
        edit_store(folder.path(), insert).unwrap();
        assert_eq!(inspect_store(folder.path(), count).unwrap(), 1);
        let seen = store.read(|connection| count(connection).map_err(|_| StoreError::Closed)).await;
        assert_eq!(seen.unwrap(), 1);
        let newer = |connection: &Connection| {
            let sql = "INSERT INTO migration VALUES (1000, x'00')";
            connection.execute(sql, []).map(|_| ()).map_err(|error| EditError::Store(error.into()))
        };
        edit_store(folder.path(), newer).unwrap();
        assert!(matches!(
            edit_store(folder.path(), insert),
            Err(EditError::Version(OpenError::Newer { .. }))
        ));
        let older = "DELETE FROM migration";
        Connection::open(folder.path().join(DATABASE_FILE)).unwrap().execute_batch(older).unwrap();
        assert!(matches!(
            edit_store(folder.path(), insert),
            Err(EditError::Version(OpenError::Older { .. }))
        ));
    }
}
