//! Amounts: whole thousandths of SCU, or whole pieces (TYP-04, TYP-05, TYP-06).

use contract_runtime::{Map, Number};
use exchange_api::types::{Quantity, QuantityAmount, QuantityUnit};
use serde::{Deserialize, Serialize};

use crate::catalogue::contents::Kind;
use crate::store::StoreError;

/// What an amount counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub(crate) enum Measure {
    /// Thousandths of a standard cargo unit.
    Scu,
    /// Pieces.
    Piece,
}

impl Measure {
    /// That of a material or an item, by its facts in the catalogue; an item is counted (STK-08).
    pub(crate) fn of(kind: Kind, facts: &serde_json::Value) -> Self {
        let counted = facts.get("unit").and_then(serde_json::Value::as_str) == Some("PIECE");
        if counted || kind == Kind::Item { Self::Piece } else { Self::Scu }
    }

    /// Its name, in the store as on the wire.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Scu => "SCU",
            Self::Piece => "PIECE",
        }
    }

    /// From its name in the store.
    pub(super) fn named(name: &str) -> Result<Self, StoreError> {
        match name {
            "SCU" => Ok(Self::Scu),
            "PIECE" => Ok(Self::Piece),
            _ => Err(StoreError::Corrupt("stock of no known measure")),
        }
    }

    /// The amount that a quantity has in this measure, halves of a thousandth rounded up; none when it is
    /// in another unit.
    pub(crate) fn read(self, quantity: &Quantity) -> Option<i64> {
        match (self, &quantity.unit) {
            (Self::Scu, QuantityUnit::Scu) => quantity.amount.get().scaled(3),
            (Self::Piece, QuantityUnit::Piece) => quantity.amount.get().scaled(0),
            _ => None,
        }
    }

    /// The most that a quantity can say. Nothing books more at once, but sums, gifts and pools can come to more.
    pub(crate) const fn most(self) -> i64 {
        match self {
            Self::Scu => 1_000_000_000_000,
            Self::Piece => 1_000_000_000,
        }
    }

    /// An amount as far as a quantity can say it: more than the most is shown as the most.
    pub(crate) fn shown(self, amount: i64) -> i64 {
        amount.min(self.most())
    }

    /// An amount as answers have it: exact up to the most that can be said, and without zeros at its end.
    pub(crate) fn written(self, amount: i64) -> Result<Quantity, StoreError> {
        let amount = self.shown(amount);
        let (number, unit) = match self {
            Self::Scu => (decimal(amount, 3), QuantityUnit::Scu),
            Self::Piece => (Number::int(amount), QuantityUnit::Piece),
        };
        let amount = QuantityAmount::new(number);
        let amount = amount.map_err(|_| StoreError::Corrupt("less stock than none"))?;
        Ok(Quantity { amount, unit, extra: Map::new() })
    }
}

/// Digits with so many decimals, without zeros at their end.
pub(crate) fn decimal(mut digits: i64, mut decimals: u8) -> Number {
    while decimals > 0 && digits % 10 == 0 {
        digits /= 10;
        decimals -= 1;
    }
    Number::decimal(digits, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(amount: &str, unit: QuantityUnit) -> Quantity {
        let amount = QuantityAmount::new(Number::parse(amount).expect("a number")).expect("an amount");
        Quantity { amount, unit, extra: Map::new() }
    }

    /// TYP-04, TYP-05, TYP-06: thousandths, halves rounded up; pieces; no other unit.
    #[test]
    fn amounts_are_read_in_their_own_unit() {
        use QuantityUnit::{Piece, Scu};
        for (amount, read) in [
            ("12.3456", 12_346),
            ("12.346", 12_346),
            ("0.0005", 1),
            ("0.00049999999999999999999999", 0),
            ("1e3", 1_000_000),
            ("1000000000", 1_000_000_000_000),
        ] {
            assert_eq!(Measure::Scu.read(&quantity(amount, Scu)), Some(read), "{amount}");
        }
        assert_eq!(Measure::Piece.read(&quantity("7.0", Piece)), Some(7));
        assert_eq!(Measure::Piece.read(&quantity("7", Scu)), None);
        assert_eq!(Measure::Scu.read(&quantity("7", Piece)), None);
    }

    /// STK-03: three decimals at most, and what is read back is the same.
    #[test]
    fn amounts_are_written_exactly() {
        for (amount, text) in [(12_346, "12.346"), (12_300, "12.3"), (12_000, "12"), (5, "0.005"), (0, "0")] {
            let written = Measure::Scu.written(amount).expect("a quantity");
            assert_eq!(written.amount.get().text(), text);
            assert_eq!(Measure::Scu.read(&written), Some(amount));
        }
        assert_eq!(Measure::Piece.written(10).expect("a quantity").amount.get().text(), "10");
        for (measure, most) in [(Measure::Piece, 1_000_000_000), (Measure::Scu, 1_000_000_000_000)] {
            let written = measure.written(most + 1).expect("a quantity");
            assert_eq!(written.amount.get().text(), "1000000000");
            assert_eq!(measure.read(&written), Some(most));
        }
        assert!(Measure::Scu.written(-1).is_err());
    }
}
