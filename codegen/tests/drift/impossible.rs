//! Tests of locations at which no value is valid in the old or in the new version.

use crate::rules::{A, B, Case, check, schema};

/// Changes in which the keywords of the old or of the new version accept no value of a property.
const CASES: &[Case] = &[
    (
        "type-narrowed",
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{"a":false}}"#,
        A,
        B,
    ),
    (
        "type-widened",
        r#"{"type":"object","properties":{"a":false}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        B,
        A,
    ),
    (
        "type-narrowed",
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string","allOf":[{"enum":[1]}]}}}"#,
        A,
        B,
    ),
    (
        "type-narrowed",
        r#"{"type":"string"}"#,
        r#"{"type":"string","oneOf":[{"type":"object","required":["k"]},{"type":"integer"}]}"#,
        A,
        B,
    ),
    // In the new version, `additionalProperties: false` forbids a property that only another schema declares
    // (Core 10.3.2.3).
    (
        "type-narrowed",
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"additionalProperties":false}],"properties":{"b":{"type":"string"}}}"#,
        A,
        B,
    ),
    (
        "type-narrowed",
        r#"{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],"properties":{"b":{"type":"string"}},"unevaluatedProperties":false}"#,
        r#"{"type":"object","allOf":[{"properties":{"a":{"type":"string"}}}],"properties":{"b":{"type":"string"}},"additionalProperties":false}"#,
        A,
        B,
    ),
];

#[test]
fn impossible_properties_break_their_writers() {
    check(schema, CASES);
}
