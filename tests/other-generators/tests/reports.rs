//! Other generators, run for real: what they keep and refuse, or never come back from, is told.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use contract_codegen::{AnalyzedContract, Project, Sources, lower::openapi_30};
use other_generators::{Engines, Opinion, Row, opinions};

/// Each run as a process of the command itself.
fn engines() -> Engines {
    Engines::of(PathBuf::from(env!("CARGO_BIN_EXE_other-generators")))
}

fn of_text(text: &str) -> AnalyzedContract {
    let sources = Sources::from_texts(&[("a.json", "https://a.example/a.json", text)]).unwrap();
    Project::default().analyze_sources(sources).unwrap()
}

#[track_caller]
fn row<'o>(opinions: &'o [Opinion], engine: &str, construct: &str) -> &'o Row {
    let opinion = opinions.iter().find(|opinion| opinion.engine == engine).unwrap();
    let found = opinion.rows.iter().find(|row| row.construct == construct);
    found.unwrap_or_else(|| panic!("{construct} is not among {:?}", opinion.rows))
}

/// Each keyword is judged by documents that break it alone.
#[test]
fn rules_are_measured_on_types() {
    let contract = of_text(
        r#"{"$id": "https://a.example/a.json", "type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "minLength": 2, "maxLength": 5, "pattern": "^[a-z]+$"},
            "seat": {"type": "integer", "minimum": 1, "maximum": 99},
            "price": {"type": "number", "multipleOf": 0.01},
            "tags": {"type": "array", "items": {"enum": ["A", "B"]}, "uniqueItems": true},
            "list": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
            "open": {"type": "boolean", "default": true},
            "note": {"type": ["string", "null"]}
        }}"#,
    );
    let opinions = opinions(&contract, &engines());
    let counts = |construct: &str| {
        let row = row(&opinions, "typify", construct);
        (row.kept, row.dropped)
    };
    for kept in ["minLength", "maxLength", "pattern", "required", "enum", "default"] {
        assert_eq!(counts(kept), (1, 0), "{kept}");
    }
    for dropped in ["maximum", "multipleOf", "uniqueItems", "maxItems"] {
        assert_eq!(counts(dropped), (0, 1), "{dropped}");
    }
    assert!(row(&opinions, "typify", "maximum").places[0].contains("a.json:3"), "{opinions:?}");
    assert!(counts("valid documents: `null` against absent").1 > 0);
    assert!(counts("valid documents: members without a field").1 > 0);
}

/// What panics in there is one refusal here, and costs nothing else.
#[test]
fn a_panic_is_a_refusal_of_one_schema() {
    let contract = of_text(
        r##"{"$id": "https://a.example/a.json", "$defs": {
            "odd": {"type": "string", "enum": ["a", "A"]},
            "even": {"type": "object", "properties": {"odd": {"$ref": "#/$defs/odd"}, "n": {"type": "string", "maxLength": 3}}}
        }}"##,
    );
    let opinions = opinions(&contract, &engines());
    let refusals = &opinions[0].refusals;
    assert!(
        refusals
            .iter()
            .any(|each| each.place.ends_with("#/$defs/odd") && each.reason.starts_with("it panics"))
    );
    assert_eq!(row(&opinions, "typify", "maxLength").kept, 1, "{opinions:?}");
    // It is taken in fewer words then, without its list.
    assert_eq!(row(&opinions, "typify", "enum").dropped, 1, "{opinions:?}");
}

/// progenitor's methods are held against the operations.
#[test]
fn operations_are_measured_on_methods() {
    let contract = of_text(
        r#"{"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "paths": {
            "/a/{id}": {"get": {"operationId": "a", "parameters": [
                {"name": "id", "in": "path", "required": true, "schema": {"type": "string"}},
                {"name": "Page-Size", "in": "query", "schema": {"type": "integer"}},
                {"name": "X-Note", "in": "header", "schema": {"type": "string"}}
            ], "responses": {"200": {"description": "", "headers": {"ETag": {"schema": {"type": "string"}}},
                "content": {"application/json": {"schema": {"type": "string"}}}}}}},
            "/b": {"post": {"operationId": "b", "requestBody": {"content": {
                "application/json": {"schema": {"type": "string"}}, "text/plain": {"schema": {"type": "string"}}
            }}, "responses": {"204": {"description": ""}}}}
        }}"#,
    );
    let opinions = opinions(&contract, &engines());
    for kept in [
        "parameter in the path",
        "parameter in the query",
        "parameter in a header",
        "media type of an answer",
    ] {
        let row = row(&opinions, "progenitor", kept);
        assert_eq!((row.kept, row.dropped), (1, 0), "{kept}: {:?}", row.places);
    }
    assert_eq!(row(&opinions, "progenitor", "header of an answer").dropped, 1);
    assert_eq!(row(&opinions, "progenitor", "media type of a request").refused, 2);
    assert!(opinions[0].refusals[0].reason.contains("more media types than expected"), "{opinions:?}");
}

/// What stands behind a path, and several operations of one path and method, make no document that nobody reads.
#[test]
fn operations_of_one_path_are_measured_one_by_one() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../codegen/tests/cases/operations_apart/input/api.yaml");
    let project = Project { inputs: vec![input], ..Project::default() };
    let contract = project.read_contract().unwrap();
    let opinions = opinions(&contract, &engines());
    assert_eq!(opinions[0].refusals, []);
    let lowered = openapi_30(&contract).value;
    let paths: Vec<&str> = lowered["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(paths, ["/", "/#2", "/machines/{id}", "/machines/{id}#2", "/near", "/rest", "/rest#2"]);
    let parameters = lowered["paths"]["/rest"]["get"]["parameters"].as_array().unwrap();
    let named = |wire: &str| parameters.iter().find(|each| each["name"] == wire).unwrap();
    assert_eq!(named("of")["schema"]["enum"][0], "a b");
}

/// A second reading of a contract, by progenitor from what is lowered, is the same as ours: where they differ in a line, a
/// name, a body or a status, one of them is wrong, unless progenitor has no form for it.
#[test]
fn progenitor_reads_the_hangar_as_we_do() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../codegen/tests/cases/hangar/input.json");
    let project = Project { inputs: vec![input], ..Project::default() };
    let opinions = opinions(&project.read_contract().unwrap(), &engines());
    let refused: Vec<&str> =
        opinions[0].refusals.iter().map(|refusal| refusal.place.rsplit('#').next().unwrap()).collect();
    let beyond =
        ["/ships~1changes/post", "/ships~1{body}/delete", "/ships~1import/post", "/manual~1{name}/put"];
    assert_eq!(refused, beyond.map(|operation| format!("/paths/~1{}", &operation[1..])));
    // One operation redirects, and says in headers and in a second media type why it refuses.
    let dropped: Vec<(&str, usize, usize)> = opinions[0]
        .rows
        .iter()
        .filter(|row| row.dropped + row.unasked > 0)
        .map(|row| (&*row.construct, row.dropped, row.unasked))
        .collect();
    assert_eq!(dropped, [("header of an answer", 2, 0), ("media type of an answer", 2, 0), ("status", 1, 0)]);
    assert_eq!(row(&opinions, "progenitor", "method and path").kept, 3);
}

/// A run without an end is ended.
#[cfg(unix)]
#[test]
fn a_run_without_an_end_is_ended() {
    use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless-engine");
    fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let engines = Engines::of(program).within(Duration::from_millis(50));
    let contract = of_text(r#"{"$id": "https://a.example/a.json", "type": "string", "maxLength": 3}"#);
    let opinions = opinions(&contract, &engines);
    assert!(opinions[0].refusals[0].reason.starts_with("no end after"), "{opinions:?}");
    assert_eq!(row(&opinions, "typify", "maxLength").refused, 1);
}

/// After a few runs without an end nobody waits for more.
#[cfg(unix)]
#[test]
fn only_a_few_runs_without_an_end_are_waited_for() {
    use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("endless-engines");
    let runs = program.with_extension("runs");
    let _ = fs::remove_file(&runs);
    fs::write(&program, "#!/bin/sh\necho run >> \"$0.runs\"\nexec sleep 600\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let engines = Engines::of(program).within(Duration::from_millis(200));
    let schemas: Vec<String> = (0..64).map(|at| format!(r#""s{at}": {{"type": "string"}}"#)).collect();
    let paths: Vec<String> = (0..64)
        .map(|at| format!(r#""/p{at}": {{"get": {{"operationId": "o{at}", "responses": {{"204": {{"description": ""}}}}}}}}"#))
        .collect();
    let contract = of_text(&format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}},
            "paths": {{{}}}, "components": {{"schemas": {{{}}}}}}}"#,
        paths.join(","),
        schemas.join(",")
    ));
    let opinions = opinions(&contract, &engines);
    for opinion in &opinions {
        assert_eq!(opinion.refusals.len(), 64, "{opinion:?}");
    }
    // Three of each generator.
    let runs = fs::read_to_string(runs).unwrap().lines().count();
    assert!(runs <= 6, "{runs}");
}

/// The command prints what the book shows.
#[test]
fn the_command_prints_the_output_in_the_book() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book/why.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = |start: &str| {
        let rest = page.rsplit_once(start).unwrap().1;
        rest.split_once("\n```").unwrap().0
    };
    let document = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tickets.yaml");
    std::fs::write(&document, block("```yaml\n")).unwrap();
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_other-generators")).arg(&document).output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{printed}");
    let missing = block("```text\n").lines().find(|line| !printed.contains(line));
    assert_eq!(missing, None, "{printed}");
}
