//! Combines the schemas that apply to the same value into a conjunction: a value is valid if all of them
//! accept it.
//!
//! `$ref` and `allOf` apply several schemas to the same value, and a chosen `oneOf` or `anyOf` branch adds
//! another. A [`SchemaConjunction`] identifies such a set of schemas. [`SchemaFacts`] describe which values
//! the combined schemas allow. All later stages use these two types.
//!
//! This module does not depend on Rust types, files or configuration.

pub mod discriminator;
mod facts;
pub(crate) mod finite;
pub mod sample;

pub use facts::SchemaFacts;

use contract_runtime::Json;

use crate::schema::{SchemaId, TypeSet};

/// The set of schemas that apply to one value. If a branch of a union is chosen, it replaces the union.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SchemaConjunction {
    /// The schemas, sorted and without duplicates.
    pub ids: Vec<SchemaId>,
    /// The schemas whose `oneOf` or `anyOf` is replaced by one branch, which is in `ids`.
    pub chosen: Vec<SchemaId>,
    /// The JSON types that the value may have.
    pub within: TypeSet,
}

impl SchemaConjunction {
    /// Returns the conjunction of a single schema, with no branch chosen and all JSON types possible.
    #[must_use]
    pub fn from_schema(id: SchemaId) -> Self {
        Self::from_schemas([id])
    }

    /// Returns the conjunction of several schemas, with no branch chosen and all JSON types possible.
    #[must_use]
    pub fn from_schemas(ids: impl IntoIterator<Item = SchemaId>) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids, chosen: Vec::new(), within: TypeSet::ALL }
    }

    /// Returns this conjunction with the union in the schema `holder` replaced by one of its branches.
    #[must_use]
    pub fn choose_branch(&self, holder: SchemaId, branch: SchemaId) -> Self {
        let mut next = self.clone();
        next.ids.push(branch);
        next.ids.sort_unstable();
        next.ids.dedup();
        next.chosen.push(holder);
        next.chosen.sort_unstable();
        next.chosen.dedup();
        next
    }

    /// Returns this conjunction restricted to `types`.
    #[must_use]
    pub fn within(&self, types: TypeSet) -> Self {
        Self { within: self.within.intersection(types), ..self.clone() }
    }
}

/// Returns the JSON type of a value; the type of an integral number is [`TypeSet::INTEGER`].
#[must_use]
pub fn type_of(value: &Json) -> TypeSet {
    match value {
        Json::Null => TypeSet::NULL,
        Json::Bool(_) => TypeSet::BOOLEAN,
        Json::Number(n) if n.is_integer() => TypeSet::INTEGER,
        Json::Number(_) => TypeSet::NUMBER,
        Json::String(_) => TypeSet::STRING,
        Json::Array(_) => TypeSet::ARRAY,
        Json::Object(_) => TypeSet::OBJECT,
    }
}

/// Returns true if a value has one of the JSON types. Like parsers, this function does not distinguish
/// integers from other numbers.
#[must_use]
pub fn may_have_type(value: &Json, types: TypeSet) -> bool {
    let own = type_of(value);
    let own = if TypeSet::NUMBER.contains(own) { TypeSet::INTEGER } else { own };
    !types.intersection(own).is_empty()
}
