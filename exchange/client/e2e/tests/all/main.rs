//! Tests of the client against the real service, for requirements that need both sides.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a panic is a test failure")]

mod demo;
mod examples;
mod feeds;
mod files;
mod killed;
mod mcp;
mod schedules;
mod session;
mod transport;
mod writes;
