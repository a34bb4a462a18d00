//! Tests the streams that a vendor publishes in its OpenAPI document. A scripted server sends them byte for
//! byte, and the client that is generated from the document parses them.
//!
//! `cargo run -p contract-codegen --example vendor_streams -- openapi.json`, with the document of an LLM
//! vendor that contains example streams of its operations (`x-oaiMeta`). Code is generated for each operation
//! that accepts JSON and returns `text/event-stream`. The only configuration options are the end markers of
//! streams, idempotent operations, and properties that are `null` in examples although their schemas do not
//! allow it.
//!
//! For each operation, the program sends the stream in one piece, then in single bytes, and finally
//! interrupted within an event and continued over a second connection. Every event must be typed, in order,
//! and must serialize to the same JSON. The published examples are older than the schema and lack properties
//! that it now requires (`sequence_number`). The program adds these properties first.
//!
//! The package remains in `target/vendor-streams`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a tool panics on unexpected errors"
)]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use contract_codegen::{
    Project,
    write::{WriteMode, apply_files},
};
use serde_json::{Value, json};

/// The source of the program in the package.
const PROGRAM: &str = include_str!("program.rs");

/// The source of the scripted server.
const SERVER: &str = include_str!("../../tests/streams_run/scripted.rs");

/// A published stream.
struct PublishedStream {
    operation: String,
    /// The client method.
    method: String,
    path: String,
    /// The request of the example, as JSON.
    request: Value,
    /// The data of the events, as JSON.
    events: Vec<Value>,
    /// The whole stream, as sent over a connection.
    stream: String,
}

fn main() -> ExitCode {
    let Some(document) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: cargo run -p contract-codegen --example vendor_streams -- openapi.json");
        return ExitCode::from(2);
    };
    let document = document.canonicalize().unwrap();
    let (published, nulls) = find_streams(&serde_json::from_slice(&fs::read(&document).unwrap()).unwrap());
    assert!(!published.is_empty(), "no operation of the document has an example of a stream");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let folder = workspace.join("target/vendor-streams");
    let _ = fs::remove_dir_all(folder.join("program"));
    fs::create_dir_all(folder.join("program/src")).unwrap();
    fs::write(folder.join("codegen.toml"), codegen_options(&document, &published, &nulls)).unwrap();
    let project =
        Project::from_config(&folder.join("codegen.toml")).unwrap_or_else(|problems| panic!("{problems}"));
    let generated = project.generate().unwrap_or_else(|problems| panic!("{problems}"));
    apply_files(&generated.files, &folder.join("vendor"), WriteMode::Write).unwrap();
    fs::write(folder.join("Cargo.toml"), WORKSPACE).unwrap();
    fs::write(folder.join("program/Cargo.toml"), PACKAGE).unwrap();
    fs::write(folder.join("program/src/main.rs"), program_source(&published)).unwrap();
    fs::write(folder.join("program/src/scripted.rs"), SERVER).unwrap();
    // The package uses the same dependency versions as the workspace.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["run", "--offline", "--quiet", "--package", "program"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .current_dir(&folder)
        .status()
        .unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Adds missing properties that the schema at `pointer` requires, recursively; integers get the value
/// `number`. Adds to `nulls` the schemas of properties that are `null` although their schemas do not allow
/// it.
fn add_required_members(
    document: &Value,
    pointer: &str,
    value: &mut Value,
    number: usize,
    nulls: &mut BTreeSet<String>,
) {
    let pointer = resolve_pointer(document, pointer);
    let schema = document.pointer(&pointer).unwrap_or(&Value::Null);
    let parts = |key: &str| -> Vec<String> {
        let count = schema[key].as_array().map_or(0, Vec::len);
        (0..count).map(|at| format!("{pointer}/{key}/{at}")).collect()
    };
    let chosen = parts("anyOf").into_iter().chain(parts("oneOf")).find(|branch| {
        let branch = document.pointer(&resolve_pointer(document, branch)).unwrap();
        let names = branch["properties"]["type"]["enum"].as_array();
        names.is_some_and(|names| names.contains(&value["type"]))
    });
    for part in chosen.into_iter().chain(parts("allOf")) {
        add_required_members(document, &part, value, number, nulls);
    }
    if let Some(items) = value.as_array_mut() {
        let pointer = format!("{pointer}/items");
        items.iter_mut().for_each(|item| add_required_members(document, &pointer, item, number, nulls));
    }
    let Some(members) = value.as_object_mut() else { return };
    let own = |name: &str| format!("{pointer}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let member = document.pointer(&resolve_pointer(document, &own(name))).unwrap_or(&Value::Null);
        members.entry(name).or_insert_with(|| match member["type"].as_str() {
            Some("integer") => json!(number),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => member["enum"][0].clone(),
        });
    }
    for (name, member) in members {
        if member.is_null() && !is_nullable(document, &own(name)) {
            nulls.insert(format!("#{}", own(name)));
        }
        add_required_members(document, &own(name), member, number, nulls);
    }
}

/// Follows the references of the schema at a pointer.
fn resolve_pointer(document: &Value, pointer: &str) -> String {
    let reference = document.pointer(pointer).and_then(|schema| schema["$ref"].as_str());
    match reference.and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => resolve_pointer(document, pointer),
        None => pointer.to_owned(),
    }
}

/// Returns true if the schema at a pointer allows `null`, or if there is no schema.
fn is_nullable(document: &Value, pointer: &str) -> bool {
    let pointer = resolve_pointer(document, pointer);
    let Some(schema) = document.pointer(&pointer) else { return true };
    let of = |key: &str, at: usize| is_nullable(document, &format!("{pointer}/{key}/{at}"));
    let any = |key: &str| schema[key].as_array().is_none_or(|all| (0..all.len()).any(|at| of(key, at)));
    let all = schema["allOf"].as_array().is_none_or(|all| (0..all.len()).all(|at| of("allOf", at)));
    let typed = schema["type"].as_str().is_none_or(|name| name == "null" || schema["nullable"] == true);
    let listed = schema["type"].as_array().is_none_or(|names| names.contains(&json!("null")));
    all && any("anyOf") && any("oneOf") && typed && listed
}

const WORKSPACE: &str = "[workspace]\nresolver = \"3\"\nmembers = [\"program\", \"vendor\"]\n";

const PACKAGE: &str = r#"[package]
name = "program"
version = "0.0.0"
edition = "2024"

[dependencies]
contract-runtime = { path = "../vendor/runtime", package = "vendor-runtime" }
vendor = { path = "../vendor", features = ["client", "reqwest"] }
serde_json = "1"
tokio = { version = "1", features = ["io-util", "macros", "net", "rt"] }
"#;

fn codegen_options(document: &Path, published: &[PublishedStream], nulls: &BTreeSet<String>) -> String {
    let operations: Vec<&str> = published.iter().map(|one| one.operation.as_str()).collect();
    let include: Vec<String> = operations.iter().map(|id| format!("{{ operation = {id:?} }}")).collect();
    let nulls: Vec<&String> = nulls.iter().collect();
    let last: Vec<&str> = published.iter().filter_map(|one| last_event(&one.stream)).collect();
    format!(
        "inputs = [{document:?}]\nnullable = {nulls:?}\npackage = 'vendor'\n[output]\nmember = true\n\
         [streams]\nends = ['[DONE]']\nlast-events = {last:?}\n\
         [operations]\nidempotent = {operations:?}\ninclude = [{}]\n",
        include.join(", ")
    )
}

/// Returns the name of the last event, unless the data `[DONE]` ends the stream.
fn last_event(stream: &str) -> Option<&str> {
    let mut names = stream.lines().filter_map(|line| line.strip_prefix("event: "));
    names.next_back().filter(|_| !stream.contains("data: [DONE]"))
}

/// Returns the example streams of operations that accept JSON, and the schemas of properties that are
/// unexpectedly `null`.
fn find_streams(document: &Value) -> (Vec<PublishedStream>, BTreeSet<String>) {
    let (mut all, mut nulls) = (Vec::new(), BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        // A path with a query stands for the same request with an additional property.
        for (method, operation) in item.as_object().unwrap().iter().filter(|_| !path.contains(['?', '{'])) {
            let key = path.replace('/', "~1");
            let pointer = format!("/paths/{key}/{method}/responses/200/content/text~1event-stream/schema");
            if document.pointer(&pointer).is_none()
                || !operation["requestBody"]["content"]["application/json"].is_object()
            {
                continue;
            }
            let examples = operation["x-oaiMeta"]["examples"].as_array().into_iter().flatten();
            for example in examples.filter(|example| example["title"] == "Streaming") {
                let Some(request) = parse_curl_body(example["request"]["curl"].as_str().unwrap()) else {
                    continue;
                };
                let id = operation["operationId"].as_str().unwrap();
                let (mut events, names) = parse_events(example["response"].as_str().unwrap());
                for (number, event) in events.iter_mut().enumerate() {
                    add_required_members(document, &pointer, event, number, &mut nulls);
                }
                all.push(PublishedStream {
                    operation: id.to_owned(),
                    method: snake_case(id),
                    path: path.clone(),
                    request,
                    stream: encode_stream(&events, &names),
                    events,
                });
            }
        }
    }
    (all, nulls)
}

/// Returns the JSON body of a curl command; `None` if the body is a form.
fn parse_curl_body(curl: &str) -> Option<Value> {
    let (_, text) = curl.split_once("-d '")?;
    Some(serde_json::from_str(text.rsplit_once('\'').unwrap().0).unwrap())
}

/// Returns the data and the names of published events. Some examples contain one line of JSON for each event.
fn parse_events(text: &str) -> (Vec<Value>, Vec<String>) {
    let data = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let json = data.filter(|line| line.starts_with('{')).map(|json| serde_json::from_str(json).unwrap());
    let names = text.lines().filter_map(|line| line.strip_prefix("event: ")).map(ToOwned::to_owned);
    (json.collect(), names.collect())
}

/// Encodes events for a connection; a stream without event names ends with `[DONE]`.
fn encode_stream(events: &[Value], names: &[String]) -> String {
    let mut stream = String::new();
    for (number, event) in events.iter().enumerate() {
        if let Some(name) = names.get(number) {
            let _ = writeln!(stream, "event: {name}");
        }
        let _ = write!(stream, "data: {event}\n\n");
    }
    if names.is_empty() {
        stream.push_str("data: [DONE]\n\n");
    }
    stream
}

fn snake_case(id: &str) -> String {
    let small = |letter: char| match letter.is_ascii_uppercase() {
        true => format!("_{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    id.chars().map(small).collect()
}

fn program_source(published: &[PublishedStream]) -> String {
    let calls = published.iter().fold(String::new(), |mut calls, one| {
        let PublishedStream { operation, method, path, request, events, stream } = one;
        let (request, events) = (request.to_string(), json!(events).to_string());
        let _ = writeln!(
            calls,
            "    let published = PublishedStream {{ operation: {operation:?}, path: {path:?}, request: {request:?}, events: \
             {events:?}, stream: {stream:?} }};\n    \
             check_stream!(published, {method}_stream);"
        );
        calls
    });
    PROGRAM.replace("    // Calls for the published streams are inserted here.\n", &calls)
}
