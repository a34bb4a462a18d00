//! The generator for the playground in the browser: requests and responses as JSON, without files.
//!
//! Entry point: [`PlaygroundSession::handle_request`]. `web/` contains the page, which runs this crate as
//! WebAssembly in a worker. On other targets the crate exists only for its tests.
//!
//! A request is an object with the name of the operation in `op`:
//!
//! | `op` | other properties | response |
//! |---|---|---|
//! | `generate` | `files`, `options` or `values` | `files`, `diagnostics`, `counts`, `options` |
//! | `explain` | `name`, or `file`, `line` and `column` | `found`, or `near` |
//! | `drift` | `old`, `new`, `proofs`, `report` | `changes`, `result`, `bump`, or `problems` |
//!
//! Files are objects with `name` and `text`. Lines and columns count from 1; columns count UTF-16 code units,
//! as editors in browsers do.

mod documents;
mod drift;
mod explain;
mod generate;
mod options;
mod positions;
#[cfg(target_arch = "wasm32")]
mod wasm;

use contract_codegen::{AnalyzedContract, Project};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{drift::DriftRequest, explain::ExplainRequest, generate::GenerateRequest};

/// A request of the page.
#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "kebab-case")]
enum PlaygroundRequest {
    Generate(GenerateRequest),
    Explain(ExplainRequest),
    Drift(DriftRequest),
}

/// A contract for which code was generated, with its project.
struct GeneratedContract {
    project: Project,
    contract: AnalyzedContract,
}

/// The state between requests: the contract of the last successful generation, which `explain` uses.
#[derive(Default)]
pub struct PlaygroundSession {
    last: Option<GeneratedContract>,
}

impl PlaygroundSession {
    /// Handles a request. The response is a JSON object; for an invalid request, it has the property `error`.
    pub fn handle_request(&mut self, request: &str) -> String {
        let response = match serde_json::from_str(request) {
            Ok(PlaygroundRequest::Generate(request)) => self.generate(request),
            Ok(PlaygroundRequest::Explain(request)) => self.explain(&request),
            Ok(PlaygroundRequest::Drift(request)) => drift::compare_versions(&request),
            Err(error) => json!({ "error": format!("invalid request: {error}") }),
        };
        response.to_string()
    }

    fn generate(&mut self, request: GenerateRequest) -> Value {
        let (response, generated) = generate::generate_code(request);
        self.last = generated;
        response
    }

    fn explain(&self, request: &ExplainRequest) -> Value {
        match &self.last {
            Some(GeneratedContract { project, contract }) => {
                explain::explain_item(project, contract, request)
            }
            None => json!({ "error": "no code was generated from this contract" }),
        }
    }
}

#[cfg(test)]
mod tests;
