//! SQLite: one writer with group commit, readers beside it, migrations, backup.
//!
//! A write is a closure that runs on the writer's thread; as many as are waiting share one transaction and
//! one commit, each inside a savepoint of its own, and each learns of its success only after it. So
//! what was acknowledged is in the log, and no transaction is ever held across an `await`. The disk is
//! waited for too, unless a write is nothing without one that follows and is written ahead of it.
//!
//! A read is a closure over one snapshot, on one of a small pool of connections, and a look at a few rows
//! is one in place; in memory, where connections cannot share a snapshot, both take their turn on the
//! writer's thread.

mod backup;
mod checkpoint;
mod edit;
pub mod epoch;
mod error;
mod keys;
mod migrate;
mod private;
mod queue;
mod readers;
mod writer;

pub(crate) use backup::restored_at;
pub use backup::{BackupError, backup, restore};
pub use edit::{EditError, edit, inspect};
pub use error::{OpenError, StoreError};
pub(crate) use keys::{kept_key, own_key};
pub use queue::{Options, Place, Store};

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Params};

/// How long the writer waits for other processes that write.
const PATIENCE: Duration = Duration::from_secs(5);

/// A count as `LIMIT` takes it.
pub(crate) fn limit(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}

/// What a statement counts.
pub(crate) fn count(connection: &Connection, sql: &str, params: impl Params) -> Result<u64, StoreError> {
    let count: i64 = connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
    u64::try_from(count).map_err(|_| StoreError::Corrupt("a count below zero"))
}

/// Texts as `json_each` takes them, so that one statement asks for many.
pub(crate) fn list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}

/// What a setting is set to, if it is.
pub(crate) fn setting(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let mut one = connection.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
    Ok(one.query_row([name], |row| row.get(0)).optional()?)
}

/// Has statements planned once, whatever they are asked for: without it SQLite plans one anew each time that a
/// bound limit or bound differs from the last one's.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Runs a statement that begins or ends a transaction; it is prepared once for all of them.
fn step(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
