//! What generated server interfaces stand on: reading a call, writing an answer, routing.
//!
//! A generated `Service` trait has one method per operation; a generated `Incoming` holds the
//! request of any of them, and a few lines that read it and write its answer. [`Endpoints`] does
//! everything else, once, in a fixed order:
//!
//! 1. route (method and path), 2. media type, 3. size of the body, 4. query and parameters,
//!    all of them, 5. the body, 6. the method of the service.
//!
//! The first step that fails ends the call: its [`Rejection`] goes to the service's `reject`,
//! the one place that turns it into an answer of the contract. A panic of a method becomes
//! [`Rejection::Internal`]; `HEAD` is answered as `GET` without the body.
//!
//! Nothing here decides who may call what: layers around the router do, which find the
//! operation of a request with [`Operations::find`](crate::operation::Operations::find). A
//! layer may read the body first and pass it on buffered; a gateway that puts steps of its own
//! between has each of them by itself, and parses once: see [`Endpoints`].

mod answer;
mod call;
mod context;
mod dispatch;
pub mod media;
#[cfg(feature = "stream")]
mod pieces;
mod rejection;

pub use answer::{Answer, BrokenAnswer, NotImplemented, Outcome, Refusal, Refused, Reply, not_implemented};
pub use axum::{Router, response::Response};
pub use bytes::Bytes;
pub use call::{Call, Request};
pub use context::Context;
pub use dispatch::{
    CheckAnswers, Endpoints, Event, Handler, Handling, Hook, Reject, RouterOptions, without_body,
};
pub use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
#[cfg(feature = "stream")]
pub use pieces::{BrokenItems, Either, EventStream, ItemStream, Streaming, Writing};
pub use rejection::{FINDINGS_LIMIT, Finding, Rejection};

#[cfg(test)]
mod tests;
