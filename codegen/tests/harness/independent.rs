//! Validates the original documents with the `jsonschema` crate.
//!
//! The crate parses numbers as `f64`, because its exact mode changes `serde_json` for the whole workspace.
//! Documents with numbers that `f64` cannot represent are not supported.

use contract_runtime::{Json, Number};

/// Documents by URI, all of which are supported by the `jsonschema` crate.
pub(crate) struct Documents(jsonschema::Registry<'static>);

impl Documents {
    /// Creates the registry of the documents. Returns `None` if a document has another dialect or an
    /// unsupported number.
    pub(crate) fn of(documents: &[(String, Json)]) -> Option<Self> {
        if !documents.iter().all(|(_, document)| survives_binary(document) && is_latest(document)) {
            return None;
        }
        let resources = documents.iter().map(|(uri, value)| {
            let value = serde_json::from_str(&value.to_string()).unwrap();
            (uri.as_str(), jsonschema::Draft::Draft202012.create_resource(value))
        });
        let registry = jsonschema::Registry::new().extend(resources).unwrap().prepare();
        Some(Self(registry.unwrap_or_else(|error| panic!("{}: {error}", documents[0].0))))
    }

    /// Returns the validator of the schema at `uri#pointer`.
    pub(crate) fn validator(&self, location: &str) -> jsonschema::Validator {
        let (uri, pointer) = location.split_once('#').unwrap();
        let schema = serde_json::json!({ "$ref": format!("{uri}#{}", fragment(pointer)) });
        jsonschema::options()
            .with_draft(jsonschema::Draft::Draft202012)
            .with_registry(&self.0)
            .should_validate_formats(false)
            .build(&schema)
            .unwrap_or_else(|error| panic!("{location}: {error}"))
    }
}

/// Returns true if the dialect of a document is 2020-12, because only this dialect is compared.
fn is_latest(document: &Json) -> bool {
    let text = |name: &str| document.as_object().and_then(|o| o.get(name)).and_then(Json::as_str);
    let schema = text("$schema").is_none_or(|uri| uri.ends_with("/2020-12/schema"));
    schema && text("openapi").is_none_or(|version| version.starts_with("3.1"))
}

/// Encodes a JSON Pointer as a URI fragment.
fn fragment(pointer: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~/$".contains(&b);
    pointer.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Returns true if `f64` represents every number of a document exactly.
pub(crate) fn survives_binary(json: &Json) -> bool {
    match json {
        Json::Number(n) => Number::try_from(n.to_f64()).is_ok_and(|back| back == *n),
        Json::Array(items) => items.iter().all(survives_binary),
        Json::Object(members) => members.values().all(survives_binary),
        _ => true,
    }
}
