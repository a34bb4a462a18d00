//! The stock, missions and ships of the seed, including reservations, a donation and offers.

use rusqlite::{Connection, params};
use serde::Deserialize;

use super::SeedMember;
use crate::backend::warehouse::{
    Earmark, EarmarkSet, Lot, Measure, PlacedRow, RowBooking, StockOffer, StockRow, publish_bookings,
    write_bookings,
};
use crate::backend::{EarmarkPurpose, StockOwnership};
use crate::catalogue::contents::{CatalogueContents, EntryKind};
use crate::feed::ChangeAuthor;
use crate::ids::{MemberId, UnitId};
use crate::store::StoreError;
use crate::time::Moment;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SeedStock {
    id: String,
    kind: EntryKind,
    material: String,
    location: String,
    #[serde(default)]
    quality: i64,
    #[serde(default)]
    stolen: bool,
    /// The amount in thousandths of SCU, or in pieces.
    amount: i64,
    #[serde(default)]
    shared: bool,
    unit: Option<String>,
    note: Option<String>,
    /// The amount that is offered on the Material Exchange.
    offer: Option<i64>,
    #[serde(default)]
    earmarks: Vec<SeedEarmark>,
}

/// An earmark of a seeded stock row.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SeedEarmark {
    purpose: EarmarkPurpose,
    target: String,
    amount: i64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SeedMission {
    id: String,
    name: String,
    participants: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SeedShip {
    id: String,
    #[serde(rename = "type")]
    ship_type: String,
    name: Option<String>,
    /// The insurance in months; `None` for lifetime insurance.
    insured_months: Option<i64>,
    location: Option<String>,
    #[serde(default)]
    fitted: bool,
    unit: Option<String>,
    /// The ids of the missions in which the ship takes part.
    #[serde(default)]
    missions: Vec<String>,
}

/// Writes a member's stock, earmarks and ships.
pub(super) fn plant_goods(
    connection: &Connection,
    member: &SeedMember,
    catalogue: &CatalogueContents,
    now: Moment,
) -> Result<(), StoreError> {
    let holder = MemberId::new(member.id.as_str());
    let rows: Vec<(Lot, StockRow)> =
        member.stock.iter().map(|stock| (stock.to_lot(catalogue), stock.to_row(now))).collect();
    let placed = rows.iter().map(|(lot, row)| PlacedRow { holder: &holder, lot, key: None, row });
    let bookings: Vec<RowBooking<'_>> =
        placed.map(|placed| RowBooking { before: None, after: Some(placed) }).collect();
    write_bookings(connection, &bookings)?;
    publish_bookings(connection, &ChangeAuthor::System, now, &bookings)?;
    for stock in &member.stock {
        let mut earmarks = EarmarkSet::default();
        for SeedEarmark { purpose, target, amount } in &stock.earmarks {
            earmarks.add_earmark(*purpose, target, Earmark { amount: *amount, delivered: false });
        }
        earmarks.insert_earmarks(connection, &stock.id)?;
    }
    member.ships.iter().try_for_each(|ship| ship.plant_ship(connection, &holder))
}

impl SeedMission {
    pub(super) fn plant_mission(&self, connection: &Connection) -> Result<(), StoreError> {
        let Self { id, name, participants } = self;
        connection.execute("INSERT INTO mission (id, name) VALUES (?1, ?2)", [id, name])?;
        for member in participants {
            let sql = "INSERT INTO mission_participant (mission, member) VALUES (?1, ?2)";
            connection.execute(sql, [id, member])?;
        }
        Ok(())
    }
}

impl SeedStock {
    fn to_lot(&self, catalogue: &CatalogueContents) -> Lot {
        let Self { kind, material, location, quality, stolen, .. } = self;
        let entry = catalogue.entries.iter().find(|entry| entry.kind == *kind && entry.id == *material);
        let facts = entry.map_or(&serde_json::Value::Null, |entry| &entry.facts);
        Lot {
            kind: *kind,
            material: material.clone(),
            measure: Measure::for_item(*kind, facts),
            location: location.clone(),
            quality: *quality,
            stolen: *stolen,
        }
    }

    fn to_row(&self, now: Moment) -> StockRow {
        let keeping = match &self.unit {
            Some(unit) => StockOwnership::Pool(UnitId::new(unit.as_str())),
            None if self.shared => StockOwnership::Shared,
            None => StockOwnership::Personal,
        };
        let offer = self.offer.map(|amount| StockOffer { id: format!("{}-offer", self.id), amount });
        StockRow {
            id: self.id.clone(),
            amount: self.amount,
            keeping,
            version: 1,
            note: self.note.clone(),
            booked_at: now,
            // The earmarks are inserted later, and the database derives the reserved amount from them.
            reserved: 0,
            offer,
            number: None,
        }
    }
}

impl SeedShip {
    fn plant_ship(&self, connection: &Connection, member: &MemberId) -> Result<(), StoreError> {
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
