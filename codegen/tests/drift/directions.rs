//! Members that are sent in one direction only: what `required` means for each, and what nobody can lose.

use contract_codegen::drift::Level;

use crate::rules::{A, B, Case, S, changes, check, operation, schema_of};

/// Read-only members are never sent by clients, and write-only ones never by the service: what asks for
/// such a member in a request asks for nothing (OpenAPI 3.0.3, 4.7.24.2).
pub(crate) const CASES: &[Case] = &[
    // `{}` was a valid request.
    (
        "property-count-narrowed",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}},"minProperties":1}"#,
        S,
        B,
    ),
    (
        "union-added",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}},"anyOf":[{"required":["id"]},{"required":["n"]}]}"#,
        S,
        B,
    ),
    // And `{}` is a valid answer here.
    (
        "property-count-widened",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}},"minProperties":1}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}}}"#,
        B,
        S,
    ),
    // What is said of the member may stand elsewhere.
    (
        "property-count-narrowed",
        r#"{"type":"object","allOf":[{"properties":{"id":{"readOnly":true}}},{"required":["id"]}]}"#,
        r#"{"type":"object","allOf":[{"properties":{"id":{"readOnly":true}}},{"required":["id"]}],"minProperties":1}"#,
        S,
        B,
    ),
    // Where another place marks the member, this one asks for it all the same.
    (
        "property-count-narrowed",
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}],"properties":{"id":{"readOnly":true}}},"b":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}},"$defs":{"base":{"required":["id"]}}}"##,
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}],"properties":{"id":{"readOnly":true}}},"b":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}],"minProperties":1}},"$defs":{"base":{"required":["id"]}}}"##,
        S,
        S,
    ),
    (
        "property-count-narrowed",
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}],"properties":{"id":{"readOnly":true}}},"b":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}},"$defs":{"base":{"required":["id"]}}}"##,
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}],"properties":{"id":{"readOnly":true}},"minProperties":1},"b":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}},"$defs":{"base":{"required":["id"]}}}"##,
        S,
        B,
    ),
    // Also behind a schema that others share.
    (
        "property-count-narrowed",
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/more"}],"properties":{"id":{"readOnly":true}}},"b":{"$ref":"#/components/schemas/s/$defs/more"}},"$defs":{"base":{"required":["id"]},"more":{"allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}}}"##,
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/more"}],"properties":{"id":{"readOnly":true}},"minProperties":1},"b":{"$ref":"#/components/schemas/s/$defs/more"}},"$defs":{"base":{"required":["id"]},"more":{"allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}}}"##,
        S,
        B,
    ),
    // A member that is read only does not hide what else breaks.
    (
        "not-added",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"},"n":{"type":"string"}},"additionalProperties":{"type":"string"},"not":{"required":["n","a"]}}"#,
        A,
        B,
    ),
    // Nobody sends what became narrower.
    (
        "length-narrowed",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true}}}"#,
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true,"maxLength":5}}}"#,
        A,
        A,
    ),
    (
        "type-widened",
        r#"{"type":"object","properties":{"id":{"type":"string","writeOnly":true}}}"#,
        r#"{"type":"object","properties":{"id":{"writeOnly":true}}}"#,
        A,
        A,
    ),
    (
        "property-removed",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true}}}"#,
        r#"{"type":"object"}"#,
        A,
        A,
    ),
    // `required` says so on both sides, and the direction decides.
    (
        "property-required",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#,
        S,
        B,
    ),
    (
        "property-optional",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}}}"#,
        B,
        S,
    ),
    // Both words together say nothing.
    (
        "property-required",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true,"writeOnly":true}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true,"writeOnly":true}}}"#,
        A,
        B,
    ),
];

#[test]
fn each_direction_is_asked_for_what_it_sends() {
    check(|schema| schema_of("3.0.3", schema), CASES);
}

const NONE: &str = r#"{"type":"object"}"#;
const KEPT: &str =
    r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true}}}"#;
const GIVEN: &str =
    r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}}}"#;
const MAY_GIVE: &str = r#"{"type":"object","properties":{"id":{"type":"string","writeOnly":true}}}"#;

/// The worst that readers and writers meet.
fn levels(old: &str, new: &str) -> (Level, Level) {
    let found = changes(old, new, false);
    let worst = |level: fn(&contract_codegen::drift::Change) -> Level| found.iter().map(level).max();
    (worst(|it| it.readers).unwrap_or(S), worst(|it| it.writers).unwrap_or(S))
}

/// OpenAPI 3.0.3, 4.7.24.2: what is asked for in one direction alone. Later both words are annotations, and each
/// version of a contract is taken by its own letter.
#[test]
fn required_goes_by_the_direction_in_openapi_3_0_alone() {
    const OLD: &str = "3.0.3";
    const NEW: &str = "3.1.0";
    let mut wrong = Vec::new();
    for (from, before, to, after, readers, writers) in [
        (OLD, NONE, OLD, KEPT, A, A),
        (NEW, NONE, NEW, KEPT, A, B),
        ("3.2.0", NONE, "3.2.0", KEPT, A, B),
        (OLD, NONE, NEW, KEPT, A, B),
        (NEW, NONE, OLD, KEPT, A, A),
        (OLD, GIVEN, OLD, MAY_GIVE, S, A),
        (NEW, GIVEN, NEW, MAY_GIVE, B, A),
        // The same words.
        (OLD, KEPT, NEW, KEPT, S, B),
        (OLD, GIVEN, NEW, GIVEN, A, S),
        (NEW, KEPT, OLD, KEPT, S, A),
        (NEW, GIVEN, OLD, GIVEN, B, S),
    ] {
        let found = levels(&schema_of(from, before), &schema_of(to, after));
        if found != (readers, writers) {
            wrong.push(format!("{from} {before} -> {to} {after}: {found:?}"));
        }
    }
    // Of JSON Schema too.
    assert_eq!(levels(NONE, KEPT), (A, B));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let found = changes(&schema_of(OLD, KEPT), &schema_of(NEW, KEPT), false);
    assert!(
        found.iter().any(|it| it.message.starts_with("`id` is required whatever the direction")),
        "{found:?}"
    );
}

/// Validation 9.4: what is read only may be sent all the same, and is judged then.
#[test]
fn what_an_annotation_speaks_of_may_be_sent() {
    let longest = |length: u8| {
        format!(
            r#"{{"type":"object","properties":{{"id":{{"type":"string","readOnly":true,"maxLength":{length}}}}}}}"#
        )
    };
    for (version, writers) in [("3.0.3", A), ("3.1.0", B)] {
        let found = levels(&schema_of(version, &longest(5)), &schema_of(version, &longest(4)));
        assert_eq!(found, (A, writers), "{version}");
    }
}

/// One direction only, where a schema has only one.
#[test]
fn what_is_only_answered_breaks_no_writer() {
    let response = |schema: &str| {
        operation(&format!(
            r#""responses":{{"200":{{"description":"","content":{{"a/b":{{"schema":{schema}}}}}}}}}"#
        ))
    };
    let found = changes(&response(r#"{"enum":["a","b"]}"#), &response(r#"{"enum":["a"]}"#), true);
    assert_eq!(found.iter().map(|change| (change.readers, change.writers)).collect::<Vec<_>>(), [(A, S)]);
}
