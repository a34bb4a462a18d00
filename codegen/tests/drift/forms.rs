//! Tests of changes whose effect depends on several keywords: counts, unions, properties of some branches,
//! and schemas that close an object.

use crate::rules::{A, B, Case, S, changes, check, schema};

pub(crate) const CASES: &[Case] = &[
    (
        "contains-narrowed",
        r#"{"type":"array","contains":{"type":"integer"},"minContains":0,"maxContains":3}"#,
        r#"{"type":"array","contains":{"type":"integer"},"maxContains":3}"#,
        A,
        B,
    ),
    (
        "contains-narrowed",
        r#"{"type":"array","contains":{"type":"integer"}}"#,
        r#"{"type":"array","contains":{"type":"integer"},"minContains":2}"#,
        A,
        B,
    ),
    (
        "contains-widened",
        r#"{"type":"array","contains":{"type":"integer"},"maxContains":1}"#,
        r#"{"type":"array","contains":{"type":"integer"},"maxContains":2}"#,
        B,
        A,
    ),
    (
        "contains-added",
        r#"{"type":"array","contains":{"type":"integer"},"minContains":0}"#,
        r#"{"type":"array","contains":{"type":"integer"}}"#,
        A,
        B,
    ),
    (
        "contains-changed",
        r#"{"type":"array","contains":{"type":"integer"},"maxContains":1}"#,
        r#"{"type":"array","contains":{"type":"integer"},"minContains":2}"#,
        B,
        B,
    ),
    // In the old version, some strings match both branches and are refused; in the new version, they match
    // only one.
    (
        "union-widened",
        r#"{"oneOf":[{"type":"string"},{"type":"string","pattern":"^a"}]}"#,
        r#"{"oneOf":[{"enum":["a"]},{"type":"string","pattern":"^a"}]}"#,
        B,
        S,
    ),
    (
        "union-widened",
        r#"{"oneOf":[{"type":"string","maxLength":3},{"type":"string","minLength":2},{"type":"integer"}]}"#,
        r#"{"oneOf":[{"type":"string","maxLength":3},{"type":"integer"}]}"#,
        B,
        S,
    ),
    // `unevaluatedProperties` considers nested declarations, whereas `additionalProperties` considers only
    // those in the same schema.
    (
        "object-closed",
        r#"{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"unevaluatedProperties":false}"#,
        r#"{"type":"object","allOf":[{"properties":{"a":{"type":"string"}},"unevaluatedProperties":false}],"properties":{"b":{"type":"string"}}}"#,
        S,
        B,
    ),
    (
        "object-closed",
        r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}],"properties":{"b":{"type":"string"}},"unevaluatedProperties":false}"#,
        r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}],"properties":{"b":{"type":"string"}},"additionalProperties":false}"#,
        S,
        B,
    ),
    (
        "object-opened",
        r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}],"properties":{"b":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}],"properties":{"b":{"type":"string"}},"unevaluatedProperties":false}"#,
        B,
        S,
    ),
    // A property that only the branches declare is not reported as added or removed.
    (
        "property-declared-always",
        r#"{"anyOf":[{"type":"object","properties":{"k":{"const":"b"},"a":{"type":"number"}},"required":["k"]},{"type":"object","properties":{"k":{"const":"c"},"a":{"type":"boolean"}},"required":["k"]}]}"#,
        r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["k"]}"#,
        A,
        B,
    ),
    (
        "property-declared-sometimes",
        r#"{"type":"object","properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":["k"]}"#,
        r#"{"type":"object","anyOf":[{"properties":{"k":{"const":"b"},"a":{"type":"number"}},"required":["k"]},{"properties":{"k":{"const":"c"},"a":{"type":"boolean"}},"required":["k"]}],"properties":{"b":{"type":"boolean"}},"required":["k"]}"#,
        B,
        A,
    ),
];

/// An object can be closed by `additionalProperties` or `unevaluatedProperties`, in the schema or in a
/// subschema of `allOf`. A different form is not a change if the closing schema declares the same names.
#[test]
fn closing_an_object_elsewhere_is_not_a_change() {
    for (old, new) in [
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"unevaluatedProperties":false}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
            r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}]}"#,
        ),
    ] {
        assert_eq!(changes(&schema(old), &schema(new), true), [], "{new}");
        assert_eq!(changes(&schema(new), &schema(old), true), [], "{old}");
    }
}

#[test]
fn changes_are_classified_by_overall_validity() {
    check(schema, CASES);
}

/// Adding or removing `contains` with `minContains: 0` is not a change.
#[test]
fn ineffective_counts_are_not_changes() {
    let (old, new) =
        (r#"{"type":"array"}"#, r#"{"type":"array","contains":{"type":"integer"},"minContains":0}"#);
    assert_eq!(changes(&schema(old), &schema(new), true), []);
    assert_eq!(changes(&schema(new), &schema(old), true), []);
}

/// A change of `minContains` is proven by an array that only one version accepts.
#[test]
fn counts_have_a_witness() {
    let (one, two) = (
        r#"{"type":"array","contains":{"type":"integer"}}"#,
        r#"{"type":"array","contains":{"type":"integer"},"minContains":2}"#,
    );
    for (old, new) in [(one, two), (two, one)] {
        let found = changes(&schema(old), &schema(new), true);
        let [change] = found.as_slice() else { panic!("{new}: {found:#?}") };
        assert!(change.witness.is_some() && change.proven, "{change:#?}");
    }
}
