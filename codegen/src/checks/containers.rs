//! Checks of arrays, tuples, and objects without declared members.

use super::{
    At, Checker,
    check::{
        Check::{self, Always, Never},
        Counted, Place, Test, Text,
    },
    counts::{empty, length},
    scalars::{literal_list, types_allow},
};
use crate::{
    schema::{Schema, SchemaId, Types},
    shape::TypeRef,
};

impl<'a> Checker<'a> {
    pub(super) fn vec_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        let mut check = types_allow(s, Types::ARRAY);
        if literal_list(s).is_some() || s.contains.is_some() || !s.prefix_items.is_empty() {
            return check.and(self.by_tables(id, at));
        }
        check = check.and(length(s.min_items, s.max_items, &Counted::Length(at.place.clone())));
        if s.unique_items {
            check = check.and(Test::Distinct(at.place.clone()).into());
        }
        if let Some(items) = s.items {
            let element = self.schema(items, &At::bound(inner), depth - 1);
            check = check
                .and(element.within(empty(&at.place), |element| Test::Elements(at.place.clone(), element)));
        }
        check
    }

    pub(super) fn tuple_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a [TypeRef],
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        if literal_list(s).is_some() || s.contains.is_some() || s.unique_items {
            return self.by_tables(id, at);
        }
        let count = inner.len() as u64;
        let fits = s.min_items.is_none_or(|m| count >= m) && s.max_items.is_none_or(|m| count <= m);
        let elements =
            inner.iter().enumerate().map(|(i, ty)| match s.prefix_items.get(i).copied().or(s.items) {
                Some(schema) => self.schema(schema, &At::new(ty, at.place.element(i)), depth - 1),
                None => Always,
            });
        let elements = Check::all(elements.collect::<Vec<_>>());
        types_allow(s, Types::ARRAY).and(Check::known(fits)).and(elements)
    }

    pub(super) fn map_keywords(
        &self,
        id: SchemaId,
        s: &'a Schema,
        inner: &'a TypeRef,
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        let map = &at.place;
        if literal_list(s).is_some() || !s.dependent_schemas.is_empty() {
            return self.by_tables(id, at);
        }
        let contains = |name: &String| Check::from(Test::Contains(map.clone(), name.clone()));
        let count = length(s.min_properties, s.max_properties, &Counted::Length(map.clone()));
        let mut check = types_allow(s, Types::OBJECT).and(count);
        check = s.required.iter().fold(check, |check, name| check.and(contains(name)));
        for (name, needs) in &s.dependent_required {
            check = check.and(contains(name).not().or(Check::all(needs.iter().map(contains))));
        }
        let value = |id: SchemaId| self.schema(id, &At::bound(inner), depth - 1);
        for (name, property) in s.properties.iter().filter(|_| self.asks(s, "properties")) {
            check = check
                .and(value(*property).within(contains(name).not(), |value| {
                    Test::IfContains(map.clone(), name.clone(), value)
                }));
        }
        for (pattern, schema) in self.patterns(s).filter(|_| self.asks(s, "patternProperties")) {
            check = check.and(named(map, &[matches(pattern)], value(schema)));
        }
        if let Some(additional) = s.additional_properties {
            let declared = s.properties.iter().map(|(name, _)| is(name));
            let known: Vec<Check> = declared.chain(self.patterns(s).map(|(p, _)| matches(p))).collect();
            check = check.and(unnamed(map, &known, value(additional)));
        }
        if let Some(names) = s.property_names {
            let name = self.string_keywords(names, &Text::Name, &[], depth - 1);
            check = check.and(name.within(empty(map), |name| Test::Names(map.clone(), name)));
        }
        check
    }

    /// The patterns of a schema's members that can be matched.
    pub(super) fn patterns(&self, s: &'a Schema) -> impl Iterator<Item = (&'a str, SchemaId)> {
        let tables = self.scope.tables;
        s.pattern_properties
            .iter()
            .filter(move |(pattern, _)| tables.pattern(pattern).is_some())
            .map(|(pattern, id)| (pattern.as_str(), *id))
    }
}

/// The name of a member is this one.
pub(super) fn is(name: &str) -> Check {
    Test::TextIn(Text::Name, vec![name.to_owned()]).into()
}

/// The name of a member matches a pattern.
pub(super) fn matches(pattern: &str) -> Check {
    Test::Matches(Text::Name, pattern.to_owned()).into()
}

/// Something holds of the members whose names are among these.
pub(super) fn named(map: &Place, names: &[Check], value: Check) -> Check {
    let known = || names.iter().cloned().fold(Never, Check::or);
    match value {
        Always => Always,
        Never => Test::Names(map.clone(), Box::new(known().not())).into(),
        value => Test::Members(map.clone(), Box::new(known().not().or(value))).into(),
    }
}

/// Something holds of the members whose names are not among these.
pub(super) fn unnamed(map: &Place, names: &[Check], value: Check) -> Check {
    let known = || names.iter().cloned().fold(Never, Check::or);
    match (value, names) {
        (Always, _) => Always,
        (Never, []) => empty(map),
        (Never, _) => Test::Names(map.clone(), Box::new(known())).into(),
        (value, []) => Test::Values(map.clone(), Box::new(value)).into(),
        (value, _) => Test::Members(map.clone(), Box::new(known().or(value))).into(),
    }
}
