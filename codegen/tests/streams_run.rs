//! Tests of the typed streams of the case `streams`: the client with a scripted server over TCP, and with the
//! generated server in one process. In the case `streams_typed`, the name of an event determines its type.

#![deny(warnings)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]
#![allow(dead_code, reason = "these tests do not use all generated items")]

#[path = "streams_run/blocking.rs"]
mod blocking;
#[path = "streams_run/both_sides.rs"]
mod both_sides;
#[path = "harness/http_server.rs"]
mod http_server;
#[path = "streams_run/over_tcp.rs"]
mod over_tcp;
#[path = "streams_run/scripted.rs"]
mod scripted;
#[path = "streams_run/typed.rs"]
pub mod typed;

#[rustfmt::skip]
#[path = "cases/streams/expected/responses.rs"]
pub mod responses;
#[rustfmt::skip]
#[path = "cases/streams/expected/bodies.rs"]
pub mod bodies;
#[rustfmt::skip]
#[path = "cases/streams/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "cases/streams/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "cases/streams/expected/headers.rs"]
pub mod headers;
#[rustfmt::skip]
#[path = "cases/streams/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "cases/streams/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "cases/streams/expected/response_headers.rs"]
pub mod response_headers;
#[rustfmt::skip]
#[path = "cases/streams/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "cases/streams/expected/server.rs"]
pub mod server;
#[rustfmt::skip]
#[path = "cases/streams/expected/types.rs"]
pub mod types;

use contract_runtime::Map;
use types::{Ask, Chunk, Day, Move, MoveEvent, Problem, Reply, WatchThreadResponseItem};

fn ask(prompt: &str) -> Ask {
    Ask { prompt: prompt.to_owned(), stream: None, extra: Map::new() }
}

/// Creates a request for a streaming response.
fn ask_for_stream(prompt: &str) -> Ask {
    Ask { stream: Some(true), ..ask(prompt) }
}

fn chunk(index: i64, delta: &str) -> Chunk {
    Chunk { index, delta: delta.to_owned(), finish: None, extra: Map::new() }
}

fn day(day: &str, count: i64) -> Day {
    Day { day: day.to_owned(), asked: count, extra: Map::new() }
}

fn moved(event: MoveEvent, data: &str) -> Move {
    Move { event, data: data.to_owned(), extra: Map::new() }
}

fn problem(title: &str) -> Problem {
    Problem { title: title.to_owned(), extra: Map::new() }
}

fn reply(text: &str) -> Reply {
    Reply { text: text.to_owned(), extra: Map::new() }
}

fn happened(text: &str) -> WatchThreadResponseItem {
    WatchThreadResponseItem { text: text.to_owned(), by: None, extra: Map::new() }
}
