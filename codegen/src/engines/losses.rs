//! What a contract says that older words cannot.

use std::collections::{BTreeSet, HashSet};

use crate::{
    schema::{Graph, SchemaId, keywords::Keyword},
    tree::Place,
};

/// Whose words are missing.
const OPENAPI: &str = "OpenAPI 3.0";
/// Who has what the document lacks.
const GENERATED: &str = "what is generated has it";
/// Who checks what the document does not ask for.
const CHECKED: &str = "checked by what is generated";

/// Something of the contract that the words of others cannot carry, and what carries it instead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// Where the contract says it.
    pub place: Place,
    /// Whose words are missing: `OpenAPI 3.0`.
    pub engine: &'static str,
    /// What that is.
    pub what: String,
    /// What enforces or restores it.
    pub enforced: String,
}

/// What was lost, each once: a parameter or response that operations share is one place.
#[derive(Debug, Default)]
pub(super) struct Losses {
    list: Vec<Loss>,
    /// The same, to find whether one is there.
    known: HashSet<Loss>,
}

impl Losses {
    /// Something beside the schemas.
    pub(super) fn add(&mut self, place: &Place, what: impl Into<String>) {
        self.push(place, what.into(), GENERATED);
    }

    /// Keywords that schemas could not be written with.
    pub(super) fn keywords(&mut self, graph: &Graph, lost: BTreeSet<(SchemaId, Keyword)>) {
        for (id, keyword) in lost {
            self.push(&graph.schema(id).place, format!("`{}`", keyword.name()), CHECKED);
        }
    }

    fn push(&mut self, place: &Place, what: String, enforced: &str) {
        let loss = Loss { place: place.clone(), engine: OPENAPI, what, enforced: enforced.to_owned() };
        if self.known.insert(loss.clone()) {
            self.list.push(loss);
        }
    }

    pub(super) fn into_list(self) -> Vec<Loss> {
        self.list
    }
}
