//! The streams that a vendor publishes in its OpenAPI document, said byte for byte by a server of our own
//! and read by the client that is generated from that document.
//!
//! `cargo run -p contract-codegen --example vendor_streams -- openapi.json`, with the document of an LLM's
//! vendor that has an example of a stream beside its operations (`x-oaiMeta`). Each operation that takes
//! JSON and answers `text/event-stream` is generated as the document has it, with no options but for the ends
//! of streams, what may be sent twice, and the members that examples hold as `null` where their schemas do not
//! say so. Its program runs three
//! times: the stream in one piece, the same cut into single bytes, and one that is cut off in the middle of an
//! event and goes on over a second connection.
//! Every event has to come typed, in order, and to be the same JSON when it is written again. Published
//! events lack members that their schema requires by now (`sequence_number`): these are put in first.
//!
//! The package is left in `target/vendor-streams`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a tool of the tests"
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
    write::{Mode, apply},
};
use serde_json::{Value, json};

/// What runs within the package.
const PROGRAM: &str = include_str!("program.rs");

/// The server that it calls.
const SERVER: &str = include_str!("../../tests/streams_run/scripted.rs");

/// A published stream.
struct Published {
    operation: String,
    /// The method of the client.
    method: String,
    path: String,
    /// The example's request, JSON.
    request: Value,
    /// The JSON of its events.
    events: Vec<Value>,
    /// All of it, as it goes over a connection.
    stream: String,
}

fn main() -> ExitCode {
    let Some(document) = std::env::args().nth(1).map(PathBuf::from) else {
        eprintln!("usage: cargo run -p contract-codegen --example vendor_streams -- openapi.json");
        return ExitCode::from(2);
    };
    let document = document.canonicalize().unwrap();
    let (published, nulls) = published(&serde_json::from_slice(&fs::read(&document).unwrap()).unwrap());
    assert!(!published.is_empty(), "no operation of the document has an example of a stream");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let folder = workspace.join("target/vendor-streams");
    let _ = fs::remove_dir_all(folder.join("program"));
    fs::create_dir_all(folder.join("program/src")).unwrap();
    fs::write(folder.join("codegen.toml"), options(&document, &published, &nulls)).unwrap();
    let project = Project::from_config(&folder.join("codegen.toml")).unwrap_or_else(|said| panic!("{said}"));
    let generated = project.generate().unwrap_or_else(|said| panic!("{said}"));
    apply(&generated.files, &folder.join("vendor"), Mode::Write).unwrap();
    fs::write(folder.join("Cargo.toml"), WORKSPACE).unwrap();
    fs::write(folder.join("program/Cargo.toml"), PACKAGE).unwrap();
    fs::write(folder.join("program/src/main.rs"), program(&published)).unwrap();
    fs::write(folder.join("program/src/scripted.rs"), SERVER).unwrap();
    // The versions that everything else here is built with.
    fs::copy(workspace.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let status = Command::new(env!("CARGO"))
        .args(["run", "--offline", "--quiet", "--package", "program"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .current_dir(&folder)
        .status()
        .unwrap();
    if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Puts in what a value lacks of what the schema at a pointer requires, everywhere in it; numbers count from
/// `number`. `nulls` are the schemas of members that are `null` and may not be.
fn complete(document: &Value, pointer: &str, value: &mut Value, number: usize, nulls: &mut BTreeSet<String>) {
    let pointer = meant(document, pointer);
    let schema = document.pointer(&pointer).unwrap_or(&Value::Null);
    let parts = |key: &str| -> Vec<String> {
        let count = schema[key].as_array().map_or(0, Vec::len);
        (0..count).map(|at| format!("{pointer}/{key}/{at}")).collect()
    };
    let chosen = parts("anyOf").into_iter().chain(parts("oneOf")).find(|branch| {
        let branch = document.pointer(&meant(document, branch)).unwrap();
        let names = branch["properties"]["type"]["enum"].as_array();
        names.is_some_and(|names| names.contains(&value["type"]))
    });
    for part in chosen.into_iter().chain(parts("allOf")) {
        complete(document, &part, value, number, nulls);
    }
    if let Some(items) = value.as_array_mut() {
        let pointer = format!("{pointer}/items");
        items.iter_mut().for_each(|item| complete(document, &pointer, item, number, nulls));
    }
    let Some(members) = value.as_object_mut() else { return };
    let own = |name: &str| format!("{pointer}/properties/{}", name.replace('~', "~0").replace('/', "~1"));
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let member = document.pointer(&meant(document, &own(name))).unwrap_or(&Value::Null);
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
        complete(document, &own(name), member, number, nulls);
    }
}

/// Where the schema at a pointer stands, behind its references.
fn meant(document: &Value, pointer: &str) -> String {
    let reference = document.pointer(pointer).and_then(|schema| schema["$ref"].as_str());
    match reference.and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => meant(document, pointer),
        None => pointer.to_owned(),
    }
}

/// Whether the schema at a pointer says that a value may be `null`; where there is none, anything may.
fn is_nullable(document: &Value, pointer: &str) -> bool {
    let pointer = meant(document, pointer);
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

fn options(document: &Path, published: &[Published], nulls: &BTreeSet<String>) -> String {
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

/// The name of the event behind which nothing comes, where no text says so.
fn last_event(stream: &str) -> Option<&str> {
    let mut names = stream.lines().filter_map(|line| line.strip_prefix("event: "));
    names.next_back().filter(|_| !stream.contains("data: [DONE]"))
}

/// The streams of operations that take JSON, as the document has them, and where they hold a `null` that their
/// schemas do not allow.
fn published(document: &Value) -> (Vec<Published>, BTreeSet<String>) {
    let (mut all, mut nulls) = (Vec::new(), BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        // One path with another query is the same request with a member more.
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
                let Some(request) = request(example["request"]["curl"].as_str().unwrap()) else { continue };
                let id = operation["operationId"].as_str().unwrap();
                let (mut events, names) = events(example["response"].as_str().unwrap());
                for (number, event) in events.iter_mut().enumerate() {
                    complete(document, &pointer, event, number, &mut nulls);
                }
                all.push(Published {
                    operation: id.to_owned(),
                    method: snake(id),
                    path: path.clone(),
                    request,
                    stream: stream(&events, &names),
                    events,
                });
            }
        }
    }
    (all, nulls)
}

/// The JSON that a call of curl sends; none of a form.
fn request(curl: &str) -> Option<Value> {
    let (_, text) = curl.split_once("-d '")?;
    Some(serde_json::from_str(text.rsplit_once('\'').unwrap().0).unwrap())
}

/// What published events say, and how they are called. Some are published as their JSON alone, one a line.
fn events(text: &str) -> (Vec<Value>, Vec<String>) {
    let data = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
    let json = data.filter(|line| line.starts_with('{')).map(|json| serde_json::from_str(json).unwrap());
    let names = text.lines().filter_map(|line| line.strip_prefix("event: ")).map(ToOwned::to_owned);
    (json.collect(), names.collect())
}

/// Events as they go over a connection; where they have no names, a text says that they end.
fn stream(events: &[Value], names: &[String]) -> String {
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

fn snake(id: &str) -> String {
    let small = |letter: char| match letter.is_ascii_uppercase() {
        true => format!("_{}", letter.to_ascii_lowercase()),
        false => letter.to_string(),
    };
    id.chars().map(small).collect()
}

fn program(published: &[Published]) -> String {
    let calls = published.iter().fold(String::new(), |mut calls, one| {
        let Published { operation, method, path, request, events, stream } = one;
        let (request, events) = (request.to_string(), json!(events).to_string());
        let _ = writeln!(
            calls,
            "    let of = Published {{ operation: {operation:?}, path: {path:?}, request: {request:?}, events: \
             {events:?}, stream: {stream:?} }};\n    \
             judge!(of, {method}_stream);"
        );
        calls
    });
    PROGRAM.replace("    // The published streams stand here.\n", &calls)
}
