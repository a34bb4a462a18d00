//! Names and descriptions of the values of an enumeration, as other tools write them beside it.

use contract_runtime::Json;

use super::build::Shaper;
use crate::{schema::Schema, together::Conj};

/// The `x-` members that hold one word for each value.
pub(crate) const WORDS: [&str; 4] =
    ["x-enum-varnames", "x-enumNames", "x-enum-descriptions", "x-enumDescriptions"];

/// What is said of one value.
#[derive(Default)]
pub(super) struct Said {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

impl Shaper<'_> {
    /// What is said of a value of the enumeration at a place.
    pub(super) fn said(&self, conj: &Conj, wire: &str) -> Said {
        let mut said = Said::default();
        for id in self.facts(conj).members {
            let schema = self.graph.schema(id);
            let [names, other_names, words, other_words] = WORDS.map(|key| of_value(schema, key, wire));
            said.name = said.name.or(names).or(other_names);
            said.description = said.description.or(words).or(other_words);
        }
        said
    }

    /// The values of `x-extensible-enum`: those that are known of any text.
    pub(super) fn extensible(&self, conj: &Conj) -> Option<Vec<String>> {
        let members = self.facts(conj).members;
        let lists = members.iter().map(|id| self.graph.schema(*id).extensions.get("x-extensible-enum"));
        let list = lists.flatten().find_map(Json::as_array)?;
        let values: Vec<String> = list.iter().filter_map(|value| Some(value.as_str()?.to_owned())).collect();
        (!values.is_empty()).then_some(values)
    }
}

/// By the value's position in `enum`, or by the value itself.
fn of_value(schema: &Schema, key: &str, wire: &str) -> Option<String> {
    let text = match schema.extensions.get(key)? {
        Json::Object(words) => words.get(wire)?.as_str()?,
        Json::Array(words) => {
            let values = schema.enumeration.as_ref().filter(|values| values.len() == words.len())?;
            let at = values.iter().position(|value| value.as_str() == Some(wire))?;
            words.get(at)?.as_str()?
        }
        _ => return None,
    };
    Some(text.to_owned()).filter(|text| !text.trim().is_empty())
}
