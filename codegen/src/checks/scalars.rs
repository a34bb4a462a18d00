//! Checks of numbers, and what one schema object says about a value by `type`, `const`, `enum`.

use std::collections::BTreeSet;

use contract_runtime::{Json, Number};

use super::check::{
    Check::{self, Always, Never},
    Numeric, Order, Place, Test,
};
use crate::{
    schema::{Schema, Types},
    shape::IntKind,
};

pub(super) fn types_allow(s: &Schema, own: Types) -> Check {
    Check::known(s.types.is_none_or(|t| !t.and(own).is_empty()))
}

/// Whether `type`, `const` and `enum` of one schema object allow a value.
pub(super) fn allows(s: &Schema, value: &Json, types: Types) -> bool {
    s.types.is_none_or(|t| !t.and(types).is_empty())
        && s.constant.as_ref().is_none_or(|c| c == value)
        && s.enumeration.as_ref().is_none_or(|e| e.contains(value))
}

/// What `const` and `enum` of one schema object leave.
pub(super) fn literal_list(s: &Schema) -> Option<Vec<&Json>> {
    match (&s.constant, &s.enumeration) {
        (None, None) => None,
        (Some(c), None) => Some(vec![c]),
        (None, Some(e)) => Some(e.iter().collect()),
        (Some(c), Some(e)) => Some(e.iter().filter(|v| *v == c).collect()),
    }
}

pub(super) fn bool_keywords(s: &Schema, place: &Place) -> Check {
    let holds = |value: bool| allows(s, &Json::Bool(value), Types::BOOLEAN);
    let test = || Check::from(Test::True(place.clone()));
    match (holds(false), holds(true)) {
        (true, true) => Always,
        (false, false) => Never,
        (false, true) => test(),
        (true, false) => test().not(),
    }
}

pub(super) fn int_keywords(s: &Schema, kind: IntKind, place: &Place) -> Check {
    let mut check = types_allow(s, Types::INTEGER);
    if let Some(list) = literal_list(s) {
        // `1` and `1.0` are one value, and a pattern that repeats one is warned about.
        let mut seen = BTreeSet::new();
        let numbers: Vec<i128> = list
            .iter()
            .filter_map(|v| v.as_number().and_then(Number::as_i128))
            .filter(|n| within(kind, *n) && seen.insert(*n))
            .collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            _ => Test::IntIn(place.clone(), numbers).into(),
        });
    }
    match only_whole(s).filter(|only| within(kind, *only)) {
        Some(only) => check = check.and(Test::IntIn(place.clone(), vec![only]).into()),
        None => {
            for (bound, order) in bounds(s) {
                check = check.and(int_bound(bound, order, kind, place));
            }
        }
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(match divisor.as_i64() {
            Some(1) => Always,
            Some(d) if d > 1 => Test::IntMultiple(place.clone(), d).into(),
            _ => Test::NumberMultiple(Numeric::Int(place.clone()), divisor.clone()).into(),
        });
    }
    check
}

pub(crate) fn bounds(s: &Schema) -> impl Iterator<Item = (&Number, Order)> {
    let all = [
        (&s.minimum, Order::AtLeast),
        (&s.exclusive_minimum, Order::Above),
        (&s.maximum, Order::AtMost),
        (&s.exclusive_maximum, Order::Below),
    ];
    all.into_iter().filter_map(|(bound, order)| Some((bound.as_ref()?, order)))
}

fn within(kind: IntKind, n: i128) -> bool {
    match kind {
        IntKind::I64 => i64::try_from(n).is_ok(),
        IntKind::U64 => u64::try_from(n).is_ok(),
    }
}

/// The one whole number that bounds leave.
fn only_whole(s: &Schema) -> Option<i128> {
    let is_lower = |order: Order| matches!(order, Order::AtLeast | Order::Above);
    let limits = |lower: bool| {
        let own = bounds(s).filter(|(_, order)| is_lower(*order) == lower);
        own.map(|(bound, order)| whole_limit(bound, order)).collect::<Option<Vec<i128>>>()
    };
    let least = limits(true)?.into_iter().max()?;
    (limits(false)?.into_iter().min()? == least).then_some(least)
}

/// The least or the greatest whole number that a bound allows; `None` beyond 128 bits.
pub(crate) fn whole_limit(bound: &Number, order: Order) -> Option<i128> {
    match order {
        Order::AtLeast => bound.ceil(),
        Order::Above => bound.floor()?.checked_add(1),
        Order::AtMost => bound.floor(),
        Order::Below => bound.ceil()?.checked_sub(1),
    }
}

fn int_bound(bound: &Number, order: Order, kind: IntKind, place: &Place) -> Check {
    let lower = matches!(order, Order::AtLeast | Order::Above);
    let Some(limit) = whole_limit(bound, order) else {
        // Beyond 128 bits: on one side of every value.
        return Check::known(lower == (*bound < Number::int(0)));
    };
    let (least, most) = match kind {
        IntKind::I64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        IntKind::U64 => (0, i128::from(u64::MAX)),
    };
    match lower {
        true if limit <= least => Always,
        true if limit > most => Never,
        // One value is left, and nobody compares with the end of a type.
        true if limit == most => Test::IntIn(place.clone(), vec![limit]).into(),
        true => Test::IntBound(place.clone(), Order::AtLeast, limit).into(),
        false if limit >= most => Always,
        false if limit < least => Never,
        false if limit == least => Test::IntIn(place.clone(), vec![limit]).into(),
        false => Test::IntBound(place.clone(), Order::AtMost, limit).into(),
    }
}

pub(super) fn number_keywords(s: &Schema, place: &Place) -> Check {
    let whole = || Check::from(Test::Whole(place.clone()));
    let mut check = match s.types {
        Some(t) if t.and(Types::NUMBER).is_empty() => return Never,
        Some(t) if t.and(Types::NUMBER) == Types::INTEGER => whole(),
        _ => Always,
    };
    if let Some(list) = literal_list(s) {
        let numbers: Vec<Number> = list.iter().filter_map(|v| v.as_number()).cloned().collect();
        check = check.and(match numbers.as_slice() {
            [] => Never,
            _ => Test::NumberIn(place.clone(), numbers).into(),
        });
    }
    for (bound, order) in bounds(s) {
        check = check.and(Test::NumberBound(Numeric::Exact(place.clone()), order, bound.clone()).into());
    }
    if let Some(divisor) = &s.multiple_of {
        check = check.and(if divisor.as_i64() == Some(1) {
            whole()
        } else {
            Test::NumberMultiple(Numeric::Exact(place.clone()), divisor.clone()).into()
        });
    }
    check
}
