//! One write to, or one look at, a store that a service may be running over.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::backup::FILE;
use super::{OpenError, StoreError, migrate};

/// Why a store could not be edited.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// There is no store.
    #[error("there is no store in {0}: `exchange-service serve` makes one when it starts")]
    Missing(PathBuf),
    /// It has another version.
    #[error(transparent)]
    Version(#[from] OpenError),
    /// The database says so.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs one write in a transaction of its own on the store in a folder, and commits it. An error undoes what
/// it did.
///
/// A service that runs over the store goes on, and sees the write with its next look. Nothing is made and
/// nothing migrated here: that is the service's, when it starts.
///
/// # Errors
/// The closure's own, or why the store could not be edited.
pub fn edit<T, E>(folder: &Path, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<EditError>,
{
    let mut connection = open(folder, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let done = work(&transaction)?;
    transaction.commit().map_err(failed)?;
    Ok(done)
}

/// Looks at one moment of the store in a folder, and changes nothing. Nobody waits for it.
///
/// # Errors
/// The closure's own, or why the store could not be read.
pub fn inspect<T, E>(folder: &Path, work: impl FnOnce(&Connection) -> Result<T, E>) -> Result<T, E>
where
    E: From<EditError>,
{
    let mut connection = open(folder, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let snapshot = connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(failed)?;
    work(&snapshot)
}

fn open(folder: &Path, access: OpenFlags) -> Result<Connection, EditError> {
    let path = folder.join(FILE);
    if !path.is_file() {
        return Err(EditError::Missing(folder.to_owned()));
    }
    let failed = failed::<EditError>;
    let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(&path, flags).map_err(failed)?;
    // Checkpoints are the service's.
    let settings = "PRAGMA busy_timeout = 5000; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
                    PRAGMA wal_autocheckpoint = 0;";
    connection.execute_batch(settings).map_err(failed)?;
    migrate::check(&connection)?;
    Ok(connection)
}

fn failed<E: From<EditError>>(error: rusqlite::Error) -> E {
    EditError::Store(error.into()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Options, Place, Store};

    fn count(connection: &Connection) -> Result<i64, EditError> {
        let sql = "SELECT count(*) FROM setting WHERE name = 'x'";
        Ok(connection.query_row(sql, [], |row| row.get(0)).map_err(StoreError::from)?)
    }

    fn insert(connection: &Connection) -> Result<(), EditError> {
        connection.execute("INSERT INTO setting VALUES ('x', 'y')", []).map_err(StoreError::from)?;
        Ok(())
    }

    #[tokio::test]
    async fn a_running_store_is_edited_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(edit(folder.path(), insert), Err(EditError::Missing(_))));
        assert!(!folder.path().join(FILE).exists(), "nothing is made");
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).unwrap();
        let undone = edit(folder.path(), |connection| {
            insert(connection)?;
            Err::<(), _>(EditError::Store(StoreError::Closed))
        });
        assert!(undone.is_err());
        assert_eq!(edit(folder.path(), count).unwrap(), 0);
        let written = inspect(folder.path(), insert);
        assert!(matches!(written, Err(EditError::Store(_))), "a look writes nothing");
        edit(folder.path(), insert).unwrap();
        assert_eq!(inspect(folder.path(), count).unwrap(), 1);
        let seen = store.read(|connection| count(connection).map_err(|_| StoreError::Closed)).await;
        assert_eq!(seen.unwrap(), 1);
        let newer = |connection: &Connection| {
            let sql = "INSERT INTO migration VALUES (1000, x'00')";
            connection.execute(sql, []).map(|_| ()).map_err(|error| EditError::Store(error.into()))
        };
        edit(folder.path(), newer).unwrap();
        assert!(matches!(edit(folder.path(), insert), Err(EditError::Version(OpenError::Newer { .. }))));
        let older = "DELETE FROM migration";
        Connection::open(folder.path().join(FILE)).unwrap().execute_batch(older).unwrap();
        assert!(matches!(edit(folder.path(), insert), Err(EditError::Version(OpenError::Older { .. }))));
    }
}
