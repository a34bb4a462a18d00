//! Calls of the generated client of the case `streams` in WebAssembly. `tests/wasm/run.mjs` starts a server and
//! runs them under Node.js:
//!
//! ```console
//! $ cargo build -p wasm-client-tests --target wasm32-unknown-unknown
//! $ wasm-bindgen --target nodejs --out-dir target/wasm target/wasm32-unknown-unknown/debug/wasm_client_tests.wasm
//! $ node tests/wasm/run.mjs
//! ```

#![cfg(target_arch = "wasm32")]
#![allow(dead_code, missing_docs, reason = "the test does not use all generated items")]

#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/bodies.rs"]
pub mod bodies;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/calls.rs"]
pub mod calls;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/client.rs"]
pub mod client;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/headers.rs"]
pub mod headers;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/models.rs"]
pub mod models;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/operations.rs"]
pub mod operations;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/responses.rs"]
pub mod responses;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/schemas.rs"]
pub mod schemas;
#[rustfmt::skip]
#[path = "../../../codegen/tests/cases/streams/expected/types.rs"]
pub mod types;

use std::{error::Error as StdError, time::Duration};

use client::{Client, Error};
use contract_runtime::{
    Map,
    client::ReqwestTransport,
    layers::{AttemptCount, Timeout, TransportStack},
    transport::{ByteStream, HostTimer, TransportFault},
};
use types::Ask;
use wasm_bindgen::{JsError, prelude::wasm_bindgen};

type TestResult = Result<(), Box<dyn StdError>>;

/// Runs all tests against the server at `origin`. Returns the names of the tests.
#[wasm_bindgen]
pub async fn run(origin: String) -> Result<String, JsError> {
    let transport = ReqwestTransport::new().map_err(|error| JsError::new(&error.to_string()))?;
    let client = Client::new(&origin, transport.clone());
    let layered = Client::new(&origin, TransportStack::default().wrap(transport.clone(), HostTimer));
    let impatient = Client::new(&origin, Timeout::new(transport, Duration::from_millis(50), HostTimer));
    let results = [
        ("calls", calls_return_typed_responses(&client).await),
        ("streams", streams_return_events(&client).await),
        ("uploads", uploads_are_sent(&client).await),
        ("retries", unavailable_servers_are_retried(&layered).await),
        ("timeouts", slow_responses_time_out(&impatient).await),
    ];
    let mut names = Vec::new();
    for (name, result) in results {
        result.map_err(|error| JsError::new(&format!("{name}: {error}")))?;
        names.push(name);
    }
    Ok(names.join(", "))
}

fn ask(prompt: &str) -> Ask {
    Ask { prompt: prompt.to_owned(), stream: None, extra: Map::new() }
}

/// Returns an error unless both values are equal.
fn expect<T: PartialEq + std::fmt::Debug>(actual: T, expected: T) -> TestResult {
    if actual == expected { Ok(()) } else { Err(format!("{actual:?} instead of {expected:?}").into()) }
}

async fn calls_return_typed_responses(client: &Client) -> TestResult {
    let reply = client.create_chat(&ask("Hi")).await?;
    expect(reply.text.as_str(), "Hello")?;
    let error = client.create_chat(&ask("No")).await.err();
    expect(error.as_ref().and_then(Error::body).map(|problem| problem.title.as_str()), Some("Refused"))
}

async fn streams_return_events(client: &Client) -> TestResult {
    let ask = Ask { stream: Some(true), ..ask("Hi") };
    let mut chunks = client.create_chat_stream(&ask).await?.into_body();
    let mut text = String::new();
    while let Some(chunk) = chunks.next().await {
        text.push_str(&chunk?.data.delta);
    }
    expect(text.as_str(), "Hello")
}

async fn uploads_are_sent(client: &Client) -> TestResult {
    client.write_file_stream("a", ByteStream::from(&b"content"[..])).await?;
    Ok(())
}

/// The first two responses have the status `503`.
async fn unavailable_servers_are_retried(client: &Client) -> TestResult {
    let response = client.watch_moves().await?;
    expect(response.extensions().get::<AttemptCount>().map(|count| count.0), Some(3))
}

async fn slow_responses_time_out(client: &Client) -> TestResult {
    match client.create_chat(&ask("Slow")).await {
        Err(Error::Transport(error)) => expect(error.fault(), TransportFault::Timeout),
        Err(error) => Err(error.into()),
        Ok(_) => Err("no timeout".into()),
    }
}
