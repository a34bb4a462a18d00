//! Writes schemas of a graph as a self-contained JSON document, for the containment checks of `proof`.

mod parts;

use std::{cell::RefCell, collections::BTreeSet};

use contract_runtime::{Json, Number};
use serde_json::{Map, Value, json};

pub use self::parts::restrict_types;
use super::{
    SchemaGraph, SchemaId,
    keywords::{Keyword, KeywordValue as Held},
};

/// The maximum number of schemas in a document; the run time of the check grows faster than its input.
const MAX_SCHEMAS: usize = 300;

/// Writes schemas of one graph as JSON Schema documents.
#[derive(Debug)]
pub struct SchemaDocumentWriter<'g> {
    graph: &'g SchemaGraph,
    prefix: char,
    /// Schemas that are known to reach more than [`MAX_SCHEMAS`] others.
    large: RefCell<BTreeSet<SchemaId>>,
}

impl<'g> SchemaDocumentWriter<'g> {
    /// Creates a writer. The `prefix` of definition names separates the definitions of two graphs.
    pub const fn new(graph: &'g SchemaGraph, prefix: char) -> Self {
        Self { graph, prefix, large: RefCell::new(BTreeSet::new()) }
    }

    /// Writes the conjunction of the schemas; `None` when the check could misread it or it is too large.
    pub fn write_conjunction(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.reference_to(*id)).collect();
        // `allOf` must hold at least one schema (Core 10.2.1.1).
        self.finish_document(if all.is_empty() { json!({}) } else { json!({ "allOf": all }) }, ids)
    }

    fn finish_document(&self, mut root: Value, ids: &[SchemaId]) -> Option<Value> {
        // The size is checked first: the same oversized schemas are requested often.
        let reached = self.reachable_schemas(ids)?;
        let written = |id: SchemaId| Some((self.definition_name(id), self.write_schema(id)?));
        let definitions: Map<String, Value> = reached.into_iter().map(written).collect::<Option<_>>()?;
        let members = root.as_object_mut()?;
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("$defs".to_owned(), Value::Object(definitions));
        Some(root)
    }

    /// Returns the schemas and everything that they reach; `None` above [`MAX_SCHEMAS`].
    fn reachable_schemas(&self, ids: &[SchemaId]) -> Option<BTreeSet<SchemaId>> {
        if ids.len() > 1 {
            // Checking them one by one records which of them is too large.
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

    /// Returns the schema that a definition of the document stands for.
    pub(crate) fn schema_id(&self, name: &str) -> Option<SchemaId> {
        self.graph.schemas.id_at_index(name.strip_prefix(self.prefix)?.parse().ok()?)
    }

    fn definition_pointer(&self, id: SchemaId) -> String {
        format!("#/$defs/{}", self.definition_name(id))
    }

    fn reference_to(&self, id: SchemaId) -> Value {
        json!({ "$ref": self.definition_pointer(id) })
    }

    /// Writes one schema object without annotations; subschemas become references.
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

/// Converts to a `serde_json` value; `None` when a number would change its value.
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
