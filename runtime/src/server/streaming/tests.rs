//! A service with a streaming request and a streaming response.

use std::{
    task::{self, Poll},
    time::Duration,
};

use http::{Request as HttpRequest, StatusCode};
use tower::ServiceExt;

use super::*;
use crate::{
    operation::{self, Operation, OperationTable, StatusRange},
    server::{Bytes, Endpoints, ResponseChecks, Router, RouterOptions, ServerEvent as Heard},
};

const fn content(media_type: &'static str, format: BodyFormat) -> ContentSpec {
    ContentSpec { media_type, format, schema: "", validator: None }
}

const NUMBERS: &[ContentSpec] =
    &[content("application/jsonl", BodyFormat::Items(ItemFormat::new(ItemFraming::Lines)))];

static ALL: &[Operation] = &[
    Operation {
        id: "watch",
        path: "/events",
        responses: &[operation::ResponseSpec {
            statuses: StatusRange::Code(200),
            kind: operation::ResponseKind::Success,
            content: &[content("text/event-stream", BodyFormat::Items(ItemFormat::new(ItemFraming::Events)))],
        }],
        ..Operation::EMPTY
    },
    Operation {
        id: "write",
        method: "PUT",
        path: "/file",
        body: Some(operation::BodySpec { required: false, content: NUMBERS }),
        responses: &[operation::ResponseSpec {
            statuses: StatusRange::Code(200),
            kind: operation::ResponseKind::Success,
            content: &[content("text/plain", BodyFormat::Text)],
        }],
        ..Operation::EMPTY
    },
];

/// Two events, the second with an id that clients could not distinguish from its data.
struct Smuggled(u8);

impl Stream for Smuggled {
    type Item = ServerSentEvent<i64>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<ServerSentEvent<i64>>> {
        self.0 += 1;
        let id = if self.0 == 1 { "1" } else { "2\ndata: 3" };
        Poll::Ready(Some(ServerSentEvent::new(i64::from(self.0)).with_id(id)))
    }
}

async fn sum(mut numbers: crate::stream::ItemReader<i64>) -> String {
    let mut sum = 0;
    while let Some(number) = numbers.next().await {
        sum += number.unwrap_or(1000);
    }
    sum.to_string()
}

fn router(options: RouterOptions) -> Router {
    const TABLE: OperationTable = OperationTable::new(ALL, &[0, 1]);
    let reject = |(): &(), _: &RequestContext, rejection: crate::server::Rejection| {
        let mut response = crate::server::Response::default();
        *response.status_mut() = StatusCode::from_u16(rejection.status()).unwrap();
        response
    };
    Endpoints::new(Arc::new(()), TABLE, options, reject, |(), call| {
        Box::pin(async move {
            if call.operation().id == "watch" {
                return call.write_stream(
                    200,
                    "text/event-stream",
                    TypedResponse::new(EventStream::new(Smuggled(0))),
                );
            }
            call.write_bytes(200, "text/plain", TypedResponse::new(sum(call.read_stream()).await))
        })
    })
    .into_router()
}

/// An event that cannot be encoded ends the response and is reported to the hook, whether responses are
/// validated or not.
#[tokio::test]
async fn encoding_error_is_reported_without_checks() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    let options = RouterOptions {
        response_checks: ResponseChecks::None,
        on_event: Some(Arc::new(move |_: &RequestContext, event: Heard<'_>| {
            if let Heard::InvalidItem(broken) = event {
                ears.lock().unwrap().push(broken.to_string());
            }
        })),
        ..RouterOptions::default()
    };
    let request = HttpRequest::get("/events").body(Body::empty()).unwrap();
    let body = router(options).oneshot(request).await.unwrap().into_body();
    assert!(axum::body::to_bytes(body, 1000).await.is_err());
    assert_eq!(*heard.lock().unwrap(), ["item 1 cannot be written"]);
}

/// A body with content but without a media type is rejected, as if it were buffered. An empty body needs no
/// media type.
#[tokio::test]
async fn body_without_a_media_type_is_not_read() {
    let put = async |media_type: Option<&str>, body: &'static str| {
        let mut request = HttpRequest::put("/file").body(Body::from(body)).unwrap();
        if let Some(media_type) = media_type {
            request.headers_mut().insert("content-type", media_type.parse().unwrap());
        }
        let response = router(RouterOptions::default()).oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        let body = axum::body::to_bytes(response.into_body(), 1000).await.unwrap();
        format!("{status} {}", String::from_utf8_lossy(&body))
    };
    assert_eq!(put(Some("application/jsonl"), "1\n2").await, "200 3");
    assert_eq!(put(None, "").await, "200 0");
    assert_eq!(put(None, "1\n2").await, "415 ");
    assert_eq!(put(Some("text/plain"), "1\n2").await, "415 ");
}

/// An earlier step may have read the body before the handler.
#[tokio::test]
async fn buffered_body_can_be_streamed() {
    let read = async |media_type: &str| {
        let request = HttpRequest::put("/file").header("content-type", media_type).body(()).unwrap();
        let parts = Arc::new(request.into_parts().0);
        let context = RequestContext::new(parts, Some(&ALL[1]), Bytes::from_static(b"1\n2\n"));
        sum(IncomingRequest::new(&ALL[1], context).unwrap().read_stream()).await
    };
    assert_eq!(read("application/jsonl").await, "3");
}

/// A stream that yields each number after as many seconds.
struct Quiet(std::vec::IntoIter<u64>, Option<Pin<Box<tokio::time::Sleep>>>);

impl Quiet {
    fn new(seconds: &[u64]) -> Self {
        Self(Vec::from(seconds).into_iter(), None)
    }
}

impl Stream for Quiet {
    type Item = ServerSentEvent<u64>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut task::Context<'_>,
    ) -> Poll<Option<ServerSentEvent<u64>>> {
        let Some(&seconds) = self.0.as_slice().first() else { return Poll::Ready(None) };
        let sleep = || Box::pin(tokio::time::sleep(Duration::from_secs(seconds)));
        task::ready!(self.1.get_or_insert_with(sleep).as_mut().poll(context));
        self.1 = None;
        Poll::Ready(self.0.next().map(ServerSentEvent::new))
    }
}

/// Returns the encoded events, with the second in which each chunk was written.
async fn written_in(
    seconds: &[u64],
    content: &'static ContentSpec,
    keep_alive: Option<KeepAlive>,
) -> Vec<String> {
    let writing = StreamOptions { check_items: false, keep_alive, on_invalid_item: Box::new(|_| {}) };
    let mut pieces = EventStream::new(Quiet::new(seconds)).into_byte_stream(Some(content), writing);
    let (mut written, start) = (Vec::new(), tokio::time::Instant::now());
    while let Some(piece) = pieces.next().await {
        let piece = String::from_utf8_lossy(&piece.unwrap()).trim_end().to_owned();
        written.push(format!("{} {piece}", start.elapsed().as_secs()));
    }
    written
}

/// WHATWG HTML, 9.2.7: a comment after every 15 idle seconds, which clients ignore.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn idle_event_stream_stays_open() {
    const EVENTS: &ContentSpec =
        &content("text/event-stream", BodyFormat::Items(ItemFormat::new(ItemFraming::Events)));
    let usual = RouterOptions::default().keep_alive;
    assert_eq!(
        written_in(&[5, 14, 40], EVENTS, usual.clone()).await,
        ["5 data: 5", "19 data: 14", "34 :", "49 :", "59 data: 40"]
    );
    let often = Some(KeepAlive::new(Duration::from_secs(30), crate::transport::TokioTimer));
    assert_eq!(written_in(&[40], EVENTS, often).await, ["30 :", "40 data: 40"]);
    assert_eq!(written_in(&[40], EVENTS, None).await, ["40 data: 40"]);
    // JSON lines have no comments.
    assert_eq!(written_in(&[40], &NUMBERS[0], usual).await, ["40 40"]);
    let mut decoder = crate::sequence::ItemDecoder::new(ItemFraming::Events, 100);
    decoder.push(b":\n:\ndata: 1\n\n:\n");
    assert_eq!(decoder.next_item().unwrap().unwrap().data, b"1");
    assert!(decoder.next_item().is_none());
}

/// Without tokio the events arrive without comments.
#[cfg(feature = "tokio")]
#[test]
fn no_timer_runs_without_tokio() {
    const EVENTS: &ContentSpec =
        &content("text/event-stream", BodyFormat::Items(ItemFormat::new(ItemFraming::Events)));
    struct Never;
    impl Stream for Never {
        type Item = ServerSentEvent<u64>;
        fn poll_next(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<ServerSentEvent<u64>>> {
            Poll::Pending
        }
    }
    let writing = StreamOptions {
        check_items: false,
        keep_alive: Some(KeepAlive::default()),
        on_invalid_item: Box::new(|_| {}),
    };
    let mut pieces = EventStream::new(Never).into_byte_stream(Some(EVENTS), writing);
    let mut context = task::Context::from_waker(task::Waker::noop());
    assert!(Pin::new(&mut pieces).poll_next(&mut context).is_pending());
}

/// Events with these names and data.
struct ScriptedItems(std::vec::IntoIter<(&'static str, &'static str)>);

impl Stream for ScriptedItems {
    type Item = ServerSentEvent<String>;

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut task::Context<'_>,
    ) -> Poll<Option<ServerSentEvent<String>>> {
        Poll::Ready(self.0.next().map(|(name, text)| ServerSentEvent::new(text.to_owned()).with_name(name)))
    }
}

/// If an event stream has an end marker and its last event does not end the stream by its name, the marker is
/// written after this event, so that clients do not reconnect.
#[tokio::test]
async fn end_marker_is_written_after_the_last_event() {
    const ROW: ItemFormat = ItemFormat {
        end_markers: &["[DONE]", "[END]"],
        last_events: &["stop"],
        ..ItemFormat::new(ItemFraming::Events)
    };
    const JSON: &ContentSpec = &content("text/event-stream", BodyFormat::Items(ROW));
    const TEXT: &ContentSpec = &content(
        "text/event-stream",
        BodyFormat::Items(ItemFormat { encoding: operation::ItemEncoding::Text, ..ROW }),
    );
    const LINES: &ContentSpec =
        &content("application/jsonl", BodyFormat::Items(ItemFormat { framing: ItemFraming::Lines, ..ROW }));
    let stream_of = |events: &[(&'static str, &'static str)]| {
        EventStream::new(ScriptedItems(Vec::from(events).into_iter()))
    };
    let check = async |events: EventStream<String>, content, expected: &str| {
        let writing =
            StreamOptions { check_items: false, keep_alive: None, on_invalid_item: Box::new(|_| {}) };
        let whole = events.into_byte_stream(Some(content), writing).collect(1000).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&whole), expected);
    };
    let (one, stop) = (("message", "a"), ("stop", "b"));
    check(stream_of(&[one]), JSON, "data: \"a\"\n\ndata: [DONE]\n\n").await;
    check(stream_of(&[]), JSON, "data: [DONE]\n\n").await;
    // An event that is the last by its name ends the stream.
    check(stream_of(&[one, stop]), JSON, "data: \"a\"\n\nevent: stop\ndata: \"b\"\n\n").await;
    check(stream_of(&[one]).without_end_marker(), JSON, "data: \"a\"\n\n").await;
    // Text streams contain their own end marker, and other framings end with the body.
    check(stream_of(&[one]), TEXT, "data: a\n\n").await;
    check(stream_of(&[one]), LINES, "\"a\"\n").await;
}

/// An interrupted stream has no end marker.
#[tokio::test]
async fn interrupted_stream_has_no_end_marker() {
    const EVENTS: &ContentSpec = &content(
        "text/event-stream",
        BodyFormat::Items(ItemFormat { end_markers: &["[DONE]"], ..ItemFormat::new(ItemFraming::Events) }),
    );
    let writing = StreamOptions { check_items: false, keep_alive: None, on_invalid_item: Box::new(|_| {}) };
    let mut pieces = EventStream::new(Smuggled(0)).into_byte_stream(Some(EVENTS), writing);
    assert_eq!(pieces.next().await.unwrap().unwrap(), "id: 1\ndata: 1\n\n");
    assert!(pieces.next().await.unwrap().is_err());
    assert!(pieces.next().await.is_none());
}
