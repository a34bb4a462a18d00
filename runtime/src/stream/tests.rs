//! Tests of streams with a scripted transport: received items, lost connections and repeated requests.
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
    client::{self, ApiClient, Call, Error, StreamCall},
    contract::DocumentError,
    operation::{
        BodyFormat, ContentSpec, ItemEncoding, ItemFormat as Row, ItemFraming, Operation, RepeatSafety,
        ResponseKind, StatusRange,
    },
    transport::{
        Delivery, PartialBody, RequestBody, ResponseFuture, SleepFuture, StreamResponseFuture,
        StreamTransport, Transport, TransportError, TransportFault,
    },
};

const EVENTS: Row = Row { end_markers: &["[DONE]"], last_events: &["bye"], ..Row::new(ItemFraming::Events) };

const fn content(media_type: &'static str, format: BodyFormat) -> ContentSpec {
    ContentSpec { media_type, format, schema: "", validator: None }
}

const fn operation(repeat: RepeatSafety) -> Operation {
    Operation { id: "watch", path: "/watch", repeat, ..Operation::EMPTY }
}

static WATCH: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content("text/event-stream", BodyFormat::Items(EVENTS))],
    }],
    ..operation(RepeatSafety::Safe)
};

static CHAT: Operation = Operation {
    method: "POST",
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content("text/event-stream", BodyFormat::Items(EVENTS))],
    }],
    ..operation(RepeatSafety::NonIdempotent)
};

static LINES: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content("application/jsonl", BodyFormat::Items(Row::new(ItemFraming::Lines)))],
    }],
    ..operation(RepeatSafety::Safe)
};

static FILE: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content("application/octet-stream", BodyFormat::Stream)],
    }],
    ..operation(RepeatSafety::Safe)
};

static TEXT: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content(
            "text/event-stream",
            BodyFormat::Items(Row { encoding: ItemEncoding::Text, ..Row::new(ItemFraming::Events) }),
        )],
    }],
    ..operation(RepeatSafety::Safe)
};

static WHOLE: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content(
            "text/event-stream",
            BodyFormat::Items(Row { encoding: ItemEncoding::Event, ..Row::new(ItemFraming::Events) }),
        )],
    }],
    ..operation(RepeatSafety::Safe)
};

static TYPED: Operation = Operation {
    responses: &[crate::operation::ResponseSpec {
        statuses: StatusRange::Code(200),
        kind: ResponseKind::Success,
        content: &[content(
            "text/event-stream",
            BodyFormat::Items(Row { encoding: ItemEncoding::EventJson, ..Row::new(ItemFraming::Events) }),
        )],
    }],
    ..operation(RepeatSafety::Safe)
};

macro_rules! calls {
    ($($name:ident $operation:ident $stream:ty;)*) => {$(
        struct $name;

        impl Call for $name {
            const OPERATION: &'static Operation = &$operation;
            type Success = Bytes;
            type ErrorBody = Bytes;
            type Headers = crate::client::NoHeaders;

            fn build_request(&self, client: &ApiClient) -> client::RequestBuilder {
                client.request(Self::OPERATION)
            }

            fn parse_response(response: client::RawResponse) -> Result<client::Response<Bytes>, Error<Bytes>> {
                match response.status() {
                    200 => response.bytes(),
                    400..=599 => response.error_bytes(),
                    _ => response.undocumented_status(),
                }
            }
        }

        impl StreamCall for $name {
            type Stream = $stream;
        }
    )*};
}

calls! {
    Watch WATCH EventReader<i64>;
    Chat CHAT EventReader<i64>;
    Lines LINES ItemReader<i64>;
    File FILE ByteStream;
    Text TEXT EventReader<String>;
    Whole WHOLE EventReader<Json>;
    Typed TYPED EventReader<Json>;
}

type Pieces = Vec<Result<&'static str, TransportFault>>;

/// A transport that responds to each request with the next of its responses, and records the requests.
#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    answers: VecDeque<Result<(u16, &'static str, Pieces), TransportFault>>,
    sent: Vec<HeaderMap>,
    slept: Vec<u64>,
}

impl Fake {
    fn new(responses: impl IntoIterator<Item = Result<(u16, &'static str, Pieces), TransportFault>>) -> Self {
        let inner = Inner { answers: responses.into_iter().collect(), ..Inner::default() };
        Self(Arc::new(Mutex::new(inner)))
    }

    fn core(&self) -> ApiClient {
        ApiClient::new("http://localhost", self.clone())
    }

    /// Returns the `Last-Event-ID` of each request.
    fn ids(&self) -> Vec<String> {
        let inner = self.0.lock().unwrap();
        let id = |headers: &HeaderMap| headers.get("last-event-id").map(|id| id.to_str().unwrap().to_owned());
        inner.sent.iter().map(|headers| id(headers).unwrap_or_default()).collect()
    }

    fn slept(&self) -> Vec<u64> {
        self.0.lock().unwrap().slept.clone()
    }
}

struct ScriptedChunks(VecDeque<Result<&'static str, TransportFault>>);

impl Stream for ScriptedChunks {
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
    fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async { Err(broken(TransportFault::Other)) })
    }

    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for Fake {
    fn open_stream<'a>(
        &'a self,
        _: &'static Operation,
        request: Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        Box::pin(async move {
            let mut inner = self.0.lock().unwrap();
            inner.sent.push(request.headers().clone());
            let (status, media_type, pieces) =
                inner.answers.pop_front().expect("a response for each request").map_err(broken)?;
            let response = Response::builder().status(status).header("content-type", media_type);
            Ok(response.body(ByteStream::new(ScriptedChunks(pieces.into()))).unwrap())
        })
    }
}

impl Timer for Fake {
    fn sleep(&self, time: Duration) -> SleepFuture {
        self.0.lock().unwrap().slept.push(u64::try_from(time.as_millis()).unwrap());
        Box::pin(async {})
    }
}

const SSE: &str = "text/event-stream";

fn sse(pieces: &[&'static str]) -> Result<(u16, &'static str, Pieces), TransportFault> {
    Ok((200, SSE, pieces.iter().copied().map(Ok).collect()))
}

fn describe_item<T: std::fmt::Debug>(item: Result<T, StreamError>) -> String {
    match item {
        Ok(item) => format!("{item:?}"),
        Err(error) => format!("! {error}"),
    }
}

async fn all(mut events: EventReader<i64>) -> Vec<String> {
    let mut out = Vec::new();
    while let Some(event) = events.next().await {
        out.push(describe_item(event.map(|event| event.data)));
    }
    out
}

async fn open<C: StreamCall + 'static>(
    core: &ApiClient,
    call: &C,
) -> Result<client::Response<C::Stream>, Error<C::ErrorBody>>
where
    C::Stream: 'static,
    C::ErrorBody: 'static,
{
    core.open_stream::<C>(call.build_request(core)).await.map(client::Response::without_header_type)
}

#[tokio::test]
async fn invalid_event_is_an_error_and_the_stream_continues() {
    let fake = Fake::new([sse(&["data: 1\n\nda", "ta: x\n\ndata: \"a\"\n\n", "data: 4\n\n"])]);
    let response = open(&fake.core(), &Watch).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let mut events = response.into_body();
    assert_eq!(events.next().await.unwrap().unwrap().data, 1);
    let error = events.next().await.unwrap().unwrap_err();
    assert!(error.is_recoverable());
    assert_eq!(error.position(), Some(ItemPosition { index: 1, offset: 9 }));
    assert!(matches!(error, StreamError::Item { fault: ItemFault::Rejected(DocumentError::NotJson(_)), .. }));
    let error = events.next().await.unwrap().unwrap_err();
    assert!(matches!(
        error,
        StreamError::Item { fault: ItemFault::Rejected(DocumentError::Unrepresentable { .. }), .. }
    ));
    assert!(!format!("{error} {error:?}").contains("\"a\""));
    assert_eq!(events.next().await.unwrap().unwrap().data, 4);
    assert!(events.next().await.is_none());
    assert!(!events.is_complete());
    assert_eq!(events.position().index, 3);
}

#[tokio::test]
async fn nothing_is_returned_after_the_end_marker() {
    for (text, expect) in [
        ("data: 1\n\ndata: [DONE]\n\ndata: 2\n\n", vec!["1"]),
        ("data: 1\n\nevent: bye\ndata: 2\n\ndata: 3\n\n", vec!["1", "2"]),
    ] {
        let fake = Fake::new([sse(&[text])]);
        let events = open(&fake.core(), &Watch).await.unwrap().into_body();
        let events = events.with_reconnection(fake.clone(), ReconnectOptions::default());
        assert_eq!(all(events).await, expect);
        assert_eq!(fake.ids().len(), 1, "a complete stream is not requested again");
    }
}

/// After a lost connection, `retry` and `Last-Event-ID` apply, and the item count continues (WHATWG HTML,
/// 9.2.3).
#[tokio::test]
async fn lost_connection_resumes_after_the_last_event() {
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
    let options = ReconnectOptions { max_delay: Duration::from_secs(3), ..ReconnectOptions::default() };
    let events = events.with_reconnection(fake.clone(), options);
    assert_eq!(all(events).await, ["1", "2", "3", "4"]);
    assert_eq!(fake.ids(), ["", "a", "a", "a", ""]);
    assert_eq!(fake.slept(), [1200, 2400, 3000, 1200]);
}

#[tokio::test]
async fn non_stream_response_ends_the_stream() {
    let ended = async |response| {
        let fake = Fake::new([sse(&["data: 1\n\n"]), response]);
        let events = open(&fake.core(), &Watch).await.unwrap().into_body();
        all(events.with_reconnection(fake.clone(), ReconnectOptions::default())).await
    };
    assert_eq!(ended(Ok((204, "", vec![]))).await, ["1"]);
    let refused = "! the stream ended: the server returned 503 Service Unavailable to a reconnection";
    assert_eq!(ended(Ok((503, SSE, vec![]))).await, ["1", refused]);
    let refused = "! the stream ended: the server returned 200 OK to a reconnection";
    assert_eq!(ended(Ok((200, "text/html", vec![]))).await, ["1", refused]);
    let declined = "! the stream ended: the request was not sent";
    assert_eq!(ended(Err(TransportFault::Declined)).await, ["1", declined]);
}

#[tokio::test]
async fn connections_without_data_are_limited() {
    let fake = Fake::new([sse(&["data: 1\n\n"]), sse(&[]), sse(&[])]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    let options = ReconnectOptions { max_idle_connections: 2, ..ReconnectOptions::default() };
    let silent = "! the stream ended: 2 consecutive connections without data";
    assert_eq!(all(events.with_reconnection(fake.clone(), options)).await, ["1", silent]);
    assert_eq!(fake.slept(), [3000, 6000]);
    // The error of the last connection is returned.
    let fake = Fake::new([sse(&[]), sse(&[]), Err(TransportFault::Connect)]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    let items = all(events.with_reconnection(fake.clone(), options)).await;
    assert_eq!(items.len(), 1, "{items:?}");
    assert!(items[0].starts_with("! the stream ended: ") && !items[0].contains("in a row"), "{items:?}");
}

/// A stream that sends only comments reconnects without a limit, because proxies close idle streams now and
/// then (WHATWG HTML, 9.2.3 and 9.2.7).
#[tokio::test]
async fn idle_stream_reconnects_every_time() {
    let quiet = (0..30).map(|_| sse(&[":\n", ":\n"]));
    let fake = Fake::new(quiet.chain([sse(&["data: 1\n\ndata: [DONE]\n\n"])]));
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    assert_eq!(all(events.with_reconnection(fake.clone(), ReconnectOptions::default())).await, ["1"]);
    assert_eq!(fake.slept(), [3000; 30]);
}

/// The reader waits before each reconnection, even if the server sends `retry: 0`. The standard has no
/// minimum delay (WHATWG HTML, 9.2.3).
#[tokio::test]
async fn reconnection_always_waits() {
    let fake = Fake::new([
        sse(&["retry: 0\ndata: 1\n\n"]),
        sse(&["data: 2\n\n"]),
        sse(&[]),
        Err(TransportFault::Connect),
        sse(&["data: 3\n\ndata: [DONE]\n\n"]),
    ]);
    let events = open(&fake.core(), &Watch).await.unwrap().into_body();
    assert_eq!(
        all(events.with_reconnection(fake.clone(), ReconnectOptions::default())).await,
        ["1", "2", "3"]
    );
    assert_eq!(fake.slept(), [100, 100, 200, 400]);
}

/// A request that is not idempotent is not repeated.
#[tokio::test]
async fn non_idempotent_call_is_not_repeated() {
    let fake = Fake::new([Ok((200, SSE, vec![Ok("data: 1\n\n"), Err(TransportFault::Interrupted)]))]);
    let events = open(&fake.core(), &Chat).await.unwrap().into_body();
    let events = events.with_reconnection(fake.clone(), ReconnectOptions::default());
    let cut = "! the stream ended: the connection ended before the response was complete";
    assert_eq!(all(events).await, ["1", cut]);
    assert_eq!(fake.ids().len(), 1);
}

#[tokio::test]
async fn sizes_are_limited() {
    let limits = StreamLimits { max_item_bytes: 10, max_total_bytes: 60, max_error_body_bytes: 5 };
    let fake = Fake::new([sse(&[
        "data: 1\n\n",
        "data:             2\n\n",
        "data: 3\n\n",
        "data: 4\n\n",
        "data: 5\n\ndata: 6\n\n",
    ])]);
    let events = open(&fake.core().with_stream_limits(limits), &Watch).await.unwrap().into_body();
    let large = "! item 1 at byte 9 cannot be read: it is too large";
    assert_eq!(all(events).await, ["1", large, "3", "4", "! the stream ended: the response is too large"]);

    let fake = Fake::new([Ok((500, "text/plain", vec![Ok("long"), Ok("er")]))]);
    assert_eq!(
        refused(&fake.core().with_stream_limits(limits)).await,
        (500, "long", TransportFault::TooLarge)
    );
    let fake = Fake::new([Ok((200, "text/plain", vec![Ok("long"), Ok("er")]))]);
    let error = open(&fake.core().with_stream_limits(limits), &Watch).await.unwrap_err();
    assert!(matches!(error, Error::Transport(error) if error.fault() == TransportFault::TooLarge));
}

/// Returns the status, the body and the fault of an incomplete error response.
async fn refused(core: &ApiClient) -> (u16, &'static str, TransportFault) {
    let Error::ErrorResponse(response) = open(core, &Watch).await.unwrap_err() else { panic!("no error") };
    let PartialBody(fault) = *response.extensions().get().unwrap();
    let body = ["", "slo", "long"].into_iter().find(|body| response.body() == body);
    (response.status().as_u16(), body.unwrap(), fault)
}

/// An error response is returned even if its body is truncated, because its head determines the error.
#[tokio::test]
async fn truncated_error_response_is_returned() {
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Err(TransportFault::Interrupted)]))]);
    assert_eq!(refused(&fake.core()).await, (429, "slo", TransportFault::Interrupted));
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Err(TransportFault::Interrupted)]))]);
    let core = fake.core();
    let Error::ErrorResponse(response) =
        core.upload_stream::<Watch>(Watch.build_request(&core)).await.unwrap_err()
    else {
        panic!("no error")
    };
    assert_eq!((response.status().as_u16(), &response.body()[..]), (429, &b"slo"[..]));
}

#[tokio::test]
async fn error_responses_are_complete() {
    let fake = Fake::new([Ok((429, "text/plain", vec![Ok("slo"), Ok("wly")]))]);
    match open(&fake.core(), &Watch).await.unwrap_err() {
        Error::ErrorResponse(answer) => assert_eq!(answer.body(), "slowly"),
        other => panic!("{other}"),
    }
    // The server returns a complete JSON response to a request for a stream.
    let fake = Fake::new([Ok((200, "application/json", vec![Ok("{}")]))]);
    match open(&fake.core(), &Watch).await.unwrap_err() {
        Error::UnexpectedResponse(answer) => {
            assert_eq!((answer.status(), &answer.body()[..]), (StatusCode::OK, &b"{}"[..]))
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn transport_without_streams_sends_nothing() {
    struct Plain;
    impl Transport for Plain {
        fn send<'a>(&'a self, _: &'static Operation, _: Request<Bytes>) -> ResponseFuture<'a> {
            Box::pin(async { Err(broken(TransportFault::Other)) })
        }
    }
    let error = open(&ApiClient::new("http://localhost", Plain), &Watch).await.unwrap_err();
    match &error {
        Error::Transport(error) => assert_eq!(error.delivery(), Delivery::NotSent),
        other => panic!("{other}"),
    }
    assert!(error.to_string().contains("does not support streams"), "{error}");
}

#[tokio::test]
async fn lines_bytes_and_texts() {
    let fake = Fake::new([Ok((200, "application/jsonl", vec![Ok("1\n2"), Ok("3\n{}\n4")]))]);
    let mut items = open(&fake.core(), &Lines).await.unwrap().into_body();
    let mut out = Vec::new();
    while let Some(item) = items.next().await {
        out.push(item.map_err(|error| error.position().unwrap().index));
    }
    assert_eq!(out, [Ok(1), Ok(23), Err(2), Ok(4)]);

    let fake = Fake::new([Ok((200, "application/octet-stream", vec![Ok("ab"), Ok("c")]))]);
    let body = open(&fake.core(), &File).await.unwrap().into_body();
    assert_eq!(body.collect(3).await.unwrap(), "abc");

    let fake = Fake::new([sse(&["data: a \"b\"\ndata: c\n\n"])]);
    let mut events = open(&fake.core(), &Text).await.unwrap().into_body();
    assert_eq!(events.next().await.unwrap().unwrap(), ServerSentEvent::new("a \"b\"\nc".to_owned()));

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

/// A resumed stream keeps its id until an event has another one, and an empty id resets it (WHATWG HTML,
/// 9.2.3).
#[tokio::test]
async fn resumed_id_applies_until_another_arrives() {
    let fake =
        Fake::new([sse(&[]), sse(&["data: 1\n\n"]), sse(&["id:\ndata: 2\n\n"]), sse(&["data: [DONE]\n\n"])]);
    let core = fake.core();
    let events =
        core.open_stream::<Watch>(Watch.build_request(&core)).after_event("7").await.unwrap().into_body();
    assert_eq!(events.last_event_id(), "7");
    assert_eq!(all(events.with_reconnection(fake.clone(), ReconnectOptions::default())).await, ["1", "2"]);
    assert_eq!(fake.ids(), ["7", "7", "7", ""]);
}

/// A reader can resume where the reader of an earlier process ended.
#[tokio::test]
async fn stream_starts_after_a_given_id() {
    let fake = Fake::new([sse(&[])]);
    let core = fake.core();
    let opening = core.open_stream::<Watch>(Watch.build_request(&core)).after_event("7");
    assert!(!format!("{opening:?}").contains('7'));
    opening.await.unwrap();
    assert_eq!(fake.ids(), ["7"]);
}
