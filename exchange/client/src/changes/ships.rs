//! Ops on the member's ships.

use exchange_api::types::{ExternalId, LinkShip, OpId, RemoveShip, Ship, ShipId, ShipOp, UpsertShip};

use super::{Changes, known::Known, stock::reference};
use crate::error::Error;

/// An upsert of a ship that changes nothing: everything as the feed has it, to be changed where it is to become
/// another. What an upsert leaves out is cleared, so nothing is left out (SHP-11) but the unit, which stays as
/// it is without being sent (SHP-12).
///
/// `own` is the client's id of the ship: the one it is linked to, when it is.
///
/// # Errors
/// `Invalid` when the feed's entry breaks the contract.
pub fn as_it_is(ship: &Ship, own: ExternalId) -> Result<UpsertShip, Error> {
    let upsert = UpsertShip::builder()
        .external_id(own)
        .ship_id(ship.ship_id.clone())
        .version(ship.version)
        .ship_type(Known::entry(&ship.ship_type).item_ref()?)
        .insurance(ship.insurance.clone())
        .fitted(ship.fitted);
    let mut upsert = upsert.build()?;
    upsert.name.clone_from(&ship.name);
    upsert.location = ship.location.as_ref().map(reference);
    Ok(upsert)
}

impl Changes<ShipOp> {
    /// Links the client's id to one of the member's ships. On the first sync every ship that matches is linked
    /// before any is created (SHP-21).
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn link(&mut self, own: ExternalId, ship: ShipId) -> Result<OpId, Error> {
        self.push(LinkShip::builder().external_id(own).ship_id(ship).build()?)
    }

    /// Removes a ship in the version in which the client has it.
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn remove(&mut self, ship: &Ship) -> Result<OpId, Error> {
        self.push(RemoveShip::builder().ship_id(ship.ship_id.clone()).version(ship.version).build()?)
    }
}
