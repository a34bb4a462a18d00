//! From any OpenAPI 3.1 / JSON Schema 2020-12 contract to Rust: typed models, validators, a
//! client and a server interface.
//!
//! ```no_run
//! use contract_codegen::generate::Project;
//! use std::path::Path;
//!
//! let project = Project::from_config(Path::new("schemas/codegen.toml"))?;
//! let generated = project.generate()?;
//! for (path, text) in generated.files.iter() {
//!     println!("{path}: {} lines", text.lines().count());
//! }
//! # Ok::<(), contract_codegen::diagnostics::Diagnostics>(())
//! ```
//!
//! The stages are modules, in this order: [`load`], [`resolve`], [`prune`], [`shape`], [`plan`],
//! [`tables`], [`emit`] with [`operations`], [`calls`], [`views`], [`client`], [`server`] and
//! [`registry`], then [`render`] and [`mod@write`]; [`lower`] and [`refine`] ask another engine. [`generate`] runs
//! them all; names are settled in [`naming`], before a part of a contract is taken. [`init`] writes a first
//! `codegen.toml`.

pub mod api;
pub mod arena;
pub mod calls;
pub mod checks;
pub mod client;
pub mod config;
pub mod diagnostics;
pub mod drift;
pub mod emit;
pub mod explain;
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
