//! Ops on the member's stock.

use exchange_api::{
    Map, Number,
    types::{
        ItemRef, Location, LocationRef, OpId, Quality, Quantity, QuantityAmount, QuantityUnit, SetQuantity,
        StockLot, StockOp,
    },
};

use super::{Changes, known::Known, op::named, quantity};
use crate::error::{Error, ErrorKind};

/// Which stock: of a material or an item, at a place, of a quality, stolen or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Lot {
    /// The material or item: looked up as a material, then as an item (RES-14).
    pub material: ItemRef,
    /// Where it is.
    pub location: LocationRef,
    /// None when it is unknown, and for items, which have none: sent as 0 (TYP-07).
    pub quality: Option<Quality>,
    /// Whether it is marked as stolen.
    pub stolen: bool,
}

impl Lot {
    /// Stock of unknown quality, not marked as stolen.
    #[must_use]
    pub const fn new(material: ItemRef, location: LocationRef) -> Self {
        Self { material, location, quality: None, stolen: false }
    }

    /// The lot as the feed has it, by the exchange's own key.
    ///
    /// # Errors
    /// `Invalid` when the feed's entry breaks the contract.
    pub fn of(lot: &StockLot) -> Result<Self, Error> {
        Ok(Self {
            material: Known::entry(&lot.material).item_ref()?,
            location: reference(&lot.location),
            quality: Some(lot.quality),
            stolen: lot.stolen,
        })
    }

    /// The same of another quality, 0 to 1000 (TYP-07).
    ///
    /// # Errors
    /// `Invalid` for more than 1000.
    pub fn quality(self, quality: u16) -> Result<Self, Error> {
        Ok(Self { quality: Some(Quality::new(i64::from(quality))?), ..self })
    }

    /// The same at another place.
    #[must_use]
    pub fn at(self, location: LocationRef) -> Self {
        Self { location, ..self }
    }

    /// The same, marked as stolen where this is not, and the other way round.
    #[must_use]
    pub fn twin(&self) -> Self {
        Self { stolen: !self.stolen, ..self.clone() }
    }

    /// The lot with what the client last saw it hold.
    #[must_use]
    pub const fn holding(self, quantity: Quantity) -> Held {
        Held { lot: self, quantity: Some(quantity) }
    }

    /// The lot as one that the client never saw on the server.
    #[must_use]
    pub const fn empty(self) -> Held {
        Held { lot: self, quantity: None }
    }
}

/// A lot and what the client last saw it hold (STK-05).
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    lot: Lot,
    quantity: Option<Quantity>,
}

impl Held {
    /// As the feed has it.
    ///
    /// # Errors
    /// As [`Lot::of`].
    pub fn of(lot: &StockLot) -> Result<Self, Error> {
        Ok(Lot::of(lot)?.holding(lot.quantity.clone()))
    }

    /// What it was last seen to hold: 0 for one never seen.
    fn seen(&self, unit: &QuantityUnit) -> Result<Quantity, Error> {
        match &self.quantity {
            Some(quantity) => Ok(quantity.clone()),
            None => {
                let amount = QuantityAmount::new(Number::int(0))?;
                Ok(Quantity { amount, unit: unit.clone(), extra: Map::new() })
            }
        }
    }
}

impl Changes<StockOp> {
    /// Sets what a lot should hold. Whether the exchange carries it out depends on the lot still holding what
    /// the client last saw (STK-05).
    ///
    /// # Errors
    /// As [`Changes::push`].
    pub fn set(&mut self, held: Held, quantity: Quantity) -> Result<OpId, Error> {
        let expected = held.seen(&quantity.unit)?;
        self.set_from(held.lot, expected, quantity)
    }

    /// Moves a part of a lot to another lot of the same material: elsewhere, of another quality, or its stolen
    /// twin. A fall and a rise, which go in one batch, since the fall alone would count as a removal (STK-20).
    ///
    /// # Errors
    /// `Invalid` when the lots are of different materials or units, when the first holds less than that, and
    /// as [`Changes::push`].
    pub fn shift(&mut self, from: Held, to: Held, amount: &Quantity) -> Result<(OpId, OpId), Error> {
        let names = named(&from.lot.material);
        if !named(&to.lot.material).iter().any(|name| names.contains(name)) {
            return Err(Error::new(ErrorKind::Invalid, "stock moves between lots of one material"));
        }
        let (had, has) = (from.seen(&amount.unit)?, to.seen(&amount.unit)?);
        let (rest, sum) = (quantity::difference(&had, amount)?, quantity::sum(&has, amount)?);
        let fall = self.set_from(from.lot, had, rest)?;
        let rise = self.set_from(to.lot, has, sum)?;
        self.keep_together([fall.clone(), rise.clone()]);
        Ok((fall, rise))
    }

    fn set_from(&mut self, lot: Lot, expected: Quantity, quantity: Quantity) -> Result<OpId, Error> {
        let Lot { material, location, quality, stolen } = lot;
        let quality = quality.map_or_else(|| Quality::new(Quality::MIN), Ok)?;
        let op = SetQuantity::builder().material(material).location(location).quality(quality);
        self.push(op.stolen(stolen).quantity(quantity).expected_quantity(expected).build()?)
    }
}

/// The place of an answer as a reference, link and name.
pub(super) fn reference(location: &Location) -> LocationRef {
    LocationRef { uex: location.uex.clone(), name: Some(location.name.clone()), extra: Map::new() }
}
