//! Lists of values that come or go: each value is compared with what stands in their place.

use crate::rules::{A, B, Case, check, schema};

const CASES: &[Case] = &[
    ("enum-value-added", r#"{"type":"integer"}"#, r#"{"enum":["auto",1]}"#, B, A),
    (
        "enum-value-added",
        r#"{"anyOf":[{"enum":["a"]},{"type":"string","maxLength":1}]}"#,
        r#"{"enum":["a","bc"]}"#,
        B,
        A,
    ),
    ("enum-value-removed", r#"{"enum":["a","long"]}"#, r#"{"type":"string","maxLength":1}"#, A, B),
    ("enum-value-removed", r#"{"enum":["auto",1]}"#, r#"{"type":"integer"}"#, A, B),
    (
        "enum-value-removed",
        r#"{"enum":["a","bc"]}"#,
        r#"{"anyOf":[{"enum":["a"]},{"type":"string","maxLength":1}]}"#,
        A,
        B,
    ),
];

#[test]
fn listed_values_are_compared_with_what_takes_their_place() {
    check(schema, CASES);
}
