//! Lists and releases the reservations of a member's stock, for the web pages (WEB-12, STK-13).

use rusqlite::{Connection, params};

use super::Backend;
use super::org_stock::load_entries;
use super::warehouse::{EarmarkPurpose, EarmarkSet, LOT, StockRow, load_lot_rows, read_lot};
use crate::feed::ChangeAuthor;
use crate::ids::MemberId;
use crate::store::{StoreError, sql_limit};

/// The part of a stock row that is reserved for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StockReservation {
    /// The id of the stock row.
    pub row: String,
    /// The display name of the stock.
    pub stock_name: String,
    /// The reserved amount with its unit.
    pub amount: String,
    /// The kind of target for which the stock is reserved.
    pub purpose: EarmarkPurpose,
    /// The id of the target.
    pub target: String,
    /// The display name of the target.
    pub target_name: String,
}

impl StockReservation {
    /// The maximum number of reservations in one list.
    pub const MAX_LISTED: usize = 500;
}

impl Backend {
    /// Lists the undelivered reservations of a member's stock; at most [`StockReservation::MAX_LISTED`].
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the read fails.
    pub async fn list_reservations(&self, member: &MemberId) -> Result<Vec<StockReservation>, StoreError> {
        let (member, catalogue) = (member.clone(), self.catalogue.clone());
        let read = move |connection: &Connection| {
            let index = catalogue.index_at(connection)?;
            let sql = format!(
                "SELECT e.stock_row, e.purpose, e.target, e.part, o.number, m.name, {LOT} \
                 FROM stock_row r CROSS JOIN (SELECT stock_row, kind AS purpose, target, amount AS part \
                   FROM stock_earmark WHERE delivered = 0) e ON e.stock_row = r.id \
                 LEFT JOIN (SELECT id AS id_of_order, number FROM job_order) o \
                   ON e.purpose = 'job-order' AND o.id_of_order = e.target \
                 LEFT JOIN (SELECT id AS id_of_mission, name FROM mission) m \
                   ON e.purpose = 'mission' AND m.id_of_mission = e.target \
                 WHERE r.member = ?1 ORDER BY r.number, e.purpose, e.target LIMIT ?2"
            );
            let mut found = connection.prepare_cached(&sql)?;
            let mut found = found.query(params![member, sql_limit(StockReservation::MAX_LISTED)])?;
            let mut all = Vec::new();
            while let Some(columns) = found.next()? {
                let purpose = EarmarkPurpose::from_name(&columns.get::<_, String>(1)?)?;
                let (order, mission): (Option<i64>, Option<String>) = (columns.get(4)?, columns.get(5)?);
                let lot = read_lot(columns, 6)?;
                let called = match (purpose, order, mission) {
                    (EarmarkPurpose::JobOrder, Some(number), _) => format!("job order {number}"),
                    (EarmarkPurpose::JobOrder, None, _) => "a job order".to_owned(),
                    (EarmarkPurpose::Mission, _, Some(name)) => format!("the mission {name}"),
                    (EarmarkPurpose::Mission, _, None) => "a mission".to_owned(),
                    (EarmarkPurpose::Donation, _, _) => "a donation".to_owned(),
                };
                all.push(StockReservation {
                    row: columns.get(0)?,
                    stock_name: lot.display_name(&index),
                    amount: lot.measure.format_amount(columns.get(3)?),
                    purpose,
                    target: columns.get(2)?,
                    target_name: called,
                });
            }
            Ok::<_, StoreError>(all)
        };
        self.store.read(read).await
    }

    /// Releases the part of a member's stock row that is reserved for a target. Returns false if the member
    /// has no such undelivered reservation.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn release_stock(
        &self,
        member: &MemberId,
        row: &str,
        (purpose, target): (EarmarkPurpose, &str),
    ) -> Result<bool, StoreError> {
        let (backend, member, id, target) = (self.clone(), member.clone(), row.to_owned(), target.to_owned());
        let release = move |connection: &Connection| {
            let Some(entry) = load_entries(connection, [&*id])?.remove(&id) else { return Ok(false) };
            let is_there = entry.earmarks.iter().any(|(other, name, earmark)| {
                (other, name, earmark.delivered) == (purpose, target.as_str(), false)
            });
            if entry.holder != member || !is_there {
                return Ok(false);
            }
            if entry.row.keeping.pool_unit().is_some() {
                return backend.set_earmark(
                    connection,
                    (&member, ChangeAuthor::Web),
                    entry,
                    (purpose, &target),
                    0,
                );
            }
            let before = load_lot_rows(connection, &member, &entry.lot.key())?;
            let mut earmarks = entry.earmarks;
            earmarks.take_earmark(purpose, &target, i64::MAX);
            EarmarkSet::delete_earmarks(connection, &id)?;
            earmarks.insert_earmarks(connection, &id)?;
            let released = |row: &StockRow| match row.id == id {
                true => {
                    StockRow { version: row.version + 1, reserved: earmarks.reserved_amount(), ..row.clone() }
                }
                false => row.clone(),
            };
            let after: Vec<StockRow> = before.iter().map(released).collect();
            let writer = backend.write_context(&member, ChangeAuthor::Web)?;
            backend.replace_rows(connection, writer, &entry.lot, [&before, &after])?;
            Ok(true)
        };
        self.store.write(release).await
    }
}
