//! Keys that the service keeps for itself, in the table `secret`.

use aws_lc_rs::hmac;
use dpop_bound::Random;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::StoreError;

/// A key of the service's own, made when it is asked for the first time.
///
/// # Errors
/// What the database says, or that there are no random numbers.
pub(crate) fn own_key(
    connection: &Connection,
    random: &dyn Random,
    name: &str,
) -> Result<hmac::Key, StoreError> {
    let mut made = [0_u8; 32];
    random.fill(&mut made)?;
    let sql = "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![name, made])?;
    kept_key(connection, name)
}

/// The same, once it is made.
///
/// # Errors
/// What the database says, or that there is none.
pub(crate) fn kept_key(connection: &Connection, name: &str) -> Result<hmac::Key, StoreError> {
    let sql = "SELECT value FROM secret WHERE name = ?1";
    let kept: Option<Vec<u8>> =
        connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
    let kept = kept.ok_or(StoreError::Corrupt("a key of the service's own is missing"))?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &kept))
}
