//! Every constraint of a place, and what enforces it: the type, its check, or the tables.
//!
//! The rules here retell those of `emit::checks` and `shape`; which engine drops what comes
//! from trying them (typify 0.8, progenitor 0.15 on OpenAPI 3.0.3).

use contract_runtime::{Json, Number};

use crate::{
    generate::Contract,
    schema::{Schema, SchemaId, Types},
    shape::{Body, Conj, Facts, Field, TypeRef},
};

/// What enforces a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// Reading fails without it, and nothing else can be built.
    Type,
    /// `is_valid` compares fields.
    Check,
    /// `is_valid` asks the tables of the schemas.
    Tables,
    /// Nothing: the owner's own type does.
    Owner,
}

impl How {
    /// In words: `by the type`.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Type => "by the type",
            Self::Check => "by `is_valid`",
            Self::Tables => "by `is_valid` through the tables",
            Self::Owner => "by the type that replaces it",
        }
    }
}

/// One keyword of one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Constraint {
    /// The keyword.
    pub keyword: &'static str,
    /// Its value, as short as a line allows.
    pub value: String,
    /// What enforces it.
    pub how: How,
    /// The schema that says it.
    pub schema: SchemaId,
}

impl Constraint {
    /// The engines that do not carry the keyword.
    #[must_use]
    pub fn dropped_by(&self) -> &'static [&'static str] {
        dropped_by(self.keyword, &self.value)
    }
}

/// The engines that do not carry a keyword: typify's types, progenitor's OpenAPI 3.0.3.
#[must_use]
pub fn dropped_by(keyword: &str, value: &str) -> &'static [&'static str] {
    match keyword {
        // Patterns run without the flag `u` there.
        "pattern" if value.contains("\\p") || value.contains("\\P") => &["progenitor", "typify"],
        "type"
        | "required"
        | "enum"
        | "minLength"
        | "maxLength"
        | "pattern"
        | "oneOf"
        | "anyOf"
        | "additionalProperties" => &[],
        "const" => &["progenitor"],
        _ => &["progenitor", "typify"],
    }
}

/// Every constraint at a place of the given type, conditions included.
///
/// `covered` are schemas whose constraints are listed elsewhere, since a named type has them.
#[must_use]
pub fn constraints(contract: &Contract, conj: &Conj, ty: &TypeRef, covered: &[SchemaId]) -> Vec<Constraint> {
    let facts = Facts::of(&contract.graph, conj, contract.options.implied_objects);
    let mut out = Vec::new();
    let contextual = facts.members.iter().any(|&id| is_contextual(contract.graph.schema(id)));
    for &id in facts.members.iter().filter(|id| !covered.contains(id)) {
        let schema = contract.graph.schema(id);
        let place = At { contract, ty, contextual };
        let mut say = |keyword: &'static str, value: String| {
            let how = place.how(keyword, schema);
            out.push(Constraint { keyword, value: clip(&value), how, schema: id });
        };
        values(schema, &mut say);
        structure(schema, &mut say);
    }
    out
}

/// The same for a member of a struct: a constant without a field is what the type stands for.
#[must_use]
pub fn member_constraints(contract: &Contract, field: &Field, covered: &[SchemaId]) -> Vec<Constraint> {
    let mut all = constraints(contract, &field.conj, &field.ty, covered);
    if field.omitted {
        all.iter_mut().for_each(|each| each.how = How::Type);
    }
    all
}

fn is_contextual(s: &Schema) -> bool {
    s.dynamic_reference.is_some() || s.unevaluated_items.is_some() || s.unevaluated_properties.is_some()
}

/// Keywords whose value is the constraint.
fn values(s: &Schema, say: &mut dyn FnMut(&'static str, String)) {
    if s.boolean == Some(false) {
        say("false", "no value is valid".to_owned());
    }
    if let Some(types) = s.types {
        say("type", type_words(types));
    }
    if let Some(list) = &s.enumeration {
        say("enum", list.iter().map(Json::to_string).collect::<Vec<_>>().join(", "));
    }
    if let Some(value) = &s.constant {
        say("const", value.to_string());
    }
    let numbers: [(&'static str, &Option<Number>); 5] = [
        ("minimum", &s.minimum),
        ("maximum", &s.maximum),
        ("exclusiveMinimum", &s.exclusive_minimum),
        ("exclusiveMaximum", &s.exclusive_maximum),
        ("multipleOf", &s.multiple_of),
    ];
    for (keyword, number) in numbers {
        number.iter().for_each(|number| say(keyword, number.to_string()));
    }
    let counts = [
        ("minLength", s.min_length),
        ("maxLength", s.max_length),
        ("minItems", s.min_items),
        ("maxItems", s.max_items),
        ("minProperties", s.min_properties),
        ("maxProperties", s.max_properties),
    ];
    for (keyword, count) in counts {
        count.iter().for_each(|count| say(keyword, count.to_string()));
    }
    if let Some(pattern) = &s.pattern {
        say("pattern", pattern.clone());
    }
    if s.unique_items {
        say("uniqueItems", "true".to_owned());
    }
}

/// Keywords that apply other schemas or speak about members.
fn structure(s: &Schema, say: &mut dyn FnMut(&'static str, String)) {
    let count = |n: usize| format!("{n} branch{}", if n == 1 { "" } else { "es" });
    if !s.required.is_empty() {
        say("required", s.required.join(", "));
    }
    for (name, needs) in &s.dependent_required {
        say("dependentRequired", format!("{name} needs {}", needs.join(", ")));
    }
    for (name, _) in &s.dependent_schemas {
        say("dependentSchemas", format!("when {name} is there"));
    }
    for (pattern, _) in &s.pattern_properties {
        say("patternProperties", pattern.clone());
    }
    if s.property_names.is_some() {
        say("propertyNames", "names of members".to_owned());
    }
    if s.additional_properties.is_some() {
        say("additionalProperties", "undeclared members".to_owned());
    }
    if let Some(contains) = &s.contains {
        let least = contains.min.unwrap_or(1);
        say(
            "contains",
            contains.max.map_or(format!("at least {least}"), |most| format!("{least} to {most}")),
        );
    }
    if !s.prefix_items.is_empty() {
        say("prefixItems", format!("{} positions", s.prefix_items.len()));
    }
    if !s.any_of.is_empty() {
        say("anyOf", count(s.any_of.len()));
    }
    if !s.one_of.is_empty() {
        say("oneOf", count(s.one_of.len()));
    }
    if s.not.is_some() {
        say("not", "what is excluded".to_owned());
    }
    if s.condition.is_some() && (s.then.is_some() || s.otherwise.is_some()) {
        let parts = [("then", s.then.is_some()), ("else", s.otherwise.is_some())];
        say(
            "if",
            parts.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        );
    }
    if s.unevaluated_items.is_some() {
        say("unevaluatedItems", "what no other keyword looked at".to_owned());
    }
    if s.unevaluated_properties.is_some() {
        say("unevaluatedProperties", "what no other keyword looked at".to_owned());
    }
    if s.dynamic_reference.is_some() {
        say("$dynamicRef", "depends on where it is reached from".to_owned());
    }
}

/// A place whose type is known.
struct At<'a> {
    contract: &'a Contract,
    ty: &'a TypeRef,
    contextual: bool,
}

impl At<'_> {
    fn how(&self, keyword: &str, schema: &Schema) -> How {
        let body = self.body();
        match (self.inner(), body) {
            (TypeRef::Replaced(..), _) => return How::Owner,
            (TypeRef::Json, _) => return How::Tables,
            _ => {}
        }
        let records = matches!(body, Some(Body::Struct(_)));
        match keyword {
            "type" => match (self.inner(), schema.types) {
                // `Number` holds fractions, an exact whole number has to be checked.
                (TypeRef::Number, Some(types)) if !types.contains(Types::NUMBER) => How::Check,
                _ => How::Type,
            },
            "required" if records || matches!(body, Some(Body::Tagged(_))) => How::Type,
            "enum" | "const" => match (self.inner(), body) {
                (_, Some(Body::Enum(list))) if !list.open => How::Type,
                (_, Some(Body::Struct(_) | Body::Tagged(_))) => How::Tables,
                (TypeRef::Vec(_) | TypeRef::Map(_) | TypeRef::Tuple(_), _) => How::Tables,
                _ => How::Check,
            },
            "minItems" | "maxItems" | "prefixItems" if matches!(self.inner(), TypeRef::Tuple(_)) => How::Type,
            "oneOf" | "anyOf" => match body {
                Some(Body::Tagged(tagged)) if !tagged.open => How::Type,
                Some(Body::ByKind(_)) => How::Type,
                Some(Body::Enum(_)) => How::Type,
                _ => How::Check,
            },
            "contains"
            | "prefixItems"
            | "$dynamicRef"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "false" => How::Tables,
            "dependentSchemas" if !records => How::Tables,
            _ if self.contextual => How::Tables,
            _ => How::Check,
        }
    }

    /// The type behind pointers, `null` and the names of newtypes.
    fn inner(&self) -> &TypeRef {
        let mut ty = self.ty;
        // A newtype around itself is a pending body, so this ends.
        for _ in 0..32 {
            ty = match ty {
                TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => inner,
                TypeRef::Named(id) => match &self.contract.shapes.get(*id).body {
                    Body::Newtype(inner) => inner,
                    _ => return ty,
                },
                _ => return ty,
            };
        }
        ty
    }

    fn body(&self) -> Option<&Body> {
        match self.inner() {
            TypeRef::Named(id) => Some(&self.contract.shapes.get(*id).body),
            _ => None,
        }
    }
}

/// `string or null`
pub(super) fn type_words(types: Types) -> String {
    let all = [
        (Types::NULL, "null"),
        (Types::BOOLEAN, "boolean"),
        (Types::NUMBER, "number"),
        (Types::INTEGER, "integer"),
        (Types::STRING, "string"),
        (Types::ARRAY, "array"),
        (Types::OBJECT, "object"),
    ];
    let mut left = types;
    let mut names = Vec::new();
    for (kind, name) in all {
        if left.contains(kind) {
            names.push(name);
            left = left.without(kind);
        }
    }
    names.join(" or ")
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 72;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
