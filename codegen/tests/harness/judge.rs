//! An independent judge: the `jsonschema` crate, on the original schemas.
//!
//! It reads numbers as `f64` here: its exact mode would switch `serde_json` for every crate of
//! the workspace. What `f64` cannot hold is out of its reach.

use contract_codegen::Sources;
use contract_runtime::{Json, Number, json_schema};

use crate::{
    folder::Case,
    instances::{instances, model},
    model::Model,
};

/// A document's URI and content.
fn documents(case: &Case) -> Vec<(String, Json)> {
    let inputs: Vec<_> = case.files().into_iter().map(|(_, path)| path).collect();
    let sources = Sources::from_files(&inputs, &[]).unwrap_or_else(|e| panic!("{e}"));
    sources.documents().map(|(uri, document)| (uri.to_owned(), document)).collect()
}

/// Whether a document speaks 2020-12: the judge is asked about no other dialect.
fn is_latest(document: &Json) -> bool {
    let text = |name: &str| document.as_object().and_then(|o| o.get(name)).and_then(Json::as_str);
    let schema = text("$schema").is_none_or(|uri| uri.ends_with("/2020-12/schema"));
    schema && text("openapi").is_none_or(|version| version.starts_with("3.1"))
}

/// A JSON Pointer as a URI fragment.
fn fragment(pointer: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/$".contains(&b);
    pointer.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[test]
fn verdicts_agree_with_an_independent_judge() {
    let mut problems = Vec::new();
    let mut judged = 0;
    // Faults, and what overlays mend, are mended by us alone.
    let is_mended =
        |case: &Case| ["strict.txt", "mend.yaml"].iter().any(|file| case.folder.join(file).exists());
    // That a format is asserted is the owner's decision; words of other tools are ours to read.
    let is_mapped = |case: &Case| case.name.starts_with("formats") || case.name == "vendor";
    let is_sound = |case: &Case| !case.is_refused() && !is_mended(case) && !is_mapped(case);
    for case in Case::all().into_iter().filter(is_sound) {
        let documents = documents(&case);
        if !documents.iter().all(|(_, document)| survives_binary(document) && is_latest(document)) {
            continue;
        }
        let registry = jsonschema::Registry::new()
            .extend(documents.iter().map(|(uri, value)| {
                let value = serde_json::from_str(&value.to_string()).unwrap();
                (uri.as_str(), jsonschema::Draft::Draft202012.create_resource(value))
            }))
            .unwrap()
            .prepare()
            .unwrap_or_else(|e| panic!("{}: {e}", case.name));
        // What the options leave unchecked, or let be `null`, others judge by the contract alone.
        let by_options =
            |name: &str| ["/unchecked.json", "/nullable.json"].iter().any(|end| name.ends_with(end));
        for instance in instances(&case).into_iter().filter(|each| !by_options(&each.name)) {
            let location = model(&case, &instance).validator.location();
            let (uri, pointer) = location.split_once('#').unwrap();
            let schema = serde_json::json!({ "$ref": format!("{uri}#{}", fragment(pointer)) });
            let validator = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .with_registry(&registry)
                .should_validate_formats(false)
                .build(&schema)
                .unwrap_or_else(|e| panic!("{location}: {e}"));
            if !Json::parse(&instance.bytes).is_ok_and(|json| survives_binary(&json)) {
                continue;
            }
            judged += 1;
            let document = serde_json::from_slice(&instance.bytes).unwrap();
            let published = published(&model(&case, &instance));
            if published.is_valid(&document) != instance.expect.is_none() {
                problems.push(format!("{}: its published schema says otherwise", instance.name));
            }
            if validator.is_valid(&document) != instance.expect.is_none() {
                problems.push(format!(
                    "{}: {:?}",
                    instance.name,
                    validator.validate(&document).map_err(|e| e.to_string())
                ));
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(judged > 300, "only {judged} documents were judged");
}

/// What a type publishes of its schema, out of the tables, to the same judge.
fn published(model: &Model) -> jsonschema::Validator {
    let document = json_schema::document(model.validator.tables, model.validator.root);
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(&document)
        .unwrap_or_else(|e| panic!("{}: {e}", model.name))
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
