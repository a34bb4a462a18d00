//! Migrations, in the binary, each remembered with its checksum.

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::OpenError;
use crate::secrets;

const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001.sql")];

/// Brings the database to this service's version.
///
/// # Errors
/// [`OpenError::Newer`] or [`OpenError::Altered`], with nothing changed; or what the database says.
pub(super) fn migrate(connection: &mut Connection) -> Result<(), OpenError> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS migration (number INTEGER PRIMARY KEY, checksum BLOB NOT NULL) STRICT",
    )?;
    let ran = ran(&transaction)?;
    for (number, sql) in (1_u32..).zip(MIGRATIONS).filter(|(number, _)| *number > ran) {
        transaction.execute_batch(sql)?;
        transaction.execute(
            "INSERT INTO migration (number, checksum) VALUES (?1, ?2)",
            params![number, secrets::hash(sql)],
        )?;
    }
    transaction.commit()?;
    Ok(())
}

/// Asks whether the database has this service's version, and changes nothing.
///
/// # Errors
/// [`OpenError::Newer`], [`OpenError::Older`] or [`OpenError::Altered`]; or what the database says.
pub(super) fn check(connection: &Connection) -> Result<(), OpenError> {
    match ran(connection)? {
        found if found < known() => Err(OpenError::Older { found, known: known() }),
        _ => Ok(()),
    }
}

fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// The last migration that ran: one that this service has, as are those before it.
fn ran(connection: &Connection) -> Result<u32, OpenError> {
    let found: Option<u32> =
        connection.query_row("SELECT max(number) FROM migration", [], |row| row.get(0))?;
    let found = found.unwrap_or_default();
    if found > known() {
        return Err(OpenError::Newer { found, known: known() });
    }
    for (number, sql) in (1..=found).zip(MIGRATIONS) {
        let checksum: Option<Vec<u8>> = connection
            .query_row("SELECT checksum FROM migration WHERE number = ?1", [number], |row| row.get(0))
            .optional()?;
        if checksum.is_none_or(|checksum| checksum != secrets::hash(sql)) {
            return Err(OpenError::Altered { number });
        }
    }
    Ok(found)
}
