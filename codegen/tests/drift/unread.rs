//! Tests of contracts with faults: the repaired contract is compared, and the report lists the faults.

use contract_codegen::drift::{
    CompareOptions, ContractDrift, ContractVersion, compare,
    report::{self, ReportOptions},
};
use serde_json::Value;

use crate::rules::{operation, schema, version};

fn drift(old: &str, new: &str) -> ContractDrift {
    compare(&version(old), &version(new), &CompareOptions::default())
}

/// Creates a document with an operation whose last parameter is in the notation of Swagger 2.0, which is a
/// fault. `before` contains the parameters before it.
fn parameter(ty: &str, before: &str) -> String {
    operation(&format!(r#""parameters":[{before}{{"name":"p","in":"query","type":"{ty}"}}]"#))
}

#[test]
fn faults_of_both_versions_are_counted() {
    let found = drift(&parameter("string", ""), &parameter("integer", ""));
    assert_eq!((found.changes.len(), found.faults.len()), (0, 0), "{found:#?}");
    assert!(found.old_faults > 0, "{found:#?}");
    let human = report::render_text(&found, &ReportOptions::default());
    assert!(human.contains("of the old version") && human.contains("repaired, too."), "{human}");
    // A fault that is only at another index of `parameters` is not new.
    let more = parameter("string", r#"{"name":"q","in":"query","schema":{}},"#);
    assert_eq!(drift(&parameter("string", ""), &more).faults, []);
    // A fault whose message contains the name of its document is not new if the document was renamed.
    let read = |name: &str| {
        let text = schema(r##"{"$ref":"#/components/schemas/gone"}"##);
        ContractVersion::from_strings(&[(name, "", &text)]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let found = compare(&read("old.json"), &read("new.json"), &CompareOptions::default());
    assert_eq!((found.faults.len(), found.old_faults), (0, 1));
}

#[test]
fn faults_of_the_new_version_have_a_location() {
    let (old, new) = (schema(r#"{"type":"integer"}"#), schema(r##"{"$ref":"#/components/schemas/gone"}"##));
    let found = drift(&old, &new);
    let [fault] = found.faults.as_slice() else { panic!("{found:#?}") };
    assert_eq!((fault.code, found.old_faults), ("unresolved-reference", 0));
    let spot = fault.new.as_ref().unwrap();
    assert_eq!((spot.file.as_str(), spot.pointer.as_str()), ("openapi.json", "/components/schemas/s/$ref"));
    let view = ReportOptions { prefix: "api/".to_owned(), ..ReportOptions::default() };
    let place = format!("api/openapi.json:{}", spot.line);
    let (human, markdown) = (report::render_text(&found, &view), report::render_markdown(&found, &view));
    assert!(human.contains("  unresolved-reference  ") && human.contains(&place), "{human}");
    assert!(markdown.contains("* unresolved-reference") && markdown.contains(&place), "{markdown}");
    let line = format!("::warning file=api/openapi.json,line={},title=unresolved-reference::", spot.line);
    assert!(report::render_github_annotations(&found, &view).contains(&line));
    let json: Value = serde_json::from_str(&report::render_json(&found, &view)).unwrap();
    assert_eq!(json["faults"][0]["new"]["file"], "api/openapi.json");
    let sarif: Value = serde_json::from_str(&report::render_sarif(&found, &view)).unwrap();
    let notification = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(notification["descriptor"]["id"], "unresolved-reference");
    // If the versions are exchanged, only the old version has the fault.
    assert_eq!((drift(&new, &old).faults.len(), drift(&new, &old).old_faults), (0, 1));
}
