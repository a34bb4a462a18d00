//! Formats that a dialect asserts decide what is valid; a document that is compared with itself.

use std::{fs, path::Path};

use contract_codegen::drift::{Level, Options, Version, compare};

use crate::rules::{A, B};

/// The rules that only an asserted `format` is judged by.
pub(crate) const RULES: [&str; 3] = ["format-narrowed", "format-replaced", "format-widened"];

const META: &str = r#"{"$id": "https://m.example/meta", "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": true,
        "https://json-schema.org/draft/2020-12/vocab/applicator": true,
        "https://json-schema.org/draft/2020-12/vocab/validation": true,
        "https://json-schema.org/draft/2020-12/vocab/format-assertion": true},
    "$dynamicAnchor": "meta", "type": ["object", "boolean"]}"#;

fn version(keywords: &str) -> Version {
    let schema = format!(
        r#"{{"$id": "https://m.example/a", "$schema": "https://m.example/meta", "type": "string"{keywords}}}"#
    );
    let texts = [("a.json", "", schema.as_str()), ("meta.json", "", META)];
    Version::from_texts(&texts).unwrap_or_else(|problems| panic!("{problems}"))
}

#[track_caller]
fn check(old: &str, new: &str, rule: &str, levels: (Level, Level), witness: Option<&str>) {
    let found = compare(&version(old), &version(new), &Options::default()).changes;
    let found: Vec<_> = found.iter().filter(|change| change.rule.starts_with("format-")).collect();
    let [change] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((change.rule, change.readers, change.writers), (rule, levels.0, levels.1), "{change:?}");
    assert_eq!(change.witness.as_deref(), witness, "{change:?}");
    assert!(change.proven, "{change:?}");
}

#[test]
fn asserted_formats_are_changes_of_what_is_valid() {
    let date = r#", "format": "date""#;
    check("", date, "format-narrowed", (A, B), Some("\"\""));
    check(date, "", "format-widened", (B, A), Some("\"\""));
    check(date, r#", "format": "time""#, "format-replaced", (B, B), Some("\"07:08:09Z\""));
    let (uri, reference) = (r#", "format": "uri""#, r#", "format": "uri-reference""#);
    check(uri, reference, "format-widened", (B, A), Some("\"../a\""));
    check(reference, uri, "format-narrowed", (A, B), Some("\"../a\""));
}

/// A format beside a list of values that all have it refuses nothing.
#[test]
fn a_format_that_refuses_nothing_breaks_nobody() {
    let list = r#", "enum": ["2024-05-06"]"#;
    let found =
        compare(&version(list), &version(&format!("{list}, \"format\": \"date\"")), &Options::default());
    assert!(found.changes.iter().all(|change| change.level() <= B), "{found:?}");
}

#[test]
fn what_was_read_from_the_same_bytes_is_the_same() {
    let one = |name: &str, text: &str| Version::from_texts(&[(name, "", text)]).unwrap();
    let (text, other) = (r#"{"maxLength": 5}"#, r#"{"maxLength": 4}"#);
    let changes = |old: &Version, new: &Version| compare(old, new, &Options::default()).changes.len();
    assert_eq!(changes(&one("a.json", text), &one("b.json", text)), 0);
    assert_eq!(changes(&one("a.json", text), &one("a.json", other)), 1);
    // Two files that changed places are not what they were.
    let two = |a: &str, b: &str| Version::from_texts(&[("a.json", "", a), ("b.json", "", b)]).unwrap();
    assert_eq!(changes(&two(text, other), &two(text, other)), 0);
    assert_ne!(changes(&two(text, other), &two(other, text)), 0);
}

/// What nobody leads to is of the contract as long as its document is an input.
#[test]
fn what_is_no_input_any_more_is_gone() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drift-no-input");
    fs::create_dir_all(&folder).unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let a = put("a.json", r##"{"type": "object", "properties": {"p": {"$ref": "b.json#/$defs/used"}}}"##);
    let b = put("b.json", r##"{"$defs": {"used": {"type": "string"}, "other": {"type": "integer"}}}"##);
    let both = Version::load(&[a.clone(), b], &[]).unwrap();
    let one = Version::load(&[a], &[]).unwrap();
    let gone = compare(&both, &one, &Options::default()).changes;
    assert!(gone.iter().any(|change| change.rule == "schema-removed"), "{gone:?}");
}
