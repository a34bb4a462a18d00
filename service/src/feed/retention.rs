//! Retention: tombstones and kept cursors older than 90 days go, a bounded number at a time.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};

use super::cursor::LIFE;
use crate::store::StoreError;
use crate::time::Moment;

/// How far it got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pruned {
    /// Tombstones that went.
    pub tombstones: usize,
    /// Kept cursors that went.
    pub cursors: usize,
    /// Whether some may be left: call it again.
    pub more: bool,
}

/// Removes at most so many tombstones and so many kept cursors that are older than 90 days.
///
/// A stream's floor rises with what it loses, in the same transaction: a cursor below it is `410`, so
/// no reader goes on as if nothing had been removed (FED-08, LIM-13). Entries that are there stay.
///
/// # Errors
/// What the database says.
pub fn prune(connection: &Connection, now: Moment, most: usize) -> Result<Pruned, StoreError> {
    let before = now.minus(LIFE).millis();
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let mut old = connection.prepare_cached(
        "SELECT stream, key, seq FROM feed_entry WHERE gone = 1 AND changed_at < ?1 \
         ORDER BY changed_at LIMIT ?2",
    )?;
    let old: Vec<(String, String, i64)> = old
        .query_map(params![before, limit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
        .collect::<Result<_, _>>()?;
    let mut floors: BTreeMap<&str, i64> = BTreeMap::new();
    let mut remove = connection.prepare_cached("DELETE FROM feed_entry WHERE stream = ?1 AND key = ?2")?;
    for (stream, key, seq) in &old {
        remove.execute(params![stream, key])?;
        let floor = floors.entry(stream).or_default();
        *floor = (*floor).max(*seq);
    }
    let mut raise =
        connection.prepare_cached("UPDATE feed_head SET floor = max(floor, ?2) WHERE stream = ?1")?;
    for (stream, floor) in floors {
        raise.execute(params![stream, floor])?;
    }
    let cursors = connection
        .prepare_cached(
            "DELETE FROM cursor_vector WHERE hash IN \
             (SELECT hash FROM cursor_vector WHERE used_at < ?1 LIMIT ?2)",
        )?
        .execute(params![before, limit])?;
    Ok(Pruned { tombstones: old.len(), cursors, more: old.len() == most || cursors == most })
}
