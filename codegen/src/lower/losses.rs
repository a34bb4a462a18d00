//! Contract constructs that OpenAPI 3.0 cannot express.

use std::collections::{BTreeSet, HashSet};

pub use contract_codegen_core::{
    schema::{SchemaGraph, SchemaId, keywords::Keyword},
    tree::DocumentLocation,
};

/// The target format of every loss.
const OPENAPI: &str = "OpenAPI 3.0";
/// Explanation for a loss outside of schemas, which generated code is not affected by.
const GENERATED: &str = "what is generated has it";
/// Explanation for a lost schema keyword, which generated code validates.
const CHECKED: &str = "checked by what is generated";

/// A construct of the contract that the target format cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// Location of the construct in the contract.
    pub place: DocumentLocation,
    /// The format that lacks the construct: `OpenAPI 3.0`.
    pub engine: &'static str,
    /// Description of the construct.
    pub what: String,
    /// Description of the component that enforces or restores the construct.
    pub enforced: String,
}

/// A list of losses without duplicates. A parameter or response shared by several operations is listed once.
#[derive(Debug, Default)]
pub struct Losses {
    list: Vec<Loss>,
    /// The entries of `list`, for deduplication.
    known: HashSet<Loss>,
}

impl Losses {
    /// Records a loss outside of schemas.
    pub fn add(&mut self, place: &DocumentLocation, what: impl Into<String>) {
        self.push(place, what.into(), GENERATED);
    }

    /// Records schema keywords that could not be written.
    pub fn keywords(&mut self, graph: &SchemaGraph, lost: BTreeSet<(SchemaId, Keyword)>) {
        for (id, keyword) in lost {
            self.push(&graph.schema(id).place, format!("`{}`", keyword.name()), CHECKED);
        }
    }

    fn push(&mut self, place: &DocumentLocation, what: String, enforced: &str) {
        let loss = Loss { place: place.clone(), engine: OPENAPI, what, enforced: enforced.to_owned() };
        if self.known.insert(loss.clone()) {
            self.list.push(loss);
        }
    }

    pub fn into_list(self) -> Vec<Loss> {
        self.list
    }
}
