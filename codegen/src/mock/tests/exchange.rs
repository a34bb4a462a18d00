//! Tests of the validation of exchanges with a live service.

use super::*;

/// Validates an exchange and returns its violations as `side place pointer keyword`, and the reason why the body
/// was not validated. `response` is a status, header lines and a body.
fn verdict(mock: &MockServer, request: Request<Bytes>, response: (u16, &[&str], &str)) -> ExchangeVerdict {
    let (status, head, body) = response;
    let mut response = Response::builder().status(status);
    for (name, value) in head.iter().map(|line| line.split_once(": ").unwrap()) {
        response = response.header(name, value);
    }
    let response = response.body(Ok(Bytes::from(body.to_owned()))).unwrap();
    mock.validate_exchange(&request, Some(&response))
}

fn shown(verdict: &ExchangeVerdict) -> Vec<String> {
    let line = |side: &str, each: &MessageViolation| {
        format!("{side} {} {} {}", each.place, each.pointer, each.keyword)
    };
    let request = verdict.request.iter().map(|each| line("request", each));
    request.chain(verdict.response.iter().map(|each| line("response", each))).collect()
}

const JSON: &str = "content-type: application/json";
const TICKET: &str = r#"{"id":"a-17","seat":17}"#;

#[track_caller]
fn assert_response(line: &str, response: (u16, &[&str], &str), expect: &[&str]) {
    let mock = tickets();
    let found = verdict(&mock, request(line, &[TOKEN, TRACE], ""), response);
    assert_eq!(shown(&found), expect, "{found:?}");
    assert_eq!(found.unvalidated, None);
}

#[test]
fn valid_exchanges_have_no_violations() {
    let list = format!("[{TICKET}]");
    assert_response("GET /tickets", (200, &[JSON, "x-total: 3"], &list), &[]);
    assert_response(
        "GET /tickets",
        (200, &["Content-Type: TEXT/CSV; charset=utf-8", "x-total: 3"], "id"),
        &[],
    );
    assert_response("GET /live/v1/tickets/abc", (200, &[JSON], TICKET), &[]);
    assert_response(
        "GET /tickets/abc",
        (500, &["content-type: application/problem+json"], r#"{"title":""}"#),
        &[],
    );
    // The responses to HEAD and OPTIONS have no described body.
    assert_response("HEAD /tickets/abc", (200, &[JSON, "content-length: 9"], ""), &[]);
    assert_response("OPTIONS /tickets/abc", (200, &[], ""), &[]);
}

#[test]
fn responses_are_validated() {
    assert_response("GET /tickets", (418, &[], ""), &["response status  responses"]);
    assert_response(
        "GET /tickets",
        (200, &["content-type: text/html"], "<p>"),
        &["response header /X-Total required", "response header /content-type content"],
    );
    assert_response("GET /tickets/abc", (200, &[], TICKET), &["response header /content-type required"]);
    assert_response("GET /tickets/abc", (200, &[], ""), &["response body  required"]);
    assert_response(
        "GET /tickets/abc",
        (200, &[JSON], r#"{"id":"a-17","seat":100}"#),
        &["response body /seat maximum"],
    );
    assert_response("GET /tickets/abc", (200, &[JSON], "{"), &["response body  contentMediaType"]);
    // The value of a header has a schema.
    for (total, keyword) in [("x-total: 4", "maximum"), ("x-total: many", "type")] {
        let expect = format!("response header /X-Total {keyword}");
        assert_response("GET /tickets", (200, &[JSON, total], &format!("[{TICKET}]")), &[&expect]);
    }
}

#[test]
fn all_violations_of_requests_are_reported() {
    let mock = tickets();
    let ok: (u16, &[&str], &str) = (200, &[JSON], TICKET);
    let check = |request: Request<Bytes>, expect: &[&str]| {
        let found = mock.validate_exchange(&request, None);
        assert_eq!(shown(&found), expect, "{found:?}");
    };
    check(
        request("GET /tickets/a", &[], ""),
        &["request credentials  security", "request path /id minLength"],
    );
    check(
        request("POST /tickets", &[TOKEN, "content-type: a/b"], "x"),
        &["request header /content-type content"],
    );
    check(request("POST /tickets", &[TOKEN], ""), &["request body  required"]);
    check(request("POST /tickets", &[TOKEN, JSON], r#"{"id":"abc"}"#), &["request body /seat required"]);
    check(request("PATCH /tickets", &[], ""), &["request method  paths"]);
    // A response to an undeclared request has no description.
    let undeclared = verdict(&mock, request("GET /seats", &[], ""), ok);
    assert_eq!(
        (undeclared.operation.as_deref(), shown(&undeclared)),
        (None, vec!["request path  paths".to_owned()])
    );
}

#[test]
fn items_of_streams_are_validated() {
    let mock = mock_of(
        &api(r"
paths:
  /events:
    get:
      responses:
        '200':
          description: All.
          content: { application/jsonl: { itemSchema: { type: object, required: [id] } } }
")
        .replace("3.1.0", "3.2.0"),
    );
    let found = verdict(
        &mock,
        request("GET /events", &[], ""),
        (200, &["content-type: application/jsonl"], "{\"id\":1}\n{}\n"),
    );
    assert_eq!(shown(&found), ["response body /1/id required"]);
}

/// A body that cannot be validated is neither valid nor a violation.
#[test]
fn unavailable_bodies_are_not_validated() {
    let mock = tickets();
    let compressed = (200, &[JSON, "content-encoding: br"][..], "x");
    let found = verdict(&mock, request("GET /tickets/abc", &[TOKEN], ""), compressed);
    assert_eq!((shown(&found), found.unvalidated.as_deref()), (Vec::new(), Some("it is encoded as br")));
    let cut = Response::builder().status(200).header("content-type", "application/json");
    let cut = cut.body(Err("it was cut off".to_owned())).unwrap();
    let found = mock.validate_exchange(&request("GET /tickets/abc", &[TOKEN], ""), Some(&cut));
    assert_eq!((shown(&found), found.unvalidated.as_deref()), (Vec::new(), Some("it was cut off")));
}

/// Messages never contain values of a request or a response, which may be secrets.
#[test]
fn messages_contain_no_values() {
    let mock = tickets();
    let secret = "s3cret";
    let typed = [JSON, "authorization: s3cret", "x-trace: s3cret", "cookie: session=s3", "x-total: s3cret"];
    for line in
        ["GET /tickets?limit=s3cret&seats=s3cret&filter[age]=s3cret&s3cret%f", "POST /tickets?s3cret%zz=%zz"]
    {
        for body in
            [r#"{"id":"s3cret s3cret s3cret s3cret s3cret s3cret","seat":"s3cret"}"#, "s3cret", r#""s3cret"#]
        {
            let found = verdict(&mock, request(line, &typed, body), (200, &typed, body));
            let all = found.request.iter().chain(&found.response);
            let messages: Vec<&str> = all.map(|each| each.message.as_str()).collect();
            assert!(
                !messages.is_empty() && messages.iter().all(|each| !each.contains(secret)),
                "{messages:?}"
            );
        }
    }
}
