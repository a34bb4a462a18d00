//! Tests of operations in small documents.

#![allow(clippy::unwrap_used)]

mod invalid_references;
mod references;

use contract_runtime::Json;

use crate::{
    api::{OpenApiDocument, ParameterIn, StatusPattern, TagDefinition},
    diagnostics::Diagnostics,
    load::Sources,
    resolve::{
        NullableSemantics, ResolveOptions, UnknownKeywordPolicy, resolve_documents,
        tests::{format_problems, resolve_clean, resolve_files, resolve_files_with},
    },
    schema::{SchemaGap, SchemaGraph, SchemaOrigin, TypeSet},
    tables::{TableArenas, TablePlan},
};

const HEAD: &str = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\n";

pub(super) fn read(body: &str) -> (SchemaGraph, OpenApiDocument, Diagnostics) {
    let text = format!("{HEAD}{body}");
    let (graph, mut apis, problems) = resolve_files(&[("api.yaml", &text)]);
    (graph, apis.pop().unwrap_or_default(), problems)
}

pub(super) fn read_valid(body: &str) -> (SchemaGraph, OpenApiDocument) {
    let (graph, api, problems) = read(body);
    assert!(problems.is_empty(), "{body}\n{problems}");
    (graph, api)
}

/// A method in the wrong case or a malformed media type is a fault that affects only one value: the document
/// keeps all operations and bodies.
#[test]
fn misspelled_methods_and_media_types_are_accepted() {
    for (item, methods, expected) in [
        (
            "{GET: {}, Post: {}}",
            "GET POST",
            "invalid-openapi /paths/~1a/GET\ninvalid-openapi /paths/~1a/Post",
        ),
        ("{Get: {}, get: {}}", "GET", "invalid-openapi /paths/~1a/Get"),
        ("{GET: {}, Get: {}}", "GET", "invalid-openapi /paths/~1a/GET\ninvalid-openapi /paths/~1a/Get"),
    ] {
        let (_, api, problems) = read(&format!("paths: {{/a: {item}}}\n"));
        let found: Vec<&str> = api.operations.iter().map(|operation| operation.method.as_str()).collect();
        assert_eq!(
            (found.join(" ").as_str(), format_problems(&problems).as_str()),
            (methods, expected),
            "{item}"
        );
    }
    for (key, names) in [
        ("a/b; c=d, e/f", &["a/b; c=d", "e/f"][..]),
        (r#"a/b; c="d, e/f", g/h"#, &[r#"a/b; c="d, e/f""#, "g/h"]),
        (r#"a/b; c="\", d/e""#, &[r#"a/b; c="\", d/e""#]),
        ("a/b; c=d,e", &["a/b; c=d,e"]),
        ("a/b, c", &[]),
    ] {
        assert_eq!(super::split_media_types(key), names, "{key}");
    }
    let body = "{requestBody: {content: {'a/b, c/d; e=f': {schema: {type: string}}, 'g/h': {}}}}";
    let (_, api, problems) = read(&format!("paths: {{/a: {{put: {body}}}}}\n"));
    let content = &api.operations[0].request_body.as_ref().unwrap().content;
    let found: Vec<_> = content.iter().map(|media| (media.name.as_str(), media.schema.is_some())).collect();
    assert_eq!(found, [("a/b", true), ("c/d; e=f", true), ("g/h", false)], "{problems}");
}

#[test]
fn whole_document_is_read() {
    let (graph, mut apis, problems) = resolve_files(&[
        (
            "api.json",
            r##"{"openapi": "3.1.0", "info": {"title": "T", "version": "2", "description": "D"},
            "servers": [{"url": "https://a"}, {"url": "/b"}], "tags": [{"name": "t", "description": "x"}, {"name": "u"}],
            "security": [{"oauth": ["read"]}, {"key": []}],
            "paths": {
              "/ships/{shipId}": {
                "parameters": [{"$ref": "#/components/parameters/ShipId"}, {"name": "v", "in": "query", "schema": true}],
                "get": {"operationId": "getShip", "tags": ["t"], "summary": "S", "description": "D", "deprecated": true,
                  "x-scope": ["a"],
                  "parameters": [{"name": "v", "in": "query", "schema": {"type": "integer"}, "style": "deepObject"},
                    {"name": "V", "in": "header", "required": true, "content": {"application/json": {"schema": {"type": "object"}}}},
                    {"name": "c", "in": "cookie", "schema": {"type": "string"}}],
                  "responses": {
                    "200": {"description": "ok", "content": {"application/json": {"schema": {"$ref": "schemas/ship.json"}}},
                      "headers": {"ETag": {"required": true, "schema": {"type": "string"}}, "Content-Type": {"schema": {}}}},
                    "4XX": {"$ref": "#/components/responses/Problem"}, "default": {"$ref": "other.json#/responses/D"}}},
                "put": {"security": [], "requestBody": {"$ref": "#/components/requestBodies/B"}, "responses": {"204": {"description": ""}}}
              },
              "/linked": {"$ref": "#/components/pathItems/P"}
            },
            "webhooks": {"changed": {"post": {"responses": {"200": {"description": "d"}}}}},
            "components": {
              "schemas": {"Lonely": {"type": "string"}, "Ship": {"$ref": "schemas/ship.json"}},
              "parameters": {"ShipId": {"$ref": "#/components/parameters/Id"}, "Id": {"name": "shipId", "in": "path", "required": true, "schema": {"type": "string"}},
                "Unused": {"name": "q", "in": "query", "schema": {"type": "array", "items": {"type": "number"}}}},
              "responses": {"Problem": {"description": "p", "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Lonely"}}}}},
              "requestBodies": {"B": {"required": true, "content": {"multipart/form-data": {"schema": {"properties": {"f": true}}, "encoding": {"f": {"contentType": "image/png"}}}}}},
              "pathItems": {"P": {"post": {"operationId": "p", "security": [{}], "responses": {}}}},
              "securitySchemes": {"oauth": {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": "x", "scopes": {"read": "r"}}}}, "key": {"$ref": "#/components/securitySchemes/k"}, "k": {"type": "apiKey", "in": "header", "name": "K"}}
            }}"##,
        ),
        (
            "other.json",
            r##"{"$id": "file:///other.json", "x-keep": true, "responses": {"D": {"description": "far", "content": {"text/plain": {}}}}}"##,
        ),
        ("schemas/ship.json", r##"{"type": "object", "properties": {"id": {"type": "string"}}}"##),
    ]);
    assert_eq!(
        format_problems(&problems),
        "unknown-keyword /responses\n!ignored /paths/~1ships~1{shipId}/get/responses/200/headers/Content-Type"
    );
    let api = apis.pop().unwrap();
    assert!(apis.is_empty());
    assert_eq!((api.title.as_str(), api.version.as_str(), api.description.as_deref()), ("T", "2", Some("D")));
    assert_eq!(api.servers.iter().map(|server| server.url.as_str()).collect::<Vec<_>>(), ["https://a", "/b"]);
    let tag = |name: &str, description: Option<&str>| TagDefinition {
        name: name.to_owned(),
        description: description.map(str::to_owned),
        ..TagDefinition::default()
    };
    assert_eq!(api.tags, [tag("t", Some("x")), tag("u", None)]);
    assert_eq!(api.security_schemes.len(), 3);
    assert_eq!(api.security_schemes[1].1.to_string(), r#"{"type":"apiKey","in":"header","name":"K"}"#);
    let list: Vec<_> = api
        .operations
        .iter()
        .map(|each| (each.id.as_str(), each.method.as_str(), each.path.as_str()))
        .collect();
    assert_eq!(
        list,
        [
            ("getShip", "GET", "/ships/{shipId}"),
            ("putShipsByShipId", "PUT", "/ships/{shipId}"),
            ("p", "POST", "/linked")
        ]
    );
    let get = &api.operations[0];
    assert!(get.deprecated && get.extensions.contains_key("x-scope"));
    assert_eq!(get.place.pointer, "/paths/~1ships~1{shipId}/get");
    let parameters: Vec<_> = get
        .parameters
        .iter()
        .map(|each| (each.name.as_str(), each.location, each.required, each.style.as_str(), each.explode))
        .collect();
    assert_eq!(
        parameters,
        [
            ("shipId", ParameterIn::Path, true, "simple", false),
            ("v", ParameterIn::Query, false, "deepObject", false),
            ("V", ParameterIn::Header, true, "simple", false),
            ("c", ParameterIn::Cookie, false, "form", true),
        ]
    );
    assert_eq!(get.parameters[0].place.pointer, "/components/parameters/Id");
    assert_eq!(graph.schema(get.parameters[1].schema.unwrap()).types, Some(TypeSet::INTEGER));
    assert_eq!(get.parameters[2].content.as_deref(), Some("application/json"));
    assert_eq!(
        get.security,
        [vec![("oauth".to_owned(), vec!["read".to_owned()])], vec![("key".to_owned(), vec![])]]
    );
    assert_eq!(api.operations[1].security, Vec::<Vec<(String, Vec<String>)>>::new());
    assert_eq!(api.operations[2].security, [vec![]]);
    let statuses: Vec<_> = get
        .responses
        .iter()
        .map(|each| (each.status, each.description.as_str(), each.place.pointer.as_str()))
        .collect();
    assert_eq!(
        statuses,
        [
            (StatusPattern::Code(200), "ok", "/paths/~1ships~1{shipId}/get/responses/200"),
            (StatusPattern::Range(4), "p", "/components/responses/Problem"),
            (StatusPattern::Default, "far", "/responses/D"),
        ]
    );
    assert_eq!(get.responses[0].headers.len(), 1);
    let ship = graph.schema(get.responses[0].content[0].schema.unwrap()).reference.unwrap();
    assert_eq!(graph.schema(ship).origin, SchemaOrigin::Root("ship".to_owned()));
    let body = api.operations[1].request_body.as_ref().unwrap();
    assert!(body.required);
    assert_eq!(body.content[0].encoding[0].0, "f");
    assert_eq!(api.webhooks[0].id, "postChanged");
    let components: Vec<_> = graph
        .schemas
        .iter()
        .filter_map(|each| match &each.origin {
            SchemaOrigin::Component(name) => Some((name.as_str(), each.location.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(components, [("Lonely", "/components/schemas/Lonely"), ("Ship", "/components/schemas/Ship")]);
    assert!(graph.schemas.iter().any(|each| each.location == "/components/parameters/Unused/schema/items"));
    let root = graph.resource(graph.schema(get.parameters[1].schema.unwrap()).resource);
    assert_eq!((root.uri.as_str(), root.root), ("file:///api.json", None));
}

/// Each case is a document and its expected diagnostics, as `code pointer` with the prefix `?` for warnings
/// and `!` for notes.
#[test]
fn problems() {
    let operation = |inner: &str| format!("paths:\n  /a/{{b}}:\n    get: {inner}\n");
    let b = "{name: b, in: path, required: true, schema: {}}";
    let parameter = |inner: &str| operation(&format!("{{parameters: [{b}, {inner}], responses: {{}}}}"));
    let responses = |inner: &str| operation(&format!("{{parameters: [{b}], responses: {inner}}}"));
    let get = "/paths/~1a~1{b}/get";
    let cases: Vec<(String, String)> = vec![
        (operation("{responses: {}}"), format!("path-parameter {get}")),
        (parameter("{name: c, in: path, required: true, schema: {}}"), format!("path-parameter {get}/parameters/1")),
        (parameter(b), format!("duplicate-parameter {get}/parameters/1")),
        (parameter("{name: b, in: query, schema: {}}"), String::new()),
        (parameter("{name: q, in: query}"), format!("invalid-openapi {get}/parameters/1")),
        (parameter("{name: q, in: query, schema: {}, content: {a/b: {}}}"), format!("invalid-openapi {get}/parameters/1/content")),
        (parameter("{name: q, in: query, content: {}}"), format!("invalid-openapi {get}/parameters/1/content")),
        (parameter("{name: q, in: body, schema: {}}"), format!("invalid-openapi {get}/parameters/1/in")),
        (parameter("{name: q, in: query, style: simple, schema: {}}"), format!("invalid-openapi {get}/parameters/1/style")),
        (parameter("{name: Accept, in: header, schema: {}}"), format!("!ignored {get}/parameters/1")),
        (parameter("{name: authorization, in: header, schema: {}}"), format!("!ignored {get}/parameters/1")),
        (parameter("{name: q, in: query, schema: {}, requierd: true}"), format!("?unknown-field {get}/parameters/1/requierd")),
        (parameter("{name: q, in: query, schema: {type: strng}}"), format!("invalid-schema {get}/parameters/1/schema/type")),
        (parameter("{name: 1, in: query, schema: {}}"), format!("invalid-openapi {get}/parameters/1/name")),
        (parameter("{$ref: '#/components/parameters/X'}"), format!("unresolved-reference {get}/parameters/1/$ref")),
        (parameter("{$ref: '#/components/responses/X'}"), format!("invalid-openapi {get}/parameters/1/$ref")),
        (parameter("{$ref: 3}"), format!("invalid-openapi {get}/parameters/1/$ref")),
        (operation("{parameters: [{name: b, in: path, schema: {}}], responses: {}}"), format!("invalid-openapi {get}/parameters/0")),
        (responses("{20: {description: d}}"), format!("invalid-openapi {get}/responses/20")),
        (responses("{6XX: {description: d}}"), format!("invalid-openapi {get}/responses/6XX")),
        (responses("{4xx: {description: d}}"), format!("invalid-openapi {get}/responses/4xx")),
        (responses("{200: {}}"), format!("?invalid-openapi {get}/responses/200")),
        (responses("{200: {description: d, content: {json: {}}}}"), format!("invalid-openapi {get}/responses/200/content/json")),
        (responses("{200: {description: d, schema: {type: string}}}"), format!("unknown-field {get}/responses/200/schema")),
        (responses("{200: {description: d, content: {a/b: {type: string}}}}"), format!("unknown-field {get}/responses/200/content/a~1b/type")),
        (responses("{200: {description: d, content: {a/b: {schem: {}}}}}"), format!("unknown-field {get}/responses/200/content/a~1b/schem")),
        (responses("{200: {description: d, content: {/: {}, 'a/': {}, a b/c: {}, 'a/b; c=d': {}, 'a/*': {}}}}"), format!("invalid-openapi {get}/responses/200/content/~1\ninvalid-openapi {get}/responses/200/content/a~1\ninvalid-openapi {get}/responses/200/content/a b~1c")),
        (responses("{200: {description: d, content: {'a/b, c/d': {}}}}"), format!("invalid-openapi {get}/responses/200/content/a~1b, c~1d")),
        ("paths:\n  /a: {connect: {responses: {}}, note: x}\n".to_owned(), "unknown-field /paths/~1a/connect\nunknown-field /paths/~1a/note".to_owned()),
        (responses("{200: {description: d, content: {a/b: {schema: 1}}}}"), format!("invalid-openapi {get}/responses/200/content/a~1b/schema")),
        (responses("{200: {description: d, headers: {H: {}}}}"), format!("invalid-openapi {get}/responses/200/headers/H")),
        (responses("[]"), format!("invalid-openapi {get}/responses")),
        (operation(&format!("{{parameters: [{b}], security: [{{x: []}}]}}")), format!("unresolved-reference {get}/security/0/x")),
        (operation(&format!("{{parameters: [{b}], callbacks: {{c: {{'{{$url}}': {{post: {{responses: {{}}}}}}}}}}, servers: [{{url: x}}]}}")), String::new()),
        ("paths:\n  a: {}\n".to_owned(), "invalid-openapi /paths/a".to_owned()),
        ("paths:\n  /a{: {get: {}}\n".to_owned(), "invalid-openapi /paths/~1a{/get".to_owned()),
        (format!("paths:\n  /a/{{b}}/{{b}}: {{get: {{parameters: [{b}]}}}}\n"), "path-parameter /paths/~1a~1{b}~1{b}/get".to_owned()),
        ("paths:\n  /a b: {}\n  /a%20b: {}\n".to_owned(), "duplicate-path /paths/~1a%20b".to_owned()),
        ("paths:\n  /a/{b}: {}\n  /a/{c}: {}\n".to_owned(), "duplicate-path /paths/~1a~1{c}".to_owned()),
        ("paths:\n  /a: {get: {operationId: x}}\n  /b: {get: {operationId: x}}\n".to_owned(), "duplicate-operation /paths/~1b/get".to_owned()),
        ("paths:\n  /a: {fetch: {}}\n".to_owned(), "unknown-field /paths/~1a/fetch".to_owned()),
        ("paths:\n  /a: {$ref: '#/components/pathItems/p', get: {}}\ncomponents: {pathItems: {p: {}}}\n".to_owned(), String::new()),
        ("paths:\n  /a: {$ref: '#/components/pathItems/p', summary: s, get: {}}\ncomponents: {pathItems: {p: {summary: t, get: {}}}}\n".to_owned(), "unsupported /paths/~1a/get".to_owned()),
        ("paths:\n  /a: {$ref: '#/components/pathItems/p', additionalOperations: {COPY: {}, LINK: {}}}\ncomponents: {pathItems: {p: {additionalOperations: {COPY: {}}}}}\n".to_owned(), "unsupported /paths/~1a/additionalOperations/COPY".to_owned()),
        ("paths:\n  /a: {$ref: '#/components/pathItems/p', parameters: [{in: query}]}\ncomponents: {pathItems: {p: {}}}\n".to_owned(), "invalid-openapi /paths/~1a/parameters/0".to_owned()),
        (parameter("{name: X Y, in: header, schema: {}}"), format!("invalid-openapi {get}/parameters/1/name")),
        (parameter("{name: 'a;b', in: cookie, style: cookie, schema: {}}"), format!("invalid-openapi {get}/parameters/1/name")),
        (parameter("{name: 'a;b', in: cookie, schema: {}}"), String::new()),
        (parameter("{name: a b, in: query, schema: {}}"), String::new()),
        (responses("{200: {description: d, headers: {A B: {schema: {}}}}}"), format!("invalid-openapi {get}/responses/200/headers/A B")),
        (responses("{200: {description: d, headers: {A: {style: form, schema: {}}}}}"), format!("invalid-openapi {get}/responses/200/headers/A/style")),
        (responses("{200: {description: d, content: {a/b: {encoding: {p: {headers: {A B: {schema: {}}}}}}}}}"), format!("invalid-openapi {get}/responses/200/content/a~1b/encoding/p/headers/A B")),
        (responses("{200: {description: d, content: {a/b: {example: 1, examples: {a: {value: 1, externalValue: x}}}}}}"), format!("?invalid-openapi {get}/responses/200/content/a~1b/examples\n?invalid-openapi {get}/responses/200/content/a~1b/examples/a/externalValue")),
        ("components: {schemas: {a b: {}}}\n".to_owned(), "invalid-openapi /components/schemas/a b".to_owned()),
        ("components: {schema: {}}\n".to_owned(), "?unknown-field /components/schema".to_owned()),
        ("components: {responses: {a: {$ref: '#/components/responses/b'}, b: {$ref: '#/components/responses/a'}}}\n".to_owned(), "reference-cycle /components/responses/a\nreference-cycle /components/responses/b".to_owned()),
        ("components: {schemas: {A: {nullable: true}}}\n".to_owned(), "unknown-keyword /components/schemas/A/nullable".to_owned()),
        ("components: {securitySchemes: {a: {}}}\n".to_owned(), "invalid-openapi /components/securitySchemes/a".to_owned()),
        ("x-nothing: 1\n".to_owned(), "invalid-openapi ".to_owned()),
        ("webhooks: {w: {post: {requestBody: {content: {a/b: {}}}}}}\n".to_owned(), String::new()),
        ("jsonSchemaDialect: https://spec.openapis.org/oas/3.1/dialect/base\ncomponents: {}\n".to_owned(), String::new()),
        ("jsonSchemaDialect: http://json-schema.org/draft-03/schema\ncomponents: {}\n".to_owned(), "unsupported /jsonSchemaDialect".to_owned()),
    ];
    for (body, expected) in &cases {
        let (_, _, problems) = read(body);
        assert_eq!(format_problems(&problems), *expected, "{body}\n{problems}");
    }
}

#[test]
fn versions_are_checked() {
    for (text, expected) in [
        ("openapi: 3.1.2\ninfo: {title: a, version: '1'}\ncomponents: {}", ""),
        ("openapi: 3.0.4\ninfo: {title: a, version: '1'}\npaths: {}", ""),
        ("openapi: 3.0.4\ninfo: {title: a, version: '1'}\ncomponents: {}", "invalid-openapi "),
        (
            "openapi: 3.0.4\ninfo: {title: a, version: '1'}\npaths: {}\nwebhooks: {}",
            "unknown-field /webhooks",
        ),
        ("openapi: 3.3.0\ninfo: {title: a, version: '1'}\npaths: {}", "unsupported /openapi"),
        ("openapi: '3'\ninfo: {title: a, version: '1'}\npaths: {}", "unsupported /openapi"),
        ("openapi: 4.0.0\ninfo: {title: a, version: '1'}", "unsupported /openapi"),
        ("swagger: '2.0'\ninfo: {title: a, version: '1'}", "unsupported /swagger"),
        ("openapi: 3.1.0\ncomponents: {}", "invalid-openapi "),
        ("openapi: 3.1.0\ninfo: {title: a}\ncomponents: {}", "?invalid-openapi /info"),
        ("openapi: 3.1.0\ninfo: {title: a, version: 1.0}\ncomponents: {}", "invalid-openapi /info/version"),
    ] {
        let (.., problems) = resolve_files(&[("api.yaml", text)]);
        assert_eq!(format_problems(&problems), expected, "{text}\n{problems}");
    }
}

/// Keywords of OpenAPI 3.0 are accepted in documents that were migrated to 3.1 by changing only their version
/// number, such as OpenAI's.
#[test]
fn openapi_30_keywords_are_accepted_in_31() {
    let schema = |inner: &str| {
        let text = format!("{HEAD}components:\n  schemas:\n    A: {inner}\n");
        let (graph, _, problems) = resolve_files_with(UnknownKeywordPolicy::Warn, &[("api.yaml", &text)]);
        (graph.schemas.into_iter().next().unwrap(), format_problems(&problems))
    };
    let (nullable, problems) = schema("{type: string, nullable: true}");
    assert_eq!(nullable.types, Some(TypeSet::STRING.union(TypeSet::NULL)));
    assert_eq!(problems, "?openapi-3.0 /components/schemas/A/nullable");
    let (bounds, problems) = schema("{minimum: 1, exclusiveMinimum: true, exclusiveMaximum: 5}");
    assert_eq!(problems, "?openapi-3.0 /components/schemas/A/exclusiveMinimum");
    assert_eq!((bounds.minimum, bounds.exclusive_minimum.unwrap().to_string()), (None, "1".to_owned()));
    assert_eq!(bounds.exclusive_maximum.unwrap().to_string(), "5");
    let (names, problems) = schema("{required: [a, b, a]}");
    assert_eq!(names.required, ["a", "b"]);
    assert_eq!(problems, "invalid-schema /components/schemas/A/required/2");
    // The keywords are not accepted in a schema file, because it is not an OpenAPI document.
    let file = ("a.json", r#"{"type": "string", "nullable": true}"#);
    let (graph, _, problems) = resolve_files_with(UnknownKeywordPolicy::Warn, &[file]);
    assert_eq!(graph.schemas.as_slice()[0].types, Some(TypeSet::STRING));
    assert_eq!(format_problems(&problems), "?unknown-keyword /nullable");
    // With the policy `deny` for unknown keywords, these keywords are errors.
    let text = format!("{HEAD}components: {{schemas: {{A: {{minimum: 1, exclusiveMinimum: true}}}}}}");
    assert_eq!(
        format_problems(&resolve_files(&[("api.yaml", &text)]).2),
        "invalid-schema /components/schemas/A/exclusiveMinimum"
    );
}

#[test]
fn openapi_30_schemas_are_read() {
    let head = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n    A: ";
    let schema = |inner: &str| {
        let text = format!("{head}{inner}\n");
        let (graph, _, problems) = resolve_files(&[("api.yaml", &text)]);
        (graph.schemas.into_iter().next().unwrap(), format_problems(&problems))
    };
    let (nullable, problems) = schema("{type: string, nullable: true, example: x}");
    assert_eq!((nullable.types, problems.as_str()), (Some(TypeSet::STRING.union(TypeSet::NULL)), ""));
    assert_eq!(nullable.examples.len(), 1);
    let (bounds, problems) =
        schema("{minimum: 1, exclusiveMinimum: true, maximum: 5, exclusiveMaximum: false}");
    assert_eq!(problems, "");
    assert_eq!((bounds.minimum, bounds.exclusive_minimum.unwrap().to_string()), (None, "1".to_owned()));
    assert_eq!((bounds.maximum.unwrap().to_string(), bounds.exclusive_maximum), ("5".to_owned(), None));
    for (text, expected) in [
        ("{nullable: true}", ""),
        ("{nullable: 1}", "invalid-schema /components/schemas/A/nullable"),
        ("{type: [string]}", "invalid-schema /components/schemas/A/type"),
        ("{type: 'null'}", "invalid-schema /components/schemas/A/type"),
        ("{const: 1}", "unknown-keyword /components/schemas/A/const"),
        ("{minimum: 1, exclusiveMinimum: 1}", "invalid-schema /components/schemas/A/exclusiveMinimum"),
        ("{additionalProperties: false}", ""),
        ("{not: true}", "invalid-schema /components/schemas/A/not"),
        ("{allOf: [{$ref: '#/components/schemas/A/x-b'}], x-b: {type: string}}", ""),
        (
            "{properties: {a: {$ref: '#/components/schemas/A', nullable: true, minimum: 1}}}",
            "?ignored /components/schemas/A/properties/a/$ref\n!nullable /components/schemas/A/properties/a/nullable",
        ),
        (
            "{properties: {a: {$ref: '#/components/schemas/A', nullable: yes}}}",
            "invalid-schema /components/schemas/A/properties/a/nullable",
        ),
    ] {
        assert_eq!(schema(text).1, expected, "{text}");
    }
    // A schema file without `$schema` uses the dialect of the OpenAPI 3.0 document.
    let (graph, _, problems) = resolve_files(&[
        ("api.yaml", &format!("{head}{{$ref: a.yaml}}\n")),
        ("a.yaml", "type: string\nnullable: true"),
    ]);
    assert!(problems.is_empty(), "{problems}");
    assert_eq!(
        graph.schemas.iter().filter(|each| each.types == Some(TypeSet::STRING.union(TypeSet::NULL))).count(),
        1
    );
}

/// By default, `nullable: true` makes a schema accept `null` regardless of its other keywords, because
/// vendors use it in this way.
#[test]
fn nullable_permits_null_beside_any_keyword() {
    let head = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n    B: {type: integer}\n    C: {type: string}\n    A: ";
    let reference = |name: &str| format!("{{$ref: '#/components/schemas/{name}'}}");
    let (b, c) = (reference("B"), reference("C"));
    // Each case is a schema, whether the specification gives the same result, the values that it accepts, and
    // those that it rejects.
    let cases = [
        ("{type: integer, nullable: true}".to_owned(), true, "[null, 1]", "[true]"),
        ("{$ref: '#/components/schemas/B', nullable: true}".to_owned(), false, "[null, 1]", "[true]"),
        (format!("{{allOf: [{b}], nullable: true}}"), false, "[null, 1]", "[true]"),
        (
            format!("{{allOf: [{b}, {{minimum: 3}}], nullable: true, maximum: 9}}"),
            false,
            "[null, 3, 9]",
            "[2, 10]",
        ),
        (format!("{{anyOf: [{b}, {c}], nullable: true}}"), false, "[null, 1, \"\"]", "[true]"),
        (format!("{{oneOf: [{b}, {c}], nullable: true}}"), false, "[null, 1, \"\"]", "[true]"),
        (
            "{oneOf: [{type: integer, nullable: true}, {type: string, nullable: true}], nullable: true}"
                .to_owned(),
            false,
            "[null, 1, \"\"]",
            "[true]",
        ),
        ("{type: integer, enum: [1, 2], nullable: true}".to_owned(), false, "[null, 1]", "[3]"),
        ("{enum: [1, 2], nullable: true}".to_owned(), false, "[null, 1]", "[3]"),
        ("{type: integer, enum: [1, null], nullable: true}".to_owned(), true, "[null, 1]", "[3]"),
        (format!("{{type: integer, nullable: true, allOf: [{b}]}}"), false, "[null, 1]", "[true]"),
        (format!("{{anyOf: [{b}, {{nullable: true}}]}}"), false, "[null, 1]", "[true, \"\"]"),
        (format!("{{oneOf: [{b}, {{nullable: true, description: nothing}}]}}"), false, "[null, 1]", "[true]"),
        (format!("{{allOf: [{b}, {{nullable: true}}]}}"), false, "[null, 1]", "[true]"),
        ("{not: {type: string, nullable: true}, nullable: true}".to_owned(), false, "[null, 1]", "[\"\"]"),
        ("{nullable: true}".to_owned(), true, "[null, 1, {}]", "[]"),
        ("{$ref: '#/components/schemas/B', nullable: false}".to_owned(), true, "[1]", "[null]"),
    ];
    for (schema, is_specified, valid, invalid) in &cases {
        let text = format!("{head}{schema}\n");
        let (graph, _, problems) = resolve_files(&[("api.yaml", &text)]);
        assert_eq!(
            problems.iter().filter(|each| each.code == "nullable").count(),
            usize::from(!is_specified),
            "{schema}\n{problems}"
        );
        assert!(!problems.has_errors(), "{problems}");
        let id = graph.ids().find(|id| graph.absolute_location(*id).ends_with("schemas/A")).unwrap();
        let (plan, arenas) = (TablePlan::from_graph(&graph), TableArenas::default());
        let tables = plan.build_tables(&graph, &arenas);
        let values = |text: &str| Json::parse(text.as_bytes()).unwrap();
        for value in values(valid).as_array().unwrap() {
            assert!(tables.is_valid(id, value), "{schema} {value}");
        }
        for value in values(invalid).as_array().unwrap() {
            assert!(!tables.is_valid(id, value), "{schema} {value}");
        }
    }
}

/// With the strict setting, `nullable` adds `null` to the adjacent `type` and has no other effect (OpenAPI
/// 3.0.3).
#[test]
fn strict_nullable_requires_an_adjacent_type() {
    let strict = |inner: &str| {
        let text = format!(
            "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\npaths: {{}}\ncomponents:\n  schemas:\n    A: {inner}\n    B: {{type: integer}}\n"
        );
        let mut sources = crate::load::Sources::from_texts(&[("api.yaml", "", &text)]).unwrap();
        let options = ResolveOptions { nullable: NullableSemantics::Strict, ..ResolveOptions::default() };
        let (graph, _, problems) = crate::resolve::resolve_documents(&mut sources, &options);
        (graph.schemas.into_iter().next().unwrap(), format_problems(&problems))
    };
    let (schema, problems) = strict("{type: integer, enum: [1], nullable: true}");
    assert_eq!(
        (schema.enumeration.unwrap().len(), schema.types),
        (1, Some(TypeSet::INTEGER.union(TypeSet::NULL)))
    );
    assert_eq!(problems, "");
    let (schema, problems) = strict("{$ref: '#/components/schemas/B', nullable: true}");
    assert!(schema.reference.is_some() && schema.any_of.is_empty());
    assert_eq!(problems, "?ignored /components/schemas/A/$ref");
    let (schema, problems) = strict("{anyOf: [{type: integer}], nullable: true}");
    assert_eq!((schema.any_of.len(), problems.as_str()), (1, "?ignored /components/schemas/A/nullable"));
}

/// If `nullable` converts a schema with an invalid keyword to a union with `null`, both the union and its
/// alternative record the gap.
#[test]
fn nullable_keeps_the_gap() {
    let text = "openapi: 3.0.3\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n    A: {type: strng, allOf: [{type: object}], nullable: true}\n";
    let (graph, ..) = resolve_files(&[("api.yaml", text)]);
    let schema = &graph.schemas.iter().next().unwrap();
    let inside = graph.schema(schema.any_of[0]);
    assert_eq!(
        (schema.gap, inside.gap, inside.all_of.len()),
        (SchemaGap::Assertion, SchemaGap::Assertion, 1)
    );
}

/// Several occurrences of `nullable` without effect in OpenAPI 3.0 are reported in one note.
#[test]
fn nullables_are_reported_once() {
    let b = "{$ref: '#/components/schemas/B', nullable: true}";
    let text = format!(
        "openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\npaths: {{}}\ncomponents:\n  schemas:\n    B: {{type: integer}}\n    A: {{properties: {{a: {b}, b: {b}, c: {b}}}}}\n"
    );
    let (_, _, problems) = resolve_files(&[("api.yaml", &text)]);
    assert_eq!(format_problems(&problems), "!nullable /components/schemas/A/properties/a/nullable");
    assert!(problems.iter().next().unwrap().message.starts_with("3 `nullable`"), "{problems}");
}

#[test]
fn references_into_openapi_documents_resolve() {
    let graph = resolve_clean(&[
        (
            "api.yaml",
            "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /x/y:\n    get:\n      responses:\n        200:\n          description: d\n          content:\n            application/json:\n              schema: {type: integer}\ncomponents:\n  schemas:\n    A: {$ref: '#/paths/~1x~1y/get/responses/200/content/application~1json/schema'}\n    B: {$id: 'https://x.y/b', $defs: {c: {type: boolean}}, properties: {p: {$ref: '#/$defs/c'}}}\n",
        ),
        (
            "s.json",
            r##"{"allOf": [{"$ref": "api.yaml#/components/schemas/A"}, {"$ref": "https://x.y/b#/$defs/c"}, {"$ref": "api.yaml#/components/schemas/B/$defs/c"}]}"##,
        ),
    ]);
    let find =
        |location: &str| graph.ids().find(|id| graph.absolute_location(*id).ends_with(location)).unwrap();
    let target = |location: &str| graph.absolute_location(graph.schema(find(location)).reference.unwrap());
    assert_eq!(
        target("schemas/A"),
        "file:///api.yaml#/paths/~1x~1y/get/responses/200/content/application~1json/schema"
    );
    assert_eq!(target("s.json#/allOf/0"), "file:///api.yaml#/components/schemas/A");
    assert_eq!(target("s.json#/allOf/1"), "https://x.y/b#/$defs/c");
    assert_eq!(target("s.json#/allOf/2"), "https://x.y/b#/$defs/c");
    assert_eq!(target("https://x.y/b#/properties/p"), "https://x.y/b#/$defs/c");
    assert_eq!(graph.schema(find("https://x.y/b#")).origin, SchemaOrigin::Component("B".to_owned()));
}

#[test]
fn referenced_files_are_read_as_openapi_objects() {
    let (graph, api) = {
        let mut sources = crate::load::Sources::from_texts(&[(
            "api.yaml",
            "",
            &format!("{HEAD}paths:\n  /a/{{id}}: {{$ref: paths/a.yaml}}\n"),
        )])
        .unwrap();
        sources.offer("a.yaml", "file:///paths/a.yaml", "parameters:\n  - {$ref: '../parts.yaml#/params/Id'}\nget:\n  responses:\n    200: {$ref: '../parts.yaml#/responses/Ok'}\n");
        sources.offer("parts.yaml", "file:///parts.yaml", "params:\n  Id: {name: id, in: path, required: true, schema: {$ref: '#/schemas/Id'}}\nresponses:\n  Ok: {description: d, content: {a/b: {schema: {$ref: '#/schemas/Pet'}}}}\nschemas:\n  Id: {type: string}\n  Pet: {$ref: pet.yaml}\n");
        sources.offer("pet.yaml", "file:///pet.yaml", "type: object\n");
        let (graph, mut apis, problems) =
            crate::resolve::resolve_documents(&mut sources, &crate::resolve::ResolveOptions::default());
        assert!(problems.is_empty(), "{problems}");
        (graph, apis.pop().unwrap())
    };
    let operation = &api.operations[0];
    assert_eq!((operation.id.as_str(), operation.parameters[0].name.as_str()), ("getAById", "id"));
    let schema = graph.schema(operation.responses[0].content[0].schema.unwrap());
    let pet = graph.schema(schema.reference.unwrap());
    assert_eq!(pet.origin, SchemaOrigin::Definition("Pet".to_owned()));
    assert_eq!(graph.schema(pet.reference.unwrap()).origin, SchemaOrigin::Root("pet".to_owned()));
}

#[test]
fn path_and_operation_parameters_are_merged() {
    let (_, api) = read_valid(
        "paths:\n  /a:\n    parameters:\n      - {name: X-A, in: header, schema: {}}\n      - {name: q, in: query, schema: {}}\n    get:\n      parameters:\n        - {name: x-a, in: header, required: true, schema: {}}\n        - {name: r, in: query, explode: false, schema: {}}\n",
    );
    let list: Vec<_> = api.operations[0]
        .parameters
        .iter()
        .map(|each| (each.name.as_str(), each.required, each.explode))
        .collect();
    assert_eq!(list, [("x-a", true, false), ("q", false, true), ("r", false, false)]);
}

/// A path item may have an operation `query`, and operations with other methods in `additionalOperations`
/// (OpenAPI 3.2, 4.8 and 4.9).
#[test]
fn openapi_32_methods_are_read() {
    let (_, api) = read_valid(
        "paths:\n  /a:\n    query: {responses: {}}\n    additionalOperations:\n      COPY: {responses: {}}\n      link: {responses: {}}\n",
    );
    let operations: Vec<(&str, &str)> =
        api.operations.iter().map(|o| (o.method.as_str(), o.id.as_str())).collect();
    assert_eq!(operations, [("QUERY", "queryA"), ("COPY", "copyA"), ("link", "linkA")]);
}

/// In an OpenAPI 3.0 document, operations that only a later version allows are converted with their bodies.
#[test]
fn operations_of_later_versions_are_read_in_openapi_30() {
    let body = "{requestBody: {content: {a/b: {schema: {type: string}}}}}";
    for (body, expected, method) in [
        (format!("paths: {{/a: {{query: {body}}}}}"), "unknown-field /paths/~1a/query", "QUERY"),
        (
            format!("paths: {{/a: {{Query: {body}}}}}"),
            "invalid-openapi /paths/~1a/Query\nunknown-field /paths/~1a/Query",
            "QUERY",
        ),
        (
            format!("paths: {{/a: {{additionalOperations: {{COPY: {body}}}}}}}"),
            "unknown-field /paths/~1a/additionalOperations",
            "COPY",
        ),
        (format!("paths: {{}}\nwebhooks: {{a: {{post: {body}}}}}"), "unknown-field /webhooks", "POST"),
    ] {
        let text = format!("openapi: 3.0.3\ninfo: {{title: T, version: '1'}}\n{body}\n");
        let (_, apis, problems) = resolve_files(&[("api.yaml", &text)]);
        assert_eq!(format_problems(&problems), expected, "{body}");
        let fallbacks = problems.iter().filter_map(|problem| problem.fallback.as_deref());
        assert!(fallbacks.into_iter().any(|fallback| fallback == "it is read anyway"), "{problems}");
        let found = [&apis[0].operations[..], &apis[0].webhooks].concat();
        assert_eq!(found.len(), 1, "{body}");
        let operation = &found[0];
        let content = &operation.request_body.as_ref().unwrap().content;
        assert_eq!((operation.method.as_str(), content[0].schema.is_some()), (method, true), "{body}");
    }
}

/// A method that has a fixed field, such as `GET`, is reported if it is a key of `additionalOperations`
/// (OpenAPI 3.2, 4.9).
#[test]
fn additional_operations_exclude_fixed_fields() {
    let responses = "{responses: {}}";
    for (method, expected) in [
        ("GET", "invalid-openapi /paths/~1a/additionalOperations/GET"),
        ("QUERY", "invalid-openapi /paths/~1a/additionalOperations/QUERY"),
        ("COPY", ""),
        ("get", "invalid-openapi /paths/~1a/additionalOperations/get"),
    ] {
        let item = format!("{{additionalOperations: {{{method}: {responses}}}}}");
        let (_, api, problems) = read(&format!("paths: {{/a: {item}}}\n"));
        assert_eq!(format_problems(&problems), expected, "{method}");
        let methods: Vec<&str> = api.operations.iter().map(|operation| operation.method.as_str()).collect();
        assert_eq!(methods, [method.to_ascii_uppercase()], "{method}");
    }
    // If both contain the method, the operation of the fixed field is used.
    let both = format!("{{get: {responses}, additionalOperations: {{GET: {responses}}}}}");
    let (_, api, _) = read(&format!("paths: {{/a: {both}}}\n"));
    assert_eq!(api.operations.len(), 1);
}

/// A document without `openapi` but with fields such as `paths` is treated as an OpenAPI document. If it has
/// `$schema`, it is treated as a schema.
#[test]
fn document_without_version_is_read() {
    let text = "info: {title: T, version: '1'}\npaths: {/a: {get: {responses: {}}}}\n";
    for (head, expected, operations) in
        [("", "invalid-openapi ", 1), ("$schema: https://json-schema.org/draft/2020-12/schema\n", "", 0)]
    {
        let text = format!("{head}{text}");
        let mut sources = Sources::from_texts(&[("api.yaml", "", &text)]).unwrap();
        let options =
            ResolveOptions { unknown_keywords: UnknownKeywordPolicy::Ignore, ..ResolveOptions::default() };
        let (_, apis, problems) = resolve_documents(&mut sources, &options);
        assert_eq!(format_problems(&problems), expected, "{head}");
        assert_eq!(apis.iter().map(|api| api.operations.len()).sum::<usize>(), operations, "{head}");
    }
}

/// A tag whose `parent` is not a tag of the document, or is part of a cycle, is reported (OpenAPI 3.2, 4.22).
#[test]
fn tag_parents_are_validated() {
    let (_, api) =
        read_valid("paths: {}\ntags: [{name: a}, {name: b, parent: a, kind: nav}, {name: c, parent: b}]\n");
    assert_eq!(api.tag_lineage("c").collect::<Vec<_>>(), ["c", "b", "a"]);
    assert_eq!(api.tag_lineage("unknown").collect::<Vec<_>>(), ["unknown"]);
    for (tags, expected) in [
        ("[{name: a, parent: b}]", "invalid-openapi /tags/0/parent"),
        ("[{name: a, parent: a}]", "invalid-openapi /tags/0/parent"),
        ("[{name: a, parent: b}, {name: b, parent: a}]", "invalid-openapi /tags/0/parent"),
    ] {
        let (_, api, problems) = read(&format!("paths: {{}}\ntags: {tags}\n"));
        assert_eq!(format_problems(&problems), expected, "{tags}");
        assert_eq!(api.tag_lineage("a").collect::<Vec<_>>(), ["a"]);
    }
}

/// The schema of the JSON in `data` of a server-sent event is found if the `itemSchema` has no branches
/// (OpenAPI 3.2, 4.14).
#[test]
fn stream_item_schemas_are_read() {
    let (graph, api) = read_valid(
        "paths:\n  /a:\n    get:\n      responses:\n        200:\n          description: d\n          content:\n            text/event-stream:\n              itemSchema: {properties: {data: {type: string, contentSchema: {type: integer}}}}\n            application/jsonl: {itemSchema: {type: boolean}}\n",
    );
    let [events, lines] = &api.operations[0].responses[0].content[..] else {
        panic!("the response must have two media types")
    };
    assert_eq!(graph.schema(events.data_schema.unwrap()).types, Some(TypeSet::INTEGER));
    assert_eq!(graph.schema(lines.item_schema.unwrap()).types, Some(TypeSet::BOOLEAN));
    assert_eq!((lines.data_schema, lines.schema), (None, None));
}

/// Keys of maps, such as `responses` or `components/schemas`, may start with `x-`, because only objects with
/// fixed fields have extensions.
#[test]
fn map_keys_may_start_like_extensions() {
    let (graph, api) = read_valid(
        "paths:\n  /a:\n    get:\n      security: [{x-api-key: []}]\n      responses:\n        200:\n          description: d\n          headers: {x-rate-limit: {schema: {type: integer}}}\n          content: {x-own/json: {schema: {type: boolean}}, x-note: 1}\ncomponents:\n  securitySchemes: {x-api-key: {type: apiKey, in: header, name: K}}\n",
    );
    assert_eq!(api.security_schemes[0].0, "x-api-key");
    let operation = &api.operations[0];
    assert_eq!(operation.security, [[("x-api-key".to_owned(), Vec::<String>::new())]]);
    let response = &operation.responses[0];
    assert_eq!(response.headers[0].name, "x-rate-limit");
    let [media] = &response.content[..] else { panic!("the response must have one media type") };
    assert_eq!(media.name, "x-own/json");
    assert_eq!(graph.schema(media.schema.unwrap()).types, Some(TypeSet::BOOLEAN));
}

/// The `content` of a parameter may refer to a media type in `components` (OpenAPI 3.2, 4.14).
#[test]
fn parameters_may_reference_media_type_components() {
    let (graph, api) = read_valid(
        "paths:\n  /a:\n    get:\n      parameters: [{name: q, in: query, content: {application/json: {$ref: '#/components/mediaTypes/M'}}}]\n      responses: {}\ncomponents:\n  mediaTypes: {M: {schema: {type: boolean}}}\n",
    );
    let parameter = &api.operations[0].parameters[0];
    assert_eq!(parameter.content.as_deref(), Some("application/json"));
    assert_eq!(graph.schema(parameter.schema.unwrap()).types, Some(TypeSet::BOOLEAN));
}

/// An operation must not have both a `querystring` parameter and query parameters, and a cookie parameter may
/// have the style `cookie` (OpenAPI 3.2, 4.12).
#[test]
fn querystring_and_cookie_styles() {
    let parameters = |list: &str| {
        read(&format!("paths:\n  /a:\n    get:\n      parameters:\n{list}      responses: {{}}\n"))
    };
    let querystring = "        - {name: q, in: querystring, content: {application/json: {schema: {}}}}\n";
    let cookie = "        - {name: c, in: cookie, style: cookie, schema: {}}\n";
    let (_, api, problems) = parameters(&format!("{querystring}{cookie}"));
    assert!(problems.is_empty(), "{problems}");
    let found: Vec<_> = api.operations[0].parameters.iter().map(|p| (p.location, p.explode)).collect();
    assert_eq!(found, [(ParameterIn::QueryString, true), (ParameterIn::Cookie, true)]);
    assert_eq!(api.operations[0].parameters[1].style, "cookie");
    let (_, api, problems) =
        parameters(&format!("{querystring}        - {{name: r, in: query, schema: {{}}}}\n"));
    assert_eq!(format_problems(&problems), "invalid-openapi /paths/~1a/get/parameters/0");
    assert_eq!(api.operations[0].parameters[0].name, "r");
    let (_, _, problems) = parameters("        - {name: q, in: querystring, schema: {}}\n");
    assert_eq!(format_problems(&problems), "invalid-openapi /paths/~1a/get/parameters/0");
}

/// `prefixEncoding`, `itemEncoding` and encodings within an encoding are ignored with a warning (OpenAPI 3.2,
/// 4.14.5).
#[test]
fn positional_encodings_are_reported() {
    let (_, _, problems) = read(
        "paths:\n  /a:\n    post:\n      requestBody:\n        content:\n          multipart/mixed: {itemSchema: {}, itemEncoding: {contentType: image/png}, prefixEncoding: []}\n          multipart/form-data: {schema: {properties: {p: {}}}, encoding: {p: {itemEncoding: {contentType: a/b}}}}\n      responses: {}\n",
    );
    let content = "/paths/~1a/post/requestBody/content";
    let expected = [
        format!("?ignored {content}/multipart~1mixed/itemEncoding"),
        format!("?ignored {content}/multipart~1mixed/prefixEncoding"),
        format!("?ignored {content}/multipart~1form-data/encoding/p/itemEncoding"),
    ];
    assert_eq!(format_problems(&problems), expected.join("\n"));
}

/// A `$ref` instead of a map of components, as in split documents, is rejected: each component must be
/// defined by name.
#[test]
fn references_in_place_of_component_maps_are_rejected() {
    let (graph, _, problems) = read(
        "paths: {}\ncomponents:\n  schemas: {$ref: './schemas/_index.yaml', A: {type: integer}}\n  responses: {$ref: './responses/_index.yaml'}\n",
    );
    assert_eq!(
        format_problems(&problems),
        "invalid-openapi /components/schemas/$ref\ninvalid-openapi /components/responses/$ref"
    );
    assert!(problems.to_string().contains("a map of components must not have `$ref`"), "{problems}");
    let is_named_ref =
        |origin: &SchemaOrigin| matches!(origin, SchemaOrigin::Component(name) if name == "$ref");
    assert!(!graph.ids().any(|id| is_named_ref(&graph.schema(id).origin)));
}
