//! Checks of the number of properties and elements, and of the presence of properties.

use super::check::{
    Check::{self, Always, Never},
    ComparisonOperator, CountOperand, ValuePlace, ValueTest,
};
use crate::{
    schema::Schema,
    shape::{StructBody, StructField},
};

pub(super) fn presence_check(field: &StructField, place: &ValuePlace) -> Check {
    if field.required { Always } else { ValueTest::IsPresent(place.field(&field.name)).into() }
}

/// Builds a test that a struct has a property, declared or not.
pub(super) fn has_member(body: &StructBody, name: &str, place: &ValuePlace) -> Check {
    match body.fields.iter().find(|f| f.wire == name) {
        Some(field) => presence_check(field, place),
        None => ValueTest::Contains(place.rest(), name.to_owned()).into(),
    }
}

pub(super) fn count_bounds(s: &Schema, body: &StructBody, place: &ValuePlace) -> Check {
    let least = body.fields.iter().filter(|f| f.required).count();
    let sometimes = || body.fields.iter().filter(|f| !f.required).map(|f| f.name.clone()).collect();
    let count = |order, limit| {
        Check::from(ValueTest::Count(CountOperand::Members(place.clone(), least, sometimes()), order, limit))
    };
    let least = least as u64;
    // `least` is the number of required properties. A `minProperties` up to this number needs no test.
    let min = s.min_properties.filter(|&m| m > least).map(|m| count(ComparisonOperator::AtLeast, m));
    let max = s.max_properties.map(|m| if m < least { Never } else { count(ComparisonOperator::AtMost, m) });
    Check::all(min.into_iter().chain(max))
}

pub(super) fn length_bounds(min: Option<u64>, max: Option<u64>, counted: &CountOperand) -> Check {
    let min = min
        .filter(|&m| m > 0)
        .map(|m| ValueTest::Count(counted.clone(), ComparisonOperator::AtLeast, m).into());
    let max = max.map(|m| ValueTest::Count(counted.clone(), ComparisonOperator::AtMost, m).into());
    Check::all(min.into_iter().chain(max))
}

/// Builds a test that a map or an array is empty.
pub(super) fn emptiness_check(place: &ValuePlace) -> Check {
    ValueTest::Count(CountOperand::Length(place.clone()), ComparisonOperator::AtMost, 0).into()
}
