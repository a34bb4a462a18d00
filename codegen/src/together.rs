//! What several schemas say together about one place.
//!
//! `$ref` and `allOf` put schemas side by side, a choice among branches adds one more: a place in
//! a contract is a [`Conj`], and [`Facts`] are what it amounts to. Everybody who asks what holds
//! at a place asks here; nothing here knows about Rust types, files or options.

mod facts;
pub(crate) mod finite;
pub(crate) mod meaning;
pub(crate) mod sample;

pub use facts::Facts;

use contract_runtime::Json;

use crate::schema::{SchemaId, Types};

/// The schemas that apply to one place together, and what has been decided about them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Conj {
    /// The schemas, sorted.
    pub ids: Vec<SchemaId>,
    /// Schemas whose `oneOf`/`anyOf` has been replaced by one branch, which is in `ids`.
    pub chosen: Vec<SchemaId>,
    /// The JSON types that are still possible.
    pub within: Types,
}

impl Conj {
    /// One schema, nothing decided.
    #[must_use]
    pub fn one(id: SchemaId) -> Self {
        Self::all([id])
    }

    /// Several schemas that hold together.
    #[must_use]
    pub fn all(ids: impl IntoIterator<Item = SchemaId>) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids, chosen: Vec::new(), within: Types::ALL }
    }

    /// The same place, with one branch of `holder` taken.
    #[must_use]
    pub fn choose(&self, holder: SchemaId, branch: SchemaId) -> Self {
        let mut next = self.clone();
        next.ids.push(branch);
        next.ids.sort_unstable();
        next.ids.dedup();
        next.chosen.push(holder);
        next.chosen.sort_unstable();
        next.chosen.dedup();
        next
    }

    /// The same place, with fewer JSON types.
    #[must_use]
    pub fn within(&self, types: Types) -> Self {
        Self { within: self.within.and(types), ..self.clone() }
    }
}

/// The JSON type of a value.
#[must_use]
pub fn type_of(value: &Json) -> Types {
    match value {
        Json::Null => Types::NULL,
        Json::Bool(_) => Types::BOOLEAN,
        Json::Number(n) if n.is_integer() => Types::INTEGER,
        Json::Number(_) => Types::NUMBER,
        Json::String(_) => Types::STRING,
        Json::Array(_) => Types::ARRAY,
        Json::Object(_) => Types::OBJECT,
    }
}
