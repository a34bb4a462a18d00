//! Documents that an administrator hands in: JSON, read part by part, so that an error says by a JSON Pointer
//! (RFC 6901) where it stands.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::AdminError;

/// An object whose members are lists.
pub(super) struct Document(Map<String, Value>);

impl Document {
    /// Reads one that has no other members than these.
    ///
    /// # Errors
    /// [`AdminError::Wrong`].
    pub(super) fn read(text: &str, members: &[&str]) -> Result<Self, AdminError> {
        let Value::Object(document) = value(text)? else {
            return Err(wrong("", format!("an object with {} is wanted", members.join(", "))));
        };
        match document.keys().find(|key| !members.contains(&key.as_str())) {
            Some(other) => {
                let place = format!("/{}", escaped(other));
                Err(wrong(&place, format!("there is no such member; there are {}", members.join(", "))))
            }
            None => Ok(Self(document)),
        }
    }

    /// The list of a name; an empty one where there is none.
    ///
    /// # Errors
    /// [`AdminError::Wrong`].
    pub(super) fn list<T: DeserializeOwned>(&mut self, name: &str) -> Result<Vec<T>, AdminError> {
        self.0.remove(name).map_or_else(|| Ok(Vec::new()), |list| items(list, &format!("/{name}")))
    }
}

/// Reads a document.
///
/// # Errors
/// [`AdminError::Wrong`].
pub(super) fn value(text: &str) -> Result<Value, AdminError> {
    serde_json::from_str(text).map_err(|error| AdminError::Wrong(format!("this is no JSON: {error}")))
}

/// Reads the items of a list that stands at a place.
///
/// # Errors
/// [`AdminError::Wrong`].
pub(super) fn items<T: DeserializeOwned>(list: Value, place: &str) -> Result<Vec<T>, AdminError> {
    let Value::Array(items) = list else { return Err(wrong(place, "a list is wanted")) };
    let item = |(at, item)| {
        serde_json::from_value(item).map_err(|error| wrong(&format!("{place}/{at}"), error.to_string()))
    };
    items.into_iter().enumerate().map(item).collect()
}

/// What is wrong at a place.
pub(super) fn wrong(place: &str, reason: impl AsRef<str>) -> AdminError {
    let (place, reason) = (if place.is_empty() { "the document" } else { place }, reason.as_ref());
    AdminError::Wrong(format!("{place}: {reason}"))
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1").escape_debug().to_string()
}
