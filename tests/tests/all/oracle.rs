//! The same verdicts from an independent validator on the original schema files, so that a
//! mistake that models, checks and fixtures share cannot hide.

use std::{collections::BTreeMap, fs};

use contract_runtime::{Json, Number};
use exchange_tests::{fixtures, models, schemas};
use jsonschema::{Registry, Validator};
use serde_json::Value;

/// The `jsonschema` crate's validators for every type, by fixture folder.
fn validators() -> BTreeMap<String, Validator> {
    let mut files = Vec::new();
    for entry in fs::read_dir(schemas().join("exchange/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        files.push((schema["$id"].as_str().unwrap().to_owned(), schema));
    }
    let mut registry = Registry::new();
    for (uri, schema) in &files {
        registry = registry.add(uri.clone(), schema.clone()).unwrap();
    }
    let registry = registry.prepare().unwrap();
    models()
        .into_iter()
        .map(|(folder, model)| {
            let reference = serde_json::json!({ "$ref": model.location });
            let validator = jsonschema::options().with_registry(&registry).build(&reference);
            (folder, validator.unwrap_or_else(|e| panic!("{}: {e}", model.name)))
        })
        .collect()
}

/// CON-02, CON-04: both verdicts agree on every fixture that binary numbers can hold. The other
/// validator reads numbers as `f64`; its exact mode would switch `serde_json` for every crate.
#[test]
fn an_independent_validator_agrees_on_every_fixture() {
    let validators = validators();
    let mut problems = Vec::new();
    let mut out_of_reach = 0;
    for fixture in fixtures() {
        if !survives_binary(&Json::parse(&fixture.bytes).unwrap()) {
            out_of_reach += 1;
            continue;
        }
        let value: Value = serde_json::from_slice(&fixture.bytes).unwrap();
        let valid = validators[&fixture.folder].is_valid(&value);
        if valid != fixture.expect.is_none() {
            problems.push(format!("{}: jsonschema says {valid}", fixture.name));
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(out_of_reach < 40, "{out_of_reach} fixtures went unjudged");
}

/// Whether every number of a document is the same after a trip through `f64`.
fn survives_binary(json: &Json) -> bool {
    match json {
        Json::Number(n) => Number::try_from(n.to_f64()).is_ok_and(|back| back == *n),
        Json::Array(items) => items.iter().all(survives_binary),
        Json::Object(members) => members.values().all(survives_binary),
        _ => true,
    }
}
