//! Builds the checks of arrays, tuples and maps. A map is an object without declared properties.

use super::{
    CheckBuilder, TypedPlace,
    check::{
        Check::{self, Always, Never},
        CountOperand, StringOperand, ValuePlace, ValueTest,
    },
    counts::{emptiness_check, length_bounds},
    scalars::{literal_list, types_allow},
};
use crate::{
    schema::{Schema, SchemaId, TypeSet},
    shape::TypeRef,
};

impl<'a> CheckBuilder<'a> {
    pub(super) fn vec_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        let mut check = types_allow(s, TypeSet::ARRAY);
        if literal_list(s).is_some() || s.contains.is_some() || !s.prefix_items.is_empty() {
            return check.and(self.table_check(id, at));
        }
        check = check.and(length_bounds(s.min_items, s.max_items, &CountOperand::Length(at.place.clone())));
        if s.unique_items {
            check = check.and(ValueTest::Distinct(at.place.clone()).into());
        }
        if let Some(items) = s.items {
            let element = self.schema_check(items, &TypedPlace::bound_value(inner), depth - 1);
            check = check.and(element.wrap_in(emptiness_check(&at.place), |element| {
                ValueTest::Elements(at.place.clone(), element)
            }));
        }
        check
    }

    pub(super) fn tuple_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a [TypeRef],
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        if literal_list(s).is_some() || s.contains.is_some() || s.unique_items {
            return self.table_check(id, at);
        }
        let count = inner.len() as u64;
        let fits = s.min_items.is_none_or(|m| count >= m) && s.max_items.is_none_or(|m| count <= m);
        let elements =
            inner.iter().enumerate().map(|(i, ty)| match s.prefix_items.get(i).copied().or(s.items) {
                Some(schema) => {
                    self.schema_check(schema, &TypedPlace::new(ty, at.place.element(i)), depth - 1)
                }
                None => Always,
            });
        let elements = Check::all(elements.collect::<Vec<_>>());
        types_allow(s, TypeSet::ARRAY).and(Check::from_bool(fits)).and(elements)
    }

    pub(super) fn map_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        let map = &at.place;
        if literal_list(s).is_some() || !s.dependent_schemas.is_empty() {
            return self.table_check(id, at);
        }
        let contains = |name: &String| Check::from(ValueTest::Contains(map.clone(), name.clone()));
        let count = length_bounds(s.min_properties, s.max_properties, &CountOperand::Length(map.clone()));
        let mut check = types_allow(s, TypeSet::OBJECT).and(count);
        check = s.required.iter().fold(check, |check, name| check.and(contains(name)));
        for (name, needs) in &s.dependent_required {
            check = check.and(contains(name).not().or(Check::all(needs.iter().map(contains))));
        }
        let value = |id: SchemaId| self.schema_check(id, &TypedPlace::bound_value(inner), depth - 1);
        for (name, property) in s.properties.iter().filter(|_| self.includes_keyword(s, "properties")) {
            check = check.and(value(*property).wrap_in(contains(name).not(), |value| {
                ValueTest::IfContains(map.clone(), name.clone(), value)
            }));
        }
        for (pattern, schema) in
            self.compiled_patterns(s).filter(|_| self.includes_keyword(s, "patternProperties"))
        {
            check = check.and(matching_members(map, &[name_matches(pattern)], value(schema)));
        }
        if let Some(additional) = s.additional_properties {
            let declared = s.properties.iter().map(|(name, _)| name_is(name));
            let known: Vec<Check> =
                declared.chain(self.compiled_patterns(s).map(|(p, _)| name_matches(p))).collect();
            check = check.and(other_members(map, &known, value(additional)));
        }
        if let Some(names) = s.property_names {
            let name = self.string_keywords(names, &StringOperand::Name, &[], depth - 1);
            check = check.and(name.wrap_in(emptiness_check(map), |name| ValueTest::Names(map.clone(), name)));
        }
        check
    }

    /// Iterates over the patterns in `patternProperties` that could be compiled, with their schemas.
    pub(super) fn compiled_patterns(&self, s: &'a Schema) -> impl Iterator<Item = (&'a str, SchemaId)> {
        let tables = self.scope.tables;
        s.pattern_properties
            .iter()
            .filter(move |(pattern, _)| tables.pattern_constant(pattern).is_some())
            .map(|(pattern, id)| (pattern.as_str(), *id))
    }
}

/// Builds a test that the bound property name equals `name`.
pub(super) fn name_is(name: &str) -> Check {
    ValueTest::StringIn(StringOperand::Name, vec![name.to_owned()]).into()
}

/// Builds a test that the bound property name matches a pattern.
pub(super) fn name_matches(pattern: &str) -> Check {
    ValueTest::Matches(StringOperand::Name, pattern.to_owned()).into()
}

/// Builds a check that `value` holds for all properties whose names satisfy one of the tests in `names`.
pub(super) fn matching_members(map: &ValuePlace, names: &[Check], value: Check) -> Check {
    let known = || names.iter().cloned().fold(Never, Check::or);
    match value {
        Always => Always,
        Never => ValueTest::Names(map.clone(), Box::new(known().not())).into(),
        value => ValueTest::Members(map.clone(), Box::new(known().not().or(value))).into(),
    }
}

/// Builds a check that `value` holds for all properties whose names satisfy none of the tests in `names`.
pub(super) fn other_members(map: &ValuePlace, names: &[Check], value: Check) -> Check {
    let known = || names.iter().cloned().fold(Never, Check::or);
    match (value, names) {
        (Always, _) => Always,
        (Never, []) => emptiness_check(map),
        (Never, _) => ValueTest::Names(map.clone(), Box::new(known())).into(),
        (value, []) => ValueTest::Values(map.clone(), Box::new(value)).into(),
        (value, _) => ValueTest::Members(map.clone(), Box::new(known().or(value))).into(),
    }
}
