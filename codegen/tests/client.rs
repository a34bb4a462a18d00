//! The contract of the case `hangar`, with everything that another engine cannot carry by itself,
//! through `lower`, progenitor and `refine`. What is expected stands in `client/`; `UPDATE=1`
//! writes it anew.

#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::{fs, path::Path};

use contract_codegen::{
    Project, Sources,
    diagnostics::Diagnostics,
    engines::{self, Engines},
};

fn hangar() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/hangar/input.json");
    fs::read_to_string(path).unwrap()
}

/// The lowered document, the losses, what the second opinion says.
fn lowered(document: &str) -> (String, Vec<String>, Diagnostics) {
    let sources =
        Sources::from_texts(&[("api.json", "https://exchange.example/api.json", document)]).unwrap();
    let mut project = Project::default();
    project.config.client.transport_headers = vec!["dpop".to_owned()];
    let contract = project.understand(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let (lowered, diagnostics) = engines::lowered(&project, &contract, &Engines::here());
    let text = serde_json::to_string_pretty(&lowered.document).unwrap() + "\n";
    let losses = lowered.losses.iter();
    let losses = losses.map(|loss| format!("{}: {} -> {}", loss.place.pointer, loss.what, loss.enforced));
    (text, losses.collect(), diagnostics)
}

fn expect(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/client").join(name);
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == text,
        "{name} differs; look at it and run `UPDATE=1 cargo test -p contract-codegen --test client`"
    );
}

#[test]
fn the_lowered_document_is_plain_openapi_3_0_and_its_reader_agrees() {
    let (document, losses, diagnostics) = lowered(&hangar());
    assert!(diagnostics.is_empty(), "{diagnostics}");
    expect("lowered.json", &document);
    expect("losses.txt", &(losses.join("\n") + "\n"));
}

/// `nullable` adds `null` to the `type` beside it, and does nothing where there is none.
#[test]
fn null_is_said_so_that_the_letter_of_openapi_3_0_allows_it() {
    let nullable = |schema: &str| {
        let item = format!(
            r#"{{"get": {{"operationId": "odd", "responses": {{"200": {{"description": "", "content": {{
                "application/json": {{"schema": {{"anyOf": [{schema}, {{"type": "null"}}]}}}}}}}}}}}}}}"#
        );
        let (document, ..) = lowered(&with("/odd", &item));
        let document: serde_json::Value = serde_json::from_str(&document).unwrap();
        let link = document.pointer("/paths/~1odd/get/responses/200/content/application~1json/schema/$ref");
        let pointer = link.and_then(|link| link.as_str()).unwrap().trim_start_matches('#').to_owned();
        document.pointer(&pointer).unwrap().clone()
    };
    assert_eq!(nullable(r#"{"type": "string"}"#), serde_json::json!({"type": "string", "nullable": true}));
    let ship = nullable(r##"{"$ref": "#/components/schemas/Ship"}"##);
    assert_eq!(ship["anyOf"][1], serde_json::json!({"enum": [null], "nullable": true}), "{ship}");
    assert_eq!(ship.get("nullable"), None, "{ship}");
}

/// A document with one more operation.
fn with(path: &str, item: &str) -> String {
    hangar().replacen(r#""paths": {"#, &format!(r#""paths": {{"{path}": {item},"#), 1)
}

/// What no client can send is refused by name, or left out with a warning; the rest stays.
#[test]
fn impossible_operations_are_refused_or_skipped() {
    let check = |path: &str, item: &str, reason: &str| {
        let generate = |skip: bool| {
            let document = with(path, item);
            let sources =
                Sources::from_texts(&[("api.json", "https://exchange.example/api.json", &document)]).unwrap();
            let mut project = Project::default();
            project.config.client.skip_unsupported = Some(skip);
            project.emit(project.understand(sources).unwrap())
        };
        let refused = generate(false).unwrap_err();
        let messages: Vec<&str> = refused.iter().map(|each| each.message.as_str()).collect();
        let named = messages.iter().find(|message| message.starts_with("`odd` has no method in the client"));
        assert!(named.is_some_and(|message| message.contains(reason)), "{messages:?}");
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
        "is no media type that a client can send",
    );
    let header = r#""parameters": [{"name": "X Odd", "in": "header", "required": true, "schema": {}}]"#;
    check(
        "/odd",
        &format!(r#"{{"get": {{"operationId": "odd", {header}, {ok}}}}}"#),
        "is no name of a header",
    );
}

/// What progenitor cannot carry is decided without asking it, and is said to lack the second opinion.
#[test]
fn operations_beyond_progenitor_are_named() {
    let check = |parameter: &str, reason: &str| {
        let item = format!(
            r#"{{"get": {{"operationId": "odd", "parameters": [{parameter}], "responses": {{"204": {{"description": ""}}}}}}}}"#
        );
        let (_, losses, diagnostics) = lowered(&with("/odd/{at}", &item));
        assert!(diagnostics.is_empty(), "{diagnostics}");
        let said: Vec<_> = losses.iter().filter(|loss| loss.contains("the operation: ")).collect();
        assert!(said.iter().any(|loss| loss.contains(reason)), "{reason} in {said:?}");
    };
    let at = r#"{"name": "at", "in": "path", "required": true, "schema": {"type": "string"}}"#;
    let ship = r##""schema": {"$ref": "#/components/schemas/Ship"}"##;
    check(
        &format!(r#"{at}, {{"name": "session", "in": "cookie", "schema": {{"type": "string"}}}}"#),
        "`session` is a cookie",
    );
    check(
        &format!(r#"{at}, {{"name": "filter", "in": "query", {ship}}}"#),
        "neither a plain value nor a list",
    );
    check(
        &format!(r#"{at}, {{"name": "filter", "in": "query", "style": "deepObject", {ship}}}"#),
        "the style `deepObject`",
    );
    check(&at.replace(r#""in": "path","#, r#""in": "path", "style": "matrix","#), "the style `matrix`");
}
