//! Runs the other generators in child processes and checks the reports about them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a panic is a test failure")]

use std::path::{Path, PathBuf};

use contract_codegen::{AnalyzedContract, Project, Sources, lower::to_openapi_30};
use other_generators::{ConstructRow, GeneratorReport, GeneratorRunner, run_generators};

/// Returns a runner that starts the command for each run.
fn runner() -> GeneratorRunner {
    GeneratorRunner::with_program(PathBuf::from(env!("CARGO_BIN_EXE_other-generators")))
}

fn parse_contract(text: &str) -> AnalyzedContract {
    let sources = Sources::from_texts(&[("a.json", "https://a.example/a.json", text)]).unwrap();
    Project::default().analyze_sources(sources).unwrap()
}

#[track_caller]
fn find_row<'r>(reports: &'r [GeneratorReport], generator: &str, construct: &str) -> &'r ConstructRow {
    let report = reports.iter().find(|report| report.generator == generator).unwrap();
    let row = report.rows.iter().find(|row| row.construct == construct);
    row.unwrap_or_else(|| panic!("{construct} is not among {:?}", report.rows))
}

/// A keyword is tested with documents that violate only this keyword, and counted as kept or dropped.
#[test]
fn keywords_are_counted_as_kept_or_dropped() {
    let contract = parse_contract(
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
    let reports = run_generators(&contract, &runner());
    let counts = |construct: &str| {
        let row = find_row(&reports, "typify", construct);
        (row.kept, row.dropped)
    };
    for kept in ["minLength", "maxLength", "pattern", "required", "enum", "default"] {
        assert_eq!(counts(kept), (1, 0), "{kept}");
    }
    for dropped in ["maximum", "multipleOf", "uniqueItems", "maxItems"] {
        assert_eq!(counts(dropped), (0, 1), "{dropped}");
    }
    assert!(find_row(&reports, "typify", "maximum").locations[0].contains("a.json:3"), "{reports:?}");
    assert!(counts("valid documents: explicit `null`").1 > 0);
    assert!(counts("valid documents: properties without a field").1 > 0);
}

/// If typify panics on one schema, the other schemas are still tested.
#[test]
fn panic_rejects_only_one_schema() {
    let contract = parse_contract(
        r##"{"$id": "https://a.example/a.json", "$defs": {
            "odd": {"type": "string", "enum": ["a", "A"]},
            "even": {"type": "object", "properties": {"odd": {"$ref": "#/$defs/odd"}, "n": {"type": "string", "maxLength": 3}}}
        }}"##,
    );
    let reports = run_generators(&contract, &runner());
    let rejections = &reports[0].rejections;
    assert!(
        rejections.iter().any(|rejection| rejection.location.ends_with("#/$defs/odd")
            && rejection.reason.starts_with("panicked"))
    );
    assert_eq!(find_row(&reports, "typify", "maxLength").kept, 1, "{reports:?}");
    // The schema is retried with fewer keywords, without `enum`.
    assert_eq!(find_row(&reports, "typify", "enum").dropped, 1, "{reports:?}");
}

#[test]
fn operations_are_compared_with_methods() {
    let contract = parse_contract(
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
    let reports = run_generators(&contract, &runner());
    for kept in ["path parameter", "query parameter", "header parameter", "response media type"] {
        let row = find_row(&reports, "progenitor", kept);
        assert_eq!((row.kept, row.dropped), (1, 0), "{kept}: {:?}", row.locations);
    }
    assert_eq!(find_row(&reports, "progenitor", "response header").dropped, 1);
    assert_eq!(find_row(&reports, "progenitor", "request media type").rejected, 2);
    assert!(reports[0].rejections[0].reason.contains("more media types than expected"), "{reports:?}");
}

/// Keys of `paths` stay unique if several operations share a path and a method, or a path has a query.
#[test]
fn operations_with_the_same_path_are_separate() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../codegen/tests/cases/operations_apart/input/api.yaml");
    let project = Project { inputs: vec![input], ..Project::default() };
    let contract = project.read_contract().unwrap();
    let reports = run_generators(&contract, &runner());
    assert_eq!(reports[0].rejections, []);
    let lowered = to_openapi_30(&contract).value;
    let paths: Vec<&str> = lowered["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(paths, ["/", "/#2", "/machines/{id}", "/machines/{id}#2", "/near", "/rest", "/rest#2"]);
    let parameters = lowered["paths"]["/rest"]["get"]["parameters"].as_array().unwrap();
    let find_parameter = |name: &str| parameters.iter().find(|each| each["name"] == name).unwrap();
    assert_eq!(find_parameter("of")["schema"]["enum"][0], "a b");
}

/// progenitor interprets the lowered contract as this generator does, except for constructs that it does not
/// support.
#[test]
fn progenitor_agrees_on_the_hangar_contract() {
    let input = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../codegen/tests/cases/hangar/input.json");
    let project = Project { inputs: vec![input], ..Project::default() };
    let reports = run_generators(&project.read_contract().unwrap(), &runner());
    let rejected: Vec<&str> = reports[0]
        .rejections
        .iter()
        .map(|rejection| rejection.location.rsplit('#').next().unwrap())
        .collect();
    let unsupported =
        ["/ships~1changes/post", "/ships~1{body}/delete", "/ships~1import/post", "/manual~1{name}/put"];
    assert_eq!(rejected, unsupported.map(|operation| format!("/paths/~1{}", &operation[1..])));
    // One operation redirects, and its errors are described in headers and in a second media type.
    let dropped: Vec<(&str, usize, usize)> = reports[0]
        .rows
        .iter()
        .filter(|row| row.dropped + row.untested > 0)
        .map(|row| (&*row.construct, row.dropped, row.untested))
        .collect();
    assert_eq!(dropped, [("response header", 2, 0), ("response media type", 2, 0), ("status", 1, 0)]);
    assert_eq!(find_row(&reports, "progenitor", "method and path").kept, 3);
}

#[cfg(unix)]
#[test]
fn run_is_stopped_at_the_timeout() {
    use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waiting-generator");
    fs::write(&program, "#!/bin/sh\nexec sleep 600\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let runner = GeneratorRunner::with_program(program).with_timeout(Duration::from_millis(50));
    let contract = parse_contract(r#"{"$id": "https://a.example/a.json", "type": "string", "maxLength": 3}"#);
    let reports = run_generators(&contract, &runner);
    assert!(reports[0].rejections[0].reason.starts_with("timed out after"), "{reports:?}");
    assert_eq!(find_row(&reports, "typify", "maxLength").rejected, 1);
}

/// After three timeouts no further runs are started.
#[cfg(unix)]
#[test]
fn number_of_timeouts_is_limited() {
    use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("waiting-generators");
    let runs = program.with_extension("runs");
    let _ = fs::remove_file(&runs);
    fs::write(&program, "#!/bin/sh\necho run >> \"$0.runs\"\nexec sleep 600\n").unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let runner = GeneratorRunner::with_program(program).with_timeout(Duration::from_millis(200));
    let schemas: Vec<String> = (0..64).map(|index| format!(r#""s{index}": {{"type": "string"}}"#)).collect();
    let paths: Vec<String> = (0..64)
        .map(|index| format!(r#""/p{index}": {{"get": {{"operationId": "o{index}", "responses": {{"204": {{"description": ""}}}}}}}}"#))
        .collect();
    let contract = parse_contract(&format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}},
            "paths": {{{}}}, "components": {{"schemas": {{{}}}}}}}"#,
        paths.join(","),
        schemas.join(",")
    ));
    let reports = run_generators(&contract, &runner);
    for report in &reports {
        assert_eq!(report.rejections.len(), 64, "{report:?}");
    }
    // Each of the two generators runs at most three times.
    let runs = fs::read_to_string(runs).unwrap().lines().count();
    assert!(runs <= 6, "{runs}");
}

#[test]
fn command_prints_the_output_in_the_book() {
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
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}");
    let missing = block("```text\n").lines().find(|line| !stdout.contains(line));
    assert_eq!(missing, None, "{stdout}");
}
