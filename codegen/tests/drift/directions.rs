//! Members that are sent in one direction only: what `required` means for each, and what nobody can lose.

use crate::rules::{A, B, Case, S, check, schema};

/// Read-only members are never sent by clients, and write-only ones never by the service: what asks for
/// such a member in a request asks for nothing (OpenAPI 3.0, 4.7.24.2).
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
    (
        "condition-added",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"n":{"type":"string"}},"if":{"not":{"required":["id"]}},"then":{"required":["n"]}}"#,
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
        "dependency-added",
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"},"n":{"type":"string"}},"additionalProperties":{"type":"string"},"dependentRequired":{"n":["a"]}}"#,
        A,
        B,
    ),
    (
        "values-changed",
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"}},"unevaluatedProperties":{"type":"string"}}"#,
        r#"{"type":"object","required":["id"],"properties":{"id":{"type":"string","readOnly":true},"a":{"type":"string"},"n":{"type":"string"}},"unevaluatedProperties":{"type":"string"},"dependentRequired":{"n":["a"]}}"#,
        S,
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
        r#"{"type":"object","properties":{"id":{"type":["string","integer"],"writeOnly":true}}}"#,
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
];

#[test]
fn each_direction_is_asked_for_what_it_sends() {
    check(schema, CASES);
}
