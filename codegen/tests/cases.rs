//! Tests of the generated code. Each folder of `cases/` contains a contract, the expected code, and valid and
//! invalid documents for its types.
//!
//! * `input.json`, or `input/` with several files, in JSON or YAML: the contract; `codegen.toml`: its
//!   options, if it has any;
//! * `expected/*.rs`: the generated code, which is compiled into this binary with warnings as errors;
//! * `valid/*.json`, and `invalid/*.json` with the violations in `*.expect.json`; the prefix `Type--` of a
//!   name selects a type, and the default is the type of the root schema;
//! * `notes.txt`: the messages of the generator, if there are any;
//! * `strict.txt`: the errors of `faults = "deny"` for faults that are repaired by default;
//! * `error.txt`: replaces all other outputs if the contract must be rejected.
//!
//! `constructs.md` lists the cases of each construct.
//!
//! This binary tests the compiled code. `cases_output.rs` compares it with the output of the generator. That
//! binary does not compile the code, so it can also update it:
//! `UPDATE_CASES=1 cargo test -p contract-codegen --test cases_output`.
#![recursion_limit = "512"]
#![allow(
    confusable_idents,
    mixed_script_confusables,
    uncommon_codepoints,
    reason = "the code of `names_foreign` requires them, according to its notes"
)]
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

#[path = "harness/api_guarantees.rs"]
mod api_guarantees;
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
#[path = "harness/model.rs"]
pub mod model;
#[path = "harness/object_unions.rs"]
mod object_unions;
#[path = "harness/open.rs"]
mod open;
#[path = "harness/custom_types.rs"]
pub mod outside;
#[path = "harness/type_guarantees.rs"]
mod type_guarantees;
#[path = "harness/validator_agreement.rs"]
mod validator_agreement;
