//! Tests of error responses in the form of the contract, and of optional headers.

use super::*;

const API: &str = r"
security: [{ token: [] }]
paths:
  /ships/{id}:
    get:
      operationId: readShip
      parameters: [{ name: id, in: path, required: true, schema: { type: string, maxLength: 3 } }]
      responses:
        '200': { description: '', content: { application/json: { schema: { type: object } } } }
        '401': { description: '', content: { application/json: { schema: SCHEMA } } }
        '4XX': { description: '', content: { text/plain: { schema: { type: string } } } }
        '429':
          description: ''
          headers:
            Retry-After: { schema: { type: integer } }
            X-Remaining: { required: false, schema: { type: integer, minimum: 4, maximum: 4 } }
            X-Impossible: { schema: false }
            Link: { schema: { type: string } }
            Content-Encoding: { schema: { type: string } }
          content: { application/json: { schema: { type: object } } }
        '503': { description: '', headers: { Retry-After: { schema: { type: string } } } }
components: { securitySchemes: { token: { type: http, scheme: bearer } } }
";

const REASON: &str = "the request must have credentials: `token`; any value is accepted";

/// The mock server writes the reason to the first property, in the order of `REASON_NAMES`, whose schema accepts it.
/// If no property accepts it, the body does not contain the reason.
#[test]
fn errors_have_the_declared_body_with_the_reason() {
    let string = "{ type: string }";
    for (schema, pointer) in [
        ("{ type: object, properties: { code: STRING, message: STRING, title: STRING } }", Some("/message")),
        (
            "{ type: object, properties: { title: STRING, detail: STRING, status: { type: integer } } }",
            Some("/detail"),
        ),
        (
            "{ type: object, required: [error_description], properties: { error: STRING, error_description: STRING } }",
            Some("/error_description"),
        ),
        (
            "{ type: object, properties: { error: { type: object, properties: { message: STRING } } } }",
            Some("/error/message"),
        ),
        (
            "{ type: object, properties: { errors: { type: array, minItems: 1, items: { type: object, properties: { message: STRING } } } } }",
            Some("/errors/0/message"),
        ),
        ("{ type: object, properties: { message: { enum: [no] }, title: STRING } }", Some("/title")),
        ("{ type: object, properties: { message: { type: string, maxLength: 4 } } }", None),
        ("{ type: object, required: [kind], properties: { kind: { const: a } } }", None),
    ] {
        let mock = mock_of(&api(&API.replace("SCHEMA", schema)).replace("STRING", string));
        let response = send(&mock, "GET /ships/a", &[], "");
        assert_eq!(
            (response.status().as_u16(), header(&response, "content-type")),
            (401, "application/json"),
            "{schema}"
        );
        assert_eq!(header(&response, "www-authenticate"), "Bearer");
        let body = json(&response);
        let found = pointer.map(|pointer| body.pointer(pointer).and_then(Json::as_str).unwrap());
        assert_eq!(found, pointer.map(|_| REASON), "{schema} {body}");
        assert_eq!(body.to_string().contains(REASON), pointer.is_some(), "{schema} {body}");
        if let Some(status) = body.pointer("/status") {
            assert_eq!(status.to_string(), "401");
        }
        assert_eq!(response.extensions().get::<MockVerdict>().unwrap().description, REASON);
    }
}

#[test]
fn errors_of_ranges_have_the_declared_media_type() {
    let mock = mock_of(&api(&API.replace("SCHEMA", "{ type: object }")));
    let response = send(&mock, "GET /ships/long", &[TOKEN, "accept: application/json"], "");
    let text = "path /id must have at most 3 characters";
    assert_eq!((response.status().as_u16(), header(&response, "content-type")), (400, "text/plain"));
    assert_eq!(response.body().as_ref(), text.as_bytes());
    let undeclared = send(&mock, "GET /ships/a", &[TOKEN, "prefer: code=500"], "");
    assert_eq!((undeclared.status().as_u16(), header(&undeclared, "content-type")), (404, "text/plain"));
    assert!(undeclared.body().starts_with(b"the operation has no response 500"), "{undeclared:?}");
}

/// Optional headers are sent, except those that determine the framing of the body, and those without a valid value.
#[test]
fn optional_headers_are_sent() {
    let mock = mock_of(&api(&API.replace("SCHEMA", "{ type: object }")));
    let limited = send(&mock, "GET /ships/a", &[TOKEN, "prefer: code=429"], "");
    let headers = ["retry-after", "x-remaining", "x-impossible", "link", "content-encoding"];
    assert_eq!(headers.map(|name| header(&limited, name)), ["1", "4", "", "", ""]);
    let down = send(&mock, "GET /ships/a", &[TOKEN, "prefer: code=503"], "");
    assert_eq!(header(&down, "retry-after"), "1");
}

/// A client that follows the link of an example gets one page without a link.
#[test]
fn links_of_examples_end() {
    let document = "
paths:
  /ships:
    get:
      operationId: ships
      parameters: [{ name: page, in: query, schema: { type: integer } }]
      responses:
        '200':
          description: ''
          headers: { Link: { schema: { type: string }, example: '<https://a.example/ships?page=2>; rel=\"next\"' } }
          content: { application/json: { schema: { type: array, items: { type: string } } } }
";
    let mock = mock_of(&api(document));
    let link = |line: &str| header(&send(&mock, line, &[], ""), "link").to_owned();
    assert_eq!(link("GET /ships"), "<https://a.example/ships?page=2>; rel=\"next\"");
    assert_eq!(link("GET /ships?page=2"), "");
}
