//! One binary for everything that is tested across crates.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod oracle;
mod round_trip;
mod rows;
