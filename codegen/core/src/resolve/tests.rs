//! Table-driven tests of references and keywords in small documents.

#![allow(clippy::unwrap_used)]

mod exchange;

use contract_runtime::Number;

use super::*;
use crate::{
    diagnostics::Severity,
    load::{MAX_DEPTH, Sources},
    schema::{Schema, SchemaId, SchemaOrigin, TypeSet},
};

/// Resolves files, given as name and text, with the policy that unknown keywords are errors.
pub(crate) fn resolve_graph(files: &[(&str, &str)]) -> (SchemaGraph, Diagnostics) {
    let (graph, _, problems) = resolve_files(files);
    (graph, problems)
}

/// Resolves files like [`resolve_graph`], and also returns the OpenAPI documents.
pub(crate) fn resolve_files(files: &[(&str, &str)]) -> (SchemaGraph, Vec<OpenApiDocument>, Diagnostics) {
    resolve_files_with(UnknownKeywordPolicy::Deny, files)
}

pub(crate) fn resolve_files_with(
    unknown_keywords: UnknownKeywordPolicy,
    files: &[(&str, &str)],
) -> (SchemaGraph, Vec<OpenApiDocument>, Diagnostics) {
    let texts: Vec<(&str, &str, &str)> = files.iter().map(|(name, text)| (*name, "", *text)).collect();
    let options = ResolveOptions { unknown_keywords, ..ResolveOptions::default() };
    match Sources::from_texts(&texts) {
        Ok(mut sources) => resolve_documents(&mut sources, &options),
        Err(problems) => (SchemaGraph::default(), Vec::new(), problems),
    }
}

/// Formats all problems as `code pointer`, one per line.
pub(crate) fn format_problems(problems: &Diagnostics) -> String {
    let format_problem = |each: &crate::diagnostics::Diagnostic| {
        let prefix = match each.severity {
            Severity::Error => "",
            Severity::Warning => "?",
            Severity::Note => "!",
        };
        format!("{prefix}{} {}", each.code, each.place.as_ref().map_or("-", |place| &place.pointer))
    };
    problems.iter().map(format_problem).collect::<Vec<_>>().join("\n")
}

pub(crate) fn resolve_clean(files: &[(&str, &str)]) -> SchemaGraph {
    let (graph, problems) = resolve_graph(files);
    assert!(problems.is_empty(), "{files:?}\n{problems}");
    graph
}

fn schema_at<'g>(graph: &'g SchemaGraph, source: u32, pointer: &str) -> &'g Schema {
    let found =
        graph.schemas.iter().find(|each| each.place.source.0 == source && each.place.pointer == pointer);
    found.unwrap_or_else(|| panic!("no schema at {source}#{pointer}"))
}

/// Returns the target of the `$ref` or `$dynamicRef` in the schema at a pointer of the first file, as the
/// number of the file, `#` and the pointer.
fn target_of(graph: &SchemaGraph, pointer: &str) -> String {
    let place = &graph.schema(schema_at(graph, 0, pointer).reference.unwrap()).place;
    format!("{}#{}", place.source.0, place.pointer)
}

#[test]
fn references_resolve() {
    // Each case is a second file, the schema at `properties/r` of the first file, and the expected target.
    let b = (
        "b.json",
        r##"{"$id": "https://x.y/b", "$defs": {"t": {"$anchor": "tee"}, "r": {"$ref": "#/$defs/t"}}, "properties": {"p": {"$ref": "c.json"}}}"##,
    );
    let c = ("c.json", r##"{"$id": "https://x.y/c.json", "properties": {"q": true}}"##);
    let cases: &[(&str, &str, &str)] = &[
        // These references are pointers in the same document.
        ("", r##"{"$ref": "#"}"##, "0#"),
        ("", r##"{"$ref": "#/$defs/a"}"##, "0#/$defs/a"),
        ("", r##"{"$ref": "#/$defs/a/properties/deep"}"##, "0#/$defs/a/properties/deep"),
        ("", r##"{"$ref": "#/$defs/sl~1ash"}"##, "0#/$defs/sl~1ash"),
        ("", r##"{"$ref": "#/$defs/ti~0lde"}"##, "0#/$defs/ti~0lde"),
        ("", r##"{"$ref": "#/$defs/per%25cent"}"##, "0#/$defs/per%cent"),
        ("", r##"{"$ref": "#/$defs/sp%20ace"}"##, "0#/$defs/sp ace"),
        ("", r##"{"$ref": "#/$defs/sp ace"}"##, "0#/$defs/sp ace"),
        ("", r##"{"$ref": "#/$defs/Page<A>"}"##, "0#/$defs/Page<A>"),
        ("", r##"{"$ref": "#/$defs/Page%3CA%3E"}"##, "0#/$defs/Page<A>"),
        ("", r##"{"$ref": "#/$defs/%C3%BC"}"##, "0#/$defs/ü"),
        ("", r##"{"$ref": "#/%24defs/a"}"##, "0#/$defs/a"),
        ("", r##"{"$ref": "#/$defs/"}"##, "0#/$defs/"),
        ("", r##"{"$ref": "#/definitions/old"}"##, "0#/definitions/old"),
        ("", r##"{"$ref": "#/allOf/0"}"##, "0#/allOf/0"),
        ("", r##"{"$ref": "#/x-parts/one"}"##, "0#/x-parts/one"),
        ("", r##"{"$ref": "#/x-parts/list/1"}"##, "0#/x-parts/list/1"),
        ("", r##"{"$ref": "#/x-parts/one/properties/in"}"##, "0#/x-parts/one/properties/in"),
        (
            "",
            r##"{"$ref": "#/properties/r/$defs/own", "$defs": {"own": true}}"##,
            "0#/properties/r/$defs/own",
        ),
        // These references are anchors.
        ("", r##"{"$ref": "#anchored"}"##, "0#/$defs/anchored"),
        ("", r##"{"$ref": "a.json#anchored"}"##, "0#/$defs/anchored"),
        ("", r##"{"$ref": "#dyn"}"##, "0#/$defs/dyn"),
        ("", r##"{"$dynamicRef": "#dyn"}"##, "0#/$defs/dyn"),
        ("", r##"{"$dynamicRef": "#anchored"}"##, "0#/$defs/anchored"),
        ("", r##"{"$dynamicRef": "#/$defs/dyn"}"##, "0#/$defs/dyn"),
        // These references are URIs.
        ("", r##"{"$ref": "https://x.y/a.json"}"##, "0#"),
        ("", r##"{"$ref": "HTTPS://x.y/./a.json#/$defs/a"}"##, "0#/$defs/a"),
        ("", r##"{"$ref": "a.json#/$defs/a"}"##, "0#/$defs/a"),
        ("", r##"{"$ref": "/a.json"}"##, "0#"),
        ("", r##"{"$ref": "file:///a.json"}"##, "0#"),
        ("", r##"{"$ref": "b"}"##, "1#"),
        ("", r##"{"$ref": "./b#"}"##, "1#"),
        ("", r##"{"$ref": "https://x.y/b#/$defs/t"}"##, "1#/$defs/t"),
        ("", r##"{"$ref": "b#tee"}"##, "1#/$defs/t"),
        ("", r##"{"$ref": "b#/$defs/r"}"##, "1#/$defs/r"),
        ("", r##"{"$ref": "c.json#/properties/q"}"##, "2#/properties/q"),
        ("", r##"{"$ref": "file:///b.json"}"##, "1#"),
        // These references lead to embedded resources.
        ("", r##"{"$ref": "inner/i.json"}"##, "0#/$defs/i"),
        ("", r##"{"$ref": "inner/i.json#/$defs/k"}"##, "0#/$defs/i/$defs/k"),
        ("", r##"{"$ref": "inner/i.json#kay"}"##, "0#/$defs/i/$defs/k"),
        ("", r##"{"$ref": "#/$defs/i/$defs/k"}"##, "0#/$defs/i/$defs/k"),
        ("", r##"{"$ref": "urn:uuid:1"}"##, "0#/$defs/u"),
        ("", r##"{"$ref": "urn:uuid:1#/properties/w"}"##, "0#/$defs/u/properties/w"),
        ("", r##"{"$id": "inner/z", "$ref": "i.json"}"##, "0#/$defs/i"),
        (
            "",
            r##"{"$id": "inner/z", "$ref": "#/$defs/own", "$defs": {"own": true}}"##,
            "0#/properties/r/$defs/own",
        ),
        ("", r##"{"$id": "https://other/", "$ref": "https://x.y/b"}"##, "1#"),
        ("", r##"{"$id": "relative/deep/", "$ref": "../../c.json"}"##, "2#"),
    ];
    for (_, reference, expected) in cases {
        let a = format!(
            r##"{{"$id": "https://x.y/a.json", "properties": {{"r": {reference}}}, "allOf": [true],
            "x-parts": {{"one": {{"properties": {{"in": true}}}}, "list": [true, {{"type": "null"}}]}},
            "definitions": {{"old": true}},
            "$defs": {{"a": {{"properties": {{"deep": {{}}}}}}, "sl/ash": {{}}, "ti~lde": {{}}, "per%cent": {{}}, "sp ace": {{}},
              "Page<A>": {{}}, "ü": {{}}, "": {{}}, "anchored": {{"$anchor": "anchored"}}, "dyn": {{"$dynamicAnchor": "dyn"}},
              "i": {{"$id": "inner/i.json", "$defs": {{"k": {{"$anchor": "kay"}}, "back": {{"$ref": "../b"}}}}}},
              "u": {{"$id": "urn:uuid:1", "properties": {{"w": {{"$ref": "#"}}}}}}}}}}"##
        );
        let graph = resolve_clean(&[("a.json", &a), b, c]);
        assert_eq!(target_of(&graph, "/properties/r"), *expected, "{reference}");
        assert_eq!(target_of(&graph, "/$defs/i/$defs/back"), "1#");
        assert_eq!(target_of(&graph, "/$defs/u/properties/w"), "0#/$defs/u");
    }
}

#[test]
fn unresolved_references_are_reported() {
    let cases = [
        (
            r##"{"$ref": "#/$defs/b"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no `b` in `#/$defs`",
            "",
        ),
        (
            r##"{"$ref": "#/$defs/alph"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no `alph` in `#/$defs`",
            "did you mean `#/$defs/alpha`?",
        ),
        (
            r##"{"$ref": "#/$def/alpha"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no `$def` in `#`",
            "did you mean `#/$defs`?",
        ),
        (
            r##"{"$ref": "#alpa"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no anchor `alpa`",
            "did you mean `#alpha`?",
        ),
        (
            r##"{"$ref": "#/allOf/01"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no `01` in `#/allOf`",
            "",
        ),
        (
            r##"{"$ref": "#/allOf/1"}"##,
            "unresolved-reference",
            "`https://x.y/a.json` has no `1` in `#/allOf`",
            "",
        ),
        (
            r##"{"$ref": "b.json"}"##,
            "unresolved-reference",
            "no input has the `$id` `https://x.y/b.json`, no mount matches it, and documents are downloaded only with `--fetch`",
            "add the file to the inputs, use `--fetch`, or mount a folder: \"https://x.y/\" = \"path/to/folder\"",
        ),
        (
            r##"{"$ref": "file:///z.json"}"##,
            "unresolved-reference",
            "`file:///z.json` refers to `z.json`, which does not exist",
            "only files below the inputs' folder are read; add the file or mount its folder",
        ),
        (
            r##"{"$ref": "urn:x"}"##,
            "unresolved-reference",
            "`urn:x` refers to `urn:x`, which does not exist",
            "only files below the inputs' folder are read; add the file or mount its folder",
        ),
        (
            r##"{"$ref": "a b.json"}"##,
            "invalid-schema",
            "the reference `a b.json` is malformed: `a b.json` is not a URI reference",
            "",
        ),
        (
            r##"{"$ref": "#/%zz"}"##,
            "invalid-schema",
            "the reference `#/%zz` is malformed: `#/%zz` is not percent-encoded UTF-8",
            "",
        ),
        (
            r##"{"$ref": "#/title"}"##,
            "invalid-schema",
            "`#/title` refers to a string, but a schema must be an object or a boolean",
            "",
        ),
        (
            r##"{"$ref": "#/allOf"}"##,
            "invalid-schema",
            "`#/allOf` refers to an array, but a schema must be an object or a boolean",
            "",
        ),
        (
            r##"{"$ref": "#/properties/r"}"##,
            "reference-cycle",
            "the schema applies itself to the same value: #/properties/r → #/properties/r",
            "validation would never end: let one step go through a property or an item",
        ),
    ];
    for (reference, code, message, help) in cases {
        let text = format!(
            r##"{{"$id": "https://x.y/a.json", "title": "t", "properties": {{"r": {reference}}}, "allOf": [true], "$defs": {{"alpha": {{"$anchor": "alpha"}}}}}}"##
        );
        let (_, problems) = resolve_graph(&[("a.json", &text)]);
        let list: Vec<_> = problems.iter().collect();
        assert_eq!(list.len(), 1, "{problems}");
        assert_eq!(
            (list[0].code, list[0].message.as_str(), list[0].help.as_deref().unwrap_or("")),
            (code, message, help)
        );
    }
}

#[test]
fn reference_cycles_are_reported() {
    let cycle = |text: &str| format_problems(&resolve_graph(&[("a.json", text)]).1);
    let two = r##"{"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}}"##;
    assert_eq!(cycle(two), "reference-cycle /$defs/b/allOf/0");
    // The message is located at the keyword that is removed to break the cycle.
    for (applicator, place) in [
        (r#""not": X"#, "/not"),
        (r#""if": X"#, "/if"),
        (r#""then": X"#, "/then"),
        (r#""else": X"#, "/else"),
        (r#""anyOf": [true, X]"#, "/anyOf/1"),
        (r#""oneOf": [X]"#, "/oneOf/0"),
        (r#""dependentSchemas": {"p": X}"#, "/dependentSchemas/p"),
    ] {
        let text = format!("{{{}}}", applicator.replace('X', r##"{"$ref": "#"}"##));
        assert_eq!(cycle(&text), format!("reference-cycle {place}"), "{text}");
    }
    for applicator in [
        r#""items": X"#,
        r#""properties": {"p": X}"#,
        r#""contains": X"#,
        r#""additionalProperties": X"#,
        r#""propertyNames": X"#,
        r#""$defs": {"p": X}"#,
    ] {
        let text = format!("{{{}}}", applicator.replace('X', r##"{"$ref": "#"}"##));
        assert_eq!(cycle(&text), "", "{text}");
    }
    let shared = r##"{"allOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}], "$defs": {"a": {}}}"##;
    assert_eq!(cycle(shared), "");
}

/// Each case is a schema and its expected problems, each on a line of the form `code pointer`.
#[test]
fn invalid_keyword_values_are_reported() {
    let cases = [
        (r#"{"minLength": "3"}"#, "invalid-schema /minLength"),
        (r#"{"minLength": -1}"#, "invalid-schema /minLength"),
        (r#"{"minLength": 1.5}"#, "invalid-schema /minLength"),
        (r#"{"minLength": 1e2, "maxLength": 2.0}"#, ""),
        (r#"{"maxItems": 18446744073709551616}"#, "unsupported /maxItems"),
        (r#"{"required": true}"#, "invalid-schema /required"),
        (r#"{"required": ["a", 1, "a"]}"#, "invalid-schema /required/1\ninvalid-schema /required/2"),
        (r#"{"type": "strin"}"#, "invalid-schema /type"),
        (r#"{"type": ["string", "nul"]}"#, "invalid-schema /type/1"),
        (r#"{"type": ["string", "string"]}"#, "invalid-schema /type/1"),
        (r#"{"type": []}"#, "invalid-schema /type"),
        (r#"{"type": null}"#, "invalid-schema /type"),
        (r#"{"enum": {}}"#, "invalid-schema /enum"),
        (r#"{"enum": []}"#, "?invalid-schema /enum"),
        (r#"{"minimum": "0"}"#, "invalid-schema /minimum"),
        (r#"{"exclusiveMinimum": true}"#, "invalid-schema /exclusiveMinimum"),
        (r#"{"multipleOf": 0}"#, "invalid-schema /multipleOf"),
        (r#"{"multipleOf": -0.5}"#, "invalid-schema /multipleOf"),
        (r#"{"multipleOf": 1e-30}"#, ""),
        (r#"{"pattern": 1}"#, "invalid-schema /pattern"),
        (r#"{"uniqueItems": "true"}"#, "invalid-schema /uniqueItems"),
        (r#"{"properties": []}"#, "invalid-schema /properties"),
        (r#"{"properties": {"a/b": 1}}"#, "invalid-schema /properties/a~1b"),
        (r#"{"items": [true]}"#, "invalid-schema /items"),
        (r#"{"items": null}"#, "invalid-schema /items"),
        (r#"{"prefixItems": {}}"#, "invalid-schema /prefixItems"),
        (r#"{"allOf": []}"#, "invalid-schema /allOf"),
        (r#"{"anyOf": {}}"#, "invalid-schema /anyOf"),
        (r#"{"oneOf": [1]}"#, "invalid-schema /oneOf/0"),
        (r#"{"not": "x"}"#, "invalid-schema /not"),
        (r#"{"$ref": 1}"#, "invalid-schema /$ref"),
        (r##"{"properties": {"a": {"$id": "x#y"}}}"##, "invalid-schema /properties/a/$id"),
        (r#"{"$defs": {"a": {"$id": "%zz"}}}"#, "invalid-schema /$defs/a/$id"),
        (r##"{"$anchor": "#a"}"##, "invalid-schema /$anchor"),
        (r#"{"$anchor": "1a"}"#, "invalid-schema /$anchor"),
        (
            r#"{"$defs": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema"}}}"#,
            "invalid-schema /$defs/a/$schema",
        ),
        (r#"{"dependentRequired": {"a": "b"}}"#, "invalid-schema /dependentRequired/a"),
        (r#"{"dependentRequired": {"a": ["b", "b"]}}"#, "invalid-schema /dependentRequired/a/1"),
        (r#"{"dependencies": {"a": 1}}"#, "invalid-schema /dependencies/a"),
        (r#"{"examples": {}}"#, "invalid-schema /examples"),
        (r#"{"title": 1, "deprecated": 0}"#, "invalid-schema /title\ninvalid-schema /deprecated"),
        (r#"{"minlength": 1}"#, "unknown-keyword /minlength"),
        (r#"{"nullable": true}"#, "unknown-keyword /nullable"),
        (r#"{"additionalItems": true}"#, "unknown-keyword /additionalItems"),
        (r#"{"x-own": 1}"#, ""),
        (
            r#"{"enum": [{"$ref": "nowhere", "minLength": "x"}], "const": {"$id": 1}, "default": {"$ref": 1}, "examples": [{"type": 3}]}"#,
            "",
        ),
        (r#"{"minContains": 1}"#, ""),
        (
            r#"{"discriminator": {"propertyName": "a"}, "xml": {}, "externalDocs": {"url": "x"}, "example": 1}"#,
            "",
        ),
        (
            r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "discriminator": {}, "example": 1}"#,
            "unknown-keyword /discriminator\nunknown-keyword /example",
        ),
        (r#"{"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://x.y/a"}"#, ""),
        (r#"{"$schema": "http://json-schema.org/draft-04/schema#", "const": 1}"#, "unknown-keyword /const"),
        (r#"{"$schema": "http://json-schema.org/draft-06/schema#", "$id": "https://x.y/a"}"#, ""),
        (r#"{"$schema": "http://json-schema.org/draft-03/schema#"}"#, "unsupported /$schema"),
        (r#"{"$schema": "https://json-schema.org/draft/next/schema"}"#, "unsupported /$schema"),
        (r#"{"$schema": "https://own/meta"}"#, "unsupported /$schema"),
        (r#"{"$schema": "meta"}"#, "unsupported /$schema"),
        (r#"[]"#, "invalid-schema "),
        (r#""x""#, "invalid-schema "),
        (r#"true"#, ""),
        (
            r##"{"$defs": {"a": {"$anchor": "x"}, "b": {"$anchor": "x"}}}"##,
            "duplicate-anchor /$defs/b/$anchor",
        ),
        (r##"{"$defs": {"a": {"$anchor": "x"}, "b": {"$id": "b", "$anchor": "x"}}}"##, ""),
        (r##"{"$defs": {"a": {"$id": "x"}, "b": {"$id": "x"}}}"##, "duplicate-id /$defs/b/$id"),
        (r#"{"swagger": "2.0"}"#, "unsupported /swagger"),
    ];
    for (text, expected) in cases {
        let (_, problems) = resolve_graph(&[("a.json", text)]);
        assert_eq!(format_problems(&problems), expected, "{text}\n{problems}");
    }
}

#[test]
fn every_keyword_is_parsed() {
    let graph = resolve_clean(&[(
        "stock-lot.schema.json",
        r##"{"$id": "https://x.y/lot", "$schema": "https://json-schema.org/draft/2020-12/schema", "$comment": "c",
        "$vocabulary": {"https://x": false}, "$anchor": "root", "title": "t", "description": "d", "default": {"a": 1.50},
        "examples": [1, "x"], "deprecated": true, "readOnly": true, "writeOnly": true, "format": "f",
        "contentEncoding": "base64", "contentMediaType": "application/json", "contentSchema": {"type": "null"},
        "x-a": [1], "type": ["integer", "object"], "enum": [1, {}], "const": {"b": 1, "a": 2},
        "minimum": 0.10, "maximum": 1e400, "exclusiveMinimum": -1, "exclusiveMaximum": 5, "multipleOf": 0.01,
        "minLength": 1, "maxLength": 2, "pattern": "^a", "minItems": 3, "maxItems": 4, "uniqueItems": true,
        "contains": true, "minContains": 0, "maxContains": 7, "prefixItems": [true, false], "items": {}, "unevaluatedItems": false,
        "properties": {"z": {}, "a": {}}, "patternProperties": {"^x": {}}, "additionalProperties": false,
        "unevaluatedProperties": true, "propertyNames": {"maxLength": 3}, "required": ["z", "a"],
        "minProperties": 1, "maxProperties": 9, "dependentRequired": {"a": ["b"]}, "dependentSchemas": {"s": {}},
        "dependencies": {"c": ["d"], "e": {}}, "allOf": [{}], "anyOf": [{}, {}], "oneOf": [{}], "not": {}, "if": {}, "then": {}, "else": {},
        "$defs": {"q": {}}, "definitions": {"old": {}}}"##,
    )]);
    let root = graph.schema(graph.resources.as_slice()[0].root.unwrap());
    let pointer = |id: &SchemaId| graph.schema(*id).location.clone();
    assert_eq!(root.origin, SchemaOrigin::Root("stock-lot".to_owned()));
    assert_eq!(root.types, Some(TypeSet::INTEGER.union(TypeSet::OBJECT)));
    assert_eq!(root.default.as_ref().unwrap().to_string(), r#"{"a":1.50}"#);
    assert_eq!(root.maximum.as_ref().unwrap().to_string(), "1e400");
    assert_eq!(root.examples.len(), 2);
    assert_eq!(root.enumeration.as_ref().unwrap().len(), 2);
    assert_eq!(root.constant.as_ref().unwrap().to_string(), r#"{"b":1,"a":2}"#);
    assert_eq!(
        (root.min_length, root.max_length, root.min_items, root.max_items),
        (Some(1), Some(2), Some(3), Some(4))
    );
    let contains = root.contains.as_ref().unwrap();
    assert_eq!(
        (pointer(&contains.schema).as_str(), contains.min, contains.max),
        ("/contains", Some(0), Some(7))
    );
    assert_eq!(
        root.prefix_items.iter().map(pointer).collect::<Vec<_>>(),
        ["/prefixItems/0", "/prefixItems/1"]
    );
    assert_eq!(graph.schema(root.prefix_items[1]).boolean, Some(false));
    assert_eq!(root.properties.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(root.required, ["z", "a"]);
    assert_eq!(root.dependent_required.len(), 2);
    assert_eq!(
        root.dependent_schemas.iter().map(|(_, id)| pointer(id)).collect::<Vec<_>>(),
        ["/dependentSchemas/s", "/dependencies/e"]
    );
    assert_eq!(root.any_of.iter().map(pointer).collect::<Vec<_>>(), ["/anyOf/0", "/anyOf/1"]);
    for (id, expected) in [
        (root.items, "/items"),
        (root.unevaluated_items, "/unevaluatedItems"),
        (root.additional_properties, "/additionalProperties"),
        (root.unevaluated_properties, "/unevaluatedProperties"),
        (root.property_names, "/propertyNames"),
        (root.content_schema, "/contentSchema"),
        (root.not, "/not"),
        (root.condition, "/if"),
        (root.then, "/then"),
        (root.otherwise, "/else"),
    ] {
        assert_eq!(pointer(&id.unwrap()), expected);
    }
    let definitions: Vec<&SchemaOrigin> =
        root.definitions.iter().map(|(_, id)| &graph.schema(*id).origin).collect();
    assert_eq!(
        definitions,
        [&SchemaOrigin::Definition("q".to_owned()), &SchemaOrigin::Definition("old".to_owned())]
    );
    assert!(root.unique_items && root.deprecated && root.read_only && root.write_only);
    assert!(root.extensions.contains_key("x-a"));
    assert_eq!(graph.absolute_location(root.not.unwrap()), "https://x.y/lot#/not");
}

#[test]
fn schema_order_is_independent_of_the_input_order() {
    let a = (
        "z.json",
        r##"{"$id": "https://x.y/a", "properties": {"b": {"items": {}}, "a": {"$id": "in", "$dynamicAnchor": "n"}}}"##,
    );
    let b = ("a.yaml", "$id: https://x.y/b\nitems: &i {type: string}\nnot: *i\n");
    let graph = resolve_clean(&[a, b]);
    assert_eq!(graph.schemas.len(), 7);
    let list: Vec<String> = graph.ids().map(|id| graph.absolute_location(id)).collect();
    assert_eq!(
        list,
        [
            "https://x.y/a#",
            "https://x.y/a#/properties/b",
            "https://x.y/a#/properties/b/items",
            "https://x.y/in#",
            "https://x.y/b#",
            "https://x.y/b#/items",
            "https://x.y/b#/not",
        ]
    );
    let other = resolve_clean(&[b, a]);
    assert_eq!(list, other.ids().map(|id| other.absolute_location(id)).collect::<Vec<_>>());
    let id = graph.ids().nth(3).unwrap();
    let inner = graph.resource(graph.schema(id).resource);
    assert_eq!((inner.uri.as_str(), inner.root), ("https://x.y/in", Some(id)));
    assert_eq!(inner.dynamic_anchors, [("n".to_owned(), id)]);
    assert_eq!(graph.schema(id).origin, SchemaOrigin::Root("in".to_owned()));
    assert_eq!(graph.schema(id).place.pointer, "/properties/a");
}

#[test]
fn older_drafts_are_parsed() {
    let draft_07 = resolve_clean(&[(
        "a.json",
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"type": "string"}, true], "additionalItems": {"type": "null"},
        "definitions": {"a": {"$id": "#frag"}, "b": {"$ref": "#frag", "description": "kept"}}}"##,
    )]);
    let root = schema_at(&draft_07, 0, "");
    assert_eq!(root.prefix_items.len(), 2);
    assert_eq!(draft_07.schema(root.items.unwrap()).location, "/additionalItems");
    assert_eq!(target_of(&draft_07, "/definitions/b"), "0#/definitions/a");
    let ref_with_siblings = r##"{"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {"$ref": "#/definitions/x", "minLength": 3, "$id": "other/"}}, "definitions": {"x": {}}}"##;
    let (ref_with_siblings, problems) = resolve_graph(&[("a.json", ref_with_siblings)]);
    assert_eq!(format_problems(&problems), "?ignored /properties/a/$ref");
    assert_eq!(schema_at(&ref_with_siblings, 0, "/properties/a").min_length, None);
    let later_keywords =
        r##"{"$schema": "http://json-schema.org/draft-07/schema", "prefixItems": [true], "$anchor": "x"}"##;
    assert_eq!(
        format_problems(&resolve_graph(&[("a.json", later_keywords)]).1),
        "unknown-keyword /prefixItems\nunknown-keyword /$anchor"
    );

    let draft_2019_09 = resolve_clean(&[(
        "a.json",
        r##"{"$schema": "https://json-schema.org/draft/2019-09/schema", "$recursiveAnchor": true, "items": {"$recursiveRef": "#"}, "additionalItems": true}"##,
    )]);
    assert_eq!(target_of(&draft_2019_09, "/items"), "0#");
    assert_eq!(
        schema_at(&draft_2019_09, 0, "").items.map(|id| draft_2019_09.schema(id).location.clone()),
        Some("/items".to_owned())
    );
    let without_anchor = resolve_clean(&[(
        "a.json",
        r##"{"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#"}}"##,
    )]);
    assert_eq!(target_of(&without_anchor, "/items"), "0#");
    let invalid = r##"{"$schema": "https://json-schema.org/draft/2019-09/schema", "items": {"$recursiveRef": "#/x"}, "contains": true, "unevaluatedItems": false}"##;
    assert_eq!(
        format_problems(&resolve_graph(&[("a.json", invalid)]).1),
        "invalid-schema /items/$recursiveRef\nunsupported /unevaluatedItems"
    );
}

/// In draft-04, `id` identifies a schema: references can refer to it, and duplicates are reported. The
/// hyper-schema of draft-04 is reported as unsupported.
#[test]
fn draft_04_schemas_are_identified_by_id() {
    let draft_04 = r##"{"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://x.y/a", "items": {"$ref": "https://x.y/b"}, "definitions": {"b": {"id": "https://x.y/b"}, "c": {"id": "b"}}}"##;
    let other = r##"{"$schema": "http://json-schema.org/draft-04/schema#", "id": "https://x.y/a"}"##;
    let (found, problems) = resolve_graph(&[("a.json", draft_04), ("b.json", other)]);
    assert_eq!(format_problems(&problems), "duplicate-id /definitions/c/id\nduplicate-id /id");
    let labels: Vec<&str> =
        problems.iter().flat_map(|each| &each.labels).map(|(place, _)| place.pointer.as_str()).collect();
    assert_eq!(labels, ["/definitions/b/id", "/id"]);
    assert_eq!(target_of(&found, "/items"), "0#/definitions/b");
    let hyper = r##"{"$schema": "http://json-schema.org/draft-04/hyper-schema#", "$id": "https://x.y/a"}"##;
    let reference = r##"{"$ref": "https://x.y/a"}"##;
    let (_, problems) = resolve_graph(&[("a.json", hyper), ("b.json", reference)]);
    assert_eq!(format_problems(&problems), "unsupported /$schema");
}

/// A schema with an invalid keyword that is dropped has a gap of the kind of this keyword; the enclosing
/// schema has none.
#[test]
fn dropped_keywords_leave_gaps() {
    for (schema, gap) in [
        (r##"{"type": "string", "title": 5, "format": [], "default": "x"}"##, SchemaGap::None),
        (r##"{"minLength": "2", "required": ["a", "a"], "$anchor": "a b"}"##, SchemaGap::None),
        (r##"{"items": [true, false]}"##, SchemaGap::None),
        (r##"{"type": "strng"}"##, SchemaGap::Assertion),
        (r##"{"maximum": []}"##, SchemaGap::Assertion),
        (r##"{"required": true}"##, SchemaGap::Assertion),
        (r##"{"required": ["a", 1]}"##, SchemaGap::Assertion),
        (r##"{"minLength": 1e400}"##, SchemaGap::Assertion),
        (r##"{"exclusiveMinimum": true}"##, SchemaGap::Assertion),
        (r##"{"$ref": "#/gone"}"##, SchemaGap::Applicator),
        (r##"{"$ref": 5}"##, SchemaGap::Applicator),
        (r##"{"properties": []}"##, SchemaGap::Applicator),
        (r##"{"not": 1, "maximum": []}"##, SchemaGap::Applicator),
        (r##"{"dependentRequired": {"a": "b"}}"##, SchemaGap::Assertion),
        ("[]", SchemaGap::Applicator),
    ] {
        let text = format!(
            r##"{{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {{"a": {schema}}}}}"##
        );
        let (found, problems) = resolve_graph(&[("a.json", &text)]);
        assert_eq!(schema_at(&found, 0, "/$defs/a").gap, gap, "{schema}\n{problems}");
        assert_eq!(schema_at(&found, 0, "").gap, SchemaGap::None);
    }
}

/// The description of a schema with an unresolved `$ref` states that the contract does not contain the
/// target. The wording depends on whether other keywords remain.
#[test]
fn unresolved_references_are_documented() {
    for (schema, fallback, description) in [
        (
            r##"{"$ref": "#/gone", "title": "T"}"##,
            "any JSON is accepted",
            "Any JSON: the contract does not contain `#/gone`.",
        ),
        (
            r##"{"$ref": "#/gone", "type": "string"}"##,
            "only the adjacent keywords apply",
            "The schema should also satisfy `#/gone`, which the contract does not contain.",
        ),
    ] {
        let (found, problems) = resolve_graph(&[("a.json", schema)]);
        assert_eq!(problems.iter().next().and_then(|each| each.fallback.as_deref()), Some(fallback));
        assert_eq!(schema_at(&found, 0, "").description.as_deref(), Some(description));
    }
}

/// If the only OpenAPI document has version 3.0, also as the YAML number `3.0`, a schema file without
/// `$schema` is interpreted by the dialect of OpenAPI 3.0.
#[test]
fn the_only_openapi_version_is_the_default_dialect() {
    for version in ["3.0", "3.0.3", "'3.0'"] {
        let api = format!("openapi: {version}\ninfo: {{title: T, version: '1'}}\npaths: {{}}\n");
        let (found, ..) = resolve_files(&[
            ("api.yaml", &api),
            ("s.yaml", "type: integer\nnullable: 'true'\nminimum: 1\nexclusiveMinimum: 'true'\n"),
        ]);
        let schema = schema_at(&found, 1, "");
        assert_eq!(schema.types, Some(TypeSet::INTEGER.union(TypeSet::NULL)), "{version}");
        assert_eq!((&schema.minimum, &schema.exclusive_minimum), (&None, &Some(Number::from_i64(1))));
    }
}

#[test]
fn vocabularies_are_resolved() {
    let meta = (
        "meta.json",
        r##"{"$id": "https://own/meta", "$schema": "https://json-schema.org/draft/2020-12/schema", "$vocabulary": {"https://json-schema.org/draft/2020-12/vocab/core": true, "https://json-schema.org/draft/2020-12/vocab/applicator": true, "https://own/vocab": false}}"##,
    );
    let schema = (
        "a.json",
        r##"{"$schema": "https://own/meta", "minLength": 1, "properties": {"a": {"minLength": "x"}}}"##,
    );
    let graph = resolve_clean(&[schema, meta]);
    assert_eq!(schema_at(&graph, 0, "").min_length, None);
    assert_eq!(schema_at(&graph, 0, "").properties.len(), 1);
    let required =
        ("meta.json", r##"{"$id": "https://own/meta", "$vocabulary": {"https://own/vocab": true}}"##);
    let plain = ("a.json", r##"{"$schema": "https://own/meta"}"##);
    assert_eq!(format_problems(&resolve_graph(&[plain, required]).1), "unsupported /$schema");
}

#[test]
fn unknown_keyword_policy_is_applied() {
    let text = r#"{"colour": 1}"#;
    for (unknown_keywords, expected) in [
        (UnknownKeywordPolicy::Deny, "unknown-keyword /colour"),
        (UnknownKeywordPolicy::Warn, "?unknown-keyword /colour"),
        (UnknownKeywordPolicy::Ignore, ""),
    ] {
        let mut sources = Sources::from_texts(&[("a.json", "", text)]).unwrap();
        let (.., problems) = resolve_documents(
            &mut sources,
            &ResolveOptions { unknown_keywords, ..ResolveOptions::default() },
        );
        assert_eq!(format_problems(&problems), expected);
    }
    assert_eq!(ResolveOptions::default().unknown_keywords, UnknownKeywordPolicy::Warn);
}

#[test]
fn referenced_files_are_loaded_on_demand() {
    let mut sources = Sources::from_texts(&[(
        "a.json",
        "",
        r##"{"$id": "https://x.y/a.json", "items": {"$ref": "b.json#/$defs/c"}}"##,
    )])
    .unwrap();
    sources.offer("b.json", "https://x.y/b.json", r##"{"$defs": {"c": {"$ref": "d.yaml#/Parts/e"}}}"##);
    sources.offer("d.yaml", "https://x.y/d.yaml", "Parts:\n  e: {type: string}\n  f: {nonsense: 1}\n");
    sources.offer("never.json", "https://x.y/never.json", "{");
    let (graph, _, problems) = resolve_documents(&mut sources, &ResolveOptions::default());
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(sources.sources.len(), 3);
    assert_eq!(target_of(&graph, "/items"), "1#/$defs/c");
    let part = schema_at(&graph, 2, "/Parts/e");
    assert_eq!(part.origin, SchemaOrigin::Definition("e".to_owned()));
    assert_eq!(
        graph.absolute_location(graph.ids().find(|id| graph.schema(*id).place == part.place).unwrap()),
        "https://x.y/d.yaml#/Parts/e"
    );

    let mut broken = Sources::from_texts(&[("a.json", "", r##"{"items": {"$ref": "b.json"}}"##)]).unwrap();
    broken.offer("b.json", "file:///b.json", "{");
    let (graph, _, problems) = resolve_documents(&mut broken, &ResolveOptions::default());
    assert_eq!(format_problems(&problems), "syntax ");
    let unresolved = schema_at(&graph, 0, "/items");
    assert_eq!(unresolved.description.as_deref(), Some("Any JSON: the contract does not contain `b.json`."));
    assert_eq!(unresolved.gap, SchemaGap::Applicator);
}

#[test]
fn pointers_through_references_resolve() {
    let (graph, problems) = resolve_graph(&[
        (
            "a.json",
            r##"{"properties": {"r": {"$ref": "#/properties/s/properties/t"}, "s": {"$ref": "b.json"}}}"##,
        ),
        ("b.json", r##"{"properties": {"t": {"type": "string"}}}"##),
    ]);
    assert_eq!(format_problems(&problems), "?pointer-through-reference /properties/r/$ref");
    assert_eq!(target_of(&graph, "/properties/r"), "1#/properties/t");
    let (_, problems) = super::tests::resolve_graph(&[(
        "a.json",
        r##"{"properties": {"r": {"$ref": "#/properties/r/x"}}}"##,
    )]);
    assert_eq!(format_problems(&problems), "reference-cycle /properties/r/$ref");
}

#[test]
fn deep_and_wide_schemas_are_resolved() {
    let levels = (MAX_DEPTH - 2) / 2;
    let deep = r#"{"properties":{"a":"#.repeat(levels) + "true" + &"}}".repeat(levels);
    assert_eq!(resolve_clean(&[("a.json", &deep)]).schemas.len(), levels + 1);
    let wide: Vec<String> =
        (0..20_000).map(|index| format!(r##""k{index}": {{"$ref": "#/$defs/k{}"}}"##, index / 2)).collect();
    let text =
        format!(r#"{{"$defs": {{{}}}}}"#, wide.join(",").replace(r##"{"$ref": "#/$defs/k0"}"##, "true"));
    locate::SEARCHED.set(0);
    assert_eq!(resolve_clean(&[("a.json", &text)]).schemas.len(), 20_001);
    assert!(locate::SEARCHED.get() < 100, "lookups in objects of 20,000 members must not be linear");
    let nested = r##"{"$ref": "#/x/y", "x": {"y": {}}}"##;
    locate::SEARCHED.set(0);
    resolve_graph(&[("a.json", nested)]);
    assert!((1..100).contains(&locate::SEARCHED.get()), "lookups must be counted");
}

/// Resolving 2,000 random mutations of small documents causes no panic.
#[test]
fn mutated_documents_cause_no_panic() {
    let seeds = [
        (
            "a.json",
            r##"{"$id": "https://x.y/a", "$schema": "https://json-schema.org/draft/2020-12/schema", "type": ["object", "null"], "properties": {"a": {"$ref": "#/$defs/b"}, "c": {"$ref": "a#x", "minLength": 3}}, "$defs": {"b": {"$anchor": "x", "enum": [1, "é", null], "items": [true]}}, "oneOf": [{"$dynamicRef": "#x"}]}"##,
        ),
        (
            "a.yaml",
            "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a/{b}:\n    parameters: &p\n      - {name: b, in: path, required: true, schema: {type: string}}\n    get:\n      parameters: *p\n      responses:\n        200: {$ref: '#/components/responses/r'}\ncomponents:\n  responses:\n    r: {description: é, content: {a/b: {schema: {$ref: '#/components/schemas/S'}}}}\n  schemas:\n    S: {type: object, properties: {x: {$ref: '#/components/schemas/S'}}}\n",
        ),
        (
            "a.json",
            r##"{"$schema": "http://json-schema.org/draft-07/schema#", "items": [{"$ref": "#/definitions/a"}], "dependencies": {"a": ["b"], "c": {"not": {}}}, "definitions": {"a": {"$id": "#q", "maximum": 1e5}, "b": {"$ref": "#q"}}}"##,
        ),
    ];
    let mut state = 0x2545_F491_4F6C_DD1D_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state >> 33).unwrap() % below.max(1)
    };
    let tokens = [
        "{", "}", "[", "]", "\"", ":", ",", "null", "-1", "1e9", "\"$ref\"", "\"#\"", "true", "\\u", "\n",
        "&a ", "*a", "- ", "%", "~2", "#/", "\u{0}", "ß",
    ];
    for round in 0..2_000 {
        let (name, text) = seeds[round % seeds.len()];
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random(3) {
            let position = random(bytes.len());
            match random(5) {
                0 => bytes[position] ^= 1 << random(8),
                1 => bytes.truncate(position.max(1)),
                2 => {
                    let token = tokens[random(tokens.len())].as_bytes();
                    bytes.splice(position..position, token.iter().copied());
                }
                3 => {
                    let end = (position + random(30)).min(bytes.len());
                    bytes.drain(position..end);
                    if bytes.is_empty() {
                        bytes.push(b'0');
                    }
                }
                _ => {
                    let from = random(bytes.len());
                    let end = (from + random(40)).min(bytes.len());
                    let piece = bytes[from..end].to_vec();
                    bytes.splice(position..position, piece);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes);
        let (_, _, problems) = resolve_files(&[(name, &text)]);
        let _ = problems.render(round % 2 == 0);
        let _ = problems.json_lines();
    }
}

/// The help text for an ignored keyword next to `$ref` recommends OpenAPI 3.1 in an OpenAPI 3.0 document, and
/// draft 2020-12 in a draft-07 schema.
#[test]
fn help_on_ignored_keywords_matches_the_document() {
    let check = |document: &str, expect: &str| {
        let (_, _, problems) = resolve_files(&[("a.json", document)]);
        let mut help_texts = problems.iter().filter_map(|each| each.help.as_deref());
        assert!(help_texts.any(|help| help.contains(expect)), "{expect}: {problems}");
    };
    check(
        r##"{"openapi": "3.0.3", "info": {"title": "T", "version": "1"}, "paths": {}, "components": {"schemas": {"A": {}, "B": {"$ref": "#/components/schemas/A", "readOnly": true}}}}"##,
        "or use OpenAPI 3.1,",
    );
    check(
        r##"{"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/definitions/a", "maxLength": 3, "definitions": {"a": {}}}"##,
        "or use 2020-12,",
    );
}
