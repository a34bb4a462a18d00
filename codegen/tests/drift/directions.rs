//! Tests of properties that are sent in only one direction: the effect of `required`, and harmless changes.

use contract_codegen::drift::ChangeLevel;

use crate::rules::{A, B, Case, S, changes, check, operation, schema_of};

/// Changes of OpenAPI 3.0 schemas with properties that are sent in only one direction. Clients never send
/// read-only properties, and the service never sends write-only properties. For a direction in which a
/// property is not sent, `required` has no effect on the property (OpenAPI 3.0.3, 4.7.24.2).
pub(crate) const CASES: &[Case] = &[
    // The old version accepts `{}` as a request, because `id` is read-only, and the new version refuses it.
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
    // The new version accepts `{}` as a response, because `id` is write-only, and the old version refused it.
    (
        "property-count-widened",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}},"minProperties":1}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}}}"#,
        B,
        S,
    ),
    // The schema that marks the property as read-only and the schema that requires it may be different.
    (
        "property-count-narrowed",
        r#"{"type":"object","allOf":[{"properties":{"id":{"readOnly":true}}},{"required":["id"]}]}"#,
        r#"{"type":"object","allOf":[{"properties":{"id":{"readOnly":true}}},{"required":["id"]}],"minProperties":1}"#,
        S,
        B,
    ),
    // The schema `base` is used twice. Only the use that marks `id` as read-only does not require it in
    // requests.
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
    // The same applies if the shared schema refers to the schema with `required`.
    (
        "property-count-narrowed",
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/more"}],"properties":{"id":{"readOnly":true}}},"b":{"$ref":"#/components/schemas/s/$defs/more"}},"$defs":{"base":{"required":["id"]},"more":{"allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}}}"##,
        r##"{"type":"object","properties":{"a":{"type":"object","allOf":[{"$ref":"#/components/schemas/s/$defs/more"}],"properties":{"id":{"readOnly":true}},"minProperties":1},"b":{"$ref":"#/components/schemas/s/$defs/more"}},"$defs":{"base":{"required":["id"]},"more":{"allOf":[{"$ref":"#/components/schemas/s/$defs/base"}]}}}"##,
        S,
        B,
    ),
    // A read-only property does not hide other breaking changes.
    (
        "not-added",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"},"n":{"type":"string"}},"additionalProperties":{"type":"string"},"not":{"required":["n","a"]}}"#,
        A,
        B,
    ),
    // The values of a property that is never sent may be restricted, extended or removed.
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
    // `required` lists the property in both versions, but applies in other directions in the new version.
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
    // A property that is both read-only and write-only is treated like any other property.
    (
        "property-required",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true,"writeOnly":true}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true,"writeOnly":true}}}"#,
        A,
        B,
    ),
];

#[test]
fn required_applies_to_the_properties_of_each_direction() {
    check(|schema| schema_of("3.0.3", schema), CASES);
}

const NONE: &str = r#"{"type":"object"}"#;
const KEPT: &str =
    r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true}}}"#;
const GIVEN: &str =
    r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","writeOnly":true}}}"#;
const MAY_GIVE: &str = r#"{"type":"object","properties":{"id":{"type":"string","writeOnly":true}}}"#;

/// Returns the highest level of all changes for readers and for writers.
fn levels(old: &str, new: &str) -> (ChangeLevel, ChangeLevel) {
    let found = changes(old, new, false);
    let worst =
        |level: fn(&contract_codegen::drift::ContractChange) -> ChangeLevel| found.iter().map(level).max();
    (worst(|it| it.readers).unwrap_or(S), worst(|it| it.writers).unwrap_or(S))
}

/// `required` depends on the direction only in OpenAPI 3.0 (OpenAPI 3.0.3, 4.7.24.2). Since 3.1, `readOnly`
/// and `writeOnly` are annotations without effect on `required`. Each version of a contract follows the rules
/// of its own OpenAPI version.
#[test]
fn required_depends_on_direction_only_in_openapi_3_0() {
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
        // The schemas are equal, but the OpenAPI versions differ.
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
    // In a JSON Schema document, `readOnly` is an annotation as well.
    assert_eq!(levels(NONE, KEPT), (A, B));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let found = changes(&schema_of(OLD, KEPT), &schema_of(NEW, KEPT), false);
    assert!(
        found.iter().any(|it| it.message.starts_with("`id` became required in both directions")),
        "{found:?}"
    );
}

/// A lower `maxLength` of a read-only property is breaking for writers in OpenAPI 3.1, where requests may
/// contain the property (Validation 9.4), but not in OpenAPI 3.0.
#[test]
fn read_only_properties_may_be_sent() {
    let schema = |length: u8| {
        format!(
            r#"{{"type":"object","properties":{{"id":{{"type":"string","readOnly":true,"maxLength":{length}}}}}}}"#
        )
    };
    for (version, writers) in [("3.0.3", A), ("3.1.0", B)] {
        let found = levels(&schema_of(version, &schema(5)), &schema_of(version, &schema(4)));
        assert_eq!(found, (A, writers), "{version}");
    }
}

/// Removing an enumeration value from a response schema has no effect on writers.
#[test]
fn response_only_changes_do_not_affect_writers() {
    let response = |schema: &str| {
        operation(&format!(
            r#""responses":{{"200":{{"description":"","content":{{"a/b":{{"schema":{schema}}}}}}}}}"#
        ))
    };
    let found = changes(&response(r#"{"enum":["a","b"]}"#), &response(r#"{"enum":["a"]}"#), true);
    assert_eq!(found.iter().map(|change| (change.readers, change.writers)).collect::<Vec<_>>(), [(A, S)]);
}
