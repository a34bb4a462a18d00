//! What other tools write beside an enumeration in `x-` members: names and descriptions of its
//! values, and values that are known of any text.

use contract_runtime::{Json, Map};

use super::Schema;

/// The members that hold one word for each value.
pub(crate) const WORDS: [&str; 4] =
    ["x-enum-varnames", "x-enumNames", "x-enum-descriptions", "x-enumDescriptions"];

/// The member that lists values which are known of any text.
pub(crate) const KNOWN: &str = "x-extensible-enum";

impl Schema {
    /// The values that words are about: those of `enum`, or else those that are known of any.
    pub(crate) fn listed(&self) -> Option<&[Json]> {
        let known = || self.extensions.get(KNOWN).and_then(Json::as_array);
        self.enumeration.as_deref().or_else(known)
    }

    /// What one of [`WORDS`] says of a value: by the value itself, or by its position in the list.
    pub(crate) fn word(&self, name: &str, value: &Json) -> Option<&str> {
        let text = match self.extensions.get(name)? {
            Json::Object(words) => match value {
                Json::String(key) => words.get(key)?.as_str()?,
                other => words.get(&other.to_string())?.as_str()?,
            },
            Json::Array(words) => {
                let at = self.worded(words)?.into_iter().position(|listed| listed == value)?;
                words.get(at)?.as_str()?
            }
            _ => return None,
        };
        Some(text).filter(|text| !text.trim().is_empty())
    }

    /// The values that a list of words is about, when there is one for each; `null`, which is there
    /// because the schema is nullable, needs none.
    pub(crate) fn worded(&self, words: &[Json]) -> Option<Vec<&Json>> {
        let mut values: Vec<&Json> = self.listed()?.iter().collect();
        if values.len() != words.len() {
            values.retain(|value| **value != Json::Null);
        }
        (values.len() == words.len()).then_some(values)
    }

    /// The texts that are known, though any other may come.
    pub(crate) fn known_texts(&self) -> Option<Vec<&str>> {
        let values = self.extensions.get(KNOWN)?.as_array()?;
        let values: Vec<&str> = values.iter().filter_map(Json::as_str).collect();
        (!values.is_empty()).then_some(values)
    }

    /// Those of the `x-` members by which the type of a place differs from that of another.
    pub(crate) fn telling(&self) -> Map<Json> {
        let tells = |name: &str, value: &Json| match value {
            Json::Array(words) if WORDS.contains(&name) => self.worded(words).is_some(),
            _ => name == KNOWN || WORDS.contains(&name),
        };
        let members = self.extensions.iter().filter(|&(name, value)| tells(name, value));
        members.map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}
