//! Tests that span several stages and run on many contracts. Tests of a single stage are in its module, tests
//! of observable behavior in `codegen/tests`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "../../tests/harness/folder.rs"]
pub(crate) mod folder;
mod parts;
pub(crate) mod random;
