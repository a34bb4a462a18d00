//! Tests of the client runtime, with operations as the generator emits them.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use serde::{Serialize, Serializer, ser::SerializeMap};

use super::*;
use crate::{
    Json,
    operation::{self, BodyFormat, ContentSpec, ResponseKind, StatusRange},
    parameters::Parameter,
    schema::{Keyword, ResourceId, Schema, SchemaId, SchemaResource, SchemaTables, TypeSet, Validator},
    transport::ResponseFuture,
};

static TABLES: SchemaTables = SchemaTables {
    schemas: &[Schema {
        resource: ResourceId(0),
        location: "/pet",
        keywords: &[Keyword::Type(TypeSet::OBJECT)],
    }],
    resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
};

const PET: ContentSpec = ContentSpec {
    media_type: "application/json",
    format: BodyFormat::Json,
    schema: "test#/pet",
    validator: Some(Validator::new(&TABLES, SchemaId(0))),
};

const fn answer(status: u16, content: &'static [ContentSpec]) -> operation::ResponseSpec {
    operation::ResponseSpec { statuses: StatusRange::Code(status), kind: ResponseKind::Success, content }
}

static WRITE: Operation = Operation {
    id: "write",
    method: "POST",
    path: "/pets",
    body: Some(operation::BodySpec { required: true, content: &[PET] }),
    responses: &[answer(200, &[PET]), answer(204, &[])],
    ..Operation::EMPTY
};

static UPLOAD: Operation = Operation {
    id: "upload",
    method: "PUT",
    path: "/files",
    servers: &["https://files.example/up"],
    responses: &[answer(204, &[])],
    ..Operation::EMPTY
};

static SCANNED: Operation = Operation {
    id: "scanned",
    method: "POST",
    path: "scanned",
    responses: &[answer(204, &[])],
    ..Operation::EMPTY
};

static COUNT: Operation = Operation {
    id: "count",
    path: "/rest?method=count",
    parameters: &[Parameter { name: "of", ..Parameter::QUERY }],
    responses: &[answer(204, &[])],
    ..Operation::EMPTY
};

struct Write(Vec<(&'static str, u8)>);

/// Serializes the members, even if names are repeated.
impl Serialize for Write {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

impl Call for Write {
    const OPERATION: &'static Operation = &WRITE;
    type Success = Option<Json>;
    type ErrorBody = ();
    type Headers = NoHeaders;

    fn build_request(&self, core: &ApiClient) -> RequestBuilder {
        core.request(Self::OPERATION).json_value("application/json", self)
    }

    fn parse_response(response: RawResponse) -> Result<Response<Self::Success>, Error<()>> {
        response.json_or_empty()
    }
}

/// Calls without arguments.
struct Upload;
struct Scanned;

macro_rules! silent {
    ($($name:ident $operation:ident)*) => {$(
        impl Call for $name {
            const OPERATION: &'static Operation = &$operation;
            type Success = ();
            type ErrorBody = ();
            type Headers = NoHeaders;

            fn build_request(&self, client: &ApiClient) -> RequestBuilder {
                client.request(Self::OPERATION)
            }

            fn parse_response(response: RawResponse) -> Result<Response<()>, Error<()>> {
                response.empty()
            }
        }
    )*};
}

silent! { Upload UPLOAD Scanned SCANNED }

/// A transport that returns this status with an empty body for every request and records the targets.
struct Mute(u16, Arc<Mutex<Vec<String>>>);

impl Transport for Mute {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        self.1.lock().unwrap().push(request.uri().to_string());
        let response = http::Response::builder().status(self.0).body(Bytes::new()).unwrap();
        Box::pin(std::future::ready(Ok(response)))
    }
}

fn core(base_url: &str, status: u16) -> (ApiClient, Arc<Mutex<Vec<String>>>) {
    let sent = Arc::default();
    (ApiClient::new(base_url, Mute(status, Arc::clone(&sent))), sent)
}

fn run<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

#[test]
fn stored_request_uses_the_address_of_the_call() {
    let (core, sent) = core("https://exchange.example", 204);
    let stored = Upload.build_request(&core).into_stored().unwrap();
    run(core.call(&Upload)).unwrap();
    run(core.send_stored::<Upload>(&stored)).unwrap();
    run(core.with_base_url_only().send_stored::<Upload>(&stored)).unwrap();
    let expect = [
        "https://files.example/up/files",
        "https://files.example/up/files",
        "https://exchange.example/files",
    ];
    assert_eq!(*sent.lock().unwrap(), expect);
}

/// A base URL that is not a server of the contract, such as that of a mock server, applies to every operation.
#[test]
fn other_servers_receive_all_requests() {
    let servers = ["https://{region}.exchange.example/v1/", "https://files.example/up"];
    for (base_url, expected) in [
        ("https://eu.exchange.example/v1", "https://files.example/up/files"),
        ("https://files.example/up", "https://files.example/up/files"),
        ("http://127.0.0.1:4010", "http://127.0.0.1:4010/files"),
        ("https://eu.exchange.example.org/v1", "https://eu.exchange.example.org/v1/files"),
    ] {
        let (core, sent) = core(base_url, 204);
        run(core.with_contract_servers(&servers).call(&Upload)).unwrap();
        assert_eq!(*sent.lock().unwrap(), [expected], "{base_url}");
    }
}

/// The constant query pairs of a path precede the arguments, and are not duplicated when a stored request is
/// sent.
#[test]
fn constant_query_pairs_are_always_sent() {
    let (core, _) = core("https://exchange.example/v1", 204);
    let sent = |request: RequestBuilder| {
        request.into_http("https://exchange.example/v1").unwrap().1.uri().to_string()
    };
    let plain = "https://exchange.example/v1/rest?method=count";
    assert_eq!(sent(core.request(&COUNT)), plain);
    assert_eq!(sent(core.request(&COUNT).argument(0, "a b")), format!("{plain}&of=a%20b"));
    let stored = core.request(&COUNT).argument(0, "x").into_stored().unwrap();
    assert_eq!(sent(core.request(&COUNT).with_stored(&stored)), format!("{plain}&of=x"));
}

#[test]
fn stored_request_of_another_operation_is_rejected() {
    let (core, sent) = core("https://exchange.example", 204);
    let stored = Upload.build_request(&core).into_stored().unwrap();
    let Err(Error::InvalidRequest(violations)) = run(core.send_stored::<Write>(&stored)) else {
        panic!("sent")
    };
    let found: Vec<_> = violations.iter().map(|v| (v.pointer.as_str(), v.keyword)).collect();
    assert_eq!(found, [("/operation", "const")]);
    assert!(sent.lock().unwrap().is_empty());
}

/// The message of an invalid argument contains the limit, as that of an invalid body does.
#[test]
fn invalid_arguments_have_messages_with_limits() {
    static LIMITED: SchemaTables = SchemaTables {
        schemas: &[Schema {
            resource: ResourceId(0),
            location: "/limit",
            keywords: &[Keyword::Maximum(crate::Number::from_i64(50))],
        }],
        resources: &[SchemaResource { uri: "test", dynamic_anchors: &[] }],
    };
    const LIMIT: Parameter = Parameter {
        name: "limit",
        validator: Some(Validator::new(&LIMITED, SchemaId(0))),
        ..Parameter::QUERY
    };
    static LIST: Operation = Operation { id: "list", parameters: &[LIMIT], ..Operation::EMPTY };
    let (core, _) = core("https://exchange.example", 204);
    let violations = core.request(&LIST).argument(0, 51).into_stored().unwrap_err();
    let [one] = violations.as_slice() else { panic!("{violations}") };
    assert_eq!((one.keyword, &*one.schema), ("maximum", "test#/limit"));
    assert_eq!(violations.to_string(), "/limit: must be at most 50");
}

/// A stored webhook keeps the address that the receiver chose, because the sender has no base URL.
#[test]
fn stored_webhook_keeps_its_address() {
    let (core, sent) = core("", 204);
    run(core.call_at("https://receiver.example/hook?of=7", &Scanned)).unwrap();
    let stored = Scanned
        .build_request(&core)
        .with_address("https://receiver.example/hook?of=8")
        .into_stored()
        .unwrap();
    assert_eq!(stored.path_and_query, "", "a webhook has no path");
    run(core.send_stored::<Scanned>(&stored)).unwrap();
    assert_eq!(
        *sent.lock().unwrap(),
        ["https://receiver.example/hook?of=7", "https://receiver.example/hook?of=8"]
    );
    let Err(Error::Transport(error)) = run(core.call(&Scanned)) else { panic!("sent without an address") };
    assert_eq!(error.fault(), crate::transport::TransportFault::Request);
}

/// A body with duplicate members, which parsers may interpret differently, is not sent, even if its type is
/// not generated.
#[test]
fn body_with_duplicate_members_is_not_sent() {
    let (core, sent) = core("https://exchange.example", 204);
    let Err(Error::InvalidRequest(violations)) = run(core.call(&Write(vec![("a", 1), ("a", 2)]))) else {
        panic!("sent")
    };
    assert_eq!(violations.iter().map(|v| v.keyword).collect::<Vec<_>>(), ["unwritable"]);
    assert!(sent.lock().unwrap().is_empty());
    run(core.call(&Write(vec![("a", 1)]))).unwrap();
}

/// An empty body is accepted only if the contract declares no body for the status.
#[test]
fn missing_body_is_an_error_where_required() {
    let read = |status| run(core("https://exchange.example", status).0.call(&Write(Vec::new())));
    assert_eq!(*read(204).unwrap().body(), None);
    let Err(Error::UnexpectedResponse(response)) = read(200) else { panic!("accepted") };
    assert_eq!(response.reason, UnexpectedReason::MissingBody);
}

#[test]
fn debug_output_hides_addresses() {
    let (core, _) = core("https://user:secret@exchange.example/path", 204);
    let stored =
        Scanned.build_request(&core).with_address("https://receiver.example/token").into_stored().unwrap();
    let printed = format!("{core:?} {:?} {:?} {stored:?}", core.call(&Upload), Upload.build_request(&core));
    for part in ["secret", "exchange", "receiver", "token", "files"] {
        assert!(!printed.contains(part), "{part} in {printed}");
    }
}

/// JSON beyond the nesting limit is reported as `TooDeep`.
#[test]
fn too_deep_response_is_reported() {
    let read = |levels: usize| {
        let body = format!(r#"{{"deep":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
        let response = http::Response::builder().status(200).body(Bytes::from(body)).unwrap();
        Write::parse_response(RawResponse::new(response, &WRITE, ShownFields::default()))
    };
    assert!(read(512).unwrap().body().is_some());
    for levels in [513, 600, 20_000] {
        let Err(Error::UnexpectedResponse(response)) = read(levels) else { panic!("{levels} levels") };
        assert_eq!(response.reason, UnexpectedReason::TooDeep);
    }
}

/// Fields of single responses are shown only for their operation and status, in addition to those of all
/// responses.
#[test]
fn shown_fields_depend_on_the_response() {
    static FAIL: Operation = Operation {
        id: "fail",
        responses: &[
            operation::ResponseSpec { kind: ResponseKind::Error, ..answer(400, &[PET]) },
            operation::ResponseSpec { statuses: StatusRange::Class(5), ..answer(500, &[PET]) },
        ],
        ..Operation::EMPTY
    };
    static OTHER: Operation = Operation { id: "other", ..FAIL };
    let shown = ShownFields {
        names: &["id"],
        responses: &[
            ResponseFields { operation: "fail", statuses: StatusRange::Code(400), fields: &["code", "id"] },
            ResponseFields { operation: "fail", statuses: StatusRange::Class(5), fields: &["trace"] },
        ],
    };
    let print = |operation, status: u16| {
        let body = Bytes::from_static(br#"{"id":7,"code":"c","trace":"t"}"#);
        let response = http::Response::builder().status(status).header("content-type", "application/json");
        let raw = RawResponse::new(response.body(body).unwrap(), operation, shown);
        raw.error_json::<(), Json>().unwrap_err().to_string()
    };
    for (operation, status, expected) in [
        (&FAIL, 400, "id 7, code c"),
        (&FAIL, 503, "id 7, trace t"),
        (&OTHER, 400, "id 7"),
        (&FAIL, 404, "id 7"),
    ] {
        let text = print(operation, status);
        assert!(text.ends_with(&format!(": {expected}")), "{text}");
    }
}

/// An unreadable response keeps its extensions, by which the transport may identify the attempt.
#[test]
fn unreadable_response_keeps_its_extensions() {
    for (status, body) in [(200, "{"), (204, "?"), (500, "no word of it")] {
        let mut response = http::Response::builder().status(status).body(Bytes::from(body)).unwrap();
        response.extensions_mut().insert("the second call");
        let Err(Error::UnexpectedResponse(response)) =
            Write::parse_response(RawResponse::new(response, &WRITE, ShownFields::default()))
        else {
            panic!("{status} accepted")
        };
        assert_eq!(response.extensions.get(), Some(&"the second call"), "{status}");
    }
}

/// A `status` member of the body and the HTTP status are both accessible.
#[test]
fn fields_of_the_body_are_not_shadowed_by_the_response() {
    #[derive(Clone, Debug, PartialEq)]
    struct Job {
        status: &'static str,
        headers: u8,
        body: bool,
        extensions: char,
        inner: i8,
        error_summary: (),
    }
    let job = Job { status: "queued", headers: 1, body: true, extensions: 'e', inner: -1, error_summary: () };
    let mut head = http::Response::new(());
    *head.status_mut() = http::StatusCode::ACCEPTED;
    head.headers_mut().insert("location", http::HeaderValue::from_static("/jobs/7"));
    head.extensions_mut().insert("the second call");
    let response = Response::from_parts(head.into_parts().0, job.clone());
    assert_eq!((response.status, response.status().as_u16()), ("queued", 202));
    assert_eq!((response.headers, response.header("location")), (1, Some("/jobs/7")));
    assert_eq!((response.body, response.body()), (true, &job));
    assert_eq!((response.extensions, response.extensions().get()), ('e', Some(&"the second call")));
    assert_eq!((response.inner, response.error_summary), (-1, ()));
    let (parts, body) = response.clone().into_parts();
    assert_eq!((parts.status.as_u16(), &body), (202, &job));
    assert_eq!(response.map(|job| job.status).into_body(), "queued");
}

/// Servers that do not set `Content-Type` send JSON as `text/plain`. A JSON string is ambiguous.
#[test]
fn json_sent_as_plain_text_is_parsed() {
    let read = |media_type: &str, body: &'static str| {
        let response = http::Response::builder()
            .header("content-type", media_type)
            .body(Bytes::from_static(body.as_bytes()))
            .unwrap();
        match Write::parse_response(RawResponse::new(response, &WRITE, ShownFields::default())) {
            Ok(response) => Ok(response.into_body().map(|body| body.to_string())),
            Err(Error::UnexpectedResponse(response)) => Err(response.reason),
            Err(error) => panic!("{error:?}"),
        }
    };
    for media_type in ["text/plain", "Text/Plain; charset=utf-8", "application/json"] {
        assert_eq!(read(media_type, "{\"a\":1}"), Ok(Some("{\"a\":1}".to_owned())), "{media_type}");
    }
    for body in ["service unavailable", "no such path", "[ERROR] failed", " ", "\"a\"", "{\"a\":"] {
        assert_eq!(read("text/plain", body), Err(UnexpectedReason::MediaType), "{body}");
    }
    assert_eq!(read("text/html", "{}"), Err(UnexpectedReason::MediaType));
    let deep: &'static str = format!("{}{}", "[".repeat(600), "]".repeat(600)).leak();
    assert_eq!(read("text/plain", deep), Err(UnexpectedReason::TooDeep));
}
