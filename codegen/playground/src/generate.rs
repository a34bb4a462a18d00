//! `generate`: generates code for the documents of a request.

use contract_codegen::{GeneratedCode, Project};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{GeneratedContract, documents::NamedText, options, positions};

#[derive(Debug, Deserialize)]
pub(crate) struct GenerateRequest {
    files: Vec<NamedText>,
    /// The text of a `codegen.toml`.
    #[serde(default)]
    options: String,
    /// The values of the form, which replace the text.
    values: Option<Value>,
}

/// Generates code. Returns the response, and the contract if code was generated.
pub(crate) fn generate_code(request: GenerateRequest) -> (Value, Option<GeneratedContract>) {
    let GenerateRequest { files, options, values } = request;
    let options = options::parse_options(options, values);
    let result = options.config.and_then(|config| {
        let documents = files.into_iter().map(NamedText::into_input).collect();
        let project = Project { config, documents, ..Project::default() };
        let generated = project.generate()?;
        Ok((project, generated))
    });
    let (files, counts, diagnostics, last) = match result {
        Ok((project, GeneratedCode { files, mut contract, counts })) => {
            let diagnostics = std::mem::take(&mut contract.diagnostics);
            (files.0, counts, diagnostics, Some(GeneratedContract { project, contract }))
        }
        Err(problems) => (Default::default(), Vec::new(), problems, None),
    };
    let files = files.into_iter().filter(|(name, _)| is_shown(name));
    let files: Vec<Value> = files.map(|(name, text)| json!({ "name": name, "text": text })).collect();
    let counts: Map<String, Value> =
        counts.into_iter().map(|(kind, number)| (kind.to_owned(), number.into())).collect();
    let response = json!({
        "files": files,
        "counts": counts,
        "diagnostics": positions::diagnostics_to_json(diagnostics),
        "options": { "text": options.text, "values": options.values },
    });
    (response, last)
}

/// Returns false for files that are the same in every package: the runtime, and files for git.
fn is_shown(name: &str) -> bool {
    !name.starts_with('.') && !name.starts_with("runtime/")
}
