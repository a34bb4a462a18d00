//! The contract held to its numbered requirements: one module per area, and the helpers they share.
//!
//! A row names a requirement, the fixture folder of a type, a document and the violations that the
//! document must give. Documents are made here; the fixtures are tested in `round_trip`.

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

/// Requirement, folder of the type, document, pointer and keyword of every violation.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [(&'a str, &'a str)]);

/// The violations of a valid document.
const VALID: &[(&str, &str)] = &[];

static MODELS: LazyLock<BTreeMap<String, Model>> = LazyLock::new(models);

/// Holds every row: a valid document is also declared to the last member and comes back equal, an
/// invalid one gives exactly its violations from the document and from the typed value.
fn check(rows: &[Row<'_>]) {
    fail_with(rows.iter().filter_map(|(id, folder, document, expected)| {
        let found = fault(folder, document, expected, &[])?;
        Some(format!("{id}: {folder}: {found}\n  {document:.300}"))
    }));
}

/// Holds the members of an object: `document` has all of them, those in `required` are missed when
/// they are left out, and every other one may be left out.
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

/// Holds that a document is accepted, comes back whole, and has exactly these undeclared members.
fn undeclared(id: &str, folder: &str, document: &str, pointers: &[&str]) {
    fail_with(fault(folder, document, VALID, pointers).map(|found| format!("{id}: {folder}: {found}")));
}

/// The deviation of a document's outcome from the expectation, if any.
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

/// A JSON array of equal elements.
fn many(count: usize, element: &str) -> String {
    format!("[{}]", vec![element; count].join(","))
}

/// A JSON string of so many letters.
fn letters(count: usize) -> String {
    format!("\"{}\"", "x".repeat(count))
}

/// The texts of an enumeration, in its order.
fn texts<T: std::fmt::Display>(values: &[T]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}

/// A JSON file of the contract, by its path below `schemas/`.
fn file(path: &str) -> Value {
    let path = schemas().join(path);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The schema of a fixture folder, as published.
fn schema(folder: &str) -> Value {
    let (name, definition) = folder.split_once("--").unwrap_or((folder, ""));
    let mut whole = file(&format!("exchange/v1/{name}.schema.json"));
    if definition.is_empty() { whole } else { whole["$defs"][definition].take() }
}

/// The members that a schema itself declares, sorted.
fn members(folder: &str) -> Vec<String> {
    let schema = schema(folder);
    let properties = schema["properties"].as_object().unwrap_or_else(|| panic!("{folder}: no properties"));
    let mut names: Vec<String> = properties.keys().cloned().collect();
    names.sort();
    names
}

/// Every schema file: its name and its content.
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
