//! An independent validator for the same schema files.

use std::fs;

use exchange_tests::schemas;

/// Returns the validator of the schema at a location.
pub(crate) fn oracle(location: &str) -> jsonschema::Validator {
    let mut registry = jsonschema::Registry::new();
    for entry in fs::read_dir(schemas().join("exchange/v1")).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let schema: serde_json::Value = serde_json::from_str(&text).unwrap();
        let uri = schema["$id"].as_str().unwrap().to_owned();
        registry = registry.add(uri, schema).unwrap();
    }
    let registry = registry.prepare().unwrap();
    let reference = serde_json::json!({ "$ref": location });
    jsonschema::options().with_registry(&registry).build(&reference).unwrap()
}

/// Returns all errors of a document with JSON Pointer and keyword location, the data that an error response
/// needs.
pub(crate) fn errors(validator: &jsonschema::Validator, text: &[u8]) -> Vec<(String, String)> {
    let value: serde_json::Value = serde_json::from_slice(text).unwrap();
    let errors = validator.iter_errors(&value);
    errors.map(|error| (error.instance_path().to_string(), error.schema_path().to_string())).collect()
}
