//! What is no contract as it is written is compared as what was taken in its place, and that is said.

use contract_codegen::drift::{
    Drift, Options, Version, compare,
    report::{self, View},
};
use serde_json::Value;

use crate::rules::{operation, schema, version};

fn drift(old: &str, new: &str) -> Drift {
    compare(&version(old), &version(new), &Options::default())
}

/// A parameter as Swagger 2.0 writes it, after some others.
fn parameter(ty: &str, before: &str) -> String {
    operation(&format!(r#""parameters":[{before}{{"name":"p","in":"query","type":"{ty}"}}]"#))
}

#[test]
fn a_fault_of_both_versions_is_counted() {
    let found = drift(&parameter("string", ""), &parameter("integer", ""));
    assert_eq!((found.changes.len(), found.faults.len()), (0, 0), "{found:#?}");
    assert!(found.old_faults > 0, "{found:#?}");
    let human = report::human(&found, &View::default());
    assert!(human.contains("of the old version") && human.contains("compared so too."), "{human}");
    // What moved is no other fault.
    let more = parameter("string", r#"{"name":"q","in":"query","schema":{}},"#);
    assert_eq!(drift(&parameter("string", ""), &more).faults, []);
    // Nor is one that names its document, which has another name.
    let read = |name: &str| {
        let text = schema(r##"{"$ref":"#/components/schemas/gone"}"##);
        Version::from_texts(&[(name, "", &text)]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let found = compare(&read("old.json"), &read("new.json"), &Options::default());
    assert_eq!((found.faults.len(), found.old_faults), (0, 1));
}

#[test]
fn a_fault_of_the_new_version_is_said_with_its_place() {
    let (old, new) = (schema(r#"{"type":"integer"}"#), schema(r##"{"$ref":"#/components/schemas/gone"}"##));
    let found = drift(&old, &new);
    let [fault] = found.faults.as_slice() else { panic!("{found:#?}") };
    assert_eq!((fault.code, found.old_faults), ("unresolved-reference", 0));
    let spot = fault.new.as_ref().unwrap();
    assert_eq!((spot.file.as_str(), spot.pointer.as_str()), ("openapi.json", "/components/schemas/s/$ref"));
    let view = View { prefix: "api/".to_owned(), ..View::default() };
    let place = format!("api/openapi.json:{}", spot.line);
    let (human, markdown) = (report::human(&found, &view), report::markdown(&found, &view));
    assert!(human.contains("  unresolved-reference  ") && human.contains(&place), "{human}");
    assert!(markdown.contains("* unresolved-reference") && markdown.contains(&place), "{markdown}");
    let line = format!("::warning file=api/openapi.json,line={},title=unresolved-reference::", spot.line);
    assert!(report::annotations(&found, &view).contains(&line));
    let json: Value = serde_json::from_str(&report::json(&found, &view)).unwrap();
    assert_eq!(json["faults"][0]["new"]["file"], "api/openapi.json");
    let sarif: Value = serde_json::from_str(&report::sarif(&found, &view)).unwrap();
    let told = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0];
    assert_eq!(told["descriptor"]["id"], "unresolved-reference");
    // The other way round it is gone.
    assert_eq!((drift(&new, &old).faults.len(), drift(&new, &old).old_faults), (0, 1));
}
