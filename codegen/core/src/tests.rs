//! Tests that span several stages and use many contracts. Tests of a single stage are in the module of that
//! stage, and tests of the observable behavior are in `codegen/tests`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic fails the test")]

#[allow(dead_code, reason = "the tests of the generated cases use the other items")]
#[path = "../../tests/harness/folder.rs"]
pub(crate) mod folder;
mod parts;
pub(crate) mod random;
