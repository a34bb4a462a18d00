//! Tests of blocking calls and streams over TCP.

use std::{sync::mpsc::Receiver, time::Duration};

use contract_runtime::{
    client::ReqwestTransport,
    stream::ReconnectOptions,
    transport::{Delivery, TransportFault},
};

use crate::{
    ask, ask_for_stream,
    client::{Client, Error},
    http_server,
    scripted::InstantTimer,
};

/// Returns the bytes of a response with a known length.
fn response(status: &str, media_type: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Starts a server for conversations.
fn serve() -> (Client, Receiver<usize>) {
    let (origin, connections) = http_server::serve(|head, body| match body {
        _ if head.starts_with("GET /moves") => {
            response("200 OK", "text/event-stream", "event: opened\nid: 7\ndata: a\n\n")
        }
        r#"{"prompt":"Hi"}"# => response("200 OK", "application/json", r#"{"text":"Hello"}"#),
        r#"{"prompt":"Hi","stream":true}"# => response(
            "200 OK",
            "text/event-stream",
            "data: {\"index\":0,\"delta\":\"Hel\"}\n\ndata: {\"index\":0,\"delta\":\"lo\"}\n\ndata: [DONE]\n\n",
        ),
        _ => response("400 Bad Request", "application/problem+json", r#"{"title":"Refused"}"#),
    });
    (Client::new(origin, ReqwestTransport::new().unwrap()), connections)
}

/// All calls use one connection, which the client closes when it is dropped.
#[test]
fn blocking_calls_share_a_connection() {
    let (client, connections) = serve();
    let reply = client.create_chat(&ask("Hi")).send_blocking().unwrap();
    assert_eq!(reply.text, "Hello");

    let error = client.create_chat(&ask("No")).send_blocking().unwrap_err();
    assert_eq!(error.body().map(|problem| problem.title.as_str()), Some("Refused"));

    let clone = client.clone();
    drop(client);
    assert_eq!(clone.create_chat(&ask("Hi")).send_blocking().unwrap().text, "Hello");
    drop(clone);
    assert_eq!(connections.recv().unwrap(), 3);
}

#[test]
fn blocking_streams_are_iterators() {
    let (client, _) = serve();
    let mut text = String::new();
    let ask = ask_for_stream("Hi");
    for chunk in client.create_chat_stream(&ask).open_blocking().unwrap().into_body() {
        text.push_str(&chunk.unwrap().data.delta);
    }
    assert_eq!(text, "Hello");
}

/// A stream can be used after its client was dropped. Its settings and its position are available.
#[test]
fn blocking_streams_have_settings() {
    let (client, connections) = serve();
    let events = client.watch_moves_stream().open_blocking().unwrap().into_body();
    drop(client);
    let options = ReconnectOptions { max_idle_connections: 1, ..ReconnectOptions::default() };
    let timer = InstantTimer::default();
    let mut events = events.map_stream(|events| events.with_reconnection(timer.clone(), options));
    for _ in 0..3 {
        assert_eq!(events.next().unwrap().unwrap().data.data, "a");
        assert_eq!(events.get_ref().last_event_id(), "7");
    }
    assert_eq!(timer.waits(), [Duration::from_secs(3), Duration::from_secs(3)]);
    drop(events);
    assert_eq!(connections.recv().unwrap(), 3);
}

/// A blocking call in async code blocks its thread, but it does not panic and completes.
#[tokio::test]
async fn blocking_calls_work_inside_a_runtime() {
    let (client, connections) = serve();
    assert_eq!(client.create_chat(&ask("Hi")).send_blocking().unwrap().text, "Hello");
    assert_eq!(client.create_chat(&ask("Hi")).send_blocking().unwrap().text, "Hello");
    drop(client);
    assert_eq!(connections.recv().unwrap(), 2);
}

#[test]
fn blocking_calls_report_transport_errors() {
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let client = Client::new(format!("http://{unused}"), ReqwestTransport::new().unwrap());
    match client.create_chat(&ask("Hi")).send_blocking().unwrap_err() {
        Error::Transport(error) => {
            assert_eq!((error.fault(), error.delivery()), (TransportFault::Connect, Delivery::NotSent));
        }
        other => panic!("{other}"),
    }
}
