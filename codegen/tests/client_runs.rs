//! The client that `client.rs` generates, compiled with warnings denied and called against a
//! transport without a network. The models are stand-ins for generated ones.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "client/client.rs"]
#[rustfmt::skip]
pub mod client;
#[allow(clippy::all, reason = "another stage's output, looked at in that stage's tests")]
#[path = "client/operations.rs"]
#[rustfmt::skip]
pub mod operations;

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use client::{Answer, Bytes, Client, Error, RequestChecks};
use contract_runtime::{
    client::Reason,
    operation::Operation,
    transport::{Delivery, Repeat, Sending, Transport, TransportError, TransportFault},
};
use http::{Request, Response, StatusCode};

/// What the shape stage generates, in small.
pub mod types {
    use contract_runtime::{
        Contract,
        contract::ReportUndeclared,
        read::Read,
        schema::{Keyword, Schema, SchemaId, Tables, Types, Validator},
    };
    use serde::{Deserialize, Deserializer, Serialize};

    const TABLES: Tables = Tables {
        schemas: &[Schema {
            resource: 0,
            location: "",
            keywords: &[Keyword::MaxLength(16), Keyword::Type(Types::STRING.or(Types::OBJECT))],
        }],
        resources: &[],
    };

    macro_rules! model {
        ($($(#[$meta:meta])* $name:ident $fields:tt)*) => {$(
            #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
            $(#[$meta])*
            pub struct $name $fields

            impl<'de> Read<'de> for $name {
                fn read<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    Self::deserialize(deserializer)
                }
            }

            impl Contract for $name {
                const VALIDATOR: Validator = Validator::new(&TABLES, SchemaId(0));
                fn is_valid(&self) -> bool {
                    let json = self.to_json().unwrap();
                    Self::VALIDATOR.is_valid(&json)
                }
            }

            impl ReportUndeclared for $name {}
        )*};
    }

    model! {
        Ship { pub name: String }
        ShipPage { pub ships: Vec<String> }
        #[serde(transparent)] ShipChangeSet { pub note: String }
        Problem { pub code: String }
        Other { pub other: String }
        #[serde(transparent)] IdempotencyKey { pub key: String }
    }

    impl std::fmt::Display for IdempotencyKey {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str(&self.key)
        }
    }
}

use types::{IdempotencyKey, Problem, Ship, ShipChangeSet};

type Reply = fn() -> Result<Response<Bytes>, TransportError>;

/// Gives one answer to everything, and keeps what was sent.
struct Fake(Reply, Arc<Mutex<Vec<Request<Bytes>>>>);

impl Transport for Fake {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        self.1.lock().unwrap().push(request);
        Box::pin(std::future::ready((self.0)()))
    }
}

fn answer(status: u16, media_type: &str, body: &'static str) -> Result<Response<Bytes>, TransportError> {
    Ok(Response::builder()
        .status(status)
        .header("Content-Type", media_type)
        .header("Retry-After", "7")
        .body(Bytes::from_static(body.as_bytes()))
        .unwrap())
}

fn fake(reply: Reply) -> (Client, Arc<Mutex<Vec<Request<Bytes>>>>) {
    let sent = Arc::new(Mutex::new(Vec::new()));
    (Client::new("https://exchange.example/v1/", Fake(reply, Arc::clone(&sent))), sent)
}

/// A transport that is never pending needs no runtime.
fn run<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

fn key() -> IdempotencyKey {
    IdempotencyKey { key: "key-000001".to_owned() }
}

fn changes(note: &str) -> ShipChangeSet {
    ShipChangeSet { note: note.to_owned() }
}

#[test]
fn arguments_go_where_the_contract_says() {
    let (client, sent) = fake(|| answer(200, "application/json", r#"{"ships":["a"]}"#));
    let page = run(client.ships_read("a/b c", None, Some(100), &["x&y", "z"], "é")).unwrap();
    assert_eq!((page.status, page.ships.len()), (StatusCode::OK, 1));
    let request = sent.lock().unwrap().remove(0);
    assert_eq!(request.method(), "GET");
    assert_eq!(
        request.uri(),
        "https://exchange.example/v1/ships/a%2Fb%20c/parts?limit=100&tag=x%26y&tag=z&type=%C3%A9"
    );
    let headers: Vec<_> = request.headers().keys().map(http::HeaderName::as_str).collect();
    assert_eq!(headers, ["accept"]);
    assert_eq!(request.headers()["accept"], "application/json, application/problem+json");
}

#[test]
fn bodies_and_headers_are_sent_and_results_may_be_absent() {
    let (client, sent) = fake(|| answer(200, "application/ship+json", r#"{"name":"x"}"#));
    let result = run(client.ships_write(&key(), None, &changes("n"))).unwrap();
    assert_eq!(result.body, Some(Ship { name: "x".to_owned() }));
    let request = sent.lock().unwrap().remove(0);
    assert_eq!(request.headers()["idempotency-key"], "key-000001");
    assert_eq!(request.headers()["content-type"], "application/merge-patch+json");
    assert_eq!(request.body(), "\"n\"");

    let (client, _) = fake(|| answer(202, "text/plain", ""));
    assert_eq!(run(client.ships_write(&key(), Some("hi"), &changes("n"))).unwrap().body, None);

    let (client, sent) = fake(|| answer(204, "text/plain", ""));
    let imported: Answer<()> = run(client.import("a,b")).unwrap();
    assert_eq!(imported.status, StatusCode::NO_CONTENT);
    assert_eq!(sent.lock().unwrap()[0].headers()["content-type"], "text/csv");

    let (client, sent) = fake(|| answer(200, "image/png", "PNG"));
    assert_eq!(run(client.picture(None)).unwrap().body, "PNG");
    assert!(sent.lock().unwrap()[0].body().is_empty());
}

#[test]
fn refusals_are_typed_and_keep_their_headers() {
    let (client, _) =
        fake(|| answer(429, "application/problem+json; charset=utf-8", r#"{"code":"LIMITED"}"#));
    let error = run(client.ships_write(&key(), None, &changes("n"))).unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::TOO_MANY_REQUESTS));
    assert_eq!(error.header("retry-after"), Some("7"));
    assert_eq!(error.body(), Some(&Problem { code: "LIMITED".to_owned() }));
    assert_eq!(error.to_string(), "the server answered 429 Too Many Requests");
    assert_eq!(format!("{error:?}"), "Answer(the server answered 429 Too Many Requests)");
}

/// Each status has the body that the contract gives it; a proxy's page keeps status, headers
/// and body.
#[test]
fn refusals_of_several_types_are_told_apart() {
    use client::ShipRemoveRefusal as Refusal;
    #[allow(deprecated, reason = "the contract says so of this one")]
    let call = |reply: Reply| run(fake(reply).0.ship_remove("a")).unwrap_err();
    let unknown = call(|| answer(404, "application/json", r#"{"code":"GONE"}"#));
    assert_eq!(unknown.body(), Some(&Refusal::NotFound(Problem { code: "GONE".to_owned() })));
    let used = call(|| answer(409, "application/json", r#"{"other":"x"}"#));
    assert_eq!(used.body(), Some(&Refusal::Conflict(types::Other { other: "x".to_owned() })));
    let page = call(|| answer(404, "text/html", "<html>"));
    let Error::Unreadable(page) = page else { panic!("{page}") };
    assert_eq!((page.status.as_u16(), page.reason), (404, Reason::MediaType));
    assert_eq!((&page.headers["retry-after"], &page.body[..]), (&"7".parse().unwrap(), &b"<html>"[..]));
}

/// An answer that nobody described keeps its status and shows nothing of its body.
#[test]
fn other_answers_are_unreadable() {
    let check = |reply: Reply, status: u16, reason: Reason| {
        let (client, _) = fake(reply);
        let error = run(client.ships_read("a", None, None, &[], "t")).unwrap_err();
        assert_eq!(error.status().unwrap().as_u16(), status);
        let text = format!("{error} {error:?}");
        let Error::Unreadable(unreadable) = error else { panic!("{error}") };
        assert_eq!(unreadable.reason, reason);
        assert!(!format!("{text} {unreadable:?}").contains("SECRET"), "{text}");
    };
    check(|| answer(502, "text/html", "<html>SECRET"), 502, Reason::MediaType);
    check(|| answer(200, "application/json", ""), 200, Reason::Missing);
    check(
        || answer(200, "application/json", r#"{"ships":["SECRET"#),
        200,
        Reason::Syntax { line: 1, column: 17 },
    );
    check(
        || answer(200, "application/json", r#"{"ships":"SECRET"}"#),
        200,
        Reason::Shape { line: 1, column: 17 },
    );
    check(|| answer(302, "text/html", "SECRET"), 302, Reason::Status);
}

#[test]
fn failures_of_the_transport_arrive_as_they_are() {
    let (client, _) = fake(|| {
        Err(TransportError::new(TransportFault::Timeout, Delivery::Unknown)
            .with_source(std::io::Error::other("stalled")))
    });
    let error = run(client.ships_read("a", None, None, &[], "t")).unwrap_err();
    assert_eq!(error.to_string(), "no answer in time: stalled");
    assert_eq!(error.status(), None);
    let Error::Transport(cause) = error else { panic!("{error}") };
    assert_eq!((cause.fault(), cause.delivery()), (TransportFault::Timeout, Delivery::Unknown));
    assert!(cause.cause::<std::io::Error>().is_some());
}

#[test]
fn what_breaks_the_contract_is_not_sent() {
    let long = changes(&"x".repeat(17));
    let (client, sent) = fake(|| answer(202, "text/plain", ""));
    let refused = |error: Error<Problem>| match error {
        Error::InvalidRequest(violations) => {
            let list: Vec<_> = violations.into_iter().collect();
            list.into_iter().map(|each| format!("{} {}", each.pointer, each.keyword)).collect::<Vec<_>>()
        }
        other => panic!("{other}"),
    };
    let error = run(client.ships_write(&key(), None, &long)).unwrap_err();
    assert_eq!(refused(error), [" maxLength"]);
    let key = IdempotencyKey { key: "a key of far too many characters".to_owned() };
    let error = run(client.ships_write(&key, Some("line\nbreak"), &changes(""))).unwrap_err();
    assert_eq!(refused(error), ["/Idempotency-Key maxLength", "/X-Note pattern"]);
    for lost in ["", ".", ".."] {
        let error = run(client.ships_read(lost, None, None, &[], "t")).unwrap_err();
        assert_eq!(refused(error), ["/shipId pattern"]);
    }
    assert!(sent.lock().unwrap().is_empty());

    let client = client.with_request_checks(RequestChecks::Off);
    run(client.ships_write(&key, None, &long)).unwrap();
    assert_eq!(sent.lock().unwrap().len(), 1);
}

#[test]
fn a_base_url_that_is_none_is_reported_by_the_call() {
    for base in ["", "exchange.example", "https://", "https://a/?b", "not a url"] {
        let client = Client::new(base, Fake(|| answer(200, "", ""), Arc::default()));
        let error = run(client.picture(None)).unwrap_err();
        let Error::Transport(cause) = error else { panic!("{base}: {error}") };
        assert_eq!((cause.fault(), cause.delivery()), (TransportFault::Request, Delivery::NotSent));
    }
}

#[test]
fn the_table_says_what_may_be_repeated() {
    let repeat = |id: operations::OperationId| Repeat::of(id.operation());
    assert_eq!(repeat(operations::OperationId::ShipsRead), Repeat::Safe);
    assert_eq!(repeat(operations::OperationId::ShipsWrite), Repeat::Keyed);
    assert_eq!(repeat(operations::OperationId::ShipRemove), Repeat::Idempotent);
    assert_eq!(repeat(operations::OperationId::Import), Repeat::Once);
}
