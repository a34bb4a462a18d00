//! The lease of the upkeep. Of several processes that share a store, only the one with the lease runs tasks.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::StoreError;
use crate::time::Moment;

const NAME: &str = "upkeep";
/// The period for which the lease remains valid after the last piece of work.
const LIFETIME: Duration = Duration::from_secs(60);

/// Returns the latest expiry time that a lease can have if the clock was not set back. Includes a tolerance.
fn latest_expiry(now: Moment) -> Moment {
    now.plus(2 * LIFETIME)
}

/// Returns true if another process has the lease.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(super) fn is_held_elsewhere(
    connection: &Connection,
    holder: &str,
    now: Moment,
) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM lease WHERE name = ?1 AND holder <> ?2 AND until > ?3 AND until <= ?4";
    let bounds = params![NAME, holder, now.as_millis(), latest_expiry(now).as_millis()];
    let found = connection.prepare_cached(sql)?.query_row(bounds, |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Acquires or renews the lease. Returns false if another process has it. A lease whose expiry time is too
/// far in the future is ignored, because the clock was set back after it was acquired.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(super) fn acquire_lease(connection: &Connection, holder: &str, now: Moment) -> Result<bool, StoreError> {
    let sql = "INSERT INTO lease (name, holder, until) VALUES (?1, ?2, ?4) \
               ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
               WHERE holder = excluded.holder OR until <= ?3 OR until > ?5";
    let changed = connection.prepare_cached(sql)?.execute(params![
        NAME,
        holder,
        now.as_millis(),
        now.plus(LIFETIME).as_millis(),
        latest_expiry(now).as_millis()
    ])?;
    Ok(changed > 0)
}
