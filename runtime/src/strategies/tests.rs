//! Tests of the strategies for all kinds of schemas. They cover valid and nearly valid documents, and
//! shrinking to valid values.

use std::collections::BTreeSet;

use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::{Config, TestError, TestRunner},
};
use serde_json::{Value, json};

use super::{nearly_valid_documents, valid_documents};
use crate::{
    Json,
    schema::{Validator, tests::compile::compile as compiled},
};

fn runner() -> TestRunner {
    TestRunner::deterministic()
}

/// Generates documents of a schema and checks that they are valid. Also generates nearly valid documents and
/// checks that they violate the expected keywords.
#[track_caller]
fn check(schema: &Value, rules: &[&str]) {
    let validator: Validator<'static> = compiled(schema);
    let mut runner = runner();
    let valid = valid_documents(validator);
    for _ in 0..100 {
        let tree = valid.new_tree(&mut runner).unwrap_or_else(|why| panic!("{schema}: {why}"));
        let document = tree.current();
        assert!(validator.is_valid(&document), "{schema}: {document}");
    }
    let nearly = nearly_valid_documents(validator);
    let mut found = BTreeSet::new();
    for _ in 0..300 {
        let tree = nearly.new_tree(&mut runner).unwrap_or_else(|why| panic!("{schema}: {why}"));
        let (document, broken) = tree.current();
        let violations = validator.validate(&document).unwrap_err();
        assert_eq!(violations.as_slice(), std::slice::from_ref(&broken), "{document}");
        found.insert(broken.keyword);
    }
    for rule in rules {
        assert!(found.contains(rule), "{schema}: nothing broke `{rule}`, only {found:?}");
    }
}

#[test]
fn scalars_are_within_their_bounds() {
    check(&json!({"type": "integer", "minimum": 3, "maximum": 7}), &["minimum", "maximum", "type"]);
    check(
        &json!({"type": "integer", "multipleOf": 7, "exclusiveMinimum": 0}),
        &["multipleOf", "exclusiveMinimum"],
    );
    check(&json!({"type": "number", "minimum": 0.25, "maximum": 0.75}), &["minimum", "maximum"]);
    check(&json!({"type": "string", "minLength": 3, "maxLength": 5}), &["minLength", "maxLength"]);
    check(&json!({"enum": ["a", 1, null]}), &["enum"]);
    check(&json!({"const": {"a": [1]}}), &["const"]);
    check(&json!({"type": ["boolean", "null"]}), &["type"]);
}

#[test]
fn strings_match_patterns() {
    for pattern in [
        "^[A-Z]{2}-[0-9]{3,6}$",
        "^(0|[1-9][0-9]*)\\.[0-9]{2}$",
        "^(a|bb|ccc)+(d|e)?$",
        "abc",
        "^$",
        "^[^\\s]+( [^\\s]+)*$",
        "^([a-z]+:)?//[^/]+/.*$",
    ] {
        check(&json!({"type": "string", "pattern": pattern}), &["type"]);
    }
    check(
        &json!({"type": "string", "pattern": "^[a-f0-9]+$", "minLength": 8, "maxLength": 9}),
        &["pattern", "maxLength"],
    );
    check(&json!({"type": "string", "pattern": "^(a|b|[0-9])+c?", "minLength": 60}), &["minLength"]);
}

#[test]
fn objects_and_arrays_have_required_parts() {
    check(
        &json!({
            "type": "object", "required": ["a"], "additionalProperties": false,
            "properties": {"a": {"type": "integer"}, "b": {"type": "string"}, "c": {"type": "boolean"}},
            "dependentRequired": {"b": ["c"]}
        }),
        &["required", "additionalProperties", "type", "dependentRequired"],
    );
    check(
        &json!({
            "type": "object", "minProperties": 2, "maxProperties": 4,
            "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": {"type": "integer"}
        }),
        &["minProperties", "propertyNames", "type"],
    );
    check(
        &json!({"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false}),
        &["additionalProperties"],
    );
    check(
        &json!({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4, "uniqueItems": true}),
        &["minItems", "maxItems", "uniqueItems", "type"],
    );
    check(
        &json!({"type": "array", "prefixItems": [{"const": 1}, {"type": "string"}], "items": false, "minItems": 2}),
        &["items"],
    );
    check(&json!({"type": "array", "contains": {"const": "x"}, "minContains": 2}), &["minContains"]);
}

#[test]
fn branches_and_conditions_are_sampled() {
    let shapes = json!({"oneOf": [
        {"type": "object", "required": ["kind", "radius"], "properties": {"kind": {"const": "circle"}, "radius": {"type": "number", "minimum": 0}}},
        {"type": "object", "required": ["kind", "side"], "properties": {"kind": {"const": "square"}, "side": {"type": "number"}}}
    ]});
    // The branches have no tag that distinguishes them.
    check(&shapes, &["oneOf"]);
    check(&json!({"anyOf": [{"type": "string"}, {"type": "integer"}], "not": {"const": 3}}), &["anyOf"]);
    check(
        &json!({
            "type": "object", "required": ["country"], "properties": {"country": {"enum": ["de", "us"]}},
            "if": {"properties": {"country": {"const": "us"}}}, "then": {"required": ["zip"]}
        }),
        &["required", "enum"],
    );
    check(
        &json!({"allOf": [{"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}, {"required": ["b"]}], "unevaluatedProperties": {"type": "string"}}),
        &["required"],
    );
}

#[test]
fn recursive_schemas_terminate() {
    check(
        &json!({
            "type": "object", "required": ["value"], "additionalProperties": false,
            "properties": {"value": {"type": "integer"}, "left": {"$ref": "#"}, "right": {"$ref": "#"}}
        }),
        &["required", "additionalProperties"],
    );
}

/// Failures shrink to the smallest valid value.
#[test]
fn failures_shrink_and_stay_valid() {
    let schema = json!({
        "type": "object", "required": ["list"], "additionalProperties": false,
        "properties": {
            "list": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 5}},
            "name": {"type": "string", "minLength": 2},
            "note": {"type": "string"}
        }
    });
    let validator = compiled(&schema);
    let config = Config { cases: 1_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let failed = runner.run(&valid_documents(validator), |document| {
        assert!(validator.is_valid(&document));
        match document.pointer("/name").and_then(Json::as_str) {
            Some(_) => Err(proptest::test_runner::TestCaseError::fail("it has a name")),
            None => Ok(()),
        }
    });
    let Err(TestError::Fail(_, smallest)) = failed else { panic!("{failed:?}") };
    assert!(validator.is_valid(&smallest), "{smallest}");
    let members = smallest.as_object().unwrap();
    assert_eq!(members.len(), 2, "{smallest}");
    assert_eq!(members.get("list").and_then(Json::as_array).map(<[Json]>::len), Some(1), "{smallest}");
    assert_eq!(members.get("name").and_then(Json::as_str).map(str::len), Some(2), "{smallest}");
}

/// A schema that accepts everything has no nearly valid documents, and a schema that accepts nothing has no
/// valid documents.
#[test]
fn impossible_strategies_fail() {
    let mut runner =
        TestRunner::new(Config { max_local_rejects: 50, failure_persistence: None, ..Config::default() });
    assert!(nearly_valid_documents(compiled(&json!(true))).new_tree(&mut runner).is_err());
    assert!(valid_documents(compiled(&json!(false))).new_tree(&mut runner).is_err());
    assert!(
        valid_documents(compiled(&json!({"type": "integer", "minimum": 2, "maximum": 1})))
            .new_tree(&mut runner)
            .is_err()
    );
}
