//! Integration tests: examples of the RFCs, named error cases, and comparisons with other implementations.

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]
// The tests compare the backends with each other; `cargo xtask test` enables all of them.
#![cfg(all(
    feature = "aws-lc-rs",
    feature = "ring",
    feature = "p256",
    feature = "contract-tests",
    feature = "http"
))]

mod docs;
mod forge;
mod freshness;
mod gateway;
mod keys;
mod oracles;
mod proof_encoding;
mod proof_requirements;
mod proofs;
mod replays;
mod rfc;
mod session;
mod store;
mod urls;
mod vectors;
