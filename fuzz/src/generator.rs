//! The pipeline from a document to its Rust files. The first byte of the input selects JSON or YAML.

use contract_codegen::{
    GeneratedCode, Project, Sources,
    config::{BuilderScope, Config},
    diagnostics::Diagnostics,
};

/// Generates code. Asserts that a rejected document is reported with an error, and that the output is valid
/// Rust.
pub fn run(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let name = if kind & 1 == 0 { "input.json" } else { "input.yaml" };
    match generate(name, &text) {
        Ok(generated) => assert!(generated.files.iter().next().is_some(), "nothing is generated"),
        Err(problems) => {
            assert!(problems.has_errors(), "rejected without an error");
            // The generator parses its own output, and reports `internal` if it is not valid Rust.
            let bad = problems.iter().find(|problem| problem.code == "internal");
            assert!(bad.is_none(), "{}", problems.render(false));
        }
    }
}

fn generate(name: &str, text: &str) -> Result<GeneratedCode, Diagnostics> {
    let mut config = Config::default();
    config.types.builders = BuilderScope::All;
    let project = Project { config, ..Project::default() };
    let contract = project.analyze_sources(Sources::from_texts(&[(name, "", text)])?)?;
    project.generate_from(contract)
}
