//! What every generated type and operation calls: exact JSON, members that may be
//! absent, null or unknown, and the pieces that schema evaluation stands on.
//!
//! Generated code stays small because whatever does not vary between two schemas is
//! written here once. Nothing here knows a particular contract, and nothing opens a socket
//! or reads a clock but what is a whole transport or program by its feature (`reqwest`, `cli`).
//!
//! * [`Number`] keeps a JSON number exactly as it was written.
//! * [`Json`] is any JSON value, [`Map`] its objects: insertion order, no duplicates.
//! * [`Nullable`] tells JSON `null` from a value; `Option<Nullable<T>>` also from absence.
//! * [`Secret`] never shows up in a log.
//! * [`Moment`] compares date-times by the moments they mean.
//! * [`read`] is what generated `Deserialize` and `Serialize` implementations consist of.
//! * [`schema`], [`pattern`] and [`violation`] check a value against its contract.
//!
//! ```
//! use contract_runtime::{Json, Number};
//!
//! let body = Json::parse(br#"{"amount": 12.30, "currency": "EUR"}"#)?;
//! let amount = body.pointer("/amount").and_then(Json::as_number);
//!
//! assert_eq!(amount, Some(&Number::decimal(123, 1))); // compared by value
//! assert_eq!(body.to_string(), r#"{"amount":12.30,"currency":"EUR"}"#); // kept as text
//! # Ok::<(), contract_runtime::json::JsonError>(())
//! ```
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `client` | `client`: requests, answers and errors; `transport`: the seam to what carries them |
//! | `server` | `server`: calls, answers and the router |
//! | `stream` | `stream`: events, lines of JSON and bytes that are handed on as they come |
//! | `pages` | `client::pages`: operations that answer page by page, as streams of pages and of items |
//! | `credentials` | `client::credentials`: a transport that shows what a contract asks for |
//! | `reqwest`, `reqwest-rustls` | `client::ReqwestTransport`, the second with TLS |
//! | `layers`, `tracing` | `layers`: retries, timeouts, a number of calls at a time; a span for each call |
//! | `tower`, `tokio` | transports over services of tower; tokio's timer |
//! | `ready` | all layers around reqwest with TLS, in one line |
//! | `cli` | `cli`: a command line for any contract |
//! | `schemars`, `proptest` | `json_schema`, `strategies`: schemas and values of types, from their tables |
//! | `bigdecimal`, `rust_decimal` | exact conversions of numbers |
//!
//! # Only `serde_json`
//!
//! Numbers are read through `serde_json`'s raw values, so [`Number`], [`Json`] and the
//! unions of [`read`] can be deserialised from `serde_json` only.

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::print_stdout))]

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
pub mod contract;
pub mod depth;
pub mod format;
pub mod json;
#[cfg(feature = "schemars")]
pub mod json_schema;
mod key;
mod kind;
#[cfg(feature = "layers")]
pub mod layers;
#[macro_use]
mod macros;
pub mod map;
pub mod media;
pub mod moment;
#[cfg(any(feature = "client", feature = "server"))]
pub mod multipart;
pub mod nullable;
pub mod number;
pub mod operation;
pub mod parameters;
pub mod pattern;
pub mod pointer;
mod raw;
pub mod read;
pub mod schema;
pub mod secret;
pub mod sequence;
#[cfg(feature = "server")]
pub mod server;
#[cfg(feature = "proptest")]
pub mod strategies;
#[cfg(feature = "stream")]
pub mod stream;
mod template;
pub mod text;
#[cfg(any(feature = "client", feature = "stream"))]
pub mod transport;
pub mod violation;

pub use contract::{Contract, Rejected, Undeclared};
pub use json::Json;
pub use kind::Kind;
pub use map::Map;
pub use moment::Moment;
pub use nullable::Nullable;
pub use number::Number;
pub use secret::Secret;
