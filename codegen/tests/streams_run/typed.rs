//! Tests of events whose name determines their type, over connections that are interrupted at every byte.

#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "../cases/streams_typed/expected/types.rs"]
pub mod types;

use std::sync::{Arc, Mutex};

use contract_runtime::{
    client::ReqwestTransport,
    stream::{ReconnectOptions, ServerSentEvent, StreamError},
};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use self::{client::Client, types::RunEvent};
use crate::scripted::{HEAD, InstantTimer, read_request};

/// The events of a run in the order of their ids, including an event with an undeclared name, invalid data,
/// and the end marker.
const EVENTS: [&str; 7] = [
    "event: run.started\nid: 1\ndata: {\"run\":\"r1\",\"model\":\"loom-1\"}\n\n",
    ": a moment\n\nevent: message.delta\r\nid: 2\r\ndata: {\"index\":0,\r\ndata: \"text\":\"café\"}\r\n\r\n",
    "id: 3\ndata: {\"tool\":\"clock\",\"arguments\":{\"zone\":\"UTC\"}}\nevent: tool.called\n\n",
    "event: run.paused\nid: 4\ndata: {\"for\":1.50}\n\n",
    "event: message.delta\nid: 5\ndata: {\"index\":\"no\",\"text\":\"?\"}\n\n",
    "event: run.failed\nid: 6\ndata: {\"code\":\"late\"}\n\n",
    "event: done\ndata: [DONE]\n\n",
];

const EXPECTED: [&str; 6] = [
    "run.started: r1 by loom-1",
    "message.delta: café",
    "tool.called: clock Some(\"UTC\")",
    "run.paused: {\"event\":\"run.paused\",\"data\":{\"for\":1.50},\"id\":\"4\"}",
    "item 4 is lost",
    "run.failed: late",
];

/// The number of event bytes after which the next connection is closed; with `None`, all bytes are sent.
type CutPosition = Arc<Mutex<Option<usize>>>;

/// Starts a server that sends the events after `Last-Event-ID`, and returns a client.
async fn serve(cut: CutPosition) -> (Client, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            let length = cut.lock().unwrap().take();
            send_events(connection, length).await;
        }
    });
    (Client::new(format!("http://{address}"), ReqwestTransport::new().unwrap()), server)
}

async fn send_events(mut connection: TcpStream, length: Option<usize>) {
    let request = read_request(&mut connection).await;
    assert!(request.starts_with("GET /runs/r1/events HTTP/1.1\r\n"), "{request}");
    let id = request.lines().find_map(|line| line.strip_prefix("last-event-id: "));
    let events = EVENTS[id.map_or(0, |id| id.parse().unwrap())..].concat();
    let events = &events.as_bytes()[..length.unwrap_or(events.len())];
    for piece in [HEAD].into_iter().chain(events.chunks(7)) {
        // The client may have closed the connection after the end marker.
        if connection.write_all(piece).await.is_err() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

fn describe_event(event: &ServerSentEvent<RunEvent>) -> String {
    let data = match &event.data {
        RunEvent::RunStarted(own) => format!("{} by {}", own.data.run, own.data.model),
        RunEvent::MessageDelta(own) => own.data.text.clone(),
        RunEvent::ToolCalled(own) => format!("{} {:?}", own.data.tool, own.data.arguments.get("zone")),
        RunEvent::RunFailed(own) => own.data.code.clone(),
        RunEvent::Done(own) => format!("{:?}", own.data),
        RunEvent::Unknown(own) => own.to_string(),
    };
    format!("{}: {data}", event.event)
}

/// The client discards a truncated event and reconnects with the last event id. The server then sends the
/// event again (WHATWG HTML, 9.2.3 and 9.2.6).
#[tokio::test]
async fn interrupted_streams_deliver_each_event_once() {
    let cut = CutPosition::default();
    let (client, server) = serve(Arc::clone(&cut)).await;
    for length in 0..=EVENTS.concat().len() {
        *cut.lock().unwrap() = Some(length);
        let events = client.watch_run_stream("r1").await.unwrap().into_body();
        let mut events = events.with_reconnection(InstantTimer::default(), ReconnectOptions::default());
        let mut received = Vec::new();
        while let Some(event) = events.next().await {
            received.push(match event {
                Ok(event) => describe_event(&event),
                Err(StreamError::Item { place, .. }) => format!("item {} is lost", place.index),
                Err(error) => panic!("connection closed after {length} bytes: {error}"),
            });
        }
        assert_eq!(received, EXPECTED, "connection closed after {length} bytes");
        assert!(events.is_complete() && events.last_event_id() == "6");
    }
    server.abort();
}
