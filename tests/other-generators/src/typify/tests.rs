//! Compares the documents that typify's types accept with those that the generated types accept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic is a test failure")]

use contract_codegen_core::{config::OutputLayout, generate::Project, stack::run_on_deep_stack, typed_value};

use super::*;
use crate::folder::Case;

/// Returns the valid documents that typify's types accept, each with its schema.
fn accepted_documents(contract: &AnalyzedContract, runner: &GeneratorRunner) -> Vec<(SchemaId, Json)> {
    let names = SchemaNames::from_types(&contract.graph, &contract.api);
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let mut out = Vec::new();
    for (group, generated) in generate_types(contract, runner, &names).0 {
        let Ok(types) = TypeModel::parse(&generated.code) else { continue };
        for id in group {
            let Some(name) = generated.types.get(names.get(id)) else { continue };
            let valid = generate_probes(contract, &tables, id, SampleEffort::Thorough).into_iter();
            let valid = valid.filter(|probe| probe.target == ProbeTarget::Valid).map(|probe| probe.value);
            out.extend(
                valid
                    .filter(|value| types.round_trip(name, &value.to_value()).is_some())
                    .map(|value| (id, value)),
            );
        }
    }
    out
}

/// Cases on which typify recurses until its stack overflows, which aborts the process.
const OVERFLOWING_CASES: [&str; 1] = ["recursive_maps"];

/// Documents that typify's types accept are also accepted by our types, which serialize them unchanged.
#[test]
fn documents_accepted_by_typify_are_accepted() {
    let (mut count, mut problems) = (0, Vec::new());
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        if OVERFLOWING_CASES.contains(&&*case.name) {
            continue;
        }
        let options = case.folder.join("codegen.toml");
        let mut project = if options.exists() {
            Project::from_config(&options).unwrap_or_else(|e| panic!("{e}"))
        } else {
            Project { base: case.folder.clone(), ..Project::default() }
        };
        project.config.output.layout = OutputLayout::Modules;
        // Strict interpretation: like typify, do not infer a `type` from `properties`.
        project.config.types.implied_objects = false;
        project.config.types.implied_otherwise.clear();
        project.inputs = case.files().into_iter().map(|(_, path)| path).collect();
        let contract = project.read_contract().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        for (schema, document) in
            run_on_deep_stack(|| accepted_documents(&contract, &GeneratorRunner::in_process()))
        {
            count += 1;
            let ty = contract.shapes.type_of_schema(schema);
            let typed = typed_value::read_value(&contract.shapes, ty, &document);
            if typed.map(|typed| typed_value::write_value(&contract.shapes, &typed)).as_ref()
                != Some(&document)
            {
                let location = &contract.graph.schema(schema).location;
                problems.push(format!("{} {location}: {}", case.name, document.to_value()));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(count > 1000, "{count} documents");
}

#[test]
fn kinds_of_losses_are_distinguished() {
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap_or(Json::Null);
    let compare = |before: &str, after: &str| {
        let mut losses = RoundTripLosses::default();
        losses.compare(&json(before), &json(after));
        (losses.properties, losses.nulls, losses.numbers, losses.additions)
    };
    assert_eq!(compare(r#"{"a":[{"b":1}]}"#, r#"{"a":[{"b":1.0}]}"#), (false, false, false, false));
    assert_eq!(compare(r#"{"a":[{"b":1}]}"#, r#"{"a":[{}]}"#), (true, false, false, false));
    assert_eq!(compare(r#"{"a":null}"#, "{}"), (false, true, false, false));
    assert_eq!(
        compare(r#"{"a":0.12345678901234567890}"#, r#"{"a":0.12345678901234568}"#),
        (false, false, true, false)
    );
    assert_eq!(compare("{}", r#"{"dryRun":false}"#), (false, false, false, true));
}
