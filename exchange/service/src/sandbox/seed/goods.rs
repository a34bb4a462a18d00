//! The seed's stock, missions and ships: lots with reservations, a donation and offers among them, ships in a
//! unit and in none.

use rusqlite::{Connection, params};
use serde::Deserialize;

use super::Member;
use crate::backend::warehouse::{
    Booking, Earmark as Part, Earmarks, Lot, Measure, Offer, Placed, Row, tell, write,
};
use crate::backend::{Keeping, Purpose};
use crate::catalogue::contents::{Contents, Kind};
use crate::feed::Author;
use crate::ids::{MemberId, UnitId};
use crate::store::StoreError;
use crate::time::Moment;

/// A row of the warehouse.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Stock {
    id: String,
    kind: Kind,
    material: String,
    location: String,
    #[serde(default)]
    quality: i64,
    #[serde(default)]
    stolen: bool,
    /// Thousandths of SCU, or pieces.
    amount: i64,
    #[serde(default)]
    shared: bool,
    unit: Option<String>,
    note: Option<String>,
    /// How much of it is offered.
    offer: Option<i64>,
    #[serde(default)]
    earmarks: Vec<Earmark>,
}

/// What is reserved of a row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Earmark {
    purpose: Purpose,
    target: String,
    amount: i64,
}

/// A mission, and who takes part in it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mission {
    id: String,
    name: String,
    participants: Vec<String>,
}

/// A ship.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Ship {
    id: String,
    #[serde(rename = "type")]
    ship_type: String,
    name: Option<String>,
    /// None for one that is insured for its lifetime.
    insured_months: Option<i64>,
    location: Option<String>,
    #[serde(default)]
    fitted: bool,
    unit: Option<String>,
    /// Missions that it flies in.
    #[serde(default)]
    missions: Vec<String>,
}

/// Gives a member what the seed says.
pub(super) fn plant(
    connection: &Connection,
    member: &Member,
    catalogue: &Contents,
    now: Moment,
) -> Result<(), StoreError> {
    let holder = MemberId::new(member.id.as_str());
    let rows: Vec<(Lot, Row)> =
        member.stock.iter().map(|stock| (stock.lot(catalogue), stock.row(now))).collect();
    let placed = rows.iter().map(|(lot, row)| Placed { holder: &holder, lot, key: None, row });
    let bookings: Vec<Booking<'_>> =
        placed.map(|placed| Booking { before: None, after: Some(placed) }).collect();
    write(connection, &bookings)?;
    tell(connection, &Author::System, now, &bookings)?;
    for stock in &member.stock {
        let mut earmarks = Earmarks::default();
        for Earmark { purpose, target, amount } in &stock.earmarks {
            earmarks.add(*purpose, target, Part { amount: *amount, delivered: false });
        }
        earmarks.write(connection, &stock.id)?;
    }
    member.ships.iter().try_for_each(|ship| ship.plant(connection, &holder))
}

impl Mission {
    pub(super) fn plant(&self, connection: &Connection) -> Result<(), StoreError> {
        let Self { id, name, participants } = self;
        connection.execute("INSERT INTO mission (id, name) VALUES (?1, ?2)", [id, name])?;
        for member in participants {
            let sql = "INSERT INTO mission_participant (mission, member) VALUES (?1, ?2)";
            connection.execute(sql, [id, member])?;
        }
        Ok(())
    }
}

impl Stock {
    fn lot(&self, catalogue: &Contents) -> Lot {
        let Self { kind, material, location, quality, stolen, .. } = self;
        let entry = catalogue.entries.iter().find(|entry| entry.kind == *kind && entry.id == *material);
        let facts = entry.map_or(&serde_json::Value::Null, |entry| &entry.facts);
        Lot {
            kind: *kind,
            material: material.clone(),
            measure: Measure::of(*kind, facts),
            location: location.clone(),
            quality: *quality,
            stolen: *stolen,
        }
    }

    fn row(&self, now: Moment) -> Row {
        let keeping = match &self.unit {
            Some(unit) => Keeping::Pool(UnitId::new(unit.as_str())),
            None if self.shared => Keeping::Shared,
            None => Keeping::Personal,
        };
        let offer = self.offer.map(|amount| Offer { id: format!("{}-offer", self.id), amount });
        Row {
            id: self.id.clone(),
            amount: self.amount,
            keeping,
            version: 1,
            note: self.note.clone(),
            booked_at: now,
            // Earmarks are planted beside it.
            reserved: 0,
            offer,
            number: None,
        }
    }
}

impl Ship {
    fn plant(&self, connection: &Connection, member: &MemberId) -> Result<(), StoreError> {
        let Self { id, ship_type, name, insured_months, location, fitted, unit, missions } = self;
        connection.execute(
            "INSERT INTO ship (id, member, ship_type, name, insured_months, location, fitted, unit, \
             unit_version, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 1, 1)",
            params![id, member, ship_type, name, insured_months, location, fitted, unit],
        )?;
        for mission in missions {
            connection.execute(
                "INSERT INTO mission_unit (id, mission, ship) VALUES (?1, ?2, ?3)",
                params![format!("{mission}-{id}"), mission, id],
            )?;
        }
        Ok(())
    }
}
