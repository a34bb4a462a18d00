//! The pipeline of `contract-codegen`: reads OpenAPI 3.0, 3.1, 3.2 and JSON Schema 2020-12 documents and generates
//! Rust types, validators, clients and servers.
//!
//! Use the crate `contract-codegen`: it exports the API of this crate, and adds the command, comparisons,
//! reports and the mock server. Those use the stages below. The stages are public only for that purpose: they
//! are hidden from the documentation and change without notice.
//!
//! # Stages
//!
//! [`Project`] runs these stages, each a module: `load`, `resolve`, `prune`, `shape`, `plan`, `tables`, `emit` with
//! `operations`, `calls`, `views`, `client`, `server` and `registry`, then `render` and [`write`](mod@write). The
//! module `naming` assigns type names before `prune` removes unused parts.

pub mod config;
pub mod diagnostics;
pub mod pattern;
pub mod write;

#[doc(hidden)]
pub mod analyzed_contract;
#[doc(hidden)]
pub mod api;
#[doc(hidden)]
pub mod arena;
#[doc(hidden)]
pub mod build;
#[doc(hidden)]
pub mod calls;
#[doc(hidden)]
pub mod checks;
#[doc(hidden)]
pub mod client;
#[doc(hidden)]
pub mod command_line;
#[doc(hidden)]
pub mod conjunction;
#[doc(hidden)]
pub mod constraint_text;
#[doc(hidden)]
pub mod credentials;
#[doc(hidden)]
pub mod directions;
#[doc(hidden)]
pub mod emit;
#[doc(hidden)]
pub mod enforced_constraints;
#[doc(hidden)]
pub mod formats;
#[doc(hidden)]
pub mod generate;
#[doc(hidden)]
pub mod list_arena;
#[doc(hidden)]
pub mod load;
#[doc(hidden)]
pub mod locations;
#[doc(hidden)]
pub mod names;
#[doc(hidden)]
pub mod naming;
#[doc(hidden)]
pub mod operations;
#[doc(hidden)]
pub mod options;
#[doc(hidden)]
pub mod package;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod proof;
#[doc(hidden)]
pub mod prune;
#[doc(hidden)]
pub mod registry;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod resolve;
#[doc(hidden)]
pub mod rust_types;
#[doc(hidden)]
pub mod schema;
#[doc(hidden)]
pub mod server;
#[doc(hidden)]
pub mod servers;
#[doc(hidden)]
pub mod shape;
#[doc(hidden)]
pub mod stack;
#[doc(hidden)]
pub mod tables;
#[doc(hidden)]
pub mod tree;
#[doc(hidden)]
pub mod typed_value;
#[doc(hidden)]
pub mod views;

pub use analyzed_contract::AnalyzedContract;
pub use build::{BuildError, BuildScript};
pub use generate::{GeneratedCode, ProgressCallback, Project};
pub use load::{ContractInputs, DocumentFetcher, DocumentRequest, FetchError, InputDocument, Sources};
pub use prune::ContractSize;
pub use render::OutputFiles;

#[cfg(test)]
mod tests;
