//! The tables of the warehouse.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, Row as Columns, params};

use super::{Booking, Keeping, Lot, Measure, Offer, Placed, Row};
use crate::catalogue::contents::Kind;
use crate::feed::{self, Author, Change, Stream};
use crate::ids::{MemberId, UnitId};
use crate::store::StoreError;
use crate::time::Moment;

/// The area of the members' lots, in feeds.
pub(crate) const STOCK: &str = "stock";
/// The area of the pools' lots, in feeds.
pub(crate) const ORG_STOCK: &str = "org-stock";

/// The columns of a row, of tables `r` and `o`, in the order in which [`row`] reads them.
const ROW: &str = "r.id, r.amount, r.shared, r.unit, r.version, r.note, r.booked_at, \
    (SELECT coalesce(max(reserved), 0) FROM (SELECT sum(amount) AS reserved FROM stock_earmark \
    WHERE stock_row = r.id GROUP BY kind)), o.id, o.amount";
/// Rows, and what is offered of them.
const ROWS: &str = "stock_row r LEFT JOIN stock_offer o ON o.stock_row = r.id";

/// A member's rows of a lot, the oldest first.
pub(crate) fn rows(connection: &Connection, member: &MemberId, lot: &str) -> Result<Vec<Row>, StoreError> {
    let sql =
        format!("SELECT {ROW} FROM {ROWS} WHERE r.member = ?1 AND r.lot = ?2 ORDER BY r.booked_at, r.number");
    let mut rows = connection.prepare_cached(&sql)?;
    let rows = rows.query_map(params![member, lot], row)?.collect::<Result<_, _>>()?;
    Ok(rows)
}

/// The row of an id, its holder and its lot.
pub(crate) fn by_id(connection: &Connection, id: &str) -> Result<Option<(MemberId, Lot, Row)>, StoreError> {
    let sql = format!("SELECT {ROW}, r.member, {LOT} FROM {ROWS} WHERE r.id = ?1");
    let read = |columns: &Columns<'_>| Ok((row(columns)?, columns.get(10)?, lot(columns, 11)));
    let found = connection.prepare_cached(&sql)?.query_row([id], read).optional()?;
    found.map(|(row, holder, lot)| Ok((holder, lot?, row))).transpose()
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
    let mut put = connection.prepare_cached(
        "INSERT INTO stock_row (id, member, lot, pool_lot, kind, material, measure, location, quality, \
         stolen, amount, shared, unit, version, note, booked_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) \
         ON CONFLICT (id) DO UPDATE SET member = excluded.member, lot = excluded.lot, \
         pool_lot = excluded.pool_lot, location = excluded.location, quality = excluded.quality, \
         stolen = excluded.stolen, amount = excluded.amount, shared = excluded.shared, \
         unit = excluded.unit, version = excluded.version, note = excluded.note",
    )?;
    let mut put_offer = connection.prepare_cached(
        "INSERT INTO stock_offer (id, stock_row, amount) VALUES (?1, ?2, ?3) \
         ON CONFLICT (id) DO UPDATE SET amount = excluded.amount",
    )?;
    for Placed { holder, lot, row } in bookings.iter().filter_map(|booking| booking.after) {
        let unit = row.keeping.unit();
        put.execute(params![
            row.id,
            holder,
            lot.key(),
            unit.map(|unit| lot.pool_key(unit)),
            lot.kind.as_str(),
            lot.material,
            lot.measure.as_str(),
            lot.location,
            lot.quality,
            lot.stolen,
            row.amount,
            row.keeping != Keeping::Personal,
            unit,
            row.version,
            row.note,
            row.booked_at.millis(),
        ])?;
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
    let mut moved: BTreeMap<&MemberId, BTreeMap<&Lot, i64>> = BTreeMap::new();
    let mut pools: BTreeMap<&UnitId, BTreeSet<String>> = BTreeMap::new();
    for booking in bookings {
        for (placed, sign) in [(booking.before, -1), (booking.after, 1)] {
            let Some(Placed { holder, lot, row }) = placed else { continue };
            *moved.entry(holder).or_default().entry(lot).or_default() += sign * row.amount;
            if let Some(unit) = row.keeping.unit() {
                pools.entry(unit).or_default().insert(lot.pool_key(unit));
            }
        }
    }
    let mut left = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM stock_row WHERE member = ?1 AND lot = ?2)")?;
    for (holder, lots) in moved {
        let mut changes = Vec::new();
        for (lot, _) in lots.into_iter().filter(|(_, sum)| *sum != 0) {
            let key = lot.key();
            let there: bool = left.query_row(params![holder, key], |row| row.get(0))?;
            changes.push((key, !there));
        }
        record(connection, &Stream::of_member(STOCK, holder), by, now, &changes)?;
    }
    tell_pools(connection, by, now, pools)
}

/// Tells the feeds of pools that lots of theirs are to be looked at anew, or are gone.
pub(crate) fn tell_pools<U: Borrow<UnitId>>(
    connection: &Connection,
    by: &Author,
    now: Moment,
    pools: impl IntoIterator<Item = (U, BTreeSet<String>)>,
) -> Result<(), StoreError> {
    let mut left = connection
        .prepare_cached("SELECT EXISTS (SELECT 1 FROM stock_row WHERE unit = ?1 AND pool_lot = ?2)")?;
    for (unit, keys) in pools {
        let unit = unit.borrow();
        let mut changes = Vec::new();
        for key in keys {
            let there: bool = left.query_row(params![unit, key], |row| row.get(0))?;
            changes.push((key, !there));
        }
        record(connection, &Stream::of_unit(ORG_STOCK, unit), by, now, &changes)?;
    }
    Ok(())
}

fn record(
    connection: &Connection,
    stream: &Stream,
    by: &Author,
    now: Moment,
    changes: &[(String, bool)],
) -> Result<(), StoreError> {
    let changes = changes.iter().map(|(key, gone)| Change { key, gone: *gone });
    feed::record(connection, stream, by, now, changes)
}
