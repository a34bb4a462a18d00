//! The outbox in a file of its own, `outbox.db`: no cache, since nobody else has what is in it.

#[cfg(test)]
mod tests;

use std::{path::Path, sync::Arc};

use exchange_client::{
    Error, Lane, LocalData,
    outbox::{Keeping, NewRow, OutboxStore, Row},
};
use rusqlite::{Connection, OptionalExtension as _, Transaction, named_params};
use tokio::task::spawn_blocking;

use crate::database::{Damaged, Database, Plan, leave, private_folder, storage};

static PLAN: Plan = Plan {
    what: "outbox",
    application: 0x4558_4f42,
    migrations: &[include_str!("outbox/0001.sql")],
    damaged: Damaged::Refuse,
};

/// An outbox that outlives the process.
///
/// What is kept is on the disk when it is said to be: one transaction, one sync, for each call. Several processes
/// may share the file. What is removed is in none of its files any more once [`OutboxStore::settle`] returned.
///
/// * A file of a newer program is left as it is, and opening it fails.
/// * So is a damaged one: what it holds is nowhere else. Whoever gives it up moves it out of the way.
#[derive(Clone, Debug)]
pub struct SqliteOutbox(Arc<Database>);

impl SqliteOutbox {
    /// Opens the outbox in a folder, or makes it, readable for this user alone.
    ///
    /// The folder is one for state, not for caches: `XDG_STATE_HOME` on Linux, `~/Library/Application Support` on
    /// macOS, `LOCALAPPDATA` on Windows.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage) when it cannot be made or opened, is damaged, or
    /// was written by a newer version.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, Error> {
        let folder = folder.as_ref();
        private_folder(folder).map_err(|error| storage(&PLAN, &error.kind().to_string()))?;
        Ok(Self(Arc::new(Database::open(&folder.join("outbox.db"), &PLAN)?)))
    }

    /// How many sets in it were not decided, whosever they are: what is lost when it is deleted.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage).
    pub async fn waiting(&self) -> Result<u64, Error> {
        let sql = "SELECT count(*) FROM entry WHERE done = 0";
        self.run(move |database| {
            database.read(|connection| connection.query_row(sql, [], |row| row.get::<_, i64>(0)))
        })
        .await
        .map(i64::cast_unsigned)
    }

    /// Whose sets are in it, each once: whoever signed in here keeps what was not told until somebody disconnects.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`](exchange_client::ErrorKind::Storage).
    pub async fn owners(&self) -> Result<Vec<String>, Error> {
        let sql = "SELECT DISTINCT owner FROM entry ORDER BY owner";
        self.run(move |database| {
            database.read(|connection| {
                let mut owners = connection.prepare_cached(sql)?;
                owners.query_map([], |row| row.get(0))?.collect()
            })
        })
        .await
    }

    /// Runs apart from the executor, to its end even when nobody waits for it any more.
    fn run<'a, T: Send + 'static>(
        &self,
        run: impl FnOnce(&Database) -> Result<T, Error> + Send + 'static,
    ) -> Keeping<'a, T> {
        let database = Arc::clone(&self.0);
        let running = spawn_blocking(move || run(&database));
        Box::pin(async move {
            running.await.unwrap_or_else(|_| Err(storage(&PLAN, "its thread ended before its time")))
        })
    }
}

impl OutboxStore for SqliteOutbox {
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        self.run(move |database| database.write(|transaction| append(transaction, &rows)))
    }

    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        self.run(move |database| database.write(|transaction| replace(transaction, &row)))
    }

    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        self.run(move |database| database.write(|transaction| remove(transaction, number, revision)))
    }

    fn settle(&self) -> Keeping<'_, ()> {
        self.run(|database| database.settle(0))
    }

    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        let sql = "SELECT * FROM entry WHERE number = :number";
        self.run(move |database| {
            database.read(|connection| {
                let mut found = connection.prepare_cached(sql)?;
                found.query_row(named_params! { ":number": stored(number) }, row).optional()
            })
        })
    }

    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        let owner = owner.to_owned();
        let sql =
            "SELECT * FROM entry WHERE owner = :owner AND lane = :lane AND done = 0 ORDER BY number LIMIT 1";
        self.run(move |database| {
            database.read(|connection| {
                let mut found = connection.prepare_cached(sql)?;
                found.query_row(named_params! { ":owner": owner, ":lane": lane.as_str() }, row).optional()
            })
        })
    }

    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        let owner = owner.to_owned();
        self.run(move |database| database.read(|connection| rows(connection, &owner)))
    }
}

/// Everything in it, whosever it is: an installation that is gone asks for what it left no more (CLI-06).
impl LocalData for SqliteOutbox {
    fn name(&self) -> &'static str {
        "outbox"
    }

    fn delete(&self) -> Keeping<'_, ()> {
        self.run(|database| {
            database.write(|transaction| {
                leave(transaction, 0)?;
                transaction.execute("DELETE FROM entry", []).map(drop)
            })?;
            database.settle(0)
        })
    }
}

fn append(transaction: &Transaction<'_>, rows: &[NewRow]) -> rusqlite::Result<Vec<u64>> {
    let sql = "INSERT INTO entry (revision, owner, lane, done, head, body) \
               VALUES (0, :owner, :lane, 0, :head, :body) RETURNING number";
    let mut insert = transaction.prepare_cached(sql)?;
    let insert = |new: &NewRow| {
        let values = named_params! {
            ":owner": new.owner, ":lane": new.lane.as_str(), ":head": new.head, ":body": &new.body[..],
        };
        insert.query_row(values, |row| row.get::<_, i64>(0)).map(read)
    };
    rows.iter().map(insert).collect()
}

fn replace(transaction: &Transaction<'_>, row: &Row) -> rusqlite::Result<bool> {
    let sql = "UPDATE entry SET revision = revision + 1, owner = :owner, lane = :lane, done = :done, head = :head, \
               body = :body, result = :result WHERE number = :number AND revision = :revision";
    let changed = transaction.prepare_cached(sql)?.execute(named_params! {
        ":number": stored(row.number), ":revision": stored(row.revision), ":owner": row.owner,
        ":lane": row.lane.as_str(), ":done": row.done, ":head": row.head, ":body": &row.body[..],
        ":result": row.result.as_deref(),
    })?;
    Ok(changed == 1)
}

fn remove(transaction: &Transaction<'_>, number: u64, revision: u64) -> rusqlite::Result<bool> {
    let sql = "DELETE FROM entry WHERE number = :number AND revision = :revision";
    let values = named_params! { ":number": stored(number), ":revision": stored(revision) };
    leave(transaction, 0)?;
    Ok(transaction.prepare_cached(sql)?.execute(values)? == 1)
}

fn rows(connection: &Connection, owner: &str) -> rusqlite::Result<Vec<Row>> {
    let sql = "SELECT * FROM entry WHERE owner = :owner ORDER BY number";
    connection.prepare_cached(sql)?.query_map(named_params! { ":owner": owner }, row)?.collect()
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    let lane: String = row.get("lane")?;
    let unknown = || rusqlite::Error::InvalidColumnName("an area of no name".to_owned());
    Ok(Row {
        number: read(row.get("number")?),
        revision: read(row.get("revision")?),
        owner: row.get("owner")?,
        lane: Lane::named(&lane).ok_or_else(unknown)?,
        done: row.get("done")?,
        head: row.get("head")?,
        body: row.get::<_, Vec<u8>>("body")?.into(),
        result: row.get::<_, Option<Vec<u8>>>("result")?.map(Into::into),
    })
}

/// A number as SQLite has it; none that it gave is greater than it can hold.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn read(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
