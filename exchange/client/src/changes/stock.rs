//! Ops on the member's stock.

use exchange_api::{
    Map, Number,
    types::{
        ItemRef, Location, LocationRef, OpId, Quality, Quantity, QuantityAmount, QuantityUnit, SetQuantity,
        StockLot, StockOp,
    },
};

use super::{Changes, known::KnownItem, op::comparable_names, quantity};
use crate::error::{Error, ErrorKind};

/// The identity of a stock lot: material or item, location, quality, and the stolen mark.
#[derive(Clone, Debug, PartialEq)]
pub struct LotSpec {
    /// The material or item. The exchange looks it up as a material first, then as an item (RES-14).
    pub material: ItemRef,
    /// Where the stock is: a catalog link, a name, or both (TYP-08).
    pub location: LocationRef,
    /// The quality; `None` if it is unknown, and for items, which have no quality. `None` is sent as 0
    /// (TYP-07).
    pub quality: Option<Quality>,
    /// True if the stock is marked as stolen.
    pub stolen: bool,
}

impl LotSpec {
    /// Creates a lot of unknown quality that is not marked as stolen.
    #[must_use]
    pub const fn new(material: ItemRef, location: LocationRef) -> Self {
        Self { material, location, quality: None, stolen: false }
    }

    /// Creates the lot of a feed entry, identified by the exchange's key of its material.
    ///
    /// # Errors
    /// Returns `Invalid` if the entry of the feed violates the contract.
    pub fn from_stock_lot(lot: &StockLot) -> Result<Self, Error> {
        Ok(Self {
            material: KnownItem::from_entry(&lot.material).item_ref()?,
            location: location_reference(&lot.location),
            quality: Some(lot.quality),
            stolen: lot.stolen,
        })
    }

    /// Sets the quality, 0 to 1000 (TYP-07).
    ///
    /// # Errors
    /// Returns `Invalid` for more than 1000.
    pub fn with_quality(self, quality: u16) -> Result<Self, Error> {
        Ok(Self { quality: Some(Quality::new(i64::from(quality))?), ..self })
    }

    /// Sets the location.
    #[must_use]
    pub fn at(self, location: LocationRef) -> Self {
        Self { location, ..self }
    }

    /// Returns the lot with the opposite stolen mark.
    #[must_use]
    pub fn stolen_twin(&self) -> Self {
        Self { stolen: !self.stolen, ..self.clone() }
    }

    /// Adds the quantity of the lot that the client last saw at the exchange.
    #[must_use]
    pub const fn expecting(self, quantity: Quantity) -> ExpectedLot {
        ExpectedLot { lot: self, quantity: Some(quantity) }
    }

    /// States that the client has never seen the lot at the exchange.
    #[must_use]
    pub const fn expecting_nothing(self) -> ExpectedLot {
        ExpectedLot { lot: self, quantity: None }
    }
}

/// A lot and the quantity of it that the client last saw at the exchange (STK-05).
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedLot {
    lot: LotSpec,
    quantity: Option<Quantity>,
}

impl ExpectedLot {
    /// Creates the lot of a feed entry with its quantity.
    ///
    /// # Errors
    /// Returns the errors of [`LotSpec::from_stock_lot`].
    pub fn from_stock_lot(lot: &StockLot) -> Result<Self, Error> {
        Ok(LotSpec::from_stock_lot(lot)?.expecting(lot.quantity.clone()))
    }

    /// Returns the quantity that the client last saw, or 0 if it never saw the lot.
    fn expected_quantity(&self, unit: &QuantityUnit) -> Result<Quantity, Error> {
        match &self.quantity {
            Some(quantity) => Ok(quantity.clone()),
            None => {
                let amount = QuantityAmount::new(Number::from_i64(0))?;
                Ok(Quantity { amount, unit: unit.clone(), extra: Map::new() })
            }
        }
    }
}

impl Changes<StockOp> {
    /// Sets the quantity of a lot. The exchange applies it only if the lot still holds the quantity that the
    /// client last saw (STK-05).
    ///
    /// # Errors
    /// Returns the errors of [`Changes::push`].
    pub fn set_quantity(&mut self, lot: ExpectedLot, quantity: Quantity) -> Result<OpId, Error> {
        let expected = lot.expected_quantity(&quantity.unit)?;
        self.push_set_quantity(lot.lot, expected, quantity)
    }

    /// Moves a part of a lot to another lot of the same material: at another location, of another quality, or
    /// with the opposite stolen mark. The decrease and the increase are sent in one batch, because the
    /// decrease without the increase would count as a removal (STK-20).
    ///
    /// # Errors
    /// Returns `Invalid` if the lots have different materials or units, or if the first lot holds less than
    /// `amount`, and the errors of [`Changes::push`].
    pub fn move_stock(
        &mut self,
        from: ExpectedLot,
        to: ExpectedLot,
        amount: &Quantity,
    ) -> Result<(OpId, OpId), Error> {
        let names = comparable_names(&from.lot.material);
        if !comparable_names(&to.lot.material).iter().any(|name| names.contains(name)) {
            return Err(Error::new(
                ErrorKind::Invalid,
                "stock can only be moved between lots of one material",
            ));
        }
        let (had, has) = (from.expected_quantity(&amount.unit)?, to.expected_quantity(&amount.unit)?);
        let (rest, sum) =
            (quantity::subtract_quantities(&had, amount)?, quantity::add_quantities(&has, amount)?);
        let fall = self.push_set_quantity(from.lot, had, rest)?;
        let rise = self.push_set_quantity(to.lot, has, sum)?;
        self.keep_together([fall.clone(), rise.clone()]);
        Ok((fall, rise))
    }

    fn push_set_quantity(
        &mut self,
        lot: LotSpec,
        expected: Quantity,
        quantity: Quantity,
    ) -> Result<OpId, Error> {
        let LotSpec { material, location, quality, stolen } = lot;
        let quality = quality.map_or_else(|| Quality::new(Quality::MIN), Ok)?;
        let op = SetQuantity::builder().material(material).location(location).quality(quality);
        self.push(op.stolen(stolen).quantity(quantity).expected_quantity(expected).build()?)
    }
}

/// Converts a location from a response into a reference with catalog link and name.
pub(super) fn location_reference(location: &Location) -> LocationRef {
    LocationRef { uex: location.uex.clone(), name: Some(location.name.clone()), extra: Map::new() }
}
