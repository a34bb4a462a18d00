//! Deletes tombstones that are older than 90 days and stored cursors that were not used for 90 days, a
//! limited number at a time.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::cursor::LIFETIME;
use crate::store::{StoreError, sql_limit};
use crate::time::Moment;

/// Deletes up to `limit` tombstones that are older than 90 days. Returns the number of deleted tombstones.
/// Existing entries are kept.
///
/// The floor of a stream is set to the highest deleted number in the same transaction. A cursor below the
/// floor is answered with `410`, so that no reader misses a removal (FED-08, LIM-13).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn prune_tombstones(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let mut old = connection.prepare_cached(
        "SELECT stream, key, seq FROM feed_entry WHERE gone = 1 AND changed_at < ?1 \
         ORDER BY changed_at LIMIT ?2",
    )?;
    let old: Vec<(i64, String, i64)> = old
        .query_map(params![now.minus(LIFETIME).as_millis(), sql_limit(limit)], |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?
        .collect::<Result<_, _>>()?;
    let mut floors: BTreeMap<i64, i64> = BTreeMap::new();
    let mut remove = connection.prepare_cached("DELETE FROM feed_entry WHERE stream = ?1 AND key = ?2")?;
    for (stream, key, seq) in &old {
        remove.execute(params![stream, key])?;
        let floor = floors.entry(*stream).or_default();
        *floor = (*floor).max(*seq);
    }
    let mut raise = connection.prepare_cached("UPDATE feed_head SET floor = max(floor, ?2) WHERE id = ?1")?;
    for (stream, floor) in floors {
        raise.execute(params![stream, floor])?;
    }
    Ok(old.len())
}

/// Deletes up to `limit` stored vectors of cursors that were not used for 90 days. Returns the number of
/// deleted vectors.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn prune_cursors(connection: &Connection, now: Moment, limit: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM cursor_vector WHERE hash IN \
               (SELECT hash FROM cursor_vector WHERE used_at < ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.minus(LIFETIME).as_millis(), sql_limit(limit)])?)
}
