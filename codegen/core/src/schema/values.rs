//! Vendor extensions (`x-`) for enums: the names and descriptions of values, and the known values of an open
//! string enum.

use std::borrow::Cow;

use contract_runtime::{Json, Map};

use super::Schema;

/// The extensions that contain one label (a name or a description) for each value.
pub(crate) const VALUE_LABEL_EXTENSIONS: [&str; 4] =
    ["x-enum-varnames", "x-enumNames", "x-enum-descriptions", "x-enumDescriptions"];

/// The extension that lists the known values of an open string enum.
pub(crate) const EXTENSIBLE_ENUM: &str = "x-extensible-enum";

/// The extension with the name of a schema, property, operation or parameter in generated code.
pub(crate) const RUST_NAME: &str = "x-rust-name";

/// Returns true if a Rust name can be derived from a name: it contains a letter or digit.
pub(crate) fn is_usable_name(name: &str) -> bool {
    name.contains(char::is_alphanumeric)
}

/// Returns the key of a value in an object of labels: a string itself, and the JSON text of any other value.
pub(crate) fn label_key(value: &Json) -> Cow<'_, str> {
    match value {
        Json::String(text) => Cow::Borrowed(text),
        other => Cow::Owned(other.to_string()),
    }
}

impl Schema {
    /// Returns the name in `x-rust-name`; strings without letters and digits count as absent.
    pub(crate) fn rust_name(&self) -> Option<&str> {
        self.extensions.get(RUST_NAME)?.as_str().filter(|name| is_usable_name(name))
    }

    /// Returns the values that labels refer to: those of `enum`, else those of `x-extensible-enum`.
    pub(crate) fn listed_values(&self) -> Option<&[Json]> {
        let known = || self.extensions.get(EXTENSIBLE_ENUM).and_then(Json::as_array);
        self.enumeration.as_deref().or_else(known)
    }

    /// Returns the label of a value in the extension `name`, one of [`VALUE_LABEL_EXTENSIONS`]. The extension
    /// is either an object with a label for each value, or a list of labels in the order of the values. A
    /// blank label is treated as absent.
    pub(crate) fn value_label(&self, name: &str, value: &Json) -> Option<&str> {
        let text = match self.extensions.get(name)? {
            Json::Object(labels) => labels.get(&label_key(value))?.as_str()?,
            Json::Array(labels) => {
                let at = self.labeled_values(labels)?.into_iter().position(|listed| listed == value)?;
                labels.get(at)?.as_str()?
            }
            _ => return None,
        };
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// Returns the values to which a list of labels refers, in the same order, or `None` if the numbers of
    /// values and labels differ. The list may omit a label for `null`, which is often listed only because the
    /// schema is nullable.
    pub(crate) fn labeled_values(&self, labels: &[Json]) -> Option<Vec<&Json>> {
        let mut values: Vec<&Json> = self.listed_values()?.iter().collect();
        if values.len() != labels.len() {
            values.retain(|value| **value != Json::Null);
        }
        (values.len() == labels.len()).then_some(values)
    }

    /// Returns the strings in `x-extensible-enum`, or `None` if there are none.
    pub fn known_strings(&self) -> Option<Vec<&str>> {
        let values = self.extensions.get(EXTENSIBLE_ENUM)?.as_array()?;
        let values: Vec<&str> = values.iter().filter_map(Json::as_str).collect();
        (!values.is_empty()).then_some(values)
    }

    /// Returns the `x-` extensions that affect the generated type.
    pub(crate) fn type_relevant_extensions(&self) -> Map<Json> {
        let tells = |name: &str, value: &Json| match value {
            Json::Array(words) if VALUE_LABEL_EXTENSIONS.contains(&name) => {
                self.labeled_values(words).is_some()
            }
            _ => name == RUST_NAME || name == EXTENSIBLE_ENUM || VALUE_LABEL_EXTENSIONS.contains(&name),
        };
        let members = self.extensions.iter().filter(|&(name, value)| tells(name, value));
        members.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}
