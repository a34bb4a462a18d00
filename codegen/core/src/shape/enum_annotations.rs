//! The names and descriptions of enum values from vendor extensions such as `x-enum-varnames`.

use contract_runtime::Json;

use super::build::{MAX_ENUM_VARIANTS, ShapeBuilder};
use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    names,
    schema::{SchemaGraph, SchemaId, values::VALUE_LABEL_EXTENSIONS},
    shape::TypeRef,
};

/// The name and description of an enum value, from vendor extensions.
#[derive(Default)]
pub(super) struct ValueAnnotation {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

/// A number for which vendor extensions provide a name. It becomes an associated constant.
pub(crate) struct NamedConstant<'g> {
    /// The value as it is written in the contract.
    pub(crate) value: &'g Json,
    /// The name of the Rust constant.
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

/// The lowercase names of the constants and functions that generated number types already have.
const RESERVED_NAMES: &[&str] = &["all", "min", "max", "validator"];

/// Returns the values in the `enum` of a conjunction for which vendor extensions provide names. The names are
/// distinct.
pub(crate) fn named_constants<'g>(graph: &'g SchemaGraph, facts: &SchemaFacts) -> Vec<NamedConstant<'g>> {
    constants_named(graph, facts, |_| None)
}

/// Returns the numbers in the `enum` of a conjunction that have a name. An integer for which vendor extensions provide
/// no name is named after its digits: `VALUE_1`, `VALUE_MINUS_1`. A `const`, and a list that is too long for an enum,
/// have only the names from vendor extensions.
pub(crate) fn integer_constants<'g>(graph: &'g SchemaGraph, facts: &SchemaFacts) -> Vec<NamedConstant<'g>> {
    let count = facts.allowed_literals(graph).map_or(0, |values| values.len());
    let named = constants_named(graph, facts, |value| {
        let number = value.as_number()?.as_i64()?;
        let minus = if number < 0 { "minus_" } else { "" };
        (2..=MAX_ENUM_VARIANTS).contains(&count).then(|| format!("value_{minus}{}", number.unsigned_abs()))
    });
    named.into_iter().filter(|constant| constant.value.as_number().is_some()).collect()
}

/// A variant of an integer enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IntegerVariant {
    /// The value on the wire.
    pub value: i128,
    /// The name of the Rust variant.
    pub name: String,
    /// The description, from a vendor extension.
    pub description: Option<String>,
}

/// Returns the variants of a newtype that contains `inner` if it is an integer enumeration: vendor extensions name each
/// integer that the `enum` lists. Any other list of integers becomes a newtype with constants.
#[must_use]
pub fn integer_variants(
    graph: &SchemaGraph,
    facts: &SchemaFacts,
    inner: &TypeRef,
) -> Option<Vec<IntegerVariant>> {
    let TypeRef::Int(kind) = inner else { return None };
    let mut variants: Vec<IntegerVariant> = Vec::new();
    for value in listed_literals(graph, facts).into_iter().flatten() {
        let number = kind.value_of(value.as_number()?)?;
        let annotation = annotate_value(graph, &facts.unconditional, value);
        if !variants.iter().any(|other| other.value == number) {
            let name = names::variant_name(&annotation.name?);
            variants.push(IntegerVariant { value: number, name, description: annotation.description });
        }
    }
    let wires: Vec<String> = variants.iter().map(|variant| variant.value.to_string()).collect();
    let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
    let mut distinct: Vec<String> = variants.iter().map(|variant| variant.name.clone()).collect();
    names::reserve_unknown(&mut distinct);
    names::make_distinct(&wires, &mut distinct);
    for (variant, name) in variants.iter_mut().zip(distinct) {
        variant.name = name;
    }
    (!variants.is_empty() && variants.len() <= MAX_ENUM_VARIANTS).then_some(variants)
}

/// Returns the values that a conjunction allows or, if it allows all values, those that `x-extensible-enum` lists.
fn listed_literals<'g>(graph: &'g SchemaGraph, facts: &SchemaFacts) -> Option<Vec<&'g Json>> {
    let known = || facts.unconditional.iter().find_map(|id| graph.schema(*id).listed_values());
    facts.allowed_literals(graph).or_else(|| known().map(|known| known.iter().collect()))
}

fn constants_named<'g>(
    graph: &'g SchemaGraph,
    facts: &SchemaFacts,
    default_name: impl Fn(&Json) -> Option<String>,
) -> Vec<NamedConstant<'g>> {
    let values = listed_literals(graph, facts);
    let mut wires = Vec::new();
    let mut named: Vec<NamedConstant<'g>> = Vec::new();
    for value in values.into_iter().flatten() {
        let annotation = annotate_value(graph, &facts.unconditional, value);
        let name = annotation.name.or_else(|| default_name(value));
        let Some(name) = name.filter(|_| !named.iter().any(|other| other.value == value)) else {
            continue;
        };
        let mut name = names::constant_name(&name).to_ascii_lowercase();
        if RESERVED_NAMES.contains(&name.as_str()) {
            name.push_str("_value");
        }
        wires.push(value.to_string());
        named.push(NamedConstant { value, name, description: annotation.description });
    }
    let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
    let mut distinct: Vec<String> = named.iter().map(|constant| constant.name.clone()).collect();
    names::make_distinct(&wires, &mut distinct);
    for (constant, name) in named.iter_mut().zip(distinct) {
        constant.name = name.to_ascii_uppercase();
    }
    named
}

/// Returns the name and the description of a value, each from the first schema in `members` that provides it.
fn annotate_value(graph: &SchemaGraph, members: &[SchemaId], value: &Json) -> ValueAnnotation {
    let mut annotation = ValueAnnotation::default();
    for id in members {
        let schema = graph.schema(*id);
        let label = |name: &str| schema.value_label(name, value).map(str::to_owned);
        let [names, other_names, words, other_words] = VALUE_LABEL_EXTENSIONS.map(label);
        annotation.name = annotation.name.or(names).or(other_names);
        annotation.description = annotation.description.or(words).or(other_words);
    }
    annotation
}

impl ShapeBuilder<'_> {
    /// Returns the name and description of an enum value in a conjunction.
    pub(super) fn value_annotation(&self, conj: &SchemaConjunction, wire: &str) -> ValueAnnotation {
        annotate_value(self.graph, &self.facts_of(conj).unconditional, &Json::String(wire.to_owned()))
    }

    /// Returns the known strings in `x-extensible-enum`. Other strings are also valid.
    pub(super) fn extensible_values(&self, conj: &SchemaConjunction) -> Option<Vec<String>> {
        let members = self.facts_of(conj).unconditional;
        let list = members.iter().find_map(|id| self.graph.schema(*id).known_strings())?;
        Some(list.into_iter().map(str::to_owned).collect())
    }
}
