//! Parts of what schemas say, for those who compare two versions.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Writer;
use crate::schema::{
    SchemaId, Types,
    keywords::{Keyword, vocabulary},
};

impl Writer<'_> {
    /// Only what some keywords of each schema say, references and `allOf` followed before.
    pub(crate) fn only(&self, members: &[SchemaId], keywords: &[Keyword]) -> Option<Value> {
        let mut all = Vec::new();
        let mut reached = BTreeSet::new();
        for id in members {
            let mut written = match self.schema(*id)? {
                Value::Object(written) => written,
                // Whatever is asked for, nothing passes `false`.
                Value::Bool(false) => {
                    all.push(Value::Bool(false));
                    continue;
                }
                _ => continue,
            };
            written.retain(|key, _| keywords.iter().any(|keyword| keyword.name() == key));
            if !written.is_empty() {
                all.push(Value::Object(written));
                // What other keywords hold is not asked for, and may be too much for a proof.
                let held =
                    self.graph.schema(*id).keywords().filter(|(keyword, _)| keywords.contains(keyword));
                reached.extend(held.flat_map(|(_, value)| value.schemas().collect::<Vec<_>>()));
            }
        }
        if all.is_empty() {
            return Some(json!({}));
        }
        let reached: Vec<SchemaId> = reached.into_iter().collect();
        self.finish(json!({ "allOf": all }), &reached)
    }

    /// That not all of some schemas are satisfied.
    pub(crate) fn never_together(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.link(*id)).collect();
        self.finish(json!({ "not": { "allOf": all } }), ids)
    }

    /// Whether a schema has keywords that depend on those beside it.
    pub(crate) fn looks_around(&self, id: SchemaId) -> bool {
        let mut keywords = self.graph.schema(id).keywords();
        keywords.any(|(keyword, _)| keyword.vocabulary() == vocabulary::UNEVALUATED)
    }
}

/// The same document for values of certain types only.
pub(crate) fn typed(mut document: Value, only: Types) -> Value {
    if let Some(members) = document.as_object_mut()
        && only != Types::ALL
    {
        members.insert("type".to_owned(), json!(only.names()));
    }
    document
}
