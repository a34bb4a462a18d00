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
//! [`generate::Project`] is what it stands on: it reads a contract and its options and gives files,
//! which [`mod@write`] puts on disk; [`explain`], [`report`], `drift` and [`init`] look at what was decided.
//! Problems are [`diagnostics::Diagnostics`], with file and JSON Pointer.
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cli` (default) | the command `contract-codegen`, with the three below |
//! | `engines` | what progenitor and typify make of a contract (`engines`), for `report --engines` and `lower` |
//! | `frames` | excerpts in frames around what is told |
//! | `proofs` | `drift`; proofs in place of tests in a report |
//!
//! # Stages
//!
//! The stages are modules, in this order: [`load`], [`resolve`], [`prune`], [`shape`], [`plan`],
//! [`tables`], [`emit`] with [`operations`], [`calls`], [`views`], [`client`], [`server`] and
//! [`registry`], then [`render`] and [`mod@write`]; [`lower`] and `refine` ask another engine. [`generate`] runs
//! them all; names are settled in [`naming`], before a part of a contract is taken. [`init`] writes a first
//! `codegen.toml`.

pub mod api;
pub mod arena;
mod build;
pub mod calls;
#[cfg(feature = "proofs")]
mod canonical;
pub mod checks;
pub mod client;
pub mod config;
pub mod credentials;
pub mod diagnostics;
#[cfg(feature = "proofs")]
pub mod drift;
pub mod emit;
#[cfg(feature = "engines")]
pub mod engines;
pub mod explain;
pub mod formats;
pub mod generate;
pub mod held;
pub mod init;
pub mod load;
pub mod lower;
pub mod names;
pub mod naming;
pub mod operations;
pub mod options;
mod package;
pub mod pattern;
pub mod plan;
pub mod proof;
pub mod prune;
pub mod reading;
#[cfg(feature = "engines")]
pub mod refine;
pub mod registry;
pub mod render;
pub mod report;
pub mod resolve;
pub mod rust_types;
pub mod schema;
pub mod server;
pub mod shape;
pub mod shelf;
mod stack;
pub mod tables;
pub mod together;
pub mod tree;
pub mod views;
pub mod words;
pub mod write;

pub use build::{Build, BuildError};
