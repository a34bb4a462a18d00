//! Tests of the search for requirement cycles.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::resolve::tests::{format_problems, resolve_clean};

/// Searches a schema document for cycles of requirements. Returns the code of each warning and the pointer of
/// the cycle's first location.
fn find_cycles(text: &str) -> String {
    let graph = resolve_clean(&[("a.json", text)]);
    let mut problems = Diagnostics::new();
    let found = find_infinite_schemas(&graph, true, &mut problems);
    assert_eq!(found.is_empty(), problems.is_empty(), "{text}");
    format_problems(&problems)
}

#[test]
fn infinite_schemas_are_reported() {
    let cases = [
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##,
            "?no-finite-value ",
        ),
        (r##"{"properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##, "?no-finite-value "),
        (r##"{"type": "object", "properties": {"a": {"$ref": "#"}}}"##, ""),
        (r##"{"type": ["object", "null"], "properties": {"a": {"$ref": "#"}}, "required": ["a"]}"##, ""),
        (
            r##"{"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}}, "required": ["a"]}"##,
            "",
        ),
        (
            r##"{"type": "object", "properties": {"a": {"anyOf": [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}]}}, "required": ["a"]}"##,
            "?no-finite-value ",
        ),
        (r##"{"type": "array", "items": {"$ref": "#"}}"##, ""),
        (r##"{"type": "array", "items": {"$ref": "#"}, "minItems": 1}"##, "?no-finite-value "),
        (r##"{"type": "array", "prefixItems": [true, {"$ref": "#"}], "minItems": 1}"##, ""),
        (r##"{"type": "array", "prefixItems": [true, {"$ref": "#"}], "minItems": 2}"##, "?no-finite-value "),
        (r##"{"type": "array", "contains": {"$ref": "#"}}"##, "?no-finite-value "),
        (r##"{"type": "array", "contains": {"$ref": "#"}, "minContains": 0}"##, ""),
        // `minProperties: 1` requires a property, and each property requires a value of the whole schema.
        (
            r##"{"type": "object", "additionalProperties": {"$ref": "#"}, "minProperties": 1}"##,
            "?no-finite-value ",
        ),
        (r##"{"type": "object", "additionalProperties": {"$ref": "#"}}"##, ""),
        (r##"{"type": "object", "additionalProperties": true, "minProperties": 1}"##, ""),
        (
            r##"{"type": "object", "properties": {"a": true}, "additionalProperties": {"$ref": "#"}, "minProperties": 1}"##,
            "",
        ),
        (
            r##"{"type": "object", "properties": {"a": true}, "additionalProperties": {"$ref": "#"}, "minProperties": 2}"##,
            "?no-finite-value ",
        ),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "additionalProperties": false, "minProperties": 1}"##,
            "?no-finite-value ",
        ),
        (
            r##"{"type": "object", "patternProperties": {"^a": true}, "additionalProperties": {"$ref": "#"}, "minProperties": 1}"##,
            "",
        ),
        // A property may be required in one part of an `allOf` and declared in another.
        (
            r##"{"type": "object", "allOf": [{"properties": {"a": {"$ref": "#"}}}], "required": ["a"]}"##,
            "?no-finite-value ",
        ),
        (
            r##"{"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["a"], "enum": [{"b": 1}, {}]}"##,
            "",
        ),
        // Two schemas require each other, and a third schema requires only the first.
        (
            r##"{"$ref": "#/$defs/c", "$defs": {
                "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
                "b": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]},
                "c": {"type": "object", "properties": {"a": {"$ref": "#/$defs/a"}}, "required": ["a"]}}}"##,
            "?no-finite-value /$defs/a",
        ),
        // `false` accepts no value, but not because a value would have to contain itself.
        (r#"{"type": "object", "properties": {"a": false}, "required": ["a"]}"#, ""),
    ];
    for (text, expected) in cases {
        assert_eq!(find_cycles(text), expected, "{text}");
    }
}

#[test]
fn message_contains_cycle_and_remedy() {
    let text = r##"{"type": "object", "properties": {"next": {"$ref": "#"}}, "required": ["next"]}"##;
    let graph = resolve_clean(&[("a.json", text)]);
    let mut problems = Diagnostics::new();
    assert_eq!(find_infinite_schemas(&graph, false, &mut problems).len(), 2);
    let problem = problems.iter().next().unwrap();
    assert_eq!(
        problem.message,
        "no finite value is valid, because each of these schemas requires a value of the next one: # → #/properties/next → #"
    );
    assert_eq!(problem.labels.len(), 1);
    assert!(problem.help.as_ref().unwrap().contains("required"));
}
