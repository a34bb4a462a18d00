//! Tests that span several modules of this crate.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

#[cfg(feature = "proofs")]
mod directions;
#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "../tests/harness/folder.rs"]
pub(crate) mod folder;
#[allow(dead_code, reason = "shared with the tests of the pipeline")]
#[path = "../tests/harness/random.rs"]
pub(crate) mod random_contracts;
#[path = "../tests/harness/split_mix.rs"]
pub(crate) mod split_mix;
