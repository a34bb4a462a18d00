//! Contracts that somebody spoilt: whatever stands in a document, the generator gives output or
//! says what is wrong and where. It never panics, and never fails without a place.
//!
//! The documents are those of `cases/` and the exchange's own, changed at random places with a
//! fixed seed. `MUTATIONS=100000` tries more than what fits into the usual time.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/mutate.rs"]
mod mutate;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    time::{Duration, Instant},
};

use contract_codegen::{
    config::{Builders, Config, Layout},
    diagnostics::{Diagnostics, Severity},
    generate::{Generated, Project},
    load::Sources,
};
use contract_runtime::{Json, Map};

use folder::{Case, read};
use mutate::Mutator;

/// How many documents are tried when there is time for all of them.
const WANTED: usize = 10_000;

/// How long the test may take unless it is told how many to try.
const TIME: Duration = Duration::from_secs(20);

fn project() -> Project {
    let mut config = Config::default();
    config.output.layout = Layout::Modules;
    config.types.builders = Builders::All;
    Project { config, ..Project::default() }
}

fn generate(text: &str) -> Result<Generated, Diagnostics> {
    let project = project();
    let contract = project.understand(Sources::from_texts(&[("input.json", "", text)])?)?;
    project.emit(contract)
}

/// What is wrong with how a document was treated.
fn complaint(text: &str) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| generate(text))) {
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|m| (*m).to_owned()));
            Some(format!("panic: {}", message.unwrap_or_default()))
        }
        Ok(Ok(generated)) => generated.files.iter().next().is_none().then(|| "no files".to_owned()),
        Ok(Err(problems)) => {
            let mut errors = problems.iter().filter(|d| d.severity == Severity::Error).peekable();
            if errors.peek().is_none() {
                return Some("refused without an error".to_owned());
            }
            let bad = errors.find(|d| d.code == "internal" || d.place.is_none())?;
            Some(format!("{}: {} (place: {})", bad.code, bad.message, bad.place.is_some()))
        }
    }
}

/// The exchange's document: its first operations, references to other files cut off.
fn exchange() -> Json {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/openapi.json");
    let mut document = Json::parse(&read(&path)).unwrap();
    cut(&mut document);
    if let Json::Object(root) = &mut document
        && let Some(Json::Object(paths)) = root.get("paths").cloned()
    {
        let few: Map<Json> = paths.iter().take(3).map(|(n, v)| (n.to_owned(), v.clone())).collect();
        root.insert("paths".to_owned(), Json::Object(few));
    }
    document
}

fn cut(json: &mut Json) {
    match json {
        Json::Object(members) => {
            let outside = members.get("$ref").and_then(Json::as_str).is_some_and(|to| !to.starts_with('#'));
            if outside {
                *json = Json::parse(br#"{"type":"object","properties":{"id":{"type":"string"}}}"#).unwrap();
            } else {
                members.iter_mut().for_each(|(_, value)| cut(value));
            }
        }
        Json::Array(items) => items.iter_mut().for_each(cut),
        _ => {}
    }
}

fn seeds() -> Vec<Json> {
    let cases = Case::all().into_iter().filter(|case| case.name != "long_chain");
    let files = cases.flat_map(|case| case.files()).filter(|(name, _)| name.ends_with(".json"));
    let mut seeds: Vec<Json> = files.map(|(_, path)| Json::parse(&read(&path)).unwrap()).collect();
    seeds.push(exchange());
    seeds
}

#[test]
fn spoilt_documents_give_output_or_a_place() {
    let wanted: Option<usize> = std::env::var("MUTATIONS").ok().map(|n| n.parse().unwrap());
    let seeds = seeds();
    for seed in &seeds {
        assert!(complaint(&seed.to_string()).is_none_or(|c| !c.starts_with("panic")));
    }
    let start = Instant::now();
    std::panic::set_hook(Box::new(|_| {}));
    let mut mutator = Mutator::new(0x2026);
    let mut tried = 0;
    let mut complaints = std::collections::BTreeMap::new();
    while tried < wanted.unwrap_or(WANTED) && (wanted.is_some() || start.elapsed() < TIME) {
        let document = mutator.mutate(&seeds).to_string();
        tried += 1;
        if let Some(complaint) = complaint(&document) {
            let smallest: &mut String = complaints.entry(complaint).or_insert_with(|| document.clone());
            if document.len() < smallest.len() {
                *smallest = document;
            }
        }
    }
    let _ = std::panic::take_hook();
    eprintln!("{tried} documents in {:?}", start.elapsed());
    let list: Vec<String> = complaints.iter().map(|(what, text)| format!("{what}\n    {text}")).collect();
    assert!(list.is_empty(), "{} of {tried}\n{}", list.len(), list.join("\n"));
}
