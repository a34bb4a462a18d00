//! The epoch of a store, which identifies its history.
//!
//! Every cursor is bound to the epoch. A restored or reset store has a new epoch, so that cursors from the
//! earlier history are invalid (FED-08).

use dpop_bound::RandomSource;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::StoreError;

/// An epoch, as random bytes.
pub type StoreEpoch = [u8; 8];

const NAME: &str = "epoch";

/// Returns the epoch of the store. Creates one if the store has none.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
pub fn ensure_epoch(connection: &Connection, random: &dyn RandomSource) -> Result<StoreEpoch, StoreError> {
    match find_epoch(connection)? {
        Some(epoch) => Ok(epoch),
        None => renew_epoch(connection, random),
    }
}

/// Returns the epoch of the store, or `None` if the store has none.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_epoch(connection: &Connection) -> Result<Option<StoreEpoch>, StoreError> {
    let sql = "SELECT value FROM secret WHERE name = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([NAME], |row| row.get(0)).optional()?)
}

/// Replaces the epoch of the store with a new one.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
pub fn renew_epoch(connection: &Connection, random: &dyn RandomSource) -> Result<StoreEpoch, StoreError> {
    let mut epoch = StoreEpoch::default();
    random.fill(&mut epoch)?;
    let sql = "INSERT INTO secret (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![NAME, epoch])?;
    Ok(epoch)
}
