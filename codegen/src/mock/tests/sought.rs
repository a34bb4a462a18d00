//! Tests that the mock server finds valid values for schemas that random values rarely satisfy.

use super::*;

/// Returns the responses to 20 requests, and asserts that each of them is valid under the schema.
/// `overlapping` is the expected number of overlapping unions.
#[track_caller]
fn sample_responses(schema: &str, components: &str, overlapping: usize) -> Vec<Json> {
    let mock = mock_of(&api(&format!(
        "paths:\n  /it:\n    get:\n      parameters: [{{ name: n, in: query, schema: {{ type: integer }} }}]\n      responses: {{ '200': {{ description: '', content: {{ application/json: {{ schema: {schema} }} }} }} }}\n{components}"
    )));
    let review = mock.review();
    assert!(review.without_value.is_empty(), "{schema}: {review:?}");
    assert_eq!(review.overlapping_unions.len(), overlapping, "{schema}: {review:?}");
    let request = |n: usize| {
        let dynamic = ["prefer: dynamic=true"];
        send(&mock, &format!("GET /it?n={n}"), if n == 0 { &[] } else { &dynamic }, "")
    };
    (0..20)
        .map(|n| {
            let response = request(n);
            assert_eq!(response.status(), 200, "{schema}: {:?}", response.body());
            json(&response)
        })
        .collect()
}

#[test]
fn satisfiable_schemas_are_answered() {
    for schema in [
        // These schemas combine patterns and lengths.
        "{ type: string, minLength: 20, pattern: '^x' }",
        "{ type: string, minLength: 20, maxLength: 20, pattern: 'x$' }",
        "{ type: string, allOf: [{ pattern: '^a' }, { pattern: 'z$' }, { minLength: 8 }] }",
        // These schemas have fractional or several `multipleOf` values.
        "{ type: number, multipleOf: 0.07, exclusiveMinimum: 100 }",
        "{ type: number, exclusiveMinimum: 0.2, exclusiveMaximum: 0.3 }",
        "{ type: integer, minimum: 1001, allOf: [{ multipleOf: 12 }, { multipleOf: 35 }] }",
        // These schemas have properties that require other properties.
        "{ type: object, required: [a], dependentRequired: { a: [z], z: [y] } }",
        "{ type: object, required: [a], dependentSchemas: { a: { required: [z], properties: { z: { type: integer } } } } }",
        "{ type: object, required: [kind], properties: { kind: { const: k } }, if: { properties: { kind: { const: k } } }, then: { required: [e], properties: { e: { type: integer, minimum: 7 } } } }",
        "{ type: object, required: [kind], properties: { kind: { const: k }, e: { type: integer } }, if: { properties: { kind: { const: other } } }, else: { required: [e] }, additionalProperties: false }",
        "{ type: object, required: [n], properties: { n: { type: integer, maximum: 9 } }, if: { required: [n] }, then: { properties: { n: { minimum: 9 } } } }",
        // In these schemas, names must match a pattern.
        "{ type: object, patternProperties: { '^x': { type: integer } }, additionalProperties: false, minProperties: 3 }",
        "{ type: object, patternProperties: { '^[ab]$': { type: integer } }, additionalProperties: false, minProperties: 2 }",
        "{ type: object, patternProperties: { '^only$': { type: integer } }, additionalProperties: { type: boolean }, minProperties: 3 }",
        "{ type: object, propertyNames: { pattern: '^[a-c]$' }, minProperties: 3 }",
        // These schemas require large counts.
        "{ type: string, minLength: 2000 }",
        "{ type: string, minLength: 2000, maxLength: 2000, pattern: '^x' }",
        "{ type: array, minItems: 300 }",
        "{ type: array, minItems: 300, uniqueItems: true, items: { type: integer } }",
        "{ type: object, minProperties: 300 }",
        "{ type: object, minProperties: 10000, additionalProperties: { type: integer, minimum: 7 } }",
        "{ type: object, minProperties: 300, propertyNames: { format: uuid, pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' } }",
        "{ type: object, minProperties: 300, propertyNames: { pattern: '^[a-z]+$', minLength: 6 }, additionalProperties: { type: boolean } }",
        "{ type: object, minProperties: 300, patternProperties: { '^x-[0-9]{1,4}$': { type: integer } }, additionalProperties: false }",
        "{ type: object, minProperties: 300, required: [a], properties: { a: { type: integer } }, additionalProperties: { type: array, items: { type: object, required: [b, c, d], properties: { b: { type: string }, c: { type: number }, d: { type: boolean } } } } }",
        // These schemas require nested maps.
        "{ type: object, minProperties: 30, additionalProperties: { type: object, minProperties: 300, additionalProperties: { type: integer } } }",
    ] {
        sample_responses(schema, "", 0);
    }
}

/// For a union with a `discriminator`, the tag of a generated object selects a branch that accepts the object
/// (OpenAPI 3.1, 4.8.25).
#[test]
fn generated_tags_select_a_branch() {
    let schema = "{ $ref: '#/components/schemas/Pet' }";
    let pets = |rest: &str| {
        format!(
            "components:\n  schemas:\n    Pet: {{ oneOf: [{{ $ref: '#/components/schemas/Cat' }}, {{ $ref: '#/components/schemas/Dog' }}], discriminator: {{ propertyName: kind, mapping: {{ meows: '#/components/schemas/Cat' }} }} }}\n    Cat: {{ type: object, required: [kind], properties: {{ kind: {{ type: string }}, meow: {{ type: string }} }}{rest} }}\n    Dog: {{ type: object, required: [kind], properties: {{ kind: {{ type: string }}, bark: {{ type: integer }} }}{rest} }}\n"
        )
    };
    let tag_of = |value: &Json| value.pointer("/kind").and_then(Json::as_str).unwrap_or_default().to_owned();
    // The same applies if one branch accepts the values of another branch.
    let overlapping = sample_responses(schema, &pets(""), 1);
    for pet in &overlapping {
        let bark = pet.pointer("/bark").map(|bark| bark.as_number().is_some_and(|bark| bark.is_integer()));
        let meow = pet.pointer("/meow").map(|meow| meow.as_str().is_some());
        let (is_cat, is_dog) = (bark == Some(false), meow == Some(false));
        assert!(is_cat && tag_of(pet) == "meows" || is_dog && tag_of(pet) == "Dog", "{pet}");
    }
    let disjoint = sample_responses(schema, &pets(", minProperties: 2, additionalProperties: false"), 0);
    for pet in &disjoint {
        let expect = if pet.pointer("/meow").is_some() { "meows" } else { "Dog" };
        assert_eq!(tag_of(pet), expect, "{pet}");
    }
}

/// If a schema only accepts values that are too large to generate, its operation responds with status 501,
/// and other operations respond as usual.
#[test]
fn excessively_large_values_are_not_generated() {
    let lists = |depth: usize| {
        let list = "{ type: array, minItems: 200, items: ";
        list.repeat(depth) + "{ type: integer }" + &" }".repeat(depth)
    };
    let maps = |depth: usize| {
        let map = "{ type: object, minProperties: 200, additionalProperties: ";
        map.repeat(depth) + "{ type: integer }" + &" }".repeat(depth)
    };
    for schema in [
        "{ type: string, minLength: 4000000000 }",
        "{ type: string, minLength: 4000000000, pattern: '^x' }",
        "{ type: array, minItems: 2000000000, maxItems: 3000000000 }",
        "{ type: array, minItems: 18446744073709551615 }",
        "{ type: array, contains: { type: integer }, minContains: 18446744073709551615 }",
        "{ type: object, minProperties: 18446744073709551615 }",
        "{ type: object, minProperties: 10001 }",
        "{ type: object, minProperties: 300, propertyNames: { enum: [a, b] } }",
        &maps(4),
        &lists(6),
    ] {
        let mock = mock_of(&api(&format!(
            "paths:\n  /it: {{ get: {{ responses: {{ '200': {{ description: '', content: {{ application/json: {{ schema: {schema} }} }} }} }} }} }}\n  /other: {{ get: {{ responses: {{ '200': {{ description: '', content: {{ application/json: {{ schema: {{ const: 7 }} }} }} }} }} }} }}\n"
        )));
        assert_eq!(mock.review().without_value.len(), 1, "{schema}");
        assert_eq!(send(&mock, "GET /it", &[], "").status(), 501, "{schema}");
        assert_eq!(send(&mock, "GET /other", &[], "").body(), "7", "{schema}");
    }
    // A pattern of this size is not checked, so any string is valid.
    sample_responses("{ type: string, pattern: '^x{4294967295}$' }", "", 0);
    sample_responses(r"{ type: string, pattern: '^(?:[^\s\S]{4000000000}){4000000000}$' }", "", 0);
}
