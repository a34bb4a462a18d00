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
mod gateway;
mod keys;
mod list_a;
mod list_b;
mod list_c;
mod list_d;
mod oracles;
mod proofs;
mod rfc;
mod session;
mod store;
mod urls;
mod vectors;
