//! What several stages come to together, for many contracts: what the types of a contract hold, what a part
//! of one says. Tests of one stage stand in its module, those of what others see in `codegen/tests`.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on fails")]

#[cfg(feature = "proofs")]
mod directions;
#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "../tests/harness/folder.rs"]
pub(crate) mod folder;
mod parts;
pub(crate) mod random;
