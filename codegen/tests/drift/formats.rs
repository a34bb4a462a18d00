//! Tests of formats that a dialect asserts, of equal documents, and of removed inputs.

use std::{fs, path::Path};

use contract_codegen::drift::{ChangeLevel, CompareOptions, ContractVersion, compare};

use crate::rules::{A, B, S};

/// The rules for asserted formats, which the tests of this file cover.
pub(crate) const RULES: [&str; 3] = ["format-narrowed", "format-replaced", "format-widened"];

const META: &str = r#"{"$id": "https://m.example/meta", "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": true,
        "https://json-schema.org/draft/2020-12/vocab/applicator": true,
        "https://json-schema.org/draft/2020-12/vocab/validation": true,
        "https://json-schema.org/draft/2020-12/vocab/format-assertion": true},
    "$dynamicAnchor": "meta", "type": ["object", "boolean"]}"#;

fn version(keywords: &str) -> ContractVersion {
    let schema = format!(
        r#"{{"$id": "https://m.example/a", "$schema": "https://m.example/meta", "type": "string"{keywords}}}"#
    );
    let texts = [("a.json", "", schema.as_str()), ("meta.json", "", META)];
    ContractVersion::from_strings(&texts).unwrap_or_else(|problems| panic!("{problems}"))
}

#[track_caller]
fn check(old: &str, new: &str, rule: &str, levels: (ChangeLevel, ChangeLevel), witness: Option<&str>) {
    let found = compare(&version(old), &version(new), &CompareOptions::default()).changes;
    let found: Vec<_> = found.iter().filter(|change| change.rule.starts_with("format-")).collect();
    let [change] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((change.rule, change.readers, change.writers), (rule, levels.0, levels.1), "{change:?}");
    assert_eq!(change.witness.as_deref(), witness, "{change:?}");
    assert!(change.proven, "{change:?}");
}

#[test]
fn changes_of_asserted_formats_affect_validity() {
    let date = r#", "format": "date""#;
    check("", date, "format-narrowed", (A, B), Some("\"\""));
    check(date, "", "format-widened", (B, A), Some("\"\""));
    check(date, r#", "format": "time""#, "format-replaced", (B, B), Some("\"07:08:09Z\""));
    let (uri, reference) = (r#", "format": "uri""#, r#", "format": "uri-reference""#);
    check(uri, reference, "format-widened", (B, A), Some("\"../a\""));
    check(reference, uri, "format-narrowed", (A, B), Some("\"../a\""));
}

/// Adding or removing the format `date` has no effect if all listed values are dates. If another value is
/// listed, the change is reported.
#[test]
fn ineffective_formats_are_not_breaking() {
    for list in [r#", "enum": ["2024-05-06"]"#, r#", "const": "2024-05-06""#] {
        let dated = format!("{list}, \"format\": \"date\"");
        for (old, new) in [(list, dated.as_str()), (dated.as_str(), list)] {
            let found = compare(&version(old), &version(new), &CompareOptions::default());
            assert!(found.changes.iter().all(|change| change.level() == S), "{old}: {found:?}");
        }
    }
    let list = r#", "enum": ["2024-05-06", "x"]"#;
    let dated = format!("{list}, \"format\": \"date\"");
    check(list, &dated, "format-narrowed", (A, B), Some("\"x\""));
}

#[test]
fn equal_files_have_no_changes() {
    let one = |name: &str, text: &str| ContractVersion::from_strings(&[(name, "", text)]).unwrap();
    let (text, other) = (r#"{"maxLength": 5}"#, r#"{"maxLength": 4}"#);
    let changes = |old: &ContractVersion, new: &ContractVersion| {
        compare(old, new, &CompareOptions::default()).changes.len()
    };
    assert_eq!(changes(&one("a.json", text), &one("b.json", text)), 0);
    assert_eq!(changes(&one("a.json", text), &one("a.json", other)), 1);
    // Two files that exchange their contents have changes.
    let two =
        |a: &str, b: &str| ContractVersion::from_strings(&[("a.json", "", a), ("b.json", "", b)]).unwrap();
    assert_eq!(changes(&two(text, other), &two(text, other)), 0);
    assert_ne!(changes(&two(text, other), &two(other, text)), 0);
}

/// A schema to which nothing refers is reported as removed if its document is no longer an input.
#[test]
fn removed_inputs_are_removed_schemas() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drift-no-input");
    fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let a = put("a.json", r##"{"type": "object", "properties": {"p": {"$ref": "b.json#/$defs/used"}}}"##);
    let b = put("b.json", r##"{"$defs": {"used": {"type": "string"}, "other": {"type": "integer"}}}"##);
    let both = ContractVersion::load(&[a.clone(), b], &[]).unwrap();
    let one = ContractVersion::load(&[a], &[]).unwrap();
    let gone = compare(&both, &one, &CompareOptions::default()).changes;
    assert!(gone.iter().any(|change| change.rule == "schema-removed"), "{gone:?}");
}
