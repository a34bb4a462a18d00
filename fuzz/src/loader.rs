//! Loading of documents. The first byte of the input selects JSON or YAML.

use contract_codegen::Sources;
use contract_runtime::Json;

/// Loads a document. Asserts that a JSON document has the same value as with the parser of the runtime.
pub fn run(data: &[u8]) {
    let Some((kind, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let is_json = kind & 1 == 0;
    let name = if is_json { "input.json" } else { "input.yaml" };
    match Sources::from_texts(&[(name, "", &text)]) {
        Ok(sources) => {
            for (_, read) in sources.documents() {
                if is_json && let Ok(json) = Json::parse(text.as_bytes()) {
                    assert!(json.strict_eq(&read), "{json} is read as {read}");
                }
            }
        }
        Err(problems) => {
            assert!(problems.has_errors(), "rejected without an error");
            assert!(!problems.render(false).is_empty());
        }
    }
}
