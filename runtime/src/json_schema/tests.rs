//! Tests of the schema writer for each keyword. Complete contracts are tested by the test cases of the
//! generator and with the types of the exchange.

use serde_json::{Value, json};

use super::*;
use crate::schema::{Keyword, Literal, ResourceId, Schema as Row, SchemaResource, TypeSet};

macro_rules! row {
    ($resource:literal, $keywords:expr $(,)?) => {
        Row { resource: ResourceId($resource), location: "", keywords: $keywords }
    };
}

const A: SchemaId = SchemaId(0);
const B: SchemaId = SchemaId(1);
const C: SchemaId = SchemaId(2);
const D: SchemaId = SchemaId(3);

static PLAIN: SchemaTables<'static> = SchemaTables {
    schemas: &[
        row!(
            0,
            &[
                Keyword::Type(TypeSet::OBJECT.union(TypeSet::NULL)),
                Keyword::Required(&["z"]),
                Keyword::Properties(&[("a", B), ("b", C)], 0b10),
                Keyword::Ref(C),
            ],
        ),
        row!(0, &[Keyword::Type(TypeSet::NUMBER), Keyword::Minimum(Number::from_decimal(125, 2))]),
        row!(0, &[Keyword::MaxProperties(3)]),
    ],
    resources: &[SchemaResource { uri: "https://test.example/root.json", dynamic_anchors: &[] }],
};

struct Root;
struct Named;

static PUBLISHED: PublishedSchemas = PublishedSchemas {
    tables: &PLAIN,
    named: &[(B, SchemaGenerator::subschema_for::<Named>)],
    annotations: &[SchemaAnnotations {
        schema: B,
        texts: &[("description", "How much.")],
        flags: &["deprecated"],
    }],
    members: &[MemberDescription { schema: A, member: "a", description: "Here." }],
    dynamic: &[],
};

crate::json_schemas! { PUBLISHED { Root as "Root" = A, Named as "Named" = B } }

fn root<T: JsonSchema>() -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    schema.as_object_mut().unwrap().remove("$schema");
    schema
}

#[test]
fn named_schemas_are_referenced_and_others_are_inlined() {
    assert_eq!(
        root::<Root>(),
        json!({
            "title": "Root",
            "type": ["null", "object"],
            "required": ["z", "b"],
            "properties": {
                "a": { "$ref": "#/$defs/Named", "description": "Here." },
                "b": { "maxProperties": 3 },
            },
            "allOf": [{ "maxProperties": 3 }],
            "$defs": {
                "Named": { "type": "number", "minimum": 1.25, "description": "How much.", "deprecated": true },
            },
        })
    );
}

/// Numbers that `serde_json` cannot represent widen the schema and never make it stricter.
#[test]
fn a_number_that_cannot_be_written_widens_its_rule() {
    let check = |keyword: Keyword<'static>, expected: Value| {
        let keywords: &'static [Keyword<'static>] = vec![keyword].leak();
        let schemas: &'static [Row<'static>] = vec![row!(0, keywords)].leak();
        let tables: &'static SchemaTables<'static> =
            Box::leak(Box::new(SchemaTables { schemas, resources: PLAIN.resources }));
        let writer = SchemaWriter { tables, annotations: &[], members: &[] };
        let mut found = writer.write_schema(A, &DynamicAnchors::default(), &mut |_, _| None);
        let comment = found.as_object_mut().unwrap().remove("$comment");
        assert_eq!(comment.is_some(), !matches!(keywords, [Keyword::Const(Literal::Bool(_))]));
        assert_eq!(found, expected);
    };
    let long = || Number::from_literal("9007199254740993.5");
    check(Keyword::Minimum(long()), json!({ "minimum": 9007199254740992.0 }));
    check(Keyword::ExclusiveMaximum(long()), json!({ "exclusiveMaximum": 9007199254740994.0 }));
    check(Keyword::Maximum(Number::from_literal("1e400")), json!({}));
    check(Keyword::MultipleOf(long()), json!({}));
    check(Keyword::Const(Literal::Number(long())), json!({}));
    check(Keyword::Const(Literal::Bool(true)), json!({ "const": true }));
}

/// If a widened keyword would make the enclosing schema reject more, the enclosing keyword is widened as
/// well.
#[test]
fn an_inexact_number_never_narrows_the_enclosing_schema() {
    let long = || Keyword::Const(Literal::Number(Number::from_literal("9007199254740993.5")));
    let check = |keyword: Keyword<'static>, expected: Value| {
        let keywords: &'static [Keyword<'static>] = vec![keyword].leak();
        let schemas: &'static [Row<'static>] = vec![
            row!(0, keywords),
            row!(0, vec![long()].leak()),
            // The inexact number is reached by a reference.
            row!(0, vec![Keyword::Items { schema: B, from: 0 }].leak()),
            row!(0, vec![Keyword::MinItems(1)].leak()),
        ]
        .leak();
        let tables: &'static SchemaTables<'static> =
            Box::leak(Box::new(SchemaTables { schemas, resources: PLAIN.resources }));
        let writer = SchemaWriter { tables, annotations: &[], members: &[] };
        let mut refer =
            |row: SchemaId, _: &DynamicAnchors<'static>| Some(json!({ "$ref": row.0.to_string() }));
        let mut found = writer.write_schema(A, &DynamicAnchors::default(), &mut refer);
        found.as_object_mut().unwrap().remove("$comment");
        assert_eq!(found, expected);
    };
    check(Keyword::Not(D), json!({ "not": { "$ref": "3" } }));
    check(Keyword::Not(C), json!({}));
    check(Keyword::OneOf(&[D, D], None), json!({ "oneOf": [{ "$ref": "3" }, { "$ref": "3" }] }));
    check(
        Keyword::OneOf(&[C, D], None),
        json!({ "allOf": [{ "anyOf": [{ "$ref": "2" }, { "$ref": "3" }] }] }),
    );
    check(
        Keyword::If { condition: B, then: None, otherwise: Some(D) },
        json!({ "allOf": [{ "anyOf": [{ "$ref": "1" }, { "$ref": "3" }, true] }] }),
    );
    check(
        Keyword::If { condition: D, then: Some(B), otherwise: None },
        json!({ "if": { "$ref": "3" }, "then": { "$ref": "1" } }),
    );
    check(
        Keyword::Contains { schema: B, min: Some(2), max: Some(3) },
        json!({ "contains": { "$ref": "1" }, "minContains": 2 }),
    );
}

/// If a schema has both a `$ref` and a `$dynamicRef`, both apply to the value (Core 8.2.3).
#[test]
fn both_references_of_a_schema_apply() {
    static BOTH: SchemaTables<'static> = SchemaTables {
        schemas: &[
            row!(0, &[Keyword::Ref(B), Keyword::DynamicRef { anchor: "c", initial: C }]),
            row!(0, &[Keyword::MinProperties(1)]),
            row!(0, &[Keyword::MaxProperties(3)]),
        ],
        resources: &[SchemaResource { uri: "https://test.example/root.json", dynamic_anchors: &[("c", C)] }],
    };
    let writer = SchemaWriter { tables: &BOTH, annotations: &[], members: &[] };
    let mut refer = |row: SchemaId, _: &DynamicAnchors<'static>| Some(json!({ "$ref": row.0.to_string() }));
    let found = writer.write_schema(A, &DynamicAnchors::default(), &mut refer);
    assert_eq!(found, json!({ "$ref": "1", "allOf": [{ "$ref": "2" }] }));
}

static TREE: SchemaTables<'static> = SchemaTables {
    schemas: &[
        // The first schema is a generic tree; the second extends it with string leaves.
        row!(0, &[Keyword::Properties(&[("below", C)], 0)]),
        row!(1, &[Keyword::Type(TypeSet::OBJECT), Keyword::Ref(A)]),
        row!(0, &[Keyword::DynamicRef { anchor: "node", initial: A }]),
    ],
    resources: &[
        SchemaResource { uri: "https://test.example/tree.json", dynamic_anchors: &[("node", A)] },
        SchemaResource { uri: "https://test.example/strict.json", dynamic_anchors: &[("node", B)] },
    ],
};

struct Tree;
struct Strict;

static TREES: PublishedSchemas = PublishedSchemas {
    tables: &TREE,
    named: &[(A, SchemaGenerator::subschema_for::<Tree>), (B, SchemaGenerator::subschema_for::<Strict>)],
    annotations: &[],
    members: &[],
    dynamic: &[A, B, C],
};

crate::json_schemas! { TREES { Tree as "Tree" = A, Strict as "Strict" = B } }

/// A `$dynamicRef` resolves to a different anchor if validation starts at a different schema (Core 8.2.3.2).
#[test]
fn a_dynamic_reference_resolves_by_its_path() {
    let tree = root::<Tree>();
    assert_eq!(tree["properties"]["below"], json!({ "$ref": "#" }));
    let strict = root::<Strict>();
    let name = strict["$ref"].as_str().unwrap().strip_prefix("#/$defs/").unwrap();
    assert_eq!(strict["$defs"][name], json!({ "properties": { "below": { "$ref": "#" } } }));
}

#[test]
fn runtime_types_have_schemas() {
    assert_eq!(Number::json_schema(&mut SchemaGenerator::default()).to_value(), json!({ "type": "number" }));
    let nullable = Nullable::<String>::json_schema(&mut SchemaGenerator::default());
    assert_eq!(nullable.to_value(), json!({ "type": ["string", "null"] }));
    let map = Map::<Number>::json_schema(&mut SchemaGenerator::default());
    assert_eq!(map.to_value(), json!({ "type": "object", "additionalProperties": { "type": "number" } }));
}
