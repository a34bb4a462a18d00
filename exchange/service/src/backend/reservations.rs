//! What is reserved of a member's stock, and how the member releases it on the web (WEB-12, STK-13).

use rusqlite::{Connection, params};

use super::Backend;
use super::org_stock::entries;
use super::warehouse::{Earmarks, LOT, Purpose, Row, lot, rows};
use crate::feed::Author;
use crate::ids::MemberId;
use crate::store::{StoreError, limit};

/// Part of a row that stands ready for something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The row.
    pub row: String,
    /// What it is, as people call it.
    pub what: String,
    /// How much, with its unit.
    pub amount: String,
    /// For what kind of thing.
    pub purpose: Purpose,
    /// For which.
    pub target: String,
    /// What people call that.
    pub called: String,
}

impl Reservation {
    /// Most that are told at once.
    pub const MOST: usize = 500;
}

impl Backend {
    /// What is reserved of a member's stock and was not delivered, at most [`Reservation::MOST`].
    ///
    /// # Errors
    /// What the store says.
    pub async fn reservations(&self, member: &MemberId) -> Result<Vec<Reservation>, StoreError> {
        let (member, catalogue) = (member.clone(), self.catalogue.clone());
        let read = move |connection: &Connection| {
            let index = catalogue.at(connection)?;
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
            let mut found = found.query(params![member, limit(Reservation::MOST)])?;
            let mut all = Vec::new();
            while let Some(columns) = found.next()? {
                let purpose = Purpose::named(&columns.get::<_, String>(1)?)?;
                let (order, mission): (Option<i64>, Option<String>) = (columns.get(4)?, columns.get(5)?);
                let lot = lot(columns, 6)?;
                let quantity = lot.measure.written(columns.get(3)?)?;
                let called = match (purpose, order, mission) {
                    (Purpose::JobOrder, Some(number), _) => format!("job order {number}"),
                    (Purpose::JobOrder, None, _) => "a job order".to_owned(),
                    (Purpose::Mission, _, Some(name)) => format!("the mission {name}"),
                    (Purpose::Mission, _, None) => "a mission".to_owned(),
                    (Purpose::Donation, _, _) => "a donation".to_owned(),
                };
                all.push(Reservation {
                    row: columns.get(0)?,
                    what: lot.name(&index),
                    amount: format!("{} {}", quantity.amount.get().text(), quantity.unit.as_str()),
                    purpose,
                    target: columns.get(2)?,
                    called,
                });
            }
            Ok::<_, StoreError>(all)
        };
        self.store.read(read).await
    }

    /// Takes away what is reserved of a row of the member's for a target: it is free from then on. Says whether there
    /// was such a reservation, which was not delivered.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn release_stock(
        &self,
        member: &MemberId,
        row: &str,
        (purpose, target): (Purpose, &str),
    ) -> Result<bool, StoreError> {
        let (backend, member, id, target) = (self.clone(), member.clone(), row.to_owned(), target.to_owned());
        let release = move |connection: &Connection| {
            let Some(entry) = entries(connection, [&*id])?.remove(&id) else { return Ok(false) };
            let is_there = entry.earmarks.all().any(|(own, name, earmark)| {
                (own, name, earmark.delivered) == (purpose, target.as_str(), false)
            });
            if entry.holder != member || !is_there {
                return Ok(false);
            }
            if entry.row.keeping.unit().is_some() {
                return backend.earmark(connection, (&member, Author::Web), entry, (purpose, &target), 0);
            }
            let before = rows(connection, &member, &entry.lot.key())?;
            let mut earmarks = entry.earmarks;
            earmarks.take(purpose, &target, i64::MAX);
            Earmarks::clear(connection, &id)?;
            earmarks.write(connection, &id)?;
            let released = |row: &Row| match row.id == id {
                true => Row { version: row.version + 1, reserved: earmarks.reserved(), ..row.clone() },
                false => row.clone(),
            };
            let after: Vec<Row> = before.iter().map(released).collect();
            let writer = backend.writer(&member, Author::Web)?;
            backend.arrange(connection, writer, &entry.lot, [&before, &after])?;
            Ok(true)
        };
        self.store.write(release).await
    }
}
