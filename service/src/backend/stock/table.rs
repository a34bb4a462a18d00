//! What the store knows of lots.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use exchange_api::reasons::Reason;
use rusqlite::{Connection, params};
use serde::Deserialize;

use super::super::change::Writer;
use super::super::warehouse::{Lot, rows_of};
use super::NAME;
use super::decide::{Known, Shelf, Wish};
use crate::feed::{self, Stream};
use crate::ids::MemberId;
use crate::store::{self, StoreError, list};

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
        known.lots.insert((*lot).clone(), Shelf { rows, gone, ..Shelf::default() });
    }
    guarded(connection, writer, targets, &keys, &mut known.lots)?;
    Ok(known)
}

/// Whether stock may be marked as stolen; it may, as long as nobody switched it off.
pub(in crate::backend) fn marking(connection: &Connection) -> Result<bool, StoreError> {
    Ok(store::setting(connection, "stolen-marking")?.as_deref() != Some("off"))
}

/// What the client did within the guard's window to the lots that ops lower (STK-22): of each its first change, by
/// the journal's index of lots, and of all the removals, which are few since each lot counts once. What else there
/// is in the window is not looked at, however much it is.
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
    // From the first set within the window on; entries stand in their order.
    let mut first = connection.prepare_cached(
        "SELECT e.key, e.before FROM json_each(?2) k CROSS JOIN journal_entry e ON e.id = \
         (SELECT o.id FROM journal_entry o INDEXED BY journal_entry_of_lot \
          CROSS JOIN journal_set s ON s.first = (SELECT max(first) FROM journal_set WHERE first <= o.id) \
          WHERE o.lots = ?5 AND o.key = k.value AND o.id >= \
          (SELECT min(first) FROM journal_set WHERE member = ?1 AND area = 'stock' AND at > ?4) \
          AND s.client = ?3 AND s.at > ?4 ORDER BY o.id LIMIT 1)",
    )?;
    let lots = feed::number(connection, &Stream::of_member(NAME, &writer.member))?;
    let keys = list(fallen.iter().map(|(key, _)| *key));
    let mut first = first.query(params![writer.member, keys, client, since.millis(), lots])?;
    let mut bases: HashMap<String, i64> = HashMap::new();
    while let Some(row) = first.next()? {
        let before: Option<String> = row.get(1)?;
        bases.insert(row.get(0)?, before.map_or(Ok(0), |before| held(&before))?);
    }
    for (key, shelf) in fallen {
        shelf.base = bases.get(key).copied();
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
