//! A service of two operations, one that takes pieces and one that answers events.

use std::task::{self, Poll};

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
