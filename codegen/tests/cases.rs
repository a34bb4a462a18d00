//! Generation, proved by cases: each folder of `cases/` holds a contract, the code that must come
//! of it, and documents that its types must take or refuse.
//!
//! * `input.json` or `input/` with several files, JSON or YAML, and a `codegen.toml` where
//!   options matter;
//! * `expected/*.rs`: the output, compiled into this binary with warnings denied;
//! * `valid/*.json`, and `invalid/*.json` with the violations in `*.expect.json`; a name that
//!   starts with `Type--` is for that type, any other for the root's;
//! * `notes.txt`: what the generator has to say beside the output, when it says anything;
//! * `strict.txt`: how `faults = "deny"` refuses what is mended otherwise;
//! * `error.txt` instead of all of these where the contract must be refused.
//!
//! `constructs.md` says which construct of a contract is proved by which folders.
//!
//! This binary asks the compiled output. That it is what the generator writes is asked by
//! `cases_output.rs`, which compiles none of it and so can repair it:
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.
#![recursion_limit = "512"]
#![allow(
    confusable_idents,
    mixed_script_confusables,
    uncommon_codepoints,
    reason = "names of `names_foreign`, which its notes ask for"
)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

#[path = "harness/api_promises.rs"]
mod api_promises;
#[rustfmt::skip]
#[path = "harness/apis.rs"]
pub mod apis;
#[path = "harness/compiled.rs"]
#[rustfmt::skip]
pub mod compiled;
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/formats.rs"]
mod formats;
#[path = "harness/independent.rs"]
mod independent;
#[path = "harness/instances.rs"]
mod instances;
#[path = "harness/judge.rs"]
mod judge;
#[path = "harness/model.rs"]
pub mod model;
#[path = "harness/object_unions.rs"]
mod object_unions;
#[path = "harness/open.rs"]
mod open;
#[path = "harness/outside.rs"]
pub mod outside;
#[path = "harness/promises.rs"]
mod promises;
