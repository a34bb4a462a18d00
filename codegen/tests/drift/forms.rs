//! What is valid as a whole, where no keyword alone says it: counts, unions, members that only some
//! forms have, and who closes an object.

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
    // What fitted two forms was refused, and fits one alone.
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
];

#[test]
fn what_is_valid_as_a_whole_is_judged() {
    check(schema, CASES);
}

/// Of at least 0 nothing is asked.
#[test]
fn an_idle_count_is_no_difference() {
    let (old, new) =
        (r#"{"type":"array"}"#, r#"{"type":"array","contains":{"type":"integer"},"minContains":0}"#);
    assert_eq!(changes(&schema(old), &schema(new), true), []);
    assert_eq!(changes(&schema(new), &schema(old), true), []);
}

/// An array of as many elements as one version alone counts shows it.
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
