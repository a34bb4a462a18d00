//! The streams that a vendor publishes in its OpenAPI document, said byte for byte by a server of our own
//! and read by the client that is generated from that document.
//!
//! `cargo run -p contract-codegen --example vendor_streams -- openapi.json`, with the document of an LLM's
//! vendor that has an example of a stream beside its operations (`x-oaiMeta`). Each operation that takes
//! JSON and answers `text/event-stream` is generated as the document has it, with no options but for the ends
//! of streams, what may be sent twice, and two members that examples hold as `null`. Its program runs three
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
    let published = published(&serde_json::from_slice(&fs::read(&document).unwrap()).unwrap());
    assert!(!published.is_empty(), "no operation of the document has an example of a stream");
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap();
    let folder = workspace.join("target/vendor-streams");
    let _ = fs::remove_dir_all(folder.join("program"));
    fs::create_dir_all(folder.join("program/src")).unwrap();
    fs::write(folder.join("codegen.toml"), options(&document, &published)).unwrap();
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

/// Puts in what a value lacks of what its schema requires, everywhere in it; numbers count from `number`.
fn complete(document: &Value, schema: &Value, value: &mut Value, number: usize) {
    let meant = |schema: &Value| -> Value {
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        reference.map_or(schema, |pointer| document.pointer(pointer).unwrap()).clone()
    };
    let schema = meant(schema);
    let choices = ["anyOf", "oneOf"].into_iter().filter_map(|choice| schema[choice].as_array());
    let chosen = choices.flatten().map(meant).find(|branch| {
        let names = branch["properties"]["type"]["enum"].as_array();
        names.is_some_and(|names| names.contains(&value["type"]))
    });
    for part in chosen.iter().chain(schema["allOf"].as_array().into_iter().flatten()) {
        complete(document, part, value, number);
    }
    if let Some(items) = value.as_array_mut() {
        items.iter_mut().for_each(|item| complete(document, &schema["items"], item, number));
    }
    let Some(members) = value.as_object_mut() else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        let name = name.as_str().unwrap();
        let member = meant(&schema["properties"][name]);
        members.entry(name).or_insert_with(|| match member["type"].as_str() {
            Some("integer") => json!(number),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => member["enum"][0].clone(),
        });
    }
    for (name, member) in members {
        complete(document, &schema["properties"][name], member, number);
    }
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

/// What published events hold as `null`, where their schemas do not say so.
const NULLS: [&str; 2] = [
    "#/components/schemas/ModelResponseProperties/properties/user",
    "#/components/schemas/Response/allOf/2/properties/usage",
];

fn options(document: &Path, published: &[Published]) -> String {
    let operations: Vec<&str> = published.iter().map(|one| one.operation.as_str()).collect();
    let include: Vec<String> = operations.iter().map(|id| format!("{{ operation = {id:?} }}")).collect();
    let last: Vec<&str> = published.iter().filter_map(|one| last_event(&one.stream)).collect();
    format!(
        "inputs = [{document:?}]\nnullable = {NULLS:?}\npackage = 'vendor'\n[output]\nmember = true\n\
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

/// The streams of operations that take JSON, as the document has them.
fn published(document: &Value) -> Vec<Published> {
    let mut all = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        // One path with another query is the same request with a member more.
        for operation in item.as_object().unwrap().values().filter(|_| !path.contains(['?', '{'])) {
            let schema = &operation["responses"]["200"]["content"]["text/event-stream"]["schema"];
            if !schema.is_object() || !operation["requestBody"]["content"]["application/json"].is_object() {
                continue;
            }
            let examples = operation["x-oaiMeta"]["examples"].as_array().into_iter().flatten();
            for example in examples.filter(|example| example["title"] == "Streaming") {
                let Some(request) = request(example["request"]["curl"].as_str().unwrap()) else { continue };
                let id = operation["operationId"].as_str().unwrap();
                let (mut events, names) = events(example["response"].as_str().unwrap());
                for (number, event) in events.iter_mut().enumerate() {
                    complete(document, schema, event, number);
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
    all
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
