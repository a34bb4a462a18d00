//! Tests of the plans of small contracts, and of the operation tables that are generated from them.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use contract_runtime::operation::ItemEncoding;
use proc_macro2::TokenStream;

use super::*;
use crate::{
    arena::Arena, emit::ModelEmitter, generate::Project, load::Sources, operations, schema::Schema,
    tables::TableArenas,
};

/// A contract that is shared with the tests of the server.
pub(crate) const PETS: &str = r##"{
  "openapi": "3.1.0",
  "info": {"title": "Pets", "version": "1"},
  "paths": {
    "/pets/{id}": {
      "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
      "get": {
        "operationId": "pet_read", "tags": ["pets"], "summary": "Reads a pet.",
        "security": [{"oauth": ["pets.read"]}, {"oauth": ["pets.write", "pets.admin"]}],
        "responses": {
          "200": {"description": "The pet.", "headers": {"ETag": {"schema": {"type": "string"}}},
                  "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/pets": {
      "post": {
        "operationId": "petWrite", "deprecated": true, "security": [{"oauth": ["pets.write"]}],
        "parameters": [
          {"name": "Idempotency-Key", "in": "header", "required": true, "schema": {"type": "string"}},
          {"name": "DPoP", "in": "header", "required": true, "schema": {"type": "string"}},
          {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
          {"name": "body", "in": "query", "style": "pipeDelimited", "explode": false,
           "schema": {"type": "array", "items": {"type": "integer"}}}
        ],
        "requestBody": {"required": true, "content": {
          "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
        "responses": {
          "201": {"description": "Made.", "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
          "204": {"description": "Nothing to do."},
          "409": {"description": "Taken.", "content": {
            "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      },
      "get": {
        "operationId": "pets", "security": [],
        "parameters": [{"name": "filter", "in": "query", "style": "deepObject", "schema": {
          "type": "object", "properties": {"age": {"type": "integer"}, "name": {"type": "string"}}}}],
        "responses": {
          "200": {"description": "All.", "headers": {"DPoP": {"schema": {"type": "string"}}}, "content": {"application/json": {"schema": {
            "type": "array", "items": {"$ref": "#/components/schemas/Pet"}}}}},
          "default": {"$ref": "#/components/responses/Problem"}
        }
      }
    },
    "/note": {
      "put": {
        "operationId": "note",
        "requestBody": {"content": {"text/plain": {"schema": {"type": "string"}}}},
        "responses": {"200": {"description": "Text.", "content": {"text/plain": {}}}}
      }
    },
    "/upload": {
      "post": {
        "operationId": "upload",
        "requestBody": {"content": {"multipart/form-data": {"schema": {"type": "object"}}}},
        "responses": {"204": {"description": "Done."}}
      }
    },
    "/matrix/{m}": {
      "get": {
        "operationId": "matrix",
        "parameters": [{"name": "m", "in": "path", "required": true, "style": "matrix",
                        "schema": {"type": "string"}}],
        "responses": {"204": {"description": "Done."}}
      }
    }
  },
  "components": {
    "schemas": {
      "Pet": {"type": "object", "required": ["name"], "properties": {
        "name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}}},
      "Problem": {"type": "object", "required": ["code"], "properties": {
        "code": {"type": "string"}, "errors": {"type": "array", "items": {"type": "string"}}}}
    },
    "responses": {"Problem": {"description": "Refused.", "content": {
      "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}}},
    "securitySchemes": {"oauth": {"type": "oauth2", "flows": {"clientCredentials": {
      "tokenUrl": "https://example.org/token", "scopes": {"pets.write": "Change pets", "pets.read": ""}}}}}
  }
}"##;

/// Plans a document, and passes the plan, the schema graph and the type emitter to `check`.
pub(crate) fn with_plan(document: &str, check: impl FnOnce(&SidePlan<'_>, &SchemaGraph, &ModelEmitter<'_>)) {
    with_plan_options(document, |_| {}, check);
}

fn with_plan_options(
    document: &str,
    change: impl FnOnce(&mut crate::config::OperationConfig),
    check: impl FnOnce(&SidePlan<'_>, &SchemaGraph, &ModelEmitter<'_>),
) {
    let sources = Sources::from_texts(&[("pets.json", "https://example.org/pets.json", document)]).unwrap();
    let mut project = Project::default();
    // The options are set only for headers in the document, because other header names would be rejected.
    let setting = |text: &str, name: &str| document.contains(text).then(|| name.to_owned());
    project.config.operations.idempotency_header =
        setting("Idempotency-Key", "Idempotency-Key").map(config::IdempotencyHeader::Declared);
    project.config.operations.hidden_headers = setting("DPoP", "dpop").into_iter().collect();
    change(&mut project.config.operations);
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let plan = project.operation_plan(&contract, OperationSide::Paths);
    let arenas = TableArenas::default();
    let tables = contract.build_tables(&arenas);
    let types = ModelEmitter::new(&contract.graph, &contract.shapes, &tables, true, BTreeSet::new());
    check(&plan, &contract.graph, &types);
}

/// Asserts that the code contains `piece`, ignoring whitespace.
pub(crate) fn assert_contains(code: &TokenStream, piece: &str) {
    let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert!(
        dense(&code.to_string()).contains(&dense(piece)),
        "the code does not contain\n{piece}\nin\n{code}"
    );
}

#[test]
fn operation_table_matches_the_contract() {
    with_plan(PETS, |plan, graph, types| {
        let code = operations::operations_module(plan, graph, types);
        syn::parse2::<syn::File>(code.clone()).unwrap();
        for piece in [
            r#"id: "pet_read", method: "GET", path: "/pets/{id}", tags: &["pets"], summary: "Reads a pet.", anonymous: false"#,
            r#"scopes: &[&["pets.read"], &["pets.admin", "pets.write"]], idempotent: false, repeat: RepeatSafety::Safe"#,
            r#"scopes: &[&["pets.write"]], idempotent: true, repeat: RepeatSafety::Keyed, deprecated: true"#,
            r#"Parameter { name: "body", style: ParameterStyle::PipeDelimited, explode: false, shape: ValueShape::Array(ScalarType::Integer(None)),"#,
            r#"shape: ValueShape::Object(&[("age", ValueShape::Scalar(ScalarType::Integer(None))), ("name", ValueShape::Scalar(ScalarType::Text))])"#,
            r##"schema: "https://example.org/pets.json#/paths/~1pets/post/requestBody/content/application~1json/schema", validator: Some(schemas::validator(schemas::PETS_SCHEMAS_PET))"##,
            "ResponseSpec { statuses: StatusRange::Code(204), kind: ResponseKind::Success, content: &[] }",
            r#"ResponseSpec { statuses: StatusRange::Default, kind: ResponseKind::Error, content: &[ContentSpec { media_type: "application/problem+json", format: BodyFormat::Json,"#,
            // More literal templates come first: /matrix/{m}, /note, /pets, /pets/{id}, /upload.
            "OperationTable::new(OPERATIONS, &[5, 3, 2, 1, 0, 4])",
            r#"PetRead = "pet_read","#,
            r#"PetsRead = "pets.read""#,
            "use ::contract_runtime::operation::{BodyFormat, BodySpec, ContentSpec, Operation, OperationTable, RepeatSafety, ResponseKind, ResponseSpec, StatusRange};",
        ] {
            assert_contains(&code, piece);
        }
        assert!(!code.to_string().contains("DPoP"));
    });
}

/// If the configuration declares that an operation with a required idempotency header is idempotent, the
/// header stays required.
#[test]
fn retry_safety_leaves_the_idempotency_key_required() {
    let idempotent =
        |options: &mut crate::config::OperationConfig| options.idempotent = vec!["petWrite".to_owned()];
    with_plan_options(PETS, idempotent, |plan, graph, types| {
        let code = operations::operations_module(plan, graph, types);
        assert_contains(&code, "idempotent: true, repeat: RepeatSafety::Idempotent, deprecated: true");
    });
}

/// A response with the media type `application/vnd.x+json` is parsed as JSON, and one with `text/csv` as
/// text.
#[test]
fn json_suffix_media_types_are_json() {
    let document = r##"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "paths": {"/": {"get": {
        "operationId": "a", "responses": {"200": {"description": "", "content": {
            "text/csv": {"schema": {"type": "string"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/X"}},
            "application/vnd.x+json": {"schema": {"$ref": "#/components/schemas/X"}}}}}}}},
        "components": {"schemas": {"X": {"type": "object", "properties": {"a": {"type": "string"}}}}}}"##;
    with_plan(document, |plan, graph, types| {
        let code = operations::operations_module(plan, graph, types);
        assert_contains(&code, r#"media_type: "application/vnd.x+json", format: BodyFormat::Json"#);
        // By default, other media types beside JSON are left out.
        assert!(!code.to_string().contains("text/csv"));
    });
}

/// If a request body declares ranges such as `application/*+json`, a client sends a concrete media type,
/// because a range is not a valid `Content-Type` (RFC 9110, 8.3).
#[test]
fn clients_send_concrete_media_types() {
    let check = |names: &[&str], sent: &str, called: &str| {
        let content =
            |name: &&str| format!(r##""{name}": {{"schema": {{"$ref": "#/components/schemas/X"}}}}"##);
        let content = names.iter().map(content).collect::<Vec<_>>().join(", ");
        let document = format!(
            r##"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{"/": {{"post": {{
            "operationId": "a", "requestBody": {{"required": true, "content": {{{content}}}}},
            "responses": {{"204": {{"description": ""}}}}}}}}}},
            "components": {{"schemas": {{"X": {{"type": "object", "properties": {{"a": {{"type": "string"}}}}}}}}}}}}"##
        );
        with_plan(&document, |plan, graph, types| {
            let body = plan.calls[0].body.as_ref().unwrap();
            let [variant] = body.variants.as_slice() else { panic!("{names:?}: {:?}", body.variants) };
            assert_eq!(body.contents[variant.sent].media.name, sent, "{names:?}");
            let (config, mut problems) = (crate::config::ClientConfig::default(), Diagnostics::new());
            assert_contains(
                &crate::client::client_module(plan, graph, types, &config, &mut problems).root,
                called,
            );
        });
    };
    let json = "application/json";
    check(&["application/*+json", json, "text/json"], json, r#".json("application/json""#);
    check(&["text/json", "application/*+json", json], json, r#".json("application/json""#);
    check(&["application/*+json", "text/json"], "text/json", r#".json("text/json""#);
    let form = "application/x-www-form-urlencoded";
    check(&[form, "application/*+json"], "application/*+json", r#".json("application/x.json+json""#);
    check(&["*/*"], json, r#".json("application/json""#);
}

/// A parameter without its own description is documented with the description of its schema, and its default
/// is that of the schema nearest to it.
#[test]
fn parameters_inherit_schema_descriptions() {
    let document = r##"{"openapi": "3.1.0", "info": {"title": "", "version": "1"}, "paths": {"/": {"get": {
        "operationId": "a", "responses": {"204": {"description": ""}}, "parameters": [
            {"name": "a", "in": "query", "description": "Own.", "schema": {"$ref": "#/components/schemas/S"}},
            {"name": "b", "in": "query", "schema": {"$ref": "#/components/schemas/S", "description": "Beside.", "default": "y"}},
            {"name": "c", "in": "query", "schema": {"allOf": [{"$ref": "#/components/schemas/S"}]}},
            {"name": "d", "in": "query", "schema": {"type": "integer", "title": "A title", "default": 20}}]}}},
        "components": {"schemas": {"S": {"type": "string", "description": "Base.", "default": "x"}}}}"##;
    with_plan(document, |plan, graph, types| {
        let code = crate::calls::calls_module(plan, graph, types);
        for docs in [
            r#"" Own."] # [doc = ""] # [doc = " Query parameter `a`."] # [doc = ""] # [doc = " Default: `\"x\"`."] pub a"#,
            r#"" Beside."] # [doc = ""] # [doc = " Query parameter `b`."] # [doc = ""] # [doc = " Default: `\"y\"`."] pub b"#,
            r#"" Base."] # [doc = ""] # [doc = " Query parameter `c`."] # [doc = ""] # [doc = " Default: `\"x\"`."] pub c"#,
            r#"" A title."] # [doc = ""] # [doc = " Query parameter `d`."] # [doc = ""] # [doc = " Default: `20`."] pub d"#,
        ] {
            assert_contains(&code.root, docs);
        }
    });
}

#[test]
fn shared_parameters_are_written_once() {
    let key = r#"{"name": "X-Key", "in": "header", "required": true, "schema": {"type": "string"}}"#;
    let operation = |id: &str| {
        format!(
            r##"{{"operationId": "{id}", "parameters": [{{"$ref": "#/components/parameters/Key"}}], "responses": {{"204": {{"description": ""}}}}}}"##
        )
    };
    let (a, b) = (operation("a"), operation("b"));
    let document = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "components": {{"parameters": {{"Key": {key}}}}},
            "paths": {{"/": {{"get": {a}, "put": {b}}}}}}}"#
    );
    with_plan(&document, |plan, graph, types| {
        let code = operations::operations_module(plan, graph, types);
        assert_contains(&code, r#"const X_KEY_PARAMETER: Parameter = Parameter { name: "X-Key""#);
        assert_eq!(code.to_string().matches("X_KEY_PARAMETER").count(), 3);
    });
}

#[test]
fn every_style_and_body_format_is_in_the_table() {
    let document = r##"{
      "openapi": "3.1.0", "info": {"title": "", "version": "1"},
      "paths": {"/a/{m}": {"post": {
        "operationId": "a", "servers": [{"url": "https://{host}/up", "variables": {"host": {"default": "b.example"}}}],
        "parameters": [
          {"name": "m", "in": "path", "required": true, "style": "matrix", "schema": {"type": ["integer", "string"]}},
          {"name": "u", "in": "query", "allowReserved": true, "schema": {"oneOf": [
            {"type": "string"}, {"type": "array", "items": {"type": "integer"}}]}},
          {"name": "f", "in": "query", "style": "deepObject", "explode": true, "schema": {"type": "object",
            "properties": {"x": {"type": "object", "properties": {"y": {"type": "boolean"}}}},
            "additionalProperties": {"type": "number"}}},
          {"name": "e", "in": "query", "allowEmptyValue": true, "schema": {"type": "boolean"}},
          {"name": "c", "in": "cookie", "content": {"application/json": {"schema": {"type": "object"}}}}
        ],
        "requestBody": {"content": {
          "application/x-www-form-urlencoded": {
            "schema": {"type": "object", "properties": {"o": {"type": "object"}, "l": {"type": "array", "items": {"type": "string"}}}},
            "encoding": {"l": {"style": "form", "explode": false}}},
          "multipart/form-data": {
            "schema": {"type": "object", "required": ["file"], "properties": {
              "file": {"type": "string", "format": "binary"}, "any": {},
              "images": {"type": "array", "items": {"type": "string", "contentMediaType": "image/png"}},
              "either": {"anyOf": [{"type": "string", "format": "binary"}, {"type": "array", "items": {"type": "string", "format": "binary"}}]},
              "meta": {"type": "object"}, "ids": {"type": "array", "items": {"type": "integer"}}}},
            "encoding": {"file": {"contentType": "image/png, image/jpeg"}}},
          "image/*": {}
        }},
        "responses": {"204": {"description": ""}}
      }}}
    }"##;
    with_plan(document, |plan, graph, types| {
        let code = operations::operations_module(plan, graph, types);
        for piece in [
            r#"style: ParameterStyle::Matrix, shape: ValueShape::Scalar(ScalarType::Of(TypeSet::INTEGER.union(TypeSet::STRING))),"#,
            r#"allow_reserved: true, shape: ValueShape::OneOf(&[ValueShape::Scalar(ScalarType::Text), ValueShape::Array(ScalarType::Integer(None))])"#,
            r#"style: ParameterStyle::DeepObject, shape: ValueShape::Map(&[("x", ValueShape::Object(&[("y", ValueShape::Scalar(ScalarType::Boolean))]))], ScalarType::Number)"#,
            r#"Parameter { name: "e", allow_empty: true, shape: ValueShape::Scalar(ScalarType::Boolean),"#,
            r#"Parameter { name: "c", shape: ValueShape::Json, validator: Some("#,
            r#"format: BodyFormat::Form(&[Parameter { name: "o", shape: ValueShape::Json, ..Parameter::QUERY }"#,
            r#"Parameter { name: "l", explode: false, shape: ValueShape::Array(ScalarType::Text), ..Parameter::QUERY }"#,
            r#"media_type: "image/*", format: BodyFormat::Bytes"#,
            r#"servers: &["https://b.example/up"]"#,
        ] {
            assert_contains(&code, piece);
        }
        let part = |name: &str, form: &str, parts: &str, media_type: &str| {
            let accepted = if name == "file" { r#""image/png", "image/jpeg""# } else { "" };
            assert_contains(
                &code,
                &format!(
                    r#"PartSpec {{ name: "{name}", encoding: PartEncoding::{form}, count: PartCount::{parts}, media_type: "{media_type}", accepted: &[{accepted}] }}"#
                ),
            );
        };
        part("file", "Binary", "Single", "image/png");
        part("any", "Binary", "Single", "");
        part("images", "Binary", "PerElement", "");
        part("either", "Binary", "SingleOrPerElement", "");
        part("meta", "Json", "Single", "application/json");
        part("ids", "Text(ScalarType::Integer(None))", "PerElement", "");
        let bodies = operations::request_bodies_module(plan, graph, types).unwrap();
        syn::parse2::<syn::File>(bodies.clone()).unwrap();
        for piece in [
            "pub enum ABody",
            "Image(::contract_runtime::operation::TypedBytes)",
            "pub file: FilePart",
            "pub images: Vec<FilePart>",
            "pub fn new(file: FilePart) -> Self",
        ] {
            assert_contains(&bodies, piece);
        }
    });
}

#[test]
fn generated_names_are_distinct() {
    with_plan(PETS, |plan, _, _| {
        let call = &plan.calls[1];
        let fields: Vec<_> = call.parameters.iter().map(|p| p.field.as_deref()).collect();
        assert_eq!(fields, [Some("idempotency_key"), Some("limit"), Some("query_body")]);
        assert_eq!(
            (call.id.as_str(), call.method.as_str(), call.name.as_str()),
            ("PetWrite", "pet_write", "PetWriteCall")
        );
    });
}

/// Returns a document with one operation that has the given parameters and responses.
fn single_operation_document(parameters: &str, responses: &str) -> String {
    format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{"/a": {{"get": {{
            "operationId": "a", "parameters": [{parameters}], "responses": {{{responses}}}}}}}}}}}"#
    )
}

/// A query parameter whose schema has `properties` but no `type` becomes a struct and has the string form of
/// an object.
#[test]
fn untyped_query_objects_use_the_object_form() {
    let member = r#""properties": {"from": {"type": "integer"}}"#;
    for schema in [
        format!(r#"{{{member}}}"#),
        format!(r#"{{"allOf": [{{{member}}}, {{"required": ["from"]}}]}}"#),
        format!(r#"{{"type": "object", {member}}}"#),
    ] {
        let parameter = format!(r#"{{"name": "range", "in": "query", "schema": {schema}}}"#);
        with_plan(&single_operation_document(&parameter, r#""204": {"description": ""}"#), |plan, _, _| {
            let PlannedParameter { ty, row, .. } = &plan.calls[0].parameters[0];
            assert!(matches!(ty, TypeRef::Named(_)), "{schema}");
            let field = ("from".to_owned(), TextShape::Scalar(TextScalar::Integer(None)));
            assert_eq!(row.shape, TextShape::Object(vec![field], None), "{schema}");
        });
    }
}

/// A query object without declared properties contains all undeclared query parameters, unless
/// `additionalProperties` forbids them; an absent `additionalProperties` is equivalent to `true` (JSON
/// Schema, 10.3.2.3). An object with declared properties contains only these.
#[test]
fn objects_without_properties_accept_any_property() {
    let any = || TextShape::Object(Vec::new(), Some(TextScalar::Any));
    for (schema, shape) in [
        (r#"{"type": "object"}"#, any()),
        (r#"{"type": "object", "additionalProperties": true}"#, any()),
        (r#"{"allOf": [{"type": "object"}, {"minProperties": 1}]}"#, any()),
        (r#"{"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": false}"#, any()),
        (r#"{"type": "object", "additionalProperties": false}"#, TextShape::Object(Vec::new(), None)),
        (
            r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#,
            TextShape::Object(vec![("a".to_owned(), TextShape::Scalar(TextScalar::Text))], None),
        ),
    ] {
        let parameter = format!(r#"{{"name": "range", "in": "query", "schema": {schema}}}"#);
        with_plan(&single_operation_document(&parameter, r#""204": {"description": ""}"#), |plan, _, _| {
            assert_eq!(plan.calls[0].parameters[0].row.shape, shape, "{schema}");
        });
    }
}

/// Each response of an operation is either a success or an error; `default` may be both. A redirect is a
/// success only if there is no `2XX`.
#[test]
fn successes_and_errors_are_classified_once() {
    let check = |responses: &[&str], successes: &[&str], errors: &[&str]| {
        let responses_json: Vec<String> =
            responses.iter().map(|key| format!(r#""{key}": {{"description": ""}}"#)).collect();
        with_plan(&single_operation_document("", &responses_json.join(",")), |plan, _, _| {
            let keys = |set: &ResponseSet| set.cases.iter().map(|case| case.status.key()).collect::<Vec<_>>();
            let call = &plan.calls[0];
            assert_eq!(
                (keys(&call.responses), keys(&call.errors)),
                (
                    successes.iter().map(|&s| s.to_owned()).collect(),
                    errors.iter().map(|&s| s.to_owned()).collect()
                ),
                "{responses:?}"
            );
        });
    };
    check(&["200", "302", "404"], &["200"], &["302", "404"]);
    check(&["200", "304"], &["200", "304"], &[]);
    check(&["302", "404"], &["302"], &["404"]);
    check(&["default"], &["default"], &["default"]);
    check(&["204", "default"], &["204"], &["default"]);
    check(&["4XX"], &["2XX"], &["4XX"]);
    check(&["100", "2XX", "5XX"], &["2XX"], &["5XX"]);
    check(&["101", "302", "4XX"], &["101"], &["302", "4XX"]);
    check(&["101", "200", "1XX"], &["101", "200"], &[]);
}

/// A header that all success responses require is a field without `Option`. If the responses describe a header
/// differently, the field is a string.
#[test]
fn response_headers_are_planned_once() {
    let header = |schema: &str, required: bool| {
        format!(r#"{{"required": {required}, "schema": {{"type": "{schema}"}}}}"#)
    };
    let responses = format!(
        r#""200": {{"description": "", "headers": {{"ETag": {text}, "X-Left": {whole}, "x-kind": {whole}, "Set-Cookie": {text}, "dpop": {text}}}}},
           "201": {{"description": "", "headers": {{"etag": {text}, "X-Kind": {text}, "X-Left": {optional}}}}},
           "429": {{"description": "", "headers": {{"Retry-After": {whole}, "DPoP": {text}}}}}"#,
        text = header("string", true),
        whole = header("integer", true),
        optional = header("integer", false),
    );
    with_plan(&single_operation_document("", &responses), |plan, _, _| {
        let shown = |own: Option<&HeaderStruct<'_>>| {
            let own = own.unwrap();
            let fields = own.headers.iter().map(|header| {
                let option = if header.row.required { "" } else { "?" };
                format!("{}: {:?}{option}", header.field, header.ty)
            });
            format!("{} {{ {} }}", own.name, fields.collect::<Vec<_>>().join(", "))
        };
        let call = &plan.calls[0];
        assert_eq!(
            shown(call.headers.as_ref()),
            format!("{}Headers {{ etag: String, x_left: Int(I64)?, x_kind: String }}", call.id)
        );
        assert_eq!(shown(plan.error_headers.as_ref()), "ErrorHeaders { retry_after: Int(I64)? }");
    });
    with_plan(&single_operation_document("", r#""200": {"description": ""}"#), |plan, _, _| {
        assert!(plan.calls[0].headers.is_none() && plan.error_headers.is_none());
    });
}

/// The name of an error enum consists of the names of its types, regardless of the operation that uses it
/// first.
#[test]
fn error_enums_are_named_after_their_contents() {
    let json = |name: &str| {
        format!(
            r##"{{"description": "", "content": {{"application/json": {{"schema": {{"$ref": "#/components/schemas/{name}"}}}}}}}}"##
        )
    };
    let operation = |id: &str, first: &str, second: &str| {
        format!(
            r#"{{"operationId": "{id}", "responses": {{"204": {{"description": ""}}, "404": {}, "409": {}, "410": {}}}}}"#,
            json(first),
            json(second),
            json(first)
        )
    };
    let schemas = r#""Wait": {"type": "object", "properties": {"s": {}}}, "Fault": {"type": "object", "properties": {"c": {}}}"#;
    let document = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "components": {{"schemas": {{{schemas}}}}},
            "paths": {{"/a": {{"get": {}}}, "/b": {{"get": {}}}}}}}"#,
        operation("a", "Wait", "Fault"),
        operation("b", "Fault", "Wait"),
    );
    with_plan(&document, |plan, _, _| {
        let [choice] = plan.response_enums.as_slice() else { panic!("{:?}", plan.response_enums) };
        let variants: Vec<&str> = choice.variants.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((choice.name.as_str(), variants), ("FaultOrWait", vec!["Fault", "Wait"]));
        assert_eq!(choice.users, [0, 1]);
        let first_variants: Vec<&str> =
            plan.calls[0].errors.cases.iter().map(|case| case.variant.as_str()).collect();
        assert_eq!(first_variants, ["Wait", "Fault", "Wait"]);
    });
}

/// Body types of different schemas count as the same type if their Rust types are the same. Otherwise, two
/// equal `From` implementations would be generated, which does not compile.
#[test]
fn body_types_are_compared_as_rust_types() {
    let mut schemas = Arena::default();
    let mut replaced = || TypeRef::Replaced("units::Meters".to_owned(), schemas.push(Schema::default()));
    let (one, other, value) = (replaced(), replaced(), BodyType::Value);
    let list = |inner: &TypeRef| value(TypeRef::Vec(Box::new(inner.clone())));
    assert_ne!(one, other);
    assert!(
        value(one.clone()).is_same_rust_type(&value(other.clone()))
            && list(&one).is_same_rust_type(&list(&other))
    );
    assert!(
        value(TypeRef::String).is_same_rust_type(&BodyType::Text)
            && BodyType::Text.is_same_rust_type(&BodyType::Text)
    );
    assert!(
        !list(&one).is_same_rust_type(&value(one))
            && !value(TypeRef::Secret).is_same_rust_type(&BodyType::Text)
    );
}

/// Each operation with a streamed response has an additional client method, whose name differs from those of
/// all other methods.
#[test]
fn stream_methods_have_distinct_names() {
    let events = r#"{"200": {"description": "", "content": {"text/event-stream": {}}}}"#;
    let done = r#"{"204": {"description": ""}}"#;
    let ids =
        [("match", events), ("match_stream", events), ("match_streamed", done), ("with-stream-limits", done)];
    let paths = ids.map(|(id, responses)| {
        format!(r#""/{id}": {{"get": {{"operationId": "{id}", "responses": {responses}}}}}"#)
    });
    let document = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{{}}}}}"#,
        paths.join(",")
    );
    let sources = Sources::from_texts(&[("a.json", "", &document)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap();
    let plan = project.operation_plan(&contract, OperationSide::Paths);
    let methods = plan.calls.iter().map(|call| (call.method.as_str(), call.streams.method.as_str()));
    let expected = [
        ("match_", "match_streameded"),
        ("match_stream", "match_stream_stream"),
        ("match_streamed", ""),
        ("call_with_stream_limits", ""),
    ];
    assert_eq!(methods.collect::<Vec<_>>(), expected);
}

/// If a schema describes the fields of an event, perhaps with a branch for the end of the stream, the item of
/// the stream is the content of `data`.
#[test]
fn event_data_is_the_stream_item() {
    let chunk = r##"{"$ref": "#/components/schemas/Chunk"}"##;
    let data = |schema: &str| {
        format!(r#"{{"type": "object", "required": ["data"], "properties": {{"data": {schema}}}}}"#)
    };
    let text = r#"{"type": "string"}"#;
    let check = |key: &str, schema: &str, form: ItemEncoding, ty: &str| {
        let document = format!(
            r#"{{"openapi": "3.2.0", "info": {{"title": "", "version": "1"}},
                "paths": {{"/a": {{"get": {{"operationId": "a", "responses": {{"200": {{"description": "", "content": {{
                    "text/event-stream": {{"{key}": {schema}}}}}}}}}}}}}}},
                "components": {{"schemas": {{"Chunk": {{"type": "object", "properties": {{"delta": {text}}}}}}}}}}}"#
        );
        let sources = Sources::from_texts(&[("a.json", "", &document)]).unwrap();
        let project = Project::default();
        let contract = project.analyze_sources(sources).unwrap();
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let response = plan.calls[0].streams.response.as_ref().unwrap();
        let StreamContent::Items(item) = &response.content else { panic!("{schema}") };
        let name = match &item.ty {
            TypeRef::Named(id) => contract.shapes.get(*id).name.clone(),
            TypeRef::Json => "Json".to_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!((item.form, name.as_str()), (form, ty), "{schema}");
        // A `contentSchema`, which describes JSON in a string, is ignored.
        assert_eq!(item.ignored_schema.is_some(), schema.contains("contentSchema"), "{schema}");
    };
    let ended =
        format!(r#"{{"oneOf": [{}, {}]}}"#, data(chunk), data(r#"{"type": "string", "enum": ["[DONE]"]}"#));
    let event_schema = format!(
        r#"{{"properties": {{"event": {text}, "id": {text}, "retry": {{"type": "integer"}}, "data": {chunk}}}}}"#
    );
    let several = format!(r#"{{"oneOf": [{}, {}]}}"#, data(chunk), data(r#"{"type": "integer"}"#));
    let of_chunk = format!(r#"{{"type": "string", "contentSchema": {chunk}}}"#);
    let described = format!(r#"{{"oneOf": [{}, {}]}}"#, data(&of_chunk), data(text));
    for key in ["schema", "itemSchema"] {
        check(key, &data(chunk), ItemEncoding::Json, "Chunk");
        check(key, &ended, ItemEncoding::Json, "Chunk");
        check(key, &event_schema, ItemEncoding::Json, "Chunk");
        let event = if key == "schema" { "AResponse" } else { "AResponseItem" };
        check(key, &several, ItemEncoding::EventJson, event);
        check(key, &described, ItemEncoding::Event, event);
        check(key, chunk, ItemEncoding::Json, "Chunk");
    }
    let fields = format!(r#"{{"type": "object", "properties": {{"event": {text}, "data": {text}}}}}"#);
    check("schema", &fields, ItemEncoding::Event, "AResponse");
}

/// An operation with a required header or cookie whose name is not a token (RFC 9110, 5.1; RFC 6265, 4.1.1) is
/// marked as unsendable. An optional parameter with such a name has no effect, and the style `form` encodes
/// the name of a cookie.
#[test]
fn invalid_names_make_calls_unsendable() {
    let unsendable = |name: &str, rest: &str| {
        let document = format!(
            r#"{{"openapi": "3.2.0", "info": {{"title": "t", "version": "1"}}, "paths": {{"/a": {{"get": {{
              "operationId": "a", "responses": {{"204": {{"description": ""}}}}, "parameters": [
              {{"name": "{name}", {rest}, "schema": {{"type": "string"}}}}
            ]}}}}}}}}"#
        );
        let mut reason = None;
        with_plan(&document, |plan, _, _| reason = plan.calls[0].unsendable_reason.clone());
        reason
    };
    let header = r#""in": "header""#;
    let cookie = r#""in": "cookie", "style": "cookie""#;
    for (name, rest, expected) in [
        ("X Bad Name", format!(r#"{header}, "required": true"#), "`X Bad Name` is not a valid header name"),
        ("X Bad Name", header.to_owned(), ""),
        ("X-Good", format!(r#"{header}, "required": true"#), ""),
        ("a;b", format!(r#"{cookie}, "required": true"#), "`a;b` is not a valid cookie name"),
        ("a;b", cookie.to_owned(), ""),
        ("ab", format!(r#"{cookie}, "required": true"#), ""),
        ("a;b", r#""in": "cookie", "required": true"#.to_owned(), ""),
    ] {
        assert_eq!(unsendable(name, &rest).unwrap_or_default(), expected, "{name} {rest}");
    }
}

/// The shape of mutually nested types is expanded to the greatest depth at which it is small enough. This depth is the
/// same for all properties.
#[test]
fn nested_types_are_expanded_up_to_a_limit() {
    fn depth(shape: &TextShape) -> usize {
        match shape {
            TextShape::Object(fields, _) => {
                1 + fields.iter().map(|(_, shape)| depth(shape)).max().unwrap_or(0)
            }
            _ => 0,
        }
    }
    let schemas = |types: usize, others: usize| {
        let members = |index: usize| -> Vec<String> {
            let other = |step| {
                format!(r##""m{step}": {{"$ref": "#/components/schemas/T{}"}}"##, (index + step) % types)
            };
            (1..=others).map(other).chain([r#""n": {"type": "integer"}"#.to_owned()]).collect()
        };
        let definitions = (0..types).map(|index| {
            format!(r#""T{index}": {{"type": "object", "properties": {{{}}}}}"#, members(index).join(","))
        });
        definitions.collect::<Vec<_>>().join(",")
    };
    let shape_of = |schemas: &str| {
        let document = format!(
            r##"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{"/a": {{"get": {{
              "operationId": "a", "responses": {{"204": {{"description": ""}}}}, "parameters": [
              {{"name": "q", "in": "query", "style": "deepObject", "schema": {{"$ref": "#/components/schemas/T0"}}}}
            ]}}}}}}, "components": {{"schemas": {{{schemas}}}}}}}"##,
        );
        let mut shape = TextShape::Json;
        with_plan(&document, |plan, _, _| shape = plan.calls[0].parameters[0].row.shape.clone());
        shape
    };
    let shape = |types, others| shape_of(&schemas(types, others));
    assert_eq!(depth(&shape(12, 11)), 3);
    assert_eq!(depth(&shape(3, 1)), 32);
    let TextShape::Object(fields, _) = shape(12, 11) else { panic!("no object") };
    let depths: BTreeSet<usize> = fields[..11].iter().map(|(_, shape)| depth(shape)).collect();
    assert_eq!(depths, BTreeSet::from([2]));
    // The number of direct properties of an object is not limited.
    let flat: Vec<String> = (0..2_100).map(|index| format!(r#""m{index}": {{"type": "integer"}}"#)).collect();
    let wide = shape_of(&format!(r#""T0": {{"type": "object", "properties": {{{}}}}}"#, flat.join(",")));
    assert_eq!(depth(&wide), 1);
}

/// Two operations that differ only in a header are distinguished by it. If the option `hidden-headers` lists
/// the header, they have no marks, only the first is matched, and the second is reported.
#[test]
fn hidden_headers_do_not_distinguish_operations() {
    let operation = |key: &str, kind: &str| {
        format!(
            r#""/c#{key}": {{"get": {{"operationId": "{key}", "responses": {{"204": {{"description": ""}}}}, "parameters": [
              {{"name": "X-Kind", "in": "header", "required": true, "schema": {{"const": "{kind}"}}}}
            ]}}}}"#
        )
    };
    let document = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "t", "version": "1"}}, "paths": {{{}, {}}}}}"#,
        operation("one", "a"),
        operation("two", "b")
    );
    let plan_with = |hidden: &[&str]| {
        let sources = Sources::from_texts(&[("t.json", "https://example.org/t.json", &document)]).unwrap();
        let mut project = Project::default();
        project.config.operations.hidden_headers = hidden.iter().map(|name| (*name).to_owned()).collect();
        let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let rows = plan.calls.iter().flat_map(|call| &call.parameters);
        let marks = rows.filter(|parameter| parameter.row.mark.is_some()).count();
        (marks, plan.order, contract.diagnostics.iter().filter(|each| each.code == "ambiguous-path").count())
    };
    assert_eq!(plan_with(&[]), (2, vec![1, 0], 0));
    assert_eq!(plan_with(&["X-Kind"]), (0, vec![0], 1));
}

/// A body of `text/plain` is JSON if its schema accepts no string.
#[test]
fn plain_text_with_a_schema_for_other_types_is_json() {
    let check = |schema: &str, is_json: bool| {
        let content = format!(r#"{{"content": {{"text/plain": {{"schema": {schema}}}}}}}"#);
        let document = format!(
            r#"{{"openapi": "3.1.0", "info": {{"title": "T", "version": "1"}}, "paths": {{"/a": {{"post": {{
              "operationId": "a", "requestBody": {content},
              "responses": {{"200": {{"description": "", {}}}}}}}}}}}}}"#,
            &content[1..content.len() - 1]
        );
        with_plan(&document, |plan, _, _| {
            let call = &plan.calls[0];
            let response = matches!(call.responses.single, Some(ResponsePayload::Json(_)));
            let format = &call.body.as_ref().unwrap().contents[0].format;
            let body = matches!(format, BodyFormat::Json | BodyFormat::Model);
            assert_eq!((body, response), (is_json, is_json), "{schema}");
        });
    };
    check(r#"{"type": "object", "properties": {"a": {"type": "string"}}}"#, true);
    check(r#"{"type": "array"}"#, true);
    check(r#"{"type": ["integer", "null"]}"#, true);
    for text in [r#"{"type": "string"}"#, "{}", "true", "false", r#"{"type": ["string", "object"]}"#] {
        check(text, false);
    }
}
