//! Retention: tombstones and kept cursors older than 90 days go, a bounded number at a time.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::cursor::LIFE;
use crate::store::{StoreError, limit};
use crate::time::Moment;

/// Removes at most so many tombstones that are older than 90 days; says how many.
///
/// A stream's floor rises with what it loses, in the same transaction: a cursor below it is `410`, so
/// no reader goes on as if nothing had been removed (FED-08, LIM-13). Entries that are there stay.
///
/// # Errors
/// What the database says.
pub fn tombstones(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let mut old = connection.prepare_cached(
        "SELECT stream, key, seq FROM feed_entry WHERE gone = 1 AND changed_at < ?1 \
         ORDER BY changed_at LIMIT ?2",
    )?;
    let old: Vec<(i64, String, i64)> = old
        .query_map(params![now.minus(LIFE).millis(), limit(most)], |row| {
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

/// Removes at most so many kept cursors that nobody used for 90 days; says how many.
///
/// # Errors
/// What the database says.
pub fn cursors(connection: &Connection, now: Moment, most: usize) -> Result<usize, StoreError> {
    let sql = "DELETE FROM cursor_vector WHERE hash IN \
               (SELECT hash FROM cursor_vector WHERE used_at < ?1 LIMIT ?2)";
    Ok(connection.prepare_cached(sql)?.execute(params![now.minus(LIFE).millis(), limit(most)])?)
}
