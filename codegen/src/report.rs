//! The report on a contract. It lists:
//!
//! * the types that accept more than their schema, each with the mechanism that enforces the remaining rules;
//! * the assumptions about the service that options make;
//! * the results of other generators;
//! * the proofs.
//!
//! Entry point: [`Report::for_contract`].
//!
//! ```
//! use contract_codegen::{Project, Sources, report::Report};
//!
//! let text = r#"{"type": "object", "properties": {"code": {"type": "string", "maxLength": 3}}}"#;
//! let project = Project::default();
//! let contract = project.analyze_sources(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let report = Report::for_contract(&project, &contract, &|_| {});
//! assert_eq!(report.proof_gaps().count(), 0);
//! assert!(report.to_text(false).contains("maxLength"));
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```

mod render;
mod unenforced;
mod untyped;

use std::collections::BTreeMap;

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    config::Config,
    conjunction::{SchemaConjunction, SchemaFacts, discriminator},
    enforced_constraints::{ConstraintLister, collect_constraints},
    formats::MappedFormat,
    generate::{ProgressCallback, Project, shortest_selector},
    locations::LocationFormatter,
    plan::ContractPlan,
    proof::prove_types,
    shape::{TypeBody, TypeId, TypeRef},
    stack::run_on_deep_stack,
    tables::TableArenas,
};
use serde_json::{Value, json};

pub use self::{unenforced::UnenforcedConstraints, untyped::UntypedField};
use crate::explain::{EnforcedBy, reason};
pub use contract_codegen_core::proof::TypeProof;

/// The report on one contract.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The title and the version of the contract.
    pub title: String,
    /// The number of generated items of each kind, such as `structs`, `fields` and `operations`.
    pub counts: Vec<(&'static str, usize)>,
    /// The changes that overlays made to the documents.
    pub overlay_changes: Vec<OverlayChange>,
    /// The number of constraints, by schema keyword and by the mechanism that enforces them.
    pub constraints: BTreeMap<&'static str, BTreeMap<EnforcedBy, usize>>,
    /// The types and fields whose Rust form accepts values that their schemas reject.
    pub looser_types: Vec<LooserType>,
    /// The number of fields of all generated structs.
    pub field_count: usize,
    /// The fields whose type contains untyped JSON, which has the Rust type `Json`.
    pub untyped_fields: Vec<UntypedField>,
    /// The assumptions about the contract that follow from the options, each as a sentence. An example is
    /// that `properties` imply an object.
    pub assumptions: Vec<String>,
    /// The base schemas with a `discriminator` that become structs. With the option `types.families`, each of
    /// them becomes an enum of the schemas that extend it.
    pub families: Vec<DiscriminatorFamily>,
    /// The operations and webhooks that the client cannot send, each with the reason.
    pub unsendable: Vec<UnsendableOperation>,
    /// The name of each generated type, and the result of proving that the type can hold every value that its
    /// schema accepts.
    pub proofs: Vec<(String, TypeProof)>,
}

/// The effect of one overlay action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OverlayChange {
    /// The path of the overlay file.
    pub file: String,
    /// The `description` of the action, or its `target` if it has none.
    pub description: String,
    /// The effect of the action: `updated` or `removed`.
    pub effect: &'static str,
    /// The changed locations, as `file:line #/pointer`.
    pub places: Vec<String>,
}

/// A type or field whose Rust form accepts values that its schema rejects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LooserType {
    /// The name, as `Type` or `Type.field`.
    pub name: String,
    /// The location of the schema, as `file:line #/pointer`.
    pub place: String,
    /// The Rust form, and the reason for this form.
    pub reason: String,
    /// The mechanism that enforces the other rules of the schema, which the Rust form does not enforce.
    pub enforced: &'static str,
}

/// A base schema with a `discriminator` and without `oneOf`. It becomes an ordinary struct, unless
/// `types.families` selects it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DiscriminatorFamily {
    /// The selector that names the schema in the option `types.families`.
    pub selector: String,
    /// The location of the schema, as `file:line #/pointer`.
    pub place: String,
    /// The number of schemas that include the base schema by `allOf`.
    pub children: usize,
}

/// An operation or webhook that the client cannot send.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsendableOperation {
    /// The `operationId`.
    pub id: String,
    /// The location of the operation, as `file:line #/pointer`.
    pub place: String,
    /// The reason why the client cannot send the operation.
    pub reason: String,
}

impl Report {
    /// Creates the report. For every type, proves that the type can hold each value that its schema accepts,
    /// or tests this with samples. `step` receives progress messages.
    #[must_use]
    pub fn for_contract(project: &Project, contract: &AnalyzedContract, step: ProgressCallback<'_>) -> Self {
        run_on_deep_stack(|| {
            let count = contract.shapes.types.len();
            #[cfg(feature = "proofs")]
            let checker = crate::canonical::ContainmentChecker::default();
            #[cfg(feature = "proofs")]
            let is_contained = |wide, narrow| checker.is_contained(wide, narrow);
            // Without the feature `proofs`, containment is never decided, so every type is tested with
            // samples.
            #[cfg(not(feature = "proofs"))]
            let is_contained = |_, _| None;
            let proofs = prove_types(contract, &is_contained, |done| {
                step(&format!("proving {done} of {count} types"))
            });
            assemble_report(&project.config, contract, &project.operation_plans(contract), proofs)
        })
    }
}

fn assemble_report(
    config: &Config,
    contract: &AnalyzedContract,
    plans: &ContractPlan<'_>,
    proofs: Vec<(TypeId, TypeProof)>,
) -> Report {
    let name = |id: TypeId| contract.shapes.get(id).name.clone();
    let (untyped_fields, field_count) = untyped::find_untyped_fields(contract);
    Report {
        title: contract.title(),
        counts: contract.count_items(plans),
        overlay_changes: list_overlay_changes(contract),
        constraints: count_constraints(contract),
        looser_types: find_looser_types(contract),
        field_count,
        untyped_fields,
        assumptions: list_assumptions(config, contract, &proofs),
        families: list_families(contract),
        unsendable: list_unsendable(contract, plans),
        proofs: proofs.into_iter().map(|(id, proof)| (name(id), proof)).collect(),
    }
}

/// Returns every type and every struct field, each with its schemas and its Rust type.
fn typed_places(contract: &AnalyzedContract) -> Vec<(String, SchemaConjunction, TypeRef)> {
    let mut out = Vec::new();
    for id in contract.shapes.ids() {
        let def = contract.shapes.get(id);
        out.push((def.name.clone(), def.conj.clone(), TypeRef::Named(id)));
        if let TypeBody::Struct(body) = &def.body {
            out.extend(
                body.fields
                    .iter()
                    .map(|f| (format!("{}.{}", def.name, f.name), f.conj.clone(), f.ty.clone())),
            );
        }
    }
    out
}

fn count_constraints(contract: &AnalyzedContract) -> BTreeMap<&'static str, BTreeMap<EnforcedBy, usize>> {
    let mut out: BTreeMap<&'static str, BTreeMap<EnforcedBy, usize>> = BTreeMap::new();
    for found in collect_constraints(contract) {
        *out.entry(found.keyword).or_default().entry(found.enforcement).or_default() += 1;
    }
    out
}

fn find_looser_types(contract: &AnalyzedContract) -> Vec<LooserType> {
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let constraints = ConstraintLister::new(contract, &tables);
    let whereabouts = LocationFormatter::new(contract);
    let mut out = Vec::new();
    for (name, conj, ty) in typed_places(contract) {
        let facts = SchemaFacts::from_conjunction(&contract.graph, &conj, contract.options.implied_objects);
        let mut add = |what: String, enforced: &'static str| {
            let place =
                conj.ids.last().map(|&id| whereabouts.format_location(&contract.graph.schema(id).place));
            out.push(LooserType {
                name: name.clone(),
                place: place.unwrap_or_default(),
                reason: what,
                enforced,
            });
        };
        let holds_json = match &ty {
            TypeRef::Json => true,
            TypeRef::Named(id) => matches!(contract.shapes.get(*id).body, TypeBody::Newtype(TypeRef::Json)),
            _ => false,
        };
        let has_table_rules = holds_json
            && constraints
                .constraints_at(&conj, &ty, &[])
                .iter()
                .any(|c| c.enforcement == EnforcedBy::Tables);
        match &ty {
            TypeRef::Json if has_table_rules => {
                add(
                    format!("a JSON value: {}", reason::json_reason(contract, &conj)),
                    "the validation tables",
                );
            }
            TypeRef::Vec(inner) if **inner == TypeRef::Json && has_positional_items(contract, &facts) => {
                add(
                    "a list of JSON values: its positions have different schemas".to_owned(),
                    "the validation tables",
                );
            }
            TypeRef::Replaced(path, _) if let Some(name) = MappedFormat::name_from_path(path) => {
                add(format!("`{name}`, the type of its format"), "the type and its checks");
            }
            TypeRef::Replaced(path, _) => {
                add(format!("`{path}`, a type set in the configuration"), "the type itself")
            }
            TypeRef::Named(id) => match &contract.shapes.get(*id).body {
                TypeBody::Newtype(TypeRef::Json) if has_table_rules && !name.contains('.') => {
                    add(
                        format!("a JSON value: {}", reason::json_reason(contract, &conj)),
                        "the validation tables",
                    );
                }
                TypeBody::Struct(_) if !facts.open_unions.is_empty() && !name.contains('.') => {
                    add(
                        "a struct with the properties of all branches: no tag distinguishes them".to_owned(),
                        "`is_valid`",
                    );
                }
                TypeBody::Struct(_) if !facts.conditional.is_empty() && !name.contains('.') => {
                    add("a struct without the conditions on its properties".to_owned(), "`is_valid`");
                }
                _ => {}
            },
            _ => {}
        }
    }
    out.sort();
    out.dedup();
    out
}

fn has_positional_items(contract: &AnalyzedContract, facts: &SchemaFacts) -> bool {
    facts.unconditional.iter().any(|&id| !contract.graph.schema(id).prefix_items.is_empty())
}

fn list_assumptions(
    config: &Config,
    contract: &AnalyzedContract,
    proofs: &[(TypeId, TypeProof)],
) -> Vec<String> {
    let types = &config.types;
    let assumed = proofs.iter().filter(|(_, proof)| *proof == TypeProof::Assumed).count();
    let graph = &contract.graph;
    let implied = graph.ids().filter(|&id| {
        let place = SchemaConjunction::from_schema(id);
        SchemaFacts::from_conjunction(graph, &place, types.implied_objects).types
            != SchemaFacts::stated_types(graph, &place)
    });
    let implied = implied.count();
    let mut out = Vec::new();
    if implied > 0 {
        out.push(format!(
            "implied-objects: {implied} schemas without `type` have the type that their keywords imply"
        ));
    }
    out.extend(config.nullable.iter().map(|selector| format!("nullable: `{selector}` also accepts `null`")));
    if types.unbounded_integers == contract_codegen_core::config::UnboundedIntegerType::I64 {
        out.push(
            "unbounded-integers = \"i64\": an integer beyond 64 bits is rejected when parsed".to_owned(),
        );
    }
    if types.machine_integers.is_enabled() {
        out.push(
            "machine-integers: a valid integer outside of the type of its format is rejected when parsed"
                .to_owned(),
        );
    }
    if assumed > 0 {
        out.push(format!("{assumed} types can hold every valid value only under these assumptions"));
    }
    for (schema, path) in &config.replace {
        out.push(format!("replace: `{path}` can hold every value that `{schema}` accepts"));
    }
    out
}

fn list_overlay_changes(contract: &AnalyzedContract) -> Vec<OverlayChange> {
    let whereabouts = LocationFormatter::new(contract);
    let overlay_changes = contract.sources.overlay_edits.iter().map(|edit| OverlayChange {
        file: edit.file.clone(),
        description: edit.what.clone(),
        effect: edit.how,
        places: edit.places.iter().map(|place| whereabouts.format_location(place)).collect(),
    });
    overlay_changes.collect()
}

fn list_families(contract: &AnalyzedContract) -> Vec<DiscriminatorFamily> {
    let graph = &contract.graph;
    let whereabouts = LocationFormatter::new(contract);
    let families = discriminator::find_families(graph).into_iter();
    let read_as_themselves = families.filter(|(base, _)| graph.schema(*base).family_members().is_empty());
    let family = read_as_themselves.map(|(base, children)| DiscriminatorFamily {
        selector: shortest_selector(graph, base),
        place: whereabouts.format_location(&graph.schema(base).place),
        children: children.len(),
    });
    family.collect()
}

fn list_unsendable(contract: &AnalyzedContract, plans: &ContractPlan<'_>) -> Vec<UnsendableOperation> {
    let whereabouts = LocationFormatter::new(contract);
    let calls = plans.iter().flat_map(|plan| &plan.calls);
    let unsent = calls.filter_map(|call| {
        let (id, place) = (call.operation.id.clone(), whereabouts.format_location(&call.operation.place));
        Some(UnsendableOperation { id, place, reason: call.unsendable_reason.clone()? })
    });
    unsent.collect()
}

impl Report {
    /// Returns the proof gaps, which are bugs of the generator. A proof gap is a type that cannot hold a
    /// certain value that its schema accepts. Each type is returned with such a value, if one was found.
    pub fn proof_gaps(&self) -> impl Iterator<Item = (&str, Option<String>)> {
        self.proofs.iter().filter_map(|(name, proof)| match proof {
            TypeProof::Gap(instance) => Some((name.as_str(), instance.as_ref().map(ToString::to_string))),
            _ => None,
        })
    }

    /// Returns the report as a JSON object for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let constraints: serde_json::Map<String, Value> = self
            .constraints
            .iter()
            .map(|(keyword, by)| {
                let by: serde_json::Map<String, Value> =
                    by.iter().map(|(how, count)| (how.as_phrase().to_owned(), json!(count))).collect();
                ((*keyword).to_owned(), Value::Object(by))
            })
            .collect();
        let proof = |(name, proof): &(String, TypeProof)| {
            let detail = match proof {
                TypeProof::Tested(count) => json!(count),
                TypeProof::Gap(Some(instance)) => instance.to_value(),
                TypeProof::Skipped(reason) => json!(reason),
                _ => Value::Null,
            };
            json!({ "type": name, "proof": proof.as_str(), "detail": detail })
        };
        let counts: serde_json::Map<String, Value> =
            self.counts.iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
        let looser = |l: &LooserType| json!({ "name": l.name, "place": l.place, "what": l.reason, "enforced": l.enforced });
        let change_to_json = |m: &OverlayChange| json!({ "file": m.file, "what": m.description, "how": m.effect, "places": m.places });
        let family = |f: &DiscriminatorFamily| json!({ "selector": f.selector, "place": f.place, "children": f.children });
        let untyped = |u: &UntypedField| json!({ "name": u.name, "place": u.place, "reason": u.reason, "open": u.is_open });
        let unsent = |u: &UnsendableOperation| json!({ "id": u.id, "place": u.place, "reason": u.reason });
        json!({
            "title": self.title,
            "counts": counts,
            "mends": self.overlay_changes.iter().map(change_to_json).collect::<Vec<_>>(),
            "constraints": constraints,
            "looser": self.looser_types.iter().map(looser).collect::<Vec<_>>(),
            "fields": self.field_count,
            "untyped": self.untyped_fields.iter().map(untyped).collect::<Vec<_>>(),
            "assumptions": self.assumptions,
            "families": self.families.iter().map(family).collect::<Vec<_>>(),
            "unsent": self.unsendable.iter().map(unsent).collect::<Vec<_>>(),
            "proofs": self.proofs.iter().map(proof).collect::<Vec<_>>(),
        })
    }

    /// Returns the report as plain text or, with `markdown`, as Markdown.
    #[must_use]
    pub fn to_text(&self, markdown: bool) -> String {
        render::render_report(self, markdown)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests panic on failure")]

    use super::*;
    use crate::explain::explain_name;
    use contract_codegen_core::load::Sources;

    /// A field without constraints is reported as open, because the contract accepts any JSON value. A field
    /// whose branches cannot be distinguished is not reported as open.
    #[test]
    fn untyped_fields_have_a_reason() {
        let text = r#"{"type": "object", "properties": {
            "any": {}, "list": {"type": "array", "items": true}, "map": {"type": "object", "additionalProperties": {}},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "array", "items": {}}], "items": false, "minItems": 2},
            "name": {"type": "string"}, "maybe": {"type": ["string", "null"]},
            "merged": {"type": "array", "items": {"anyOf": [
                {"type": "array", "items": {"type": "string"}}, {"type": "array", "prefixItems": [{"type": "integer"}]}]}}
        }}"#;
        let sources = Sources::from_texts(&[("seat.schema.json", "", text)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let report = Report::for_contract(&Project::default(), &contract, &|_| {});
        let found: Vec<(&str, bool)> =
            report.untyped_fields.iter().map(|field| (field.name.as_str(), field.is_open)).collect();
        let expected = [
            ("Seat.any", true),
            ("Seat.list", true),
            ("Seat.map", true),
            ("Seat.merged", false),
            ("Seat.pair", true),
        ];
        assert_eq!(found, expected, "{:?}", report.untyped_fields);
        assert_eq!(report.field_count, 7);
        assert!(report.to_text(false).contains("5 of 7 fields contain untyped JSON"));
    }

    /// Like the rules of types, the rules of parameters and of bodies without a named type are counted in the
    /// report and explained.
    #[test]
    fn operation_rules_are_counted() {
        let text = r#"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/t": {"post": {
            "operationId": "t",
            "parameters": [{"name": "req", "in": "query", "schema": {"type": "string", "minLength": 1}}],
            "requestBody": {"content": {
                "text/plain": {"schema": {"type": "string", "maxLength": 3, "pattern": "^[a-z]+$"}},
                "application/octet-stream": {"schema": {"type": "string", "minLength": 2}}
            }},
            "responses": {"200": {"description": "", "content": {
                "application/json": {"schema": {"type": "array", "items": {}, "maxItems": 2}},
                "text/csv": {"schema": {"type": "string", "pattern": "^b"}}
            }}}
        }}}}"#;
        let project = Project::default();
        let contract =
            project.analyze_sources(Sources::from_texts(&[("t.json", "", text)]).unwrap()).unwrap();
        let report = Report::for_contract(&project, &contract, &|_| {});
        // Text and byte bodies are not validated.
        let counts = |keyword: &str| {
            let counts = &report.constraints[keyword];
            let passed = counts.get(&EnforcedBy::Nothing).copied().unwrap_or(0);
            (counts.values().sum::<usize>() - passed, passed, counts.contains_key(&EnforcedBy::Type))
        };
        assert_eq!(counts("minLength"), (1, 1, false));
        assert_eq!(counts("maxLength"), (0, 1, false));
        assert_eq!(counts("pattern"), (0, 2, false));
        assert_eq!(counts("maxItems"), (1, 0, false));
        assert!(!report.constraints["type"].contains_key(&EnforcedBy::Nothing));
        let explanation = explain_name(&project, &contract, "t").unwrap()[0].to_text();
        assert!(
            explanation.contains("minLength 1") && explanation.contains("text/plain: String, body, optional"),
            "{explanation}"
        );
        for rule in ["minLength 2", "maxLength 3", "pattern"] {
            assert!(!explanation.contains(rule), "{rule}: {explanation}");
        }
    }
}
