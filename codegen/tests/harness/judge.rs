//! An independent judge: the `jsonschema` crate, on the original schemas.

use contract_codegen::Sources;
use contract_runtime::{Json, json_schema};

use crate::{
    folder::Case,
    independent::{Documents, survives_binary},
    instances::{instances, model},
    model::Model,
};

/// A document's URI and content.
fn documents(case: &Case) -> Vec<(String, Json)> {
    let inputs: Vec<_> = case.files().into_iter().map(|(_, path)| path).collect();
    let sources = Sources::from_files(&inputs, &[]).unwrap_or_else(|e| panic!("{e}"));
    sources.documents().map(|(uri, document)| (uri.to_owned(), document)).collect()
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
        let Some(documents) = Documents::of(&documents) else { continue };
        // What the options leave unchecked, or let be `null`, others judge by the contract alone.
        let by_options =
            |name: &str| ["/unchecked.json", "/nullable.json"].iter().any(|end| name.ends_with(end));
        for instance in instances(&case).into_iter().filter(|each| !by_options(&each.name)) {
            let location = model(&case, &instance).validator.schema_location();
            let validator = documents.validator(&location);
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
    let document = json_schema::schema_document(model.validator.tables, model.validator.root);
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(&document)
        .unwrap_or_else(|e| panic!("{}: {e}", model.name))
}
