//! Names and descriptions of the values of an enumeration, as other tools write them beside it.

use contract_runtime::Json;

use super::build::Shaper;
use crate::{
    names,
    schema::{Graph, SchemaId, values::WORDS},
    together::{Conj, Facts},
};

/// What is said of one value.
#[derive(Default)]
pub(super) struct Said {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
}

/// A whole number of a list, with a name of its own.
pub(crate) struct Constant<'g> {
    /// As the contract writes it.
    pub(crate) value: &'g Json,
    /// Its name in Rust.
    pub(crate) name: String,
    /// What it means.
    pub(crate) description: Option<String>,
}

/// Associated constants that no type of a list of numbers may have twice.
const TAKEN: &[&str] = &["min", "max", "validator"];

/// The numbers of a place that other tools name; all are whole where the type of the place is an integer.
pub(crate) fn constants<'g>(graph: &'g Graph, facts: &Facts) -> Vec<Constant<'g>> {
    let known = || facts.members.iter().find_map(|id| graph.schema(*id).listed());
    let values = facts.literals(graph).or_else(|| known().map(|known| known.iter().collect()));
    let mut wires = Vec::new();
    let mut named: Vec<Constant<'g>> = Vec::new();
    for value in values.into_iter().flatten() {
        let said = said(graph, &facts.members, value);
        let Some(name) = said.name.filter(|_| !named.iter().any(|other| other.value == value)) else {
            continue;
        };
        let mut name = names::constant_name(&name).to_ascii_lowercase();
        if TAKEN.contains(&name.as_str()) {
            name.push_str("_value");
        }
        wires.push(value.to_string());
        named.push(Constant { value, name, description: said.description });
    }
    let wires: Vec<&str> = wires.iter().map(String::as_str).collect();
    let mut distinct: Vec<String> = named.iter().map(|constant| constant.name.clone()).collect();
    names::make_distinct(&wires, &mut distinct);
    for (constant, name) in named.iter_mut().zip(distinct) {
        constant.name = name.to_ascii_uppercase();
    }
    named
}

/// What schemas of one place say of a value.
fn said(graph: &Graph, members: &[SchemaId], value: &Json) -> Said {
    let mut said = Said::default();
    for id in members {
        let schema = graph.schema(*id);
        let word = |name: &str| schema.word(name, value).map(str::to_owned);
        let [names, other_names, words, other_words] = WORDS.map(word);
        said.name = said.name.or(names).or(other_names);
        said.description = said.description.or(words).or(other_words);
    }
    said
}

impl Shaper<'_> {
    /// What is said of a value of the enumeration at a place.
    pub(super) fn said(&self, conj: &Conj, wire: &str) -> Said {
        said(self.graph, &self.facts(conj).members, &Json::String(wire.to_owned()))
    }

    /// The values of `x-extensible-enum`: those that are known of any text.
    pub(super) fn extensible(&self, conj: &Conj) -> Option<Vec<String>> {
        let members = self.facts(conj).members;
        let list = members.iter().find_map(|id| self.graph.schema(*id).known_texts())?;
        Some(list.into_iter().map(str::to_owned).collect())
    }
}
