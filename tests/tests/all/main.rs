//! The tests that involve several crates, in one binary.
#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

#[allow(unreachable_pub, reason = "the fuzz targets use this file as a library")]
#[path = "../../../fuzz/src/lib.rs"]
mod fuzz;
mod hostile;
mod oracle;
mod published;
mod round_trip;
mod rows;
mod strategies;
