//! The SQLite store: one writer with group commit, concurrent readers, migrations and backups.
//!
//! A write is a closure that runs on the writer's thread. All queued writes share one transaction and one
//! commit. Each one runs in its own savepoint, and its result is returned only after the commit. A write
//! whose result was returned is therefore in the log, and no transaction is held across an `await`. A commit
//! also waits until the log is on disk, except for writes that are useless without a later one
//! ([`Store::write_ahead`]).
//!
//! A read is a closure over one snapshot. It runs on one of a few reader threads or, if it fetches only a few
//! rows, on the caller's thread. A store in memory has only one connection, so its reads run on the writer's
//! thread.

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
pub use backup::{BackupError, restore_backup, write_backup};
pub use edit::{EditError, edit_store, inspect_store};
pub use error::{OpenError, StoreError};
pub(crate) use keys::{ensure_key, load_key};
pub(crate) use private::create_folder;
pub use queue::{Store, StoreLocation, StoreOptions};
pub(crate) use writer::on_commit;

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Params};

/// The maximum time for which the writer waits for writes of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Converts a count into a parameter for `LIMIT`.
pub(crate) fn sql_limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

/// Runs a statement that returns one count.
pub(crate) fn query_count(
    connection: &Connection,
    sql: &str,
    params: impl Params,
) -> Result<u64, StoreError> {
    let count: i64 = connection.prepare_cached(sql)?.query_row(params, |row| row.get(0))?;
    u64::try_from(count).map_err(|_| StoreError::Corrupt("negative count"))
}

/// Encodes strings as a JSON array for `json_each`, so that one statement can look up many keys.
pub(crate) fn json_list<'t>(texts: impl IntoIterator<Item = &'t str>) -> String {
    serde_json::Value::from_iter(texts).to_string()
}

/// Returns the value of a setting, or `None` if it is not set.
pub(crate) fn read_setting(connection: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let mut one = connection.prepare_cached("SELECT value FROM setting WHERE name = ?1")?;
    Ok(one.query_row([name], |row| row.get(0)).optional()?)
}

/// Makes SQLite plan each prepared statement only once. By default, SQLite plans a statement again when the
/// value of a bound limit or range changes.
fn plan_once(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Runs a cached statement that begins or ends a transaction or savepoint.
fn run_statement(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
