//! Tests of changes whose effect depends on the wire format, such as plain strings and media ranges. Other
//! tests cover directions, several documents, and values whose validity depends on several keywords.

use contract_codegen::drift::{CompareOptions, ContractVersion, compare};

use crate::rules::{A, B, Case, S, changes, check, operation, schema};

/// Changes of schemas that are used in a request and in a response.
const SCHEMAS: &[Case] = &[
    // The old version restricts the new property by `additionalProperties` or a similar keyword, so clients
    // may already send it.
    (
        "dependency-added",
        r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"string"}},"additionalProperties":{"type":"string"},"dependentRequired":{"n":["a"]}}"#,
        A,
        B,
    ),
    (
        "values-changed",
        r#"{"type":"object","properties":{"a":{"type":"string"}},"unevaluatedProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"a":{"type":"string"},"n":{"type":"string"}},"unevaluatedProperties":{"type":"string"},"dependentRequired":{"n":["a"]}}"#,
        S,
        B,
    ),
    (
        "not-added",
        r#"{"type":"object","properties":{"id":{"type":"string"}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"string"}}"#,
        r#"{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"string"}},"patternProperties":{"^x":{"type":"integer"}},"additionalProperties":{"type":"string"},"not":{"required":["n","xa"]}}"#,
        A,
        B,
    ),
    (
        "number-format-rewritten",
        r#"{"type":"integer","minimum":0,"maximum":100}"#,
        r#"{"type":"integer","minimum":0,"maximum":100,"format":"int32"}"#,
        S,
        S,
    ),
    (
        "format-added",
        r#"{"type":"integer","minimum":0}"#,
        r#"{"type":"integer","minimum":0,"format":"int32"}"#,
        A,
        B,
    ),
    (
        "range-widened",
        r#"{"type":"integer","minimum":0}"#,
        r#"{"type":"integer","exclusiveMinimum":-1}"#,
        S,
        S,
    ),
    ("type-narrowed", r#"{"type":"number","multipleOf":1}"#, r#"{"type":"integer"}"#, S, S),
    ("enum-added", r#"{"type":"boolean"}"#, r#"{"type":"boolean","enum":[true,false]}"#, S, S),
];

/// Changes of operations.
const OPERATIONS: &[Case] = &[
    (
        "serialization-rewritten",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","style":"spaceDelimited","allowReserved":true,"schema":{"type":"string"}}]"#,
        S,
        S,
    ),
    (
        "parameter-style-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"string"}}}]"#,
        r#""parameters":[{"name":"q","in":"query","explode":false,"schema":{"type":"array","items":{"type":"string"}}}]"#,
        S,
        B,
    ),
    (
        "parameter-style-changed",
        r#""parameters":[{"name":"q","in":"query","allowEmptyValue":true,"schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        S,
        B,
    ),
    // An integer in a query is sent as a string, which the new type `string` accepts.
    (
        "type-widened",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        S,
        A,
    ),
    // A single value and an array with one element have the same form, if each element repeats the name.
    (
        "type-widened",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"string"}}}]"#,
        S,
        A,
    ),
    (
        "type-widened",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":["string","integer","null"]}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":["array","null"],"maxItems":1,"items":{"type":"string"}}}]"#,
        S,
        A,
    ),
    (
        "type-widened",
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}"#,
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}}}}"#,
        S,
        A,
    ),
    (
        "type-widened",
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"integer"}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}}}}"#,
        S,
        A,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"integer"}}}]"#,
        S,
        B,
    ),
    (
        "enum-value-removed",
        r#""parameters":[{"name":"q","in":"query","schema":{"enum":["a","b"]}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"enum":["a"]}}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"string"}}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","minItems":2,"items":{"type":"string"}}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":["string","null"]}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"array","items":{"type":"string"}}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","explode":false,"schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"query","explode":false,"schema":{"type":"array","items":{"type":"string"}}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"header","schema":{"type":"string"}}]"#,
        r#""parameters":[{"name":"q","in":"header","schema":{"type":"array","items":{"type":"string"}}}]"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}"#,
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}},"encoding":{"a":{"explode":false}}}}}"#,
        S,
        B,
    ),
    (
        "type-changed",
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"integer"}}]"#,
        r#""parameters":[{"name":"q","in":"query","schema":{"type":"string","pattern":"^x"}}]"#,
        S,
        B,
    ),
    (
        "type-widened",
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"integer"}}}}}}"#,
        r#""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}"#,
        S,
        A,
    ),
    // In a form, the values within a nested object are JSON, also if `additionalProperties` or
    // `patternProperties` describe them.
    (
        "type-changed",
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"integer"}}}}}}}"##,
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","additionalProperties":{"type":"object","properties":{"a":{"type":"string"}}}}}}}"##,
        S,
        B,
    ),
    (
        "type-changed",
        r##""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","patternProperties":{"^x":{"type":"object","properties":{"a":{"type":"integer"}}}}}}}}"##,
        r##""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","patternProperties":{"^x":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}"##,
        S,
        B,
    ),
    (
        "type-changed",
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"integer"}}}}}}}"##,
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}}}}"##,
        S,
        B,
    ),
    (
        "type-changed",
        r##""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"m":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}}}}}"##,
        r##""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"m":{"type":"array","items":{"type":"array","items":{"type":"string"}}}}}}}}"##,
        S,
        B,
    ),
    (
        "type-changed",
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"{x}":{"type":"object","properties":{"a":{"type":"integer"}}}}}}}}"##,
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"{x}":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}"##,
        S,
        B,
    ),
    (
        "type-changed",
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"0":{"type":"object","properties":{"a":{"type":"integer"}}}}}}}}"##,
        r##""requestBody":{"content":{"application/x-www-form-urlencoded":{"schema":{"type":"object","properties":{"0":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}"##,
        S,
        B,
    ),
    (
        "xml-changed",
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"p":{"type":"string"}}},{"type":"null"}]}}}}}}}"##,
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"anyOf":[{"type":"object","properties":{"p":{"type":"string","xml":{"name":"b"}}}},{"type":"null"}]}}}}}}}"##,
        B,
        S,
    ),
    (
        "xml-changed",
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","additionalProperties":{"type":"string"}}}}}}"##,
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","additionalProperties":{"type":"string","xml":{"name":"b"}}}}}}}"##,
        B,
        S,
    ),
    (
        "xml-changed",
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","patternProperties":{"^x":{"type":"string"}}}}}}}"##,
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","patternProperties":{"^x":{"type":"string","xml":{"name":"b"}}}}}}}}"##,
        B,
        S,
    ),
    (
        "xml-changed",
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"array","prefixItems":[{"type":"string"}]}}}}}"##,
        r##""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"array","prefixItems":[{"type":"string","xml":{"name":"b"}}]}}}}}"##,
        B,
        S,
    ),
    (
        "xml-changed",
        r##""requestBody":{"content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}"##,
        r##""requestBody":{"content":{"application/*":{"schema":{"type":"object","properties":{"a":{"type":"string","xml":{"name":"b"}}}}}}}"##,
        S,
        B,
    ),
    // In a form, the properties of a nested object are JSON.
    (
        "type-changed",
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"integer"}}}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string"}}}}}}}}"#,
        S,
        B,
    ),
    (
        "serialization-rewritten",
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"object"}}}}}}"#,
        r#""requestBody":{"content":{"multipart/form-data":{"schema":{"type":"object","properties":{"a":{"type":"object"}}},"encoding":{"a":{"contentType":"application/json"}}}}}"#,
        S,
        S,
    ),
    (
        "request-media-type-added",
        r#""requestBody":{"content":{"application/json":{}}}"#,
        r#""requestBody":{"content":{"application/*":{}}}"#,
        S,
        A,
    ),
    (
        "response-header-style-changed",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{"type":"integer"}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"content":{"application/json":{"schema":{"type":"integer"}}}}}}}"#,
        B,
        S,
    ),
    (
        "response-header-style-changed",
        r#""responses":{"200":{"description":"","headers":{"H":{"schema":{"type":"object"}}}}}"#,
        r#""responses":{"200":{"description":"","headers":{"H":{"explode":true,"schema":{"type":"object"}}}}}"#,
        B,
        S,
    ),
    (
        "xml-changed",
        r#""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"type":"string"}}}}}}}"#,
        r#""responses":{"200":{"description":"","content":{"application/xml":{"schema":{"type":"object","properties":{"a":{"type":"string","xml":{"name":"b"}}}}}}}}"#,
        B,
        S,
    ),
    (
        "operation-moved",
        r##""callbacks":{"c":{"{$request.body#/url}":{"post":{"responses":{}}}}}"##,
        r##""callbacks":{"c":{"{$request.body#/hook}":{"post":{"responses":{}}}}}"##,
        B,
        B,
    ),
];

/// Changes of whole documents.
const ALONE: &[Case] = &[
    (
        "security-scheme-changed-unused",
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"K"}}}}"#,
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"components":{"securitySchemes":{"k":{"type":"apiKey","in":"header","name":"L"}}}}"#,
        A,
        A,
    ),
    (
        "server-removed",
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["a","b"]}}}]}"#,
        r#"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["a"]}}}]}"#,
        B,
        B,
    ),
    // The name of a server variable is not sent, and the servers of a path can also have variables.
    (
        "server-removed",
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["a","b"]}}}]}"##,
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{g}.example","variables":{"g":{"default":"a","enum":["a"]}}}]}"##,
        B,
        B,
    ),
    (
        "server-added",
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["1","2"]}}}]}"##,
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{},"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a"}}}]}"##,
        A,
        A,
    ),
    (
        "server-removed",
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["a","b"]}}}],"get":{"responses":{}}}}}"##,
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"servers":[{"url":"https://{h}.example","variables":{"h":{"default":"a","enum":["a"]}}}],"get":{"responses":{}}}}}"##,
        B,
        B,
    ),
    (
        "response-header-style-changed",
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"","headers":{"H":{"$ref":"#/components/headers/my%20own"}}}}}}},"components":{"headers":{"my own":{"schema":{"type":"integer"}}}}}"##,
        r##"{"openapi":"3.1.0","info":{"title":"","version":"1"},"paths":{"/a":{"get":{"responses":{"200":{"description":"","headers":{"H":{"$ref":"#/components/headers/my%20own"}}}}}}},"components":{"headers":{"my own":{"content":{"application/json":{"schema":{"type":"integer"}}}}}}}"##,
        B,
        S,
    ),
];

pub(crate) fn all() -> Vec<Case> {
    [SCHEMAS, OPERATIONS, ALONE].concat()
}

#[test]
fn schemas() {
    check(schema, SCHEMAS);
}

#[test]
fn operations() {
    check(operation, OPERATIONS);
}

#[test]
fn alone() {
    check(str::to_owned, ALONE);
}

/// Replacing a keyword by an equivalent keyword is not a change. A changed branch of an `anyOf` is not a
/// change either, if another branch accepts all values of both versions.
#[test]
fn equivalent_notations_are_not_changes() {
    let rules = |old: &str, new: &str| {
        changes(&schema(old), &schema(new), false).iter().map(|change| change.rule).collect::<Vec<_>>()
    };
    let nothing: [&str; 0] = [];
    for (old, new) in [
        // The pattern `.*` matches every name.
        (
            r#"{"type":"object","additionalProperties":{"type":"string"}}"#,
            r#"{"type":"object","patternProperties":{".*":{"type":"string"}}}"#,
        ),
        // Another branch accepts the values that one branch no longer accepts.
        (
            r#"{"anyOf":[{"type":"string","pattern":"^a"},{"type":"string"}]}"#,
            r#"{"anyOf":[{"type":"string","pattern":"^b"},{"type":"string"}]}"#,
        ),
        (
            r#"{"anyOf":[{"type":"integer","maximum":5},{"type":"integer"}]}"#,
            r#"{"anyOf":[{"type":"integer","maximum":3},{"type":"integer"}]}"#,
        ),
    ] {
        assert_eq!(rules(old, new), nothing, "{new}");
        assert_eq!(rules(new, old), nothing, "{old}");
    }
}

/// A name pattern that is added to or removed from a closed object is reported once, and the object is not
/// reported as closed or opened.
#[test]
fn added_name_patterns_are_reported_once() {
    let of = |patterns: &str| {
        schema(&format!(
            r#"{{"type":"object","properties":{{"a":{{}}}},"patternProperties":{{{patterns}}},"additionalProperties":false}}"#
        ))
    };
    let rules = |old: &str, new: &str| {
        let found = changes(&of(old), &of(new), false);
        found.iter().map(|change| (change.rule, change.readers, change.writers)).collect::<Vec<_>>()
    };
    let (none, one, wide) = ("", r#""^x":{"type":"string"}"#, r#""^[xy]":{"type":"string"}"#);
    let (added, removed) = (("pattern-properties-added", B, A), ("pattern-properties-removed", A, B));
    assert_eq!(rules(none, one), [added]);
    assert_eq!(rules(one, none), [removed]);
    assert_eq!(rules(one, wide), [added]);
    assert_eq!(rules(wide, one), [removed]);
}

/// In a security scheme, `bearerFormat`, extensions, and the letter case of an HTTP scheme or a header name
/// are not compared. The letter case of a query parameter is compared.
#[test]
fn equivalent_schemes_are_not_changes() {
    let of = |scheme: &str| {
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"","version":"1"}},"paths":{{"/a":{{"get":{{"security":[{{"k":[]}}],"responses":{{}}}}}}}},"components":{{"securitySchemes":{{"k":{scheme}}}}}}}"#
        )
    };
    for (old, new) in [
        (r#"{"type":"http","scheme":"bearer"}"#, r#"{"type":"http","scheme":"Bearer","bearerFormat":"JWT"}"#),
        (
            r#"{"type":"apiKey","in":"header","name":"X-Key"}"#,
            r#"{"type":"apiKey","in":"header","name":"x-key","x-a":1}"#,
        ),
    ] {
        assert_eq!(changes(&of(old), &of(new), true), [], "{new}");
    }
    let (old, new) =
        (r#"{"type":"apiKey","in":"query","name":"K"}"#, r#"{"type":"apiKey","in":"query","name":"k"}"#);
    assert_eq!(changes(&of(old), &of(new), true)[0].rule, "security-scheme-changed");
}

/// Each document is compared with the corresponding document of the other version. Security schemes of the
/// same name in several documents are kept apart.
#[test]
fn several_documents_are_compared_separately() {
    let document = |name: &str, version: &str, server: &str, scheme: &str| {
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"{name}","version":"{version}"}},"servers":[{{"url":"https://{server}"}}],
                "paths":{{"/{name}":{{"get":{{"security":[{{"auth":[]}}],"responses":{{}}}}}}}},
                "components":{{"securitySchemes":{{"auth":{scheme}}}}}}}"#
        )
    };
    let (bearer, key) =
        (r#"{"type":"http","scheme":"bearer"}"#, r#"{"type":"apiKey","in":"header","name":"K"}"#);
    let version = |second: &str| {
        let first = document("a", "1.0.0", "a.example", bearer);
        ContractVersion::from_strings(&[("a.json", "", &first), ("b.json", "", second)]).unwrap()
    };
    let old = version(&document("b", "1.0.0", "b.example", key));
    let rules = |new: &ContractVersion| {
        let found = compare(&old, new, &CompareOptions::default()).changes;
        found.iter().map(|change| (change.rule, change.subject.clone())).collect::<Vec<_>>()
    };
    let with_subject = |rules: &[&'static str], subject: &str| {
        rules.iter().map(|rule| (*rule, subject.to_owned())).collect::<Vec<_>>()
    };
    let moved = version(&document("b", "2.0.0", "c.example", key));
    let expected = ["version-changed", "server-removed", "server-added"];
    assert_eq!(rules(&moved), with_subject(&expected, "the contract b.json"));
    let signed = version(&document("b", "1.0.0", "b.example", bearer));
    assert_eq!(rules(&signed), with_subject(&["security-scheme-changed"], "security scheme auth"));
}

/// If an operation moves to another document, the servers and security schemes of the old document are
/// compared with those of the new document.
#[test]
fn moved_operations_use_their_new_document() {
    let document = |name: &str, paths: &[&str], scheme: &str| {
        let paths: Vec<String> = paths
            .iter()
            .map(|path| format!(r#""{path}":{{"get":{{"security":[{{"k":[]}}],"responses":{{}}}}}}"#))
            .collect();
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"{name}","version":"1"}},"servers":[{{"url":"https://{name}"}}],
                "paths":{{{}}},"components":{{"securitySchemes":{{"k":{{"type":"http","scheme":"{scheme}"}}}}}}}}"#,
            paths.join(",")
        )
    };
    let version = |documents: &[(&str, &str, &str)]| ContractVersion::from_strings(documents).unwrap();
    let rules_and_readers = |old: &ContractVersion, new: &ContractVersion, subject: &str| {
        let found = compare(old, new, &CompareOptions::default()).changes;
        let own = found.into_iter().filter(|change| change.subject == subject);
        own.map(|change| (change.rule, change.readers)).collect::<Vec<_>>()
    };
    let old = version(&[("a.json", "", &document("a", &["/a", "/b"], "basic"))]);
    let moved = |scheme: &str| {
        version(&[
            ("a.json", "", &document("a", &["/a"], "basic")),
            ("b.json", "", &document("b", &["/b"], scheme).replace("https://b", "https://a")),
        ])
    };
    assert_eq!(rules_and_readers(&old, &moved("bearer"), "GET /b"), [("security-scheme-changed", B)]);
    assert_eq!(rules_and_readers(&old, &moved("basic"), "GET /b"), []);
    let of = |first: &[&str], second: &[&str]| {
        version(&[
            ("a.json", "", &document("a", first, "basic")),
            ("b.json", "", &document("b", second, "basic")),
        ])
    };
    let (old, new) = (of(&["/a"], &["/b", "/c"]), of(&["/a", "/c"], &["/b"]));
    assert_eq!(rules_and_readers(&old, &new, "GET /c"), [("server-removed", B), ("server-added", A)]);
}

/// Documents are matched by file name, by title, by a common route, or by a name that differs only in digits.
#[test]
fn documents_are_matched_by_name_title_or_route() {
    let document = |title: &str, path: &str| {
        format!(
            r#"{{"openapi":"3.1.0","info":{{"title":"{title}","version":"1"}},"servers":[{{"url":"https://{title}"}}],"paths":{{"{path}":{{"get":{{"responses":{{}}}}}}}}}}"#
        )
    };
    let version = |name: &str, title: &str, path: &str| {
        let first = document("a", "/a");
        ContractVersion::from_strings(&[("a.json", "", &first), (name, "", &document(title, path))]).unwrap()
    };
    let follows = |name: &str, title: &str, path: &str| {
        let found =
            compare(&version("b1.json", "b", "/b"), &version(name, title, path), &CompareOptions::default());
        let mut subjects = found.changes.iter().map(|change| (change.rule, change.subject.as_str()));
        subjects.any(|(rule, subject)| rule == "server-removed" && subject.starts_with("the contract"))
    };
    assert!(!follows("c.json", "c", "/c"));
    assert!(follows("c.json", "c", "/b"));
    assert!(follows("b2.json", "c", "/c"));
    assert!(follows("b1.json", "c", "/c"));
}
