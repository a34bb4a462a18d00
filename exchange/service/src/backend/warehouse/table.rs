//! Reads and writes the tables of the warehouse, and records changed lots in the feeds.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row as Columns, params};

use super::{Lot, Measure, PlacedRow, RowBooking, StockOffer, StockOwnership, StockRow};
use crate::catalogue::contents::EntryKind;
use crate::feed::{self, ChangeAuthor, FeedStream, KeyChange};
use crate::ids::{MemberId, UnitId};
use crate::store::{StoreError, json_list};
use crate::time::Moment;

/// The area name of the members' lots in feeds.
pub(crate) const STOCK: &str = "stock";
/// The area name of the pools' lots in feeds.
pub(crate) const ORG_STOCK: &str = "org-stock";

/// The columns of a stock row in the order in which [`read_row`] reads them. The query must name the tables
/// `stock_row` and `stock_offer` as `r` and `o`.
const ROW_COLUMNS: &str = "r.id, r.amount, r.shared, r.unit, r.version, r.note, r.booked_at, \
    (SELECT coalesce(max(reserved), 0) FROM (SELECT sum(amount) AS reserved FROM stock_earmark \
    WHERE stock_row = r.id GROUP BY kind)), o.id, o.amount, r.number";
/// The join of rows with their offers.
const ROWS_WITH_OFFERS: &str = "stock_row r LEFT JOIN stock_offer o ON o.stock_row = r.id";

/// Loads a member's rows of a lot, oldest first.
pub(crate) fn load_lot_rows(
    connection: &Connection,
    member: &MemberId,
    lot: &str,
) -> Result<Vec<StockRow>, StoreError> {
    Ok(load_rows_by_lot(connection, member, [lot])?.remove(lot).unwrap_or_default())
}

/// Loads a member's rows of several lots, by lot key. Lots without rows are omitted.
pub(crate) fn load_rows_by_lot<'k>(
    connection: &Connection,
    member: &MemberId,
    lots: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<String, Vec<StockRow>>, StoreError> {
    let sql = format!(
        "SELECT {ROW_COLUMNS}, r.lot FROM (SELECT DISTINCT value FROM json_each(?2)) k CROSS JOIN {ROWS_WITH_OFFERS} \
         WHERE r.member = ?1 AND r.lot = k.value ORDER BY r.booked_at, r.number"
    );
    let mut found = connection.prepare_cached(&sql)?;
    let mut found = found.query(params![member, json_list(lots)])?;
    let mut rows: HashMap<String, Vec<StockRow>> = HashMap::new();
    while let Some(columns) = found.next()? {
        rows.entry(columns.get(11)?).or_default().push(read_row(columns)?);
    }
    Ok(rows)
}

/// Loads rows by id, with their holders and lots. The order of the result is unspecified.
pub(crate) fn load_rows_by_id<'i>(
    connection: &Connection,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<Vec<(MemberId, Lot, StockRow)>, StoreError> {
    let sql = format!(
        "SELECT {ROW_COLUMNS}, r.member, {LOT} FROM (SELECT DISTINCT value FROM json_each(?1)) k CROSS JOIN {ROWS_WITH_OFFERS} \
         WHERE r.id = k.value"
    );
    let mut found = connection.prepare_cached(&sql)?;
    let mut found = found.query([json_list(ids)])?;
    let mut rows = Vec::new();
    while let Some(columns) = found.next()? {
        rows.push((columns.get(11)?, read_lot(columns, 12)?, read_row(columns)?));
    }
    Ok(rows)
}

fn read_row(columns: &Columns<'_>) -> rusqlite::Result<StockRow> {
    let keeping = match (columns.get(2)?, columns.get::<_, Option<UnitId>>(3)?) {
        (false, _) => StockOwnership::Personal,
        (true, None) => StockOwnership::Shared,
        (true, Some(unit)) => StockOwnership::Pool(unit),
    };
    let offer = match columns.get(8)? {
        Some(id) => Some(StockOffer { id, amount: columns.get(9)? }),
        None => None,
    };
    Ok(StockRow {
        id: columns.get(0)?,
        amount: columns.get(1)?,
        keeping,
        version: columns.get(4)?,
        note: columns.get(5)?,
        booked_at: Moment::from_millis(columns.get(6)?),
        reserved: columns.get(7)?,
        offer,
        number: columns.get(10)?,
    })
}

/// The columns of a lot, in the order in which [`read_lot`] reads them.
pub(crate) const LOT: &str = "kind, material, measure, location, quality, stolen";

/// Reads a lot from the columns of [`LOT`], starting at column `first`.
pub(crate) fn read_lot(columns: &Columns<'_>, first: usize) -> Result<Lot, StoreError> {
    let (kind, measure): (String, String) = (columns.get(first)?, columns.get(first + 2)?);
    let kind = match kind.as_str() {
        "MATERIAL" => EntryKind::Material,
        "ITEM" => EntryKind::Item,
        _ => return Err(StoreError::Corrupt("unknown stock kind")),
    };
    Ok(Lot {
        kind,
        material: columns.get(first + 1)?,
        measure: Measure::from_name(&measure)?,
        location: columns.get(first + 3)?,
        quality: columns.get(first + 4)?,
        stolen: columns.get(first + 5)?,
    })
}

/// Finds the lot with a key and the member's rows of it. Returns `None` if the member has no stock of this
/// lot.
pub(crate) fn find_lot(
    connection: &Connection,
    member: &MemberId,
    key: &str,
) -> Result<Option<(Lot, Vec<StockRow>)>, StoreError> {
    let sql = format!("SELECT {LOT} FROM stock_row WHERE member = ?1 AND lot = ?2 LIMIT 1");
    let found = connection
        .prepare_cached(&sql)?
        .query_row(params![member, key], |columns| Ok(read_lot(columns, 0)))
        .optional()?;
    let Some(lot) = found.transpose()? else { return Ok(None) };
    Ok(Some((lot, load_lot_rows(connection, member, key)?)))
}

/// Writes the changes of rows. The database rejects the deletion of a reserved row.
pub(crate) fn write_bookings(connection: &Connection, bookings: &[RowBooking<'_>]) -> Result<(), StoreError> {
    let mut end_offer = connection.prepare_cached("DELETE FROM stock_offer WHERE id = ?1")?;
    let mut delete = connection.prepare_cached("DELETE FROM stock_row WHERE id = ?1")?;
    for RowBooking { before, after } in bookings {
        let (Some(before), after) = (before, *after) else { continue };
        let left = after.and_then(|placed| placed.row.offer.as_ref());
        if let Some(offer) = before.row.offer.as_ref().filter(|old| left.is_none_or(|new| new.id != old.id)) {
            end_offer.execute([&offer.id])?;
        }
        if after.is_none() {
            delete.execute([&before.row.id])?;
        }
    }
    let mut insert = connection.prepare_cached(
        "INSERT INTO stock_row (id, member, lot, pool_lot, kind, material, measure, location, quality, \
         stolen, amount, shared, unit, version, note, booked_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?;
    let mut place = connection.prepare_cached(
        "UPDATE stock_row SET member = ?2, lot = ?3, pool_lot = ?4, location = ?5, quality = ?6, stolen = ?7, \
         shared = ?8, unit = ?9 WHERE id = ?1",
    )?;
    // If the holder, the lot and the ownership of a row are unchanged, the indexed columns need no update.
    let mut book = connection
        .prepare_cached("UPDATE stock_row SET amount = ?2, version = ?3, note = ?4 WHERE number = ?1")?;
    let mut book_by_id = connection
        .prepare_cached("UPDATE stock_row SET amount = ?2, version = ?3, note = ?4 WHERE id = ?1")?;
    let mut put_offer = connection.prepare_cached(
        "INSERT INTO stock_offer (id, stock_row, amount) VALUES (?1, ?2, ?3) \
         ON CONFLICT (id) DO UPDATE SET amount = excluded.amount",
    )?;
    for RowBooking { before, after } in bookings {
        let Some(placed @ PlacedRow { holder, lot, row, .. }) = after else { continue };
        let unit = row.keeping.pool_unit();
        let shared = row.keeping != StockOwnership::Personal;
        let keys = || (placed.lot_key(), unit.map(|unit| lot.pool_key(unit)));
        match before {
            None => {
                let (key, pool_key) = keys();
                insert.execute(params![
                    row.id,
                    holder,
                    key,
                    pool_key,
                    lot.kind.as_str(),
                    lot.material,
                    lot.measure.as_str(),
                    lot.location,
                    lot.quality,
                    lot.stolen,
                    row.amount,
                    shared,
                    unit,
                    row.version,
                    row.note,
                    row.booked_at.as_millis(),
                ])?;
            }
            Some(before) => {
                if !after.is_some_and(|after| after.is_same_place(before)) {
                    let (key, pool_key) = keys();
                    let Lot { location, quality, stolen, .. } = lot;
                    let remaining =
                        params![row.id, holder, key, pool_key, location, quality, stolen, shared, unit];
                    place.execute(remaining)?;
                }
                match before.row.number {
                    Some(number) => book.execute(params![number, row.amount, row.version, row.note])?,
                    None => book_by_id.execute(params![row.id, row.amount, row.version, row.note])?,
                };
            }
        }
        if let Some(StockOffer { id, amount }) = &row.offer {
            put_offer.execute(params![id, row.id, amount])?;
        }
    }
    Ok(())
}

/// Records written bookings in the feeds: for each holder, the lots whose totals changed (STK-04), and for
/// each pool, the lots with any changed row (OST-07).
pub(crate) fn publish_bookings(
    connection: &Connection,
    author: &ChangeAuthor,
    now: Moment,
    bookings: &[RowBooking<'_>],
) -> Result<(), StoreError> {
    let mut moved: BTreeMap<&MemberId, BTreeMap<&Lot, (PlacedRow<'_>, i64, LotRemainder)>> = BTreeMap::new();
    let mut pools: BTreeMap<&UnitId, BTreeMap<&Lot, LotRemainder>> = BTreeMap::new();
    for booking in bookings {
        for (placed, sign, left) in
            [(booking.before, -1, LotRemainder::Unknown), (booking.after, 1, LotRemainder::NotEmpty)]
        {
            let Some(placed @ PlacedRow { holder, lot, row, .. }) = placed else { continue };
            let lots = moved.entry(holder).or_default();
            let (_, sum, remaining) = lots.entry(lot).or_insert((placed, 0, LotRemainder::Unknown));
            *sum += sign * row.amount;
            *remaining = left.max(*remaining);
            if let Some(unit) = row.keeping.pool_unit() {
                let remaining = pools.entry(unit).or_default().entry(lot).or_default();
                *remaining = left.max(*remaining);
            }
        }
    }
    for (holder, lots) in moved {
        let lots = lots.into_values().filter(|(_, sum, _)| *sum != 0);
        let lots = lots.map(|(placed, _, left)| (placed.lot_key(), left)).collect();
        publish_member(connection, author, now, holder, lots)?;
    }
    for (unit, lots) in pools {
        let lots = lots.into_iter().map(|(lot, left)| (lot.pool_key(unit).into(), left)).collect();
        publish_pool(connection, author, now, unit, lots)?;
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum LotRemainder {
    /// It is unknown whether the lot still has rows, so the store must be queried.
    #[default]
    Unknown,
    /// A row was just written to the lot, so the lot has rows.
    NotEmpty,
}

/// The changed lots by key, in the order in which they are recorded in the feeds.
type ChangedLots<'a> = BTreeMap<Cow<'a, str>, LotRemainder>;

fn publish_member(
    connection: &Connection,
    author: &ChangeAuthor,
    now: Moment,
    holder: &MemberId,
    lots: ChangedLots<'_>,
) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM stock_row WHERE member = ?1 AND lot = ?2)";
    let mut left = connection.prepare_cached(sql)?;
    record_lots(connection, &FeedStream::of_member(STOCK, holder), author, now, lots, |lot| {
        left.query_row(params![holder, lot], |row| row.get(0))
    })
}

fn publish_pool(
    connection: &Connection,
    author: &ChangeAuthor,
    now: Moment,
    unit: &UnitId,
    lots: ChangedLots<'_>,
) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM stock_row WHERE unit = ?1 AND pool_lot = ?2)";
    let mut left = connection.prepare_cached(sql)?;
    record_lots(connection, &FeedStream::of_unit(ORG_STOCK, unit), author, now, lots, |lot| {
        left.query_row(params![unit, lot], |row| row.get(0))
    })
}

/// Records the changed lots of each pool in the feed of the pool, as changed or removed.
pub(crate) fn publish_pools<U: Borrow<UnitId>>(
    connection: &Connection,
    author: &ChangeAuthor,
    now: Moment,
    pools: impl IntoIterator<Item = (U, BTreeSet<String>)>,
) -> Result<(), StoreError> {
    for (unit, keys) in pools {
        let lots = keys.into_iter().map(|key| (key.into(), LotRemainder::Unknown)).collect();
        publish_pool(connection, author, now, unit.borrow(), lots)?;
    }
    Ok(())
}

fn record_lots(
    connection: &Connection,
    stream: &FeedStream,
    author: &ChangeAuthor,
    now: Moment,
    lots: ChangedLots<'_>,
    mut is_left: impl FnMut(&str) -> rusqlite::Result<bool>,
) -> Result<(), StoreError> {
    let mut changes = Vec::with_capacity(lots.len());
    for (key, left) in &lots {
        let gone = *left == LotRemainder::Unknown && !is_left(key)?;
        changes.push(KeyChange { key, gone });
    }
    feed::record_changes(connection, stream, author, now, changes)
}
