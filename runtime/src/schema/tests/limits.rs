//! Tests of validation limits with malicious values.

use std::cell::Cell;
use std::hash::Hash;
use std::hash::Hasher;

use serde_json::json;

use super::compile::Documents;
use super::compile::compile;
use crate::Json;
use crate::Number;
use crate::json::JsonObject;
use crate::schema::array::is_unique;
use crate::schema::evaluate::is_valid;
use crate::schema::*;
use crate::violation::Violation;
use crate::violation::Violations;

fn found(validator: Validator<'_>, value: &Json) -> Vec<(String, &'static str)> {
    let violations = validator.validate(value).map_or_else(Violations::into_vec, |()| Vec::new());
    assert_eq!(validator.is_valid(value), violations.is_empty());
    violations.into_iter().map(|one| (one.pointer, one.keyword)).collect()
}

fn nested(depth: usize) -> Json {
    (0..depth).fold(Json::Null, |inner, _| Json::Array(vec![inner]))
}

#[test]
fn self_reference_exceeds_the_depth_limit() {
    let validator = compile(&json!({ "$ref": "#" }));
    assert_eq!(found(validator, &Json::Null), [(String::new(), "depth")]);
    // A value never passes validation if a limit is exceeded, under any enclosing keyword.
    let validator = compile(&json!({ "not": { "$ref": "#/not" } }));
    assert_eq!(found(validator, &Json::Null), [(String::new(), "depth")]);
    let validator = compile(&json!({ "anyOf": [{ "$ref": "#/anyOf/0" }, { "type": "string" }] }));
    assert_eq!(found(validator, &Json::Null), [(String::new(), "depth")]);
}

#[test]
fn deep_values_exceed_the_depth_limit() {
    let validator = compile(&json!({ "items": { "$ref": "#" } }));
    // Two schema applications per level exceed the capacity of an ordinary stack, but not the limit.
    assert_eq!(found(validator, &nested(1_000)), []);
    let few = ValidationLimits { depth: 300, ..ValidationLimits::DEFAULT };
    let refused = validator.validate_with_limits(&nested(200), &few).unwrap_err().into_vec();
    assert!(
        matches!(&refused[..], [one] if one.keyword == "depth" && one.pointer.len() > 200),
        "{refused:?}"
    );
    let refused = found(validator, &nested(2_100));
    assert!(matches!(&refused[..], [(pointer, "depth")] if pointer.len() > 2_000), "{refused:?}");
}

/// Runs with a 2 MiB stack, the usual stack size of worker threads in async runtimes.
#[test]
fn maximum_depth_fits_a_small_stack() {
    let schema = json!({
        "properties": { "a": { "$ref": "#" } },
        "allOf": [{ "anyOf": [{ "if": true, "then": { "oneOf": [{ "dependentSchemas": { "a": { "properties": { "a": { "$ref": "#" } }, "unevaluatedProperties": false } } }] } }] }],
        "unevaluatedProperties": false
    });
    let run = move || {
        let validator = compile(&schema);
        let value = (0..4_000)
            .fold(Json::Null, |inner, _| Json::Object([("a".to_owned(), inner)].into_iter().collect()));
        let refused = found(validator, &value);
        // Values of this depth would also overflow the stack when they are dropped.
        std::mem::forget(value);
        refused.len()
    };
    let worker = std::thread::Builder::new().stack_size(2 << 20).spawn(run);
    assert_eq!(worker.unwrap().join().unwrap(), 1);
}

#[test]
fn overlapping_branches_exceed_the_effort_limit() {
    let validator = compile(&json!({
        "anyOf": [
            { "items": { "$ref": "#" }, "minItems": 2 },
            { "items": { "$ref": "#" }, "maxItems": 0 },
            { "items": { "$ref": "#" }, "minItems": 3 }
        ],
        "type": "array"
    }));
    let lists =
        |levels: usize| (1..levels).fold(Json::Array(Vec::new()), |inner, _| Json::Array(vec![inner]));
    // Without a limit, this would take about 3^61 schema applications.
    let few = ValidationLimits { effort: 100_000, ..ValidationLimits::DEFAULT };
    let refused = validator.validate_with_limits(&lists(61), &few).unwrap_err().into_vec();
    assert_eq!(refused.iter().map(|one| one.keyword).collect::<Vec<_>>(), ["effort"]);
    assert!(!is_valid(&validator, &lists(61), &few));
    let needed = needed(validator, &lists(5)).effort;
    // Each level has three branches, so one more level needs more than twice the effort.
    let twice = ValidationLimits { effort: 2 * needed, ..ValidationLimits::DEFAULT };
    assert!(gives_up(validator, &lists(6), &twice));
}

/// A large value consumes more effort, so that a few schema applications reach the default limit.
#[test]
fn effort_has_a_default_limit() {
    let schemas = |count: usize| compile(&json!({ "allOf": vec![json!({ "minLength": 1 }); count] }));
    let value = Json::String("x".repeat(16 << 20));
    assert_eq!(found(schemas(17), &value), []);
    assert_eq!(found(schemas(20), &value), [(String::new(), "effort")]);
}

fn gives_up(validator: Validator<'_>, value: &Json, limits: &ValidationLimits) -> bool {
    let given_up = |one: &Violation| ["depth", "effort"].contains(&one.keyword);
    let found =
        validator.validate_with_limits(value, limits).map_or_else(Violations::into_vec, |()| Vec::new());
    let gave_up = found.iter().any(given_up);
    assert!(!gave_up || !is_valid(&validator, value, limits), "{found:?}");
    gave_up
}

/// Returns the minimum depth and the minimum effort with which validation completes.
fn needed(validator: Validator<'_>, value: &Json) -> ValidationLimits {
    let enough = |limits: &ValidationLimits| !gives_up(validator, value, limits);
    let depth = (0..)
        .map(|depth| ValidationLimits { depth, ..ValidationLimits::DEFAULT })
        .find(enough)
        .unwrap()
        .depth;
    let effort = (0..)
        .map(|effort| ValidationLimits { effort, ..ValidationLimits::DEFAULT })
        .find(enough)
        .unwrap()
        .effort;
    ValidationLimits { depth, effort, ..ValidationLimits::DEFAULT }
}

/// A condition on one member is evaluated without a stack frame, but consumes the same depth and effort as a
/// schema application.
#[test]
fn conditions_on_one_member_cost_as_much_as_an_application() {
    let many = |member: Json| {
        let others = (0..40).map(|at| (format!("m{at}"), Json::Null));
        Json::Object([("a".to_owned(), member)].into_iter().chain(others).collect())
    };
    let one = |member: Json| Json::Object([("a".to_owned(), member)].into_iter().collect());
    let (number, text) = (Json::Number(Number::from_i64(1)), Json::String("x".repeat(400)));
    let values = [
        Json::Object(JsonObject::default()),
        one(number.clone()),
        many(text),
        one(many(number.clone())),
        many(one(number)),
        many(one(one(Json::Null))),
    ];
    let of_a = |inner: serde_json::Value| json!({ "properties": { "a": inner } });
    for condition in [
        json!({ "required": ["a"] }),
        of_a(json!({ "const": 1 })),
        of_a(json!({ "type": "object", "maxProperties": 9 })),
        of_a(of_a(json!({ "const": 1 }))),
        of_a(of_a(of_a(json!({ "type": "null" })))),
    ] {
        // This additional keyword always holds and costs nothing, but disables the shortcut.
        let mut applied = condition.clone();
        applied["maxProperties"] = json!(1_000);
        let of = |condition| compile(&json!({ "if": condition, "then": { "maxProperties": 50 } }));
        let (condition_row, applied) = (of(condition.clone()), of(applied));
        for value in &values {
            let (condition_row, applied) = (needed(condition_row, value), needed(applied, value));
            assert_eq!(
                (condition_row.depth, condition_row.effort),
                (applied.depth, applied.effort),
                "{condition} {value}"
            );
        }
    }
}

/// The comparison of branches has an effort limit of its own. If the effort limit of the validation suffices
/// to reject a value, the violations are those without a limit, or only that of the union.
#[test]
fn comparisons_of_branches_have_their_own_effort() {
    let schema = json!({
        "$defs": {"node": {"oneOf": [
            {"type": "object", "required": ["a"], "properties": {"next": {"$ref": "#/$defs/node"}}},
            {"type": "object", "required": ["b", "c"], "properties": {"next": {"$ref": "#/$defs/node"}}}
        ]}},
        "$ref": "#/$defs/node"
    });
    let validator = compile(&schema);
    let value = (0..5).fold(json!({"next": 1}), |inner, _| json!({"a": 1, "next": inner}));
    let value = Json::parse(value.to_string().as_bytes()).unwrap();
    let all = validator.validate(&value).unwrap_err();
    assert!(all.len() > 5, "{all}");
    let mut exceeded = true;
    for effort in (1..6_000).step_by(7) {
        let limits = ValidationLimits { effort, ..ValidationLimits::DEFAULT };
        let found = validator.validate_with_limits(&value, &limits).unwrap_err();
        let gives_up = found.iter().any(|one| one.keyword == "effort");
        assert!(exceeded || !gives_up, "{effort} does not suffice, but less does: {found}");
        exceeded = gives_up;
        assert!(gives_up || found.iter().all(|one| all.iter().any(|other| one.pointer == other.pointer)));
    }
    assert!(!exceeded);
}

#[test]
fn number_of_violations_is_limited() {
    let validator = compile(&json!({ "items": { "type": "string", "minLength": 1 } }));
    let value = Json::Array(vec![Json::Null; 5000]);
    assert_eq!(found(validator, &value).len(), 1000);
    let limits = ValidationLimits { violations: 3, ..ValidationLimits::DEFAULT };
    let few = validator.validate_with_limits(&value, &limits).map_err(|violations| violations.len());
    assert_eq!(few, Err(3));
}

/// Violations of the value itself displace violations inside it, regardless of the order of keywords.
#[test]
fn the_shallower_violations_are_kept() {
    let validator = compile(&json!({
        "properties": { "list": { "items": { "type": "object", "properties": { "a": { "type": "string" } } } } },
        "allOf": [{ "properties": { "list": { "maxItems": 3 } } }],
        "required": ["id"]
    }));
    let value = json!({ "list": [{ "a": 1 }, { "a": 1 }, 7, { "a": 1 }] });
    let kept = |violations| {
        let limits = ValidationLimits { violations, ..ValidationLimits::DEFAULT };
        let refused = validator.validate_with_limits(&Json::from(&value), &limits).unwrap_err().into_vec();
        refused.into_iter().map(|one| one.pointer + " " + one.keyword).collect::<Vec<_>>()
    };
    let (whole, third) = (["/id required", "/list maxItems"], "/list/2 type");
    // Both paths have one step, and this violation is found first.
    assert_eq!(kept(1), whole[1..]);
    assert_eq!(kept(2), whole);
    assert_eq!(kept(3), [whole[0], whole[1], third]);
    // Among equally deep violations, the first one is kept.
    assert_eq!(kept(4), [whole[0], whole[1], "/list/0/a type", third]);
    assert_eq!(kept(9).len(), 6);
}

/// Members that were skipped because of the limit are not reported as unevaluated.
#[test]
fn skipped_parts_are_not_reported() {
    let validator = compile(&json!({ "items": {
        "properties": { "a": { "type": "string" } },
        "allOf": [{ "properties": { "b": { "type": "string" } } }],
        "unevaluatedProperties": false
    } }));
    let value = Json::from(&json!(vec![json!({ "a": 1, "b": 2 }); 4]));
    for violations in 1..8 {
        let limits = ValidationLimits { violations, ..ValidationLimits::DEFAULT };
        let refused = validator.validate_with_limits(&value, &limits).unwrap_err();
        assert_eq!(refused.len(), violations);
        assert!(refused.iter().all(|one| one.keyword == "type"), "{refused}");
    }
}

#[test]
fn unique_items_are_compared_in_one_pass() {
    /// A value that counts how often it is compared.
    struct Counted<'c>(Json, &'c Cell<usize>);
    impl PartialEq for Counted<'_> {
        fn eq(&self, other: &Self) -> bool {
            self.1.set(self.1.get() + 1);
            self.0 == other.0
        }
    }
    impl Eq for Counted<'_> {}
    impl Hash for Counted<'_> {
        fn hash<H: Hasher>(&self, state: &mut H) {
            self.0.hash(state);
        }
    }
    let compared = Cell::new(0);
    let item = |n: i64| Counted(Json::from(n), &compared);
    let mut items: Vec<_> = (0..20_000).map(item).collect();
    assert!(is_unique(&items));
    items.push(Counted(Json::parse(b"7.0").unwrap(), &compared));
    assert!(!is_unique(&items));
    // Only elements with equal hashes are compared, whereas all pairs would be 200 million comparisons.
    assert!(compared.get() < items.len(), "{}", compared.get());
}

#[test]
fn ids_outside_the_table_accept_nothing() {
    static TABLES: SchemaTables = SchemaTables { schemas: &[], resources: &[] };
    let validator = Validator::new(&TABLES, SchemaId(7));
    assert_eq!(found(validator, &Json::Null), [(String::new(), "false")]);
}

/// Schema tables, including numbers and patterns, can be constants.
#[test]
fn schema_tables_can_be_constants() {
    use crate::pattern::*;
    static NAME: Pattern = Pattern {
        source: "^a",
        program: PatternProgram::Sequence(AtomSequence {
            start: true,
            end: false,
            atoms: &[SequenceAtom::Literal("a")],
        }),
    };
    static TABLES: SchemaTables = SchemaTables {
        schemas: &[
            Schema {
                resource: ResourceId(0),
                location: "",
                keywords: &[
                    Keyword::Type(TypeSet::OBJECT.union(TypeSet::NUMBER)),
                    Keyword::Minimum(Number::from_decimal(15, 1)),
                    Keyword::Properties(&[("a", SchemaId(1)), ("b", SchemaId(2))], 0b01),
                ],
            },
            Schema {
                resource: ResourceId(0),
                location: "/properties/a",
                keywords: &[Keyword::Pattern(&NAME)],
            },
            Schema {
                resource: ResourceId(0),
                location: "/properties/b",
                keywords: &[Keyword::Enum(&[
                    Literal::Null,
                    Literal::Array(&[
                        Literal::Number(Number::from_i64(1)),
                        Literal::Object(&[("x", Literal::Bool(true))]),
                    ]),
                ])],
            },
        ],
        resources: &[SchemaResource { uri: "https://test.example/a.json", dynamic_anchors: &[] }],
    };
    const VALIDATOR: Validator<'static> = Validator::new(&TABLES, SchemaId(0));
    let value = json!({ "a": "ab", "b": [1.0, { "x": true }] });
    assert_eq!(VALIDATOR.validate_value(&value), Ok(()));
    let found = |value| {
        let violations = VALIDATOR.validate_value(&value).unwrap_err().into_iter();
        let lines = violations.map(|v| format!("{}: {} ({})", v.pointer, v.keyword, v.schema));
        lines.collect::<Vec<_>>()
    };
    let expected = [
        "/a: pattern (https://test.example/a.json#/properties/a)",
        "/b: enum (https://test.example/a.json#/properties/b)",
    ];
    assert_eq!(found(json!({ "a": "b", "b": [1] })), expected);
    assert!(!VALIDATOR.is_valid(&Json::from(&json!(1.4))));
    assert_eq!(found(json!({ "b": null })), ["/a: required (https://test.example/a.json#)"]);
}

/// The meta-schema and its vocabularies, as embedded in the generator.
const METASCHEMAS: [&str; 8] = [
    include_str!("../../../../codegen/core/src/load/metaschemas/schema.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/core.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/applicator.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/unevaluated.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/validation.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/meta-data.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/format-annotation.json"),
    include_str!("../../../../codegen/core/src/load/metaschemas/content.json"),
];

/// The meta-schemas validate themselves, with a `$dynamicRef` through eight resources.
#[test]
fn metaschema_validates_itself() {
    let documents = METASCHEMAS.map(|text| serde_json::from_str::<serde_json::Value>(text).unwrap());
    let mut known = Documents::default();
    for document in &documents {
        known.add(document["$id"].as_str().unwrap(), document);
    }
    let meta = json!({ "$ref": "https://json-schema.org/draft/2020-12/schema" });
    let validator = super::compile::compile_with(&meta, known);
    for document in &documents {
        assert_eq!(validator.validate_value(document), Ok(()));
    }
    let wrong = json!({ "properties": { "a": { "minLength": -1, "type": "text" } } });
    let refused = found(validator, &Json::from(&wrong));
    assert_eq!(
        refused,
        [("/properties/a/minLength".to_owned(), "minimum"), ("/properties/a/type".to_owned(), "enum"),]
    );
}

/// Members are validated, and missing ones are reported, whether the object or the schema has more members,
/// and also beyond the 64 members that the bit set can hold.
#[test]
fn members_are_matched_from_either_side() {
    let name = |place: usize| format!("p{place:02}");
    let declared: serde_json::Map<_, _> =
        (0..70).map(|place| (name(place), json!({ "type": "integer" }))).collect();
    let required: Vec<_> = [0, 5, 63, 64, 69].map(name).into_iter().chain(["other".to_owned()]).collect();
    let few = json!({ "properties": { "p01": { "type": "integer" } }, "required": ["p01"] });
    let many = json!({ "properties": declared, "required": required });
    let (few, many) = (compile(&few), compile(&many));
    for (validator, wanted) in [(few, vec![1]), (many, vec![0, 5, 63, 64, 69])] {
        for size in [0, 1, 2, 69, 70, 100] {
            let object = |value: &dyn Fn(usize) -> Json| {
                Json::Object((0..size).map(|place| (name(place), value(place))).collect())
            };
            let missing =
                wanted.iter().filter(|place| **place >= size).map(|place| (name(*place), "required"));
            let other = (wanted.len() > 1).then(|| ("other".to_owned(), "required"));
            let mut expected: Vec<_> = missing.chain(other).collect();
            expected.sort();
            let expected: Vec<_> = expected.into_iter().map(|(name, by)| (format!("/{name}"), by)).collect();
            assert_eq!(found(validator, &object(&|_| Json::from(1))), expected);
            let wrong = found(validator, &object(&|_| Json::from("x")));
            let declared = if wanted.len() > 1 { size.min(70) } else { usize::from(size > 1) };
            assert_eq!(wrong.iter().filter(|(_, by)| *by == "type").count(), declared);
        }
    }
}

#[test]
fn shallow_and_full_evaluation_agree() {
    let schema = json!({
        "$defs": {
            "word": { "anyOf": [{ "enum": ["a", "b"] }, { "$ref": "#/$defs/long" }] },
            "long": { "allOf": [{ "type": "string" }, { "minLength": 3 }], "maxLength": 5 },
        },
        "properties": {
            "word": { "$ref": "#/$defs/word" },
            "not": { "type": ["string", "number"], "not": { "$ref": "#/$defs/word" } },
            "one": { "oneOf": [{ "type": "string" }, { "minLength": 2 }] },
            "any": { "required": ["x"], "minimum": 2 },
        },
    });
    let validator = compile(&schema);
    let rows = [
        (json!({ "word": "a", "not": "c", "one": "x", "any": 2 }), vec![]),
        (json!({ "word": "long", "not": 1, "one": 7, "any": { "x": 1 } }), vec![]),
        (json!({ "word": "c" }), vec![("/word", "minLength")]),
        (json!({ "word": "longer" }), vec![("/word", "maxLength")]),
        (json!({ "not": "a" }), vec![("/not", "not")]),
        (json!({ "not": null }), vec![("/not", "type")]),
        (json!({ "one": "xx" }), vec![("/one", "oneOf")]),
        (json!({ "any": 1 }), vec![("/any", "minimum")]),
        (json!({ "any": {} }), vec![("/any/x", "required")]),
    ];
    for (value, expected) in rows {
        let value = Json::from(&value);
        let expected: Vec<_> = expected.into_iter().map(|(at, by): (&str, _)| (at.to_owned(), by)).collect();
        assert_eq!(found(validator, &value), expected, "{value}");
        assert_eq!(validator.is_valid(&value), expected.is_empty(), "{value}");
    }
}
