//! The lease by which one of several processes over one store runs its upkeep.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::StoreError;
use crate::time::Moment;

const NAME: &str = "upkeep";
/// How long the lease is valid after the last piece of work.
const LIFETIME: Duration = Duration::from_secs(60);

/// Returns the latest time until which a lease can be valid by the same clock, with a tolerance.
fn latest_expiry(now: Moment) -> Moment {
    now.plus(2 * LIFETIME)
}

/// Reports whether another process holds the lease.
///
/// # Errors
/// Returns the database's error.
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

/// Acquires or renews the lease. Returns false if another process holds it. A lease with an end too far in
/// the future is ignored: the clock has stepped back since it was acquired.
///
/// # Errors
/// Returns the database's error.
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
