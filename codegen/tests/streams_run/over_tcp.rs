//! Tests of event streams over TCP that are split at arbitrary bytes and interrupted.

use std::time::Duration;

use contract_runtime::{
    client::ReqwestTransport,
    stream::{ReconnectOptions, StreamError},
    transport::TransportFault,
};
use tokio::task::JoinHandle;

use crate::{
    ask, ask_for_stream,
    calls::WatchThreadOptions,
    client::{Client, Error},
    scripted::{self, HEAD, InstantTimer},
};

/// The pieces that the server sends on one connection before it closes it.
type Script = Vec<&'static [u8]>;

/// Starts a scripted server. Returns a client, and a task that returns the received requests.
async fn serve(scripts: Vec<Script>) -> (Client, JoinHandle<Vec<String>>) {
    let (origin, task) = scripted::serve(scripts).await;
    (Client::new(&origin, ReqwestTransport::new().unwrap()), task)
}

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn event_streams_continue_over_three_connections() {
    let first = b"\xef\xbb\xbf: hello\nretry: 400\nid: 1\nevent: said\ndata: {\"text\":\ndata:  \"a\"}\r\n\r\nid: 2\ndata: {\"te";
    let mut script: Script = vec![HEAD];
    script.extend(first.chunks(1));
    let second: Script = vec![
        HEAD,
        b"data: {\"text\":\"b\",\"by\":\"x\",\"new\":1}\rid: 3\r\r",
        b"data: nonsense\n\n",
        b"data: {\"text\":\"caf\xc3",
        b"\xa9\"}\n\ndata: {\"text\":",
    ];
    let third: Script =
        vec![CHUNKED, b"20\r\nevent: closed\ndata: {\"text\":\"z\"}\r\n3\r\n\n\n:\r\n", b"0\r\n\r\n"];
    let (client, server) = serve(vec![script, second, third]).await;
    let timer = InstantTimer::default();
    let options = WatchThreadOptions::new().kinds(["a", "b"]);
    let response = client.watch_thread_stream("t/1", options).await.unwrap();
    assert_eq!(response.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let mut events = response.into_body().with_reconnection(timer.clone(), ReconnectOptions::default());
    let mut received = Vec::new();
    while let Some(event) = events.next().await {
        received.push(match event {
            Ok(event) => format!("{} {:?} {}", event.event, event.id, event.data.text),
            Err(StreamError::Item { place, .. }) => format!("item {} is lost", place.index),
            Err(error) => panic!("{error}"),
        });
    }
    assert_eq!(
        received,
        [
            "said Some(\"1\") a",
            "message Some(\"3\") b",
            "item 2 is lost",
            "message None café",
            "closed None z"
        ]
    );
    assert!(events.is_complete());
    assert_eq!(timer.waits(), [Duration::from_millis(400), Duration::from_millis(400)]);
    let requests = server.await.unwrap();
    let line = "GET /threads/t%2F1/events?kinds=a&kinds=b HTTP/1.1\r\n";
    assert!(requests.iter().all(|request| request.starts_with(line)), "{requests:?}");
    let accept = "accept: text/event-stream, application/problem+json\r\n";
    assert!(requests.iter().all(|request| request.contains(accept)), "{requests:?}");
    let ids: Vec<Option<&str>> = requests
        .iter()
        .map(|request| request.lines().find_map(|line| line.strip_prefix("last-event-id: ")))
        .collect();
    assert_eq!(ids, [None, Some("1"), Some("3")]);
}

#[tokio::test]
async fn event_streams_end_with_the_done_marker() {
    let script: Script = vec![
        HEAD,
        b"data: {\"index\":0,\"delta\":\"Hel\"}\n",
        b"\ndata: {\"index\":0,\"delta\":\"lo\",\"finish\":\"stop\"}\n\nda",
        b"ta: [DONE]\n\ndata: {}\n\n",
    ];
    let (client, server) = serve(vec![script]).await;
    let ask = ask_for_stream("Hi");
    let mut chunks = client.create_chat_stream(&ask).await.unwrap().into_body();
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        text.push_str(&chunk.unwrap().data.delta);
    }
    assert_eq!((text.as_str(), chunks.is_complete()), ("Hello", true));
    let requests = server.await.unwrap();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("POST /chat HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("accept: text/event-stream, application/problem+json"), "{head}");
    assert_eq!(body, r#"{"prompt":"Hi","stream":true}"#);
}

#[tokio::test]
async fn interrupted_connections_are_an_error() {
    let script: Script = vec![CHUNKED, b"20\r\ndata: {\"index\":0,\"delta\":\"a\"}\n\n\r\n", b"10\r\ndata:"];
    let (client, server) = serve(vec![script]).await;
    let chunks = client.create_chat_stream(&ask("Hi")).await.unwrap().into_body();
    // An unsafe operation is not retried.
    let mut chunks = chunks.with_reconnection(InstantTimer::default(), ReconnectOptions::default());
    assert_eq!(chunks.next().await.unwrap().unwrap().data.delta, "a");
    match chunks.next().await.unwrap().unwrap_err() {
        StreamError::Transport(error) => assert_eq!(error.fault(), TransportFault::Interrupted),
        other => panic!("{other}"),
    }
    assert!(chunks.next().await.is_none());
    assert_eq!(server.await.unwrap().len(), 1);
}

#[tokio::test]
async fn error_responses_are_read_completely() {
    let script: Script = vec![
        b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\ncontent-length: 16\r\n\r\n",
        b"{\"title\"",
        b":\"slow\"}",
    ];
    let (client, server) = serve(vec![script]).await;
    match client.create_chat_stream(&ask("Hi")).await.unwrap_err() {
        Error::ErrorResponse(response) => {
            assert_eq!((response.status().as_u16(), response.title.as_str()), (429, "slow"))
        }
        other => panic!("{other}"),
    }
    server.await.unwrap();
}
