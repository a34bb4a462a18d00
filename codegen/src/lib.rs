//! A code generator that turns OpenAPI 3.0, 3.1 and 3.2 documents and JSON Schema 2020-12 into Rust types,
//! validators, a client and a server interface.
//!
//! A build script generates one file and reports the input files to cargo, so that a change of one reruns it:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use contract_codegen::BuildScript;
//!
//! fn main() -> ExitCode {
//!     BuildScript::new("openapi.yaml").run("api.rs")
//! }
//! ```
//!
//! [`BuildScript`] is the short form for build scripts. It needs none of the features (`default-features = false`).
//! [`Project`] is the full interface: it takes inputs and a [`config::Config`] and returns a [`AnalyzedContract`], or
//! the [`OutputFiles`] of a complete output. [`Sources`] takes documents from memory. Problems are returned as
//! [`diagnostics::Diagnostics`] with file and JSON Pointer.
//!
//! ```
//! use contract_codegen::{Project, Sources, config::OutputLayout};
//!
//! let mut project = Project::default();
//! project.config.output.layout = OutputLayout::File;
//! let text = r#"{"title": "Seat", "type": "string", "pattern": "^[0-9]{1,2}[A-F]$"}"#;
//! let contract = project.analyze_sources(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let generated = project.generate_from(contract)?;
//! let (_, code) = generated.files.iter().next().ok_or("no file")?;
//! assert!(code.contains("pub struct Seat"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | | |
//! |---|---|
//! | [`config`] | the options of `codegen.toml` |
//! | [`diagnostics`] | errors, warnings and notes with their location in a contract |
//! | [`write`](mod@write) | writes files to disk, or compares them with the disk in CI |
//! | [`init`] | creates a first `codegen.toml` for a contract |
//! | [`explain`] | reports the origin of a generated item and the code that enforces its rules |
//! | [`report`] | reports unchecked, assumed and proven constraints |
//! | `drift` | reports breaking changes between two versions of a contract |
//! | `engines` | reports the support of progenitor and typify for a contract, and lowers it for them |
//! | `mock` | a mock server for any contract |
//! | [`pattern`] | compiles ECMA-262 patterns to linear-time programs |
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cli` (default) | the command `contract-codegen`, with `frames` and `proofs` |
//! | `engines` | the module `engines`, for `report --engines` and `lower` |
//! | `frames` | diagnostics with framed source excerpts |
//! | `mock` | the module `mock` |
//! | `proofs` | the module `drift`, and proofs instead of tests in a report |
//! | `serve` (default) | the subcommand `mock`, which serves the mock over HTTP |
//!
//! # Stages
//!
//! [`Project`] runs these stages, each a private module: `load`, `resolve`, `prune`, `shape`, `plan`,
//! `tables`, `emit` with `operations`, `calls`, `views`, `client`, `server` and `registry`, then `render` and
//! [`write`](mod@write). The module `naming` assigns type names before `prune` removes unused parts.
#![cfg_attr(
    not(all(feature = "engines", feature = "mock", feature = "proofs")),
    allow(dead_code, reason = "the build with all features finds items that no feature uses")
)]
#![allow(
    unreachable_pub,
    reason = "private modules share items with their siblings; this file defines the public API"
)]

pub mod config;
pub mod diagnostics;
#[cfg(feature = "proofs")]
pub mod drift;
#[cfg(feature = "engines")]
pub mod engines;
pub mod explain;
pub mod init;
#[cfg(feature = "mock")]
pub mod mock;
pub mod pattern;
pub mod report;
pub mod write;

mod analyzed_contract;
mod api;
mod arena;
mod build;
mod calls;
#[cfg(feature = "proofs")]
mod canonical;
mod checks;
mod client;
mod command_line;
mod conjunction;
mod constraint_text;
mod credentials;
mod directions;
mod emit;
mod formats;
mod generate;
mod list_arena;
mod load;
mod names;
mod naming;
mod operations;
mod options;
mod package;
mod plan;
mod proof;
mod prune;
mod registry;
mod render;
mod resolve;
mod rust_types;
mod schema;
mod server;
mod shape;
mod stack;
mod tables;
mod tree;
mod typed_value;
mod views;

pub use analyzed_contract::AnalyzedContract;
pub use build::{BuildError, BuildScript};
pub use generate::{GeneratedCode, ProgressCallback, Project};
pub use load::Sources;
#[cfg(feature = "mock")]
pub use mock::MockServer;
pub use prune::ContractSize;
pub use render::OutputFiles;

#[cfg(test)]
mod tests;
