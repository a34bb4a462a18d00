//! The documents that are mutated, and the generator configuration for the mutated documents.

use std::path::Path;

use contract_codegen::{
    GeneratedCode, Project, Sources,
    config::{BuilderScope, Config, OutputLayout},
    diagnostics::{Diagnostics, FaultPolicy},
};
use contract_runtime::{Json, Map};

use crate::{
    folder::{Case, read},
    mutate::Mutator,
};

/// The maximum size of a document that is mutated, in bytes. Small documents fail in the same ways as large
/// ones and take less time.
const MAX_SEED_BYTES: usize = 6_000;

pub(crate) fn project() -> Project {
    let mut config = Config::default();
    config.output.layout = OutputLayout::Modules;
    config.types.builders = BuilderScope::All;
    Project { config, ..Project::default() }
}

pub(crate) fn generate(text: &str) -> Result<GeneratedCode, Diagnostics> {
    let mut project = project();
    // Half of the documents are loaded with faults as errors.
    if text.len() % 2 == 1 {
        project.config.input.faults = FaultPolicy::Deny;
    }
    let contract = project.analyze_sources(Sources::from_texts(&[("input.json", "", text)])?)?;
    project.generate_from(contract)
}

/// Returns the document of the exchange with its first operations and without references to other files.
fn read_exchange_document() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/openapi.json");
    let mut document = Json::parse(&read(&path)).unwrap();
    replace_external_references(&mut document);
    if let Json::Object(root) = &mut document
        && let Some(Json::Object(paths)) = root.get("paths").cloned()
    {
        let few: Map<Json> = paths.iter().take(3).map(|(n, v)| (n.to_owned(), v.clone())).collect();
        root.insert("paths".to_owned(), Json::Object(few));
    }
    document
}

fn replace_external_references(json: &mut Json) {
    match json {
        Json::Object(members) => {
            let outside = members.get("$ref").and_then(Json::as_str).is_some_and(|to| !to.starts_with('#'));
            if outside {
                *json = Json::parse(br#"{"type":"object","properties":{"id":{"type":"string"}}}"#).unwrap();
            } else {
                members.iter_mut().for_each(|(_, value)| replace_external_references(value));
            }
        }
        Json::Array(items) => items.iter_mut().for_each(replace_external_references),
        _ => {}
    }
}

/// Returns the documents to mutate.
pub(crate) fn seeds() -> Vec<Json> {
    let files = Case::all().into_iter().flat_map(|case| case.files());
    let files = files.filter(|(name, _)| name.ends_with(".json"));
    let texts = files.map(|(_, path)| read(&path)).filter(|text| text.len() <= MAX_SEED_BYTES);
    let mut seeds: Vec<Json> = texts.map(|text| Json::parse(&text).unwrap()).collect();
    assert!(seeds.len() > 60, "only {} seeds", seeds.len());
    seeds.push(read_exchange_document());
    seeds
}

/// Returns the mutated document with the given number.
pub(crate) fn document(number: u64, seeds: &[Json]) -> String {
    Mutator::new(number).mutate(seeds).to_string()
}
