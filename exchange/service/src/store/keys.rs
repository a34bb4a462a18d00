//! The keys of the service itself, in the table `secret`.

use aws_lc_rs::hmac;
use dpop_bound::RandomSource;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::StoreError;

/// Returns the key with this name. Creates it if it does not exist.
///
/// # Errors
/// Returns [`StoreError::Random`] if the random number generator fails, or another [`StoreError`] if the
/// database fails.
pub(crate) fn ensure_key(
    connection: &Connection,
    random: &dyn RandomSource,
    name: &str,
) -> Result<hmac::Key, StoreError> {
    let mut generated = [0_u8; 32];
    random.fill(&mut generated)?;
    let sql = "INSERT INTO secret (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING";
    connection.prepare_cached(sql)?.execute(params![name, generated])?;
    load_key(connection, name)
}

/// Returns the existing key with a name.
///
/// # Errors
/// Returns [`StoreError::Corrupt`] if the key is missing, or another [`StoreError`] if the database fails.
pub(crate) fn load_key(connection: &Connection, name: &str) -> Result<hmac::Key, StoreError> {
    let sql = "SELECT value FROM secret WHERE name = ?1";
    let stored: Option<Vec<u8>> =
        connection.prepare_cached(sql)?.query_row([name], |row| row.get(0)).optional()?;
    let stored = stored.ok_or(StoreError::Corrupt("a key of the service is missing"))?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &stored))
}
