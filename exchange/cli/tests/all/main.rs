//! Tests of the binary against a sandbox on a real port.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a panic is a test failure")]

mod areas;
mod changes;
mod connection;
#[cfg(unix)]
mod draw;
mod files;
mod intercepting_proxy;
#[cfg(unix)]
mod interruption;
mod json;
mod lists;
#[cfg(unix)]
mod pictures;
mod raw;
#[cfg(unix)]
mod readme;
#[cfg(target_os = "linux")]
mod terminal;
mod test_machine;
mod waiting;
