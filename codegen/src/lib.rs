//! A code generator that turns OpenAPI 3.0, 3.1 and 3.2 documents and JSON Schema 2020-12 into Rust types,
//! validators, a client and a server interface.
//!
//! A build script generates one file and reports the input files to cargo, so that cargo reruns the script if
//! one of them changes:
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
//! [`BuildScript`] is the short form for build scripts. It needs none of the features (`default-features =
//! false`). [`Project`] is the full interface: it takes inputs and a [`config::Config`] and returns an
//! [`AnalyzedContract`], or the [`OutputFiles`] of a complete output. [`Sources`] takes documents from
//! memory. Problems are returned as [`diagnostics::Diagnostics`] with file and JSON Pointer.
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
//! | [`lower`] | converts a contract to OpenAPI 3.0.3 or JSON Schema draft-07 |
//! | `mcp` | the operations of a contract as tools for AI agents |
//! | `mock` | a mock server for any contract |
//! | [`pattern`] | compiles ECMA-262 patterns to linear-time programs |
//!
//! # Features
//!
//! | | |
//! |---|---|
//! | `cli` (default) | the command `contract-codegen`, with `frames` and `proofs` |
//! | `frames` | diagnostics with framed source excerpts |
//! | `https` | the option `--fetch`, and `mcp`, `mock --proxy` and `test` for services with TLS; needs a C compiler |
//! | `live` | generated requests for tests of a live service, in the module `mock` |
//! | `mcp` | the module `mcp` and, with `serve`, the subcommand `mcp` |
//! | `mock` | the module `mock` |
//! | `proofs` | the module `drift`, and proofs instead of tests in a report |
//! | `serve` (default) | the subcommands `mock` and `test`, with an HTTP server and an HTTP client |
//!
//! The pipeline from documents to generated files is the crate `contract-codegen-core`.

#[cfg(feature = "proofs")]
pub mod drift;
pub mod explain;
pub mod init;
pub mod lower;
#[cfg(feature = "mcp")]
pub mod mcp;
#[cfg(feature = "mock")]
pub mod mock;
pub mod report;

#[cfg(feature = "proofs")]
mod canonical;

pub use contract_codegen_core::{
    AnalyzedContract, BuildError, BuildScript, ContractInputs, ContractSize, DocumentFetcher,
    DocumentRequest, FetchError, GeneratedCode, InputDocument, OutputFiles, ProgressCallback, Project,
    Sources, config, diagnostics, pattern, write,
};
#[cfg(feature = "mock")]
pub use mock::MockServer;

#[cfg(test)]
mod tests;
