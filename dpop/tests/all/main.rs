//! What the crate as a whole promises: RFC examples, refusals by name, other implementations.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(all(feature = "aws-lc-rs", feature = "ring", feature = "p256"))]

mod forge;
mod gateway;
mod keys;
mod list_a;
mod list_b;
mod list_c;
mod oracles;
mod proofs;
mod rfc;
mod vectors;
