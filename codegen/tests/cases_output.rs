//! What the generator writes for each folder of `cases/` is what is committed there; `cases.rs`
//! says what the folders hold and asks the compiled output.
//!
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output` writes it anew.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

#[path = "harness/constructs.rs"]
mod constructs;
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/one_file.rs"]
mod one_file;
#[path = "harness/output.rs"]
mod output;
