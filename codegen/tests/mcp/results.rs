//! Tests of the results of tool calls.

use contract_codegen::mcp::{ContractTools, ToolOptions, rmcp::model::CallToolResult};
use contract_runtime::{
    server::Bytes,
    transport::{Delivery, PartialBody, TransportError, TransportFault},
};
use http::Response;
use serde_json::{Value, json};

use super::{all_tools, request_of, text_of, to_json, tools_with};

const SEATS: &str = r"
openapi: 3.1.0
info: { title: Seats, version: '1' }
servers: [{ url: 'https://a.example' }]
paths:
  /seats:
    get:
      operationId: listSeats
      parameters: [{ name: limit, in: query, schema: { type: integer } }, { name: X-A, in: header, schema: { type: string } }]
      responses:
        '200':
          description: All.
          headers: { X-Next: { schema: { type: string } } }
          content: { application/json: { schema: { type: object, required: [seats], properties: { seats: { type: array, items: { type: integer, maximum: 99 } } } } } }
    post:
      operationId: addSeat
      requestBody: { required: true, content: { application/json: { schema: { type: integer } } } }
      responses: { '201': { description: done }, '400': { description: no, content: { application/problem+json: { schema: { type: object } } } } }
  /names:
    get:
      operationId: listNames
      responses: { '200': { description: it, content: { application/json: { schema: { type: array, items: { type: string, maxLength: 3 } } } } } }
  /picture:
    get:
      operationId: readPicture
      responses: { '200': { description: it, content: { image/png: {}, application/zip: {}, text/plain: { schema: { type: string } } } } }
  /events:
    get:
      operationId: readEvents
      responses: { '200': { description: it, content: { text/event-stream: { itemSchema: { type: object, properties: { data: { type: string } } } } } } }
";

struct Answer(Response<Bytes>);

fn answer(status: u16, media_type: &str, body: impl Into<Bytes>) -> Answer {
    let mut response = Response::builder().status(status);
    if !media_type.is_empty() {
        response = response.header("content-type", media_type);
    }
    Answer(response.body(body.into()).unwrap())
}

impl Answer {
    fn header(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().append(name, value.parse().unwrap());
        self
    }

    fn result(self, tools: &ContractTools, name: &str) -> CallToolResult {
        let arguments = if name == "add_seat" { json!({ "body": 1 }) } else { json!({}) };
        tools.result(request_of(tools, name, &arguments).call, Ok(self.0))
    }
}

#[test]
fn json_is_returned_unchanged_and_as_structured_content() {
    let tools = all_tools(SEATS);
    let body = "{ \"seats\": [1, 2.0] }";
    let result = answer(200, "application/json", body).result(&tools, "list_seats");
    assert_eq!((text_of(&result).as_str(), result.is_error), (body, Some(false)));
    assert_eq!(result.structured_content, Some(json!({ "seats": [1, 2] })));
    // Only tools with an output schema have structured content.
    let result = answer(200, "application/json", "[\"a\"]").result(&tools, "list_names");
    assert_eq!((text_of(&result).as_str(), &result.structured_content), ("[\"a\"]", &None));
}

#[test]
fn declared_headers_and_links_are_shown() {
    let tools = all_tools(SEATS);
    let result = answer(200, "application/json", "{\"seats\":[]}")
        .header("x-next", "c7")
        .header("link", "</seats?c=7>; rel=\"next\"")
        .header("set-cookie", "sid=hush")
        .header("x-internal", "hush")
        .result(&tools, "list_seats");
    let text = text_of(&result);
    assert!(text.ends_with("Response headers:\nx-next: c7\nlink: </seats?c=7>; rel=\"next\""), "{text}");
    let result = answer(201, "", "").header("location", "/seats/7").result(&tools, "add_seat");
    assert_eq!(
        (text_of(&result).as_str(), result.is_error),
        ("Status 201 Created\nlocation: /seats/7", Some(false))
    );
}

#[test]
fn error_responses_are_errors_with_status_and_body() {
    let tools = all_tools(SEATS);
    let problem = "{\"title\":\"No\"}";
    let result = answer(400, "application/problem+json", problem).result(&tools, "add_seat");
    assert_eq!(text_of(&result), format!("Status 400 Bad Request\n---\n{problem}"));
    assert_eq!(result.is_error, Some(true));
    let result = answer(429, "text/plain", "slow").header("retry-after", "7").result(&tools, "list_seats");
    assert_eq!(text_of(&result), "Status 429 Too Many Requests\nretry-after: 7\n---\nslow");
    // Redirects are not followed.
    let result = answer(302, "", "").header("location", "https://b.example").result(&tools, "list_names");
    assert_eq!(text_of(&result).lines().next(), Some("Status 302 Found"));
}

/// A violation of the contract by the service does not hide the response.
#[test]
fn responses_that_violate_the_contract_have_a_warning() {
    let tools = all_tools(SEATS);
    let result = answer(200, "application/json", "[\"long\"]").result(&tools, "list_names");
    let text = text_of(&result);
    assert!(text.starts_with("Warning: the call succeeded with status 200 OK, but the response violates the contract:\n- body /0 "), "{text}");
    assert!(text.ends_with("\n---\n[\"long\"]") && result.is_error == Some(false), "{text}");
    // Clients reject a success without structured content if the tool has an output schema.
    let result = answer(200, "application/json", "{\"seats\":[100]}").result(&tools, "list_seats");
    let text = text_of(&result);
    assert!(
        text.contains("- body /seats/0 must be at most 99") && text.ends_with("{\"seats\":[100]}"),
        "{text}"
    );
    assert_eq!((result.is_error, &result.structured_content), (Some(true), &None));
    let result = answer(202, "", "").result(&tools, "add_seat");
    assert!(text_of(&result).contains("- status 202 is not declared"), "{}", text_of(&result));
}

#[test]
fn other_media_types_become_texts_images_and_resources() {
    let tools = all_tools(SEATS);
    let block = |media_type: &str, body: &[u8]| -> Value {
        let result = answer(200, media_type, body.to_vec()).result(&tools, "read_picture");
        to_json(&result.content.last())
    };
    assert_eq!(block("text/plain; charset=utf-8", b"hi"), json!({ "type": "text", "text": "hi" }));
    assert_eq!(
        block("image/png", b"hi"),
        json!({ "type": "image", "data": "aGk=", "mimeType": "image/png" })
    );
    let resource =
        json!({ "uri": "response:///read_picture", "mimeType": "application/zip", "blob": "aGk=" });
    assert_eq!(block("application/zip", b"hi"), json!({ "type": "resource", "resource": resource }));
    // Texts in other charsets: Latin-1 is decoded.
    assert_eq!(block("text/plain; charset=latin1", b"\xe4")["text"], "ä");
    assert_eq!(block("text/plain; charset=\"ISO-8859-1\"", b"\xe4")["text"], "ä");
    assert_eq!(block("text/plain; charset=koi8-r", b"\xe4")["resource"]["blob"], "5A==");
}

#[test]
fn large_responses_are_errors_that_name_narrowing_arguments() {
    let options = ToolOptions { max_response_bytes: 100, ..ToolOptions::default() };
    let tools = tools_with(SEATS, options);
    let body = format!("{{\"seats\":[{}1]}}", "1,".repeat(2000));
    let result = answer(200, "application/json", body).result(&tools, "list_seats");
    let text = text_of(&result);
    assert!(
        text.starts_with("Status 200 OK. The response has 4013 bytes, more than the limit of 100 bytes"),
        "{text}"
    );
    assert!(
        text.contains("select less: `limit`. The user can raise the limit with `--max-response-bytes`."),
        "{text}"
    );
    assert!(text.contains("It starts with:\n{\"seats\":[1,1,") && text.len() < 2000, "{text}");
    assert_eq!(result.is_error, Some(true));
}

#[test]
fn incomplete_streams_are_shown() {
    let tools = all_tools(SEATS);
    let mut events = answer(200, "text/event-stream", "data: a\n\ndata: b");
    events.0.extensions_mut().insert(PartialBody(TransportFault::Timeout));
    let text = text_of(&events.result(&tools, "read_events"));
    assert_eq!(text, "data: a\n\ndata: b\n---\nThe response is incomplete: this is its beginning.");
}

#[test]
fn failed_requests_are_errors_with_their_delivery() {
    let tools = all_tools(SEATS);
    let text = |name: &str, delivery| {
        let arguments = if name == "add_seat" { json!({ "body": 1 }) } else { json!({}) };
        let error = TransportError::new(TransportFault::Timeout, delivery);
        let result = tools.result(request_of(&tools, name, &arguments).call, Err(error));
        assert_eq!(result.is_error, Some(true));
        text_of(&result)
    };
    assert!(text("add_seat", Delivery::Unknown).ends_with("check the state before you repeat the call."));
    assert_eq!(text("add_seat", Delivery::NotSent), "The call failed: the request timed out.");
    assert_eq!(text("list_seats", Delivery::Unknown), "The call failed: the request timed out.");
}
