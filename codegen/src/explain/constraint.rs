//! Lists the constraints that apply at a location, each with the mechanism that enforces it: the Rust type,
//! its generated check, or the validation tables.
//!
//! [`Enforcement`], which also generates the checks, decides the mechanism.

use contract_runtime::Json;

pub use crate::checks::enforcement::EnforcedBy;
use crate::{
    analyzed_contract::AnalyzedContract,
    checks::enforcement::Enforcement,
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{
        Schema, SchemaId, TypeSet,
        keywords::{Keyword, KeywordValue},
    },
    shape::{StructField, TypeRef},
    tables::TableSet,
};

/// One keyword of one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaConstraint {
    /// The keyword, such as `maxLength`.
    pub keyword: &'static str,
    /// Its value as text, truncated to one line.
    pub value: String,
    /// The mechanism that enforces it.
    pub enforcement: EnforcedBy,
    /// The schema that contains the keyword.
    pub schema: SchemaId,
}

/// Lists the constraints at locations of a contract.
#[derive(Debug)]
pub struct ConstraintLister<'a> {
    contract: &'a AnalyzedContract,
    tables: &'a TableSet<'a>,
    enforcement: Enforcement<'a>,
}

impl<'a> ConstraintLister<'a> {
    /// Creates a lister; `tables` must be those of the contract.
    #[must_use]
    pub fn new(contract: &'a AnalyzedContract, tables: &'a TableSet<'a>) -> Self {
        let AnalyzedContract { graph, shapes, options, .. } = contract;
        let enforcement = Enforcement::new(graph, shapes, tables, options.implied_objects);
        Self { contract, tables, enforcement }
    }

    /// Lists every constraint at a location of the given type.
    ///
    /// `covered` are schemas to skip, because the constraints of a named type include theirs.
    #[must_use]
    pub fn constraints_at(
        &self,
        conj: &SchemaConjunction,
        ty: &TypeRef,
        covered: &[SchemaId],
    ) -> Vec<SchemaConstraint> {
        let facts =
            SchemaFacts::from_conjunction(&self.contract.graph, conj, self.contract.options.implied_objects);
        let mut out = Vec::new();
        for &id in facts.unconditional.iter().filter(|id| !covered.contains(id)) {
            let schema = self.contract.graph.schema(id);
            let mut visit = |keyword: &'static str, value: String| {
                let how = self.enforcement.enforced_by(
                    (conj, ty),
                    id,
                    keyword,
                    &schema_with_keyword(schema, keyword),
                );
                out.push(SchemaConstraint {
                    keyword,
                    value: truncate_value(&value),
                    enforcement: how,
                    schema: id,
                });
            };
            // Struct fields are listed separately.
            let of_struct = self.enforcement.is_struct(ty);
            for_each_keyword(schema, &mut |keyword, value| {
                if !(of_struct && keyword == Keyword::Properties.name()) {
                    visit(keyword, value);
                }
            });
            // The type of a mapped format keeps any string, so that the check enforces the format.
            let mapped =
                self.contract.options.formats.for_schema(schema).filter(|_| schema.asserted.is_none());
            if let Some(mapped) = mapped {
                let value = mapped.format.clone();
                out.push(SchemaConstraint {
                    keyword: "format",
                    value,
                    enforcement: EnforcedBy::Check,
                    schema: id,
                });
            }
        }
        out
    }

    /// Lists the constraints of a struct field; for a constant that has no field, the type enforces those
    /// that it fulfills.
    #[must_use]
    pub fn field_constraints(&self, field: &StructField, covered: &[SchemaId]) -> Vec<SchemaConstraint> {
        let mut all = self.constraints_at(&field.conj, &field.ty, covered);
        if let Some(constant) = field.constant.as_ref().filter(|_| field.omitted) {
            // If the constant violates a rule, no value is valid and `is_valid` reports this.
            for each in &mut all {
                let holds = self.tables.is_valid(each.schema, constant);
                each.enforcement = if holds { EnforcedBy::Type } else { EnforcedBy::Check };
            }
        }
        all
    }
}

/// Returns a schema with only the given keyword and the keywords that it depends on.
pub(crate) fn schema_with_keyword(s: &Schema, keyword: &str) -> Schema {
    match Keyword::find(keyword) {
        // Compare names: an asserted `format` is a keyword of its own with the same name.
        Some(keyword) => {
            s.with_keywords(|each| each.name() == keyword.name() || keyword.depends_on().contains(&each))
        }
        // The schema `false` has no keyword.
        None => Schema { boolean: s.boolean, ..s.with_keywords(|_| false) },
    }
}

/// Returns the value of a keyword as text for an error message; `None` if the schema lacks the keyword or its
/// value has no short form.
#[cfg(feature = "mock")]
pub(crate) fn describe_keyword(schema: &Schema, keyword: &str) -> Option<String> {
    let mut found: Vec<String> = Vec::new();
    for_each_keyword(schema, &mut |name, value| {
        if name == keyword {
            found.push(value);
        }
    });
    (!found.is_empty()).then(|| truncate_value(&found.join(", ")))
}

/// Calls `visit` with each keyword of a schema and its value as text. The targets of `$ref` and `allOf` are
/// listed as schemas of their own.
fn for_each_keyword(s: &Schema, visit: &mut dyn FnMut(&'static str, String)) {
    if s.boolean == Some(false) {
        visit("false", "no value is valid".to_owned());
    }
    let count = |n: usize| format!("{n} branch{}", if n == 1 { "" } else { "es" });
    for (keyword, value) in s.keywords().filter(|(keyword, _)| keyword.role().can_reject()) {
        let words = match value {
            KeywordValue::Types(types) => join_type_names(types),
            KeywordValue::Values(list) => list.iter().map(Json::to_string).collect::<Vec<_>>().join(", "),
            KeywordValue::Json(value) => value.to_string(),
            KeywordValue::Number(number) => number.to_string(),
            KeywordValue::Count(count) => count.to_string(),
            KeywordValue::Text(text) => text.to_owned(),
            KeywordValue::Flag => "true".to_owned(),
            KeywordValue::Names(names) => names.join(", "),
            KeywordValue::Needs(needs) => {
                for (name, needs) in needs {
                    visit(keyword.name(), format!("{name} needs {}", needs.join(", ")));
                }
                continue;
            }
            KeywordValue::Map(named) => {
                match keyword {
                    Keyword::DependentSchemas => {
                        named
                            .iter()
                            .for_each(|(name, _)| visit(keyword.name(), format!("when {name} is present")));
                    }
                    Keyword::PatternProperties => {
                        named.iter().for_each(|(pattern, _)| visit(keyword.name(), pattern.clone()));
                    }
                    _ => {
                        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
                        visit(keyword.name(), names.join(", "));
                    }
                }
                continue;
            }
            KeywordValue::Contains(contains) => {
                let least = contains.min.unwrap_or(1);
                contains.max.map_or(format!("at least {least}"), |most| format!("{least} to {most}"))
            }
            KeywordValue::List(_) if keyword == Keyword::AllOf => continue,
            KeywordValue::List(ids) if keyword == Keyword::PrefixItems => format!("{} positions", ids.len()),
            KeywordValue::List(ids) => count(ids.len()),
            KeywordValue::Dynamic(_) => "depends on the context".to_owned(),
            KeywordValue::Schema(_) => match keyword {
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
                Keyword::PropertyNames => "property names".to_owned(),
                Keyword::AdditionalProperties => "undeclared properties".to_owned(),
                Keyword::Items => "elements".to_owned(),
                Keyword::Not => "the excluded schema".to_owned(),
                _ => "values that no other keyword evaluated".to_owned(),
            },
        };
        visit(keyword.name(), words);
    }
}

/// Formats `null or string`.
pub(super) fn join_type_names(types: TypeSet) -> String {
    types.type_names().join(" or ")
}

/// Truncates a value to one line.
pub(super) fn truncate_value(text: &str) -> String {
    const MAX_CHARS: usize = 72;
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}
