//! Parses the JSON documents that an administrator imports. Each list is parsed item by item, so that errors
//! contain the JSON Pointer (RFC 6901) of the invalid value.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::AdminError;

/// A JSON object in which every property is a list.
pub(super) struct JsonDocument(Map<String, Value>);

impl JsonDocument {
    /// Parses an object whose properties are all in `members`.
    ///
    /// # Errors
    /// Returns [`AdminError::Invalid`] for invalid JSON, another type, or an unknown property.
    pub(super) fn parse_object(text: &str, members: &[&str]) -> Result<Self, AdminError> {
        let Value::Object(document) = parse_json(text)? else {
            return Err(invalid_at("", format!("expected an object with {}", members.join(", "))));
        };
        match document.keys().find(|key| !members.contains(&key.as_str())) {
            Some(other) => {
                let place = format!("/{}", escape_pointer(other));
                Err(invalid_at(
                    &place,
                    format!("unknown property; the known ones are {}", members.join(", ")),
                ))
            }
            None => Ok(Self(document)),
        }
    }

    /// Removes a property and parses it as a list. Returns an empty list if the property is absent.
    ///
    /// # Errors
    /// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid item.
    pub(super) fn take_list<T: DeserializeOwned>(&mut self, name: &str) -> Result<Vec<T>, AdminError> {
        self.0.remove(name).map_or_else(|| Ok(Vec::new()), |list| parse_items(list, &format!("/{name}")))
    }
}

/// Parses a JSON document.
///
/// # Errors
/// Returns [`AdminError::Invalid`] for invalid JSON.
pub(super) fn parse_json(text: &str) -> Result<Value, AdminError> {
    serde_json::from_str(text).map_err(|error| AdminError::Invalid(format!("invalid JSON: {error}")))
}

/// Parses the items of the list at the JSON Pointer `place`.
///
/// # Errors
/// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid item.
pub(super) fn parse_items<T: DeserializeOwned>(list: Value, place: &str) -> Result<Vec<T>, AdminError> {
    let Value::Array(items) = list else { return Err(invalid_at(place, "expected a list")) };
    let item = |(index, item)| {
        serde_json::from_value(item)
            .map_err(|error| invalid_at(&format!("{place}/{index}"), error.to_string()))
    };
    items.into_iter().enumerate().map(item).collect()
}

/// Creates an error for the value at a JSON Pointer.
pub(super) fn invalid_at(place: &str, reason: impl AsRef<str>) -> AdminError {
    let (place, reason) = (if place.is_empty() { "the document" } else { place }, reason.as_ref());
    AdminError::Invalid(format!("{place}: {reason}"))
}

fn escape_pointer(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1").escape_debug().to_string()
}
