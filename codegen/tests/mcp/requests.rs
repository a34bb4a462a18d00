//! Tests of the requests of tool calls.

use std::{fs, path::Path};

use contract_codegen::{
    Project,
    mcp::{CallRefusal, ContractTools, ToolOptions},
};
use serde_json::{Value, json};

use super::{all_tools, refusal_of, request_of, tools_with};

const STYLES: &str = r"
openapi: 3.1.0
info: { title: Styles, version: '1' }
servers: [{ url: 'https://api.example/v1/' }]
paths:
  /a/{id}/{list}:
    get:
      operationId: readAll
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
        - { name: list, in: path, required: true, style: matrix, explode: true, schema: { type: array, items: { type: integer } } }
        - { name: id, in: query, schema: { type: integer, minimum: 1 } }
        - { name: 'filter[by]', in: query, style: deepObject, explode: true, schema: { type: object, properties: { seat: { type: integer } } } }
        - { name: pipes, in: query, style: pipeDelimited, explode: false, schema: { type: array, items: { type: string } } }
        - { name: json, in: query, content: { application/json: { schema: { type: object } } } }
        - { name: X-Trace, in: header, schema: { type: string } }
        - { name: sid, in: cookie, schema: { type: string } }
        - { name: Authorization, in: header, schema: { type: string } }
      responses: { '200': { description: it, content: { application/json: { schema: { type: object } } } } }
  /form:
    post:
      operationId: sendForm
      requestBody: { content: { application/x-www-form-urlencoded: { schema: { type: object, required: [name], properties: { name: { type: string }, tags: { type: array, items: { type: string } } } } } } }
      responses: { '204': { description: done } }
  /parts:
    post:
      operationId: sendParts
      requestBody: { required: true, content: { multipart/form-data: { schema: { type: object, required: [scan], properties: { scan: { type: string, format: binary }, seat: { type: integer, maximum: 9 } } } } } }
      responses: { '204': { description: done } }
  /text:
    post:
      operationId: sendText
      requestBody: { required: true, content: { text/plain: { schema: { type: string, maxLength: 5 } } } }
      responses: { '204': { description: done } }
  /file:
    post:
      operationId: sendFile
      requestBody: { required: true, content: { 'image/*': {} } }
      responses: { '204': { description: done } }
  /lines:
    post:
      operationId: sendLines
      requestBody: { required: true, content: { application/jsonl: { itemSchema: { type: object, required: [n], properties: { n: { type: integer } } } } } }
      responses: { '204': { description: done } }
  /elsewhere:
    servers: [{ url: 'https://other.example/v2' }]
    get: { operationId: readElsewhere, responses: { '204': { description: done } } }
";

/// The method, the URL and the headers that depend on arguments, as text.
fn shown(document: &str, name: &str, arguments: &Value) -> String {
    let tools = all_tools(document);
    let request = request_of(&tools, name, arguments).request;
    let mut text = format!("{} {}", request.method(), request.uri());
    for (name, value) in request.headers() {
        text.push_str(&format!("\n{name}: {}", value.to_str().unwrap()));
    }
    if !request.body().is_empty() {
        text.push_str(&format!("\n\n{}", String::from_utf8_lossy(request.body())));
    }
    text
}

#[test]
fn parameters_are_encoded_by_their_location_and_style() {
    let arguments = json!({
        "path_id": "a/b", "list": [1, 2], "query_id": 7, "filter_by": { "seat": 3 }, "pipes": ["x", "y z"],
        "json": { "a": [1] }, "X-Trace": "t", "sid": "s",
    });
    assert_eq!(
        shown(STYLES, "read_all", &arguments),
        "GET https://api.example/v1/a/a%2Fb/;list=1;list=2?id=7&filter%5Bby%5D%5Bseat%5D=3&pipes=x%7Cy%20z\
         &json=%7B%22a%22%3A%5B1%5D%7D\nx-trace: t\naccept: application/json\ncookie: sid=s"
    );
    // `null` stands for an absent argument.
    assert_eq!(
        shown(STYLES, "read_all", &json!({ "path_id": "a", "list": [1], "query_id": null })),
        "GET https://api.example/v1/a/a/;list=1\naccept: application/json"
    );
}

#[test]
fn bodies_are_encoded_by_their_media_type() {
    for (name, body, expected) in [
        (
            "send_form",
            json!({ "name": "a b", "tags": ["x", "y"] }),
            "POST https://api.example/v1/form\ncontent-type: application/x-www-form-urlencoded\n\nname=a+b&tags=x&tags=y",
        ),
        ("send_text", json!("hello"), "POST https://api.example/v1/text\ncontent-type: text/plain\n\nhello"),
        (
            "send_file",
            json!({ "base64": "aGk=", "content_type": "image/png" }),
            "POST https://api.example/v1/file\ncontent-type: image/png\n\nhi",
        ),
        (
            "send_lines",
            json!([{ "n": 1 }, { "n": 2 }]),
            "POST https://api.example/v1/lines\ncontent-type: application/jsonl\n\n{\"n\":1}\n{\"n\":2}\n",
        ),
    ] {
        let sent = shown(STYLES, name, &json!({ "body": body }));
        assert_eq!(sent.replace("a%20b", "a+b"), expected, "{name}");
    }
    let parts = json!({ "body": { "scan": { "text": "hi", "filename": "a.txt", "content_type": "text/plain" }, "seat": 7 } });
    let sent = shown(STYLES, "send_parts", &parts);
    for expected in [
        "Content-Disposition: form-data; name=\"scan\"; filename=\"a.txt\"\r\nContent-Type: text/plain\r\n\r\nhi",
        "name=\"seat\"",
        "\r\n7\r\n",
    ] {
        assert!(sent.contains(expected), "{sent}");
    }
    // An optional body may be absent.
    assert_eq!(shown(STYLES, "send_form", &json!({})), "POST https://api.example/v1/form");
}

#[test]
fn invalid_arguments_are_reported_with_their_pointers() {
    let tools = all_tools(STYLES);
    for (name, arguments, expected) in [
        (
            "read_all",
            json!({ "list": [1, "x"], "query_id": 0, "seat": 1, "filter_by": { "seat": "a" } }),
            &[
                "/seat is not an argument",
                "/path_id ",
                "/list/1 ",
                "/query_id must be at least 1",
                "/filter_by/seat ",
            ][..],
        ),
        ("read_all", json!({ "path_id": "..", "list": [1] }), &["/path_id "]),
        ("send_form", json!({ "body": {} }), &["/body"]),
        ("send_text", json!({ "body": "too long" }), &["/body must "]),
        ("send_text", json!({}), &["/body is required"]),
        ("send_text", json!({ "body": 7 }), &["/body must be a string"]),
        ("send_file", json!({ "body": { "text": "a" } }), &["/body/content_type must be within image/*"]),
        ("send_file", json!({ "body": { "base64": "%" } }), &["/body/base64 must be base64"]),
        ("send_file", json!({ "body": "a" }), &["/body must be an object"]),
        ("send_file", json!({ "body": { "text": "a", "base64": "YQ==" } }), &["/body must have either"]),
        ("send_lines", json!({ "body": [{ "n": 1 }, {}] }), &["/body/1"]),
        ("send_lines", json!({ "body": {} }), &["/body must be an array"]),
        (
            "send_parts",
            json!({ "body": { "seat": 10, "scan": { "text": "" } } }),
            &["/body/seat must be at most 9"],
        ),
        ("send_parts", json!({ "body": { "scan": { "data": "" } } }), &["/body/scan/data is unknown"]),
    ] {
        let text = refusal_of(&tools, name, &arguments);
        assert!(text.starts_with("The arguments violate the contract, so nothing was sent:\n- "), "{text}");
        for part in expected {
            assert!(text.contains(&format!("\n- {part}")), "{name} {arguments}: {part}\n{text}");
        }
        assert_eq!(text.lines().count(), expected.len() + 1, "{name} {arguments}: {text}");
    }
}

#[test]
fn server_of_the_operation_is_used_unless_an_option_replaces_it() {
    let uri = |server: Option<&str>, name: &str, arguments: Value| {
        let options =
            ToolOptions { server: server.map(str::to_owned), allow_writes: true, ..ToolOptions::default() };
        let tools = tools_with(STYLES, options);
        request_of(&tools, name, &arguments).request.uri().to_string()
    };
    assert_eq!(uri(None, "read_elsewhere", json!({})), "https://other.example/v2/elsewhere");
    assert_eq!(
        uri(Some("http://localhost:1/x/"), "read_elsewhere", json!({})),
        "http://localhost:1/x/elsewhere"
    );
    assert_eq!(uri(Some("http://localhost:1"), "send_form", json!({})), "http://localhost:1/form");
    let tools = all_tools(&STYLES.replace("https://api.example/v1/", "/v1"));
    assert!(refusal_of(&tools, "send_form", &json!({})).contains("names no server"));
}

#[test]
fn only_operations_that_read_are_tools_by_default() {
    let tools = tools_with(STYLES, ToolOptions::default());
    let names: Vec<&str> = tools.tools().map(|(tool, _)| &*tool.name).collect();
    assert_eq!((names.as_slice(), tools.write_count()), (&["read_all", "read_elsewhere"][..], 5));
    assert!(refusal_of(&tools, "send_form", &json!({})).contains("`--allow-writes`"));
    let unknown = tools.request("send", json!({}).as_object().unwrap());
    assert!(matches!(unknown, Err(CallRefusal::UnknownTool)));
    assert!(!format!("{tools:?}").contains("api.example"));
}

#[test]
fn an_idempotency_key_and_constants_are_sent_like_by_a_generated_client() {
    let document = r"
openapi: 3.1.0
info: { title: Keys, version: '1' }
servers: [{ url: 'https://a.example' }]
paths:
  /run?action=stop:
    post:
      operationId: stop
      parameters: [{ name: Idempotency-Key, in: header, schema: { type: string } }]
      responses: { '204': { description: done } }
  /run?action=start:
    post: { operationId: start, responses: { '204': { description: done } } }
";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mcp-keys");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("openapi.yaml"), document).unwrap();
    let config = "inputs = [\"openapi.yaml\"]\n[operations]\nidempotency-header = \"Idempotency-Key\"\n";
    fs::write(folder.join("codegen.toml"), config).unwrap();
    let project = Project::from_config(&folder.join("codegen.toml")).unwrap();
    let contract = project.read_contract().unwrap();
    let options = ToolOptions { allow_writes: true, ..ToolOptions::default() };
    let tools = ContractTools::new(project, contract, options);
    let request = request_of(&tools, "stop", &json!({})).request;
    assert_eq!(request.uri(), "https://a.example/run?action=stop");
    assert_eq!(request.headers()["idempotency-key"].len(), 36);
    let request = request_of(&tools, "start", &json!({})).request;
    assert_eq!(request.uri(), "https://a.example/run?action=start");
}
