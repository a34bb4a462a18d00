//! Tests of operations that a client cannot send, which are added to the contract of the case `hangar`.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use contract_codegen::{Project, Sources};

fn read_hangar() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hangar/input.json");
    fs::read_to_string(path).unwrap()
}

/// Returns the contract with an additional operation.
fn add_operation(path: &str, item: &str) -> String {
    read_hangar().replacen(r#""paths": {"#, &format!(r#""paths": {{"{path}": {item},"#), 1)
}

/// An operation that a client cannot send is reported as an error with its name, or skipped with a warning.
#[test]
fn unsupported_operations_are_rejected_or_skipped() {
    let check = |path: &str, item: &str, reason: &str| {
        let generate = |skip: bool| {
            let document = add_operation(path, item);
            let sources =
                Sources::from_texts(&[("api.json", "https://exchange.example/api.json", &document)]).unwrap();
            let mut project = Project::default();
            project.config.client.skip_unsupported = Some(skip);
            project.generate_from(project.analyze_sources(sources).unwrap())
        };
        let errors = generate(false).unwrap_err();
        let messages: Vec<&str> = errors.iter().map(|each| each.message.as_str()).collect();
        let message_of_odd =
            messages.iter().find(|message| message.starts_with("`odd` has no method in the client"));
        assert!(message_of_odd.is_some_and(|message| message.contains(reason)), "{messages:?}");
        let generated = generate(true).unwrap_or_else(|problems| panic!("{problems}"));
        let client = generated
            .files
            .iter()
            .find(|(name, _)| name.ends_with("src/client.rs") && !name.starts_with("runtime"))
            .unwrap()
            .1;
        assert!(!client.contains("fn odd") && client.contains("fn ships_read"));
    };
    let ok = r#""responses": {"204": {"description": ""}}"#;
    let body = r#""requestBody": {"content": {"text/plain; charset=sch\u00f6n": {}}}"#;
    check(
        "/odd",
        &format!(r#"{{"post": {{"operationId": "odd", {body}, {ok}}}}}"#),
        "a client cannot send the media type",
    );
    let header = r#""parameters": [{"name": "X Odd", "in": "header", "required": true, "schema": {}}]"#;
    check(
        "/odd",
        &format!(r#"{{"get": {{"operationId": "odd", {header}, {ok}}}}}"#),
        "is not a valid header name",
    );
}
