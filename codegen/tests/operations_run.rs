//! Tests that call the generated server of the case `operations_all` with its generated client in one
//! process, with every kind of parameter, body and response. The generated code is compiled with warnings as
//! errors.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[path = "operations_run/idempotency_keys.rs"]
pub mod idempotency_keys;
#[path = "operations_run/round_trip.rs"]
mod round_trip;
#[path = "harness/split_mix.rs"]
mod split_mix;
#[path = "operations_run/stored.rs"]
mod stored;
#[path = "harness/texts.rs"]
mod texts;
#[path = "operations_run/wire.rs"]
pub mod wire;

#[rustfmt::skip]
#[path = "cases/operations_all/expected/responses.rs"]
pub mod responses;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/bodies.rs"]
pub mod bodies;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/types.rs"]
pub mod types;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/webhook_calls.rs"]
pub mod webhook_calls;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/webhook_client.rs"]
pub mod webhook_client;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/webhook_server.rs"]
pub mod webhook_server;
#[rustfmt::skip]
#[path = "cases/operations_all/expected/webhooks.rs"]
pub mod webhooks;

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use bodies::{FilePart, MultipartField, NoteBody, UploadForm};
use calls::{FindOptions, NoteOptions};
use client::{Client, Error};
use contract_runtime::{
    Contract, Json,
    client::UnexpectedReason,
    multipart::Bytes,
    operation::{Operation, TypedBytes},
    server::{self as runtime, Rejection, Response, Router, RouterOptions, StatusCode},
    transport::{ByteStream, ResponseFuture, Transport},
};
use responses::{JobResponse, ProblemOrTextOrWait as JobError};
use serde::Serialize;
use tower::ServiceExt;

/// A transport that records requests and passes them to a router.
#[derive(Clone)]
struct InProcess(Router, Arc<Mutex<Vec<http::Request<Bytes>>>>);

impl Transport for InProcess {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        self.1.lock().unwrap().push(request.clone());
        let router = self.0.clone();
        Box::pin(async move {
            let response = router.oneshot(request.map(axum::body::Body::from)).await.unwrap();
            let (parts, body) = response.into_parts();
            let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            Ok(http::Response::from_parts(parts, bytes))
        })
    }
}

/// Polls a call to completion. No test waits for I/O.
fn run<T>(call: impl Future<Output = T>) -> T {
    let mut call = pin!(call);
    for _ in 0..100 {
        if let Poll::Ready(value) = call.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return value;
        }
    }
    panic!("pending")
}

fn json(value: &impl Serialize) -> Json {
    Json::parse(&serde_json::to_vec(value).unwrap()).unwrap()
}

fn read<T: Contract>(text: &str) -> T {
    T::parse(text.as_bytes()).unwrap()
}

fn problem(code: &str) -> types::Problem {
    read(&format!(r#"{{"code":"{code}"}}"#))
}

fn rejection_response(rejection: &Rejection) -> Response {
    let found = rejection.violations().into_iter().map(|f| format!("{} {}", f.pointer, f.keyword));
    let found: Vec<String> = found.collect();
    let mut response = Response::new(format!("{rejection}: {}", found.join(", ")).into());
    *response.status_mut() = StatusCode::from_u16(rejection.status()).unwrap();
    response
}

struct Echo;

impl server::Service for Echo {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejection_response(&rejection)
    }

    async fn find(
        &self,
        call: calls::FindCall,
        _: runtime::RequestContext,
    ) -> Result<Vec<Json>, runtime::ErrorResponse<()>> {
        let calls::FindCall { ids, range, tags, options } = call;
        Ok(vec![
            json(&ids),
            json(&range),
            json(&tags),
            json(&options.joined),
            json(&options.piped),
            json(&options.spaced),
            json(&options.filter),
            json(&options.range2),
            json(&options.sku),
            json(&options.workflow),
            json(&options.address),
            json(&options.where_),
            json(&options.x_parts),
            json(&options.session),
            json(&options.seen),
        ])
    }

    async fn job(
        &self,
        call: calls::JobCall,
        _: runtime::RequestContext,
    ) -> Result<JobResponse, runtime::ErrorResponse<JobError>> {
        let wait = || read(r#"{"seconds":7}"#);
        let refuse = |status: u16, problem| {
            Err(runtime::ErrorResponse::new(StatusCode::from_u16(status).unwrap(), problem))
        };
        match call.id.as_str() {
            "json" => Ok(JobResponse::OkJson(read(r#"{"id":"json"}"#))),
            "csv" => Ok(JobResponse::OkCsv("id\ncsv".to_owned())),
            "wait" => Ok(JobResponse::Accepted(wait())),
            "none" => Ok(JobResponse::NoContent),
            "404" => refuse(404, JobError::Problem(problem("GONE"))),
            "409" => refuse(409, JobError::Wait(wait())),
            "418" => refuse(418, JobError::Text("short and stout".to_owned())),
            _ => refuse(503, JobError::Problem(problem("BUSY"))),
        }
    }

    async fn upload(
        &self,
        call: calls::UploadCall,
        _: runtime::RequestContext,
    ) -> Result<String, runtime::ErrorResponse<()>> {
        let UploadForm { title, size, tags, meta, file, more, others } = call.body;
        let file = (file.bytes.to_vec(), file.name, file.media_type);
        let more: Vec<_> = more.iter().map(|file| (file.bytes.len(), file.media_type.clone())).collect();
        let others: Vec<_> = others.iter().map(|field| field.name.clone()).collect();
        let meta = meta.map(|meta| json(&meta).to_string());
        Ok(format!("{title:?} {size:?} {tags:?} {meta:?} {file:?} {more:?} {others:?}"))
    }

    async fn note(
        &self,
        call: calls::NoteCall,
        _: runtime::RequestContext,
    ) -> Result<String, runtime::ErrorResponse<()>> {
        let undeclared = runtime::FromIncomingRequest::undeclared_members(&call, 9);
        Ok(match call.options.body {
            None => "nothing".to_owned(),
            Some(NoteBody::Json(note)) => format!("note {} {undeclared:?}", json(&note)),
            Some(NoteBody::Plain(text)) => format!("text {text}"),
            Some(NoteBody::Image(image)) => format!("{image:?}"),
        })
    }

    async fn form(
        &self,
        call: calls::FormCall,
        _: runtime::RequestContext,
    ) -> Result<types::Note, runtime::ErrorResponse<()>> {
        Ok(call.body)
    }

    async fn bytes(
        &self,
        call: calls::BytesCall,
        _: runtime::RequestContext,
    ) -> Result<ByteStream, server::ErrorResponse> {
        Ok(call.body.into())
    }
}

type SentRequests = Arc<Mutex<Vec<http::Request<Bytes>>>>;

fn echo_client() -> (Client, SentRequests) {
    let sent = SentRequests::default();
    let router = server::router(Arc::new(Echo), RouterOptions::default());
    (Client::new("https://exchange.example", InProcess(router, Arc::clone(&sent))), sent)
}

#[test]
fn parameters_of_every_location_and_style_arrive() {
    let (client, sent) = echo_client();
    let range: types::Range = read(r#"{"from":-1.50,"until":"a.b;c=d/e"}"#);
    let filter: types::Filter = read(r#"{"name":"é [x]","ages":[1,2],"range":{"from":2}}"#);
    let list = types::FindSku::List(vec!["a".to_owned(), "b,c".to_owned()]);
    let number = types::FindWorkflow::Integer(7);
    let options = FindOptions::new()
        .joined(["p,q", "r s"])
        .piped(vec![1, -2])
        .spaced(["ä", "b+c"])
        .filter(filter.clone())
        .range2(range.clone())
        .sku(list.clone())
        .workflow(number.clone())
        .address("https://a.example/?b=c&d#e")
        .where_(filter.clone())
        .x_parts(["one", "two three"])
        .session("s=1; t")
        .seen(vec![3, 4]);
    let response = run(client.find(&["a,b", "c/d"], &range, &["x", "", "y;z"], options)).unwrap();
    let expect = [
        json(&["a,b", "c/d"]),
        json(&range),
        json(&["x", "", "y;z"]),
        json(&["p,q", "r s"]),
        json(&[1, -2]),
        json(&["ä", "b+c"]),
        json(&filter),
        json(&range),
        json(&list),
        json(&number),
        json(&"https://a.example/?b=c&d#e"),
        json(&filter),
        json(&["one", "two three"]),
        json(&"s=1; t"),
        json(&[3, 4]),
    ];
    assert_eq!(*response, expect);
    let request = sent.lock().unwrap().remove(0);
    let uri = request.uri().to_string();
    assert!(
        uri.contains("/find/a%2Cb,c%2Fd/.from=-1%2E50.until=a%2Eb%3Bc%3Dd%2Fe/;tags=x;tags;tags=y%3Bz?"),
        "{uri}"
    );
    assert!(uri.contains("joined=p%2Cq,r%20s&piped=1%7C-2&spaced=%C3%A4%20b%2Bc&filter%5Bname%5D="), "{uri}");
    assert!(
        uri.contains("sku=a&sku=b%2Cc&workflow=7&address=https://a.example/?b=c%26d%23e&where=%7B"),
        "{uri}"
    );
    assert_eq!(request.headers()["cookie"], "session=s%3D1%3B%20t; seen=3; seen=4");

    let one = types::FindSku::Text("x,y".to_owned());
    let name = types::FindWorkflow::Text("ci.yml".to_owned());
    let call = client.find(&["a"], &range, &["b"], FindOptions::new().sku(one).workflow(name));
    let body = run(call).unwrap().into_body();
    let omitted = [3, 4, 5, 6, 7, 10, 11, 12, 13, 14];
    assert!(omitted.iter().all(|&index| body[index].is_null()), "{body:?}");
    assert_eq!((&body[8], &body[9]), (&json(&"x,y"), &json(&"ci.yml")));
}

/// Arguments are not sent if they cannot be serialized or violate their schema.
#[test]
fn invalid_arguments_are_not_sent() {
    let (client, sent) = echo_client();
    let range: types::Range = read(r#"{"from":1}"#);
    let long = types::FindSku::Text("x".repeat(21));
    let options = FindOptions::new().joined([""]).spaced(["a b"]).sku(long).x_parts(["a,b"]);
    let call = client.find(&[] as &[&str], &range, &["b"], options);
    let Err(Error::InvalidRequest(violations)) = run(call) else { panic!("sent") };
    let found: Vec<String> = violations.iter().map(|v| format!("{} {}", v.pointer, v.keyword)).collect();
    for expect in ["/ids style", "/joined/0 style", "/spaced/0 style", "/X-Parts/0 style"] {
        assert!(found.iter().any(|each| each == expect), "{expect} in {found:?}");
    }
    assert!(found.iter().any(|each| each.starts_with("/sku")), "{found:?}");
    assert!(sent.lock().unwrap().is_empty());
}

#[test]
fn each_response_has_its_own_type() {
    let (client, _) = echo_client();
    let job = |id: &str| run(client.job(id));
    assert_eq!(job("json").unwrap().into_body(), JobResponse::OkJson(read(r#"{"id":"json"}"#)));
    assert_eq!(job("csv").unwrap().into_body(), JobResponse::OkCsv("id\ncsv".to_owned()));
    let wait = job("wait").unwrap();
    assert_eq!(
        (wait.status().as_u16(), wait.into_body()),
        (202, JobResponse::Accepted(read(r#"{"seconds":7}"#)))
    );
    assert_eq!(job("none").unwrap().into_body(), JobResponse::NoContent);
    let assert_error = |id: &str, status: u16, body: JobError| {
        let error = job(id).unwrap_err();
        assert_eq!((error.status().unwrap().as_u16(), error.body()), (status, Some(&body)));
    };
    assert_error("404", 404, JobError::Problem(problem("GONE")));
    assert_error("409", 409, JobError::Wait(read(r#"{"seconds":7}"#)));
    assert_error("418", 418, JobError::Text("short and stout".to_owned()));
    assert_error("500", 503, JobError::Problem(problem("BUSY")));
}

/// The error for an unexpected response of a proxy contains the status, the headers and the body.
#[test]
fn proxy_errors_preserve_status_headers_and_body() {
    let page = || async {
        let headers = [("content-type", "text/html"), ("retry-after", "9")];
        (StatusCode::BAD_GATEWAY, headers, "<html>busy</html>")
    };
    let client = Client::new(
        "https://exchange.example",
        InProcess(Router::new().fallback(page), SentRequests::default()),
    );
    let error = run(client.job("json")).unwrap_err();
    assert_eq!((error.header("retry-after"), error.body()), (Some("9"), None));
    let Error::UnexpectedResponse(page) = error else { panic!("{error}") };
    assert_eq!((page.status().as_u16(), page.reason()), (502, &UnexpectedReason::MediaType));
    assert_eq!(page.into_body(), "<html>busy</html>");
}

#[test]
fn parts_and_files_arrive() {
    let (client, sent) = echo_client();
    let mut form = UploadForm::new(
        "Ä \"title\"\r\n".to_owned(),
        FilePart::new("a \"b\".png", vec![0, 13, 10, 45, 45, 255]),
    );
    form.size = Some(12);
    form.tags = Some(vec!["x".to_owned(), String::new()]);
    form.meta = Some(read(r#"{"ages":[1]}"#));
    form.more = vec![FilePart::from("one"), FilePart::from("three").with_media_type("image/gif")];
    form.others.push(MultipartField { name: "note".to_owned(), file: FilePart::from("kept") });
    let response = run(client.upload(&form)).unwrap();
    assert_eq!(
        response.into_body(),
        "\"Ä \\\"title\\\"\\r\\n\" Some(12) Some([\"x\", \"\"]) Some(\"{\\\"ages\\\":[1]}\") \
         ([0, 13, 10, 45, 45, 255], Some(\"a \\\"b\\\".png\"), Some(\"image/png\")) \
         [(3, Some(\"application/octet-stream\")), (5, Some(\"image/gif\"))] [\"note\"]"
    );
    let head = sent.lock().unwrap().remove(0);
    assert!(head.headers()["content-type"].to_str().unwrap().starts_with("multipart/form-data; boundary="));

    // Constraints also apply to parts, such as `maxLength` of a file and `maxItems` of a list.
    form.file = FilePart::from(vec![200; 17]);
    form.tags = Some(vec!["x".to_owned(); 4]);
    let Err(Error::InvalidRequest(violations)) = run(client.upload(&form)) else { panic!("sent") };
    let found: Vec<String> = violations.iter().map(|v| format!("{} {}", v.pointer, v.keyword)).collect();
    assert_eq!(found, ["/file maxLength", "/tags maxItems"]);
    // If the client does not check the form, the server reports the same violations.
    let unchecked_client = client.with_request_checks(client::RequestChecks::Off);
    let Err(Error::UnexpectedResponse(response)) = run(unchecked_client.upload(&form)) else {
        panic!("accepted")
    };
    let text = String::from_utf8(response.body().to_vec()).unwrap();
    assert!(response.status() == 400 && text.ends_with("/file maxLength, /tags maxItems"), "{text}");
}

#[test]
fn media_type_selects_the_body_type() {
    let (client, _) = echo_client();
    let note = |body: Option<NoteBody>| {
        let options = body.map_or_else(NoteOptions::new, |body| NoteOptions::new().body(body));
        run(client.note(options)).map(|response| response.into_body())
    };
    assert_eq!(note(None).unwrap(), "nothing");
    let full: types::Note = read(r#"{"text":"a","more":1}"#);
    assert_eq!(note(Some(full.into())).unwrap(), r#"note {"text":"a","more":1} ["/more"]"#);
    assert_eq!(note(Some(NoteBody::Plain("ü".to_owned()))).unwrap(), "text ü");
    let image = TypedBytes::new("image/png", vec![1, 2, 3]);
    assert_eq!(note(Some(image.into())).unwrap(), "3 bytes of image/png");
    // This media type is not in the media range of the contract.
    let pdf = TypedBytes::new("application/pdf", vec![1]);
    assert!(matches!(note(Some(pdf.into())), Err(Error::InvalidRequest(_))));

    // This is the same type as a form, which the client does not send.
    let router = server::router(Arc::new(Echo), RouterOptions::default());
    let form = "application/x-www-form-urlencoded";
    let send = |media_type: &str, body: &'static str| {
        let request = http::Request::post("/notes").header("content-type", media_type);
        let request = request.body(Bytes::from(body)).unwrap();
        let transport = InProcess(router.clone(), SentRequests::default());
        let response = run(transport.send(&Operation::EMPTY, request)).unwrap();
        (response.status().as_u16(), String::from_utf8(response.body().to_vec()).unwrap())
    };
    let read = send(form, "text=a+b&tags=1&tags=2");
    assert_eq!(read, (200, r#"note {"text":"a b","tags":["1","2"]} []"#.to_owned()));
    let (status, message) = send("application/xml", "<a/>");
    assert_eq!(status, 415);
    assert!(
        message.contains("application/json or application/x-www-form-urlencoded or text/plain or image/*"),
        "{message}"
    );
}

#[test]
fn forms_are_serialized_with_their_encoding() {
    let (client, sent) = echo_client();
    let note: types::Note = read(
        r#"{"text":"a&b=c +ä","tags":["x,y","z"],"filter":{"name":"n","ages":[1,2],"range":{"from":1.50}}}"#,
    );
    assert_eq!(run(client.form(&note)).unwrap().into_body(), note);
    let request = sent.lock().unwrap().remove(0);
    let body = std::str::from_utf8(request.body()).unwrap();
    assert_eq!(
        body,
        "text=a%26b%3Dc%20%2B%C3%A4&tags=x%2Cy,z&filter%5Bname%5D=n&filter%5Bages%5D%5B%5D=1&filter%5Bages%5D%5B%5D=2\
         &filter%5Brange%5D%5Bfrom%5D=1.50"
    );
}

/// A request is sent to the server of its operation, unless the client uses only its base URL.
#[test]
fn server_of_the_operation_is_used() {
    let (client, sent) = echo_client();
    let first = run(client.bytes("abc"));
    // The router has no route with the path prefix of that server.
    assert!(first.is_err());
    assert_eq!(run(client.with_base_url_only().bytes("abc")).unwrap().into_body(), "abc");
    let sent: Vec<String> = sent.lock().unwrap().iter().map(|request| request.uri().to_string()).collect();
    assert_eq!(sent, ["https://eu.files.example/up/bytes", "https://exchange.example/bytes"]);
}

struct Receiver;

impl webhook_server::Service for Receiver {
    fn reject(&self, _: &runtime::RequestContext, rejection: Rejection) -> Response {
        rejection_response(&rejection)
    }

    async fn scanned(
        &self,
        call: webhook_calls::ScannedCall,
        _: runtime::RequestContext,
    ) -> Result<(), runtime::ErrorResponse<()>> {
        assert_eq!(call.body.id, "scan");
        Ok(())
    }

    async fn job_done(
        &self,
        call: webhook_calls::JobDoneCall,
        _: runtime::RequestContext,
    ) -> Result<types::Wait, webhook_server::ErrorResponse> {
        match call.body.id.as_str() {
            "refuse" => Err(runtime::ErrorResponse::new(StatusCode::CONFLICT, problem("AGAIN"))),
            _ => Ok(read(&format!(r#"{{"seconds":{}}}"#, call.x_attempt))),
        }
    }
}

#[test]
fn webhooks_are_received_at_the_path_of_the_receiver() {
    let path = |operation: &'static Operation| format!("/hooks/{}", operation.id.to_lowercase());
    let router = webhook_server::router(Arc::new(Receiver), path, RouterOptions::default());
    let sender = webhook_client::Sender::new(InProcess(router, SentRequests::default()));
    let job = |id: &str| read::<types::Job>(&format!(r#"{{"id":"{id}"}}"#));
    let address = "https://receiver.example/hooks/jobdone";
    assert_eq!(run(sender.job_done(address, 3, &job("a"))).unwrap().seconds, 3);
    let error = run(sender.job_done(address, 1, &job("refuse"))).unwrap_err();
    assert_eq!(error.body(), Some(&problem("AGAIN")));
    assert!(matches!(run(sender.job_done(address, 0, &job("a"))), Err(Error::InvalidRequest(_))));
    run(sender.scanned("https://receiver.example/hooks/scanned", &job("scan"))).unwrap();
    let error = run(sender.scanned("https://receiver.example/elsewhere", &job("scan"))).unwrap_err();
    assert_eq!(error.status().unwrap().as_u16(), 404);
}
