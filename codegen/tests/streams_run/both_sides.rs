//! Tests of every kind of stream between the generated client and server, in both directions.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Task, Poll},
};

use contract_runtime::{
    client::{Bytes, ResponseHeaders as _},
    operation::Operation,
    server::{
        self as runtime, EventStream, ItemStream, Rejection, RequestContext, Response, ResponseBody,
        ResponseChecks, Router, RouterOptions, ServerEvent as Heard, StatusCode, TypedResponse,
    },
    stream::{ItemReader, ServerSentEvent, Stream, StreamError},
    transport::{
        ByteStream, Delivery, RequestBody, ResponseFuture, StreamResponseFuture, StreamTransport, Transport,
        TransportError, TransportFault,
    },
};
use tower::ServiceExt;

use crate::{
    ask, ask_for_stream,
    calls::{
        CreateBatchCall, CreateChatCall, ReadFileCall, WatchThreadCall, WatchThreadOptions, WriteFileCall,
    },
    chunk,
    client::{Client, Error},
    day, happened,
    headers::TickerHeaders,
    moved, problem, reply,
    response_headers::TickerResponseHeaders,
    server::{ErrorResponse, Service, router},
    types::{Ask, Chunk, Day, Move, MoveEvent, Reply, TickerXKindsItem, WatchThreadResponseItem},
};

/// A stream of the items of a list.
struct ItemList<T>(std::vec::IntoIter<T>);

impl<T: Unpin> Stream for ItemList<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.next())
    }
}

fn stream_of<T>(items: impl IntoIterator<Item = T>) -> ItemList<T> {
    ItemList(items.into_iter().collect::<Vec<_>>().into_iter())
}

fn error_response(status: u16, title: &str) -> ErrorResponse {
    ErrorResponse::new(StatusCode::from_u16(status).unwrap(), problem(title))
}

#[derive(Default)]
struct StreamService {
    files: Mutex<Vec<String>>,
}

impl Service for StreamService {
    fn reject(&self, _: &RequestContext, rejection: Rejection) -> Response {
        let status = rejection.status();
        let problem = format!(r#"{{"title":{:?}}}"#, rejection.to_string());
        http::Response::builder()
            .status(status)
            .header("content-type", "application/problem+json")
            .body(problem.into())
            .unwrap()
    }

    async fn create_chat(
        &self,
        call: CreateChatCall,
        _: RequestContext,
    ) -> Result<ResponseBody<Reply, EventStream<Chunk>>, ErrorResponse> {
        let ask = call.body;
        if ask.stream != Some(true) {
            return Ok(ResponseBody::Whole(reply(&ask.prompt)));
        }
        let prompt = ask.prompt;
        if prompt == "no" {
            return Err(error_response(429, "slowly"));
        }
        let deltas: Vec<&str> = prompt.split(' ').collect();
        let chunks = (0..)
            .zip(deltas)
            .map(|(index, delta)| ServerSentEvent::new(chunk(index, delta)).with_id(index.to_string()));
        Ok(ResponseBody::Stream(EventStream::new(stream_of(chunks.collect::<Vec<_>>()))))
    }

    async fn watch_thread(
        &self,
        call: WatchThreadCall,
        context: RequestContext,
    ) -> Result<EventStream<WatchThreadResponseItem>, ErrorResponse> {
        let last_id = context.header("last-event-id").unwrap_or("start").to_owned();
        Ok(EventStream::new(stream_of([
            ServerSentEvent::new(happened(&last_id)).with_name("begun"),
            // This string exceeds the maximum length.
            ServerSentEvent::new(happened(&format!("{} and a good deal more", call.thread))),
            ServerSentEvent::new(happened("never")),
        ])))
    }

    async fn watch_moves(
        &self,
        _: crate::calls::WatchMovesCall,
        _: RequestContext,
    ) -> Result<EventStream<Move>, runtime::ErrorResponse<()>> {
        Ok(EventStream::new(stream_of([
            // The type has no member for the id, and its member `event` overrides the name.
            ServerSentEvent::new(moved(MoveEvent::Joined, "ann")).with_name("left").with_id("41"),
            ServerSentEvent::new(moved(MoveEvent::Left, "bob")),
        ])))
    }

    async fn ticker(
        &self,
        _: crate::calls::TickerCall,
        _: RequestContext,
    ) -> Result<TypedResponse<EventStream<String>, TickerResponseHeaders>, runtime::ErrorResponse<()>> {
        let texts = EventStream::new(stream_of(["a\nb".to_owned(), String::new()].map(ServerSentEvent::new)));
        let headers =
            TickerResponseHeaders::new(vec![TickerXKindsItem::Text, TickerXKindsItem::Day]).x_room("7");
        Ok(TypedResponse::with_headers(texts, headers)
            .with_header(http::HeaderName::from_static("x-seats"), "many".parse().unwrap()))
    }

    async fn journal(
        &self,
        _: crate::calls::JournalCall,
        _: RequestContext,
    ) -> Result<ItemStream<Day>, runtime::ErrorResponse<()>> {
        Ok(ItemStream::new(stream_of([day("mon", 1), day("tue", 2)])))
    }

    async fn create_batch(
        &self,
        _: CreateBatchCall,
        mut body: ItemReader<Ask>,
        _: RequestContext,
    ) -> Result<Day, ErrorResponse> {
        let mut count = 0;
        while let Some(ask) = body.next().await {
            match ask {
                Ok(_) => count += 1,
                Err(error @ StreamError::Item { .. }) => return Err(error_response(422, &error.to_string())),
                Err(_) => return Err(error_response(400, "cut")),
            }
        }
        Ok(day("today", count))
    }

    async fn read_file(&self, call: ReadFileCall, _: RequestContext) -> Result<ByteStream, ErrorResponse> {
        if call.name == "none" {
            return Err(error_response(404, "none"));
        }
        Ok(ByteStream::new(stream_of([Ok(Bytes::from(call.name)), Ok(Bytes::from_static(b"!"))])))
    }

    async fn write_file(
        &self,
        _: WriteFileCall,
        mut body: ByteStream,
        _: RequestContext,
    ) -> Result<(), ErrorResponse> {
        let mut pieces = Vec::new();
        while let Some(piece) = body.next().await {
            match piece {
                Ok(piece) => pieces.push(String::from_utf8(piece.to_vec()).unwrap()),
                Err(error) => return Err(error_response(413, &error.to_string())),
            }
        }
        self.files.lock().unwrap().push(pieces.join("|"));
        Ok(())
    }
}

/// A transport that streams requests to a router.
#[derive(Clone)]
struct InProcess(Router);

impl Transport for InProcess {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let (parts, body) =
                self.0.clone().oneshot(request.map(axum::body::Body::from)).await.unwrap().into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.map_err(interrupted)?;
            Ok(http::Response::from_parts(parts, body))
        })
    }

    fn stream_transport(&self) -> Option<&dyn StreamTransport> {
        Some(self)
    }
}

impl StreamTransport for InProcess {
    fn open_stream<'a>(
        &'a self,
        _: &'static Operation,
        request: http::Request<RequestBody>,
    ) -> StreamResponseFuture<'a> {
        Box::pin(async move {
            let request = request.map(|body| match body {
                RequestBody::Buffered(bytes) => axum::body::Body::from(bytes),
                RequestBody::Streaming(pieces) => axum::body::Body::from_stream(pieces),
            });
            let response = self.0.clone().oneshot(request).await.unwrap();
            Ok(response.map(|body| ByteStream::from_body(body, interrupted)))
        })
    }
}

fn interrupted(error: axum::Error) -> TransportError {
    TransportError::new(TransportFault::Interrupted, Delivery::Unknown).with_source(error)
}

type EventLog = Arc<Mutex<Vec<String>>>;

fn client(limit: u64) -> (Client, Arc<StreamService>, EventLog) {
    let (service, log) = (Arc::new(StreamService::default()), EventLog::default());
    let sender = Arc::clone(&log);
    let options = RouterOptions {
        response_checks: ResponseChecks::All,
        stream_limit: limit,
        on_event: Some(Arc::new(move |_: &RequestContext, event: Heard<'_>| {
            sender.lock().unwrap().push(match event {
                Heard::InvalidItem(broken) => broken.to_string(),
                other => format!("{other:?}"),
            });
        })),
        ..RouterOptions::default()
    };
    let transport = InProcess(router(Arc::clone(&service), options));
    (Client::new("http://localhost", transport), service, log)
}

#[tokio::test]
async fn operation_returns_a_whole_response_or_a_stream() {
    let (client, _, log) = client(100);
    let whole = client.create_chat(&ask("Hello you")).await.unwrap().into_body();
    assert_eq!(whole, reply("Hello you"));
    let response = client.create_chat_stream(&ask_for_stream("Hello you")).await.unwrap();
    assert_eq!(response.header("content-type"), Some("text/event-stream"));
    let mut events = response.into_body();
    let mut deltas = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        deltas.push((event.id.unwrap(), event.data.delta));
    }
    assert_eq!(deltas, [("0".to_owned(), "Hello".to_owned()), ("1".to_owned(), "you".to_owned())]);
    assert_eq!(events.last_event_id(), "1");
    assert!(events.is_complete(), "the server must send the end marker of the stream");
    match client.create_chat_stream(&ask_for_stream("no")).await.unwrap_err() {
        Error::ErrorResponse(response) => {
            assert_eq!((response.status().as_u16(), response.title.as_str()), (429, "slowly"))
        }
        other => panic!("{other}"),
    }
    assert!(log.lock().unwrap().is_empty());
    // Invalid requests are not sent.
    assert!(matches!(client.create_chat_stream(&ask("")).await, Err(Error::InvalidRequest(_))));
}

/// With response checks, the server ends a stream before an invalid item.
#[tokio::test]
async fn invalid_items_are_not_sent() {
    let (client, _, log) = client(100);
    let opening = client.watch_thread_stream("thread", WatchThreadOptions::new()).after_event("41");
    let mut events = opening.await.unwrap().into_body();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!((event.event.as_str(), event.data.text.as_str()), ("begun", "41"));
    assert!(matches!(events.next().await.unwrap(), Err(StreamError::Transport(_))));
    assert!(events.next().await.is_none());
    let log = log.lock().unwrap();
    assert!(log[0].starts_with("item 1 violates its schema") && log[0].contains("/text"), "{log:?}");
}

#[tokio::test]
async fn strings_event_objects_and_sequences_are_streamed() {
    let (client, _, _) = client(100);
    let response = client.ticker_stream().await.unwrap();
    assert_eq!(response.header("x-room"), Some("7"));
    // An invalid header does not affect the stream.
    let received = response.typed_headers();
    let error = received.x_seats().unwrap_err();
    assert_eq!(error.to_string(), "the response header `X-Seats` is not an integer");
    assert_eq!(received.x_room().unwrap().as_deref(), Some("7"));
    let mut headers = response.headers().clone();
    headers.insert("x-seats", "12".parse().unwrap());
    let headers = TickerHeaders::from_headers(&headers);
    assert_eq!((headers.x_room().unwrap().as_deref(), headers.x_seats()), (Some("7"), Ok(Some(12))));
    assert_eq!(headers.x_kinds().unwrap(), [TickerXKindsItem::Text, TickerXKindsItem::Day]);
    let mut texts = response.into_body();
    assert_eq!(texts.next().await.unwrap().unwrap().data, "a\nb");
    assert_eq!(texts.next().await.unwrap().unwrap().data, "");
    assert!(texts.next().await.is_none());

    let mut moves = client.watch_moves_stream().await.unwrap().into_body();
    let first = moves.next().await.unwrap().unwrap();
    assert_eq!((first.event.as_str(), first.id.as_deref()), ("joined", Some("41")));
    assert_eq!((first.data.event, first.data.data.as_str()), (MoveEvent::Joined, "ann"));
    assert_eq!(moves.next().await.unwrap().unwrap().data, moved(MoveEvent::Left, "bob"));
    assert_eq!(moves.last_event_id(), "41");

    let mut days = client.journal_stream().await.unwrap().into_body();
    assert_eq!(days.next().await.unwrap().unwrap(), day("mon", 1));
    assert_eq!(days.next().await.unwrap().unwrap(), day("tue", 2));
    assert!(days.next().await.is_none());
}

#[tokio::test]
async fn request_items_are_streamed() {
    let (client, _, _) = client(60);
    let asks = stream_of([ask("a"), ask("b"), ask("c")]);
    assert_eq!(client.create_batch_stream(asks).await.unwrap().into_body(), day("today", 3));
    // An invalid item ends the request.
    let asks = stream_of([ask("a"), ask("")]);
    match client.create_batch_stream(asks).await.unwrap_err() {
        Error::ErrorResponse(response) => assert_eq!(response.title, "cut"),
        Error::Transport(error) => assert_eq!(error.fault(), TransportFault::Request),
        other => panic!("{other}"),
    }
    // If the client does not check requests, the server rejects the invalid item.
    let client = client.with_request_checks(crate::client::RequestChecks::Off);
    let asks = stream_of([ask("a"), ask("")]);
    match client.create_batch_stream(asks).await.unwrap_err() {
        Error::ErrorResponse(response) => {
            assert_eq!(response.status().as_u16(), 422);
            assert!(response.title.starts_with("item 1 at byte 15 cannot be read"), "{}", response.title);
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn bytes_are_streamed_in_pieces() {
    let (client, service, _) = client(4);
    let mut body = client.read_file_stream("abc").await.unwrap().into_body();
    assert_eq!(body.next().await.unwrap().unwrap(), "abc");
    assert_eq!(body.next().await.unwrap().unwrap(), "!");
    assert!(body.next().await.is_none());
    match client.read_file_stream("none").await.unwrap_err() {
        Error::ErrorResponse(response) => assert_eq!(response.title, "none"),
        other => panic!("{other}"),
    }
    let pieces =
        || ByteStream::new(stream_of([Ok(Bytes::from_static(b"ab")), Ok(Bytes::from_static(b"cd"))]));
    client.write_file_stream("x", pieces()).await.unwrap();
    assert_eq!(*service.files.lock().unwrap(), ["ab|cd"]);
    let longer = ByteStream::new(stream_of([Ok(Bytes::from_static(b"ab")), Ok(Bytes::from_static(b"cde"))]));
    match client.write_file_stream("x", longer).await.unwrap_err() {
        Error::ErrorResponse(response) => assert_eq!(response.status().as_u16(), 413),
        other => panic!("{other}"),
    }
    // A body with another media type is not streamed.
    client.write_file("x", &crate::bodies::WriteFileBody::Json(day("mon", 1))).await.unwrap();
    assert_eq!(*service.files.lock().unwrap(), ["ab|cd", ""]);
}
