//! Ops on the member's ships.

use exchange_api::types::{ExternalId, LinkShip, OpId, RemoveShip, Ship, ShipId, ShipOp, UpsertShip};

use super::{Changes, known::KnownItem, stock::location_reference};
use crate::error::Error;

/// Returns an upsert that changes nothing: all values as in the feed, to be edited by the caller. A missing
/// value would be cleared, so none is omitted (SHP-11), except the unit, which stays unchanged if omitted
/// (SHP-12).
///
/// `own` is the client's id of the ship; for a linked ship, the id of the link.
///
/// # Errors
/// `Invalid` if the entry of the feed violates the contract.
pub fn unchanged_upsert(ship: &Ship, own: ExternalId) -> Result<UpsertShip, Error> {
    let upsert = UpsertShip::builder()
        .external_id(own)
        .ship_id(ship.ship_id.clone())
        .version(ship.version)
        .ship_type(KnownItem::from_entry(&ship.ship_type).item_ref()?)
        .insurance(ship.insurance.clone())
        .fitted(ship.fitted);
    let mut upsert = upsert.build()?;
    upsert.name.clone_from(&ship.name);
    upsert.location = ship.location.as_ref().map(location_reference);
    Ok(upsert)
}

impl Changes<ShipOp> {
    /// Links the client's id to one of the member's ships. In the first synchronization all matching ships
    /// are linked before any is created (SHP-21).
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn link_ship(&mut self, own: ExternalId, ship: ShipId) -> Result<OpId, Error> {
        self.push(LinkShip::builder().external_id(own).ship_id(ship).build()?)
    }

    /// Removes a ship in the version that the client has.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove(&mut self, ship: &Ship) -> Result<OpId, Error> {
        self.push(RemoveShip::builder().ship_id(ship.ship_id.clone()).version(ship.version).build()?)
    }
}
