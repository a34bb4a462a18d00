//! Quantities. They are rounded and compared in the same way as by the exchange: SCU in thousandths, rounded
//! half up; pieces as integers.

use std::cmp::Ordering;

use exchange_api::{
    Map, Number,
    types::{Quantity, QuantityAmount, QuantityUnit},
};

use crate::error::{Error, ErrorKind};

/// Parses an amount of SCU from a decimal string (`12.5`), without conversion to binary floating point.
///
/// # Errors
/// Returns `Invalid` unless the string is a number from 0 to 1,000,000,000.
pub fn scu(text: &str) -> Result<Quantity, Error> {
    let number = Number::parse(text).map_err(|_| {
        Error::new(ErrorKind::Invalid, "the amount of SCU is not a decimal number, such as 12.5")
    })?;
    from_number(number, QuantityUnit::Scu)
}

/// Returns a quantity of this many pieces.
///
/// # Errors
/// Returns `Invalid` for more than 1,000,000,000 pieces.
pub fn pieces(count: u32) -> Result<Quantity, Error> {
    from_number(Number::from_i64(i64::from(count)), QuantityUnit::Piece)
}

fn from_number(number: Number, unit: QuantityUnit) -> Result<Quantity, Error> {
    let amount = QuantityAmount::new(number)?;
    Ok(Quantity { amount, unit, extra: Map::new() })
}

/// Returns the quantity as the exchange stores it: SCU rounded half up to thousandths (TYP-06).
#[must_use]
pub fn round_as_stored(quantity: &Quantity) -> Quantity {
    let mut quantity = quantity.clone();
    if let Some(units) = to_units(&quantity)
        && let Ok(stored) = from_units(units, &quantity.unit)
    {
        quantity.amount = stored.amount;
    }
    quantity
}

/// Returns true if the exchange treats both quantities as equal, such as 12.3456 SCU and 12.346 SCU (TYP-06).
#[must_use]
pub fn is_same(one: &Quantity, other: &Quantity) -> bool {
    compare(one, other) == Some(Ordering::Equal)
}

/// Compares two quantities as the exchange rounds them; `None` if their units differ.
#[must_use]
pub fn compare(one: &Quantity, other: &Quantity) -> Option<Ordering> {
    if one.unit != other.unit {
        return None;
    }
    match (to_units(one), to_units(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        // Quantities in an unknown unit are compared without rounding.
        _ => Some(one.amount.get().cmp(other.amount.get())),
    }
}

/// Returns true if the quantity is zero after rounding.
#[must_use]
pub fn is_zero(quantity: &Quantity) -> bool {
    to_units(quantity).map_or_else(|| *quantity.amount.get() == Number::from_i64(0), |units| units == 0)
}

/// Adds two quantities after rounding both.
pub(super) fn add_quantities(one: &Quantity, other: &Quantity) -> Result<Quantity, Error> {
    combine_quantities(one, other, i64::checked_add)
}

/// Subtracts the second quantity from the first after rounding both. The second must not be greater.
pub(super) fn subtract_quantities(one: &Quantity, other: &Quantity) -> Result<Quantity, Error> {
    combine_quantities(one, other, i64::checked_sub)
}

fn combine_quantities(
    one: &Quantity,
    other: &Quantity,
    combine: fn(i64, i64) -> Option<i64>,
) -> Result<Quantity, Error> {
    if one.unit != other.unit {
        return Err(Error::new(ErrorKind::Invalid, "the amounts have different units"));
    }
    let units = to_units(one).zip(to_units(other)).and_then(|(one, other)| combine(one, other));
    match units {
        Some(units) if units < 0 => {
            Err(Error::new(ErrorKind::Invalid, "the lot holds less than this amount"))
        }
        Some(units) => from_units(units, &one.unit),
        None => Err(Error::new(ErrorKind::Invalid, "the amounts cannot be added or subtracted")),
    }
}

/// Converts a quantity to thousandths of SCU or to pieces; `None` for an unknown unit.
fn to_units(quantity: &Quantity) -> Option<i64> {
    quantity.amount.get().to_scaled_i64(decimals(&quantity.unit)?)
}

fn from_units(units: i64, unit: &QuantityUnit) -> Result<Quantity, Error> {
    let mut decimals = decimals(unit).unwrap_or(0);
    let mut units = units;
    while decimals > 0 && units % 10 == 0 {
        (units, decimals) = (units / 10, decimals - 1);
    }
    from_number(Number::from_decimal(units, decimals), unit.clone())
}

const fn decimals(unit: &QuantityUnit) -> Option<u8> {
    match unit {
        QuantityUnit::Scu => Some(3),
        QuantityUnit::Piece => Some(0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TYP-06: quantities that round to the same thousandth are equal; quantities in different units never
    /// are.
    #[test]
    fn amounts_are_compared_in_thousandths_rounded_half_up() {
        for (one, other, same) in [
            ("12.3456", "12.346", true),
            ("12.3455", "12.346", true),
            ("12.34549999999999999999999", "12.346", false),
            ("12.3454", "12.345", true),
            ("0.0005", "0.001", true),
            ("0.0004", "0", true),
            ("1e3", "1000.000", true),
        ] {
            assert_eq!(is_same(&scu(one).unwrap(), &scu(other).unwrap()), same, "{one} and {other}");
        }
        assert!(!is_same(&scu("3").unwrap(), &pieces(3).unwrap()));
        assert_eq!(round_as_stored(&scu("12.3456").unwrap()).amount.get().to_json_text(), "12.346");
        assert_eq!(round_as_stored(&scu("12.3000").unwrap()).amount.get().to_json_text(), "12.3");
        assert!(is_zero(&scu("0.00049").unwrap()) && !is_zero(&scu("0.0005").unwrap()));
    }

    /// TYP-06: sums and differences use the rounded values, and are exact where binary fractions would not
    /// be.
    #[test]
    fn amounts_are_computed_exactly() {
        let total = add_quantities(&scu("0.1").unwrap(), &scu("0.2").unwrap()).unwrap();
        assert_eq!(total.amount.get().to_json_text(), "0.3");
        let rest = subtract_quantities(&scu("12.3456").unwrap(), &scu("12.345").unwrap()).unwrap();
        assert_eq!(rest.amount.get().to_json_text(), "0.001");
        assert_eq!(
            subtract_quantities(&pieces(3).unwrap(), &pieces(4).unwrap()).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert!(add_quantities(&pieces(3).unwrap(), &scu("1").unwrap()).is_err());
        assert!(add_quantities(&scu("1000000000").unwrap(), &scu("0.001").unwrap()).is_err());
        assert!(scu("-1").is_err() && scu("much").is_err() && pieces(1_000_000_001).is_err());
    }
}
