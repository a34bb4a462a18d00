//! What the store knows of lots.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use exchange_api::reasons::Reason;
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::super::change::Writer;
use super::super::journal::before_first_changes;
use super::super::warehouse::{Lot, rows_of};
use super::NAME;
use super::decide::{Known, Shelf, Wish};
use crate::feed::{self, Stream};
use crate::ids::MemberId;
use crate::store::{self, StoreError};

/// What is known of the lots that ops name.
pub(super) fn known(
    connection: &Connection,
    writer: &Writer,
    targets: &[Result<Wish, Reason>],
) -> Result<Known, StoreError> {
    let mut known = Known { marking: marking(connection)?, ..Known::default() };
    let stream = Stream::of_member(NAME, &writer.member);
    let mut keys: BTreeMap<&Lot, String> = BTreeMap::new();
    for wish in targets.iter().flatten() {
        keys.entry(&wish.lot).or_insert_with(|| wish.lot.key());
    }
    let mut rows = rows_of(connection, &writer.member, keys.values().map(String::as_str))?;
    let empty = keys.values().map(String::as_str).filter(|key| !rows.contains_key(*key));
    let mut gone = feed::removals(connection, &stream, empty)?;
    for (lot, key) in &keys {
        let (rows, gone) = (rows.remove(key).unwrap_or_default(), gone.remove(key));
        let shelf = Shelf { key: Some(key.clone()), rows, gone, ..Shelf::default() };
        known.lots.insert((*lot).clone(), shelf);
    }
    guarded(connection, writer, targets, &keys, &mut known.lots)?;
    Ok(known)
}

/// Whether stock may be marked as stolen; it may, as long as nobody switched it off.
pub(in crate::backend) fn marking(connection: &Connection) -> Result<bool, StoreError> {
    Ok(store::setting(connection, "stolen-marking")?.as_deref() != Some("off"))
}

/// What the client did within the guard's window to the lots that ops lower (STK-22): of each its first change, and of
/// all the removals, which are few since each lot counts once. What else there is in the window is not looked at.
fn guarded(
    connection: &Connection,
    writer: &Writer,
    targets: &[Result<Wish, Reason>],
    keys: &BTreeMap<&Lot, String>,
    lots: &mut BTreeMap<Lot, Shelf>,
) -> Result<(), StoreError> {
    let (Some((client, _)), Some(since)) = (writer.author.connected(), writer.guarded_since) else {
        return Ok(());
    };
    let lowered: BTreeSet<&Lot> =
        targets.iter().flatten().filter(|wish| wish.quantity < wish.expected).map(|wish| &wish.lot).collect();
    let fallen: Vec<(&str, &mut Shelf)> = lots
        .iter_mut()
        .filter(|(lot, shelf)| lowered.contains(lot) && !shelf.rows.is_empty())
        .filter_map(|(lot, shelf)| Some((keys.get(lot)?.as_str(), shelf)))
        .collect();
    if fallen.is_empty() {
        return Ok(());
    }
    let mut removals = connection.prepare_cached(
        "SELECT e.key FROM journal_set s INDEXED BY journal_set_of_guard \
         CROSS JOIN journal_entry e ON e.id BETWEEN s.first AND s.last AND e.removal = 1 \
         WHERE s.member = ?1 AND s.area = 'stock' AND s.client = ?2 AND s.at > ?3 AND s.removals > 0",
    )?;
    let removed = removals.query_map(params![writer.member, client, since.millis()], |row| row.get(0))?;
    let removed: HashSet<String> = removed.collect::<Result<_, _>>()?;
    let keys = fallen.iter().map(|(key, _)| *key);
    let first = before_first_changes(connection, &writer.member, client, since, keys)?;
    for (key, shelf) in fallen {
        let before = first.get(key).map(|before| before.as_deref().map_or(Ok(0), held));
        shelf.base = before.transpose()?;
        shelf.counted = removed.contains(key);
    }
    Ok(())
}

/// What a journalled holding held.
fn held(holding: &str) -> Result<i64, StoreError> {
    /// The part that the guard goes by.
    #[derive(Deserialize)]
    struct Journalled {
        held: i64,
    }
    let Journalled { held } =
        serde_json::from_str(holding).map_err(|_| StoreError::Corrupt("a journalled lot"))?;
    Ok(held)
}

/// How many lots the member has.
pub(super) fn count(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(DISTINCT lot) FROM stock_row WHERE member = ?1";
    store::count(connection, sql, [member])
}
