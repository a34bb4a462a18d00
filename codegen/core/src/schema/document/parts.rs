//! Writes documents that contain only some keywords of schemas, for the comparison of two versions of a
//! contract.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::SchemaDocumentWriter;
use crate::schema::{
    SchemaId, TypeSet,
    keywords::{Keyword, vocabulary},
};

impl SchemaDocumentWriter<'_> {
    /// Writes a document with only these keywords of the schemas `members`, all of which must be satisfied.
    /// The caller must have replaced `$ref` and `allOf` by the schemas to which they refer. Returns `None` if
    /// the document would be too large or cannot be expressed exactly.
    pub fn write_keywords(&self, members: &[SchemaId], keywords: &[Keyword]) -> Option<Value> {
        let mut all = Vec::new();
        let mut reached = BTreeSet::new();
        for id in members {
            let mut written = match self.write_schema(*id)? {
                Value::Object(written) => written,
                // The schema `false` rejects every value, whichever keywords are selected.
                Value::Bool(false) => {
                    all.push(Value::Bool(false));
                    continue;
                }
                _ => continue,
            };
            written.retain(|key, _| keywords.iter().any(|keyword| keyword.name() == key));
            if !written.is_empty() {
                all.push(Value::Object(written));
                // The subschemas of other keywords are not needed and could exceed the size limit.
                let held =
                    self.graph.schema(*id).keywords().filter(|(keyword, _)| keywords.contains(keyword));
                reached.extend(held.flat_map(|(_, value)| value.schema_ids().collect::<Vec<_>>()));
            }
        }
        if all.is_empty() {
            return Some(json!({}));
        }
        let reached: Vec<SchemaId> = reached.into_iter().collect();
        self.finish_document(json!({ "allOf": all }), &reached)
    }

    /// Writes a document that accepts exactly the values that violate at least one of the schemas.
    pub fn write_negation(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.reference_to(*id)).collect();
        self.finish_document(json!({ "not": { "allOf": all } }), ids)
    }

    /// Returns true if the schema has `unevaluatedProperties` or `unevaluatedItems`, whose effect depends on
    /// adjacent keywords.
    pub fn has_unevaluated_keywords(&self, id: SchemaId) -> bool {
        let mut keywords = self.graph.schema(id).keywords();
        keywords.any(|(keyword, _)| keyword.vocabulary() == vocabulary::UNEVALUATED)
    }
}

/// Restricts a document to values of the types `only`, by adding `type`.
pub fn restrict_types(mut document: Value, only: TypeSet) -> Value {
    if let Some(members) = document.as_object_mut()
        && only != TypeSet::ALL
    {
        members.insert("type".to_owned(), json!(only.type_names()));
    }
    document
}
