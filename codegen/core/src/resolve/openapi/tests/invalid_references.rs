//! References in places that allow none.

use super::read;

/// A `$ref` in a place that allows no reference is reported with its location and a remedy.
#[test]
fn references_in_invalid_places_are_reported_with_help() {
    let response = "responses: {'200': {description: d}}";
    for (text, pointer, help) in [
        ("paths: {$ref: 'a.yaml'}", "/paths/$ref", "write the referenced value"),
        (
            "paths: {/a: {get: {responses: {$ref: 'a.yaml'}}}}",
            "/paths/~1a/get/responses/$ref",
            "write the referenced value",
        ),
        (
            &format!("paths: {{/a: {{get: {{parameters: {{$ref: 'a.yaml'}}, {response}}}}}}}"),
            "/paths/~1a/get/parameters",
            "each of its elements may be a `$ref`",
        ),
        (
            &format!("paths: {{/a: {{get: {{tags: {{$ref: 'a.yaml'}}, {response}}}}}}}"),
            "/paths/~1a/get/tags",
            "write the value itself",
        ),
        ("paths: {}\nservers: {$ref: 'a.yaml'}", "/servers", "write the value itself"),
        ("paths: {}\ncomponents: {schemas: {$ref: 'a.yaml'}}", "/components/schemas/$ref", "by name"),
        ("paths: {}\ncomponents: {parameters: {$ref: 'a.yaml'}}", "/components/parameters/$ref", "by name"),
        (
            "paths: {}\ncomponents: {schemas: {A: {properties: {$ref: '#/x'}}}}",
            "/components/schemas/A/properties/$ref",
            "not a map of schemas",
        ),
        (
            "paths: {}\ncomponents: {schemas: {A: {patternProperties: {$ref: '#/x'}}}}",
            "/components/schemas/A/patternProperties/$ref",
            "not a map of schemas",
        ),
        (
            "paths: {}\ncomponents: {schemas: {A: {$defs: {$ref: '#/x'}}}}",
            "/components/schemas/A/$defs/$ref",
            "not a map of schemas",
        ),
        (
            "paths: {}\ncomponents: {schemas: {A: {required: {$ref: '#/x'}}}}",
            "/components/schemas/A/required",
            "a schema that contains it",
        ),
        (
            "paths: {}\ncomponents: {schemas: {A: {allOf: {$ref: '#/x'}}}}",
            "/components/schemas/A/allOf",
            "a schema that contains it",
        ),
        (
            "paths: {}\ncomponents: {schemas: {A: {enum: {$ref: '#/x'}}}}",
            "/components/schemas/A/enum",
            "a schema that contains it",
        ),
    ] {
        let (_, _, problems) = read(&format!("{text}\n"));
        let found = problems.iter().find(|each| each.place.as_ref().is_some_and(|at| at.pointer == pointer));
        let found = found.unwrap_or_else(|| panic!("{text}: {problems}"));
        assert!(found.help.as_ref().is_some_and(|it| it.contains(help)), "{text}: {found:?}");
    }
}
