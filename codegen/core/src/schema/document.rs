//! Converts schemas of a graph to a self-contained JSON Schema document. `proof` uses such documents to check
//! if one schema accepts all values of another.

mod parts;

use std::{cell::RefCell, collections::BTreeSet};

use contract_runtime::{Json, Number};
use serde_json::{Map, Value, json};

pub use self::parts::restrict_types;
use super::{
    SchemaGraph, SchemaId,
    keywords::{Keyword, KeywordValue as Held},
};

/// The maximum number of schemas in a document, because the run time of a proof grows faster than linearly.
const MAX_SCHEMAS: usize = 300;

/// A converter from the schemas of one graph to JSON Schema documents.
#[derive(Debug)]
pub struct SchemaDocumentWriter<'g> {
    graph: &'g SchemaGraph,
    prefix: char,
    /// The schemas that are known to reach more than [`MAX_SCHEMAS`] schemas, so that the search is not
    /// repeated.
    large: RefCell<BTreeSet<SchemaId>>,
}

impl<'g> SchemaDocumentWriter<'g> {
    /// Creates a writer for the schemas of `graph`. The names of definitions start with `prefix`, so that
    /// those of two graphs are distinct.
    pub const fn new(graph: &'g SchemaGraph, prefix: char) -> Self {
        Self { graph, prefix, large: RefCell::new(BTreeSet::new()) }
    }

    /// Writes a document that accepts the values that satisfy all of these schemas. Returns `None` if the
    /// document would be too large or contains a keyword that cannot be expressed exactly.
    pub fn write_conjunction(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.reference_to(*id)).collect();
        // `allOf` must contain at least one schema (Core 10.2.1.1).
        self.finish_document(if all.is_empty() { json!({}) } else { json!({ "allOf": all }) }, ids)
    }

    fn finish_document(&self, mut root: Value, ids: &[SchemaId]) -> Option<Value> {
        // The size is checked before anything is written, because the same oversized schemas are requested
        // often.
        let reached = self.reachable_schemas(ids)?;
        let written = |id: SchemaId| Some((self.definition_name(id), self.write_schema(id)?));
        let definitions: Map<String, Value> = reached.into_iter().map(written).collect::<Option<_>>()?;
        let members = root.as_object_mut()?;
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("$defs".to_owned(), Value::Object(definitions));
        Some(root)
    }

    /// Returns the schemas and all schemas that are reachable from them, or `None` if there are more than
    /// [`MAX_SCHEMAS`].
    fn reachable_schemas(&self, ids: &[SchemaId]) -> Option<BTreeSet<SchemaId>> {
        if ids.len() > 1 {
            // The schemas are checked one by one, which records each schema that is too large.
            ids.iter().try_for_each(|id| self.reachable_schemas(&[*id]).map(drop))?;
        }
        let mut waiting: Vec<SchemaId> = ids.to_vec();
        let mut seen: BTreeSet<SchemaId> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            if seen.len() > MAX_SCHEMAS || self.large.borrow().contains(&id) {
                if let [one] = ids {
                    self.large.borrow_mut().insert(*one);
                }
                return None;
            }
            waiting.extend(self.graph.schema(id).child_schemas().filter(|child| seen.insert(*child)));
        }
        Some(seen)
    }

    fn definition_name(&self, id: SchemaId) -> String {
        format!("{}{}", self.prefix, id.index())
    }

    /// Returns the schema for the name of a definition in the document, or `None` if the name has a different
    /// form.
    pub(crate) fn schema_id(&self, name: &str) -> Option<SchemaId> {
        self.graph.schemas.id_at_index(name.strip_prefix(self.prefix)?.parse().ok()?)
    }

    fn definition_pointer(&self, id: SchemaId) -> String {
        format!("#/$defs/{}", self.definition_name(id))
    }

    fn reference_to(&self, id: SchemaId) -> Value {
        json!({ "$ref": self.definition_pointer(id) })
    }

    /// Writes one schema without its annotations. Its subschemas are written as references to definitions.
    /// Returns `None` if a keyword cannot be expressed exactly.
    fn write_schema(&self, id: SchemaId) -> Option<Value> {
        let schema = self.graph.schema(id);
        if let Some(value) = schema.boolean {
            return Some(Value::Bool(value));
        }
        let mut out = Map::new();
        for (keyword, held) in schema.keywords().filter(|(keyword, _)| keyword.role().can_reject()) {
            let written = match held {
                Held::Schema(id) if keyword == Keyword::Ref => Value::String(self.definition_pointer(id)),
                Held::Schema(id) => self.reference_to(id),
                // The target of a `$dynamicRef` depends on the path of evaluation.
                Held::Dynamic(_) => return None,
                Held::Contains(contains) => {
                    let counts = [(Keyword::MinContains, contains.min), (Keyword::MaxContains, contains.max)];
                    for (keyword, count) in counts {
                        out.extend(count.map(|count| (keyword.name().to_owned(), Value::from(count))));
                    }
                    self.reference_to(contains.schema)
                }
                Held::List(ids) => ids.iter().map(|id| self.reference_to(*id)).collect(),
                Held::Map(named) => {
                    named.iter().map(|(name, id)| (name.clone(), self.reference_to(*id))).collect()
                }
                Held::Count(count) => Value::from(count),
                Held::Number(number) => to_exact_value(&Json::Number(number.clone()))?,
                Held::Text(text) => Value::from(text),
                Held::Flag => Value::Bool(true),
                Held::Types(types) => json!(types.type_names()),
                Held::Json(value) => to_exact_value(value)?,
                Held::Values(values) => {
                    Value::Array(values.iter().map(to_exact_value).collect::<Option<_>>()?)
                }
                Held::Names(names) => json!(names),
                Held::Needs(needs) => {
                    needs.iter().map(|(name, others)| (name.clone(), json!(others))).collect()
                }
            };
            out.insert(keyword.name().to_owned(), written);
        }
        Some(Value::Object(out))
    }
}

/// Converts a value to a `serde_json` value. Returns `None` if it contains a number that `serde_json` cannot
/// represent exactly.
pub fn to_exact_value(value: &Json) -> Option<Value> {
    match value {
        Json::Number(number) => {
            let written = value.to_value();
            (Number::parse(&written.to_string()).ok()? == *number).then_some(written)
        }
        Json::Array(items) => items.iter().map(to_exact_value).collect::<Option<_>>().map(Value::Array),
        Json::Object(members) => {
            let members =
                members.iter().map(|(name, member)| Some((name.to_owned(), to_exact_value(member)?)));
            members.collect::<Option<_>>().map(Value::Object)
        }
        plain => Some(plain.to_value()),
    }
}
