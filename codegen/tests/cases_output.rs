//! Tests that compare the output of the generator with the committed code of each folder in `cases/`.
//! `cases.rs` describes the folders and tests the compiled code.
//!
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output` updates the committed code.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

#[path = "harness/constructs.rs"]
mod constructs;
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/inline_names.rs"]
mod inline_names;
#[path = "harness/one_file.rs"]
mod one_file;
#[path = "harness/output.rs"]
mod output;
