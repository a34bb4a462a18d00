//! What the store knows of lots.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use exchange_api::reasons::Reason;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;

use super::super::change::Writer;
use super::super::warehouse::{Lot, rows};
use super::NAME;
use super::decide::{Known, Shelf, Wish};
use crate::feed::{self, Stream};
use crate::ids::MemberId;
use crate::store::StoreError;

/// What is known of the lots that ops name.
pub(super) fn known(
    connection: &Connection,
    writer: &Writer,
    targets: &[Result<Wish, Reason>],
) -> Result<Known, StoreError> {
    let mut known = Known { marking: marking(connection)?, ..Known::default() };
    let stream = Stream::of_member(NAME, &writer.member);
    for wish in targets.iter().flatten() {
        if known.lots.contains_key(&wish.lot) {
            continue;
        }
        let key = wish.lot.key();
        let mut shelf = Shelf { rows: rows(connection, &writer.member, &key)?, ..Shelf::default() };
        if shelf.rows.is_empty() {
            shelf.gone = feed::removal(connection, &stream, &key)?;
        }
        known.lots.insert(wish.lot.clone(), shelf);
    }
    guarded(connection, writer, targets, &mut known.lots)?;
    Ok(known)
}

/// Whether stock may be marked as stolen; it may, as long as nobody switched it off.
pub(in crate::backend) fn marking(connection: &Connection) -> Result<bool, StoreError> {
    let sql = "SELECT value <> 'off' FROM setting WHERE name = 'stolen-marking'";
    let found = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or(true))
}

/// The part of a journalled holding that the guard goes by.
#[derive(Deserialize)]
struct Journalled {
    held: i64,
}

/// What the client did within the guard's window to the lots that ops lower (STK-22): read in one pass of the
/// window, since the journal has no index by keys.
fn guarded(
    connection: &Connection,
    writer: &Writer,
    targets: &[Result<Wish, Reason>],
    lots: &mut BTreeMap<Lot, Shelf>,
) -> Result<(), StoreError> {
    let Some((client, _)) = writer.author.connected() else { return Ok(()) };
    let lowered: BTreeSet<&Lot> =
        targets.iter().flatten().filter(|wish| wish.quantity < wish.expected).map(|wish| &wish.lot).collect();
    let mut shelves: HashMap<String, &mut Shelf> = lots
        .iter_mut()
        .filter(|(lot, shelf)| lowered.contains(lot) && !shelf.rows.is_empty())
        .map(|(lot, shelf)| (lot.key(), shelf))
        .collect();
    if shelves.is_empty() {
        return Ok(());
    }
    let mut window = connection.prepare_cached(
        "SELECT key, before, removal FROM journal \
         WHERE member = ?1 AND area = 'stock' AND client = ?2 AND at > ?3 ORDER BY at, id",
    )?;
    let mut window = window.query(params![writer.member, client, writer.guarded_since.millis()])?;
    while let Some(row) = window.next()? {
        let key: String = row.get(0)?;
        let Some(shelf) = shelves.get_mut(&key) else { continue };
        if shelf.base.is_none() {
            let before: Option<String> = row.get(1)?;
            let before: Option<Journalled> = before
                .map(|before| serde_json::from_str(&before))
                .transpose()
                .map_err(|_| StoreError::Corrupt("a journalled lot"))?;
            shelf.base = Some(before.map_or(0, |before| before.held));
        }
        shelf.counted |= row.get::<_, bool>(2)?;
    }
    Ok(())
}

/// How many lots the member has.
pub(super) fn count(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(DISTINCT lot) FROM stock_row WHERE member = ?1";
    let count: i64 = connection.prepare_cached(sql)?.query_row([member], |row| row.get(0))?;
    u64::try_from(count).map_err(|_| StoreError::Corrupt("a count below zero"))
}
