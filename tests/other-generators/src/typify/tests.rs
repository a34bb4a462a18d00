//! Tests that compare the documents typify's types accept with those the generated types accept.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

use contract_codegen_core::{config::OutputLayout, generate::Project, stack::run_on_deep_stack, typed_value};

use super::*;
use crate::folder::Case;

/// Returns the valid documents that typify's types accept, each with its schema.
fn read(contract: &AnalyzedContract, engines: &Engines) -> Vec<(SchemaId, Json)> {
    let names = Names::of(&contract.graph, &contract.api);
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let mut out = Vec::new();
    for (group, made) in made(contract, engines, &names).0 {
        let Ok(types) = Types::of(&made.code) else { continue };
        for id in group {
            let Some(name) = made.types.get(names.get(id)) else { continue };
            let valid = probes(contract, &tables, id, SampleEffort::Thorough).into_iter();
            let valid = valid.filter(|probe| probe.asks == Asks::Valid).map(|probe| probe.value);
            out.extend(
                valid.filter(|value| types.round(name, &value.to_value()).is_some()).map(|value| (id, value)),
            );
        }
    }
    out
}

/// Cases on which typify recurses until its stack overflows, which aborts the process.
const ENDLESS: [&str; 1] = ["recursive_maps"];

/// Every valid document that typify's types read can be read and written back unchanged by the generated
/// types.
#[test]
fn what_typify_reads_is_read_here() {
    let (mut asked, mut problems) = (0, Vec::new());
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        if ENDLESS.contains(&&*case.name) {
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
        for (schema, document) in run_on_deep_stack(|| read(&contract, &Engines::here())) {
            asked += 1;
            let ty = contract.shapes.type_of_schema(schema);
            let held = typed_value::read_value(&contract.shapes, ty, &document);
            if held.map(|held| typed_value::write_value(&contract.shapes, &held)).as_ref() != Some(&document)
            {
                let place = &contract.graph.schema(schema).location;
                problems.push(format!("{} {place}: {}", case.name, document.to_value()));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(asked > 1000, "{asked} documents");
}

#[test]
fn losses_are_told_apart() {
    let json = |text: &str| Json::parse(text.as_bytes()).unwrap_or(Json::Null);
    let lost = |before: &str, after: &str| {
        let mut lost = Lost::default();
        lost.look(&json(before), &json(after));
        (lost.members, lost.nulls, lost.numbers, lost.additions)
    };
    assert_eq!(lost(r#"{"a":[{"b":1}]}"#, r#"{"a":[{"b":1.0}]}"#), (false, false, false, false));
    assert_eq!(lost(r#"{"a":[{"b":1}]}"#, r#"{"a":[{}]}"#), (true, false, false, false));
    assert_eq!(lost(r#"{"a":null}"#, "{}"), (false, true, false, false));
    assert_eq!(
        lost(r#"{"a":0.12345678901234567890}"#, r#"{"a":0.12345678901234568}"#),
        (false, false, true, false)
    );
    assert_eq!(lost("{}", r#"{"dryRun":false}"#), (false, false, false, true));
}
