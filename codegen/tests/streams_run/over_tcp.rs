//! An LLM's events over a connection, cut wherever a network may cut them.

use std::time::Duration;

use contract_runtime::{
    client::ReqwestTransport,
    stream::{ReconnectOptions, StreamError},
    transport::TransportFault,
};
use tokio::task::JoinHandle;

use crate::{
    ask, ask_in_pieces,
    calls::WatchThreadOptions,
    client::{Client, Error},
    scripted::{self, HEAD, Impatient},
};

/// What the server says on one connection, piece by piece, before it closes it.
type Script = Vec<&'static [u8]>;

/// A client of a server that says this, and what was sent.
async fn serve(scripts: Vec<Script>) -> (Client, JoinHandle<Vec<String>>) {
    let (origin, task) = scripted::serve(scripts).await;
    (Client::new(&origin, ReqwestTransport::new().unwrap()), task)
}

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

#[tokio::test]
async fn an_event_stream_goes_on_over_three_connections() {
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
    let timer = Impatient::default();
    let options = WatchThreadOptions::new().kinds(["a", "b"]);
    let answer = client.watch_thread_stream("t/1", options).await.unwrap();
    assert_eq!(answer.header("content-type"), Some("text/event-stream; charset=utf-8"));
    let mut events = answer.into_body().with_reconnection(timer.clone(), ReconnectOptions::default());
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(match event {
            Ok(event) => format!("{} {:?} {}", event.event, event.id, event.data.text),
            Err(StreamError::Item { place, .. }) => format!("item {} is lost", place.index),
            Err(error) => panic!("{error}"),
        });
    }
    assert_eq!(
        seen,
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
async fn a_completion_comes_in_pieces_and_ends_with_done() {
    let script: Script = vec![
        HEAD,
        b"data: {\"index\":0,\"delta\":\"Hel\"}\n",
        b"\ndata: {\"index\":0,\"delta\":\"lo\",\"finish\":\"stop\"}\n\nda",
        b"ta: [DONE]\n\ndata: {}\n\n",
    ];
    let (client, server) = serve(vec![script]).await;
    let ask = ask_in_pieces("Hi");
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
async fn a_connection_cut_in_the_middle_is_told() {
    let script: Script = vec![CHUNKED, b"20\r\ndata: {\"index\":0,\"delta\":\"a\"}\n\n\r\n", b"10\r\ndata:"];
    let (client, server) = serve(vec![script]).await;
    let chunks = client.create_chat_stream(&ask("Hi")).await.unwrap().into_body();
    // What may act a second time is not asked a second time.
    let mut chunks = chunks.with_reconnection(Impatient::default(), ReconnectOptions::default());
    assert_eq!(chunks.next().await.unwrap().unwrap().data.delta, "a");
    match chunks.next().await.unwrap().unwrap_err() {
        StreamError::Transport(error) => assert_eq!(error.fault(), TransportFault::Interrupted),
        other => panic!("{other}"),
    }
    assert!(chunks.next().await.is_none());
    assert_eq!(server.await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_refusal_is_read_whole() {
    let script: Script = vec![
        b"HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/problem+json\r\ncontent-length: 16\r\n\r\n",
        b"{\"title\"",
        b":\"slow\"}",
    ];
    let (client, server) = serve(vec![script]).await;
    match client.create_chat_stream(&ask("Hi")).await.unwrap_err() {
        Error::ErrorResponse(answer) => {
            assert_eq!((answer.status().as_u16(), answer.title.as_str()), (429, "slow"))
        }
        other => panic!("{other}"),
    }
    server.await.unwrap();
}
