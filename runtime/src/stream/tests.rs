//! Streams over a transport without a network: what arrives, what is lost, what is asked again.
#![cfg(all(feature = "client", feature = "server"))]

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};

use super::*;
use crate::{
    Json,
    client::{Answer, Call, Core, Error, StreamCall},
    contract::Rejected,
    operation::{Content, Format, Framing, ItemForm, Items as Row, Operation, Outcome, Repeat, Statuses},
    transport::{
        Delivery, Opening, Partial, RequestBody, Sending, Sleeping, StreamTransport, Transport,
        TransportError, TransportFault,
    },
};

const EVENTS: Row = Row { ends: &["[DONE]"], last: &["bye"], ..Row::new(Framing::Events) };

const fn content(media_type: &'static str, format: Format) -> Content {
    Content { media_type, format, schema: "", validator: None }
}

const fn operation(repeat: Repeat) -> Operation {
    Operation { id: "watch", path: "/watch", repeat, ..Operation::NONE }
}

static WATCH: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content("text/event-stream", Format::Items(EVENTS))],
    }],
    ..operation(Repeat::Safe)
};

static CHAT: Operation = Operation {
    method: "POST",
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content("text/event-stream", Format::Items(EVENTS))],
    }],
    ..operation(Repeat::Once)
};

static LINES: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content("application/jsonl", Format::Items(Row::new(Framing::Lines)))],
    }],
    ..operation(Repeat::Safe)
};

static FILE: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content("application/octet-stream", Format::Pieces)],
    }],
    ..operation(Repeat::Safe)
};

static TEXT: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content(
            "text/event-stream",
            Format::Items(Row { form: ItemForm::Text, ..Row::new(Framing::Events) }),
        )],
    }],
    ..operation(Repeat::Safe)
};

static WHOLE: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content(
            "text/event-stream",
            Format::Items(Row { form: ItemForm::Event, ..Row::new(Framing::Events) }),
        )],
    }],
    ..operation(Repeat::Safe)
};

static TYPED: Operation = Operation {
    responses: &[crate::operation::Response {
        statuses: Statuses::Code(200),
        outcome: Outcome::Success,
        content: &[content(
            "text/event-stream",
            Format::Items(Row { form: ItemForm::EventJson, ..Row::new(Framing::Events) }),
        )],
    }],
    ..operation(Repeat::Safe)
};

macro_rules! calls {
    ($($name:ident $operation:ident $stream:ty;)*) => {$(
        struct $name;

        impl Call for $name {
            const OPERATION: &'static Operation = &$operation;
            type Success = Bytes;
            type Refusal = Bytes;

            fn request(&self, core: &Core) -> crate::client::Request {
                core.request(Self::OPERATION)
            }

            fn read(response: crate::client::Response) -> Result<Answer<Bytes>, Error<Bytes>> {
                match response.status() {
                    200 => response.bytes(),
                    400..=599 => response.refusal_bytes(),
                    _ => response.undocumented(),
                }
            }
        }

        impl StreamCall for $name {
            type Stream = $stream;
        }
    )*};
}

calls! {
    Watch WATCH Events<i64>;
    Chat CHAT Events<i64>;
    Lines LINES Items<i64>;
    File FILE ByteStream;
    Text TEXT Events<String>;
    Whole WHOLE Events<Json>;
    Typed TYPED Events<Json>;
}

type Pieces = Vec<Result<&'static str, TransportFault>>;

/// Answers each request with the next of its answers, and keeps what was sent.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    answers: VecDeque<Result<(u16, &'static str, Pieces), TransportFault>>,
    sent: Vec<HeaderMap>,
    slept: Vec<u64>,
}

impl Fake {
    fn new(answers: impl IntoIterator<Item = Result<(u16, &'static str, Pieces), TransportFault>>) -> Self {
        let inner = Inner { answers: answers.into_iter().collect(), ..Inner::default() };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn core(&self) -> Core {
        Core::new("http://localhost", self.clone())
    }

    /// `Last-Event-ID` of each request.
    fn ids(&self) -> Vec<String> {
        let inner = self.0.lock().unwrap();
        let id = |headers: &HeaderMap| headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        inner.sent.iter().map(|headers| id(headers).unwrap_or_default()).collect()
    }

    fn slept(&self) -> Vec<u64> {
        self.0.lock().unwrap().slept.clone()
    }
}

struct Given(VecDeque<Result<&'static str, TransportFault>>);

impl Stream for Given {
    type Item = Result<Bytes, TransportError>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(
            self.0
                .pop_front()
                .map(|piece| piece.map(|text| Bytes::from_static(text.as_bytes())).map_err(broken)),
        )
    }
}

fn broken(fault: TransportFault) -> TransportError {
    TransportError::new(fault, Delivery::Unknown)
}

impl Transport for Fake {
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> Sending<'a> {
        Box::pin(async { Err(broken(TransportFault::Other)) })
    }

    fn streams(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for Fake {
    fn open<'a>(&'a self, _: &'static Operation, request: Request<RequestBody>) -> Opening<'a> {
        Box::pin(async move {
            let mut inner = self.0.lock().unwrap();
            inner.sent.push(request.headers().clone());
            let (status, media_type, pieces) =
                inner.answers.pop_front().expect("an answer for each request").map_err(broken)?;
            let answer = Response::builder().status(status).header("content-type", media_type);
            Ok(answer.body(ByteStream::new(Given(pieces.into()))).unwrap())
        })
    }
}

impl Timer for Fake {
    fn sleep(&self, time: Duration) -> Sleeping {
        self.0.lock().unwrap().slept.push(u64::try_from(time.as_millis()).unwrap());
        Box::pin(async {})
    }
}

const SSE: &str = "text/event-stream";

fn sse(pieces: &[&'static str]) -> Result<(u16, &'static str, Pieces), TransportFault> {
    Ok((200, SSE, pieces.iter().copied().map(Ok).collect()))
}

fn said<T: std::fmt::Debug>(item: Result<T, StreamError>) -> String {
    match item {
        Ok(item) => format!("{item:?}"),
        Err(error) => format!("! {error}"),
    }
}

async fn all(mut events: Events<i64>) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(event) = events.next().await {
        out.push(said(event.map(|event| event.data)));
    }
    out
}

async fn open<C: StreamCall + 'static>(core: &Core, call: &C) -> Result<Answer<C::Stream>, Error<C::Refusal>>
where
    C::Stream: 'static,
    C::Refusal: 'static,
{
    core.open::<C>(call.request(core)).await
}

#[tokio::test]
async fn a_bad_event_is_an_error_with_its_place_and_the_stream_goes_on() {
    let fake = Fake::new([sse(&["data: 1\n\nda", "ta: x\n\ndata: \"a\"\n\n", "data: 4\n\n"])]);
    let answer = open(&fake.core(), &Watch).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    let mut events = answer.into_body();
    assert_eq!(events.next().await.unwrap().unwrap().data, 1);
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.is_item());
    assert_eq!(error.place(), Some(Place { index: 1, offset: 9 }));
    assert!(matches!(error, StreamError::Item { fault: ItemFault::Rejected(Rejected::NotJson(_)), .. }));
    let error = events.next().await.unwrap().unwrap_err();
    assert!(matches!(
        error,
        StreamError::Item { fault: ItemFault::Rejected(Rejected::Unrepresentable { .. }), .. }
    ));
    assert!(!format!("{error} {error:?}").contains("\"a\""));
    assert_eq!(events.next().await.unwrap().unwrap().data, 4);
    assert!(events.next().await.is_none());
    assert!(!events.is_complete());
    assert_eq!(events.place().index, 3);
}

#[tokio::test]
async fn nothing_comes_behind_the_declared_ends() {
    for (text, expect) in [
        ("data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", vec!["1"]),
        ("data: 1\n\nevent: bye\ndata: 2\n\ndata: 3\n\n", vec!["1", "2"]),
    ] {
        let fake = Fake::new([sse(&[text])]);
        let events = open(&fake.core(), &Watch).await.unwrap().into_body();
        let events = events.reconnecting(fake.clone(), Reconnection::default());
        assert_eq!(all(events).await, expect);
        assert_eq!(fake.ids().len(), 1, "a complete stream is not asked for again");
    }
}

/// WHATWG HTML, 9.2.3: `retry`, `Last-Event-ID`, and the count of items goes on.
#[tokio::test]
async fn a_lost_connection_is_made_again_behind_the_last_event() {
    let fake = Fake::new([
        Ok((
            200,
            SSE,
            vec![Ok("retry: 1200\nid: a\ndata: 1\n\nid: b\ndata: 2"), Err(TransportFault::Interrupted)],
        )),
        Err(TransportFault::Connect),
        sse(&[]),
        sse(&["\u{feff}data: 2\n\nid:\ndata: 3\n\n"]),
        sse(&["data: 4\n\ndata: [DONE]\n\n"]),
    ]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    let how = Reconnection { longest: Duration::from_secs(3), ..Reconnection::default() };
    let events = events.reconnecting(fake.clone(), how);
    assert_eq!(all(events).await, ["1", "2", "3", "4"]);
    assert_eq!(fake.ids(), ["", "a", "a", "a", ""]);
    assert_eq!(fake.slept(), [1200, 2400, 3000, 1200]);
}

#[tokio::test]
async fn an_answer_that_is_no_stream_ends_it() {
    let ended = async |answer| {
        let fake = Fake::new([sse(&["data: 1\n\n"]), answer]);
        let events = open(&fake.core(), &Watch).await.unwrap().into_body();
        all(events.reconnecting(fake.clone(), Reconnection::default())).await
    };
    assert_eq!(ended(Ok((204, "", vec![]))).await, ["1"]);
    let refused = "! the stream ended: the server answered 503 Service Unavailable to another connection";
    assert_eq!(ended(Ok((503, SSE, vec![]))).await, ["1", refused]);
    let refused = "! the stream ended: the server answered 200 OK to another connection";
    assert_eq!(ended(Ok((200, "text/html", vec![]))).await, ["1", refused]);
    let declined = "! the stream ended: the request was not sent";
    assert_eq!(ended(Err(TransportFault::Declined)).await, ["1", declined]);
}

#[tokio::test]
async fn connections_that_give_nothing_come_to_an_end() {
    let fake = Fake::new([sse(&["data: 1\n\n"]), sse(&[]), sse(&[])]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    let how = Reconnection { attempts: 2, ..Reconnection::default() };
    let silent = "! the stream ended: 2 more connections in a row gave nothing";
    assert_eq!(all(events.reconnecting(fake.clone(), how)).await, ["1", silent]);
    assert_eq!(fake.slept(), [3000, 6000]);
    // What went wrong at the last of them is the error.
    let fake = Fake::new([sse(&[]), sse(&[]), Err(TransportFault::Connect)]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    let said = all(events.reconnecting(fake.clone(), how)).await;
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("! the stream ended: ") && !said[0].contains("in a row"), "{said:?}");
}

/// WHATWG HTML, 9.2.3 and 9.2.7: a quiet stream says no more than comments, and whoever stands before
/// the server closes it now and then.
#[tokio::test]
async fn a_quiet_stream_goes_on_however_often_it_is_closed() {
    let quiet = (0..30).map(|_| sse(&[":\n", ":\n"]));
    let fake = Fake::new(quiet.chain([sse(&["data: 1\n\ndata: [DONE]\n\n"])]));
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    assert_eq!(all(events.reconnecting(fake.clone(), Reconnection::default())).await, ["1"]);
    assert_eq!(fake.slept(), [3000; 30]);
}

/// WHATWG HTML, 9.2.3, has no least wait; a server that says none is not asked without an end.
#[tokio::test]
async fn no_server_is_asked_without_a_wait() {
    let fake = Fake::new([
        sse(&["retry: 0\ndata: 1\n\n"]),
        sse(&["data: 2\n\n"]),
        sse(&[]),
        Err(TransportFault::Connect),
        sse(&["data: 3\n\ndata: [DONE]\n\n"]),
    ]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    assert_eq!(all(events.reconnecting(fake.clone(), Reconnection::default())).await, ["1", "2", "3"]);
    assert_eq!(fake.slept(), [100, 100, 200, 400]);
}

/// What may act a second time is not sent a second time.
#[tokio::test]
async fn a_call_that_may_act_twice_is_not_repeated() {
    let fake = Fake::new([Ok((200, SSE, vec![Ok("data: 1\n\n"), Err(TransportFault::Interrupted)]))]);
    let events = open(&fake.core(), &Chat).await.unwrap().into_body();
    let events = events.reconnecting(fake.clone(), Reconnection::default());
    let cut = "! the stream ended: the connection ended before the answer did";
    assert_eq!(all(events).await, ["1", cut]);
    assert_eq!(fake.ids().len(), 1);
}

#[tokio::test]
async fn sizes_are_limited() {
    let limits = StreamLimits { item: 10, total: 60, whole: 5 };
    let fake = Fake::new([sse(&[
        "data: 1\n\n",
        "data:             2\n\n",
        "data: 3\n\n",
        "data: 4\n\n",
        "data: 5\n\ndata: 6\n\n",
    ])]);
    let events = open(&fake.core().with_stream_limits(limits), &Watch).await.unwrap().into_body();
    let large = "! item 1 at byte 9 cannot be read: it is too large";
    assert_eq!(all(events).await, ["1", large, "3", "4", "! the stream ended: the answer is too large"]);

    let fake = Fake::new([Ok((500, "text/plain", vec![Ok("long"), Ok("er")]))]);
    assert_eq!(
        refused(&fake.core().with_stream_limits(limits)).await,
        (500, "long", TransportFault::TooLarge)
    );
    let fake = Fake::new([Ok((200, "text/plain", vec![Ok("long"), Ok("er")]))]);
    let error = open(&fake.core().with_stream_limits(limits), &Watch).await.unwrap_err();
    assert!(matches!(error, Error::Transport(error) if error.fault() == TransportFault::TooLarge));
}

/// Status, body and what is wrong with it of a refusal that did not come whole.
async fn refused(core: &Core) -> (u16, &'static str, TransportFault) {
    let Error::Answer(answer) = open(core, &Watch).await.unwrap_err() else { panic!("no answer") };
    let Partial(fault) = *answer.extensions.get().unwrap();
    let body = ["", "slo", "long"].into_iter().find(|body| answer.body == body);
    (answer.status.as_u16(), body.unwrap(), fault)
}

/// A refusal is one without its body, too: its head says what it is.
#[tokio::test]
async fn a_refusal_that_is_cut_is_one() {
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Err(TransportFault::Interrupted)]))]);
    assert_eq!(refused(&fake.core()).await, (429, "slo", TransportFault::Interrupted));
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Err(TransportFault::Interrupted)]))]);
    let core = fake.core();
    let Error::Answer(answer) = core.upload::<Watch>(Watch.request(&core)).await.unwrap_err() else {
        panic!("no answer")
    };
    assert_eq!((answer.status.as_u16(), &answer.body[..]), (429, &b"slo"[..]));
}

#[tokio::test]
async fn refusals_are_whole() {
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Ok("wly")]))]);
    match open(&fake.core(), &Watch).await.unwrap_err() {
        Error::Answer(answer) => assert_eq!(answer.body, "slowly"),
        other => panic!("{other}"),
    }
    // Whole where a stream was asked for.
    let fake = Fake::new([Ok((200, "application/json", vec![Ok("{}")]))]);
    match open(&fake.core(), &Watch).await.unwrap_err() {
        Error::Unreadable(answer) => {
            assert_eq!((answer.status, &answer.body[..]), (StatusCode::OK, &b"{}"[..]))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_transport_without_streams_sends_nothing() {
    struct Plain;
    impl Transport for Plain {
        fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> Sending<'a> {
            Box::pin(async { Err(broken(TransportFault::Other)) })
        }
    }
    let error = open(&Core::new("http://localhost", Plain), &Watch).await.unwrap_err();
    match &error {
        Error::Transport(error) => assert_eq!(error.delivery(), Delivery::NotSent),
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains("no streams"), "{error}");
}

#[tokio::test]
async fn lines_bytes_and_texts() {
    let fake = Fake::new([Ok((200, "application/jsonl", vec![Ok("1\n2"), Ok("3\n{}\n4")]))]);
    let mut items = open(&fake.core(), &Lines).await.unwrap().into_body();
    let mut out = Vec::new();
    while let Some(item) = items.next().await {
        out.push(item.map_err(|error| error.place().unwrap().index));
    }
    assert_eq!(out, [Ok(1), Ok(23), Err(2), Ok(4)]);

    let fake = Fake::new([Ok((200, "application/octet-stream", vec![Ok("ab"), Ok("c")]))]);
    let body = open(&fake.core(), &File).await.unwrap().into_body();
    assert_eq!(body.collect(3).await.unwrap(), "abc");

    let fake = Fake::new([sse(&["data: a \"b\"\ndata: c\n\n"])]);
    let mut events = open(&fake.core(), &Text).await.unwrap().into_body();
    assert_eq!(events.next().await.unwrap().unwrap(), Event::new("a \"b\"\nc".to_owned()));

    let fake = Fake::new([sse(&["event: e\nid: 7\nretry: 5\ndata: x\n\n"])]);
    let mut events = open(&fake.core(), &Whole).await.unwrap().into_body();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!(event.data.to_string(), r#"{"data":"x","event":"e","id":"7","retry":5}"#);
    assert_eq!((event.event.as_str(), event.id.as_deref()), ("e", Some("7")));
    assert_eq!(event.retry, Some(Duration::from_millis(5)));

    let fake = Fake::new([sse(&["event: e\ndata: {\"a\":\ndata: 1.0}\n\ndata: [DONE]\n\n"])]);
    let mut events = open(&fake.core(), &Typed).await.unwrap().into_body();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!(
        (event.event.as_str(), event.data.to_string().as_str()),
        ("e", r#"{"data":{"a":1.0},"event":"e"}"#)
    );
    let event = events.next().await.unwrap().unwrap();
    assert_eq!((event.event.as_str(), event.data.to_string().as_str()), ("message", r#"{"data":"[DONE]"}"#));
}

/// WHATWG HTML, 9.2.3: whoever begins behind an event stays behind it until there is another, and
/// an empty id takes it back.
#[tokio::test]
async fn an_id_from_before_counts_until_another_comes() {
    let fake =
        Fake::new([sse(&[]), sse(&["data: 1\n\n"]), sse(&["id:\ndata: 2\n\n"]), sse(&["data: [DONE]\n\n"])]);
    let core = fake.core();
    let events = core.open::<Watch>(Watch.request(&core)).after("7").await.unwrap().into_body();
    assert_eq!(events.last_event_id(), "7");
    assert_eq!(all(events.reconnecting(fake.clone(), Reconnection::default())).await, ["1", "2"]);
    assert_eq!(fake.ids(), ["7", "7", "7", ""]);
}

/// A reader of an earlier process continues where that one ended.
#[tokio::test]
async fn a_stream_begins_behind_an_id() {
    let fake = Fake::new([sse(&[])]);
    let core = fake.core();
    let opening = core.open::<Watch>(Watch.request(&core)).after("7");
    assert!(!format!("{opening:?}").contains('7'));
    opening.await.unwrap();
    assert_eq!(fake.ids(), ["7"]);
}
