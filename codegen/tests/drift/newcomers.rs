//! Tests of changes that restrict only new elements, and of changed formats that can represent all old
//! values.

use contract_codegen::drift::{
    CompareOptions, compare,
    report::{ReportOptions, render_sarif},
};

use crate::rules::{A, B, Case, changes, check, schema, version};

pub(crate) const CASES: &[Case] = &[
    (
        "not-added-new-member",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"n":{}},"not":{"required":["n","a"]}}"#,
        A,
        A,
    ),
    // `not` also refuses strings, because `required` accepts every value that is not an object.
    (
        "not-added",
        r#"{"type":["object","string"],"properties":{"a":{}}}"#,
        r#"{"type":["object","string"],"properties":{"a":{},"n":{}},"not":{"required":["n","a"]}}"#,
        A,
        B,
    ),
    (
        "not-added",
        r#"{"type":"object","properties":{"a":{},"n":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"n":{}},"not":{"required":["n","a"]}}"#,
        A,
        B,
    ),
    (
        "union-added-new-member",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"n":{}},"anyOf":[{"not":{"required":["n"]}},{"required":["a"]}]}"#,
        A,
        A,
    ),
    // An object with `a` but without `n` matches both branches, so `oneOf` refuses it.
    (
        "union-added",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"n":{}},"oneOf":[{"not":{"required":["n"]}},{"required":["a"]}]}"#,
        A,
        B,
    ),
    (
        "union-added",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{},"n":{}},"anyOf":[{"not":{"required":["n"]},"maxProperties":1},{"required":["a"]}]}"#,
        A,
        B,
    ),
    (
        "number-format-widened",
        r#"{"type":"integer","format":"int32"}"#,
        r#"{"type":"integer","format":"int64"}"#,
        B,
        A,
    ),
    (
        "number-format-narrowed",
        r#"{"type":["integer","null"],"format":"int64"}"#,
        r#"{"type":["integer","null"],"format":"uint32"}"#,
        A,
        B,
    ),
    (
        "format-changed",
        r#"{"type":"integer","format":"int32"}"#,
        r#"{"type":"integer","format":"uint32"}"#,
        B,
        B,
    ),
    (
        "number-format-widened",
        r#"{"type":"number","format":"float"}"#,
        r#"{"type":"number","format":"double"}"#,
        B,
        A,
    ),
    // The numeric formats have no meaning for strings.
    (
        "format-changed",
        r#"{"type":"string","format":"int32"}"#,
        r#"{"type":"string","format":"int64"}"#,
        B,
        B,
    ),
];

#[test]
fn new_elements_do_not_restrict_old_values() {
    check(schema, CASES);
}

/// If two patterns match the same strings only within `maxLength`, the message ends with "strings of valid
/// length".
#[test]
fn patterns_are_compared_within_valid_lengths() {
    let text = |pattern: &str, more: &str| format!(r#"{{"type":"string","pattern":"{pattern}"{more}}}"#);
    for (old, new, ending) in [
        (
            text("^[a-z]+$", r#","maxLength":5"#),
            text("^[a-z]{1,5}$", r#","maxLength":5"#),
            "strings of valid length",
        ),
        (text("^[0-9]+$", r#","maxLength":5"#), text(r"^\\d+$", r#","maxLength":5"#), "the same strings"),
        (text("^[0-9]+$", ""), text(r"^\\d+$", ""), "the same strings"),
    ] {
        let found = changes(&schema(&old), &schema(&new), true);
        let [change] = found.as_slice() else { panic!("{found:#?}") };
        assert_eq!(change.rule, "pattern-rewritten");
        assert!(change.message.ends_with(ending), "{}", change.message);
    }
}

/// The SARIF description of `property-removed` states that the change is breaking within a major version.
#[test]
fn sarif_describes_raised_levels() {
    let (old, new) = (r#"{"type":"object","properties":{"a":{}}}"#, r#"{"type":"object"}"#);
    let options = CompareOptions::default();
    let log = render_sarif(
        &compare(&version(&schema(old)), &version(&schema(new)), &options),
        &ReportOptions::default(),
    );
    assert!(log.contains("\"ruleId\": \"property-removed\""), "{log}");
    assert!(log.contains("Within a major version, declared elements must not be removed"), "{log}");
}
