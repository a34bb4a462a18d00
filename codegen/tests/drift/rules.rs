//! Tests of every rule. A case consists of the expected rule, an old and a new snippet of a contract, and the
//! expected levels for readers and writers.

use std::collections::BTreeSet;

use contract_codegen::drift::{
    ChangeLevel, CompareOptions, ContractChange, ContractVersion, compare,
    rules::{RULES, find_rule},
};

use crate::meanings;

pub(crate) const S: ChangeLevel = ChangeLevel::Same;
pub(crate) const R: ChangeLevel = ChangeLevel::Renamed;
pub(crate) const A: ChangeLevel = ChangeLevel::Additive;
pub(crate) const B: ChangeLevel = ChangeLevel::Breaking;

pub(crate) type Case = (&'static str, &'static str, &'static str, ChangeLevel, ChangeLevel);

pub(crate) fn changes(old: &str, new: &str, within_major: bool) -> Vec<ContractChange> {
    compare(&version(old), &version(new), &CompareOptions { within_major, ..CompareOptions::default() })
        .changes
}

pub(crate) fn version(text: &str) -> ContractVersion {
    ContractVersion::from_strings(&[("openapi.json", "", text)])
        .unwrap_or_else(|problems| panic!("{problems}\n{text}"))
}

pub(crate) fn check(document: impl Fn(&str) -> String, cases: &[Case]) {
    let mut wrong = Vec::new();
    for (rule, old, new, readers, writers) in cases {
        let found = changes(&document(old), &document(new), false);
        let hit = found
            .iter()
            .any(|change| change.rule == *rule && (change.readers, change.writers) == (*readers, *writers));
        if !hit {
            let found: Vec<_> =
                found.iter().map(|change| (change.rule, change.readers, change.writers)).collect();
            wrong.push(format!("{rule}: {old} -> {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Creates a document with an operation whose request and response use the schema.
pub(crate) fn schema(schema: &str) -> String {
    schema_of("3.1.0", schema)
}

/// Creates the document of [`schema`] in the given version of OpenAPI.
pub(crate) fn schema_of(version: &str, schema: &str) -> String {
    format!(
        r##"{{"openapi": "{version}", "info": {{"title": "t", "version": "1.0.0"}}, "paths": {{"/x": {{"post": {{
            "requestBody": {{"content": {{"application/json": {{"schema": {{"$ref": "#/components/schemas/s"}}}}}}}},
            "responses": {{"200": {{"description": "", "content": {{"application/json": {{"schema": {{"$ref": "#/components/schemas/s"}}}}}}}}}}
        }}}}}}, "components": {{"schemas": {{"s": {schema}}}}}}}"##
    )
}

const SCHEMAS: &[Case] = &[
    (
        "property-added",
        r#"{"type":"object"}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        A,
        A,
    ),
    (
        "property-added-closed",
        r#"{"type":"object","additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":false,"properties":{"a":{}}}"#,
        B,
        A,
    ),
    (
        "property-added-required",
        r#"{"type":"object"}"#,
        r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}"#,
        A,
        B,
    ),
    (
        "property-removed-required",
        r#"{"type":"object","required":["a"],"properties":{"a":{"type":"string"}}}"#,
        r#"{"type":"object"}"#,
        B,
        B,
    ),
    (
        "property-removed",
        r#"{"type":"object","properties":{"a":{"type":"string"}}}"#,
        r#"{"type":"object"}"#,
        A,
        B,
    ),
    (
        "property-reserved-removed",
        r#"{"type":"object","properties":{"a":{"deprecated":true}}}"#,
        r#"{"type":"object"}"#,
        B,
        B,
    ),
    (
        "property-required",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","required":["a"],"properties":{"a":{}}}"#,
        A,
        B,
    ),
    (
        "property-optional",
        r#"{"type":"object","required":["a"],"properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{}}}"#,
        B,
        A,
    ),
    (
        "object-closed",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","properties":{"a":{}},"additionalProperties":false}"#,
        A,
        B,
    ),
    (
        "object-closed",
        r#"{"type":"object","properties":{"a":{}}}"#,
        r#"{"type":"object","allOf":[{"properties":{"a":{}}}],"unevaluatedProperties":false}"#,
        A,
        B,
    ),
    ("object-opened", r#"{"type":"object","additionalProperties":false}"#, r#"{"type":"object"}"#, B, A),
    (
        "pattern-properties-added",
        r#"{"type":"object","additionalProperties":false}"#,
        r#"{"type":"object","additionalProperties":false,"patternProperties":{"^a":{}}}"#,
        B,
        A,
    ),
    (
        "pattern-properties-removed",
        r#"{"type":"object","additionalProperties":false,"patternProperties":{"^a":{}}}"#,
        r#"{"type":"object","additionalProperties":false}"#,
        A,
        B,
    ),
    (
        "property-count-narrowed",
        r#"{"type":"object","maxProperties":2}"#,
        r#"{"type":"object","maxProperties":1}"#,
        A,
        B,
    ),
    (
        "property-count-widened",
        r#"{"type":"object","maxProperties":1}"#,
        r#"{"type":"object","maxProperties":2}"#,
        B,
        A,
    ),
    ("type-changed", r#"{"type":"string"}"#, r#"{"type":"integer"}"#, B, B),
    ("type-widened", r#"{"type":"integer"}"#, r#"{"type":"number"}"#, B, A),
    ("type-narrowed", r#"{"type":["string","integer"]}"#, r#"{"type":"string"}"#, A, B),
    ("null-added", r#"{"type":"string"}"#, r#"{"type":["string","null"]}"#, B, A),
    ("null-removed", r#"{"type":["string","null"]}"#, r#"{"type":"string"}"#, A, B),
    ("const-changed", r#"{"const":"a"}"#, r#"{"const":"b"}"#, B, B),
    ("enum-added", r#"{"type":"string"}"#, r#"{"type":"string","enum":["a","b"]}"#, A, B),
    ("enum-dropped", r#"{"type":"string","enum":["a","b"]}"#, r#"{"type":"string"}"#, B, A),
    ("enum-value-added", r#"{"enum":["a"]}"#, r#"{"enum":["a","b"]}"#, B, A),
    ("enum-value-added", r#"{"oneOf":[{"const":"a"}]}"#, r#"{"oneOf":[{"const":"a"},{"const":"b"}]}"#, B, A),
    (
        "enum-value-added-open",
        r#"{"anyOf":[{"enum":["a"]},{"type":"string"}]}"#,
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        A,
        A,
    ),
    ("enum-value-removed", r#"{"enum":["a","b"]}"#, r#"{"enum":["a"]}"#, A, B),
    (
        "enum-value-removed-open",
        r#"{"anyOf":[{"enum":["a","b"]},{"type":"string"}]}"#,
        r#"{"anyOf":[{"enum":["a"]},{"type":"string"}]}"#,
        A,
        B,
    ),
    ("enum-opened", r#"{"enum":["a"]}"#, r#"{"anyOf":[{"enum":["a"]},{"type":"string"}]}"#, B, A),
    ("enum-closed", r#"{"anyOf":[{"enum":["a"]},{"type":"string"}]}"#, r#"{"enum":["a"]}"#, A, B),
    ("length-narrowed", r#"{"type":"string","maxLength":9}"#, r#"{"type":"string","maxLength":8}"#, A, B),
    ("length-widened", r#"{"type":"string","minLength":2}"#, r#"{"type":"string"}"#, B, A),
    ("pattern-added", r#"{"type":"string"}"#, r#"{"type":"string","pattern":"^a"}"#, A, B),
    ("pattern-removed", r#"{"type":"string","pattern":"^a"}"#, r#"{"type":"string"}"#, B, A),
    (
        "pattern-changed",
        r#"{"type":"string","pattern":"^a+$"}"#,
        r#"{"type":"string","pattern":"^b+$"}"#,
        B,
        B,
    ),
    ("range-narrowed", r#"{"type":"integer","minimum":0}"#, r#"{"type":"integer","minimum":1}"#, A, B),
    ("range-widened", r#"{"type":"number","maximum":5}"#, r#"{"type":"number","maximum":6}"#, B, A),
    ("range-narrowed", r#"{"type":"number","maximum":5}"#, r#"{"type":"number","exclusiveMaximum":5}"#, A, B),
    (
        "multiple-of-narrowed",
        r#"{"type":"integer","multipleOf":2}"#,
        r#"{"type":"integer","multipleOf":4}"#,
        A,
        B,
    ),
    (
        "multiple-of-widened",
        r#"{"type":"integer","multipleOf":4}"#,
        r#"{"type":"integer","multipleOf":2}"#,
        B,
        A,
    ),
    (
        "multiple-of-changed",
        r#"{"type":"integer","multipleOf":2}"#,
        r#"{"type":"integer","multipleOf":3}"#,
        B,
        B,
    ),
    ("item-count-narrowed", r#"{"type":"array","maxItems":3}"#, r#"{"type":"array","maxItems":2}"#, A, B),
    ("item-count-widened", r#"{"type":"array","minItems":1}"#, r#"{"type":"array"}"#, B, A),
    ("unique-items-set", r#"{"type":"array"}"#, r#"{"type":"array","uniqueItems":true}"#, A, B),
    ("unique-items-unset", r#"{"type":"array","uniqueItems":true}"#, r#"{"type":"array"}"#, B, A),
    (
        "items-closed",
        r#"{"type":"array","prefixItems":[{}]}"#,
        r#"{"type":"array","prefixItems":[{}],"items":false}"#,
        A,
        B,
    ),
    (
        "items-opened",
        r#"{"type":"array","prefixItems":[{}],"items":false}"#,
        r#"{"type":"array","prefixItems":[{}]}"#,
        B,
        A,
    ),
    ("contains-added", r#"{"type":"array"}"#, r#"{"type":"array","contains":{"const":1}}"#, A, B),
    ("contains-removed", r#"{"type":"array","contains":{"const":1}}"#, r#"{"type":"array"}"#, B, A),
    (
        "contains-changed",
        r#"{"type":"array","contains":{"const":1}}"#,
        r#"{"type":"array","contains":{"const":2}}"#,
        B,
        B,
    ),
    (
        "branch-added",
        r#"{"oneOf":[{"type":"object","required":["t"],"properties":{"t":{"const":"a"}}}]}"#,
        r#"{"oneOf":[{"type":"object","required":["t"],"properties":{"t":{"const":"b"}}},{"type":"object","required":["t"],"properties":{"t":{"const":"a"}}}]}"#,
        B,
        A,
    ),
    (
        "branch-removed",
        r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        r#"{"anyOf":[{"required":["a"]}]}"#,
        A,
        B,
    ),
    (
        "union-added",
        r#"{"type":"object"}"#,
        r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        A,
        B,
    ),
    (
        "union-removed",
        r#"{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        r#"{"type":"object"}"#,
        B,
        A,
    ),
    (
        "union-narrowed",
        r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
        A,
        B,
    ),
    (
        "union-widened",
        r#"{"oneOf":[{"required":["a"]},{"required":["b"]}]}"#,
        r#"{"anyOf":[{"required":["a"]},{"required":["b"]}]}"#,
        B,
        A,
    ),
    (
        "condition-added",
        r#"{"type":"object"}"#,
        r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}"#,
        A,
        B,
    ),
    (
        "condition-removed",
        r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}"#,
        r#"{"type":"object"}"#,
        B,
        A,
    ),
    (
        "condition-changed",
        r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}"#,
        r#"{"type":"object","if":{"required":["c"]},"then":{"required":["b"]}}"#,
        B,
        B,
    ),
    (
        "property-required",
        r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b"]}}"#,
        r#"{"type":"object","if":{"required":["a"]},"then":{"required":["b","c"]}}"#,
        A,
        B,
    ),
    (
        "dependency-added",
        r#"{"type":"object"}"#,
        r#"{"type":"object","dependentRequired":{"a":["b"]}}"#,
        A,
        B,
    ),
    (
        "dependency-removed",
        r#"{"type":"object","dependentSchemas":{"a":{"required":["b"]}}}"#,
        r#"{"type":"object"}"#,
        B,
        A,
    ),
    ("not-added", r#"{"type":"string"}"#, r#"{"type":"string","not":{"const":"a"}}"#, A, B),
    ("not-removed", r#"{"type":"string","not":{"const":""}}"#, r#"{"type":"string"}"#, B, A),
    (
        "unevaluated-added",
        r#"{"type":"object"}"#,
        r#"{"type":"object","unevaluatedProperties":{"type":"string"}}"#,
        A,
        B,
    ),
    (
        "unevaluated-removed",
        r#"{"type":"object","unevaluatedProperties":{"type":"string"}}"#,
        r#"{"type":"object"}"#,
        B,
        A,
    ),
    ("format-added", r#"{"type":"string"}"#, r#"{"type":"string","format":"uuid"}"#, A, B),
    ("format-removed", r#"{"type":"string","format":"uuid"}"#, r#"{"type":"string"}"#, B, A),
    (
        "format-changed",
        r#"{"type":"string","format":"date"}"#,
        r#"{"type":"string","format":"date-time"}"#,
        B,
        B,
    ),
    ("content-changed", r#"{"type":"string"}"#, r#"{"type":"string","contentEncoding":"base64"}"#, B, B),
    ("default-added", r#"{"type":"integer"}"#, r#"{"type":"integer","default":1}"#, A, A),
    ("default-changed", r#"{"type":"integer","default":2}"#, r#"{"type":"integer","default":1}"#, B, B),
    ("read-only-set", r#"{"type":"string"}"#, r#"{"type":"string","readOnly":true}"#, A, B),
    ("read-only-unset", r#"{"type":"string","readOnly":true}"#, r#"{"type":"string"}"#, A, A),
    ("write-only-set", r#"{"type":"string"}"#, r#"{"type":"string","writeOnly":true}"#, B, A),
    ("write-only-unset", r#"{"type":"string","writeOnly":true}"#, r#"{"type":"string"}"#, A, A),
    ("deprecated-set", r#"{"type":"string"}"#, r#"{"type":"string","deprecated":true}"#, A, A),
    ("deprecated-unset", r#"{"type":"string","deprecated":true}"#, r#"{"type":"string"}"#, A, A),
    ("editorial", r#"{"title":"a"}"#, r#"{"title":"b"}"#, S, S),
    ("extension-changed", r#"{"x-a":1}"#, r#"{"x-a":2}"#, A, A),
];

#[test]
fn schemas() {
    check(schema, SCHEMAS);
}

/// Creates a document with `paths` and further fields.
pub(crate) fn document(rest: &str) -> String {
    format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1.0.0"}},
            "components": {{"securitySchemes": {{"s": {{"type": "oauth2", "flows": {{"clientCredentials": {{"tokenUrl": "https://x.example/", "scopes": {{"a": "", "b": ""}}}}}}}}, "k": {{"type": "apiKey", "in": "header", "name": "K"}}}}}},
            {rest}}}"#
    )
}

const DOCUMENTS: &[Case] = &[
    ("operation-added", r#""paths":{}"#, r#""paths":{"/x":{"get":{"responses":{}}}}"#, A, A),
    ("operation-removed", r#""paths":{"/x":{"get":{"responses":{}}}}"#, r#""paths":{}"#, B, B),
    (
        "operation-moved",
        r#""paths":{"/x":{"get":{"operationId":"o","responses":{}}}}"#,
        r#""paths":{"/y":{"get":{"operationId":"o","responses":{}}}}"#,
        B,
        B,
    ),
    ("webhook-added", r#""paths":{}"#, r#""paths":{},"webhooks":{"w":{"post":{"responses":{}}}}"#, A, A),
    ("webhook-removed", r#""paths":{},"webhooks":{"w":{"post":{"responses":{}}}}"#, r#""paths":{}"#, B, B),
    (
        "server-changed",
        r#""paths":{},"servers":[{"url":"https://a.example"},{"url":"https://b.example"}]"#,
        r#""paths":{},"servers":[{"url":"https://b.example"},{"url":"https://a.example"}]"#,
        A,
        A,
    ),
    (
        "path-parameter-renamed",
        r#""paths":{"/x/{a}":{"get":{"operationId":"o","parameters":[{"name":"a","in":"path","required":true,"schema":{}}],"responses":{}}}}"#,
        r#""paths":{"/x/{b}":{"get":{"operationId":"o","parameters":[{"name":"b","in":"path","required":true,"schema":{}}],"responses":{}}}}"#,
        S,
        R,
    ),
];

#[test]
fn documents() {
    check(document, DOCUMENTS);
}

/// Creates a document with one operation.
pub(crate) fn operation(members: &str) -> String {
    let members = if members.contains("\"responses\"") {
        members.to_owned()
    } else {
        format!(r#"{members},"responses":{{}}"#)
    };
    document(&format!(r#""paths":{{"/x":{{"post":{{{members}}}}}}}"#))
}

const OPERATIONS: &[Case] = &[
    ("operation-renamed", r#""operationId":"a""#, r#""operationId":"b""#, R, R),
    ("operation-deprecated", r#""summary":"""#, r#""summary":"","deprecated":true"#, A, A),
    ("operation-undeprecated", r#""deprecated":true"#, r#""deprecated":false"#, A, A),
    ("operation-editorial", r#""summary":"a""#, r#""summary":"b""#, S, S),
    ("sign-in-required", r#""security":[]"#, r#""security":[{"s":["a"]}]"#, B, B),
    ("sign-in-dropped", r#""security":[{"s":["a"]}]"#, r#""security":[{"s":["a"]},{}]"#, A, A),
    ("scope-required", r#""security":[{"s":["a"]}]"#, r#""security":[{"s":["a","b"]}]"#, B, B),
    ("scope-released", r#""security":[{"s":["a","b"]}]"#, r#""security":[{"s":["a"]}]"#, A, A),
    ("scope-added", r#""security":[{"s":["a"]}]"#, r#""security":[{"s":["a"]},{"s":["c"]}]"#, A, A),
    ("scope-removed", r#""security":[{"s":["a","c"]}]"#, r#""security":[{"s":["a"]}]"#, B, B),
    ("security-changed", r#""security":[{"s":["a"]}]"#, r#""security":[{"k":[]}]"#, B, B),
    (
        "security-alternative-added",
        r#""security":[{"s":["a"]}]"#,
        r#""security":[{"s":["a"]},{"k":[]}]"#,
        A,
        A,
    ),
    (
        "parameter-added-optional",
        r#""parameters":[]"#,
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        S,
        A,
    ),
    (
        "parameter-added-required",
        r#""parameters":[]"#,
        r#""parameters":[{"name":"p","in":"query","required":true,"schema":{}}]"#,
        S,
        B,
    ),
    (
        "parameter-removed",
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        r#""parameters":[]"#,
        S,
        B,
    ),
    (
        "parameter-moved",
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"header","schema":{}}]"#,
        S,
        B,
    ),
    (
        "parameter-required",
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"query","required":true,"schema":{}}]"#,
        S,
        B,
    ),
    (
        "parameter-optional",
        r#""parameters":[{"name":"p","in":"query","required":true,"schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        S,
        A,
    ),
    (
        "parameter-style-changed",
        r#""parameters":[{"name":"p","in":"query","schema":{"type":"array"}}]"#,
        r#""parameters":[{"name":"p","in":"query","explode":false,"schema":{"type":"array"}}]"#,
        S,
        B,
    ),
    (
        "parameter-deprecated",
        r#""parameters":[{"name":"p","in":"query","schema":{}}]"#,
        r#""parameters":[{"name":"p","in":"query","deprecated":true,"schema":{}}]"#,
        A,
        A,
    ),
    (
        "default-changed",
        r#""parameters":[{"name":"p","in":"query","schema":{"default":1}}]"#,
        r#""parameters":[{"name":"p","in":"query","schema":{"default":2}}]"#,
        S,
        B,
    ),
    (
        "request-body-added-optional",
        r#""summary":"""#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        S,
        A,
    ),
    (
        "request-body-added-required",
        r#""summary":"""#,
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        S,
        B,
    ),
    ("request-body-removed", r#""requestBody":{"content":{"text/plain":{}}}"#, r#""summary":"""#, S, B),
    (
        "request-body-required",
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        S,
        B,
    ),
    (
        "request-body-optional",
        r#""requestBody":{"required":true,"content":{"text/plain":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        S,
        A,
    ),
    (
        "request-media-type-added",
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{},"text/csv":{}}}"#,
        S,
        A,
    ),
    (
        "request-media-type-removed",
        r#""requestBody":{"content":{"text/plain":{},"text/csv":{}}}"#,
        r#""requestBody":{"content":{"text/plain":{}}}"#,
        S,
        B,
    ),
    (
        "encoding-changed",
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{}}},"encoding":{"a":{"contentType":"text/csv"}}}}}"#,
        S,
        B,
    ),
    (
        "encoding-changed",
        r#""responses":{"200":{"description":"","content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{}}}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{}}},"encoding":{"a":{"contentType":"text/csv"}}}}}}"#,
        B,
        S,
    ),
    (
        "response-added",
        r#""responses":{"200":{"description":""}}"#,
        r#""responses":{"200":{"description":""},"404":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-removed",
        r#""responses":{"200":{"description":""},"202":{"description":""}}"#,
        r#""responses":{"200":{"description":""}}"#,
        B,
        S,
    ),
    (
        "error-response-removed",
        r#""responses":{"200":{"description":""},"404":{"description":""}}"#,
        r#""responses":{"200":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-media-type-added",
        r#""responses":{"200":{"description":"","content":{"text/plain":{}}}}"#,
        r#""responses":{"200":{"description":"","content":{"text/plain":{},"text/csv":{}}}}"#,
        A,
        S,
    ),
    (
        "response-media-type-removed",
        r#""responses":{"200":{"description":"","content":{"text/plain":{},"text/csv":{}}}}"#,
        r#""responses":{"200":{"description":"","content":{"text/plain":{}}}}"#,
        B,
        S,
    ),
    (
        "response-header-added",
        r#""responses":{"200":{"description":""}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        A,
        S,
    ),
    (
        "response-header-removed",
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        r#""responses":{"200":{"description":""}}"#,
        B,
        S,
    ),
    (
        "response-header-removed-optional",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        r#""responses":{"200":{"description":""}}"#,
        A,
        S,
    ),
    (
        "response-header-required",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        A,
        S,
    ),
    (
        "response-header-optional",
        r#""responses":{"200":{"description":"","headers":{"H":{"required":true,"schema":{}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{}}}}}"#,
        B,
        S,
    ),
    // In the old version, `default` covers the status 404, so the new entry is compared with it.
    (
        "type-changed",
        r#""responses":{"default":{"description":"","content":{"text/json":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"default":{"description":"","content":{"text/json":{"schema":{"type":"string"}}}},"404":{"description":"","content":{"text/json":{"schema":{"type":"integer"}}}}}"#,
        B,
        S,
    ),
];

#[test]
fn operations() {
    check(operation, OPERATIONS);
}

/// Changes of whole documents, and of schemas that no operation uses.
const ALONE: &[Case] = &[
    (
        "id-changed",
        r#"{"$id":"https://x.example/a","type":"string"}"#,
        r#"{"$id":"https://x.example/b","type":"string"}"#,
        B,
        B,
    ),
    ("schema-added", r#"{"type":"string"}"#, r#"{"type":"string","$defs":{"a":{}}}"#, A, A),
    ("schema-removed", r#"{"type":"string","$defs":{"a":{}}}"#, r#"{"type":"string"}"#, B, B),
    ("length-narrowed", r#"{"type":"string"}"#, r#"{"type":"string","maxLength":1}"#, A, B),
    (
        "version-changed",
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{}}"#,
        r#"{"openapi":"3.1.0","info":{"title":"","version":"2"},"paths":{}}"#,
        S,
        S,
    ),
    (
        "security-scheme-changed",
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"get":{"security":[{"k":[]}],"responses":{}}}},"components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"K"}}}}"#,
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"get":{"security":[{"k":[]}],"responses":{}}}},"components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"L"}}}}"#,
        B,
        B,
    ),
];

#[test]
fn alone() {
    check(str::to_owned, ALONE);
}

#[test]
fn removed_ids_are_reported() {
    let read = |texts: &[(&str, &str, &str)]| {
        ContractVersion::from_strings(texts).unwrap_or_else(|problems| panic!("{problems}"))
    };
    let user = r#"{"$id":"https://x.example/a","$ref":"b"}"#;
    let old =
        read(&[("a.json", "", user), ("b.json", "", r#"{"$id":"https://x.example/b","type":"string"}"#)]);
    let new = read(&[("a.json", "", r#"{"$id":"https://x.example/a","type":"string"}"#)]);
    let found = compare(&old, &new, &CompareOptions::default()).changes;
    assert_eq!(found.iter().map(|change| change.rule).collect::<Vec<_>>(), ["id-removed"]);
}

#[test]
fn every_rule_has_a_case() {
    let others = [
        crate::newcomers::CASES,
        crate::directions::CASES,
        crate::forms::CASES,
        crate::wire::all().as_slice(),
        meanings::all().as_slice(),
    ]
    .concat();
    let cases = [SCHEMAS, DOCUMENTS, OPERATIONS, ALONE, others.as_slice()].concat();
    let mut named: BTreeSet<&str> = cases.iter().map(|case| case.0).collect();
    named.insert("id-removed");
    named.extend(crate::formats::RULES);
    let without: Vec<&str> = RULES.iter().map(|rule| rule.id).filter(|id| !named.contains(id)).collect();
    assert!(without.is_empty(), "{without:?}");
    assert!(named.iter().all(|id| find_rule(id).is_some()));
}

/// CON-11: within a major version, removing an optional property is breaking for readers.
#[test]
fn optional_fields_must_stay_within_a_major_version() {
    let old = schema(r#"{"type":"object","properties":{"a":{"type":"string"}}}"#);
    let found = changes(&old, &schema(r#"{"type":"object"}"#), true);
    assert!(found.iter().any(|change| change.rule == "property-removed" && change.readers == B));
}

/// A rewrite that is proven to accept the same values has the level `same`, and a breaking change is proven
/// by a witness.
#[test]
fn proofs() {
    let cases = [
        // Both schemas accept the same integers.
        (r#"{"type":"integer","minimum":1}"#, r#"{"type":"integer","exclusiveMinimum":0}"#, None, S),
        (r#"{"type":"string","maxLength":3}"#, r#"{"type":"string","maxLength":4}"#, Some("\"aaaa\""), B),
        (
            r#"{"type":"object","required":["a"],"properties":{"a":{"enum":["x"]}}}"#,
            r#"{"type":"object","properties":{"a":{"enum":["x"]}}}"#,
            Some("{}"),
            B,
        ),
        (
            r#"{"anyOf":[{"required":["a"]},{"required":["b"]}],"type":"object"}"#,
            r#"{"type":"object"}"#,
            Some("{}"),
            B,
        ),
    ];
    for (old, new, witness, level) in cases {
        let found = changes(&schema(old), &schema(new), true);
        let [change] = found.as_slice() else { panic!("{new}: {found:#?}") };
        assert_eq!(
            (change.witness.as_deref(), change.proven, change.level()),
            (witness, true, level),
            "{new}"
        );
    }
    // Automata find the witness of a changed pattern.
    let found = changes(
        &schema(r#"{"type":"string","pattern":"^[ab]$"}"#),
        &schema(r#"{"type":"string","pattern":"^[abc]$"}"#),
        true,
    );
    assert_eq!(found[0].witness.as_deref(), Some("\"c\""));
    let nothing = changes(
        &schema(r#"{"oneOf":[{"type":"string"},{"type":"integer"}]}"#),
        &schema(r#"{"type":["string","integer"]}"#),
        true,
    );
    assert_eq!(nothing, []);
}

/// For every witness, the validator `jsonschema` accepts the value in exactly one version.
#[test]
fn witnesses_are_valid_in_only_one_version() {
    let accepts = |text: &str, value: &serde_json::Value| {
        let mut document: serde_json::Value = serde_json::from_str(text).unwrap();
        document["$ref"] = "#/components/schemas/s".into();
        let options = jsonschema::options().with_draft(jsonschema::Draft::Draft202012);
        options.build(&document).unwrap_or_else(|error| panic!("{error}: {text}")).is_valid(value)
    };
    let mut witnesses = 0;
    for (rule, old, new, ..) in SCHEMAS {
        let (old, new) = (schema(old), schema(new));
        for change in changes(&old, &new, false) {
            let Some(witness) = &change.witness else { continue };
            assert!(change.proven, "{rule}: {change:#?}");
            // The witness of a nested location is not a whole body, so it is not checked.
            if !change.subject.ends_with("body") {
                continue;
            }
            witnesses += 1;
            let value = serde_json::from_str(witness).unwrap();
            assert!(accepts(&old, &value) != accepts(&new, &value), "{rule}: {witness}");
        }
    }
    assert!(witnesses >= 30, "only {witnesses} witnesses");
}
