//! Builds the checks of numbers and booleans, and of the keywords `type`, `const` and `enum`.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number};

use super::check::{
    Check::{self, Always, Never},
    ComparisonOperator, NumberOperand, ValuePlace, ValueTest,
};
use crate::{
    schema::{Schema, TypeSet},
    shape::IntKind,
};

pub(super) fn types_allow(s: &Schema, own: TypeSet) -> Check {
    Check::from_bool(s.types.is_none_or(|t| !t.intersection(own).is_empty()))
}

/// Returns true if `type`, `const` and `enum` of one schema allow a value.
pub(super) fn allows_value(s: &Schema, value: &Json, types: TypeSet) -> bool {
    s.types.is_none_or(|t| !t.intersection(types).is_empty())
        && s.constant.as_ref().is_none_or(|c| c == value)
        && s.enumeration.as_ref().is_none_or(|e| e.contains(value))
}

/// Returns the values that `const` and `enum` of one schema allow, if it has either.
pub(super) fn literal_list(s: &Schema) -> Option<Vec<&Json>> {
    match (&s.constant, &s.enumeration) {
        (None, None) => None,
        (Some(c), None) => Some(vec![c]),
        (None, Some(e)) => Some(e.iter().collect()),
        (Some(c), Some(e)) => Some(e.iter().filter(|v| *v == c).collect()),
    }
}

pub(super) fn bool_keywords(s: &Schema, place: &ValuePlace) -> Check {
    let holds = |value: bool| allows_value(s, &Json::Bool(value), TypeSet::BOOLEAN);
    let test = || Check::from(ValueTest::True(place.clone()));
    match (holds(false), holds(true)) {
        (true, true) => Always,
        (false, false) => Never,
        (false, true) => test(),
        (true, false) => test().not(),
    }
}

pub(super) fn int_keywords(s: &Schema, kind: IntKind, place: &ValuePlace) -> Check {
    let mut check = types_allow(s, TypeSet::INTEGER);
    if let Some(list) = literal_list(s) {
        // Duplicates are removed, because rustc warns about duplicate patterns; `1` and `1.0` are the same
        // value.
        let mut seen = BTreeSet::new();
        let numbers: Vec<i128> = list
            .iter()
            .filter_map(|v| v.as_number().and_then(Number::as_i128))
            .filter(|n| kind.contains(*n) && seen.insert(*n))
            .collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            _ => ValueTest::IntIn(place.clone(), numbers).into(),
        });
    }
    match only_integer(s).filter(|only| kind.contains(*only)) {
        Some(only) => check = check.and(ValueTest::IntIn(place.clone(), vec![only]).into()),
        None => {
            for (bound, order) in numeric_bounds(s) {
                check = check.and(int_bound(bound, order, kind, place));
            }
        }
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(match divisor.as_i64() {
            Some(1) => Always,
            // The divisor is a literal of the integer type.
            Some(d) if d > 1 && kind.contains(d.into()) => ValueTest::IntMultiple(place.clone(), d).into(),
            _ => ValueTest::NumberMultiple(NumberOperand::Int(place.clone()), divisor.clone()).into(),
        });
    }
    check
}

pub(crate) fn numeric_bounds(s: &Schema) -> impl Iterator<Item = (&Number, ComparisonOperator)> {
    let all = [
        (&s.minimum, ComparisonOperator::AtLeast),
        (&s.exclusive_minimum, ComparisonOperator::Above),
        (&s.maximum, ComparisonOperator::AtMost),
        (&s.exclusive_maximum, ComparisonOperator::Below),
    ];
    all.into_iter().filter_map(|(bound, order)| Some((bound.as_ref()?, order)))
}

/// Returns the only integer that the bounds of a schema allow, or `None` if they allow more or none.
fn only_integer(s: &Schema) -> Option<i128> {
    let is_lower =
        |order: ComparisonOperator| matches!(order, ComparisonOperator::AtLeast | ComparisonOperator::Above);
    let limits = |lower: bool| {
        let own = numeric_bounds(s).filter(|(_, order)| is_lower(*order) == lower);
        own.map(|(bound, order)| integer_limit(bound, order)).collect::<Option<Vec<i128>>>()
    };
    let least = limits(true)?.into_iter().max()?;
    (limits(false)?.into_iter().min()? == least).then_some(least)
}

/// Returns the smallest or greatest integer that a bound allows, or `None` if it does not fit into 128 bits.
pub(crate) fn integer_limit(bound: &Number, order: ComparisonOperator) -> Option<i128> {
    match order {
        ComparisonOperator::AtLeast => bound.ceil(),
        ComparisonOperator::Above => bound.floor()?.checked_add(1),
        ComparisonOperator::AtMost => bound.floor(),
        ComparisonOperator::Below => bound.ceil()?.checked_sub(1),
    }
}

fn int_bound(bound: &Number, order: ComparisonOperator, kind: IntKind, place: &ValuePlace) -> Check {
    let lower = matches!(order, ComparisonOperator::AtLeast | ComparisonOperator::Above);
    let Some(limit) = integer_limit(bound, order) else {
        // A bound that does not fit into 128 bits is above or below every value.
        return Check::from_bool(lower == (*bound < Number::from_i64(0)));
    };
    let (least, most) = (kind.least(), kind.greatest());
    match lower {
        true if limit <= least => Always,
        true if limit > most => Never,
        // The bound allows only the greatest or smallest value of the integer type. The value is compared for
        // equality, because clippy rejects order comparisons with the limit of a type.
        true if limit == most => ValueTest::IntIn(place.clone(), vec![limit]).into(),
        true => ValueTest::IntBound(place.clone(), ComparisonOperator::AtLeast, limit).into(),
        false if limit >= most => Always,
        false if limit < least => Never,
        false if limit == least => ValueTest::IntIn(place.clone(), vec![limit]).into(),
        false => ValueTest::IntBound(place.clone(), ComparisonOperator::AtMost, limit).into(),
    }
}

pub(super) fn number_keywords(s: &Schema, place: &ValuePlace) -> Check {
    let whole = || Check::from(ValueTest::Integral(place.clone()));
    let mut check = match s.types {
        Some(t) if t.intersection(TypeSet::NUMBER).is_empty() => return Never,
        Some(t) if t.intersection(TypeSet::NUMBER) == TypeSet::INTEGER => whole(),
        _ => Always,
    };
    if let Some(list) = literal_list(s) {
        let numbers: Vec<Number> = list.iter().filter_map(|v| v.as_number()).cloned().collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            _ => ValueTest::NumberIn(place.clone(), numbers).into(),
        });
    }
    for (bound, order) in numeric_bounds(s) {
        check = check
            .and(ValueTest::NumberBound(NumberOperand::Exact(place.clone()), order, bound.clone()).into());
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(if divisor.as_i64() == Some(1) {
            whole()
        } else {
            ValueTest::NumberMultiple(NumberOperand::Exact(place.clone()), divisor.clone()).into()
        });
    }
    check
}
