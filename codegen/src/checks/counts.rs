//! How many: members of a struct, elements, and whether a member is there at all.

use super::check::{
    Check::{self, Always, Never},
    Counted, Order, Place, Test,
};
use crate::{
    schema::Schema,
    shape::{Field, Struct},
};

pub(super) fn present(field: &Field, place: &Place) -> Check {
    if field.required { Always } else { Test::There(place.field(&field.name)).into() }
}

/// Whether a struct has a member, declared or not.
pub(super) fn has_member(body: &Struct, name: &str, place: &Place) -> Check {
    match body.fields.iter().find(|f| f.wire == name) {
        Some(field) => present(field, place),
        None => Test::Contains(place.rest(), name.to_owned()).into(),
    }
}

pub(super) fn count_bounds(s: &Schema, body: &Struct, place: &Place) -> Check {
    let least = body.fields.iter().filter(|f| f.required).count();
    let sometimes = || body.fields.iter().filter(|f| !f.required).map(|f| f.name.clone()).collect();
    let count = |order, limit| {
        Check::from(Test::Count(Counted::Members(place.clone(), least, sometimes()), order, limit))
    };
    let least = least as u64;
    // What the required members settle is no comparison.
    let min = s.min_properties.filter(|&m| m > least).map(|m| count(Order::AtLeast, m));
    let max = s.max_properties.map(|m| if m < least { Never } else { count(Order::AtMost, m) });
    Check::all(min.into_iter().chain(max))
}

pub(super) fn length(min: Option<u64>, max: Option<u64>, counted: &Counted) -> Check {
    let min = min.filter(|&m| m > 0).map(|m| Test::Count(counted.clone(), Order::AtLeast, m).into());
    let max = max.map(|m| Test::Count(counted.clone(), Order::AtMost, m).into());
    Check::all(min.into_iter().chain(max))
}

/// Nothing is in a map or an array.
pub(super) fn empty(place: &Place) -> Check {
    Test::Count(Counted::Length(place.clone()), Order::AtMost, 0).into()
}
