//! A small contract, what is written for it, what is refused.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    load::Sources,
    resolve::{ResolveOptions, resolve},
    schema::SchemaId,
};

/// Types as another stage would give them: components by name, the rest by JSON type.
pub(crate) struct Types<'a>(pub(crate) &'a Graph);

impl RustTypes for Types<'_> {
    fn rust_type(&self, schema: SchemaId) -> TokenStream {
        use crate::schema::{Origin, Types as T};
        let schema = self.0.schema(schema);
        match (&schema.origin, schema.reference, schema.types) {
            (_, Some(target), _) => self.rust_type(target),
            (Origin::Component(name), ..) => {
                let name = ident(name);
                quote!(super::types::#name)
            }
            (_, _, Some(T::INTEGER)) => quote!(i64),
            (_, _, Some(T::ARRAY)) => {
                let items = schema.items.map(|items| self.rust_type(items));
                quote!(Vec<#items>)
            }
            (_, _, Some(T::STRING)) => quote!(String),
            _ => quote!(::contract_runtime::Json),
        }
    }

    fn is_scalar(&self, _: SchemaId) -> bool {
        true
    }
}

/// The contract that these tests and the server's share.
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

/// Reads a document and hands it to `check`.
pub(crate) fn with(document: &str, check: impl FnOnce(Contract<'_>)) {
    let uri = "https://example.org/pets.json";
    let mut sources = Sources::from_texts(&[("pets.json", uri, document)]).unwrap();
    let (graph, apis, problems) = resolve(&mut sources, &ResolveOptions::default());
    assert!(!problems.has_errors(), "{problems}");
    let config = OperationConfig {
        idempotency_header: Some("Idempotency-Key".to_owned()),
        hidden_headers: vec!["dpop".to_owned()],
        ..OperationConfig::default()
    };
    check(Contract {
        graph: &graph,
        api: &apis[0],
        types: &Types(&graph),
        config: &config,
        side: Side::Paths,
    });
}

/// Asserts that code holds a piece, whatever the spacing.
pub(crate) fn has(code: &TokenStream, piece: &str) {
    let dense = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    assert!(dense(&code.to_string()).contains(&dense(piece)), "{piece}\nis not in\n{code}");
}

#[test]
fn the_table_says_what_the_contract_says() {
    with(PETS, |contract| {
        let mut diagnostics = Diagnostics::new();
        let code = operations(contract, &mut diagnostics);
        syn::parse2::<syn::File>(code.clone()).unwrap();
        has(
            &code,
            r#"id: "pet_read", method: "GET", path: "/pets/{id}", tags: &["pets"], summary: "Reads a pet.", anonymous: false"#,
        );
        has(&code, r#"scopes: &[&["pets.read"], &["pets.admin", "pets.write"]], idempotent: false"#);
        has(&code, r#"scopes: &[&["pets.write"]], idempotent: true, deprecated: true"#);
        has(
            &code,
            r#"Parameter { name: "body", style: Style::PipeDelimited, explode: false, shape: Shape::Array(Scalar::Number), ..Parameter::QUERY }"#,
        );
        has(
            &code,
            r#"shape: Shape::Object(&[("age", Shape::Scalar(Scalar::Number)), ("name", Shape::Scalar(Scalar::Text))])"#,
        );
        has(
            &code,
            r##"schema: "https://example.org/pets.json#/paths/~1pets/post/requestBody/content/application~1json/schema", validator: Some(|| <super::types::Pet as ::contract_runtime::Contract>::VALIDATOR)"##,
        );
        has(&code, "success: &[201, 204]");
        // By template, the more literal first: /matrix/{m}, /note, /pets, /pets/{id}, /upload.
        has(&code, "Operations::new(OPERATIONS, &[5, 3, 2, 1, 0, 4])");
        has(&code, r#"PetRead = "pet_read","#);
        has(&code, r#"PetsRead = "pets.read""#);
        has(&code, "use ::contract_runtime::operation::{Body, Content, Format, Operation, Operations,};");
        assert!(!code.to_string().contains("DPoP"));
    });
}

#[test]
fn a_parameter_of_several_operations_is_written_once() {
    let key = r#"{"name": "X-Key", "in": "header", "required": true, "schema": {"type": "string"}}"#;
    let operation = |id: &str| {
        format!(
            r#"{{"operationId": "{id}", "parameters": [{key}], "responses": {{"204": {{"description": ""}}}}}}"#
        )
    };
    let (a, b) = (operation("a"), operation("b"));
    let document = format!(
        r#"{{"openapi": "3.1.0", "info": {{"title": "", "version": "1"}}, "paths": {{"/": {{"get": {a}, "put": {b}}}}}}}"#
    );
    with(&document, |contract| {
        let code = operations(contract, &mut Diagnostics::new());
        has(&code, r#"const X_KEY_PARAMETER: Parameter = Parameter { name: "X-Key""#);
        assert_eq!(code.to_string().matches("X_KEY_PARAMETER").count(), 3);
        has(&code, "use ::contract_runtime::operation::{Operation, Operations,};");
    });
}

#[test]
fn every_style_and_body_is_in_the_table() {
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
    with(document, |contract| {
        let code = operations(contract, &mut Diagnostics::new());
        has(
            &code,
            r#"style: Style::Matrix, shape: Shape::Scalar(Scalar::Of(Types::INTEGER.or(Types::STRING))),"#,
        );
        has(
            &code,
            r#"allow_reserved: true, shape: Shape::OneOf(&[Shape::Scalar(Scalar::Text), Shape::Array(Scalar::Number)])"#,
        );
        has(
            &code,
            r#"style: Style::DeepObject, shape: Shape::Map(&[("x", Shape::Object(&[("y", Shape::Scalar(Scalar::Boolean))]))], Scalar::Number)"#,
        );
        has(&code, r#"Parameter { name: "c", shape: Shape::Json, ..Parameter::COOKIE }"#);
        has(
            &code,
            r#"format: Format::Form(&[Parameter { name: "o", shape: Shape::Json, ..Parameter::QUERY }"#,
        );
        has(
            &code,
            r#"Parameter { name: "l", explode: false, shape: Shape::Array(Scalar::Text), ..Parameter::QUERY }"#,
        );
        let part = |name: &str, form: &str, parts: &str, media_type: &str| {
            has(
                &code,
                &format!(
                    r#"Part {{ name: "{name}", form: PartForm::{form}, parts: Parts::{parts}, media_type: "{media_type}" }}"#
                ),
            );
        };
        part("file", "Binary", "One", "image/png");
        part("any", "Binary", "One", "");
        part("images", "Binary", "Each", "");
        part("either", "Binary", "OneOrEach", "");
        part("meta", "Json", "One", "application/json");
        part("ids", "Text(Scalar::Number)", "Each", "");
        has(&code, r#"media_type: "image/*", format: Format::Bytes"#);
        has(&code, r#"servers: &["https://b.example/up"]"#);
        let bodies = bodies(contract).unwrap();
        syn::parse2::<syn::File>(bodies.clone()).unwrap();
        has(&bodies, "pub enum ABody");
        has(&bodies, "Image(::contract_runtime::operation::Typed)");
        has(&bodies, "pub file: File");
        has(&bodies, "pub images: Vec<File>");
        has(&bodies, "pub fn new(file: File) -> Self");
    });
}

#[test]
fn fields_never_clash() {
    with(PETS, |contract| {
        let plans = plan(contract);
        let fields: Vec<_> = plans[1].parameters.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(fields, ["idempotency_key", "limit", "query_body"]);
        assert_eq!((plans[1].type_name.as_str(), plans[1].method_name.as_str()), ("PetWrite", "pet_write"));
    });
}
