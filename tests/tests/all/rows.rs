//! Tests of the contract against its numbered requirements: one module per area, and shared helpers.
//!
//! A row consists of a requirement, the fixture folder of a type, a document, and the violations that the
//! document must cause. The documents are built here; `round_trip` tests the fixtures.

use std::{collections::BTreeMap, fs, sync::LazyLock};

use contract_runtime::Json;
use exchange_tests::{Model, models, schemas};
use serde_json::Value;

mod blueprints;
mod catalog;
mod changes;
mod connection;
mod contract;
mod demand;
mod drafts;
mod errors;
mod limits;
mod openness;
mod org;
mod org_ops;
mod routes;
mod scopes;
mod shared;
mod ships;
mod stock;

/// Requirement, fixture folder, document, and JSON Pointer and keyword of every violation.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)]);

/// The violations of a valid document.
const VALID: &[(&str, &str)] = &[];

static MODELS: LazyLock<BTreeMap<String, Model>> = LazyLock::new(models);

/// Asserts that every row holds. A valid document must have no undeclared properties and must round-trip
/// unchanged. An invalid document must cause exactly its violations, in the document and in the typed value.
fn check(rows: &[Row<'_>]) {
    fail_with(rows.iter().filter_map(|(id, folder, document, expected)| {
        let found = fault(folder, document, expected, &[])?;
        Some(format!("{id}: {folder}: {found}\n  {document:.300}"))
    }));
}

/// Asserts which properties of an object are required: `document` has all properties; removing one in
/// `required` causes a violation, and any other may be removed.
fn shape(id: &str, folder: &str, document: &str, required: &[&str]) {
    let whole: Value = serde_json::from_str(document).unwrap_or_else(|e| panic!("{id}: {e}\n{document}"));
    let members: Vec<String> = whole.as_object().unwrap().keys().cloned().collect();
    for name in required {
        assert!(members.iter().any(|member| member == name), "{id}: the document has no {name}");
    }
    let without = members.iter().filter_map(|name| {
        let mut part = whole.clone();
        part.as_object_mut().unwrap().remove(name);
        let pointer = format!("/{name}");
        let violation = [(pointer.as_str(), "required")];
        let expected = if required.contains(&name.as_str()) { &violation[..] } else { VALID };
        let found = fault(folder, &part.to_string(), expected, &[])?;
        Some(format!("{id}: {folder} without {name}: {found}"))
    });
    let complete = fault(folder, document, VALID, &[]).map(|found| format!("{id}: {folder}: {found}"));
    fail_with(complete.into_iter().chain(without));
}

/// Asserts that a document is accepted, round-trips unchanged, and has exactly these undeclared properties.
fn undeclared(id: &str, folder: &str, document: &str, pointers: &[&str]) {
    fail_with(fault(folder, document, VALID, pointers).map(|found| format!("{id}: {folder}: {found}")));
}

/// Returns the difference between the result of a document and the expected result, if any.
fn fault(folder: &str, document: &str, expected: &[(&str, &str)], undeclared: &[&str]) -> Option<String> {
    let Some(model) = MODELS.get(folder) else { return Some("no such type".to_owned()) };
    let outcome = model.check(document.as_bytes());
    let mut wanted: Vec<_> = expected.iter().map(|(p, k)| ((*p).to_owned(), (*k).to_owned())).collect();
    wanted.sort();
    if outcome.checked != wanted || outcome.failure.is_some() {
        return Some(format!("expected {wanted:?}, found {:?} {:?}", outcome.checked, outcome.failure));
    }
    if outcome.typed.as_ref().is_some_and(|typed| *typed != wanted) {
        return Some(format!("expected {wanted:?}, typed {:?}", outcome.typed));
    }
    if !wanted.is_empty() {
        return None;
    }
    if outcome.written != Json::parse(document.as_bytes()).ok() {
        return Some(format!("came back as {:?}", outcome.written));
    }
    let mut found = outcome.undeclared;
    found.sort();
    (found != undeclared).then(|| format!("undeclared {found:?}"))
}

fn fail_with(faults: impl IntoIterator<Item = String>) {
    let faults: Vec<String> = faults.into_iter().collect();
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

/// Returns a JSON array of equal elements.
fn many(count: usize, element: &str) -> String {
    format!("[{}]", vec![element; count].join(","))
}

/// Returns a JSON string of `count` letters.
fn letters(count: usize) -> String {
    format!("\"{}\"", "x".repeat(count))
}

/// Returns the strings of an enumeration's values, in declaration order.
fn texts<T: std::fmt::Display>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// Reads a JSON file of the contract; `path` is relative to `schemas/`.
fn file(path: &str) -> Value {
    let path = schemas().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Reads the published schema of a fixture folder.
fn schema(folder: &str) -> Value {
    let (name, definition) = folder.split_once("--").unwrap_or((folder, ""));
    let mut whole = file(&format!("exchange/v1/{name}.schema.json"));
    if definition.is_empty() { whole } else { whole["$defs"][definition].take() }
}

/// Returns the names of the properties that a schema itself declares, sorted.
fn members(folder: &str) -> Vec<String> {
    let schema = schema(folder);
    let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{folder}: no properties"));
    let mut names: Vec<String> = properties.keys().cloned().collect();
    names.sort();
    names
}

/// Returns the name and the content of every schema file.
fn schema_files() -> Vec<(String, Value)> {
    let folder = fs::read_dir(schemas().join("exchange/v1")).unwrap();
    let mut names: Vec<String> =
        folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), file(&format!("exchange/v1/{name}")))).collect()
}

/// Calls `visit` with every object of a document and its JSON Pointer.
fn objects(value: &Value, at: &str, visit: &mut impl FnMut(&str, &serde_json::Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            visit(at, object);
            for (name, value) in object {
                objects(value, &format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), visit);
            }
        }
        Value::Array(list) => {
            for (i, value) in list.iter().enumerate() {
                objects(value, &format!("{at}/{i}"), visit);
            }
        }
        _ => {}
    }
}
