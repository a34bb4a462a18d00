//! CON: the files of the contract: dialect, fixtures, open enumerations and versions.

use std::collections::{BTreeMap, BTreeSet};

use contract_codegen::drift::{ChangeLevel, CompareOptions, ContractVersion, compare};

use super::*;

/// CON-02: every schema is a JSON Schema 2020-12 file, and its `$id` is its file name below the URL of the
/// API.
#[test]
fn schemas_are_2020_12_files() {
    let files = schema_files();
    assert_eq!(files.len(), 33);
    for (name, schema) in files {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "CON-02: {name}");
        let id = format!("https://exchange.example/exchange/v1/schemas/{name}");
        assert_eq!(schema["$id"], id, "CON-02: {name}");
    }
}

/// CON-04: every schema file has at least one valid and one invalid published fixture.
#[test]
fn every_schema_file_has_fixtures() {
    let fixtures = exchange_tests::published();
    for (name, _) in schema_files() {
        let stem = name.trim_end_matches(".schema.json");
        for valid in [true, false] {
            let found = fixtures.iter().any(|f| f.folder == stem && f.expect.is_none() == valid);
            assert!(found, "CON-04: {stem}: no fixture that is valid: {valid}");
        }
    }
}

/// CON-10: the major version is in every path; compatible changes increase only the minor version.
#[test]
fn the_version_is_in_the_path() {
    let document = file("openapi.json");
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(path == "/exchange/v1" || path.starts_with("/exchange/v1/"), "CON-10: {path}");
    }
    assert!(document["info"]["version"].as_str().unwrap().starts_with("1."), "CON-10");
}

/// CON-11: within v1 it is a breaking change to remove a property, to require a property, to close an
/// enumeration or to narrow a bound. Renaming an operation does not affect requests and responses.
#[test]
fn breaking_changes_within_v1_are_detected() {
    let breaking = [
        ("exchange/v1/blueprint.schema.json", "/properties/note", None),
        ("exchange/v1/change-set.schema.json", "/required", Some(r#"["ops", "dryRun"]"#)),
        ("exchange/v1/refinery-draft.schema.json", "/$defs/panelType/anyOf/1", None),
        ("exchange/v1/change-set.schema.json", "/$defs/setNote/properties/note/maxLength", Some("1999")),
    ];
    let ids = [("openapi.json", "/paths/~1exchange~1v1~1me~1ships/get/operationId", Some("\"ships_list\""))];
    let old = edited(&[]);
    for edit in breaking {
        let drift =
            compare(&old, &edited(&[edit]), &CompareOptions { proofs: false, ..CompareOptions::default() });
        assert_eq!(drift.overall_level(), ChangeLevel::Breaking, "CON-11: {edit:?}");
    }
    let drift = compare(&old, &edited(&ids), &CompareOptions::default());
    assert_eq!((drift.changes.len(), drift.overall_level()), (1, ChangeLevel::Renamed), "CON-11");
}

/// Returns the contract with edits, each with a file, a JSON Pointer and the new value; `None` removes the
/// value.
fn edited(edits: &[(&str, &str, Option<&str>)]) -> ContractVersion {
    let mut files: BTreeMap<String, Value> =
        schema_files().into_iter().map(|(name, schema)| (format!("exchange/v1/{name}"), schema)).collect();
    files.insert("openapi.json".to_owned(), file("openapi.json"));
    for (path, pointer, value) in edits {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = files.get_mut(*path).unwrap().pointer_mut(parent).unwrap();
        match (parent, value) {
            (Value::Object(members), Some(value)) => {
                let before = members.insert(name.to_owned(), serde_json::from_str(value).unwrap());
                assert!(before.is_some(), "{pointer}");
            }
            (Value::Object(members), None) => assert!(members.remove(name).is_some(), "{pointer}"),
            (Value::Array(list), None) => drop(list.remove(name.parse().unwrap())),
            other => panic!("{pointer}: {other:?}"),
        }
    }
    let files: Vec<(String, String)> =
        files.into_iter().map(|(path, content)| (path, content.to_string())).collect();
    let texts: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), "", text.as_str())).collect();
    ContractVersion::from_strings(&texts).unwrap_or_else(|problems| panic!("{}", problems.render(false)))
}

/// CON-11: reserved fields stay declared, marked `deprecated`, and are still accepted.
#[test]
fn reserved_fields_stay_declared() {
    assert_eq!(schema("change-result")["properties"]["cursor"]["deprecated"], true);
    assert_eq!(schema("problem")["properties"]["retryAfterSeconds"]["deprecated"], true);
    let result = r#"{"dryRun": false, "applied": 0, "unchanged": 0, "notApplied": 0, "results": [], "warnings": [],
        "cursor": "c"}"#;
    let problem = r#"{"status": 503, "code": "RELAY_BUSY", "title": "t", "detail": "d", "correlationId": "c",
        "retryAfterSeconds": 10}"#;
    check(&[("CON-11", "change-result", result, VALID), ("CON-11", "problem", problem, VALID)]);
}

/// CON-11, CON-12: only these enumerations are open. A value that this version does not list is valid and
/// round-trips unchanged.
#[test]
fn open_enumerations_keep_unknown_values() {
    let open = [
        ("change-result--opReason", "LATER_VALUE"),
        ("change-result--opResult", "later-value"),
        ("change-result--warningCode", "LATER_VALUE"),
        ("draft-result--draftKind", "LATER_VALUE"),
        ("org-demand--demandReason", "LATER_VALUE"),
        ("org-unit--orgUnitKind", "LATER_VALUE"),
        ("problem--problemCode", "LATER_VALUE"),
        ("refinery-draft--panelType", "later value"),
        ("service-document--exchangeScope", "exchange.later.value"),
        ("tombstone--removalChannel", "later-value"),
    ];
    for (folder, text) in open {
        check(&[
            ("CON-11", folder, &format!("\"{text}\""), VALID),
            ("CON-11", folder, "7", &[("", "anyOf")]),
        ]);
    }
    let mut found = BTreeSet::new();
    for (name, schema) in schema_files() {
        objects(&schema, "", &mut |at, object| {
            if object.get("anyOf").is_some_and(|any| any[0].get("enum").is_some()) {
                let definition = at.strip_prefix("/$defs/").unwrap_or(at);
                found.insert(format!("{}--{definition}", name.trim_end_matches(".schema.json")));
            }
        });
    }
    let listed: BTreeSet<String> = open.iter().map(|(folder, _)| (*folder).to_owned()).collect();
    assert_eq!(found, listed);
}
