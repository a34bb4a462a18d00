//! The epoch of a store: which history its numbers belong to.
//!
//! Every cursor carries it. A store that was restored or reset has another one, so that no cursor of
//! the former history is taken for one of this (FED-08).

use dpop_bound::Random;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::StoreError;

/// An epoch: random bytes.
pub type Epoch = [u8; 8];

const NAME: &str = "epoch";

/// The epoch of the store, made when there is none yet.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn settle(connection: &Connection, random: &dyn Random) -> Result<Epoch, StoreError> {
    match find(connection)? {
        Some(epoch) => Ok(epoch),
        None => renew(connection, random),
    }
}

/// The epoch of the store, when it has one.
///
/// # Errors
/// What the database says.
pub fn find(connection: &Connection) -> Result<Option<Epoch>, StoreError> {
    let sql = "SELECT value FROM secret WHERE name = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([NAME], |row| row.get(0)).optional()?)
}

/// Begins another one.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub fn renew(connection: &Connection, random: &dyn Random) -> Result<Epoch, StoreError> {
    let mut epoch = Epoch::default();
    random.fill(&mut epoch)?;
    let sql = "INSERT INTO secret (name, value) VALUES (?1, ?2) \
               ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute(params![NAME, epoch])?;
    Ok(epoch)
}
