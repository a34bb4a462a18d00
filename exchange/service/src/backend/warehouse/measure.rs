//! Amounts of stock, in thousandths of SCU or in pieces (TYP-04, TYP-05, TYP-06).

use contract_runtime::{Map, Number};
use exchange_api::types::{Quantity, QuantityAmount, QuantityUnit};
use serde::{Deserialize, Serialize};

use crate::catalogue::contents::EntryKind;
use crate::store::StoreError;

/// The unit in which an amount is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Measure {
    /// Thousandths of a standard cargo unit.
    Scu,
    Piece,
}

impl Measure {
    /// Returns the measure of a material or item, according to its facts in the catalogue. Items are always
    /// counted in pieces (STK-08).
    pub(crate) fn for_item(kind: EntryKind, facts: &serde_json::Value) -> Self {
        let counted = facts.get("unit").and_then(serde_json::Value::as_str) == Some("PIECE");
        if counted || kind == EntryKind::Item { Self::Piece } else { Self::Scu }
    }

    /// Returns the name that the store and the contract use.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scu => "SCU",
            Self::Piece => "PIECE",
        }
    }

    /// Parses the stored name.
    pub(super) fn from_name(name: &str) -> Result<Self, StoreError> {
        match name {
            "SCU" => Ok(Self::Scu),
            "PIECE" => Ok(Self::Piece),
            _ => Err(StoreError::Corrupt("unknown stock measure")),
        }
    }

    /// Converts a quantity into an amount of this measure; rounds half a thousandth up. Returns `None` if the
    /// quantity has another unit.
    pub(crate) fn parse_quantity(self, quantity: &Quantity) -> Option<i64> {
        match (self, &quantity.unit) {
            (Self::Scu, QuantityUnit::Scu) => quantity.amount.get().to_scaled_i64(3),
            (Self::Piece, QuantityUnit::Piece) => quantity.amount.get().to_scaled_i64(0),
            _ => None,
        }
    }

    /// Returns the largest amount that a quantity can express. Sums, transfers and pools can exceed this
    /// amount.
    pub(crate) const fn max_amount(self) -> i64 {
        match self {
            Self::Scu => 1_000_000_000_000,
            Self::Piece => 1_000_000_000,
        }
    }

    /// Limits an amount to the largest amount that a quantity can express.
    pub(crate) fn clamp_amount(self, amount: i64) -> i64 {
        amount.min(self.max_amount())
    }

    /// Formats an amount with its unit for a person.
    pub(crate) fn format_amount(self, amount: i64) -> String {
        match self {
            Self::Scu => format!("{} SCU", trimmed_decimal(self.clamp_amount(amount), 3).to_json_text()),
            Self::Piece if amount == 1 => "1 piece".to_owned(),
            Self::Piece => format!("{amount} pieces"),
        }
    }

    /// Converts an amount into the contract's quantity, limited to the maximum and without trailing zeros.
    ///
    /// # Errors
    /// Returns [`StoreError::Corrupt`] for a negative amount.
    pub(crate) fn to_quantity(self, amount: i64) -> Result<Quantity, StoreError> {
        let amount = self.clamp_amount(amount);
        let (number, unit) = match self {
            Self::Scu => (trimmed_decimal(amount, 3), QuantityUnit::Scu),
            Self::Piece => (Number::from_i64(amount), QuantityUnit::Piece),
        };
        let amount = QuantityAmount::new(number);
        let amount = amount.map_err(|_| StoreError::Corrupt("negative stock amount"))?;
        Ok(Quantity { amount, unit, extra: Map::new() })
    }
}

/// Creates a decimal number from an integer and the number of its decimals, without trailing zeros.
pub(crate) fn trimmed_decimal(mut digits: i64, mut decimals: u8) -> Number {
    while decimals > 0 && digits % 10 == 0 {
        digits /= 10;
        decimals -= 1;
    }
    Number::from_decimal(digits, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(amount: &str, unit: QuantityUnit) -> Quantity {
        let amount = QuantityAmount::new(Number::parse(amount).expect("the number is valid"))
            .expect("the amount is valid");
        Quantity { amount, unit, extra: Map::new() }
    }

    /// TYP-04, TYP-05, TYP-06: amounts are parsed in thousandths of SCU or in pieces, and halves are rounded
    /// up. Other units are rejected.
    #[test]
    fn amounts_are_parsed_in_their_own_unit() {
        use QuantityUnit::{Piece, Scu};
        for (amount, read) in [
            ("12.3456", 12_346),
            ("12.346", 12_346),
            ("0.0005", 1),
            ("0.00049999999999999999999999", 0),
            ("1e3", 1_000_000),
            ("1000000000", 1_000_000_000_000),
        ] {
            assert_eq!(Measure::Scu.parse_quantity(&quantity(amount, Scu)), Some(read), "{amount}");
        }
        assert_eq!(Measure::Piece.parse_quantity(&quantity("7.0", Piece)), Some(7));
        assert_eq!(Measure::Piece.parse_quantity(&quantity("7", Scu)), None);
        assert_eq!(Measure::Scu.parse_quantity(&quantity("7", Piece)), None);
    }

    /// STK-03: formatted amounts have at most three decimals, and parsing them returns the same amount.
    #[test]
    fn amounts_round_trip_exactly() {
        for (amount, text) in [(12_346, "12.346"), (12_300, "12.3"), (12_000, "12"), (5, "0.005"), (0, "0")] {
            let written = Measure::Scu.to_quantity(amount).expect("the amount is valid");
            assert_eq!(written.amount.get().to_json_text(), text);
            assert_eq!(Measure::Scu.parse_quantity(&written), Some(amount));
        }
        assert_eq!(
            Measure::Piece.to_quantity(10).expect("the amount is valid").amount.get().to_json_text(),
            "10"
        );
        for (measure, limit) in [(Measure::Piece, 1_000_000_000), (Measure::Scu, 1_000_000_000_000)] {
            let written = measure.to_quantity(limit + 1).expect("the amount is valid");
            assert_eq!(written.amount.get().to_json_text(), "1000000000");
            assert_eq!(measure.parse_quantity(&written), Some(limit));
        }
        assert!(Measure::Scu.to_quantity(-1).is_err());
    }
}
