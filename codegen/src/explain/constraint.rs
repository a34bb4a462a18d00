//! Every constraint of a place, and what enforces it: the type, its check, or the tables.
//!
//! What enforces a constraint is asked of the code that writes the checks; which engine drops
//! what comes from trying them (typify 0.8, progenitor 0.15 on OpenAPI 3.0.3).

use contract_runtime::{Json, Number};

pub use crate::emit::enforced::How;
use crate::{
    emit::enforced::Enforcement,
    generate::Contract,
    schema::{Schema, SchemaId, Types},
    shape::{Field, TypeRef},
    together::{Conj, Facts},
};

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

/// Lists the constraints of a contract's places.
#[derive(Debug)]
pub struct Constraints<'a> {
    contract: &'a Contract,
    enforcement: Enforcement<'a>,
}

impl<'a> Constraints<'a> {
    /// Prepares to list.
    #[must_use]
    pub fn new(contract: &'a Contract) -> Self {
        let Contract { graph, shapes, tables, options, .. } = contract;
        Self { contract, enforcement: Enforcement::new(graph, shapes, tables, options.implied_objects) }
    }

    /// Every constraint at a place of the given type.
    ///
    /// `covered` are schemas whose constraints are listed elsewhere, since a named type has them.
    #[must_use]
    pub fn at(&self, conj: &Conj, ty: &TypeRef, covered: &[SchemaId]) -> Vec<Constraint> {
        let facts = Facts::of(&self.contract.graph, conj, self.contract.options.implied_objects);
        let mut out = Vec::new();
        for &id in facts.members.iter().filter(|id| !covered.contains(id)) {
            let schema = self.contract.graph.schema(id);
            let mut say = |keyword: &'static str, value: String| {
                let how = self.enforcement.how((conj, ty), id, keyword, &only(schema, keyword));
                out.push(Constraint { keyword, value: clip(&value), how, schema: id });
            };
            values(schema, &mut say);
            // The members of a struct are listed one by one.
            if !schema.properties.is_empty() && !self.enforcement.is_struct(ty) {
                let names: Vec<&str> = schema.properties.iter().map(|(name, _)| name.as_str()).collect();
                say("properties", names.join(", "));
            }
            structure(schema, &mut say);
        }
        out
    }

    /// The same for a member of a struct: a constant without a field is what the type stands for.
    #[must_use]
    pub fn of_member(&self, field: &Field, covered: &[SchemaId]) -> Vec<Constraint> {
        let mut all = self.at(&field.conj, &field.ty, covered);
        if field.omitted {
            all.iter_mut().for_each(|each| each.how = How::Type);
        }
        all
    }
}

/// A schema with one of its keywords, and those that this one needs to be understood.
pub(crate) fn only(s: &Schema, keyword: &str) -> Schema {
    let mut part = Schema {
        place: s.place.clone(),
        resource: s.resource,
        location: s.location.clone(),
        ..Schema::default()
    };
    match keyword {
        "false" => part.boolean = s.boolean,
        "type" => part.types = s.types,
        "enum" => part.enumeration.clone_from(&s.enumeration),
        "const" => part.constant.clone_from(&s.constant),
        "minimum" => part.minimum.clone_from(&s.minimum),
        "maximum" => part.maximum.clone_from(&s.maximum),
        "exclusiveMinimum" => part.exclusive_minimum.clone_from(&s.exclusive_minimum),
        "exclusiveMaximum" => part.exclusive_maximum.clone_from(&s.exclusive_maximum),
        "multipleOf" => part.multiple_of.clone_from(&s.multiple_of),
        "minLength" => part.min_length = s.min_length,
        "maxLength" => part.max_length = s.max_length,
        "pattern" => part.pattern.clone_from(&s.pattern),
        "minItems" => part.min_items = s.min_items,
        "maxItems" => part.max_items = s.max_items,
        "uniqueItems" => part.unique_items = s.unique_items,
        "contains" => part.contains.clone_from(&s.contains),
        "prefixItems" => part.prefix_items.clone_from(&s.prefix_items),
        "items" => {
            part.prefix_items.clone_from(&s.prefix_items);
            part.items = s.items;
        }
        "unevaluatedItems" => part.unevaluated_items = s.unevaluated_items,
        "properties" => part.properties.clone_from(&s.properties),
        "patternProperties" => part.pattern_properties.clone_from(&s.pattern_properties),
        "additionalProperties" => {
            part.properties.clone_from(&s.properties);
            part.pattern_properties.clone_from(&s.pattern_properties);
            part.additional_properties = s.additional_properties;
        }
        "unevaluatedProperties" => part.unevaluated_properties = s.unevaluated_properties,
        "propertyNames" => part.property_names = s.property_names,
        "required" => part.required.clone_from(&s.required),
        "minProperties" => part.min_properties = s.min_properties,
        "maxProperties" => part.max_properties = s.max_properties,
        "dependentRequired" => part.dependent_required.clone_from(&s.dependent_required),
        "dependentSchemas" => part.dependent_schemas.clone_from(&s.dependent_schemas),
        "anyOf" => part.any_of.clone_from(&s.any_of),
        "oneOf" => part.one_of.clone_from(&s.one_of),
        "not" => part.not = s.not,
        "if" => (part.condition, part.then, part.otherwise) = (s.condition, s.then, s.otherwise),
        "$dynamicRef" => part.dynamic_reference.clone_from(&s.dynamic_reference),
        _ => return s.clone(),
    }
    part
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
    if s.items.is_some() {
        say("items", "elements".to_owned());
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
