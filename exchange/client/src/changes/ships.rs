//! Ops on the member's ships.

use exchange_api::types::{ExternalId, LinkShip, OpId, RemoveShip, Ship, ShipId, ShipOp, UpsertShip};

use super::{Changes, known::KnownItem, stock::location_reference};
use crate::error::Error;

/// Creates an upsert with all values of the feed's entry, which changes nothing until the caller edits it. No
/// value is omitted, because a missing value would be cleared (SHP-11); only a missing unit stays unchanged
/// (SHP-12).
///
/// `external_id` is the client's id of the ship. For a linked ship, it is the id that was linked.
///
/// # Errors
/// Returns `Invalid` if the entry of the feed violates the contract.
pub fn unchanged_upsert(ship: &Ship, external_id: ExternalId) -> Result<UpsertShip, Error> {
    let upsert = UpsertShip::builder()
        .external_id(external_id)
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
    /// Links the client's id to one of the member's ships. In the first synchronization, link all matching
    /// ships before creating any (SHP-21).
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn link_ship(&mut self, external_id: ExternalId, ship: ShipId) -> Result<OpId, Error> {
        self.push(LinkShip::builder().external_id(external_id).ship_id(ship).build()?)
    }

    /// Removes a ship, on the condition that its version is still the one in this entry.
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn remove(&mut self, ship: &Ship) -> Result<OpId, Error> {
        self.push(RemoveShip::builder().ship_id(ship.ship_id.clone()).version(ship.version).build()?)
    }
}
