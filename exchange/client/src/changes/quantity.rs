//! Amounts, written and compared as the exchange does: SCU in thousandths, halves rounded up; pieces whole.

use std::cmp::Ordering;

use exchange_api::{
    Map, Number,
    types::{Quantity, QuantityAmount, QuantityUnit},
};

use crate::error::{Error, ErrorKind};

/// An amount of SCU from its decimal text (`12.5`), never through binary floating point.
///
/// # Errors
/// `Invalid` when it is no number from 0 to 1,000,000,000.
pub fn scu(text: &str) -> Result<Quantity, Error> {
    let number = Number::parse(text).map_err(|_| Error::new(ErrorKind::Invalid, "this is no amount"))?;
    of(number, QuantityUnit::Scu)
}

/// So many pieces.
///
/// # Errors
/// `Invalid` for more than 1,000,000,000.
pub fn pieces(count: u32) -> Result<Quantity, Error> {
    of(Number::int(i64::from(count)), QuantityUnit::Piece)
}

fn of(number: Number, unit: QuantityUnit) -> Result<Quantity, Error> {
    let amount = QuantityAmount::new(number)?;
    Ok(Quantity { amount, unit, extra: Map::new() })
}

/// The amount as the exchange stores it: SCU rounded half-up to thousandths (TYP-06).
#[must_use]
pub fn stored(quantity: &Quantity) -> Quantity {
    let mut quantity = quantity.clone();
    if let Some(units) = units(&quantity)
        && let Ok(stored) = written(units, &quantity.unit)
    {
        quantity.amount = stored.amount;
    }
    quantity
}

/// Whether the exchange takes two amounts for the same: 12.3456 SCU and 12.346 SCU are (TYP-06).
#[must_use]
pub fn is_same(one: &Quantity, other: &Quantity) -> bool {
    compare(one, other) == Some(Ordering::Equal)
}

/// Which of two amounts is more, as the exchange rounds them; nothing when their units differ.
#[must_use]
pub fn compare(one: &Quantity, other: &Quantity) -> Option<Ordering> {
    if one.unit != other.unit {
        return None;
    }
    match (units(one), units(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        // A unit that nobody here knows is not rounded.
        _ => Some(one.amount.get().cmp(other.amount.get())),
    }
}

/// Whether it is nothing, as the exchange rounds it.
#[must_use]
pub fn is_nothing(quantity: &Quantity) -> bool {
    units(quantity).map_or_else(|| *quantity.amount.get() == Number::int(0), |units| units == 0)
}

/// Both together, as the exchange rounds them.
pub(super) fn sum(one: &Quantity, other: &Quantity) -> Result<Quantity, Error> {
    combined(one, other, i64::checked_add)
}

/// The first without the second, which must not be more.
pub(super) fn difference(one: &Quantity, other: &Quantity) -> Result<Quantity, Error> {
    combined(one, other, i64::checked_sub)
}

fn combined(
    one: &Quantity,
    other: &Quantity,
    combine: fn(i64, i64) -> Option<i64>,
) -> Result<Quantity, Error> {
    if one.unit != other.unit {
        return Err(Error::new(ErrorKind::Invalid, "the amounts are in different units"));
    }
    let units = units(one).zip(units(other)).and_then(|(one, other)| combine(one, other));
    match units {
        Some(units) if units < 0 => Err(Error::new(ErrorKind::Invalid, "the lot holds less than that")),
        Some(units) => written(units, &one.unit),
        None => Err(Error::new(ErrorKind::Invalid, "the amounts cannot be reckoned with")),
    }
}

/// Thousandths of SCU, or pieces; none for a unit that nobody here knows.
fn units(quantity: &Quantity) -> Option<i64> {
    quantity.amount.get().scaled(decimals(&quantity.unit)?)
}

fn written(units: i64, unit: &QuantityUnit) -> Result<Quantity, Error> {
    let mut decimals = decimals(unit).unwrap_or(0);
    let mut units = units;
    while decimals > 0 && units % 10 == 0 {
        (units, decimals) = (units / 10, decimals - 1);
    }
    of(Number::decimal(units, decimals), unit.clone())
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

    /// TYP-06: what the exchange rounds to the same thousandth is the same amount; other units never are.
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
        assert_eq!(stored(&scu("12.3456").unwrap()).amount.get().text(), "12.346");
        assert_eq!(stored(&scu("12.3000").unwrap()).amount.get().text(), "12.3");
        assert!(is_nothing(&scu("0.00049").unwrap()) && !is_nothing(&scu("0.0005").unwrap()));
    }

    /// TYP-06: sums and differences are those of what is stored, exact where binary fractions are not.
    #[test]
    fn amounts_are_reckoned_exactly() {
        let total = sum(&scu("0.1").unwrap(), &scu("0.2").unwrap()).unwrap();
        assert_eq!(total.amount.get().text(), "0.3");
        let rest = difference(&scu("12.3456").unwrap(), &scu("12.345").unwrap()).unwrap();
        assert_eq!(rest.amount.get().text(), "0.001");
        assert_eq!(
            difference(&pieces(3).unwrap(), &pieces(4).unwrap()).unwrap_err().kind(),
            ErrorKind::Invalid
        );
        assert!(sum(&pieces(3).unwrap(), &scu("1").unwrap()).is_err());
        assert!(sum(&scu("1000000000").unwrap(), &scu("0.001").unwrap()).is_err());
        assert!(scu("-1").is_err() && scu("much").is_err() && pieces(1_000_000_001).is_err());
    }
}
