//! Which of the processes over one store does its upkeep.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, params};

use crate::store::StoreError;
use crate::time::Moment;

/// The lease's name in the store.
const NAME: &str = "upkeep";
/// How long it holds after the last piece of work.
const LIFE: Duration = Duration::from_secs(60);

/// Until then no lease holds that was taken by the same clock; a look at it a moment earlier makes no difference.
fn beyond(now: Moment) -> Moment {
    now.plus(2 * LIFE)
}

/// Whether somebody else has the lease.
///
/// # Errors
/// What the database says.
pub(super) fn is_elsewhere(connection: &Connection, holder: &str, now: Moment) -> Result<bool, StoreError> {
    let sql = "SELECT 1 FROM lease WHERE name = ?1 AND holder <> ?2 AND until > ?3 AND until <= ?4";
    let bounds = params![NAME, holder, now.millis(), beyond(now).millis()];
    let found = connection.prepare_cached(sql)?.query_row(bounds, |_| Ok(())).optional()?;
    Ok(found.is_some())
}

/// Takes the lease, or goes on having it; says whether it could be had. One that would hold for longer than any
/// does was taken by a clock that has stepped back since, and is over.
///
/// # Errors
/// What the database says.
pub(super) fn take(connection: &Connection, holder: &str, now: Moment) -> Result<bool, StoreError> {
    let sql = "INSERT INTO lease (name, holder, until) VALUES (?1, ?2, ?4) \
               ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until \
               WHERE holder = excluded.holder OR until <= ?3 OR until > ?5";
    let changed = connection.prepare_cached(sql)?.execute(params![
        NAME,
        holder,
        now.millis(),
        now.plus(LIFE).millis(),
        beyond(now).millis()
    ])?;
    Ok(changed > 0)
}
