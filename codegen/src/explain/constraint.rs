//! Every constraint of a place, and what enforces it: the type, its check, or the tables.
//!
//! What enforces a constraint is asked of the code that writes the checks; which engine drops
//! what comes from trying them (typify 0.8, progenitor 0.15 on OpenAPI 3.0.3).

use contract_runtime::{Json, Number};

pub use crate::emit::enforced::How;
use crate::{
    emit::enforced::Enforcement,
    generate::Contract,
    schema::{Schema, SchemaId, Types, keywords::Keyword},
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
    match Keyword::find(keyword) {
        Some(keyword) => s.with(|each| each == keyword || keyword.depends_on().contains(&each)),
        // The schema `false`, which has no keyword.
        None => Schema { boolean: s.boolean, ..s.with(|_| false) },
    }
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

/// `null or string`
pub(super) fn type_words(types: Types) -> String {
    types.names().join(" or ")
}

fn clip(text: &str) -> String {
    const LONGEST: usize = 72;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
