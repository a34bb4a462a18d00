//! What a generated client relies on, with operations written the way the generator writes them.

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
    operation::{self, Content, Format, Outcome, Statuses},
    schema::{Keyword, Resource, ResourceId, Schema, SchemaId, Tables, Types, Validator},
    transport::Sending,
};

static TABLES: Tables = Tables {
    schemas: &[Schema {
        resource: ResourceId(0),
        location: "/pet",
        keywords: &[Keyword::Type(Types::OBJECT)],
    }],
    resources: &[Resource { uri: "test", dynamic_anchors: &[] }],
};

const PET: Content = Content {
    media_type: "application/json",
    format: Format::Json,
    schema: "test#/pet",
    validator: Some(Validator::new(&TABLES, SchemaId(0))),
};

const fn answer(status: u16, content: &'static [Content]) -> operation::Response {
    operation::Response { statuses: Statuses::Code(status), outcome: Outcome::Success, content }
}

static WRITE: Operation = Operation {
    id: "write",
    method: "POST",
    path: "/pets",
    body: Some(operation::Body { required: true, content: &[PET] }),
    responses: &[answer(200, &[PET]), answer(204, &[])],
    ..Operation::NONE
};

static UPLOAD: Operation = Operation {
    id: "upload",
    method: "PUT",
    path: "/files",
    servers: &["https://files.example/up"],
    responses: &[answer(204, &[])],
    ..Operation::NONE
};

static SCANNED: Operation = Operation {
    id: "scanned",
    method: "POST",
    path: "scanned",
    responses: &[answer(204, &[])],
    ..Operation::NONE
};

static COUNT: Operation = Operation {
    id: "count",
    path: "/rest?method=count",
    parameters: &[crate::parameters::Parameter { name: "of", ..crate::parameters::Parameter::QUERY }],
    responses: &[answer(204, &[])],
    ..Operation::NONE
};

struct Write(Vec<(&'static str, u8)>);

/// Writes what it has, members of one name too.
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
    type Refusal = ();

    fn request(&self, core: &Core) -> Request {
        core.request(Self::OPERATION).json_value("application/json", self)
    }

    fn read(response: Response) -> Result<Answer<Self::Success>, Error<()>> {
        response.json_or_nothing()
    }
}

/// Calls without anything to say.
struct Upload;
struct Scanned;

macro_rules! silent {
    ($($name:ident $operation:ident)*) => {$(
        impl Call for $name {
            const OPERATION: &'static Operation = &$operation;
            type Success = ();
            type Refusal = ();

            fn request(&self, core: &Core) -> Request {
                core.request(Self::OPERATION)
            }

            fn read(response: Response) -> Result<Answer<()>, Error<()>> {
                response.nothing()
            }
        }
    )*};
}

silent! { Upload UPLOAD Scanned SCANNED }

/// Answers everything with a status and nothing else, and keeps where it was sent.
struct Mute(u16, Arc<Mutex<Vec<String>>>);

impl Transport for Mute {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        self.1.lock().unwrap().push(request.uri().to_string());
        let answer = http::Response::builder().status(self.0).body(Bytes::new()).unwrap();
        Box::pin(std::future::ready(Ok(answer)))
    }
}

fn core(base_url: &str, status: u16) -> (Core, Arc<Mutex<Vec<String>>>) {
    let sent = Arc::default();
    (Core::new(base_url, Mute(status, Arc::clone(&sent))), sent)
}

fn run<T>(call: impl Future<Output = T>) -> T {
    match pin!(call).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

#[test]
fn a_repetition_goes_where_the_call_would() {
    let (core, sent) = core("https://exchange.example", 204);
    let stored = Upload.request(&core).store().unwrap();
    run(core.call(&Upload)).unwrap();
    run(core.repeat::<Upload>(&stored)).unwrap();
    run(core.with_base_url_only().repeat::<Upload>(&stored)).unwrap();
    let expect = [
        "https://files.example/up/files",
        "https://files.example/up/files",
        "https://exchange.example/files",
    ];
    assert_eq!(*sent.lock().unwrap(), expect);
}

/// What stands behind a path goes before the arguments, once however often it is sent.
#[test]
fn pairs_behind_a_path_are_in_every_query() {
    let (core, _) = core("https://exchange.example/v1", 204);
    let sent = |request: Request| request.finish("https://exchange.example/v1").unwrap().1.uri().to_string();
    let plain = "https://exchange.example/v1/rest?method=count";
    assert_eq!(sent(core.request(&COUNT)), plain);
    assert_eq!(sent(core.request(&COUNT).argument(0, "a b")), format!("{plain}&of=a%20b"));
    let stored = core.request(&COUNT).argument(0, "x").store().unwrap();
    assert_eq!(sent(core.request(&COUNT).repeating(&stored)), format!("{plain}&of=x"));
}

#[test]
fn what_was_stored_for_another_operation_never_leaves() {
    let (core, sent) = core("https://exchange.example", 204);
    let stored = Upload.request(&core).store().unwrap();
    let Err(Error::InvalidRequest(violations)) = run(core.repeat::<Write>(&stored)) else { panic!("sent") };
    let found: Vec<_> = violations.iter().map(|v| (v.pointer.as_str(), v.keyword)).collect();
    assert_eq!(found, [("/operation", "const")]);
    assert!(sent.lock().unwrap().is_empty());
}

/// A webhook's receiver says where it is; the sender has no address.
#[test]
fn a_webhook_is_kept_with_its_address() {
    let (core, sent) = core("", 204);
    run(core.call_at("https://receiver.example/hook?of=7", &Scanned)).unwrap();
    let stored = Scanned.request(&core).at("https://receiver.example/hook?of=8").store().unwrap();
    assert_eq!(stored.path_and_query, "", "a webhook has a name, which is no path");
    run(core.repeat::<Scanned>(&stored)).unwrap();
    assert_eq!(
        *sent.lock().unwrap(),
        ["https://receiver.example/hook?of=7", "https://receiver.example/hook?of=8"]
    );
    let Err(Error::Transport(error)) = run(core.call(&Scanned)) else { panic!("sent without an address") };
    assert_eq!(error.fault(), crate::transport::TransportFault::Request);
}

/// What two readers might understand differently is not sent, also where the type is no generated
/// one.
#[test]
fn a_body_with_a_member_twice_never_leaves() {
    let (core, sent) = core("https://exchange.example", 204);
    let Err(Error::InvalidRequest(violations)) = run(core.call(&Write(vec![("a", 1), ("a", 2)]))) else {
        panic!("sent")
    };
    assert_eq!(violations.iter().map(|v| v.keyword).collect::<Vec<_>>(), ["unwritable"]);
    assert!(sent.lock().unwrap().is_empty());
    run(core.call(&Write(vec![("a", 1)]))).unwrap();
}

/// Nothing is an answer where the contract says so; elsewhere it was lost on the way.
#[test]
fn a_body_that_is_missing_is_no_nothing() {
    let read = |status| run(core("https://exchange.example", status).0.call(&Write(Vec::new())));
    assert_eq!(read(204).unwrap().body, None);
    let Err(Error::Unreadable(answer)) = read(200) else { panic!("taken for nothing") };
    assert_eq!(answer.reason, Reason::Missing);
}

#[test]
fn no_address_is_printed() {
    let (core, _) = core("https://user:secret@exchange.example/path", 204);
    let stored = Scanned.request(&core).at("https://receiver.example/token").store().unwrap();
    let printed = format!("{core:?} {:?} {:?} {stored:?}", core.call(&Upload), Upload.request(&core));
    for part in ["secret", "exchange", "receiver", "token", "files"] {
        assert!(!printed.contains(part), "{part} in {printed}");
    }
}

/// JSON that is deeper than is read is JSON.
#[test]
fn an_answer_that_is_too_deep_is_told_so() {
    let read = |levels: usize| {
        let body = format!(r#"{{"deep":{}{}}}"#, "[".repeat(levels - 1), "]".repeat(levels - 1));
        let answer = http::Response::builder().status(200).body(Bytes::from(body)).unwrap();
        Write::read(Response::new(answer, &WRITE, &[]))
    };
    assert!(read(512).unwrap().body.is_some());
    for levels in [513, 600, 20_000] {
        let Err(Error::Unreadable(answer)) = read(levels) else { panic!("{levels} levels read") };
        assert_eq!(answer.reason, Reason::TooDeep);
    }
}

/// Whoever sent it may have left behind which call it was.
#[test]
fn what_the_transport_left_behind_stays_with_an_answer_that_cannot_be_read() {
    for (status, body) in [(200, "{"), (204, "?"), (500, "no word of it")] {
        let mut answer = http::Response::builder().status(status).body(Bytes::from(body)).unwrap();
        answer.extensions_mut().insert("the second call");
        let Err(Error::Unreadable(answer)) = Write::read(Response::new(answer, &WRITE, &[])) else {
            panic!("{status} read")
        };
        assert_eq!(answer.extensions.get(), Some(&"the second call"), "{status}");
    }
}
