//! Tests that compare OpenAPI 3.0.3 documents with the contracts from which they were lowered.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

use contract_codegen_core::{
    api::OpenApiDocument, generate::Project, load::Sources, stack::run_on_deep_stack,
};

use super::*;
use crate::tests::folder::Case;

fn parse_contract(text: &str) -> AnalyzedContract {
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", text)]).unwrap();
    Project::default().analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Parses a lowered document with the `openapiv3` crate and with the loader of this crate.
fn parse_lowered(name: &str, document: &LoweredDocument) -> AnalyzedContract {
    let text = serde_json::to_string_pretty(&document.value).unwrap();
    if let Err(problem) = serde_json::from_str::<openapiv3::OpenAPI>(&text) {
        panic!("{name}: {problem}\n{text}");
    }
    let sources = Sources::from_texts(&[("again.json", "https://a.example/again.json", &text)]).unwrap();
    Project::default()
        .analyze_sources(sources)
        .unwrap_or_else(|problems| panic!("{name}: {problems}\n{text}"))
}

/// Describes the wire format of each operation that OpenAPI 3.0 supports, one line per item. `schemes`
/// contains the supported security schemes.
fn wire_lines(api: &OpenApiDocument, schemes: &Value) -> BTreeSet<String> {
    let callbacks = api.webhooks.iter().filter(|webhook| webhook.callback.is_some());
    let operations = api.operations.iter().chain(callbacks);
    let supported = operations.filter(|operation| METHODS.contains(&operation.method.as_str()));
    supported.flat_map(|operation| operation_lines(operation, schemes)).collect()
}

fn operation_lines(operation: &Operation, schemes: &Value) -> Vec<String> {
    let (path, pairs) = split_fixed_query(operation);
    let callback = operation.callback.as_ref().map(|(_, expression)| expression);
    let prefix = format!("{} {} {path} {callback:?}", operation.id, operation.method);
    let mut out = vec![prefix.clone()];
    let parameters = operation.parameters.iter().filter(|each| each.location != ParameterIn::QueryString);
    out.extend(parameters.map(|each| {
        let Parameter { name, location, required, style, explode, content, .. } = each;
        let style = if style == "cookie" { "form" } else { style };
        format!("{prefix}: {} {name} {required} {style} {explode} {content:?}", location.as_str())
    }));
    out.extend(pairs.iter().map(|(name, _)| format!("{prefix}: query {name} true form true None")));
    if let Some(body) = &operation.request_body {
        out.push(format!("{prefix}: {}", body.required));
        for media in &body.content {
            out.push(format!("{prefix}: {} {}", body.required, media.name));
            for (part, raw) in &media.encoding {
                let fields = ["/contentType", "/style", "/explode"].map(|key| (key, raw.pointer(key)));
                let fields = fields.into_iter().filter_map(|(key, value)| Some((key, value?)));
                out.extend(
                    fields.map(|(key, value)| format!("{prefix}: {}{PART}{part}{key} {value}", media.name)),
                );
            }
        }
    }
    for response in &operation.responses {
        let status = response.status.key();
        out.push(format!("{prefix}: {status}"));
        out.extend(response.content.iter().map(|each| format!("{prefix}: {status} {}", each.name)));
        out.extend(
            response.headers.iter().map(|each| format!("{prefix}: {status} {} {}", each.name, each.required)),
        );
    }
    if operation.responses.is_empty() {
        out.push(format!("{prefix}: default"));
    }
    for alternative in &operation.security {
        let supported: BTreeSet<_> =
            alternative.iter().filter(|(name, _)| schemes.get(name).is_some()).collect();
        if supported.len() == alternative.len() {
            out.push(format!("{prefix}: {supported:?}"));
        }
    }
    out
}

/// The text that marks a line about a multipart part. Such lines are compared separately, because the
/// contract may describe a part by a schema, and the lowered document by an `encoding`.
const PART: &str = " part ";

/// If a contract is lowered and the document is loaded again, all operations have the same paths, parameters,
/// bodies and responses as before.
#[test]
fn lowered_documents_have_the_same_wire_format() {
    let (mut count, mut problems) = (0, Vec::new());
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        let options = case.folder.join("codegen.toml");
        let mut project = if options.exists() {
            Project::from_config(&options).unwrap_or_else(|e| panic!("{e}"))
        } else {
            Project { base: case.folder.clone(), ..Project::default() }
        };
        project.inputs = case.files().into_iter().map(|(_, path)| path).collect();
        let contract = project.read_contract().unwrap_or_else(|e| panic!("{}: {e}", case.name));
        if contract.api.operations.is_empty() {
            continue;
        }
        count += 1;
        let document = run_on_deep_stack(|| lower_contract(&contract));
        let schemes = &document.value["components"]["securitySchemes"];
        let (before, after) = (
            wire_lines(&contract.api, schemes),
            wire_lines(&parse_lowered(&case.name, &document).api, schemes),
        );
        problems.extend(before.difference(&after).map(|line| format!("{}: lost {line}", case.name)));
        let added = after.difference(&before).filter(|line| !line.contains(PART));
        problems.extend(added.map(|line| format!("{}: added {line}", case.name)));
    }
    assert!(problems.is_empty(), "{} problems\n{}", problems.len(), problems.join("\n"));
    assert!(count > 20, "{count} documents");
}

/// Lowering an OpenAPI 3.0 document reports no losses, even for constructs that other generators reject.
#[test]
fn lowering_openapi_3_0_loses_nothing() {
    let contract = parse_contract(
        r"
openapi: 3.0.3
info: { title: L, version: '1.0.0' }
servers: [ { url: 'https://a.example' } ]
security: [ { key: [] } ]
paths:
  /shapes:
    get:
      operationId: listShapes
      parameters:
        - { name: pageable, in: query, required: true, schema: { type: object, properties: { page: { type: integer } } } }
        - { name: filter, in: query, style: deepObject, explode: true, schema: { type: object } }
        - { name: c, in: cookie, schema: { type: string } }
        - { name: at, in: query, allowReserved: true, content: { application/json: { schema: { type: integer } } } }
      responses:
        '200': { description: ok, content: { text/csv: { schema: { type: string } }, application/json: { schema: { type: string } } } }
        '201': { description: ok, content: { application/vnd.x.v2+json: { schema: { type: object } } } }
        '301': { description: moved, headers: { Location: { required: true, schema: { type: string } } } }
        default: { description: no }
    post:
      operationId: upload
      requestBody:
        content:
          multipart/form-data:
            schema: { type: object, properties: { file: { type: string, format: binary }, about: { type: object } } }
            encoding: { file: { contentType: image/png }, about: { contentType: application/xml } }
          application/merge-patch+json: { schema: { type: object } }
          text/plain: { schema: { type: string } }
      callbacks:
        done: { '{$request.body#/url}': { post: { responses: { '204': { description: ok } } } } }
      responses: { '204': { description: ok } }
components:
  securitySchemes: { key: { type: apiKey, in: header, name: X-Key } }
  schemas:
    pet_or_toy:
      oneOf: [ { $ref: '#/components/schemas/pet' }, { $ref: '#/components/schemas/toy' } ]
      discriminator: { propertyName: kind, mapping: { t: '#/components/schemas/toy' } }
    pet: { type: object, required: [ kind ], properties: { kind: { type: string } } }
    toy: { type: object, required: [ kind ], properties: { kind: { type: string } } }
",
    );
    let document = lower_contract(&contract);
    let losses: Vec<&str> = document.losses.iter().map(|loss| loss.construct.as_str()).collect();
    assert_eq!(losses, [""; 0]);
    assert_eq!((document.operations, document.omitted), (3, 0));
    let reparsed = parse_lowered("here", &document);
    let schemes = &document.value["components"]["securitySchemes"];
    assert_eq!(wire_lines(&reparsed.api, schemes), wire_lines(&contract.api, schemes));
    assert_eq!(reparsed.api.servers[0].url, "https://a.example");
    let value = &document.value;
    let upload = &value["paths"]["/shapes"]["post"];
    assert_eq!(upload["requestBody"]["required"], false);
    assert_eq!(upload["security"], json!([{ "key": [] }]));
    let mapping = &value["components"]["schemas"]["pet_or_toy"]["discriminator"]["mapping"];
    let expected = json!({ "pet": "#/components/schemas/pet", "t": "#/components/schemas/toy" });
    assert_eq!(*mapping, expected);
}

/// Lowering a document copies `info`, servers, tags, links, examples and extensions unchanged.
#[test]
fn metadata_is_copied_unchanged() {
    let contract = parse_contract(
        r"
openapi: 3.1.0
info:
  title: L
  version: '1.0.0'
  termsOfService: https://a.example/terms
  contact: { email: a@a.example }
  license: { name: MIT, url: https://a.example/mit }
  x-own: 1
servers:
  - { url: 'https://{at}.example/{stage}', description: all, variables: { at: { default: a, enum: [ a, b ] }, stage: { default: v1, description: which } } }
externalDocs: { url: https://a.example/docs }
tags: [ { name: all, externalDocs: { url: https://a.example/all } } ]
paths:
  /parts:
    summary: parts
    servers: [ { url: 'https://{at}.example', variables: { at: { default: up } } } ]
    post:
      operationId: send
      tags: [ all ]
      externalDocs: { url: https://a.example/send }
      parameters:
        - { name: q, in: query, schema: { type: string }, example: one, x-own: 2 }
        - { name: at, in: query, allowReserved: true, content: { application/json: { schema: { type: integer }, examples: { one: { value: 1 } } } } }
      requestBody:
        content:
          multipart/form-data:
            schema: { type: object, properties: { file: { title: File, type: string, format: binary } } }
            encoding:
              file:
                headers:
                  X-Size: { required: true, schema: { type: integer, minimum: 1 } }
                  X-Name: { $ref: '#/components/headers/X-Name' }
          application/json:
            schema: { type: object, xml: { name: n }, externalDocs: { url: https://a.example/n }, x-own: 3 }
            examples:
              kept: { $ref: '#/components/examples/kept' }
              far: { externalValue: https://a.example/far.json }
      callbacks: { told: { $ref: '#/components/callbacks/told' } }
      responses:
        '200':
          description: ok
          headers: { X-Left: { schema: { type: integer }, example: 5 } }
          content: { application/json: { schema: { type: integer }, example: 12 } }
          links:
            again: { operationId: send, parameters: { q: $response.body } }
components:
  callbacks: { told: { 'https://a.example/told': { post: { responses: { '204': { description: ok } } } } } }
  headers: { X-Name: { description: name, schema: { $ref: '#/components/schemas/Name' } } }
  examples: { kept: { summary: s, value: { a: 1 } } }
  schemas: { Name: { type: string, maxLength: 9 } }
",
    );
    let document = lower_contract(&contract);
    let losses: Vec<&str> = document.losses.iter().map(|loss| loss.construct.as_str()).collect();
    assert_eq!(losses, [""; 0]);
    let reparsed = parse_lowered("here", &document);
    assert_eq!(reparsed.api.servers, contract.api.servers);
    let value = &document.value;
    let info = json!({
        "title": "L", "version": "1.0.0", "termsOfService": "https://a.example/terms",
        "contact": { "email": "a@a.example" }, "license": { "name": "MIT", "url": "https://a.example/mit" }, "x-own": 1,
    });
    assert_eq!(value["info"], info);
    assert_eq!(value["servers"][0]["description"], "all");
    assert_eq!(value["servers"][0]["variables"]["at"], json!({ "default": "a", "enum": ["a", "b"] }));
    assert_eq!(value["servers"][0]["variables"]["stage"]["description"], "which");
    assert_eq!(value["externalDocs"]["url"], "https://a.example/docs");
    assert_eq!(value["tags"][0]["externalDocs"]["url"], "https://a.example/all");
    assert_eq!(value["paths"]["/parts"]["summary"], "parts");
    let send = &value["paths"]["/parts"]["post"];
    assert!(send["callbacks"]["told"]["https://a.example/told"]["post"].is_object(), "{send}");
    assert_eq!(send["servers"][0]["url"], "https://{at}.example");
    assert_eq!(send["externalDocs"]["url"], "https://a.example/send");
    let [q, at] = [0, 1].map(|index| &send["parameters"][index]);
    assert_eq!((&q["example"], &q["x-own"]), (&json!("one"), &json!(2)));
    assert_eq!(at["allowReserved"], true);
    assert_eq!(at["content"]["application/json"]["examples"], json!({ "one": { "value": 1 } }));
    let headers = &send["requestBody"]["content"]["multipart/form-data"]["encoding"]["file"]["headers"];
    assert_eq!(headers["X-Size"], json!({ "required": true, "schema": { "type": "integer", "minimum": 1 } }));
    assert_eq!(
        headers["X-Name"],
        json!({ "description": "name", "schema": { "$ref": "#/components/schemas/Name" } })
    );
    assert_eq!(value["components"]["schemas"]["Name"]["maxLength"], 9);
    let json = &send["requestBody"]["content"]["application/json"];
    let examples = json!({
        "kept": { "summary": "s", "value": { "a": 1 } }, "far": { "externalValue": "https://a.example/far.json" },
    });
    assert_eq!(json["examples"], examples);
    let schema = resolve_schema(value, &json["schema"]);
    assert_eq!((&schema["xml"]["name"], &schema["x-own"]), (&json!("n"), &json!(3)));
    assert_eq!(schema["externalDocs"]["url"], "https://a.example/n");
    let form = resolve_schema(value, &send["requestBody"]["content"]["multipart/form-data"]["schema"]);
    assert_eq!(form["properties"]["file"]["title"], "File");
    let ok = &send["responses"]["200"];
    assert_eq!(ok["headers"]["X-Left"]["example"], 5);
    assert_eq!(ok["content"]["application/json"]["example"], 12);
    assert_eq!(
        ok["links"]["again"],
        json!({ "operationId": "send", "parameters": { "q": "$response.body" } })
    );
}

/// Returns the target of the schema's `$ref` or, without a `$ref`, the schema itself.
fn resolve_schema<'v>(document: &'v Value, schema: &'v Value) -> &'v Value {
    let link = schema["$ref"].as_str().and_then(|link| link.strip_prefix('#'));
    link.map_or(schema, |link| document.pointer(link).unwrap())
}

/// `nullable` adds `null` to the `type` of the same schema, and has no effect without a `type` (OpenAPI
/// 3.0.3, 4.7.24.1).
#[test]
fn null_is_written_as_openapi_3_0_specifies() {
    let contract = parse_contract(
        r"
openapi: 3.1.0
info: { title: L, version: '1.0.0' }
paths: {}
components:
  schemas:
    Text: { type: [ string, 'null' ] }
    Several: { type: [ string, integer, 'null' ] }
    Ship: { anyOf: [ { $ref: '#/components/schemas/Text' }, { type: 'null' } ] }
    None: { const: null }
    Listed: { type: [ string, 'null' ], enum: [ a ] }
    Nothing: { type: 'null', oneOf: [ { type: number } ] }
",
    );
    let document = lower_contract(&contract);
    assert_eq!(document.losses, []);
    let expected = json!({
        "Text": { "type": "string", "nullable": true },
        "Several": { "anyOf": [{ "type": "integer", "nullable": true }, { "type": "string", "nullable": true }] },
        "Ship": { "anyOf": [{ "$ref": "#/components/schemas/Text" }, { "enum": [null], "nullable": true }] },
        "None": { "enum": [null] },
        // In these schemas, `null` is invalid under either interpretation of `nullable`.
        "Listed": { "type": "string", "enum": ["a"] },
        "Nothing": { "enum": [null], "oneOf": [{ "type": "number" }] },
    });
    assert_eq!(document.value["components"]["schemas"], expected);
}

/// Constructs that OpenAPI 3.0 does not support are omitted and reported. Constructs that OpenAPI 3.0
/// expresses in another way are translated.
#[test]
fn unsupported_constructs_are_omitted_and_reported() {
    let contract = parse_contract(
        r"
openapi: 3.2.0
info: { title: L, version: '1.0.0' }
paths:
  /shapes:
    query: { operationId: search, responses: { '200': { description: ok } } }
    get:
      operationId: list
      callbacks: { told: { $ref: '#/components/callbacks/told' } }
      parameters:
        - { name: q, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object } } } }
        - { name: c, in: cookie, style: cookie, schema: { type: string } }
      security: [ { cert: [] } ]
      responses: { '200': { description: ok, content: { application/jsonl: { itemSchema: { type: object } } } } }
    post:
      operationId: upload
      callbacks: { told: { $ref: '#/components/callbacks/told' } }
      requestBody:
        content:
          multipart/form-data:
            schema: { type: object, properties: { file: { contentMediaType: image/png }, note: { type: [ string, integer ], contentEncoding: base64 } } }
      security: [ { cert: [], key: [] }, { key: [] }, { cert: [] } ]
      responses: { '204': { description: ok } }
    put:
      operationId: both
      security: [ { cert: [], key: [] } ]
      responses:
        '200':
          description: ok
          content: { application/json: { schema: { $ref: '#/components/schemas/Odd' }, examples: { e: { $ref: 'far.json' } } } }
          links: { gone: { operationId: search2 } }
webhooks:
  seen: { post: { operationId: seen, responses: { '204': { description: ok } } } }
components:
  callbacks: { told: { 'https://a.example/told': { post: { responses: { '204': { description: ok } } } } } }
  securitySchemes: { cert: { type: mutualTLS }, key: { type: apiKey, in: header, name: X-Key } }
  schemas:
    Odd:
      required: [ id ]
      additionalProperties: false
      properties:
        id: { readOnly: true, type: integer }
        one: { oneOf: [ { type: array, contains: {} }, { type: string } ] }
        text: { type: string, contentMediaType: application/json, contentSchema: {}, examples: [ a, b ] }
        big: { const: 12345678901234567890123456789 }
        map: { patternProperties: { a: {} }, additionalProperties: false }
        sealed: { properties: { a: {} }, unevaluatedProperties: false }
        open: { anyOf: [ { properties: { a: {} } } ], unevaluatedProperties: false }
",
    );
    let document = lower_contract(&contract);
    let losses: Vec<String> =
        document.losses.iter().map(|loss| format!("{} {}", loss.location.pointer, loss.construct)).collect();
    assert_eq!(
        losses,
        [
            "/components/securitySchemes/cert the security scheme `cert`",
            "/paths/~1shapes/query the operation: OpenAPI 3.0 has no method `QUERY`",
            "/paths/~1shapes/get/parameters/0 the parameter `q` for the whole query string",
            "/paths/~1shapes/get/parameters/1 the style `cookie` of the parameter `c`",
            "/paths/~1shapes/get/responses/200 `itemSchema` of `application/jsonl`",
            "/paths/~1shapes/get the security requirement `cert`",
            "/paths/~1shapes/post the security requirement `cert`",
            "/paths/~1shapes/put/responses/200/content/application~1json/examples/e the example `e`",
            "/paths/~1shapes/put/responses/200/links/gone the link `gone`",
            "/paths/~1shapes/put the security requirement `cert`",
            "/webhooks/seen/post the webhook: OpenAPI 3.0 has no webhooks",
            "/paths/~1shapes/post/callbacks/told the callback `told`, shared with another operation",
            "/components/schemas/Odd `required`",
            "/components/schemas/Odd/properties/one `oneOf`",
            "/components/schemas/Odd/properties/one/oneOf/0 `contains`",
            "/components/schemas/Odd/properties/text `examples`",
            "/components/schemas/Odd/properties/text `contentMediaType`",
            "/components/schemas/Odd/properties/text `contentSchema`",
            "/components/schemas/Odd/properties/big `const`",
            "/components/schemas/Odd/properties/map `patternProperties`",
            "/components/schemas/Odd/properties/map `additionalProperties`",
            "/components/schemas/Odd/properties/open `unevaluatedProperties`",
        ]
    );
    assert_eq!((document.operations, document.omitted), (6, 2));
    let reparsed = parse_lowered("here", &document);
    assert_eq!(reparsed.api.operations.len(), 3);
    // A partially supported alternative is written only if no alternative is fully supported.
    let security =
        ["get", "post", "put"].map(|method| &document.value["paths"]["/shapes"][method]["security"]);
    assert_eq!(security, [&json!(null), &json!([{ "key": [] }]), &json!([{ "key": [] }])]);
    let media = &document.value["paths"]["/shapes"]["post"]["requestBody"]["content"]["multipart/form-data"];
    assert_eq!(media["encoding"], json!({ "file": { "contentType": "image/png" } }));
    let link = media["schema"]["$ref"].as_str().unwrap().trim_start_matches('#').to_owned();
    let form = document.value.pointer(&link).unwrap();
    assert_eq!(form["properties"]["file"]["format"], "binary");
    assert_eq!(form["properties"]["note"]["format"], "byte");
    let odd = &document.value["components"]["schemas"]["Odd"];
    assert_eq!(odd["additionalProperties"], false);
    assert_eq!(odd["properties"]["big"], json!({}));
    assert_eq!(odd["properties"]["sealed"]["additionalProperties"], false);
}
