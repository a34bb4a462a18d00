//! Tests of requests and responses.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::PlaygroundSession;

const SEAT: &str = "openapi: 3.1.0\ninfo: { title: Seats, version: '1' }\npaths: {}\ncomponents:\n  schemas:\n    Seat:\n      type: object\n      required: [row]\n      properties:\n        row: { type: integer, minimum: 1 }\n";

fn handle(session: &mut PlaygroundSession, request: &Value) -> Value {
    session.handle_request(&request.to_string()).parse().unwrap()
}

fn generate(text: &str, options: &str) -> Value {
    let request =
        json!({ "op": "generate", "files": [{ "name": "a.yaml", "text": text }], "options": options });
    handle(&mut PlaygroundSession::default(), &request)
}

fn file<'a>(response: &'a Value, name: &str) -> &'a str {
    let files = response["files"].as_array().unwrap();
    let found = files.iter().find(|file| file["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {files:?}"))["text"].as_str().unwrap()
}

/// Returns the examples: the name of the folder, and its files by name.
fn examples() -> Vec<(String, Vec<(String, String)>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let list = |folder: &Path| -> Vec<PathBuf> {
        let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    let files = |folder: &Path| {
        list(folder).iter().map(|path| (name(path), fs::read_to_string(path).unwrap())).collect()
    };
    list(&folder).iter().map(|folder| (name(folder), files(folder))).collect()
}

#[test]
fn examples_generate_code_without_diagnostics() {
    let all = examples();
    assert!(all.len() > 5);
    for (name, files) in &all {
        let options = files.iter().find(|(name, _)| name == "codegen.toml");
        for (file, text) in files.iter().filter(|(name, _)| name != "codegen.toml") {
            let request = json!({
                "op": "generate",
                "files": [{ "name": file, "text": text }],
                "options": options.map_or("", |(_, text)| text),
            });
            let response = handle(&mut PlaygroundSession::default(), &request);
            assert_eq!(response["diagnostics"]["list"], json!([]), "{name}/{file}");
            assert!(response["files"].as_array().unwrap().len() > 1, "{name}/{file}");
        }
    }
}

#[test]
fn drift_example_has_breaking_and_other_changes() {
    let (_, files) = examples().into_iter().find(|(name, _)| name == "drift").unwrap();
    let [old, new] = &files[..] else { panic!("two versions") };
    let version = |(name, text): &(String, String)| json!([{ "name": name, "text": text }]);
    let request = json!({ "op": "drift", "old": version(old), "new": version(new), "report": true });
    let response = handle(&mut PlaygroundSession::default(), &request);
    assert_eq!((&response["result"], &response["bump"]), (&json!("breaking"), &json!("major")));
    let changes = response["changes"].as_array().unwrap();
    let levels: Vec<&str> = changes.iter().map(|change| change["level"].as_str().unwrap()).collect();
    assert_eq!(levels.first(), Some(&"breaking"));
    assert_eq!(levels.last(), Some(&"additive"), "{levels:?}");
    let narrowed = changes.iter().find(|change| change["rule"] == "range-narrowed").unwrap();
    assert_eq!(narrowed["old"]["file"], "orders-1.yaml");
    assert_eq!(narrowed["new"]["line"], 27);
    assert_eq!(narrowed["proven"], true);
    assert!(response["report"].as_str().unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn invalid_versions_are_reported() {
    let request = json!({
        "op": "drift",
        "old": [{ "name": "a.yaml", "text": SEAT }],
        "new": [{ "name": "b.yaml", "text": "a: [" }],
    });
    let response = handle(&mut PlaygroundSession::default(), &request);
    assert_eq!(response["problems"]["old"], Value::Null);
    assert_eq!(response["problems"]["new"]["list"][0]["place"]["file"], "b.yaml");
}

/// The files are the modules, without the package, unless the options request another layout.
#[test]
fn layout_is_modules_by_default() {
    let response = generate(SEAT, "");
    assert!(file(&response, "models.rs").contains("pub struct Seat"), "{response}");
    let names = |response: &Value| -> Vec<String> {
        let files = response["files"].as_array().unwrap().iter();
        files.map(|file| file["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(!names(&response).iter().any(|name| name.contains(['/']) || name.starts_with('.')));
    let package =
        names(&generate(SEAT, "inputs = [\"b.yaml\"]\n[output]\npath = \"out\"\nlayout = \"crate\""));
    assert!(package.contains(&"Cargo.toml".to_owned()), "{package:?}");
    assert!(!package.iter().any(|name| name.starts_with("runtime/")), "{package:?}");
}

#[test]
fn values_of_the_form_replace_the_options() {
    let values = json!({ "output": { "layout": "file" }, "types": { "machine-integers": true } });
    let request = json!({
        "op": "generate",
        "files": [{ "name": "a.yaml", "text": SEAT.replace("integer,", "integer, format: int32,") }],
        "values": values,
    });
    let response = handle(&mut PlaygroundSession::default(), &request);
    assert_eq!(
        response["options"]["text"],
        "[output]\nlayout = \"file\"\n\n[types]\nmachine-integers = true\n"
    );
    assert_eq!(response["options"]["values"], values);
    assert!(file(&response, "api.rs").contains("pub row: i32"), "{response}");
}

#[test]
fn invalid_options_have_a_location() {
    let place = |options: &str| {
        let response = generate(SEAT, options);
        let first = response["diagnostics"]["list"][0].clone();
        assert_eq!(first["severity"], "error", "{first}");
        (
            first["place"]["file"].clone(),
            first["place"]["line"].clone(),
            response["options"]["values"].clone(),
        )
    };
    let file = json!("codegen.toml");
    assert_eq!(place("[output"), (file.clone(), json!(1), Value::Null));
    assert_eq!(place("[output]\nclient = 3"), (file.clone(), json!(2), json!({ "output": { "client": 3 } })));
    assert_eq!(place("\nunknown = 1"), (file, json!(2), json!({ "unknown": 1 })));
    let unused = generate(SEAT, "open = [\"#/none\"]");
    assert_eq!(unused["diagnostics"]["list"][0]["place"]["file"], "codegen.toml", "{unused}");
}

#[test]
fn faults_have_a_range_and_a_related_place() {
    let response = generate(&SEAT.replace("minimum: 1", "minimum: 1, $ref: '#/none'"), "");
    let first = &response["diagnostics"]["list"][0];
    assert_eq!((&first["severity"], &first["place"]["line"]), (&json!("warning"), &json!(10)), "{first}");
    let column = |name: &str| first["place"][name].as_u64().unwrap();
    assert!(column("endColumn") > column("column"), "{first}");
    assert_eq!(response["diagnostics"]["total"], 1);
}

#[test]
fn documents_refer_to_each_other() {
    let request = json!({ "op": "generate", "files": [
        { "name": "a.yaml", "text": "$defs: { seat: { $ref: 'b.json#/$defs/row' } }" },
        { "name": "b.json", "text": r#"{ "$defs": { "row": { "type": "object", "properties": { "x": { "type": "boolean" } } } } }"# },
    ] });
    let response = handle(&mut PlaygroundSession::default(), &request);
    assert_eq!(response["diagnostics"]["list"], json!([]));
    let code: String =
        response["files"].as_array().unwrap().iter().map(|file| file["text"].to_string()).collect();
    assert!(code.contains("pub struct Row"), "{code}");
}

#[test]
fn names_and_positions_are_explained() {
    let mut session = PlaygroundSession::default();
    let explain = json!({ "op": "explain", "name": "Seat.row" });
    assert!(handle(&mut session, &explain)["error"].as_str().unwrap().contains("no code"));
    handle(
        &mut session,
        &json!({ "op": "generate", "files": [{ "name": "a.yaml", "text": SEAT }], "options": "" }),
    );
    let found = handle(&mut session, &explain);
    assert_eq!(found["found"][0]["title"], "Seat.row, `row` on the wire");
    assert!(found["found"][0]["origins"][0].as_str().unwrap().starts_with("a.yaml:10 #/"));
    let at = |session: &mut PlaygroundSession, line: usize, column: usize| {
        handle(session, &json!({ "op": "explain", "file": "a.yaml", "line": line, "column": column }))
    };
    // The value, its key, and the space before the key.
    for column in [20, 10, 1] {
        assert_eq!(at(&mut session, 10, column), found, "{column}");
    }
    assert_eq!(at(&mut session, 6, 1)["found"][0]["title"], "struct Seat, in module `models`");
    assert_eq!(at(&mut session, 7, 12)["found"][0]["title"], "struct Seat, in module `models`");
    assert_eq!(at(&mut session, 1, 1), json!({ "found": [], "near": null }));
    let near = handle(&mut session, &json!({ "op": "explain", "name": "Seet" }));
    assert_eq!(near, json!({ "found": [], "near": "Seat" }));
    // A failed generation leaves no contract.
    handle(&mut session, &json!({ "op": "generate", "files": [{ "name": "a.yaml", "text": "a: [" }] }));
    assert!(handle(&mut session, &explain)["error"].is_string());
}

#[test]
fn invalid_requests_are_reported() {
    for request in ["", "{}", r#"{"op":"none"}"#, r#"{"op":"generate"}"#] {
        let response: Value = PlaygroundSession::default().handle_request(request).parse().unwrap();
        assert!(response["error"].as_str().unwrap().starts_with("invalid request"), "{response}");
    }
}
