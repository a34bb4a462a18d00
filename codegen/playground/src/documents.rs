//! The documents of a request.

use contract_codegen::InputDocument;
use serde::Deserialize;

/// A document: its name, which selects JSON or YAML, and its content.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct NamedText {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl NamedText {
    pub(crate) fn into_input(self) -> InputDocument {
        InputDocument { name: self.name, content: self.text.into_bytes() }
    }
}
