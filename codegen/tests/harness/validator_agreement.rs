//! Tests that compare the results of validation with those of the independent `jsonschema` crate on the
//! original schemas.

use contract_codegen::Sources;
use contract_runtime::{Json, json_schema};

use crate::{
    folder::Case,
    independent::{Documents, survives_binary},
    instances::{instances, model},
    model::Model,
};

/// Returns the URI and the content of each document.
fn read_documents(case: &Case) -> Vec<(String, Json)> {
    let inputs: Vec<_> = case.files().into_iter().map(|(_, path)| path).collect();
    let sources = Sources::from_files(&inputs, &[]).unwrap_or_else(|e| panic!("{e}"));
    sources.documents().map(|(uri, document)| (uri.to_owned(), document)).collect()
}

#[test]
fn results_agree_with_an_independent_validator() {
    let mut problems = Vec::new();
    let mut count = 0;
    // Only the generator repairs faults and applies overlays.
    let is_repaired =
        |case: &Case| ["strict.txt", "mend.yaml"].iter().any(|file| case.folder.join(file).exists());
    // The configuration asserts formats and maps vendor keywords, but the independent validator does not read
    // it.
    let is_mapped = |case: &Case| case.name.starts_with("formats") || case.name == "vendor";
    let is_sound = |case: &Case| !case.is_refused() && !is_repaired(case) && !is_mapped(case);
    for case in Case::all().into_iter().filter(is_sound) {
        let documents = read_documents(&case);
        let Some(documents) = Documents::of(&documents) else { continue };
        // The configuration disables checks or allows `null` in these documents.
        let by_options =
            |name: &str| ["/unchecked.json", "/nullable.json"].iter().any(|end| name.ends_with(end));
        for instance in instances(&case).into_iter().filter(|each| !by_options(&each.name)) {
            let location = model(&case, &instance).validator.schema_location();
            let validator = documents.validator(&location);
            if !Json::parse(&instance.bytes).is_ok_and(|json| survives_binary(&json)) {
                continue;
            }
            count += 1;
            let document = serde_json::from_slice(&instance.bytes).unwrap();
            let published = published_validator(&model(&case, &instance));
            if published.is_valid(&document) != instance.expect.is_none() {
                problems.push(format!("{}: the published schema has another result", instance.name));
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
    assert!(count > 300, "only {count} documents were compared");
}

/// Returns a validator for the JSON Schema that a type derives from its validation tables.
fn published_validator(model: &Model) -> jsonschema::Validator {
    let document = json_schema::schema_document(model.validator.tables, model.validator.root);
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(&document)
        .unwrap_or_else(|e| panic!("{}: {e}", model.name))
}
