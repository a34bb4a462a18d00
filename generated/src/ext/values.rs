//! Constructors for common values.

use contract_runtime::{Contract, Map, Number, violation::Violations};

use crate::types::{
    CatalogKey, ChangeResult, ItemRef, LocationName, LocationRef, Quantity, QuantityAmount, QuantityUnit,
};

/// The counters of a change result. A missing counter is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// The number of ops that changed something.
    pub applied: i64,
    /// The number of ops whose requested state already existed.
    pub unchanged: i64,
    /// The number of other ops.
    pub not_applied: i64,
}

impl ChangeResult {
    /// Returns the counters.
    #[must_use]
    pub fn counts(&self) -> ChangeCounts {
        ChangeCounts {
            applied: self.applied.unwrap_or(0),
            unchanged: self.unchanged.unwrap_or(0),
            not_applied: self.not_applied.unwrap_or(0),
        }
    }
}

impl Quantity {
    /// Creates an exact amount of SCU: `Quantity::scu("12.5".parse()?)`.
    ///
    /// # Errors
    /// Returns an error if the amount is not in the range from 0 to 1e9 (TYP-04).
    pub fn scu(amount: impl Into<Number>) -> Result<Self, Violations> {
        Self::new_valid(amount.into(), QuantityUnit::Scu)
    }

    /// Creates a number of pieces.
    ///
    /// # Errors
    /// Returns an error if the number is not in the range from 0 to 1e9 (TYP-05).
    pub fn pieces(count: i64) -> Result<Self, Violations> {
        Self::new_valid(count.into(), QuantityUnit::Piece)
    }

    fn new_valid(amount: Number, unit: QuantityUnit) -> Result<Self, Violations> {
        let quantity = Self { amount: QuantityAmount::new(amount)?, unit, extra: Map::new() };
        quantity.validate().map(|()| quantity)
    }

    /// Returns the amount as the server stores it, in whole thousandths with halves rounded up (TYP-06);
    /// `None` if it is larger than any value of the contract.
    #[must_use]
    pub fn thousandths(&self) -> Option<i64> {
        self.amount.get().to_scaled_i64(3)
    }

    /// Returns true if the server treats two amounts as equal, that is, if they have the same unit and are
    /// equal after rounding to three decimals (TYP-06).
    #[must_use]
    pub fn equals_stored(&self, other: &Self) -> bool {
        self.unit == other.unit && self.thousandths() == other.thousandths()
    }
}

impl ItemRef {
    /// Creates a reference by the service's own key, which takes precedence over the name (TYP-02).
    ///
    /// # Errors
    /// Returns an error if the length of the key is not 1 to 128 characters.
    pub fn by_key(key: impl Into<String>) -> Result<Self, Violations> {
        Self::builder().bt(CatalogKey::new(key)?).build()
    }

    /// Creates a reference by the name in the game.
    ///
    /// # Errors
    /// Returns an error if the length of the name is not 1 to 200 characters.
    pub fn by_name(name: impl Into<String>) -> Result<Self, Violations> {
        Self::builder().name(name.into()).build()
    }
}

impl LocationRef {
    /// Creates a reference by the exact name (TYP-09).
    ///
    /// # Errors
    /// Returns an error if the length of the name is not 1 to 200 characters.
    pub fn by_name(name: impl Into<String>) -> Result<Self, Violations> {
        Self::builder().name(LocationName::new(name)?).build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYP-06: SCU amounts compare equal if they are equal after rounding to three decimals, such as 12.3456
    /// and 12.346.
    #[test]
    fn scu_amounts_compare_as_the_server_stores_them() {
        let scu = |text: &str| Quantity::scu(Number::parse(text).unwrap()).unwrap();
        assert!(scu("12.3456").equals_stored(&scu("12.346")));
        assert!(!scu("12.3454").equals_stored(&scu("12.346")));
        assert_eq!(scu("0.0005").thousandths(), Some(1));
    }

    /// TYP-05: an amount of pieces must be a whole number.
    #[test]
    fn half_a_piece_is_rejected() {
        let half = Quantity::new_valid(Number::from_decimal(5, 1), QuantityUnit::Piece).unwrap_err();
        assert_eq!(
            (half.as_slice()[0].pointer.as_str(), half.as_slice()[0].keyword),
            ("/amount", "multipleOf")
        );
    }
}
