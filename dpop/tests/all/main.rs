//! Integration tests: RFC examples, named error cases, and other implementations.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
// Backends are compared with each other; `cargo xtask test` enables all of them.
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
