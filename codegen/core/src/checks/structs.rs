//! Builds the checks of structs: of their fields, which are the declared properties, and of undeclared
//! properties.

use contract_runtime::Json;

use super::{
    CheckBuilder, MAX_DEPTH, TypedPlace,
    check::{
        Check::{self, Always, Never},
        StringOperand, ValuePlace, ValueTest,
    },
    containers::{matching_members, name_is, name_matches, other_members},
    counts::{count_bounds, emptiness_check, has_member, presence_check},
    is_contextual,
};
use crate::{
    conjunction::SchemaConjunction,
    schema::{Schema, SchemaId, TypeSet},
    shape::{StructBody, StructField, TypeDef, TypeRef},
};

/// The schemas that a field's check requires the value to satisfy.
enum FieldSchemas<'c> {
    /// All schemas that apply to the value of the field, as one conjunction.
    All(&'c SchemaConjunction),
    One(SchemaId),
}

/// Whether the checks of a struct's fields are already built from the conjunctions of the fields. If so, the
/// check of `properties` leaves out the schemas that these conjunctions contain.
#[derive(Clone, Copy, PartialEq)]
enum FieldChecks {
    Done,
    Pending,
}

impl<'a> CheckBuilder<'a> {
    pub(super) fn struct_definition(
        &self,
        def: &TypeDef,
        body: &'a StructBody,
        own: &TypedPlace<'a>,
    ) -> Check {
        let fields = body
            .fields
            .iter()
            .map(|field| self.field_check(field, &own.place, &FieldSchemas::All(&field.conj), MAX_DEPTH));
        let fields = Check::all(fields);
        let rest = self.facts_of(&def.conj).unconditional.into_iter().map(|m| {
            let s = self.graph_schema(m);
            let at = |id: SchemaId| self.struct_check(id, body, own, MAX_DEPTH - 1);
            self.object_keywords(s, body, own, FieldChecks::Done, MAX_DEPTH)
                .and(self.object_literals(m, s, own))
                .and(self.applicator_checks(s, self.is_decided_by_tag(&def.conj.chosen, m), &at))
        });
        fields.and(Check::all(rest))
    }

    /// Builds the check of `const` and `enum` of an object, which uses the validation tables.
    fn object_literals(&self, id: SchemaId, s: &Schema, at: &TypedPlace<'a>) -> Check {
        if s.enumeration.is_some() || s.constant.is_some() { self.table_check(id, at) } else { Always }
    }

    /// Builds a check that a struct value satisfies a schema.
    pub(super) fn struct_check(
        &self,
        id: SchemaId,
        body: &'a StructBody,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        if let Some(check) = self.own_check(&SchemaConjunction::from_schema(id), at) {
            return check;
        }
        let s = self.graph_schema(id);
        if depth == 0 || is_contextual(s) || !self.take_visit() {
            return self.table_check(id, at);
        }
        if s.boolean == Some(false) || s.types.is_some_and(|t| !t.contains(TypeSet::OBJECT)) {
            return Never;
        }
        let again = |id: SchemaId| self.struct_check(id, body, at, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| again(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_literals(id, s, at)
            .and(self.object_keywords(s, body, at, FieldChecks::Pending, depth))
            .and(parts)
            .and(self.applicator_checks(s, false, &again))
    }

    /// Builds the same check as `struct_check`, but without the `oneOf` and `anyOf` of the schema, because
    /// the type of the value already determines the branch.
    pub(super) fn struct_without_unions(
        &self,
        id: SchemaId,
        body: &'a StructBody,
        at: &TypedPlace<'a>,
        depth: u8,
    ) -> Check {
        let s = self.graph_schema(id);
        if s.types.is_some_and(|t| !t.contains(TypeSet::OBJECT)) {
            return Never;
        }
        let again = |id: SchemaId| self.struct_check(id, body, at, depth - 1);
        let parts = s.reference.iter().chain(&s.all_of).map(|&part| again(part));
        let parts = Check::all(parts.collect::<Vec<_>>());
        self.object_literals(id, s, at)
            .and(self.object_keywords(s, body, at, FieldChecks::Pending, depth))
            .and(parts)
            .and(self.applicator_checks(s, true, &again))
    }

    /// Builds the checks of the keywords that constrain properties, such as `required`, `properties` and
    /// `minProperties`.
    fn object_keywords(
        &self,
        s: &'a Schema,
        body: &'a StructBody,
        at: &TypedPlace<'a>,
        fields: FieldChecks,
        depth: u8,
    ) -> Check {
        let place = &at.place;
        let field = |name: &str| body.fields.iter().find(|f| f.wire == name);
        let has = |name: &String| has_member(body, name, place);
        let mut check = Check::all(s.required.iter().map(has));
        for (name, property) in s.properties.iter().filter(|_| self.includes_keyword(s, "properties")) {
            check = check.and(match field(name) {
                Some(f) if fields == FieldChecks::Done && f.conj.ids.contains(property) => Always,
                Some(f) => self.field_check(f, place, &FieldSchemas::One(*property), depth),
                None => {
                    let value =
                        self.schema_check(*property, &TypedPlace::bound_value(rest_type(body)), depth - 1);
                    value.wrap_in(has(name).not(), |value| {
                        ValueTest::IfContains(place.rest(), name.clone(), value)
                    })
                }
            });
        }
        check = check.and(self.undeclared_members(s, body, place, depth));
        for (name, needs) in &s.dependent_required {
            check = check.and(has(name).not().or(Check::all(needs.iter().map(has))));
        }
        for (name, schema) in &s.dependent_schemas {
            check = check.and(has(name).not().or(self.struct_check(*schema, body, at, depth - 1)));
        }
        if s.min_properties.is_some() || s.max_properties.is_some() {
            check = check.and(count_bounds(s, body, place));
        }
        check
    }

    /// Builds the checks of `patternProperties`, `additionalProperties` and `propertyNames`.
    fn undeclared_members(
        &self,
        s: &'a Schema,
        body: &'a StructBody,
        place: &ValuePlace,
        depth: u8,
    ) -> Check {
        let tables = self.scope.tables;
        let mut check = Always;
        let rest = place.rest();
        let value =
            |id: SchemaId| self.schema_check(id, &TypedPlace::bound_value(rest_type(body)), depth - 1);
        for (pattern, schema) in
            self.compiled_patterns(s).filter(|_| self.includes_keyword(s, "patternProperties"))
        {
            for field in body.fields.iter().filter(|f| tables.is_match(pattern, &f.wire)) {
                check = check.and(self.field_check(field, place, &FieldSchemas::One(schema), depth));
            }
            check = check.and(matching_members(&rest, &[name_matches(pattern)], value(schema)));
        }
        if let Some(additional) = s.additional_properties {
            let matched = |name: &str| {
                s.properties.iter().any(|(n, _)| n == name)
                    || s.pattern_properties.iter().any(|(p, _)| tables.is_match(p, name))
            };
            for field in body.fields.iter().filter(|f| !matched(&f.wire)) {
                check = check.and(self.field_check(field, place, &FieldSchemas::One(additional), depth));
            }
            let declared = s.properties.iter().map(|(n, _)| n);
            let elsewhere =
                declared.filter(|n| !body.fields.iter().any(|f| f.wire == **n)).map(|n| name_is(n));
            let known: Vec<Check> =
                elsewhere.chain(self.compiled_patterns(s).map(|(p, _)| name_matches(p))).collect();
            check = check.and(other_members(&rest, &known, value(additional)));
        }
        if let Some(names) = s.property_names {
            for field in &body.fields {
                if !tables.is_valid(names, &Json::String(field.wire.clone())) {
                    check = check.and(presence_check(field, place).not());
                }
            }
            let name = self.string_keywords(names, &StringOperand::Name, &[], depth - 1);
            check =
                check.and(name.wrap_in(emptiness_check(&rest), |name| ValueTest::Names(rest.clone(), name)));
        }
        check
    }

    /// Builds the check of a field's value; an absent optional field satisfies the check.
    fn field_check(
        &self,
        field: &'a StructField,
        place: &ValuePlace,
        what: &FieldSchemas<'_>,
        depth: u8,
    ) -> Check {
        if let (true, Some(constant)) = (field.omitted, &field.constant) {
            // An omitted field always has the value of its constant, so the result is known while the code is
            // generated.
            let valid = |id: &SchemaId| self.scope.tables.is_valid(*id, constant);
            return Check::from_bool(match what {
                FieldSchemas::All(conj) => conj.ids.iter().all(valid),
                FieldSchemas::One(id) => valid(id),
            });
        }
        let check = |at: &TypedPlace<'a>| match what {
            FieldSchemas::All(conj) => self.bounded_check(
                || self.conjunction_check(conj, at, depth - 1),
                || Check::all(conj.ids.iter().map(|&id| self.table_check(id, at))),
            ),
            FieldSchemas::One(id) => self.schema_check(*id, at, depth - 1),
        };
        let member = place.field(&field.name);
        if field.required {
            return check(&TypedPlace::new(&field.ty, member));
        }
        let absent = Check::from(ValueTest::IsPresent(member.clone())).not();
        check(&TypedPlace::bound_value(&field.ty))
            .wrap_in(absent, |value| ValueTest::IfPresent(member, value))
    }
}

/// Returns the Rust type in which a struct stores the values of undeclared properties.
fn rest_type(body: &StructBody) -> &TypeRef {
    body.additional.as_ref().unwrap_or(&TypeRef::Json)
}
