//! Every constraint of a place, and what enforces it: the type, its check, or the tables.
//!
//! What enforces a constraint is asked of the code that writes the checks.

use contract_runtime::Json;

pub use crate::checks::enforced::How;
use crate::{
    checks::enforced::Enforcement,
    reading::Reading,
    schema::{
        Schema, SchemaId, Types,
        keywords::{Keyword, Value},
    },
    shape::{Field, TypeRef},
    tables::TableSet,
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

/// Lists the constraints of a contract's places.
#[derive(Debug)]
pub struct Constraints<'a> {
    contract: &'a Reading,
    tables: &'a TableSet<'a>,
    enforcement: Enforcement<'a>,
}

impl<'a> Constraints<'a> {
    /// Prepares to list; `tables` are the contract's.
    #[must_use]
    pub fn new(contract: &'a Reading, tables: &'a TableSet<'a>) -> Self {
        let Reading { graph, shapes, options, .. } = contract;
        let enforcement = Enforcement::new(graph, shapes, tables, options.implied_objects);
        Self { contract, tables, enforcement }
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
            // The members of a struct are listed one by one.
            let of_struct = self.enforcement.is_struct(ty);
            each(schema, &mut |keyword, value| {
                if !(of_struct && keyword == Keyword::Properties.name()) {
                    say(keyword, value);
                }
            });
            // Of a format with a type of its own the type keeps every text; the check asks for it.
            let mapped = self.contract.options.formats.of(schema).filter(|_| schema.asserted.is_none());
            if let Some(mapped) = mapped {
                let value = mapped.format.clone();
                out.push(Constraint { keyword: "format", value, how: How::Check, schema: id });
            }
        }
        out
    }

    /// The same for a member of a struct: a constant without a field is what the type stands for.
    #[must_use]
    pub fn of_member(&self, field: &Field, covered: &[SchemaId]) -> Vec<Constraint> {
        let mut all = self.at(&field.conj, &field.ty, covered);
        if let Some(constant) = field.constant.as_ref().filter(|_| field.omitted) {
            // A rule that the constant breaks leaves nothing valid, which `is_valid` says.
            for each in &mut all {
                let holds = self.tables.is_valid(each.schema, constant);
                each.how = if holds { How::Type } else { How::Check };
            }
        }
        all
    }
}

/// A schema with one of its keywords, and those that this one needs to be understood.
pub(crate) fn only(s: &Schema, keyword: &str) -> Schema {
    match Keyword::find(keyword) {
        // By name: a `format` that is asserted is two words.
        Some(keyword) => s.with(|each| each.name() == keyword.name() || keyword.depends_on().contains(&each)),
        // The schema `false`, which has no keyword.
        None => Schema { boolean: s.boolean, ..s.with(|_| false) },
    }
}

/// What a schema says by one of its keywords, for who refuses by it; `None` where it does not, or nothing that fits in words.
#[cfg(feature = "mock")]
pub(crate) fn said(schema: &Schema, keyword: &str) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    each(schema, &mut |name, value| {
        if name == keyword {
            found.push(value);
        }
    });
    (!found.is_empty()).then(|| clip(&found.join(", ")))
}

/// Everything that a schema says by itself: what `$ref` and `allOf` lead to is listed as its own.
fn each(s: &Schema, say: &mut dyn FnMut(&'static str, String)) {
    if s.boolean == Some(false) {
        say("false", "no value is valid".to_owned());
    }
    let count = |n: usize| format!("{n} branch{}", if n == 1 { "" } else { "es" });
    for (keyword, value) in s.keywords().filter(|(keyword, _)| keyword.role().decides()) {
        let words = match value {
            Value::Types(types) => type_words(types),
            Value::Values(list) => list.iter().map(Json::to_string).collect::<Vec<_>>().join(", "),
            Value::Json(value) => value.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Count(count) => count.to_string(),
            Value::Text(text) => text.to_owned(),
            Value::Flag => "true".to_owned(),
            Value::Names(names) => names.join(", "),
            Value::Needs(needs) => {
                for (name, needs) in needs {
                    say(keyword.name(), format!("{name} needs {}", needs.join(", ")));
                }
                continue;
            }
            Value::Map(named) => {
                match keyword {
                    Keyword::DependentSchemas => {
                        named
                            .iter()
                            .for_each(|(name, _)| say(keyword.name(), format!("when {name} is there")));
                    }
                    Keyword::PatternProperties => {
                        named.iter().for_each(|(pattern, _)| say(keyword.name(), pattern.clone()));
                    }
                    _ => {
                        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
                        say(keyword.name(), names.join(", "));
                    }
                }
                continue;
            }
            Value::Contains(contains) => {
                let least = contains.min.unwrap_or(1);
                contains.max.map_or(format!("at least {least}"), |most| format!("{least} to {most}"))
            }
            Value::List(_) if keyword == Keyword::AllOf => continue,
            Value::List(ids) if keyword == Keyword::PrefixItems => format!("{} positions", ids.len()),
            Value::List(ids) => count(ids.len()),
            Value::Dynamic(_) => "depends on where it is reached from".to_owned(),
            Value::Schema(_) => match keyword {
                Keyword::Ref | Keyword::Then | Keyword::Else => continue,
                Keyword::If => {
                    let parts = [("then", s.then.is_some()), ("else", s.otherwise.is_some())];
                    let there: Vec<&str> =
                        parts.iter().filter(|(_, there)| *there).map(|(name, _)| *name).collect();
                    if there.is_empty() {
                        continue;
                    }
                    there.join(", ")
                }
                Keyword::PropertyNames => "names of members".to_owned(),
                Keyword::AdditionalProperties => "undeclared members".to_owned(),
                Keyword::Items => "elements".to_owned(),
                Keyword::Not => "what is excluded".to_owned(),
                _ => "what no other keyword looked at".to_owned(),
            },
        };
        say(keyword.name(), words);
    }
}

/// `null or string`
pub(super) fn type_words(types: Types) -> String {
    types.names().join(" or ")
}

/// A value as short as a line allows.
pub(super) fn clip(text: &str) -> String {
    const LONGEST: usize = 72;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
