//! From any OpenAPI 3.0, 3.1 or 3.2 or JSON Schema 2020-12 contract to Rust: typed models,
//! validators, a client and a server interface.
//!
//! A build script that generates one file and tells cargo what it was made of:
//!
//! ```no_run
//! use std::process::ExitCode;
//!
//! use contract_codegen::Build;
//!
//! fn main() -> ExitCode {
//!     Build::of("openapi.yaml").run("api.rs")
//! }
//! ```
//!
//! [`Build`] is the short way, and a build script needs none of the features (`default-features = false`).
//! [`Project`] is what it stands on: inputs and a [`config::Config`] in, a [`Reading`] or the [`Files`] of a
//! whole output out, and [`Sources`] where documents are no files. Problems are
//! [`diagnostics::Diagnostics`], with file and JSON Pointer.
//!
//! ```
//! use contract_codegen::{Project, Sources, config::Layout};
//!
//! let mut project = Project::default();
//! project.config.output.layout = Layout::File;
//! let text = r#"{"title": "Seat", "type": "string", "pattern": "^[0-9]{1,2}[A-F]$"}"#;
//! let contract = project.understand(Sources::from_texts(&[("seat.schema.json", "", text)])?)?;
//! let generated = project.emit(contract)?;
//! let (_, code) = generated.files.iter().next().ok_or("no file")?;
//! assert!(code.contains("pub struct Seat"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Modules
//!
//! | | |
//! |---|---|
//! | [`config`] | what a `codegen.toml` decides |
//! | [`diagnostics`] | what is wrong with a contract, and where |
//! | [`write`](mod@write) | files on disk: written, or compared in CI |
//! | [`init`] | a first `codegen.toml` for a contract |
//! | [`explain`] | where something generated came from, and what enforces its rules |
//! | [`report`] | what is looser than the contract, assumed, proven |
//! | `drift` | what a new version of a contract breaks |
//! | `engines` | what progenitor and typify make of a contract, and the contract in their words |
//! | `mock` | a double of any service, answered from its contract |
//! | [`pattern`] | ECMA-262 patterns, run in linear time |
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cli` (default) | the command `contract-codegen`, with `frames` and `proofs` |
//! | `engines` | what progenitor and typify make of a contract (`engines`), for `report --engines` and `lower` |
//! | `frames` | excerpts in frames around what is told |
//! | `mock` | a double of any service, answered from its contract (`mock`) |
//! | `proofs` | `drift`; proofs in place of tests in a report |
//! | `serve` (default) | the command's `mock`: the double on a socket |
//!
//! # Stages
//!
//! Behind [`Project`] stand the stages, a private module each: `load`, `resolve`, `prune`, `shape`, `plan`,
//! `tables`, `emit` with `operations`, `calls`, `views`, `client`, `server` and `registry`, then `render` and
//! [`write`](mod@write). Names are settled in `naming`, before a part of a contract is taken.
#![cfg_attr(
    not(all(feature = "engines", feature = "mock", feature = "proofs")),
    allow(dead_code, reason = "what a feature alone asks for is found by the build that has all of them")
)]
#![allow(unreachable_pub, reason = "the border is drawn here: what a private module shows is its siblings'")]

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

mod api;
mod arena;
mod build;
mod calls;
#[cfg(feature = "proofs")]
mod canonical;
mod checks;
mod client;
mod command_line;
mod credentials;
mod directions;
mod emit;
mod formats;
mod generate;
mod held;
mod load;
mod names;
mod naming;
mod operations;
mod options;
mod package;
mod plan;
mod proof;
mod prune;
mod reading;
mod registry;
mod render;
mod resolve;
mod rust_types;
mod schema;
mod server;
mod shape;
mod shelf;
mod stack;
mod tables;
mod together;
mod tree;
mod views;
mod words;

pub use build::{Build, BuildError};
pub use generate::{Generated, Project, Step};
pub use load::Sources;
#[cfg(feature = "mock")]
pub use mock::Mock;
pub use prune::Whole;
pub use reading::Reading;
pub use render::Files;

#[cfg(test)]
mod tests;
