//! The outbox in its own file, `outbox.db`. The file is not a cache, because there is no other copy of its
//! contents.

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use exchange_client::{
    Error, Lane, LocalData,
    outbox::{EntryRow, NewEntryRow, OutboxStore, StoreFuture},
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params};
use tokio::task::spawn_blocking;

use crate::database::{
    CorruptFilePolicy, Database, DatabasePlan, create_private_folder, note_remnants, storage_error,
};

static PLAN: DatabasePlan = DatabasePlan {
    name: "outbox",
    application: 0x4558_4f42,
    migrations: &[include_str!("outbox/0001.sql")],
    corrupt_file: CorruptFilePolicy::Refuse,
};

/// A persistent outbox store.
///
/// Each call is one transaction, which is on the disk when the call is completed. Several processes may share
/// the file. Removed entries are erased from the files by [`OutboxStore::purge_removed`].
///
/// * A file of a newer version is left unchanged, and opening it fails.
/// * A corrupt file is also left unchanged and cannot be opened, because there is no other copy of its
///   contents. A user who does not need it any more can move it away.
#[derive(Clone, Debug)]
pub struct SqliteOutbox(Arc<Database>);

impl SqliteOutbox {
    /// Opens or creates the outbox in a folder, with access for this user only.
    ///
    /// Use a folder for state, not for caches: `XDG_STATE_HOME` on Linux, `~/Library/Application Support` on
    /// macOS, `LOCALAPPDATA` on Windows.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) if the file cannot be created or
    /// opened, is corrupt, or was written by a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        create_private_folder(folder).map_err(|error| storage_error(&PLAN, &error.kind().to_string()))?;
        Ok(Self(Arc::new(Database::open(&folder.join("outbox.db"), &PLAN)?)))
    }

    /// Returns the number of undecided change sets of all owners, which are lost if the outbox is deleted.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) if the file cannot be read.
    pub async fn count_undecided(&self) -> Result<u64, Error> {
        let sql = "SELECT count(*) FROM entry WHERE done = 0";
        self.run_blocking(move |database| {
            database.read(|connection| connection.query_row(sql, [], |row| row.get::<_, i64>(0)))
        })
        .await
        .map(i64::cast_unsigned)
    }

    /// Returns the owners of the entries, without duplicates. Entries are kept until their owner disconnects.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) if the file cannot be read.
    pub async fn owners(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT owner FROM entry ORDER BY owner";
        self.run_blocking(move |database| {
            database.read(|connection| {
                let mut owners = connection.prepare_cached(sql)?;
                owners.query_map([], |row| row.get(0))?.collect()
            })
        })
        .await
    }

    /// Runs blocking work on a tokio thread. The work is completed even if the future is dropped.
    fn run_blocking<'a, T: Send + 'static>(
        &self,
        run: impl FnOnce(&Database) -> Result<T, Error> + Send + 'static,
    ) -> StoreFuture<'a, T> {
        let database = Arc::clone(&self.0);
        let running = spawn_blocking(move || run(&database));
        Box::pin(async move {
            running.await.unwrap_or_else(|_| Err(storage_error(&PLAN, "its worker thread panicked")))
        })
    }
}

impl OutboxStore for SqliteOutbox {
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        self.run_blocking(move |database| database.write(|transaction| insert_rows(transaction, &rows)))
    }

    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        self.run_blocking(move |database| database.write(|transaction| replace_row(transaction, &row)))
    }

    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        self.run_blocking(move |database| {
            database.write(|transaction| remove_row(transaction, number, revision))
        })
    }

    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        self.run_blocking(|database| database.erase_remnants(0))
    }

    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        let sql = "SELECT * FROM entry WHERE number = :number";
        self.run_blocking(move |database| {
            database.read(|connection| {
                let mut found = connection.prepare_cached(sql)?;
                found.query_row(named_params! { ":number": to_sql(number) }, parse_row).optional()
            })
        })
    }

    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        let owner = owner.to_owned();
        let sql =
            "SELECT * FROM entry WHERE owner = :owner AND lane = :lane AND done = 0 ORDER BY number LIMIT 1";
        self.run_blocking(move |database| {
            database.read(|connection| {
                let mut found = connection.prepare_cached(sql)?;
                found
                    .query_row(named_params! { ":owner": owner, ":lane": lane.as_str() }, parse_row)
                    .optional()
            })
        })
    }

    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        let owner = owner.to_owned();
        self.run_blocking(move |database| database.read(|connection| query_rows(connection, &owner)))
    }
}

/// Deletes the entries of all owners, because a previous installation will never request its entries again
/// (CLI-06).
impl LocalData for SqliteOutbox {
    fn name(&self) -> &'static str {
        "outbox"
    }

    fn delete(&self) -> StoreFuture<'_, ()> {
        self.run_blocking(|database| {
            database.write(|transaction| {
                note_remnants(transaction, 0)?;
                transaction.execute("DELETE FROM entry", []).map(drop)
            })?;
            database.erase_remnants(0)
        })
    }
}

fn insert_rows(transaction: &Transaction<'_>, rows: &[NewEntryRow]) -> rusqlite::Result<Vec<u64>> {
    let sql = "INSERT INTO entry (revision, owner, lane, done, head, body) \
               VALUES (0, :owner, :lane, 0, :head, :body) RETURNING number";
    let mut insert = transaction.prepare_cached(sql)?;
    let insert = |new: &NewEntryRow| {
        let values = named_params! {
            ":owner": new.owner, ":lane": new.lane.as_str(), ":head": new.head, ":body": &new.body[..],
        };
        insert.query_row(values, |row| row.get::<_, i64>(0)).map(from_sql)
    };
    rows.iter().map(insert).collect()
}

fn replace_row(transaction: &Transaction<'_>, row: &EntryRow) -> rusqlite::Result<bool> {
    let sql = "UPDATE entry SET revision = revision + 1, owner = :owner, lane = :lane, done = :done, head = :head, \
               body = :body, result = :result WHERE number = :number AND revision = :revision";
    let changed = transaction.prepare_cached(sql)?.execute(named_params! {
        ":number": to_sql(row.number), ":revision": to_sql(row.revision), ":owner": row.owner,
        ":lane": row.lane.as_str(), ":done": row.done, ":head": row.head, ":body": &row.body[..],
        ":result": row.result.as_deref(),
    })?;
    Ok(changed == 1)
}

fn remove_row(transaction: &Transaction<'_>, number: u64, revision: u64) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM entry WHERE number = :number AND revision = :revision";
    let values = named_params! { ":number": to_sql(number), ":revision": to_sql(revision) };
    note_remnants(transaction, 0)?;
    Ok(transaction.prepare_cached(sql)?.execute(values)? == 1)
}

fn query_rows(connection: &Connection, owner: &str) -> rusqlite::Result<Vec<EntryRow>> {
    let sql = "SELECT * FROM entry WHERE owner = :owner ORDER BY number";
    connection.prepare_cached(sql)?.query_map(named_params! { ":owner": owner }, parse_row)?.collect()
}

fn parse_row(row: &rusqlite::Row<'_>) -> rusqlite::Result<EntryRow> {
    let lane: String = row.get("lane")?;
    let unknown = || rusqlite::Error::InvalidColumnName("unknown area".to_owned());
    Ok(EntryRow {
        number: from_sql(row.get("number")?),
        revision: from_sql(row.get("revision")?),
        owner: row.get("owner")?,
        lane: Lane::from_name(&lane).ok_or_else(unknown)?,
        done: row.get("done")?,
        head: row.get("head")?,
        body: row.get::<_, Vec<u8>>("body")?.into(),
        result: row.get::<_, Option<Vec<u8>>>("result")?.map(Into::into),
    })
}

/// Converts a number for SQLite. It always fits, because SQLite assigned it.
fn to_sql(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn from_sql(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
