//! Tests of the highest level that a change has for readers and for writers, regardless of the rules that
//! report it.

use contract_codegen::drift::ChangeLevel;

use crate::rules::{A, B, S, changes, operation, schema};

/// An old and a new schema, and the expected highest levels for readers and writers.
pub(crate) type Pair = (&'static str, &'static str, ChangeLevel, ChangeLevel);

/// Compares each pair and asserts the highest levels of the reported changes.
pub(crate) fn worst(document: impl Fn(&str) -> String, pairs: &[Pair]) {
    let mut wrong = Vec::new();
    for (old, new, readers, writers) in pairs {
        let found = changes(&document(old), &document(new), false);
        let is_reading = found.iter().map(|change| change.readers).max().unwrap_or_default();
        let is_writing = found.iter().map(|change| change.writers).max().unwrap_or_default();
        if (is_reading, is_writing) != (*readers, *writers) {
            let found: Vec<_> =
                found.iter().map(|change| (change.rule, change.readers, change.writers)).collect();
            wrong.push(format!("{old} -> {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const SCHEMAS: &[Pair] = &[
    // The new pattern `^x` matches names that another pattern already restricts. It has no effect, or
    // restricts them further.
    (
        r#"{"type":"object","patternProperties":{"^[xy]":{"type":"string"}}}"#,
        r#"{"type":"object","patternProperties":{"^[xy]":{"type":"string"},"^x":{"minLength":0}}}"#,
        S,
        S,
    ),
    (
        r#"{"type":"object","patternProperties":{".*":{"type":"string"}}}"#,
        r#"{"type":"object","patternProperties":{".*":{"type":"string"},"^x":{"maxLength":3}}}"#,
        A,
        B,
    ),
    // The old version accepts all names that match `^x`, the new version only `x1`.
    (
        r#"{"type":"object","properties":{"a":{}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false}"#,
        r#"{"type":"object","properties":{"a":{},"x1":{"type":"string"}},"additionalProperties":false}"#,
        A,
        B,
    ),
    (
        r#"{"type":"object","patternProperties":{".*":false}}"#,
        r#"{"type":"object","additionalProperties":false}"#,
        S,
        S,
    ),
    // Another branch accepts the values that one branch no longer accepts.
    (
        r#"{"anyOf":[{"type":"string","maxLength":5,"format":"a"},{"type":"string","maxLength":9}]}"#,
        r#"{"anyOf":[{"type":"string","maxLength":3,"format":"b"},{"type":"string"}]}"#,
        B,
        A,
    ),
    // An added format is breaking for writers only if it cannot hold all valid integers.
    (
        r#"{"type":"integer","minimum":0,"exclusiveMaximum":256}"#,
        r#"{"type":"integer","minimum":0,"exclusiveMaximum":256,"format":"uint8"}"#,
        S,
        S,
    ),
    (
        r#"{"type":"integer","minimum":0,"maximum":256}"#,
        r#"{"type":"integer","minimum":0,"maximum":256,"format":"uint8"}"#,
        A,
        B,
    ),
    (r#"{"type":"integer","enum":[1,2]}"#, r#"{"type":"integer","enum":[1,2],"format":"int32"}"#, S, S),
    (r#"{"type":"integer","enum":[1,300]}"#, r#"{"type":"integer","enum":[1,300],"format":"uint8"}"#, A, B),
];

/// Changes of operations. In parameters, headers, forms and `text/plain` bodies, scalars are sent as plain
/// strings, so a version that changes their type to `string` accepts the same requests.
const OPERATIONS: &[Pair] = &[
    (
        r#""parameters":[{"name":"q","in":"query","schema":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"integer"}}]}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"anyOf":[{"type":"string"},{"type":"array","items":{"type":"integer"}}]}}]"#,
        S,
        A,
    ),
    (
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string","minLength":1}}]"#,
        S,
        A,
    ),
    (
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string","minLength":2}}]"#,
        S,
        B,
    ),
    (
        r#""parameters":[{"name":"q","in":"query","schema":{"type":["integer","null"]}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        S,
        A,
    ),
    (
        r#""requestBody":{"content":{"text/plain":{"schema":{"type":"integer"}}}}"#,
        r#""requestBody":{"content":{"text/plain":{"schema":{"type":"string"}}}}"#,
        S,
        A,
    ),
    (
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{"type":"integer"}}}}}"#,
        A,
        S,
    ),
    (
        r#""callbacks":{"c":{"{$request.body#/url}":{"post":{"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}},"responses":{}}}}}"#,
        r#""callbacks":{"c":{"{$request.body#/url}":{"post":{"requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"integer"}}}}}},"responses":{}}}}}"#,
        A,
        S,
    ),
    // The media types of both versions are equal and only spelled differently.
    (
        r#""parameters":[{"name":"q","in":"query","content":{"application/json":{"schema":{}}}}]"#,
        r#""parameters":[{"name":"q","in":"query","content":{"application/json;charset=utf-8":{"schema":{}}}}]"#,
        S,
        S,
    ),
    (
        r#""responses":{"200":{"description":"","headers":{"H":{"content":{"application/json":{"schema":{}}}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"content":{"Application/JSON":{"schema":{}}}}}}}"#,
        S,
        S,
    ),
    // If several media ranges match, the most specific one applies.
    (
        r#""requestBody":{"content":{"application/json":{"schema":{"type":"string"}}}}"#,
        r#""requestBody":{"content":{"*/*":{"schema":{"type":"integer"}},"application/*":{"schema":{"type":"string"}}}}"#,
        S,
        A,
    ),
    // `encoding` has no effect outside of forms, or if it repeats the defaults.
    (
        r#""requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"a":{}}}}}}"#,
        r#""requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"a":{}}},"encoding":{"a":{"contentType":"text/csv"}}}}}"#,
        S,
        S,
    ),
    (
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64"},"l":{"type":"array","items":{"type":"object"}},"o":{"type":"object"},"i":{"type":"integer"}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64"},"l":{"type":"array","items":{"type":"object"}},"o":{"type":"object"},"i":{"type":"string"}}},"encoding":{"a":{"contentType":"application/octet-stream"},"l":{"contentType":"application/json"},"o":{"contentType":"application/json; charset=utf-8"},"i":{"contentType":"text/plain"}}}}}"#,
        S,
        A,
    ),
    (
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64"}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"string","contentEncoding":"base64"}}},"encoding":{"a":{"contentType":"text/plain"}}}}}"#,
        S,
        B,
    ),
    // The added `xml` fields have their default values.
    (
        r#""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"type":"string","xml":{"name":"a","attribute":false,"x-a":1}}}}}}}}"#,
        S,
        S,
    ),
    // The name of a callback is not sent, so renaming the callback is not breaking.
    (
        r##""callbacks":{"c":{"{$request.body#/url}":{"post":{"responses":{}}}}}"##,
        r##""callbacks":{"d":{"{$request.body#/url}":{"post":{"responses":{}}}}}"##,
        crate::rules::R,
        crate::rules::R,
    ),
    // The media range `application/*` is narrowed to `application/json`.
    (
        r#""responses":{"200":{"description":"","content":{"application/*":{"schema":{"type":"string"}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"application/json":{"schema":{"type":"string"}}}}}"#,
        A,
        S,
    ),
];

#[test]
fn schemas() {
    worst(schema, SCHEMAS);
}

#[test]
fn operations() {
    worst(operation, OPERATIONS);
}

/// If a parameter moves from the query to a header and its type changes from `integer` to `string`, the type
/// change is additive, because both types are sent as strings.
#[test]
fn moved_parameters_remain_strings() {
    let of = |place: &str, kind: &str| {
        operation(&format!(r#""parameters":[{{"name":"q","in":"{place}","schema":{{"type":"{kind}"}}}}]"#))
    };
    let found = changes(&of("query", "integer"), &of("header", "string"), false);
    let found: Vec<_> = found.iter().map(|change| (change.rule, change.writers)).collect();
    assert_eq!(found, [("parameter-moved", B), ("type-widened", A)]);
}

/// If the declaration of a property moves into one branch of an `anyOf`, it is reported as declared for some
/// branches, and not as removed.
#[test]
fn properties_of_some_branches_are_reported_once() {
    let old = r#"{"type":"object","properties":{"a":{"type":"string"}}}"#;
    let new = r#"{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}}},{"required":["b"]}]}"#;
    let found = changes(&schema(old), &schema(new), false);
    let rules: Vec<_> = found.iter().map(|change| change.rule).collect();
    assert!(rules.contains(&"property-declared-sometimes"), "{rules:?}");
    assert!(!rules.contains(&"property-removed"), "{rules:?}");
}
