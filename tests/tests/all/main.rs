//! One binary for everything that is tested across crates.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[allow(unreachable_pub, reason = "a library elsewhere")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;
mod hostile;
mod oracle;
mod published;
mod round_trip;
mod rows;
mod strategies;
