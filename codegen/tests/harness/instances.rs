//! Tests that parse and validate the documents of each case with the generated types.

use std::path::Path;

use contract_runtime::{Json, Number};

use crate::{
    compiled,
    folder::{Case, entries, file_name, read},
    model::Model,
};

/// A document, and the type that parses it.
pub(crate) struct Instance {
    /// The path of the document, such as `union_open/invalid/unknown.json`.
    pub(crate) name: String,
    /// The name of the type; `None` for the type of the root schema.
    pub(crate) ty: Option<String>,
    pub(crate) bytes: Vec<u8>,
    /// The pointer and the keyword of each violation; `None` if the document is valid.
    pub(crate) expect: Option<Vec<(String, String)>>,
}

/// Returns all documents of a case.
pub(crate) fn instances(case: &Case) -> Vec<Instance> {
    let mut instances = Vec::new();
    for kind in ["valid", "invalid"] {
        for path in entries(&case.folder.join(kind)) {
            let file = file_name(&path);
            if file.ends_with(".expect.json") {
                continue;
            }
            let expect = (kind == "invalid").then(|| read_expectation(&path.with_extension("expect.json")));
            instances.push(Instance {
                name: format!("{}/{kind}/{file}", case.name),
                ty: file.split_once("--").map(|(ty, _)| ty.to_owned()),
                bytes: read(&path),
                expect,
            });
        }
    }
    instances
}

fn read_expectation(path: &Path) -> Vec<(String, String)> {
    let json = Json::parse(&read(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let entry = |entry: &Json, name: &str| -> String {
        let value = entry.as_object().and_then(|o| o.get(name)).and_then(Json::as_str);
        value.unwrap_or_else(|| panic!("{}: an entry has no {name}", path.display())).to_owned()
    };
    let list = json.as_array().unwrap_or_else(|| panic!("{}: not an array", path.display()));
    list.iter().map(|e| (entry(e, "pointer"), entry(e, "keyword"))).collect()
}

/// Returns the type that parses a document.
pub(crate) fn model(case: &Case, instance: &Instance) -> Model {
    let models = compiled::models(&case.name).unwrap_or_else(|| panic!("{}: not compiled", case.name));
    let of_root = |m: &Model| {
        let location = m.validator.schema_location();
        location.ends_with("input.json#") || location.ends_with("root.json#")
    };
    let found = match &instance.ty {
        Some(name) => models.iter().find(|m| m.name == *name),
        // The types of the root schema's branches have the same location and longer names.
        None => models.iter().filter(|m| of_root(m)).min_by_key(|m| m.name.len()),
    };
    found.cloned().unwrap_or_else(|| panic!("{}: no matching type", instance.name))
}

fn accepted_cases() -> impl Iterator<Item = (Case, Vec<Instance>)> {
    Case::all().into_iter().filter(|case| !case.is_refused()).map(|case| {
        let instances = instances(&case);
        (case, instances)
    })
}

#[test]
fn every_case_has_documents() {
    for (case, instances) in accepted_cases() {
        assert!(instances.iter().any(|i| i.expect.is_none()), "{}: no valid document", case.name);
        assert!(instances.iter().any(|i| i.expect.is_some()), "{}: no invalid document", case.name);
    }
}

#[test]
fn valid_documents_round_trip() {
    let mut problems = Vec::new();
    for (case, instances) in accepted_cases() {
        for instance in instances.iter().filter(|i| i.expect.is_none()) {
            let outcome = (model(&case, instance).check)(&instance.bytes);
            let source = Json::parse(&instance.bytes).unwrap();
            if outcome.failure.is_some()
                || !outcome.checked.is_empty()
                || outcome.typed.as_ref().is_none_or(|t| !t.is_empty())
            {
                problems.push(format!("{}: rejected: {outcome:?}", instance.name));
            }
            match &outcome.written {
                Some(written) if is_same_document(&source, written) => {}
                other => problems.push(format!("{}: serialized as {other:?}", instance.name)),
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

#[test]
fn invalid_documents_report_exactly_the_expected_violations() {
    let mut problems = Vec::new();
    for (case, instances) in accepted_cases() {
        for instance in &instances {
            let Some(expect) = &instance.expect else { continue };
            let model = model(&case, instance);
            let outcome = (model.check)(&instance.bytes);
            let json = Json::parse(&instance.bytes).unwrap();
            let tables =
                model.validator.validate(&json).map_or_else(|e| crate::model::pairs(&e), |()| Vec::new());
            let mut differs = |stage: &str, found: &[(String, String)]| {
                if found != *expect {
                    problems.push(format!(
                        "{} ({stage})\n  expected {expect:?}\n  found    {found:?} {:?}",
                        instance.name, outcome.failure
                    ));
                }
            };
            differs("from bytes", &outcome.checked);
            differs("tables", &tables);
            if let Some(typed) = &outcome.typed {
                differs("typed", typed);
            }
        }
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
}

/// Returns true if two documents are equal. Numbers must have the same digits. As an exception, an integer
/// such as `1.0` equals `1`.
fn is_same_document(a: &Json, b: &Json) -> bool {
    match (a, b) {
        (Json::Number(a), Json::Number(b)) => {
            a.to_json_text() == b.to_json_text() || (a.is_integer() && is_same_integer(a, b))
        }
        (Json::Array(a), Json::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_same_document(a, b))
        }
        (Json::Object(a), Json::Object(b)) => {
            a.len() == b.len()
                && a.iter().all(|(name, a)| b.get(name).is_some_and(|b| is_same_document(a, b)))
        }
        (a, b) => a == b,
    }
}

fn is_same_integer(a: &Number, b: &Number) -> bool {
    a == b && b.as_i128().is_some_and(|n| n.to_string() == b.to_json_text())
}
