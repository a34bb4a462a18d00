//! Tests of the mock server: responses, error responses and verdicts.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

mod every;
mod sought;

use contract_codegen_core::load::Sources;
use contract_runtime::Json;

use super::*;

/// Creates the mock server for one document.
fn mock_of(document: &str) -> MockServer {
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", document)]).unwrap();
    let project = Project::default();
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    MockServer::new(project, contract, 0)
}

/// Returns a document with these paths and components.
fn api(paths: &str) -> String {
    format!("openapi: 3.1.0\ninfo: {{ title: Tickets, version: '1' }}\n{paths}")
}

fn tickets() -> MockServer {
    mock_of(&api(TICKETS))
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
          multipart/form-data: { schema: { $ref: '#/components/schemas/Ticket' } }
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

/// Builds a request from `GET /tickets`, header lines and a body.
fn request(line: &str, head: &[&str], body: &str) -> Request<Bytes> {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in head.iter().map(|line| line.split_once(": ").unwrap()) {
        request = request.header(name, value);
    }
    request.body(Bytes::from(body.to_owned())).unwrap()
}

fn asked(mock: &MockServer, line: &str, head: &[&str], body: &str) -> Response<Bytes> {
    mock.respond_to(request(line, head, body))
}

fn json(response: &Response<Bytes>) -> Json {
    Json::parse(response.body()).unwrap_or_else(|error| panic!("{error}: {:?}", response.body()))
}

fn header<'r>(response: &'r Response<Bytes>, name: &str) -> &'r str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

/// Returns the status and the violations: place, pointer, keyword.
#[track_caller]
fn refused(
    mock: &MockServer,
    line: &str,
    head: &[&str],
    body: &str,
    status: u16,
    expect: &[&str],
) -> MockVerdict {
    let response = asked(mock, line, head, body);
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
    let told = problem.pointer("/violations").and_then(Json::as_array).map_or(0, <[Json]>::len);
    assert_eq!(told, expect.len(), "{problem}");
    verdict
}

const TOKEN: &str = "authorization: Bearer any";
const TRACE: &str = "x-trace: 0abc";

#[test]
fn a_valid_example_goes_before_what_is_made_and_a_broken_one_is_never_sent() {
    let mock = tickets();
    let body = r#"{"id":"new","seat":4}"#;
    let typed = "content-type: application/json";
    let booked = asked(&mock, "POST /tickets", &[TOKEN, typed], body);
    assert_eq!((booked.status().as_u16(), booked.body().as_ref()), (201, &br#"{"id":"a-17","seat":17}"#[..]));
    assert_eq!(booked.extensions().get::<MockVerdict>().unwrap().description, "example `window`");
    let named = |name: &str| {
        let prefer = format!("prefer: example={name}");
        asked(&mock, "POST /tickets", &[TOKEN, typed, &prefer], body)
    };
    let aisle = named("aisle");
    assert_eq!(json(&aisle).to_string(), r#"{"id":"a-2","seat":2}"#);
    assert_eq!(header(&aisle, "preference-applied"), "example=\"aisle\"");
    let broken = named("broken");
    assert_eq!(broken.status(), 501);
    assert!(json(&broken).to_string().contains("/seat: maximum"), "{}", json(&broken));
    let none = named("none");
    assert_eq!(none.status(), 404);
    assert!(json(&none).to_string().contains("`broken`, `window`, `aisle`"), "{}", json(&none));
    let review = mock.review();
    assert!(review.without_value.is_empty(), "{review:?}");
    let [(place, rule)] = review.invalid_examples.as_slice() else { panic!("{review:?}") };
    assert!(place.starts_with("api.yaml:") && place.ends_with("/examples/broken/value"), "{place}");
    assert!(rule.contains("/seat: maximum"), "{rule}");
}

#[test]
fn what_is_made_is_valid_rich_and_the_same_for_the_same() {
    let mock = tickets();
    let read = |path: &str, head: &[&str]| json(&asked(&mock, path, &[&[TOKEN], head].concat(), ""));
    let first = read("GET /tickets/abc", &[]);
    assert!(first.pointer("/paid").is_some() && first.pointer("/class").is_some(), "{first}");
    // `writeOnly` properties are not part of responses.
    assert!(first.pointer("/secret").is_none(), "{first}");
    assert_eq!(first, read("GET /tickets/abcd", &[]));
    let other = MockServer::new(
        Project::default(),
        {
            let sources =
                Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", &api(TICKETS))]).unwrap();
            Project::default().analyze_sources(sources).unwrap()
        },
        1,
    );
    assert_ne!(first, json(&asked(&other, "GET /tickets/abc", &[TOKEN], "")));
    // Generated for this request; each response is valid.
    let dynamic = ["prefer: dynamic=true"];
    let many: Vec<Json> = (0..40).map(|n| read(&format!("GET /tickets/abc-{n}"), &dynamic)).collect();
    assert_eq!(many[7], read("GET /tickets/abc-7", &dynamic));
    let ticket =
        mock.contract.graph.ids().find(|id| mock.contract.graph.absolute_location(*id).ends_with("/Ticket"));
    for each in &many {
        assert!(mock.tables.is_valid(ticket.unwrap(), each), "{each}");
    }
    assert!(many.iter().any(|each| each != &many[0]));
}

#[test]
fn a_status_can_be_asked_for() {
    let mock = tickets();
    let of = |code: &str| asked(&mock, "GET /tickets/abc", &[TOKEN, &format!("prefer: code={code}")], "");
    let gone = of("404");
    assert_eq!((gone.status().as_u16(), gone.body().as_ref()), (404, &br#"{"gone":true}"#[..]));
    assert_eq!(header(&gone, "content-type"), "application/json");
    // `default` describes all statuses without an entry.
    let default = of("503");
    assert_eq!(
        (default.status().as_u16(), header(&default, "content-type")),
        (503, "application/problem+json")
    );
    assert!(json(&default).pointer("/title").is_some());
    let none = asked(&mock, "POST /tickets", &[TOKEN, "prefer: code=418", "content-type: text/plain"], "x");
    assert_eq!(none.status(), 404);
    assert!(json(&none).to_string().contains("201, 202"), "{}", json(&none));
}

/// A response does not depend on previous requests.
#[test]
fn one_entry_of_several_statuses_is_made_for_each() {
    let of = |mock: &MockServer, code: u16| {
        let prefer = format!("prefer: code={code}");
        asked(mock, "GET /tickets/abc", &[TOKEN, &prefer], "").into_body()
    };
    let (one, other) = (tickets(), tickets());
    let (first, second) = (of(&one, 503), of(&one, 500));
    assert_eq!((of(&other, 500), of(&other, 503)), (second, first));
}

#[test]
fn media_types_and_headers_of_the_answer_are_the_contracts() {
    let mock = tickets();
    let list = asked(&mock, "GET /tickets", &[TRACE], "");
    assert_eq!((list.status().as_u16(), header(&list, "content-type")), (200, "application/json"));
    assert_eq!((header(&list, "x-total"), header(&list, "x-more")), ("3", ""));
    assert!(!json(&list).as_array().unwrap().is_empty());
    let csv = asked(&mock, "GET /tickets", &[TRACE, "accept: text/csv, application/json;q=0.1"], "");
    assert_eq!((header(&csv, "content-type"), csv.body().as_ref()), ("text/csv", &b"id,seat"[..]));
    let none = refused(&mock, "GET /tickets", &[TRACE, "accept: image/png"], "", 406, &[]);
    assert_eq!(none.operation.as_deref(), Some("listTickets"));
}

#[test]
fn paths_begin_as_the_servers_say_or_without() {
    let mock = tickets();
    for path in ["/tickets/abc", "/live/v1/tickets/abc", "/live/v1/tickets/abc?x=1"] {
        let line = format!("GET {path}");
        assert_eq!(asked(&mock, &line, &[TOKEN], "").status(), 200, "{path}");
    }
    for path in ["/v1/tickets/abc", "/live/v1", "/tickets/", "/tickets/a/b", "/live/v1tickets"] {
        let verdict = refused(&mock, &format!("GET {path}"), &[TOKEN], "", 404, &[]);
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
fn methods_of_a_path_are_told() {
    let mock = tickets();
    let wrong = asked(&mock, "PUT /tickets/abc", &[TOKEN], "");
    assert_eq!((wrong.status().as_u16(), header(&wrong, "allow")), (405, "DELETE, GET, HEAD"));
    let asked_for = asked(&mock, "OPTIONS /tickets/abc", &[], "");
    assert_eq!((asked_for.status().as_u16(), header(&asked_for, "allow")), (204, "DELETE, GET, HEAD"));
    let browser = [
        "origin: https://app.example",
        "access-control-request-method: DELETE",
        "access-control-request-headers: x-a",
    ];
    let preflight = asked(&mock, "OPTIONS /tickets/abc", &browser, "");
    for (name, value) in [
        ("access-control-allow-origin", "https://app.example"),
        ("access-control-allow-methods", "DELETE, GET, HEAD"),
        ("access-control-allow-headers", "x-a"),
        ("vary", "Origin"),
    ] {
        assert_eq!(header(&preflight, name), value, "{name}");
    }
    let head = asked(&mock, "HEAD /tickets/abc", &[TOKEN], "");
    let get = asked(&mock, "GET /tickets/abc", &[TOKEN], "");
    assert!(head.body().is_empty() && head.status() == 200);
    assert_eq!(header(&head, "content-length"), get.body().len().to_string());
}

#[test]
fn credentials_have_to_be_there_and_are_worth_anything() {
    let mock = tickets();
    let bare = asked(&mock, "GET /tickets/abc", &[], "");
    assert_eq!((bare.status().as_u16(), header(&bare, "www-authenticate")), (401, "Bearer"));
    for (head, status) in [
        (&["authorization: bearer x"][..], 200),
        (&["authorization: DPoP x"], 200),
        (&["authorization: Basic x"], 401),
        (&["authorization: Bearer "], 401),
    ] {
        assert_eq!(asked(&mock, "GET /tickets/abc", head, "").status(), status, "{head:?}");
    }
    for (line, head, status) in [
        ("DELETE /tickets/abc?key=1", &[][..], 204),
        ("DELETE /tickets/abc?keys=1", &[], 401),
        ("DELETE /tickets/abc", &["cookie: a=1; sid=2", "authorization: Basic x"], 204),
        ("DELETE /tickets/abc", &["cookie: sid=2"], 401),
    ] {
        assert_eq!(asked(&mock, line, head, "").status(), status, "{line} {head:?}");
    }
    let words = refused(&mock, "DELETE /tickets/abc", &[], "", 401, &[]).description;
    assert!(words.contains("`key`, or `session` with `basic`"), "{words}");
}

#[test]
fn parameters_are_read_by_their_styles_and_judged_all_together() {
    let mock = tickets();
    let fine = "GET /tickets?limit=50&seats=1%7C2&filter%5Bage%5D=7";
    assert_eq!(asked(&mock, fine, &[TRACE, "cookie: session=abc"], "").status(), 200);
    let wrong = "GET /tickets?limit=51&seats=1%7Cx&filter%5Bage%5D=old";
    let verdict = refused(
        &mock,
        wrong,
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
    assert_eq!(age.message, "must be the value that the schema requires");
    assert_eq!(trace.message, "is required");
    assert_eq!(session.message, "has too few characters: at least 3");
    refused(&mock, "GET /tickets/ab", &[TOKEN], "", 400, &["path /id minLength"]);
    refused(&mock, "GET /tickets?=1", &[TRACE], "", 400, &["query  propertyNames"]);
}

#[test]
fn bodies_are_judged_in_every_form() {
    let mock = tickets();
    let book = |media: &str, body: &str, expect: &[&str]| {
        let typed = format!("content-type: {media}");
        if expect.is_empty() {
            let response = asked(&mock, "POST /tickets", &[TOKEN, &typed], body);
            assert_eq!(response.status(), 201, "{:?}", response.body());
            return MockVerdict { operation: None, description: String::new(), violations: Vec::new() };
        }
        refused(&mock, "POST /tickets", &[TOKEN, &typed], body, 400, expect)
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
    book("text/plain", "short", &[]);
    book("text/plain", "longer", &["body  maxLength"]);
    let wrong = asked(&mock, "POST /tickets", &[TOKEN, "content-type: image/png"], "x");
    assert_eq!(wrong.status(), 415);
    assert!(header(&wrong, "accept").contains("text/plain"));
    refused(&mock, "POST /tickets", &[TOKEN], "x", 415, &[]);
    refused(&mock, "POST /tickets", &[TOKEN], "", 400, &["body  required"]);
}

/// Violations of parameters and body are reported together.
#[test]
fn path_and_body_are_refused_together() {
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
    assert_eq!(asked(&mock, "PUT /;a=1/.1.2", &[json], "3").status(), 204);
    // An optional body may be missing.
    assert_eq!(asked(&mock, "PUT /;a=1/.1.2", &[], "").status(), 204);
    refused(&mock, "PUT /;a=x/.1", &[json], "\"x\"", 400, &["path /a type", "body  type"]);
}

/// Stream items are validated as in generated servers and command-line programs, with and without
/// `[streams]`.
#[test]
fn each_item_of_a_body_is_judged() {
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
    assert_eq!(asked(&mock, "POST /batches", lines, "{\"x\":1}\n{\"x\":2}\n").status(), 204);
    let broken = "{\"x\":1}\n{\"x\":\"no\"}\nnonsense\n{}\n";
    let expect = &["body /1/x type", "body /2 contentMediaType", "body /3/x required"];
    let verdict = refused(&mock, "POST /batches", lines, broken, 400, expect);
    assert!(verdict.violations[1].message.starts_with("is not a JSON document: "), "{verdict:?}");
    let records = &["content-type: application/json-seq"][..];
    assert_eq!(asked(&mock, "POST /batches", records, "\u{1e}1\n\u{1e}2\n").status(), 204);
    let expect = &["body /1 type", "body /2 contentMediaType"];
    refused(&mock, "POST /batches", records, "\u{1e}1\n\u{1e}[]\n\u{1e}12", 400, expect);
    let events = &["content-type: text/event-stream"][..];
    assert_eq!(asked(&mock, "POST /batches", events, "event: a\ndata: hi\n\n").status(), 204);
    let expect = &["body /0/event enum", "body /1/data maxLength"];
    refused(&mock, "POST /batches", events, "event: c\ndata: hi\n\nevent: b\ndata: high\n\n", 400, expect);
}

#[test]
fn streams_are_some_items_and_end() {
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
        let response = asked(&mock, &format!("GET {path}"), &[], "");
        assert_eq!(response.status(), 200);
        String::from_utf8(response.body().to_vec()).unwrap()
    };
    let events = text("/events");
    assert_eq!(events.matches("event: tick\n").count(), 3, "{events}");
    assert!(events.contains("data: ") && events.ends_with("\n\n"), "{events}");
    assert_eq!(text("/told"), "data: hi\n\n");
    // WHATWG HTML, 9.2.6: with an empty `data` it is an event, and without `data` none.
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
    // A negative retry time is valid JSON but cannot be expressed in an event.
    assert_eq!(text("/named").matches("retry: ").count(), 3);
}

/// A stream ends with the configured end marker, so that a client knows that it is complete.
#[test]
fn events_of_json_end_as_they_are_declared_to() {
    let document = api(r"
paths:
  /made: { get: { responses: { '200': { description: '', content: { text/event-stream: { schema: { type: integer } } } } } } }
  /listed: { get: { responses: { '200': { description: '', content: { text/event-stream: { schema: { type: integer }, example: [1, 2] } } } } } }
  /lines: { get: { responses: { '200': { description: '', content: { application/jsonl: { schema: { type: integer }, example: [1, 2] } } } } } }
");
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", &document)]).unwrap();
    let mut project = Project::default();
    project.config.streams = Some(toml::from_str("ends = [\"[DONE]\", \"[END]\"]").unwrap());
    let contract = project.analyze_sources(sources).unwrap();
    let mock = MockServer::new(project, contract, 0);
    let text = |path: &str| {
        let body = asked(&mock, &format!("GET {path}"), &[], "").into_body();
        String::from_utf8(body.to_vec()).unwrap()
    };
    let made = text("/made");
    assert_eq!(made.matches("data: ").count(), 4, "{made}");
    assert!(made.ends_with("\n\ndata: [DONE]\n\n"), "{made}");
    assert_eq!(text("/listed"), "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n");
    assert_eq!(text("/lines"), "1\n2\n");
}

/// An example that is the text of a whole stream is validated item by item, like a list of items.
#[test]
fn a_stream_that_is_written_out_is_judged_by_its_items() {
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
    let events = asked(&mock, "GET /events", &[], "");
    assert_eq!(events.body(), "data: {\"seat\": 7}\n\n");
    assert_eq!(events.extensions().get::<MockVerdict>().unwrap().description, "example `right`");
    let large = asked(&mock, "GET /events", &["prefer: example=large"], "");
    assert_eq!(large.status(), 501);
    assert!(json(&large).to_string().contains("item 1: /seat: maximum"), "{}", json(&large));
    // The invalid example is replaced by a generated value.
    let lines = String::from_utf8(asked(&mock, "GET /lines", &[], "").body().to_vec()).unwrap();
    assert!(lines.lines().all(|line| line.parse::<i64>().is_ok()), "{lines}");
    let rules: Vec<String> = mock.review().invalid_examples.into_iter().map(|(_, rule)| rule).collect();
    assert_eq!(rules.len(), 3, "{rules:?}");
    assert!(rules[0].starts_with("item 1: /seat: maximum"), "{rules:?}");
    assert!(rules[1].starts_with("item 0 is not a JSON document: "), "{rules:?}");
    assert!(rules[2].starts_with("item 1: /: type"), "{rules:?}");
}

#[test]
fn text_files_and_elements_are_made() {
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
    let get = |path: &str| asked(&mock, &format!("GET {path}"), &[], "");
    let text = String::from_utf8(get("/text").body().to_vec()).unwrap();
    assert!(text.len() == 6 && text.as_bytes()[3] == b'-', "{text}");
    // Values match the pattern, although it is not validated.
    let looked = String::from_utf8(get("/looked").body().to_vec()).unwrap();
    assert!(looked.len() == 3 && looked.bytes().all(|byte| byte.is_ascii_lowercase()), "{looked}");
    let file = get("/file");
    assert_eq!((file.body().len(), header(&file, "content-type")), (64, "application/pdf"));
    assert_eq!(header(&get("/any"), "content-type"), "image/png");
    let elements = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<pet><name>a&lt;b</name><toys>1</toys><toys>1</toys></pet>";
    assert_eq!(get("/xml").body(), elements);
    let nothing = get("/nothing");
    assert!(nothing.status() == 204 && nothing.body().is_empty());
    // Without a success response in the contract, the mock answers without a body.
    let silent = get("/silent");
    assert!(silent.status() == 200 && silent.body().is_empty());
    assert_eq!(get("/free").body(), "{}");
}

#[test]
fn what_has_no_value_is_said_and_answered_with_501() {
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
    let words = refused(&mock, "GET /a", &[], "", 501, &[]).description;
    assert!(
        words.contains("no valid value was found for the body of the 200 response")
            && words.contains("api.yaml:"),
        "{words}"
    );
    let words = refused(&mock, "GET /c", &[], "", 501, &[]).description;
    assert!(words.contains("the header `X-A`"), "{words}");
}

/// Every request is answered, and error responses have a reason.
#[test]
fn hostile_requests_are_refused_and_break_nothing() {
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
    let refused = MockServer::error_response(StatusCode::PAYLOAD_TOO_LARGE, "too much");
    assert_eq!(
        (refused.status(), json(&refused).pointer("/detail")),
        (StatusCode::PAYLOAD_TOO_LARGE, Some(&Json::from("too much")))
    );
}

#[test]
fn a_mock_can_be_shared_by_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<MockServer>();
    let mock = tickets();
    assert_eq!(format!("{mock:?}"), "Mock { operations: 4, seed: 0, .. }");
}
