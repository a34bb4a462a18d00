//! Runtime of the code that `contract-codegen` generates: exact JSON, types for absent, null and unknown
//! object members, JSON Schema validation, and the client and server layers.
//!
//! Generated code is small because everything that does not depend on the schema is implemented here once.
//! This crate contains nothing specific to one contract. It opens no socket and reads no clock, except in the
//! features that provide a complete transport or program (`reqwest`, `cli`).
//!
//! * [`Number`] preserves a JSON number exactly as written.
//! * [`Json`] is any JSON value, and [`Map`] is its object type, with insertion order and without duplicate
//!   keys.
//! * [`Nullable`] distinguishes JSON `null` from a value, and `Option<Nullable<T>>` also distinguishes
//!   absence.
//! * [`Secret`] keeps a value out of logs.
//! * [`Timestamp`] compares date-times by their instants.
//! * [`read`] contains the building blocks of generated `Deserialize` and `Serialize` implementations.
//! * [`schema`], [`pattern`] and [`violation`] validate a value against its schema.
//!
//! ```
//! use contract_runtime::{Json, Number};
//!
//! let body = Json::parse(br#"{"amount": 12.30, "currency": "EUR"}"#)?;
//! let amount = body.pointer("/amount").and_then(Json::as_number);
//!
//! assert_eq!(amount, Some(&Number::from_decimal(123, 1))); // compared by value
//! assert_eq!(body.to_string(), r#"{"amount":12.30,"currency":"EUR"}"#); // printed as written
//! # Ok::<(), contract_runtime::json::JsonError>(())
//! ```
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `client` | `client`: requests, responses and errors; `transport`: the interface to HTTP clients |
//! | `server` | `server`: calls, responses and the router |
//! | `stream` | `stream`: server-sent events, JSON lines and bytes as streams |
//! | `pages` | `client::pages`: paginated operations as streams of pages and of items |
//! | `credentials` | `client::credentials`: a transport that adds the credentials that an operation requires |
//! | `authentication` | `server::authentication`: verifies the credentials that an operation requires |
//! | `reqwest`, `reqwest-rustls` | `client::ReqwestTransport`, the second with TLS |
//! | `layers`, `tracing` | `layers`: retries, timeouts and concurrency limits; a tracing span for each call |
//! | `tower`, `tokio` | transports over tower services; tokio's timer |
//! | `ready` | reqwest with TLS and all layers, preconfigured |
//! | `blocking` | blocking calls: `send_blocking`, `open_blocking`, `into_blocking_iter` |
//! | `cli` | `cli`: a command line for any contract |
//! | `schemars`, `proptest` | `json_schema`, `strategies`: schemas and test values of types, derived from their tables |
//! | `bigdecimal`, `rust_decimal` | exact conversions of numbers |
//!
//! # Only `serde_json`
//!
//! Numbers are read as raw values of `serde_json`, so [`Number`], [`Json`] and the unions of [`read`] can
//! only be deserialized by `serde_json`.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::print_stdout))]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
#[cfg(any(feature = "credentials", feature = "layers"))]
mod clock;
pub mod contract;
pub mod depth;
pub mod format;
pub mod json;
#[cfg(feature = "schemars")]
pub mod json_schema;
mod json_type;
#[cfg(feature = "layers")]
pub mod layers;
mod member_key;
#[macro_use]
mod macros;
pub mod map;
pub mod media_type;
#[cfg(any(feature = "client", feature = "server"))]
pub mod multipart;
pub mod nullable;
pub mod number;
pub mod operation;
pub mod parameters;
mod path_template;
pub mod pattern;
pub mod pointer;
#[cfg(any(feature = "client", feature = "server"))]
mod random;
mod raw;
pub mod read;
pub mod schema;
pub mod secret;
#[cfg(any(feature = "credentials", feature = "authentication"))]
pub mod security;
pub mod sequence;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "proptest")]
pub mod strategies;
#[cfg(feature = "stream")]
pub mod stream;
pub mod text;
pub mod timestamp;
#[cfg(any(feature = "client", feature = "stream"))]
pub mod transport;
pub mod violation;

pub use contract::{Contract, DocumentError, UndeclaredMembers};
pub use json::Json;
pub use json_type::JsonType;
pub use map::Map;
pub use nullable::Nullable;
pub use number::Number;
pub use secret::Secret;
pub use timestamp::Timestamp;
