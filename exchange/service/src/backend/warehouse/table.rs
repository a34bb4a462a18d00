//! The tables of the warehouse.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet, HashMap};

use rusqlite::{Connection, OptionalExtension as _, Row as Columns, params};

use super::{Booking, Keeping, Lot, Measure, Offer, Placed, Row};
use crate::catalogue::contents::Kind;
use crate::feed::{self, Author, Change, Stream};
use crate::ids::{MemberId, UnitId};
use crate::store::{StoreError, list};
use crate::time::Moment;

/// The area of the members' lots, in feeds.
pub(crate) const STOCK: &str = "stock";
/// The area of the pools' lots, in feeds.
pub(crate) const ORG_STOCK: &str = "org-stock";

/// The columns of a row, of tables `r` and `o`, in the order in which [`row`] reads them.
const ROW: &str = "r.id, r.amount, r.shared, r.unit, r.version, r.note, r.booked_at, \
    (SELECT coalesce(max(reserved), 0) FROM (SELECT sum(amount) AS reserved FROM stock_earmark \
    WHERE stock_row = r.id GROUP BY kind)), o.id, o.amount, r.number";
/// Rows, and what is offered of them.
const ROWS: &str = "stock_row r LEFT JOIN stock_offer o ON o.stock_row = r.id";

/// A member's rows of a lot, the oldest first.
pub(crate) fn rows(connection: &Connection, member: &MemberId, lot: &str) -> Result<Vec<Row>, StoreError> {
    Ok(rows_of(connection, member, [lot])?.remove(lot).unwrap_or_default())
}

/// The same of many lots at once, by their keys; those that are empty are left out.
pub(crate) fn rows_of<'k>(
    connection: &Connection,
    member: &MemberId,
    lots: impl IntoIterator<Item = &'k str>,
) -> Result<HashMap<String, Vec<Row>>, StoreError> {
    let sql = format!(
        "SELECT {ROW}, r.lot FROM (SELECT DISTINCT value FROM json_each(?2)) k CROSS JOIN {ROWS} \
         WHERE r.member = ?1 AND r.lot = k.value ORDER BY r.booked_at, r.number"
    );
    let mut found = connection.prepare_cached(&sql)?;
    let mut found = found.query(params![member, list(lots)])?;
    let mut rows: HashMap<String, Vec<Row>> = HashMap::new();
    while let Some(columns) = found.next()? {
        rows.entry(columns.get(11)?).or_default().push(row(columns)?);
    }
    Ok(rows)
}

/// Rows by their ids, with their holders and lots, in no order.
pub(crate) fn by_ids<'i>(
    connection: &Connection,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<Vec<(MemberId, Lot, Row)>, StoreError> {
    let sql = format!(
        "SELECT {ROW}, r.member, {LOT} FROM (SELECT DISTINCT value FROM json_each(?1)) k CROSS JOIN {ROWS} \
         WHERE r.id = k.value"
    );
    let mut found = connection.prepare_cached(&sql)?;
    let mut found = found.query([list(ids)])?;
    let mut rows = Vec::new();
    while let Some(columns) = found.next()? {
        rows.push((columns.get(11)?, lot(columns, 12)?, row(columns)?));
    }
    Ok(rows)
}

fn row(columns: &Columns<'_>) -> rusqlite::Result<Row> {
    let keeping = match (columns.get(2)?, columns.get::<_, Option<UnitId>>(3)?) {
        (false, _) => Keeping::Personal,
        (true, None) => Keeping::Shared,
        (true, Some(unit)) => Keeping::Pool(unit),
    };
    let offer = match columns.get(8)? {
        Some(id) => Some(Offer { id, amount: columns.get(9)? }),
        None => None,
    };
    Ok(Row {
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

/// The columns of a lot, in the order in which [`lot`] reads them.
pub(crate) const LOT: &str = "kind, material, measure, location, quality, stolen";

/// A lot from the columns of [`LOT`], from a place on.
pub(crate) fn lot(columns: &Columns<'_>, first: usize) -> Result<Lot, StoreError> {
    let (kind, measure): (String, String) = (columns.get(first)?, columns.get(first + 2)?);
    let kind = match kind.as_str() {
        "MATERIAL" => Kind::Material,
        "ITEM" => Kind::Item,
        _ => return Err(StoreError::Corrupt("stock of no known kind")),
    };
    Ok(Lot {
        kind,
        material: columns.get(first + 1)?,
        measure: Measure::named(&measure)?,
        location: columns.get(first + 3)?,
        quality: columns.get(first + 4)?,
        stolen: columns.get(first + 5)?,
    })
}

/// The lot of a key, and the member's rows of it; none when the member holds nothing there.
pub(crate) fn find(
    connection: &Connection,
    member: &MemberId,
    key: &str,
) -> Result<Option<(Lot, Vec<Row>)>, StoreError> {
    let sql = format!("SELECT {LOT} FROM stock_row WHERE member = ?1 AND lot = ?2 LIMIT 1");
    let found = connection
        .prepare_cached(&sql)?
        .query_row(params![member, key], |columns| Ok(lot(columns, 0)))
        .optional()?;
    let Some(lot) = found.transpose()? else { return Ok(None) };
    Ok(Some((lot, rows(connection, member, key)?)))
}

/// Writes what becomes of rows. A row that is reserved is never deleted: the database refuses it.
pub(crate) fn write(connection: &Connection, bookings: &[Booking<'_>]) -> Result<(), StoreError> {
    let mut end_offer = connection.prepare_cached("DELETE FROM stock_offer WHERE id = ?1")?;
    let mut delete = connection.prepare_cached("DELETE FROM stock_row WHERE id = ?1")?;
    for Booking { before, after } in bookings {
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
    // What stands where it stood is in no other place of an index.
    let mut book = connection
        .prepare_cached("UPDATE stock_row SET amount = ?2, version = ?3, note = ?4 WHERE number = ?1")?;
    let mut book_by_id = connection
        .prepare_cached("UPDATE stock_row SET amount = ?2, version = ?3, note = ?4 WHERE id = ?1")?;
    let mut put_offer = connection.prepare_cached(
        "INSERT INTO stock_offer (id, stock_row, amount) VALUES (?1, ?2, ?3) \
         ON CONFLICT (id) DO UPDATE SET amount = excluded.amount",
    )?;
    for Booking { before, after } in bookings {
        let Some(placed @ Placed { holder, lot, row, .. }) = after else { continue };
        let unit = row.keeping.unit();
        let shared = row.keeping != Keeping::Personal;
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
                    row.booked_at.millis(),
                ])?;
            }
            Some(before) => {
                if !after.is_some_and(|after| after.is_beside(before)) {
                    let (key, pool_key) = keys();
                    let Lot { location, quality, stolen, .. } = lot;
                    let there =
                        params![row.id, holder, key, pool_key, location, quality, stolen, shared, unit];
                    place.execute(there)?;
                }
                match before.row.number {
                    Some(number) => book.execute(params![number, row.amount, row.version, row.note])?,
                    None => book_by_id.execute(params![row.id, row.amount, row.version, row.note])?,
                };
            }
        }
        if let Some(Offer { id, amount }) = &row.offer {
            put_offer.execute(params![id, row.id, amount])?;
        }
    }
    Ok(())
}

/// Tells the feeds, once the rows are written: every holder's of the lots whose amount moved (STK-04),
/// every pool's of the lots of which any row changed (OST-07).
pub(crate) fn tell(
    connection: &Connection,
    by: &Author,
    now: Moment,
    bookings: &[Booking<'_>],
) -> Result<(), StoreError> {
    let mut moved: BTreeMap<&MemberId, BTreeMap<&Lot, (Placed<'_>, i64, Left)>> = BTreeMap::new();
    let mut pools: BTreeMap<&UnitId, BTreeMap<&Lot, Left>> = BTreeMap::new();
    for booking in bookings {
        for (placed, sign, left) in [(booking.before, -1, Left::Perhaps), (booking.after, 1, Left::Surely)] {
            let Some(placed @ Placed { holder, lot, row, .. }) = placed else { continue };
            let lots = moved.entry(holder).or_default();
            let (_, sum, there) = lots.entry(lot).or_insert((placed, 0, Left::Perhaps));
            *sum += sign * row.amount;
            *there = left.max(*there);
            if let Some(unit) = row.keeping.unit() {
                let there = pools.entry(unit).or_default().entry(lot).or_default();
                *there = left.max(*there);
            }
        }
    }
    for (holder, lots) in moved {
        let lots = lots.into_values().filter(|(_, sum, _)| *sum != 0);
        let lots = lots.map(|(placed, _, left)| (placed.lot_key(), left)).collect();
        tell_member(connection, by, now, holder, lots)?;
    }
    for (unit, lots) in pools {
        let lots = lots.into_iter().map(|(lot, left)| (lot.pool_key(unit).into(), left)).collect();
        tell_pool(connection, by, now, unit, lots)?;
    }
    Ok(())
}

/// Whether anything is left in a lot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Left {
    /// Only the store knows.
    #[default]
    Perhaps,
    /// A row was just written there.
    Surely,
}

/// Lots by their keys: feeds tell of them in that order, in which they also stand in the store.
type Told<'a> = BTreeMap<Cow<'a, str>, Left>;

fn tell_member(
    connection: &Connection,
    by: &Author,
    now: Moment,
    holder: &MemberId,
    lots: Told<'_>,
) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM stock_row WHERE member = ?1 AND lot = ?2)";
    let mut left = connection.prepare_cached(sql)?;
    record(connection, &Stream::of_member(STOCK, holder), by, now, lots, |lot| {
        left.query_row(params![holder, lot], |row| row.get(0))
    })
}

fn tell_pool(
    connection: &Connection,
    by: &Author,
    now: Moment,
    unit: &UnitId,
    lots: Told<'_>,
) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM stock_row WHERE unit = ?1 AND pool_lot = ?2)";
    let mut left = connection.prepare_cached(sql)?;
    record(connection, &Stream::of_unit(ORG_STOCK, unit), by, now, lots, |lot| {
        left.query_row(params![unit, lot], |row| row.get(0))
    })
}

/// Tells the feeds of pools that lots of theirs are to be looked at anew, or are gone.
pub(crate) fn tell_pools<U: Borrow<UnitId>>(
    connection: &Connection,
    by: &Author,
    now: Moment,
    pools: impl IntoIterator<Item = (U, BTreeSet<String>)>,
) -> Result<(), StoreError> {
    for (unit, keys) in pools {
        let lots = keys.into_iter().map(|key| (key.into(), Left::Perhaps)).collect();
        tell_pool(connection, by, now, unit.borrow(), lots)?;
    }
    Ok(())
}

fn record(
    connection: &Connection,
    stream: &Stream,
    by: &Author,
    now: Moment,
    lots: Told<'_>,
    mut is_left: impl FnMut(&str) -> rusqlite::Result<bool>,
) -> Result<(), StoreError> {
    let mut changes = Vec::with_capacity(lots.len());
    for (key, left) in &lots {
        let gone = *left == Left::Perhaps && !is_left(key)?;
        changes.push(Change { key, gone });
    }
    feed::record(connection, stream, by, now, changes)
}
