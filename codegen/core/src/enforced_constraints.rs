//! Lists the constraints that apply at a location, each with the mechanism that enforces it: the Rust type,
//! its generated check, or the validation tables.
//!
//! [`Enforcement`] selects the mechanism; it also generates the checks.

use std::collections::BTreeSet;

use contract_runtime::{Json, media_type::MediaType, operation::ItemFraming};

pub use crate::checks::enforcement::EnforcedBy;
use crate::{
    analyzed_contract::AnalyzedContract,
    api::{self, Operation},
    checks::enforcement::Enforcement,
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{
        Schema, SchemaId, TypeSet,
        keywords::{Keyword, KeywordValue},
    },
    shape::{StructField, TypeBody, TypeRef},
    tables::{TableArenas, TableSet},
};

/// A constraint: one keyword of one schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaConstraint {
    /// The keyword, such as `maxLength`.
    pub keyword: &'static str,
    /// The value of the keyword as text, truncated to one line.
    pub value: String,
    /// The mechanism that enforces the constraint.
    pub enforcement: EnforcedBy,
    /// The schema that contains the keyword.
    pub schema: SchemaId,
}

/// A lister of the constraints at locations of a contract.
#[derive(Debug)]
pub struct ConstraintLister<'a> {
    contract: &'a AnalyzedContract,
    tables: &'a TableSet<'a>,
    enforcement: Enforcement<'a>,
}

impl<'a> ConstraintLister<'a> {
    /// Creates a lister. `tables` must be the validation tables of the same contract.
    #[must_use]
    pub fn new(contract: &'a AnalyzedContract, tables: &'a TableSet<'a>) -> Self {
        let AnalyzedContract { graph, shapes, options, .. } = contract;
        let enforcement = Enforcement::new(graph, shapes, tables, options.implied_objects);
        Self { contract, tables, enforcement }
    }

    /// Lists every constraint for a value of the given type.
    ///
    /// Schemas in `covered` are skipped, because a named type already lists their constraints.
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
            // The type of a mapped format accepts any string, so the check enforces the format.
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

    /// Lists the constraints of a property of a struct. If the property is a constant without a Rust field,
    /// the type enforces the constraints that the constant satisfies.
    #[must_use]
    pub fn field_constraints(&self, field: &StructField, covered: &[SchemaId]) -> Vec<SchemaConstraint> {
        let mut all = self.constraints_at(&field.conj, &field.ty, covered);
        if let Some(constant) = field.constant.as_ref().filter(|_| field.omitted) {
            // If the constant violates a constraint, no value is valid and `is_valid` returns false.
            for each in &mut all {
                let holds = self.tables.is_valid(each.schema, constant);
                each.enforcement = if holds { EnforcedBy::Type } else { EnforcedBy::Check };
            }
        }
        all
    }
}

/// Returns a schema with only the given keyword and the keywords that it depends on.
pub fn schema_with_keyword(s: &Schema, keyword: &str) -> Schema {
    match Keyword::find(keyword) {
        // The names are compared, because an asserted `format` is a separate keyword with the same name.
        Some(keyword) => {
            s.with_keywords(|each| each.name() == keyword.name() || keyword.depends_on().contains(&each))
        }
        // The schema `false` has no keywords.
        None => Schema { boolean: s.boolean, ..s.with_keywords(|_| false) },
    }
}

/// Calls `visit` with each keyword of a schema and its value as text. The targets of `$ref` and `allOf` are
/// listed as schemas of their own.
fn for_each_keyword(s: &Schema, visit: &mut dyn FnMut(&'static str, String)) {
    if s.boolean == Some(false) {
        visit("false", "no value is valid".to_owned());
    }
    let count = |n: usize| format!("{n} branch{}", if n == 1 { "" } else { "es" });
    for (keyword, value) in s.keywords().filter(|(keyword, _)| keyword.role().can_reject()) {
        let value_text = match value {
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
        visit(keyword.name(), value_text);
    }
}

/// Formats type names as `null or string`.
pub fn join_type_names(types: TypeSet) -> String {
    types.type_names().join(" or ")
}

/// Truncates a value to one line.
pub fn truncate_value(text: &str) -> String {
    const MAX_CHARS: usize = 72;
    if text.chars().count() <= MAX_CHARS {
        return text.to_owned();
    }
    text.chars().take(MAX_CHARS - 1).chain(['…']).collect()
}

/// Lists every constraint of the contract with the mechanism that enforces it.
///
/// A constraint of a schema that is used in several locations is listed once.
#[must_use]
pub fn collect_constraints(contract: &AnalyzedContract) -> Vec<SchemaConstraint> {
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let constraints = ConstraintLister::new(contract, &tables);
    let mut all = Vec::new();
    for id in contract.shapes.ids() {
        let def = contract.shapes.get(id);
        all.extend(constraints.constraints_at(&def.conj, &TypeRef::Named(id), &[]));
        if let TypeBody::Struct(body) = &def.body {
            all.extend(body.fields.iter().flat_map(|field| constraints.field_constraints(field, &[])));
        }
    }
    let operations = || contract.api.operations.iter().chain(&contract.api.webhooks);
    let at = |id: SchemaId| {
        constraints.constraints_at(
            &SchemaConjunction::from_schema(id),
            contract.shapes.type_of_schema(id),
            &[],
        )
    };
    all.extend(operations().flat_map(validated_schemas).flat_map(at));
    // Text and byte bodies are strings by definition, so `type: string` need not be enforced.
    let is_enforceable =
        |found: &SchemaConstraint| found.keyword != "type" || !found.value.contains("string");
    let passed = operations().flat_map(unvalidated_schemas).flat_map(at).filter(is_enforceable);
    all.extend(passed.map(|found| SchemaConstraint { enforcement: EnforcedBy::Nothing, ..found }));
    let mut seen = BTreeSet::new();
    all.retain(|found| seen.insert((found.schema, found.keyword, found.value.clone())));
    all
}

/// Returns the schemas of an operation whose values are validated: those of parameters, structured request
/// bodies and JSON responses.
fn validated_schemas(operation: &Operation) -> impl Iterator<Item = SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let sent = request_media_types(operation).filter(|media| is_structured(media)).map(|media| media.schema);
    let answers = response_media_types(operation).filter(|media| MediaType::parse(&media.name).is_json());
    parameters.chain(sent).chain(answers.map(|media| media.schema)).flatten()
}

/// Returns the schemas of text and byte bodies, which are passed through without validation. Streams are
/// excluded, because the options determine if their items are validated.
fn unvalidated_schemas(operation: &Operation) -> impl Iterator<Item = SchemaId> {
    let is_one =
        |media: &&api::MediaType| ItemFraming::from_media_type(&MediaType::parse(&media.name)).is_none();
    let sent = request_media_types(operation).filter(|media| !is_structured(media));
    let answers = response_media_types(operation).filter(|media| !MediaType::parse(&media.name).is_json());
    sent.chain(answers).filter(is_one).filter_map(|media| media.schema)
}

fn request_media_types(operation: &Operation) -> impl Iterator<Item = &api::MediaType> {
    operation.request_body.iter().flat_map(|body| &body.content)
}

fn response_media_types(operation: &Operation) -> impl Iterator<Item = &api::MediaType> {
    operation.responses.iter().flat_map(|response| &response.content)
}

/// Returns true if a body is parsed according to its schema instead of being passed through as text or bytes.
fn is_structured(media: &api::MediaType) -> bool {
    let name = MediaType::parse(&media.name);
    name.is_json() || name.is_form() || name.is_multipart()
}
