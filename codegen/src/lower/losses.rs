//! Contract constructs that OpenAPI 3.0 cannot express.

use std::collections::{BTreeSet, HashSet};

pub use contract_codegen_core::{
    schema::{SchemaGraph, SchemaId, keywords::Keyword},
    tree::DocumentLocation,
};

/// The target format of every loss.
const TARGET_FORMAT: &str = "OpenAPI 3.0";
/// The value of [`Loss::enforcement`] for constructs outside of schemas. The generated code supports these
/// constructs, although the lowered document omits them.
const BY_GENERATED_CODE: &str = "supported by the generated code";
/// The value of [`Loss::enforcement`] for schema keywords.
const BY_VALIDATION: &str = "validated by the generated code";

/// A construct of the contract that the target format cannot express.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Loss {
    /// The location of the construct in the contract.
    pub location: DocumentLocation,
    /// The format that does not support the construct: `OpenAPI 3.0`.
    pub format: &'static str,
    /// The construct, such as `` the link `next` `` or `` `oneOf` ``.
    pub construct: String,
    /// The effect of the construct in generated code, such as `validated by the generated code`.
    pub enforcement: String,
}

/// A list of losses without duplicates. A parameter or response that several operations share is listed once.
#[derive(Debug, Default)]
pub struct LossList {
    losses: Vec<Loss>,
    /// A copy of the entries of `losses`, used to detect duplicates.
    seen: HashSet<Loss>,
}

impl LossList {
    /// Records a lost construct that is not a schema keyword, such as a link.
    pub fn record(&mut self, location: &DocumentLocation, construct: impl Into<String>) {
        self.push(location, construct.into(), BY_GENERATED_CODE);
    }

    /// Records schema keywords that the target format cannot express.
    pub fn record_keywords(&mut self, graph: &SchemaGraph, lost: BTreeSet<(SchemaId, Keyword)>) {
        for (id, keyword) in lost {
            self.push(&graph.schema(id).place, format!("`{}`", keyword.name()), BY_VALIDATION);
        }
    }

    fn push(&mut self, location: &DocumentLocation, construct: String, enforcement: &str) {
        let loss = Loss {
            location: location.clone(),
            format: TARGET_FORMAT,
            construct,
            enforcement: enforcement.to_owned(),
        };
        if self.seen.insert(loss.clone()) {
            self.losses.push(loss);
        }
    }

    pub fn into_losses(self) -> Vec<Loss> {
        self.losses
    }
}
