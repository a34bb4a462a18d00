//! Tests of comparisons of whole contracts.

use std::{
    fs,
    path::{Path, PathBuf},
};

use contract_codegen::drift::{
    ChangeLevel, CompareOptions, ContractDrift, ContractVersion, VersionBump, compare,
    report::{self, ReportAudience, ReportOptions},
};

fn schemas() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas")
}

fn exchange_contract() -> ContractVersion {
    ContractVersion::open(&schemas()).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the contract of the exchange with one string in one file replaced.
fn edited(file: &str, from: &str, to: &str) -> ContractVersion {
    let copy = tempfile::tempdir().unwrap();
    let mut folders = vec![(schemas(), copy.path().join("schemas"))];
    let mut hits = 0;
    while let Some((folder, to_folder)) = folders.pop() {
        fs::create_dir(&to_folder).unwrap();
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, target) = (entry.path(), to_folder.join(entry.file_name()));
            if path.is_dir() {
                folders.push((path, target));
            } else if path.ends_with(file) {
                let text = fs::read_to_string(path).unwrap();
                hits += text.matches(from).count().min(1);
                fs::write(target, text.replacen(from, to, 1)).unwrap();
            } else {
                fs::copy(path, target).unwrap();
            }
        }
    }
    assert_eq!(hits, 1, "{from} in {file}");
    ContractVersion::open(&copy.path().join("schemas")).unwrap_or_else(|problems| panic!("{problems}"))
}

fn one(text: &str) -> ContractVersion {
    ContractVersion::from_strings(&[("a.schema.json", "", text)])
        .unwrap_or_else(|problems| panic!("{problems}"))
}

fn drift(old: &ContractVersion, new: &ContractVersion) -> ContractDrift {
    compare(old, new, &CompareOptions::default())
}

fn code(drift: &ContractDrift) -> u8 {
    report::exit_code(drift, &ReportOptions { within_major: true, ..ReportOptions::default() })
}

#[test]
fn the_contract_equals_itself() {
    let real = exchange_contract();
    assert_eq!(drift(&real, &real).changes, []);
}

#[test]
fn new_optional_fields_are_additive() {
    let new = edited(
        "ship.schema.json",
        "\"properties\": {",
        "\"properties\": { \"paint\": { \"type\": \"string\" },",
    );
    let drift = drift(&exchange_contract(), &new);
    let rules: Vec<&str> = drift.changes.iter().map(|change| change.rule).collect();
    assert_eq!(rules, ["property-added"]);
    assert_eq!((code(&drift), drift.required_bump()), (1, VersionBump::Minor));
}

/// CON-11: removing a property from the contract of the exchange is breaking.
#[test]
fn removed_fields_are_breaking() {
    for (file, from) in [
        // A reserved property must remain declared.
        ("problem.schema.json", "retryAfterSeconds"),
        // This property is optional in responses.
        ("ship.schema.json", "\"name\":"),
    ] {
        let to = if from.ends_with(':') { "\"x-was-name\":" } else { "gone" };
        let drift = drift(&exchange_contract(), &edited(file, from, to));
        assert_eq!(code(&drift), 2, "{file}: {:#?}", drift.changes);
    }
}

/// CON-12: adding an error code is not breaking, because clients handle an unknown code by its status.
#[test]
fn new_error_codes_are_additive() {
    let new = edited("problem.schema.json", "\"UNAUTHENTICATED\",", "\"UNAUTHENTICATED\", \"TEAPOT\",");
    let drift = drift(&exchange_contract(), &new);
    let rules: Vec<&str> = drift.changes.iter().map(|change| change.rule).collect();
    assert_eq!((rules.as_slice(), code(&drift)), (["enum-value-added-open"].as_slice(), 1));
    assert!(drift.changes[0].uses.len() > 10, "every operation has error responses");
}

#[test]
fn order_and_location_of_definitions_do_not_matter() {
    let old = r##"{"$id": "https://x.example/a", "type": "object", "required": ["a", "b"],
        "properties": {"a": {"$ref": "#/$defs/text"}, "b": {"allOf": [{"type": "integer"}, {"minimum": 1}]}},
        "$defs": {"text": {"type": "string", "maxLength": 5}}}"##;
    let new = r##"{"required": ["b", "a"], "$defs": {"words": {"maxLength": 5, "type": "string"}},
        "properties": {"b": {"minimum": 1, "type": "integer"}, "a": {"$ref": "#/$defs/words"}},
        "type": "object", "$id": "https://x.example/a"}"##;
    let drift = drift(&one(old), &one(new));
    assert_eq!(drift.changes, []);
    let inlined = new.replace(r##"{"$ref": "#/$defs/words"}"##, r#"{"type": "string", "maxLength": 5}"#);
    let drift = compare(&one(new), &one(&inlined), &CompareOptions::default());
    assert_eq!(drift.changes, []);
}

#[test]
fn recursive_schemas_are_compared() {
    let schema = |limit: u32| {
        one(&format!(
            r##"{{"$ref": "#/$defs/node", "$defs": {{"node": {{"type": "object", "properties": {{
                "label": {{"type": "string", "maxLength": {limit}}},
                "next": {{"$ref": "#/$defs/node"}},
                "many": {{"type": "array", "items": {{"oneOf": [{{"type": "null"}}, {{"$ref": "#/$defs/node"}},
                    {{"type": "object", "required": ["leaf"], "properties": {{"leaf": {{"const": 1}}}}}}]}}}}
            }}}}}}}}"##
        ))
    };
    let drift = drift(&schema(5), &schema(4));
    let rules: Vec<&str> = drift.changes.iter().map(|change| change.rule).collect();
    // A node accepts fewer values, so `{"label": "abcde", "leaf": 1}` matches one branch of `oneOf` instead
    // of two. Therefore a list that contains this value now matches a node.
    assert_eq!(rules, ["length-narrowed", "union-widened", "union-narrowed"]);
}

#[test]
fn reports_contain_the_same_changes() {
    let new = edited("quantity.schema.json", "\"type\"", "\"x-type\"");
    let drift = drift(&exchange_contract(), &new);
    assert!(drift.overall_level() > ChangeLevel::Same);
    let view =
        ReportOptions { within_major: true, prefix: "schemas/".to_owned(), ..ReportOptions::default() };
    let rule = drift.changes[0].rule;
    for text in [
        report::render_text(&drift, &view),
        report::render_json(&drift, &view),
        report::render_markdown(&drift, &view),
        report::render_github_annotations(&drift, &view),
    ] {
        assert!(text.contains(rule), "{text}");
    }
    assert!(report::render_github_annotations(&drift, &view).contains("file=schemas/exchange/v1/"));
    let readers = ReportOptions { audience: ReportAudience::Readers, ..view };
    assert_eq!(readers.result_level(&drift), drift.reader_level());
}

#[test]
fn major_version_step_permits_breaking_changes() {
    let api = |version: &str, paths: &str| {
        let text = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "{version}"}}, "paths": {paths}}}"#
        );
        ContractVersion::from_strings(&[("openapi.json", "", &text)])
            .unwrap_or_else(|problems| panic!("{problems}"))
    };
    let old = api("1.4.0", r#"{"/a": {"get": {"responses": {"204": {"description": ""}}}}}"#);
    let across = ReportOptions::default();
    for (version, within, expected) in [("2.0.0", false, 1), ("1.5.0", false, 2), ("2.0.0", true, 2)] {
        let drift = drift(&old, &api(version, "{}"));
        let view = ReportOptions { within_major: within, ..across.clone() };
        assert_eq!(report::exit_code(&drift, &view), expected, "{version} {within}");
    }
}

/// If there are several documents, the version of the first one applies to all changes.
#[test]
fn several_documents_use_the_first_version() {
    let version = |first: &str, second: &str, schema: &str| {
        let document = |version: &str, schema: &str| {
            format!(
                r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "{version}"}}, "components": {{"schemas": {{"s": {schema}}}}}}}"#
            )
        };
        let (first, second) = (document(first, "true"), document(second, schema));
        ContractVersion::from_strings(&[("b.json", "", &second), ("a.json", "", &first)]).unwrap()
    };
    let (old, new) = (version("1.0.0", "7.0.0", "true"), version("1.1.0", "8.0.0", r#"{"type": "string"}"#));
    let drift = compare(&old, &new, &CompareOptions::default());
    assert_eq!((drift.old_version.as_str(), drift.new_version.as_str()), ("1.0.0", "1.1.0"));
    // `version-changed` is reported for each document; it is not the subject of this test.
    let mut changes = drift.changes.iter().filter(|change| change.rule != "version-changed");
    assert_eq!(changes.next().unwrap().new.as_ref().unwrap().file, "b.json", "{drift:?}");
}
