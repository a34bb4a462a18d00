//! Checks of structs: their declared members, and the rest.

use contract_runtime::Json;

use super::{
    At, Checker, DEPTH,
    check::{
        Check::{self, Always, Never},
        Place, Test, Text,
    },
    containers::{is, matches, named, unnamed},
    counts::{count_bounds, empty, has_member, present},
    is_contextual,
};
use crate::{
    schema::{Schema, SchemaId, Types},
    shape::{Field, Struct, TypeDef, TypeRef},
    together::Conj,
};

/// What is asked of a field's value.
enum AtField<'c> {
    /// All that applies to it.
    All(&'c Conj),
    /// One schema.
    One(SchemaId),
}

/// Whether the checks of the fields themselves were made already.
#[derive(Clone, Copy, PartialEq)]
enum Fields {
    Checked,
    Open,
}

impl<'a> Checker<'a> {
    pub(super) fn struct_definition(&self, def: &TypeDef, body: &'a Struct, own: &At<'a>) -> Check {
        let fields = body
            .fields
            .iter()
            .map(|field| self.at_field(field, &own.place, &AtField::All(&field.conj), DEPTH));
        let fields = Check::all(fields);
        let rest = self.facts(&def.conj).members.into_iter().map(|m| {
            let s = self.graph_schema(m);
            let at = |id: SchemaId| self.at_struct(id, body, own, DEPTH - 1);
            self.object_keywords(s, body, own, Fields::Checked, DEPTH)
                .and(self.object_literals(m, s, own))
                .and(self.applicators(s, self.settles(&def.conj.chosen, m), &at))
        });
        fields.and(Check::all(rest))
    }

    /// `const` and `enum` at an object are for the tables.
    fn object_literals(&self, id: SchemaId, s: &Schema, at: &At<'a>) -> Check {
        if s.enumeration.is_some() || s.constant.is_some() { self.by_tables(id, at) } else { Always }
    }

    /// Everything that a schema says about a struct.
    pub(super) fn at_struct(&self, id: SchemaId, body: &'a Struct, at: &At<'a>, depth: u8) -> Check {
        if let Some(check) = self.own_check(&Conj::one(id), at) {
            return check;
        }
        let s = self.graph_schema(id);
        if depth == 0 || is_contextual(s) || !self.visit() {
            return self.by_tables(id, at);
        }
        if s.boolean == Some(false) || s.types.is_some_and(|t| !t.contains(Types::OBJECT)) {
            return Never;
        }
        let again = |id: SchemaId| self.at_struct(id, body, at, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| again(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_literals(id, s, at)
            .and(self.object_keywords(s, body, at, Fields::Open, depth))
            .and(parts)
            .and(self.applicators(s, false, &again))
    }

    /// The same where the type says which branch of the schema's union is meant.
    pub(super) fn struct_without_unions(
        &self,
        id: SchemaId,
        body: &'a Struct,
        at: &At<'a>,
        depth: u8,
    ) -> Check {
        let s = self.graph_schema(id);
        if s.types.is_some_and(|t| !t.contains(Types::OBJECT)) {
            return Never;
        }
        let again = |id: SchemaId| self.at_struct(id, body, at, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| again(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_literals(id, s, at)
            .and(self.object_keywords(s, body, at, Fields::Open, depth))
            .and(parts)
            .and(self.applicators(s, true, &again))
    }

    /// The assertions about members.
    fn object_keywords(
        &self,
        s: &'a Schema,
        body: &'a Struct,
        at: &At<'a>,
        fields: Fields,
        depth: u8,
    ) -> Check {
        let place = &at.place;
        let field = |name: &str| body.fields.iter().find(|f| f.wire == name);
        let has = |name: &String| has_member(body, name, place);
        let mut check = Check::all(s.required.iter().map(has));
        for (name, property) in s.properties.iter().filter(|_| self.asks(s, "properties")) {
            check = check.and(match field(name) {
                Some(f) if fields == Fields::Checked && f.conj.ids.contains(property) => Always,
                Some(f) => self.at_field(f, place, &AtField::One(*property), depth),
                None => {
                    let value = self.schema(*property, &At::bound(rest_type(body)), depth - 1);
                    value.within(has(name).not(), |value| Test::IfContains(place.rest(), name.clone(), value))
                }
            });
        }
        check = check.and(self.undeclared_members(s, body, place, depth));
        for (name, needs) in &s.dependent_required {
            check = check.and(has(name).not().or(Check::all(needs.iter().map(has))));
        }
        for (name, schema) in &s.dependent_schemas {
            check = check.and(has(name).not().or(self.at_struct(*schema, body, at, depth - 1)));
        }
        if s.min_properties.is_some() || s.max_properties.is_some() {
            check = check.and(count_bounds(s, body, place));
        }
        check
    }

    /// `patternProperties`, `additionalProperties`, `propertyNames`.
    fn undeclared_members(&self, s: &'a Schema, body: &'a Struct, place: &Place, depth: u8) -> Check {
        let tables = self.scope.tables;
        let mut check = Always;
        let rest = place.rest();
        let value = |id: SchemaId| self.schema(id, &At::bound(rest_type(body)), depth - 1);
        for (pattern, schema) in self.patterns(s).filter(|_| self.asks(s, "patternProperties")) {
            for field in body.fields.iter().filter(|f| tables.is_match(pattern, &f.wire)) {
                check = check.and(self.at_field(field, place, &AtField::One(schema), depth));
            }
            check = check.and(named(&rest, &[matches(pattern)], value(schema)));
        }
        if let Some(additional) = s.additional_properties {
            let matched = |name: &str| {
                s.properties.iter().any(|(n, _)| n == name)
                    || s.pattern_properties.iter().any(|(p, _)| tables.is_match(p, name))
            };
            for field in body.fields.iter().filter(|f| !matched(&f.wire)) {
                check = check.and(self.at_field(field, place, &AtField::One(additional), depth));
            }
            let declared = s.properties.iter().map(|(n, _)| n);
            let elsewhere = declared.filter(|n| !body.fields.iter().any(|f| f.wire == **n)).map(|n| is(n));
            let known: Vec<Check> = elsewhere.chain(self.patterns(s).map(|(p, _)| matches(p))).collect();
            check = check.and(unnamed(&rest, &known, value(additional)));
        }
        if let Some(names) = s.property_names {
            for field in &body.fields {
                if !tables.is_valid(names, &Json::String(field.wire.clone())) {
                    check = check.and(present(field, place).not());
                }
            }
            let name = self.string_keywords(names, &Text::Name, &[], depth - 1);
            check = check.and(name.within(empty(&rest), |name| Test::Names(rest.clone(), name)));
        }
        check
    }

    /// A check of a field's value, wherever it is there.
    fn at_field(&self, field: &'a Field, place: &Place, what: &AtField<'_>, depth: u8) -> Check {
        if let (true, Some(constant)) = (field.omitted, &field.constant) {
            // The value is the constant itself, so every question about it is answered now.
            let valid = |id: &SchemaId| self.scope.tables.is_valid(*id, constant);
            return Check::known(match what {
                AtField::All(conj) => conj.ids.iter().all(valid),
                AtField::One(id) => valid(id),
            });
        }
        let check = |at: &At<'a>| match what {
            AtField::All(conj) => self.within_reason(
                || self.conj(conj, at, depth - 1),
                || Check::all(conj.ids.iter().map(|&id| self.by_tables(id, at))),
            ),
            AtField::One(id) => self.schema(*id, at, depth - 1),
        };
        let member = place.field(&field.name);
        if field.required {
            return check(&At::new(&field.ty, member));
        }
        let absent = Check::from(Test::There(member.clone())).not();
        check(&At::bound(&field.ty)).within(absent, |value| Test::IfThere(member, value))
    }
}

/// What undeclared members hold.
fn rest_type(body: &Struct) -> &TypeRef {
    body.additional.as_ref().unwrap_or(&TypeRef::Json)
}
