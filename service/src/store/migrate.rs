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
    let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
    let found: Option<u32> =
        transaction.query_row("SELECT max(number) FROM migration", [], |row| row.get(0))?;
    if let Some(found) = found.filter(|&found| found > known) {
        return Err(OpenError::Newer { found, known });
    }
    for (number, sql) in (1_u32..).zip(MIGRATIONS) {
        let checksum = secrets::hash(sql);
        let ran: Option<Vec<u8>> = transaction
            .query_row("SELECT checksum FROM migration WHERE number = ?1", [number], |row| row.get(0))
            .optional()?;
        match ran {
            Some(ran) if ran == checksum => {}
            Some(_) => return Err(OpenError::Altered { number }),
            None => {
                transaction.execute_batch(sql)?;
                transaction.execute(
                    "INSERT INTO migration (number, checksum) VALUES (?1, ?2)",
                    params![number, checksum],
                )?;
            }
        }
    }
    transaction.commit()?;
    Ok(())
}
