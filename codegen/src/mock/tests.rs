//! Tests of the mock server: responses, error responses and verdicts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

mod declared_errors;
mod every;
mod exchange;
mod limits;
mod sought;
mod wire;

use contract_codegen_core::load::Sources;
use contract_runtime::Json;

use super::*;

/// Creates a mock server for one document.
fn mock_of(document: &str) -> MockServer {
    mock_with(document, &[])
}

/// Creates a mock server for one document. `media` is the value of the option `media` in `[operations]`.
fn mock_with(document: &str, media: &[&str]) -> MockServer {
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", document)]).unwrap();
    let mut project = Project::default();
    project.config.operations.media = media.iter().map(|name| (*name).to_owned()).collect();
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    MockServer::new(project, contract, 0)
}

/// Returns an OpenAPI document that consists of a head and the given YAML lines for `paths` and `components`.
fn api(paths: &str) -> String {
    format!("openapi: 3.1.0\ninfo: {{ title: Tickets, version: '1' }}\n{paths}")
}

fn tickets() -> MockServer {
    mock_with(&api(TICKETS), &["*/*"])
}

const TICKETS: &str = r"
servers: [{ url: 'https://tickets.example/{stage}/v1/', variables: { stage: { default: live } } }]
security: [{ token: [] }]
paths:
  /tickets:
    get:
      operationId: listTickets
      security: []
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 50 } }
        - { name: seats, in: query, style: pipeDelimited, explode: false, schema: { type: array, items: { type: integer } } }
        - { name: filter, in: query, style: deepObject, schema: { type: object, properties: { age: { type: integer } } } }
        - { name: X-Trace, in: header, required: true, schema: { type: string, pattern: '^[0-9a-f]{4}$' } }
        - { name: session, in: cookie, schema: { type: string, minLength: 3 } }
      responses:
        '200':
          description: All.
          headers:
            X-Total: { required: true, schema: { type: integer, minimum: 3, maximum: 3 } }
            X-More: { schema: { type: string } }
          content:
            application/json: { schema: { type: array, minItems: 1, items: { $ref: '#/components/schemas/Ticket' } } }
            text/csv: { schema: { type: string }, example: 'id,seat' }
    post:
      operationId: bookTicket
      requestBody:
        required: true
        content:
          application/json: { schema: { $ref: '#/components/schemas/Ticket' } }
          application/x-www-form-urlencoded: { schema: { $ref: '#/components/schemas/Ticket' } }
          multipart/form-data:
            schema: { $ref: '#/components/schemas/Ticket' }
            encoding: { id: { contentType: 'text/plain, text/csv' } }
          text/plain: { schema: { type: string, maxLength: 5 } }
      responses:
        '201':
          description: Booked.
          content:
            application/json:
              schema: { $ref: '#/components/schemas/Ticket' }
              examples:
                broken: { value: { id: a-1, seat: 1000 } }
                window: { $ref: '#/components/examples/Window' }
                aisle: { value: { id: a-2, seat: 2 } }
        '202': { description: Later. }
  /tickets/{id}:
    get:
      operationId: readTicket
      parameters: [{ name: id, in: path, required: true, schema: { type: string, minLength: 3 } }]
      responses:
        default: { description: No., content: { application/problem+json: { schema: { type: object, required: [title], properties: { title: { type: string } } } } } }
        '200': { description: It., content: { application/json: { schema: { $ref: '#/components/schemas/Ticket' } } } }
        '404': { description: None., content: { application/json: { example: { gone: true } } } }
    delete:
      operationId: dropTicket
      security: [{ key: [] }, { session: [], basic: [] }]
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '204': { description: Gone. } }
components:
  securitySchemes:
    token: { type: http, scheme: bearer }
    basic: { type: http, scheme: basic }
    key: { type: apiKey, in: query, name: key }
    session: { type: apiKey, in: cookie, name: sid }
  examples:
    Window: { value: { id: a-17, seat: 17 } }
  schemas:
    Ticket:
      type: object
      required: [id, seat]
      additionalProperties: false
      properties:
        id: { type: string, minLength: 3, maxLength: 40 }
        seat: { type: integer, minimum: 1, maximum: 99 }
        paid: { type: string, format: date-time }
        class: { enum: [first, second] }
        secret: { type: string, writeOnly: true }
";

/// Creates a request from a request line such as `GET /tickets`, header lines and a body.
fn request(line: &str, head: &[&str], body: &str) -> Request<Bytes> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in head.iter().map(|line| line.split_once(": ").unwrap()) {
        request = request.header(name, value);
    }
    request.body(Bytes::from(body.to_owned())).unwrap()
}

fn send(mock: &MockServer, line: &str, head: &[&str], body: &str) -> Response<Bytes> {
    mock.respond_to(request(line, head, body))
}

fn json(response: &Response<Bytes>) -> Json {
    Json::parse(response.body()).unwrap_or_else(|error| panic!("{error}: {:?}", response.body()))
}

fn header<'r>(response: &'r Response<Bytes>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Sends a request and asserts the status and the violations of the error response. A violation in `expect`
/// consists of the part of the request, the pointer and the keyword. Returns the verdict.
#[track_caller]
fn assert_rejected(
    mock: &MockServer,
    line: &str,
    head: &[&str],
    body: &str,
    status: u16,
    expect: &[&str],
) -> MockVerdict {
    let response = send(mock, line, head, body);
    let verdict = response.extensions().get::<MockVerdict>().unwrap().clone();
    assert_eq!(response.status(), status, "{verdict:?}");
    assert_eq!(header(&response, "content-type"), "application/problem+json");
    let found: Vec<String> = verdict
        .violations
        .iter()
        .map(|each| format!("{} {} {}", each.place, each.pointer, each.keyword))
        .collect();
    assert_eq!(found, expect, "{line}");
    let problem = json(&response);
    assert_eq!(problem.pointer("/status").map(ToString::to_string), Some(status.to_string()));
    let violation_count = problem.pointer("/violations").and_then(Json::as_array).map_or(0, <[Json]>::len);
    assert_eq!(violation_count, expect.len(), "{problem}");
    verdict
}

const TOKEN: &str = "authorization: Bearer any";
const TRACE: &str = "x-trace: 0abc";

#[test]
fn valid_examples_precede_generated_values() {
    let mock = tickets();
    let body = r#"{"id":"new","seat":4}"#;
    let typed = "content-type: application/json";
    let default = send(&mock, "POST /tickets", &[TOKEN, typed], body);
    assert_eq!(
        (default.status().as_u16(), default.body().as_ref()),
        (201, &br#"{"id":"a-17","seat":17}"#[..])
    );
    assert_eq!(default.extensions().get::<MockVerdict>().unwrap().description, "example `window`");
    let with_example = |name: &str| {
        let prefer = format!("prefer: example={name}");
        send(&mock, "POST /tickets", &[TOKEN, typed, &prefer], body)
    };
    let aisle = with_example("aisle");
    assert_eq!(json(&aisle).to_string(), r#"{"id":"a-2","seat":2}"#);
    assert_eq!(header(&aisle, "preference-applied"), "example=\"aisle\"");
    let invalid = with_example("broken");
    assert_eq!(invalid.status(), 501);
    assert!(json(&invalid).to_string().contains("/seat: must be at most 99"), "{}", json(&invalid));
    let unknown = with_example("none");
    assert_eq!(unknown.status(), 404);
    assert!(json(&unknown).to_string().contains("`broken`, `window`, `aisle`"), "{}", json(&unknown));
    let review = mock.review();
    assert!(review.without_value.is_empty(), "{review:?}");
    let [(place, rule)] = review.invalid_examples.as_slice() else { panic!("{review:?}") };
    assert!(place.starts_with("api.yaml:") && place.ends_with("/examples/broken/value"), "{place}");
    assert!(rule.contains("/seat: must be at most 99"), "{rule}");
}

#[test]
fn generated_responses_are_valid_and_deterministic() {
    let mock = tickets();
    let fetch = |path: &str, head: &[&str]| json(&send(&mock, path, &[&[TOKEN], head].concat(), ""));
    let first = fetch("GET /tickets/abc", &[]);
    assert!(first.pointer("/paid").is_some() && first.pointer("/class").is_some(), "{first}");
    // The response does not contain the `writeOnly` property `secret`.
    assert!(first.pointer("/secret").is_none(), "{first}");
    assert_eq!(first, fetch("GET /tickets/abcd", &[]));
    let other = MockServer::new(
        Project::default(),
        {
            let sources =
                Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", &api(TICKETS))]).unwrap();
            Project::default().analyze_sources(sources).unwrap()
        },
        1,
    );
    assert_ne!(first, json(&send(&other, "GET /tickets/abc", &[TOKEN], "")));
    // With `dynamic=true`, a response is generated for each request and is valid.
    let dynamic = ["prefer: dynamic=true"];
    let responses: Vec<Json> = (0..40).map(|n| fetch(&format!("GET /tickets/abc-{n}"), &dynamic)).collect();
    assert_eq!(responses[7], fetch("GET /tickets/abc-7", &dynamic));
    let ticket =
        mock.contract.graph.ids().find(|id| mock.contract.graph.absolute_location(*id).ends_with("/Ticket"));
    for each in &responses {
        assert!(mock.tables.is_valid(ticket.unwrap(), each), "{each}");
    }
    assert!(responses.iter().any(|each| each != &responses[0]));
}

#[test]
fn prefer_header_selects_the_status() {
    let mock = tickets();
    let response_with =
        |code: &str| send(&mock, "GET /tickets/abc", &[TOKEN, &format!("prefer: code={code}")], "");
    let not_found = response_with("404");
    assert_eq!((not_found.status().as_u16(), not_found.body().as_ref()), (404, &br#"{"gone":true}"#[..]));
    assert_eq!(header(&not_found, "content-type"), "application/json");
    // `default` describes all statuses without their own entry.
    let default = response_with("503");
    assert_eq!(
        (default.status().as_u16(), header(&default, "content-type")),
        (503, "application/problem+json")
    );
    assert!(json(&default).pointer("/title").is_some());
    let unsupported =
        send(&mock, "POST /tickets", &[TOKEN, "prefer: code=418", "content-type: text/plain"], "x");
    assert_eq!(unsupported.status(), 404);
    assert!(json(&unsupported).to_string().contains("201, 202"), "{}", json(&unsupported));
}

/// A mock server returns the same body for a request regardless of the requests that it received before.
#[test]
fn responses_are_independent_of_earlier_requests() {
    let body_for = |mock: &MockServer, code: u16| {
        let prefer = format!("prefer: code={code}");
        send(mock, "GET /tickets/abc", &[TOKEN, &prefer], "").into_body()
    };
    let (one, other) = (tickets(), tickets());
    let (first, second) = (body_for(&one, 503), body_for(&one, 500));
    assert_eq!((body_for(&other, 500), body_for(&other, 503)), (second, first));
}

#[test]
fn response_media_types_and_headers_match_the_contract() {
    let mock = tickets();
    let list = send(&mock, "GET /tickets", &[TRACE], "");
    assert_eq!((list.status().as_u16(), header(&list, "content-type")), (200, "application/json"));
    assert_eq!(header(&list, "x-total"), "3");
    assert!(!header(&list, "x-more").is_empty());
    assert!(!json(&list).as_array().unwrap().is_empty());
    let csv = send(&mock, "GET /tickets", &[TRACE, "accept: text/csv, application/json;q=0.1"], "");
    assert_eq!((header(&csv, "content-type"), csv.body().as_ref()), ("text/csv", &b"id,seat"[..]));
    // A generated server has JSON only, unless the configuration selects more.
    let json_only = mock_of(&api(TICKETS));
    assert_rejected(&json_only, "GET /tickets", &[TRACE, "accept: text/csv"], "", 406, &[]);
    let form = "content-type: application/x-www-form-urlencoded";
    assert_rejected(&json_only, "POST /tickets", &[TOKEN, form], "id=abc&seat=7", 415, &[]);
    let not_acceptable = assert_rejected(&mock, "GET /tickets", &[TRACE, "accept: image/png"], "", 406, &[]);
    assert_eq!(not_acceptable.operation.as_deref(), Some("listTickets"));
}

#[test]
fn paths_match_with_or_without_the_server_base_path() {
    let mock = tickets();
    for path in ["/tickets/abc", "/live/v1/tickets/abc", "/live/v1/tickets/abc?x=1"] {
        let line = format!("GET {path}");
        assert_eq!(send(&mock, &line, &[TOKEN], "").status(), 200, "{path}");
    }
    for path in ["/v1/tickets/abc", "/live/v1", "/tickets/", "/tickets/a/b", "/live/v1tickets"] {
        let verdict = assert_rejected(&mock, &format!("GET {path}"), &[TOKEN], "", 404, &[]);
        assert_eq!(verdict.operation, None);
        assert!(
            verdict.description.contains("with or without the base path `/live/v1`"),
            "{}",
            verdict.description
        );
    }
    assert_eq!(base_path("https://a.example"), "");
    assert_eq!(base_path("https://a.example/v1/?x"), "/v1");
    assert_eq!(
        (base_path("/v2/"), base_path("v2"), base_path("https://{host}/v{n}")),
        ("/v2".to_owned(), String::new(), String::new())
    );
}

#[test]
fn allowed_methods_are_reported() {
    let mock = tickets();
    let rejected = send(&mock, "PUT /tickets/abc", &[TOKEN], "");
    assert_eq!((rejected.status().as_u16(), header(&rejected, "allow")), (405, "DELETE, GET, HEAD"));
    let options = send(&mock, "OPTIONS /tickets/abc", &[], "");
    assert_eq!((options.status().as_u16(), header(&options, "allow")), (204, "DELETE, GET, HEAD"));
    let preflight_headers = [
        "origin: https://app.example",
        "access-control-request-method: DELETE",
        "access-control-request-headers: x-a",
    ];
    let preflight = send(&mock, "OPTIONS /tickets/abc", &preflight_headers, "");
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-methods", "DELETE, GET, HEAD"),
        ("access-control-allow-headers", "x-a"),
        ("vary", "Origin"),
    ] {
        assert_eq!(header(&preflight, name), value, "{name}");
    }
    let head = send(&mock, "HEAD /tickets/abc", &[TOKEN], "");
    let get = send(&mock, "GET /tickets/abc", &[TOKEN], "");
    assert!(head.body().is_empty() && head.status() == 200);
    assert_eq!(header(&head, "content-length"), get.body().len().to_string());
}

#[test]
fn any_present_credentials_are_accepted() {
    let mock = tickets();
    let bare = send(&mock, "GET /tickets/abc", &[], "");
    assert_eq!((bare.status().as_u16(), header(&bare, "www-authenticate")), (401, "Bearer"));
    for (head, status) in [
        (&["authorization: bearer x"][..], 200),
        (&["authorization: DPoP x"], 200),
        (&["authorization: Basic x"], 401),
        (&["authorization: Bearer "], 401),
    ] {
        assert_eq!(send(&mock, "GET /tickets/abc", head, "").status(), status, "{head:?}");
    }
    for (line, head, status) in [
        ("DELETE /tickets/abc?key=1", &[][..], 204),
        ("DELETE /tickets/abc?keys=1", &[], 401),
        ("DELETE /tickets/abc", &["cookie: a=1; sid=2", "authorization: Basic x"], 204),
        ("DELETE /tickets/abc", &["cookie: sid=2"], 401),
    ] {
        assert_eq!(send(&mock, line, head, "").status(), status, "{line} {head:?}");
    }
    let detail = assert_rejected(&mock, "DELETE /tickets/abc", &[], "", 401, &[]).description;
    assert!(detail.contains("`key`, or `session` with `basic`"), "{detail}");
}

#[test]
fn parameters_are_decoded_by_style_and_validated_together() {
    let mock = tickets();
    let valid = "GET /tickets?limit=50&seats=1%7C2&filter%5Bage%5D=7";
    assert_eq!(send(&mock, valid, &[TRACE, "cookie: session=abc"], "").status(), 200);
    let invalid = "GET /tickets?limit=51&seats=1%7Cx&filter%5Bage%5D=old";
    let verdict = assert_rejected(
        &mock,
        invalid,
        &["cookie: session=ab"],
        "",
        400,
        &[
            "query /limit maximum",
            "query /seats/1 type",
            "query /filter/age type",
            "header /X-Trace required",
            "cookie /session minLength",
        ],
    );
    let [limit, _, age, trace, session] = verdict.violations.as_slice() else { panic!("{verdict:?}") };
    assert_eq!(limit.message, "must be at most 50");
    assert!(
        limit.origin.contains("api.yaml:") && limit.origin.contains("#/paths/~1tickets/get/parameters/0")
    );
    assert_eq!(age.message, "must be an integer");
    assert_eq!(trace.message, "is required");
    assert_eq!(session.message, "must have at least 3 characters");
    assert_rejected(&mock, "GET /tickets/ab", &[TOKEN], "", 400, &["path /id minLength"]);
    assert_rejected(&mock, "GET /tickets?=1", &[TRACE], "", 400, &["query  propertyNames"]);
}

#[test]
fn bodies_of_every_format_are_validated() {
    let mock = tickets();
    let book = |media: &str, body: &str, expect: &[&str]| {
        let typed = format!("content-type: {media}");
        if expect.is_empty() {
            let response = send(&mock, "POST /tickets", &[TOKEN, &typed], body);
            assert_eq!(response.status(), 201, "{:?}", response.body());
            return MockVerdict { operation: None, description: String::new(), violations: Vec::new() };
        }
        assert_rejected(&mock, "POST /tickets", &[TOKEN, &typed], body, 400, expect)
    };
    let verdict = book(
        "application/json",
        r#"{"seat":100,"more":1}"#,
        &["body /id required", "body /more additionalProperties", "body /seat maximum"],
    );
    let [_, more, seat] = verdict.violations.as_slice() else { panic!("{verdict:?}") };
    assert_eq!((more.message.as_str(), seat.message.as_str()), ("is not declared", "must be at most 99"));
    assert!(seat.origin.ends_with("#/components/schemas/Ticket/properties/seat"), "{}", seat.origin);
    book("application/json", "{\"id\": ", &["body  contentMediaType"]);
    book("application/json", "", &["body  required"]);
    book("application/json; charset=utf-8", r#"{"id":"abc","seat":1}"#, &[]);
    book("application/x-www-form-urlencoded", "id=abc&seat=7", &[]);
    book("application/x-www-form-urlencoded", "id=abc&seat=x", &["body /seat type"]);
    let part = |name: &str, value: &str| {
        format!("--b\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let form = |seat: &str| format!("{}{}--b--\r\n", part("id", "abc"), part("seat", seat));
    book("multipart/form-data; boundary=b", &form("7"), &[]);
    book("multipart/form-data; boundary=b", &form("0"), &["body /seat minimum"]);
    book("multipart/form-data; boundary=b", "nothing", &["body  contentMediaType"]);
    let typed = |media_type: &str| {
        form("0").replacen("\r\n\r\n", &format!("\r\ncontent-type: {media_type}\r\n\r\n"), 1)
    };
    book("multipart/form-data; boundary=b", &typed("text/csv"), &["body /seat minimum"]);
    let multipart = "content-type: multipart/form-data; boundary=b";
    let verdict = assert_rejected(&mock, "POST /tickets", &[TOKEN, multipart], &typed("image/png"), 415, &[]);
    assert_eq!(verdict.description, "the part id must be text/plain or text/csv");
    book("text/plain", "short", &[]);
    book("text/plain", "longer", &["body  maxLength"]);
    let unsupported = send(&mock, "POST /tickets", &[TOKEN, "content-type: image/png"], "x");
    assert_eq!(unsupported.status(), 415);
    assert!(header(&unsupported, "accept").contains("text/plain"));
    assert_rejected(&mock, "POST /tickets", &[TOKEN], "x", 415, &[]);
    assert_rejected(&mock, "POST /tickets", &[TOKEN], "", 400, &["body  required"]);
}

/// A request with an invalid parameter and an invalid body gets one response that lists both violations.
#[test]
fn path_and_body_violations_are_reported_together() {
    let mock = mock_of(&api(r"
paths:
  /{a}/{b}:
    put:
      parameters:
        - { name: a, in: path, required: true, style: matrix, schema: { type: integer } }
        - { name: b, in: path, required: true, style: label, explode: true, schema: { type: array, items: { type: integer } } }
      requestBody: { content: { application/json: { schema: { type: integer } } } }
      responses: { '204': { description: '' } }
"));
    let json = "content-type: application/json";
    assert_eq!(send(&mock, "PUT /;a=1/.1.2", &[json], "3").status(), 204);
    // An optional body may be missing.
    assert_eq!(send(&mock, "PUT /;a=1/.1.2", &[], "").status(), 204);
    assert_rejected(&mock, "PUT /;a=x/.1", &[json], "\"x\"", 400, &["path /a type", "body  type"]);
}

/// Each item of a streamed request body is validated, with and without `[streams]` in the configuration. A
/// violation is reported with the index of the item.
#[test]
fn each_stream_item_is_validated() {
    let mock = mock_of(&api(r"
paths:
  /batches:
    post:
      requestBody:
        required: true
        content:
          application/jsonl: { itemSchema: { type: object, required: [x], properties: { x: { type: integer } } } }
          application/json-seq: { schema: { type: array, items: { type: integer } } }
          text/event-stream: { itemSchema: { type: object, required: [event, data], properties: { event: { enum: [a, b] }, data: { type: string, maxLength: 2 } } } }
      responses: { '204': { description: '' } }
"));
    let lines = &["content-type: application/jsonl"][..];
    assert_eq!(send(&mock, "POST /batches", lines, "{\"x\":1}\n{\"x\":2}\n").status(), 204);
    let invalid = "{\"x\":1}\n{\"x\":\"no\"}\nnonsense\n{}\n";
    let expect = &["body /1/x type", "body /2 contentMediaType", "body /3/x required"];
    let verdict = assert_rejected(&mock, "POST /batches", lines, invalid, 400, expect);
    assert!(verdict.violations[1].message.starts_with("is not a JSON document: "), "{verdict:?}");
    let records = &["content-type: application/json-seq"][..];
    assert_eq!(send(&mock, "POST /batches", records, "\u{1e}1\n\u{1e}2\n").status(), 204);
    let expect = &["body /1 type", "body /2 contentMediaType"];
    assert_rejected(&mock, "POST /batches", records, "\u{1e}1\n\u{1e}[]\n\u{1e}12", 400, expect);
    let events = &["content-type: text/event-stream"][..];
    assert_eq!(send(&mock, "POST /batches", events, "event: a\ndata: hi\n\n").status(), 204);
    let expect = &["body /0/event enum", "body /1/data maxLength"];
    assert_rejected(
        &mock,
        "POST /batches",
        events,
        "event: c\ndata: hi\n\nevent: b\ndata: high\n\n",
        400,
        expect,
    );
}

#[test]
fn streamed_responses_contain_items_and_end() {
    let mock = mock_of(&api(r"
paths:
  /events: { get: { responses: { '200': { description: '', content: { text/event-stream: { itemSchema: { type: object, required: [data], properties: { event: { const: tick }, data: { type: string }, id: { type: string } } } } } } } } }
  /told: { get: { responses: { '200': { description: '', content: { text/event-stream: { schema: { type: string }, example: 'data: hi' } } } } } }
  /pings: { get: { responses: { '200': { description: '', content: { text/event-stream: { itemSchema: { type: object, properties: { event: { type: string }, data: { type: string }, id: { type: string } } }, example: [{ event: ping, id: '7' }, { data: '' }] } } } } } }
  /lines: { get: { responses: { '200': { description: '', content: { application/x-ndjson: { itemSchema: { type: integer, minimum: 5 } } } } } } }
  /listed: { get: { responses: { '200': { description: '', content: { application/jsonl: { itemSchema: { type: integer }, example: [1, 2] } } } } } }
  /records: { get: { responses: { '200': { description: '', content: { application/json-seq: { itemSchema: { type: boolean } } } } } } }
  /typed: { get: { responses: { '200': { description: '', content: { text/event-stream: { itemSchema: { oneOf: [{ type: object, required: [event, data], properties: { event: { const: up }, data: { type: integer } } }, { type: object, required: [event, data], properties: { event: { const: done }, data: { const: [1] } } }] } } } } } } }
  /named: { get: { responses: { '200': { description: '', content: { text/event-stream: { itemSchema: { type: object, required: [data, retry], properties: { event: { const: tick }, data: { type: string }, retry: { type: integer } } } } } } } } }
"));
    let text = |path: &str| {
        let response = send(&mock, &format!("GET {path}"), &[], "");
        assert_eq!(response.status(), 200);
        String::from_utf8(response.body().to_vec()).unwrap()
    };
    let events = text("/events");
    assert_eq!(events.matches("event: tick\n").count(), 3, "{events}");
    assert!(events.contains("data: ") && events.ends_with("\n\n"), "{events}");
    assert_eq!(text("/told"), "data: hi\n\n");
    // An event with empty `data` is dispatched, and an event without `data` is not (WHATWG HTML, 9.2.6).
    assert_eq!(text("/pings"), "event: ping\nid: 7\n\ndata: \n\n");
    let lines = text("/lines");
    assert_eq!(lines.lines().count(), 3);
    assert!(lines.lines().all(|line| line.parse::<i64>().is_ok_and(|each| each >= 5)), "{lines}");
    assert_eq!(text("/listed"), "1\n2\n");
    assert_eq!(text("/records").matches('\u{1e}').count(), 3);
    let typed = text("/typed");
    assert_eq!(typed.matches("data: ").count(), 3, "{typed}");
    assert!(
        typed.split_terminator("\n\n").all(|event| match event.split_once('\n').unwrap() {
            ("event: up", data) => data.strip_prefix("data: ").unwrap().parse::<i64>().is_ok(),
            (name, data) => (name, data) == ("event: done", "data: [1]"),
        }),
        "{typed}"
    );
    // A negative retry time is valid JSON, but an event cannot express it.
    assert_eq!(text("/named").matches("retry: ").count(), 3);
}

/// If the configuration defines an end marker, a generated event stream ends with this marker. Clients use it
/// to detect that the stream is complete.
#[test]
fn event_streams_end_with_the_configured_marker() {
    let document = api(r"
paths:
  /made: { get: { responses: { '200': { description: '', content: { text/event-stream: { schema: { type: integer } } } } } } }
  /listed: { get: { responses: { '200': { description: '', content: { text/event-stream: { schema: { type: integer }, example: [1, 2] } } } } } }
  /lines: { get: { responses: { '200': { description: '', content: { application/jsonl: { schema: { type: integer }, example: [1, 2] } } } } } }
");
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", &document)]).unwrap();
    let mut project = Project::default();
    project.config.streams = toml::from_str("ends = [\"[DONE]\", \"[END]\"]").unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    let mock = MockServer::new(project, contract, 0);
    let text = |path: &str| {
        let body = send(&mock, &format!("GET {path}"), &[], "").into_body();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let generated = text("/made");
    assert_eq!(generated.matches("data: ").count(), 4, "{generated}");
    assert!(generated.ends_with("\n\ndata: [DONE]\n\n"), "{generated}");
    assert_eq!(text("/listed"), "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n");
    assert_eq!(text("/lines"), "1\n2\n");
}

/// An example that contains a whole stream as a string is validated item by item, like a list of items.
#[test]
fn stream_examples_are_validated_item_by_item() {
    let mock = mock_of(&api(r#"
paths:
  /events:
    get:
      responses:
        '200':
          description: ''
          content:
            text/event-stream:
              schema: { type: object, required: [seat], properties: { seat: { type: integer, maximum: 99 } } }
              examples:
                large: { value: "data: {\"seat\": 1}\n\ndata: {\"seat\": 100}\n" }
                broken: { value: "data: {\"seat\":\n" }
                right: { value: "data: {\"seat\": 7}\n" }
  /lines:
    get: { responses: { '200': { description: '', content: { application/jsonl: { schema: { type: integer }, example: "1\n\"no\"\n" } } } } }
"#));
    let events = send(&mock, "GET /events", &[], "");
    assert_eq!(events.body(), "data: {\"seat\": 7}\n\n");
    assert_eq!(events.extensions().get::<MockVerdict>().unwrap().description, "example `right`");
    let large = send(&mock, "GET /events", &["prefer: example=large"], "");
    assert_eq!(large.status(), 501);
    assert!(json(&large).to_string().contains("item 1: /seat: must be at most 99"), "{}", json(&large));
    // The example of `/lines` is invalid, so a generated value is sent instead.
    let lines = String::from_utf8(send(&mock, "GET /lines", &[], "").body().to_vec()).unwrap();
    assert!(lines.lines().all(|line| line.parse::<i64>().is_ok()), "{lines}");
    let rules: Vec<String> = mock.review().invalid_examples.into_iter().map(|(_, rule)| rule).collect();
    assert_eq!(rules.len(), 3, "{rules:?}");
    assert!(rules[0].starts_with("item 1: /seat: must be at most 99"), "{rules:?}");
    assert!(rules[1].starts_with("item 0 is not a JSON document: "), "{rules:?}");
    assert!(rules[2].starts_with("item 1: #: must be an integer"), "{rules:?}");
}

#[test]
fn text_file_and_xml_responses_are_generated() {
    let mock = mock_of(&api(r"
paths:
  /text: { get: { responses: { '200': { description: '', content: { text/plain: { schema: { type: string, pattern: '^[A-Z]{3}-[0-9]{2}$' } } } } } } }
  /looked: { get: { responses: { '200': { description: '', content: { text/plain: { schema: { type: string, pattern: '^(?!no)[a-z]{3}$' } } } } } } }
  /file: { get: { responses: { '200': { description: '', content: { application/pdf: {} } } } } }
  /any: { get: { responses: { '200': { description: '', content: { 'image/*': {} } } } } }
  /xml: { get: { responses: { '200': { description: '', content: { application/xml: { schema: { type: object, xml: { name: pet }, required: [name, toys], properties: { name: { const: 'a<b' }, toys: { type: array, items: { const: 1 }, minItems: 2, maxItems: 2 } } } } } } } } }
  /nothing: { get: { responses: { '204': { description: '', content: { application/json: {} } } } } }
  /silent: { get: { responses: { '404': { description: '' } } } }
  /free: { get: { responses: { '200': { description: '', content: { application/json: {} } } } } }
"));
    let get = |path: &str| send(&mock, &format!("GET {path}"), &[], "");
    let text = String::from_utf8(get("/text").body().to_vec()).unwrap();
    assert!(text.len() == 6 && text.as_bytes()[3] == b'-', "{text}");
    // Generated values match the pattern, although the pattern is not validated.
    let letters = String::from_utf8(get("/looked").body().to_vec()).unwrap();
    assert!(letters.len() == 3 && letters.bytes().all(|byte| byte.is_ascii_lowercase()), "{letters}");
    let file = get("/file");
    assert_eq!((file.body().len(), header(&file, "content-type")), (64, "application/pdf"));
    assert_eq!(header(&get("/any"), "content-type"), "image/png");
    let elements = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<pet><name>a&lt;b</name><toys>1</toys><toys>1</toys></pet>";
    assert_eq!(get("/xml").body(), elements);
    let empty = get("/nothing");
    assert!(empty.status() == 204 && empty.body().is_empty());
    // If the contract has no success response, the mock responds without a body.
    let undeclared = get("/silent");
    assert!(undeclared.status() == 200 && undeclared.body().is_empty());
    assert_eq!(get("/free").body(), "{}");
}

#[test]
fn schemas_without_values_are_reported_with_501() {
    let mock = mock_of(&api(r"
paths:
  /a: { get: { operationId: a, responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Never' } } } } } } }
  /b: { get: { operationId: b, responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Never' } } } } } } }
  /c: { get: { operationId: c, responses: { '200': { description: '', headers: { X-A: { required: true, schema: false } } } } } }
components:
  schemas:
    Never: { type: integer, minimum: 5, maximum: 4 }
"));
    let review = mock.review();
    let [(place, operations)] = review.without_value.as_slice() else { panic!("{review:?}") };
    assert!(place.ends_with("#/components/schemas/Never"), "{place}");
    assert_eq!(operations, &["a", "b"]);
    let detail = assert_rejected(&mock, "GET /a", &[], "", 501, &[]).description;
    assert!(
        detail.contains("no valid value was found for the body of the 200 response")
            && detail.contains("api.yaml:"),
        "{detail}"
    );
    let detail = assert_rejected(&mock, "GET /c", &[], "", 501, &[]).description;
    assert!(detail.contains("the header `X-A`"), "{detail}");
}

/// Malformed requests get error responses that contain a reason, and the server does not panic.
#[test]
fn hostile_requests_are_rejected_without_panics() {
    let mock = tickets();
    let deep = "[".repeat(100_000);
    let nested = format!("{}1{}", "{\"a\":".repeat(3_000), "}".repeat(3_000));
    let long = "a".repeat(100_000);
    let lines = [
        "GET /",
        "GET /%ff",
        "GET /%",
        "GET //",
        "GET /tickets/%2f%00",
        "GET /tickets/..%2f..",
        "GET /tickets?%=%&&==",
        "GET /tickets?filter[age][x]=1&filter[]=2&seats=||||",
        "GET /live/v1",
        "GET /live/v1//tickets",
        "OPTIONS /tickets/",
        "HEAD /tickets?limit=99999999999999999999999999999999",
        "POST /tickets",
        "POST /tickets?key=%zz",
        "TRACE /tickets",
        "GET https://other.example/tickets/abc",
        "OPTIONS *",
        "DELETE /tickets/abc?key",
        "BREW /tickets",
    ];
    let heads: [&[&str]; 10] = [
        &[],
        &[TOKEN],
        &[TOKEN, "content-type: application/json"],
        &[TOKEN, "content-type: application/x-www-form-urlencoded"],
        &[TOKEN, "content-type: multipart/form-data; boundary="],
        &[TOKEN, "content-type: multipart/form-data; boundary=\"b"],
        &[TOKEN, "content-type: text/plain; charset=\u{e4}"],
        &[TOKEN, "content-type: /;=,", "accept: ;q=x, */, q=0", TRACE],
        &[
            TOKEN,
            TRACE,
            "prefer: code=\"404; example=, dynamic=true",
            "origin: \u{e4}",
            "cookie: ;;=;session",
        ],
        &[
            "authorization: Bearer",
            "cookie: sid",
            "prefer: code=99999, example=\"\"",
            "access-control-request-headers: \u{e4}",
        ],
    ];
    let bodies = [
        "",
        "{",
        "\u{0}",
        &deep,
        &nested,
        &long,
        "--b\r\n\r\n--b",
        "--b--",
        "id=%&seat=%ff&=",
        "1e999999999999999999",
        r#"{"id":"\ud800","seat":1e-999999999}"#,
        r#"{"seat":1,"seat":2}"#,
    ];
    for line in lines {
        for head in heads {
            for body in bodies {
                let mut request = Request::new(Bytes::copy_from_slice(body.as_bytes()));
                let (method, target) = line.split_once(' ').unwrap();
                let Ok(uri) = target.parse() else { continue };
                (*request.method_mut(), *request.uri_mut()) = (method.parse().unwrap(), uri);
                for (name, value) in head.iter().map(|line| line.split_once(": ").unwrap()) {
                    let name: http::HeaderName = name.parse().unwrap();
                    request.headers_mut().append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
                }
                let response = mock.respond_to(request);
                let is_problem = header(&response, "content-type") == "application/problem+json";
                if response.status().is_client_error() && method != "HEAD" {
                    assert!(is_problem && json(&response).pointer("/detail").is_some(), "{line} {head:?}");
                }
            }
        }
    }
    let too_large = MockServer::error_response(StatusCode::PAYLOAD_TOO_LARGE, "too much");
    assert_eq!(
        (too_large.status(), json(&too_large).pointer("/detail")),
        (StatusCode::PAYLOAD_TOO_LARGE, Some(&Json::from("too much")))
    );
}

#[test]
fn mock_server_is_send_and_sync() {
    fn shared<T: Send + Sync>() {}
    shared::<MockServer>();
    let mock = tickets();
    assert_eq!(format!("{mock:?}"), "MockServer { operations: 4, seed: 0, .. }");
}
