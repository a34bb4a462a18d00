//! Tests of added and removed lists of values. Each value is checked against the keywords that replace the
//! list.

use contract_codegen::drift::ChangeLevel;

use crate::rules::{A, B, Case, changes, check, schema};

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
    // Other keywords change the validity of values in an unchanged list.
    ("enum-value-removed", r#"{"enum":["ab","a"]}"#, r#"{"enum":["ab","a"],"maxLength":1}"#, A, B),
    ("enum-value-added", r#"{"enum":["ab","a"],"maxLength":1}"#, r#"{"enum":["ab","a"]}"#, B, A),
    (
        "enum-value-removed",
        r#"{"enum":["ab","a"]}"#,
        r#"{"allOf":[{"enum":["ab","a"]},{"pattern":"b$"}]}"#,
        A,
        B,
    ),
    ("enum-value-removed", r#"{"const":"ab"}"#, r#"{"const":"ab","maxLength":1}"#, A, B),
    ("enum-value-removed", r#"{"enum":[true,"a"]}"#, r#"{"enum":[true,"a"],"type":["string","null"]}"#, A, B),
    // The value `b` is in two lists, so `oneOf` refuses it.
    (
        "enum-value-removed",
        r#"{"anyOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}"#,
        r#"{"oneOf":[{"enum":["a","b"]},{"enum":["b","c"]}]}"#,
        A,
        B,
    ),
    ("enum-value-removed", r#"{"enum":["a","b"]}"#, r#"{"oneOf":[{"enum":["a","b"]},{"enum":["b"]}]}"#, A, B),
    ("enum-value-added", r#"{"oneOf":[{"enum":["a","b"]},{"enum":["b"]}]}"#, r#"{"enum":["a","b"]}"#, B, A),
];

/// Changes of unions with a list of values and a branch that accepts other values.
const OPEN: &[Case] = &[
    (
        "enum-value-removed",
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        r#"{"oneOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        A,
        B,
    ),
    (
        "union-narrowed",
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        r#"{"oneOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        A,
        B,
    ),
    (
        "union-widened",
        r#"{"oneOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        B,
        A,
    ),
    // In the new version, the other branch also accepts the listed value `a`, so `oneOf` refuses it.
    (
        "enum-value-removed",
        r#"{"oneOf":[{"enum":["a"]},{"type":"string","minLength":2}]}"#,
        r#"{"oneOf":[{"enum":["a"]},{"type":"string"}]}"#,
        A,
        B,
    ),
    // In the new version, the list also contains `bc`, which the other branch accepts, so `oneOf` refuses it.
    (
        "enum-value-removed",
        r#"{"oneOf":[{"enum":["a"]},{"type":"string","minLength":2}]}"#,
        r#"{"oneOf":[{"enum":["a","bc"]},{"type":"string","minLength":2}]}"#,
        A,
        B,
    ),
    // The other branch does not accept the added value `b`.
    (
        "enum-value-added",
        r#"{"anyOf":[{"enum":["a"]},{"type":"string","pattern":"^x-"}]}"#,
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string","pattern":"^x-"}]}"#,
        B,
        A,
    ),
];

#[test]
fn listed_values_are_compared_with_sibling_branches() {
    check(schema, OPEN);
}

/// Writing a list of values as an `enum`, a `const`, or a union of `const` is not a change if the same values
/// are valid.
#[test]
fn equivalent_lists_are_not_changes() {
    for (old, new) in [
        (r#"{"enum":["ab","a"]}"#, r#"{"enum":["a","ab"],"maxLength":2}"#),
        (r#"{"const":"a"}"#, r#"{"const":"a","type":"string"}"#),
        (r#"{"enum":["a","b"]}"#, r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#),
        (r#"{"anyOf":[{"const":"a"},{"const":"b"}]}"#, r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#),
    ] {
        let found = changes(&schema(old), &schema(new), true);
        assert!(found.iter().all(|change| change.level() == ChangeLevel::Same), "{new}: {found:#?}");
    }
}

#[test]
fn removed_lists_are_compared_with_their_replacement() {
    check(schema, CASES);
}
