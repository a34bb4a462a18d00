//! Tests of keywords with unexpected values, which are coerced or dropped with a diagnostic.

#![allow(clippy::unwrap_used)]

use crate::{
    resolve::tests::{format_problems, resolve_graph},
    schema::SchemaGap,
};

/// A value in `enum`, `const` or `default` is coerced to the `type` of its schema if that is unambiguous.
#[test]
fn literals_are_coerced_to_their_type() {
    for (schema, expected_value, expected_problems) in [
        (
            "{type: string, enum: [1.0, 2.0]}",
            r#"["1.0","2.0"]"#,
            "invalid-schema /enum/0\ninvalid-schema /enum/1",
        ),
        ("{type: integer, enum: ['1']}", "[1]", "invalid-schema /enum/0"),
        ("{type: integer, enum: ['1', '2', 3]}", "[1,2,3]", "invalid-schema /enum/0\ninvalid-schema /enum/1"),
        (
            "{type: string, enum: [all, 10, 20]}",
            r#"["all","10","20"]"#,
            "invalid-schema /enum/1\ninvalid-schema /enum/2",
        ),
        (
            "{type: string, enum: [v1, 1.0, 1e3, 09, true]}",
            r#"["v1","1.0","1e3","09","true"]"#,
            "invalid-schema /enum/1\ninvalid-schema /enum/2\nsyntax /enum/3\ninvalid-schema /enum/4",
        ),
        // A `null` in an `enum` is not coerced to a string or number.
        ("{type: string, enum: [1, null]}", r#"["1",null]"#, "invalid-schema /enum/0\n?ignored /enum/1"),
        ("{type: [string, 'null'], enum: [1, null]}", r#"["1",null]"#, "invalid-schema /enum/0"),
        ("{type: [integer, 'null'], enum: [x, null]}", "-", "invalid-schema /enum"),
        ("{type: [string, 'null'], enum: [null]}", "[null]", ""),
        ("{type: [string, 'null'], const: null}", "null", ""),
        ("{type: boolean, enum: ['True']}", "[true]", "invalid-schema /enum/0"),
        ("{type: number, const: '1.5'}", "1.5", "invalid-schema /const"),
        ("{type: [string, 'null'], const: true}", r#""true""#, "invalid-schema /const"),
        ("{type: array, enum: [a, b]}", "-", "invalid-schema /enum"),
        ("{type: object, const: a}", "-", "invalid-schema /const"),
        ("{type: integer, enum: [x]}", "-", "invalid-schema /enum"),
        // Values that cannot be coerced are reported together with those that can.
        (
            "{type: integer, enum: ['1', '1.5', a]}",
            r#"[1,"1.5","a"]"#,
            "invalid-schema /enum/0\n?ignored /enum/1\n?ignored /enum/2",
        ),
        ("{type: [string, integer], enum: [a, true]}", r#"["a",true]"#, "?ignored /enum/1"),
        ("{enum: ['1', 2]}", r#"["1",2]"#, ""),
        ("{type: [string, integer], enum: [true]}", "-", "invalid-schema /enum"),
    ] {
        let (found, problems) = resolve_graph(&[("a.yaml", schema)]);
        let found = &found.schemas.iter().next().unwrap();
        let list = found.enumeration.clone().map(contract_runtime::Json::Array);
        let value = list.or_else(|| found.constant.clone()).map_or("-".to_owned(), |value| value.to_string());
        assert_eq!(
            (value.as_str(), format_problems(&problems).as_str()),
            (expected_value, expected_problems),
            "{schema}"
        );
        assert_eq!(
            found.gap,
            if expected_value == "-" { SchemaGap::Assertion } else { SchemaGap::None },
            "{schema}"
        );
        assert!(!problems.has_fatal(), "{schema}");
    }
}

/// A `null` in an `enum` is reported if `type` does not allow it, unless the schema has `nullable`.
#[test]
fn null_in_a_typed_enum_is_reported() {
    let check = |schema: &str, expect: usize| {
        let (_, problems) = resolve_graph(&[("a.json", schema)]);
        let rejections =
            problems.iter().filter(|each| each.message.contains("which its `type` does not allow"));
        assert_eq!(rejections.count(), expect, "{schema}: {problems}");
    };
    check(r#"{"type": "string", "enum": ["a", null]}"#, 1);
    check(r#"{"type": "integer", "enum": [1, null]}"#, 1);
    check(r#"{"type": "string", "enum": ["a", [1]]}"#, 1);
    check(r#"{"type": ["string", "null"], "enum": ["a", null]}"#, 0);
    check(r#"{"enum": ["a", null]}"#, 0);
    let old = |schema: &str| {
        format!(
            r#"{{"openapi": "3.0.3", "info": {{"title": "T", "version": "1"}}, "paths": {{}}, "components": {{"schemas": {{"A": {schema}}}}}}}"#
        )
    };
    check(&old(r#"{"type": "string", "nullable": true, "enum": ["a", null]}"#), 0);
    check(&old(r#"{"type": "string", "enum": ["a", null]}"#), 1);
}

/// A `const` that contradicts the `type` of its schema is kept with a warning if the schema is used only as a
/// branch, because values must then match another branch. Elsewhere, it is a fault and is dropped.
#[test]
fn literals_of_another_type_stay_in_branches() {
    let warned = |pointer: &str| format!("?invalid-schema {pointer}/const");
    for (schema, expected) in [
        ("oneOf: [{type: object, const: a}, {type: string}]", warned("/oneOf/0")),
        ("anyOf: [{allOf: [{type: object, const: a}]}, {type: string}]", warned("/anyOf/0/allOf/0")),
        ("not: {type: object, const: a}", warned("/not")),
        ("if: {type: object, const: a}\nthen: false", warned("/if")),
        ("dependentSchemas: {oneOf: {type: object, const: a}}", warned("/dependentSchemas/oneOf")),
        ("properties: {not: {type: object, const: a}}", "invalid-schema /properties/not/const".to_owned()),
        ("allOf: [{type: object, const: a}]", "invalid-schema /allOf/0/const".to_owned()),
        (
            "oneOf: [{$ref: '#/$defs/a'}, {type: string}]\n$defs: {a: {type: object, const: a}}",
            warned("/$defs/a"),
        ),
        (
            "oneOf: [{$ref: '#/$defs/b'}, {type: string}]\n\
             $defs: {a: {allOf: [{type: object, const: a}]}, b: {$ref: '#/$defs/a'}}",
            warned("/$defs/a/allOf/0"),
        ),
        // If the schema is also used for a property, the contradiction is a fault.
        (
            "oneOf: [{$ref: '#/$defs/a'}, {type: string}]\nproperties: {a: {$ref: '#/$defs/a'}}\n\
             $defs: {a: {type: object, const: a}}",
            "invalid-schema /$defs/a/const".to_owned(),
        ),
        ("$defs: {a: {type: object, const: a}}", "invalid-schema /$defs/a/const".to_owned()),
    ] {
        let (found, problems) = resolve_graph(&[("a.yaml", schema)]);
        assert_eq!(format_problems(&problems), expected, "{schema}");
        let has_constant = found.schemas.iter().any(|schema| schema.constant.is_some());
        let has_gap = found.schemas.iter().any(|schema| schema.gap == SchemaGap::Assertion);
        assert_eq!(
            (has_constant, has_gap),
            (expected.starts_with('?'), !expected.starts_with('?')),
            "{schema}"
        );
    }
}

/// A `discriminator` without a valid `propertyName` or `mapping` is reported as a fault. The valid part is
/// kept.
#[test]
fn invalid_discriminators_are_reported() {
    for (discriminator, expected, tag) in [
        ("{}", "invalid-schema /discriminator", None),
        ("{propertyName: 5}", "invalid-schema /discriminator", None),
        ("{mapping: {a: x}}", "invalid-schema /discriminator", None),
        ("{propertyName: kind, mapping: []}", "invalid-schema /discriminator/mapping", Some("kind")),
        ("5", "invalid-schema /discriminator", None),
        ("{propertyName: kind, mapping: {}}", "", Some("kind")),
    ] {
        let (found, problems) = resolve_graph(&[("a.yaml", &format!("discriminator: {discriminator}"))]);
        assert_eq!(format_problems(&problems), expected, "{discriminator}");
        let found = found.schemas.iter().next().unwrap().discriminator.as_ref();
        assert_eq!(found.map(|found| found.tag.as_str()), tag, "{discriminator}");
    }
}

/// A malformed `$id` and an empty `$ref` are reported at their location.
#[test]
fn invalid_identifiers_are_reported() {
    let (_, problems) = resolve_graph(&[("a.yaml", "$id: 'http://[a'\ntype: string\n")]);
    assert_eq!(format_problems(&problems), "invalid-schema /$id");
    let api =
        "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents: {schemas: {A: {$ref: ''}}}\n";
    let (_, problems) = resolve_graph(&[("a.yaml", api)]);
    assert_eq!(format_problems(&problems), "invalid-schema /components/schemas/A/$ref");
}
