//! The generated client against the generated server: every kind of stream, both ways.

use std::{
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context as Task, Poll},
};

use contract_runtime::{
    client::Bytes,
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
    ask, ask_in_pieces,
    calls::{
        CreateBatchCall, CreateChatCall, ReadFileCall, WatchThreadCall, WatchThreadOptions, WriteFileCall,
    },
    chunk,
    client::{Client, Error},
    day, happened, moved, problem, reply,
    responses::CreateChatResponse,
    server::{ErrorResponse, Service, router},
    types::{Ask, Chunk, Day, Move, MoveEvent, WatchThreadResponse200Item},
};

/// What is there, one after another.
struct List<T>(std::vec::IntoIter<T>);

impl<T: Unpin> Stream for List<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Task<'_>) -> Poll<Option<T>> {
        Poll::Ready(self.0.next())
    }
}

fn list<T>(items: impl IntoIterator<Item = T>) -> List<T> {
    List(items.into_iter().collect::<Vec<_>>().into_iter())
}

fn refused(status: u16, title: &str) -> ErrorResponse {
    ErrorResponse::new(StatusCode::from_u16(status).unwrap(), problem(title))
}

#[derive(Default)]
struct Parley {
    files: Mutex<Vec<String>>,
}

impl Service for Parley {
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
    ) -> Result<ResponseBody<CreateChatResponse, EventStream<Chunk>>, ErrorResponse> {
        let ask = call.body;
        if ask.stream != Some(true) {
            return Ok(ResponseBody::Whole(CreateChatResponse::OkJson(reply(&ask.prompt))));
        }
        let prompt = ask.prompt;
        if prompt == "no" {
            return Err(refused(429, "slowly"));
        }
        let words: Vec<&str> = prompt.split(' ').collect();
        let chunks =
            (0..).zip(words).map(|(at, word)| ServerSentEvent::new(chunk(at, word)).with_id(at.to_string()));
        Ok(ResponseBody::Stream(EventStream::new(list(chunks.collect::<Vec<_>>()))))
    }

    async fn watch_thread(
        &self,
        call: WatchThreadCall,
        context: RequestContext,
    ) -> Result<EventStream<WatchThreadResponse200Item>, ErrorResponse> {
        let behind = context.header("last-event-id").unwrap_or("start").to_owned();
        Ok(EventStream::new(list([
            ServerSentEvent::new(happened(&behind)).with_name("begun"),
            // Longer than the contract allows.
            ServerSentEvent::new(happened(&format!("{} and a good deal more", call.thread))),
            ServerSentEvent::new(happened("never")),
        ])))
    }

    async fn watch_moves(
        &self,
        _: crate::calls::WatchMovesCall,
        _: RequestContext,
    ) -> Result<EventStream<Move>, runtime::ErrorResponse<()>> {
        Ok(EventStream::new(list([
            // What its type has no member for, and a name that its type says otherwise.
            ServerSentEvent::new(moved(MoveEvent::Joined, "ann")).with_name("left").with_id("41"),
            ServerSentEvent::new(moved(MoveEvent::Left, "bob")),
        ])))
    }

    async fn ticker(
        &self,
        _: crate::calls::TickerCall,
        _: RequestContext,
    ) -> Result<TypedResponse<EventStream<String>>, runtime::ErrorResponse<()>> {
        let texts = EventStream::new(list(["a\nb".to_owned(), String::new()].map(ServerSentEvent::new)));
        Ok(TypedResponse::new(texts)
            .with_header(http::HeaderName::from_static("x-room"), "7".parse().unwrap()))
    }

    async fn journal(
        &self,
        _: crate::calls::JournalCall,
        _: RequestContext,
    ) -> Result<ItemStream<Day>, runtime::ErrorResponse<()>> {
        Ok(ItemStream::new(list([day("mon", 1), day("tue", 2)])))
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
                Err(error @ StreamError::Item { .. }) => return Err(refused(422, &error.to_string())),
                Err(_) => return Err(refused(400, "cut")),
            }
        }
        Ok(day("today", count))
    }

    async fn read_file(&self, call: ReadFileCall, _: RequestContext) -> Result<ByteStream, ErrorResponse> {
        if call.name == "none" {
            return Err(refused(404, "none"));
        }
        Ok(ByteStream::new(list([Ok(Bytes::from(call.name)), Ok(Bytes::from_static(b"!"))])))
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
                Err(error) => return Err(refused(413, &error.to_string())),
            }
        }
        self.files.lock().unwrap().push(pieces.join("|"));
        Ok(())
    }
}

/// A transport that hands requests to a router, in pieces as they are.
#[derive(Clone)]
struct InProcess(Router);

impl Transport for InProcess {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let (parts, body) =
                self.0.clone().oneshot(request.map(axum::body::Body::from)).await.unwrap().into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.map_err(cut)?;
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
            Ok(response.map(|body| ByteStream::from_body(body, cut)))
        })
    }
}

fn cut(error: axum::Error) -> TransportError {
    TransportError::new(TransportFault::Interrupted, Delivery::Unknown).with_source(error)
}

type Ears = Arc<Mutex<Vec<String>>>;

fn client(limit: u64) -> (Client, Arc<Parley>, Ears) {
    let (service, heard) = (Arc::new(Parley::default()), Ears::default());
    let ears = Arc::clone(&heard);
    let options = RouterOptions {
        response_checks: ResponseChecks::All,
        stream_limit: limit,
        on_event: Some(Arc::new(move |_: &RequestContext, event: Heard<'_>| {
            ears.lock().unwrap().push(match event {
                Heard::InvalidItem(broken) => broken.to_string(),
                other => format!("{other:?}"),
            });
        })),
        ..RouterOptions::default()
    };
    let transport = InProcess(router(Arc::clone(&service), options));
    (Client::new("http://localhost", transport), service, heard)
}

#[tokio::test]
async fn one_operation_answers_whole_or_in_pieces() {
    let (client, _, heard) = client(100);
    let whole = client.create_chat(&ask("Hello you")).await.unwrap().into_body();
    assert_eq!(whole, CreateChatResponse::OkJson(reply("Hello you")));
    let answer = client.create_chat_stream(&ask_in_pieces("Hello you")).await.unwrap();
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    let mut events = answer.into_body();
    let mut words = Vec::new();
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        words.push((event.id.unwrap(), event.data.delta));
    }
    assert_eq!(words, [("0".to_owned(), "Hello".to_owned()), ("1".to_owned(), "you".to_owned())]);
    assert_eq!(events.last_event_id(), "1");
    assert!(events.is_complete(), "a server that comes to its end says so");
    match client.create_chat_stream(&ask_in_pieces("no")).await.unwrap_err() {
        Error::ErrorResponse(answer) => {
            assert_eq!((answer.status().as_u16(), answer.title.as_str()), (429, "slowly"))
        }
        other => panic!("{other}"),
    }
    assert!(heard.lock().unwrap().is_empty());
    // What breaks the contract is not sent.
    assert!(matches!(client.create_chat_stream(&ask("")).await, Err(Error::InvalidRequest(_))));
}

/// A server that checks what it answers ends a stream before an item that breaks the contract.
#[tokio::test]
async fn a_broken_item_is_not_sent() {
    let (client, _, heard) = client(100);
    let opening = client.watch_thread_stream("thread", WatchThreadOptions::new()).after_event("41");
    let mut events = opening.await.unwrap().into_body();
    let event = events.next().await.unwrap().unwrap();
    assert_eq!((event.event.as_str(), event.data.text.as_str()), ("begun", "41"));
    assert!(matches!(events.next().await.unwrap(), Err(StreamError::Transport(_))));
    assert!(events.next().await.is_none());
    let heard = heard.lock().unwrap();
    assert!(heard[0].starts_with("item 1 violates its schema") && heard[0].contains("/text"), "{heard:?}");
}

#[tokio::test]
async fn texts_events_as_objects_and_sequences() {
    let (client, _, _) = client(100);
    let answer = client.ticker_stream().await.unwrap();
    assert_eq!(answer.header("x-room"), Some("7"));
    let mut texts = answer.into_body();
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
async fn items_are_sent_as_they_come() {
    let (client, _, _) = client(60);
    let asks = list([ask("a"), ask("b"), ask("c")]);
    assert_eq!(client.create_batch_stream(asks).await.unwrap().into_body(), day("today", 3));
    // One that breaks the contract ends the request.
    let asks = list([ask("a"), ask("")]);
    match client.create_batch_stream(asks).await.unwrap_err() {
        Error::ErrorResponse(answer) => assert_eq!(answer.title, "cut"),
        Error::Transport(error) => assert_eq!(error.fault(), TransportFault::Request),
        other => panic!("{other}"),
    }
    // Unless nobody looks; the server does.
    let client = client.with_request_checks(crate::client::RequestChecks::Off);
    let asks = list([ask("a"), ask("")]);
    match client.create_batch_stream(asks).await.unwrap_err() {
        Error::ErrorResponse(answer) => {
            assert_eq!(answer.status().as_u16(), 422);
            assert!(answer.title.starts_with("item 1 at byte 15 cannot be read"), "{}", answer.title);
        }
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn bytes_pass_in_pieces() {
    let (client, service, _) = client(4);
    let mut body = client.read_file_stream("abc").await.unwrap().into_body();
    assert_eq!(body.next().await.unwrap().unwrap(), "abc");
    assert_eq!(body.next().await.unwrap().unwrap(), "!");
    assert!(body.next().await.is_none());
    match client.read_file_stream("none").await.unwrap_err() {
        Error::ErrorResponse(answer) => assert_eq!(answer.title, "none"),
        other => panic!("{other}"),
    }
    let pieces = || ByteStream::new(list([Ok(Bytes::from_static(b"ab")), Ok(Bytes::from_static(b"cd"))]));
    client.write_file_stream("x", pieces()).await.unwrap();
    assert_eq!(*service.files.lock().unwrap(), ["ab|cd"]);
    let longer = ByteStream::new(list([Ok(Bytes::from_static(b"ab")), Ok(Bytes::from_static(b"cde"))]));
    match client.write_file_stream("x", longer).await.unwrap_err() {
        Error::ErrorResponse(answer) => assert_eq!(answer.status().as_u16(), 413),
        other => panic!("{other}"),
    }
    // Another media type of the same body comes whole.
    client.write_file("x", &crate::bodies::WriteFileBody::Json(day("mon", 1))).await.unwrap();
    assert_eq!(*service.files.lock().unwrap(), ["ab|cd", ""]);
}
