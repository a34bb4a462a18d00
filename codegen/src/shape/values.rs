//! Names and descriptions of the values of an enumeration, as other tools write them beside it.

use super::build::Shaper;
use crate::{schema::values::WORDS, together::Conj};

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
            let word = |name: &str| schema.word(name, wire).map(str::to_owned);
            let [names, other_names, words, other_words] = WORDS.map(word);
            said.name = said.name.or(names).or(other_names);
            said.description = said.description.or(words).or(other_words);
        }
        said
    }

    /// The values of `x-extensible-enum`: those that are known of any text.
    pub(super) fn extensible(&self, conj: &Conj) -> Option<Vec<String>> {
        let members = self.facts(conj).members;
        let list = members.iter().find_map(|id| self.graph.schema(*id).known_texts())?;
        Some(list.into_iter().map(str::to_owned).collect())
    }
}
