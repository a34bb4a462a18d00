//! A service of two operations, one that takes pieces and one that answers events.

use std::{
    task::{self, Poll},
    time::Duration,
};

use http::{Request as HttpRequest, StatusCode};
use tower::ServiceExt;

use super::*;
use crate::{
    operation::{self, Operation, Operations, Statuses},
    server::{Bytes, CheckAnswers, Endpoints, Event as Heard, Router, RouterOptions},
};

const fn content(media_type: &'static str, format: Format) -> Content {
    Content { media_type, format, schema: "", validator: None }
}

const NUMBERS: &[Content] = &[content("application/jsonl", Format::Items(Items::new(Framing::Lines)))];

static ALL: &[Operation] = &[
    Operation {
        id: "watch",
        path: "/events",
        responses: &[operation::Response {
            statuses: Statuses::Code(200),
            outcome: operation::Outcome::Success,
            content: &[content("text/event-stream", Format::Items(Items::new(Framing::Events)))],
        }],
        ..Operation::NONE
    },
    Operation {
        id: "write",
        method: "PUT",
        path: "/file",
        body: Some(operation::Body { required: false, content: NUMBERS }),
        responses: &[operation::Response {
            statuses: Statuses::Code(200),
            outcome: operation::Outcome::Success,
            content: &[content("text/plain", Format::Text)],
        }],
        ..Operation::NONE
    },
];

/// Two events, of which no reader could tell the second's id from its data.
struct Smuggled(u8);

impl Stream for Smuggled {
    type Item = Event<i64>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<Event<i64>>> {
        self.0 += 1;
        let id = if self.0 == 1 { "1" } else { "2\ndata: 3" };
        Poll::Ready(Some(Event::new(i64::from(self.0)).with_id(id)))
    }
}

async fn sum(mut numbers: crate::stream::Items<i64>) -> String {
    let mut sum = 0;
    while let Some(number) = numbers.next().await {
        sum += number.unwrap_or(1000);
    }
    sum.to_string()
}

fn router(options: RouterOptions) -> Router {
    const TABLE: Operations = Operations::new(ALL, &[0, 1]);
    let reject = |(): &(), _: &Context, rejection: crate::server::Rejection| {
        let mut response = crate::server::Response::default();
        *response.status_mut() = StatusCode::from_u16(rejection.status()).unwrap();
        response
    };
    Endpoints::new(Arc::new(()), TABLE, options, reject, |(), call| {
        Box::pin(async move {
            if call.operation().id == "watch" {
                return call.answer_pieces(
                    200,
                    "text/event-stream",
                    Reply::new(EventStream::new(Smuggled(0))),
                );
            }
            call.answer_bytes(200, "text/plain", Reply::new(sum(call.pieces()).await))
        })
    })
    .into_router()
}

/// An event that cannot be written ends the answer, and whoever looks after the service hears of it,
/// whether answers are checked or not.
#[tokio::test]
async fn what_cannot_be_written_is_told_where_nothing_is_checked() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = Arc::clone(&heard);
    let options = RouterOptions {
        check_answers: CheckAnswers::None,
        on_event: Some(Arc::new(move |_: &Context, event: Heard<'_>| {
            if let Heard::BrokenItem(broken) = event {
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

/// As of a body that is read whole: what has no media type may be missing, and nothing else.
#[tokio::test]
async fn pieces_of_no_media_type_are_not_read() {
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

/// Whoever has steps of their own has read the body before the handler asks for it.
#[tokio::test]
async fn a_body_that_was_read_is_in_pieces_all_the_same() {
    let read = async |media_type: &str| {
        let request = HttpRequest::put("/file").header("content-type", media_type).body(()).unwrap();
        let parts = Arc::new(request.into_parts().0);
        let context = Context::new(parts, Some(&ALL[1]), Bytes::from_static(b"1\n2\n"));
        sum(Call::new(&ALL[1], context).unwrap().pieces()).await
    };
    assert_eq!(read("application/jsonl").await, "3");
}

/// Numbers with so many seconds before each.
struct Quiet(std::vec::IntoIter<u64>, Option<Pin<Box<tokio::time::Sleep>>>);

impl Quiet {
    fn new(seconds: &[u64]) -> Self {
        Self(Vec::from(seconds).into_iter(), None)
    }
}

impl Stream for Quiet {
    type Item = Event<u64>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut task::Context<'_>) -> Poll<Option<Event<u64>>> {
        let Some(&seconds) = self.0.as_slice().first() else { return Poll::Ready(None) };
        let sleep = || Box::pin(tokio::time::sleep(Duration::from_secs(seconds)));
        task::ready!(self.1.get_or_insert_with(sleep).as_mut().poll(context));
        self.1 = None;
        Poll::Ready(self.0.next().map(Event::new))
    }
}

/// What is written of such events, with the second of each piece.
async fn written_in(
    seconds: &[u64],
    content: &'static Content,
    keep_alive: Option<KeepAlive>,
) -> Vec<String> {
    let writing = Writing { check: false, keep_alive, told: Box::new(|_| {}) };
    let mut pieces = EventStream::new(Quiet::new(seconds)).pieces(Some(content), writing);
    let (mut written, start) = (Vec::new(), tokio::time::Instant::now());
    while let Some(piece) = pieces.next().await {
        let piece = String::from_utf8_lossy(&piece.unwrap()).trim_end().to_owned();
        written.push(format!("{} {piece}", start.elapsed().as_secs()));
    }
    written
}

/// WHATWG HTML, 9.2.7: a comment every 15 seconds in which there is nothing to say, and no reader takes
/// it for anything.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn a_quiet_event_stream_stays_open() {
    const EVENTS: &Content = &content("text/event-stream", Format::Items(Items::new(Framing::Events)));
    let usual = RouterOptions::default().keep_alive;
    assert_eq!(
        written_in(&[5, 14, 40], EVENTS, usual.clone()).await,
        ["5 data: 5", "19 data: 14", "34 :", "49 :", "59 data: 40"]
    );
    let often = Some(KeepAlive::new(Duration::from_secs(30), crate::transport::TokioTimer));
    assert_eq!(written_in(&[40], EVENTS, often).await, ["30 :", "40 data: 40"]);
    assert_eq!(written_in(&[40], EVENTS, None).await, ["40 data: 40"]);
    // Lines of JSON have no word that says nothing.
    assert_eq!(written_in(&[40], &NUMBERS[0], usual).await, ["40 40"]);
    let mut decoder = crate::sequence::Decoder::new(Framing::Events, 100);
    decoder.push(b":\n:\ndata: 1\n\n:\n");
    assert_eq!(decoder.pop().unwrap().unwrap().data, b"1");
    assert!(decoder.pop().is_none());
}

/// Whoever serves without tokio gets the events all the same.
#[cfg(feature = "tokio")]
#[test]
fn without_tokio_nothing_waits() {
    const EVENTS: &Content = &content("text/event-stream", Format::Items(Items::new(Framing::Events)));
    struct Never;
    impl Stream for Never {
        type Item = Event<u64>;
        fn poll_next(self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<Event<u64>>> {
            Poll::Pending
        }
    }
    let writing = Writing { check: false, keep_alive: Some(KeepAlive::default()), told: Box::new(|_| {}) };
    let mut pieces = EventStream::new(Never).pieces(Some(EVENTS), writing);
    let mut context = task::Context::from_waker(task::Waker::noop());
    assert!(Pin::new(&mut pieces).poll_next(&mut context).is_pending());
}

/// Events of these names and texts.
struct Told(std::vec::IntoIter<(&'static str, &'static str)>);

impl Stream for Told {
    type Item = Event<String>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut task::Context<'_>) -> Poll<Option<Event<String>>> {
        Poll::Ready(self.0.next().map(|(name, text)| Event::new(text.to_owned()).named(name)))
    }
}

/// A reader that saw the end knows that nothing is missing, and one that did not connects again.
#[tokio::test]
async fn the_end_is_said_where_no_event_can_say_it() {
    const ROW: Items = Items { ends: &["[DONE]", "[END]"], last: &["stop"], ..Items::new(Framing::Events) };
    const JSON: &Content = &content("text/event-stream", Format::Items(ROW));
    const TEXT: &Content =
        &content("text/event-stream", Format::Items(Items { form: operation::ItemForm::Text, ..ROW }));
    const LINES: &Content =
        &content("application/jsonl", Format::Items(Items { framing: Framing::Lines, ..ROW }));
    let told =
        |events: &[(&'static str, &'static str)]| EventStream::new(Told(Vec::from(events).into_iter()));
    let check = async |events: EventStream<String>, content, expected: &str| {
        let writing = Writing { check: false, keep_alive: None, told: Box::new(|_| {}) };
        let whole = events.pieces(Some(content), writing).collect(1000).await.unwrap();
        assert_eq!(String::from_utf8_lossy(&whole), expected);
    };
    let (one, stop) = (("message", "a"), ("stop", "b"));
    check(told(&[one]), JSON, "data: \"a\"\n\ndata: [DONE]\n\n").await;
    check(told(&[]), JSON, "data: [DONE]\n\n").await;
    // An event that is the last by its name is the end.
    check(told(&[one, stop]), JSON, "data: \"a\"\n\nevent: stop\ndata: \"b\"\n\n").await;
    check(told(&[one]).to_be_continued(), JSON, "data: \"a\"\n\n").await;
    // A text says it itself, and other framings end with their bodies.
    check(told(&[one]), TEXT, "data: a\n\n").await;
    check(told(&[one]), LINES, "\"a\"\n").await;
}

/// What breaks is no end.
#[tokio::test]
async fn a_stream_that_breaks_has_no_end() {
    const EVENTS: &Content = &content(
        "text/event-stream",
        Format::Items(Items { ends: &["[DONE]"], ..Items::new(Framing::Events) }),
    );
    let writing = Writing { check: false, keep_alive: None, told: Box::new(|_| {}) };
    let mut pieces = EventStream::new(Smuggled(0)).pieces(Some(EVENTS), writing);
    assert_eq!(pieces.next().await.unwrap().unwrap(), "id: 1\ndata: 1\n\n");
    assert!(pieces.next().await.unwrap().is_err());
    assert!(pieces.next().await.is_none());
}
