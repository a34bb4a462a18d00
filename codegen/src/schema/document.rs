//! Schemas of a graph as one self-contained JSON document, for the engines of `proof`.

#[cfg(feature = "proofs")]
mod parts;

use std::{cell::RefCell, collections::BTreeSet};

use contract_runtime::{Json, Number};
use serde_json::{Map, Value, json};

#[cfg(feature = "proofs")]
pub(crate) use self::parts::typed;
use super::{
    Graph, SchemaId,
    keywords::{Keyword, Value as Held},
};

/// More schemas than this are not worth a proof: the engines grow faster than their input.
const LIMIT: usize = 300;

/// Writes documents.
#[derive(Debug)]
pub(crate) struct Writer<'g> {
    graph: &'g Graph,
    prefix: char,
    /// Schemas that are known to reach too many.
    large: RefCell<BTreeSet<SchemaId>>,
}

impl<'g> Writer<'g> {
    /// `prefix` keeps the definitions of two graphs apart.
    pub(crate) const fn new(graph: &'g Graph, prefix: char) -> Self {
        Self { graph, prefix, large: RefCell::new(BTreeSet::new()) }
    }

    /// Everything that the schemas say together; `None` when the engines could misread it.
    pub(crate) fn whole(&self, ids: &[SchemaId]) -> Option<Value> {
        let all: Vec<Value> = ids.iter().map(|id| self.link(*id)).collect();
        // `allOf` holds one schema at least (Core 10.2.1.1).
        self.finish(if all.is_empty() { json!({}) } else { json!({ "allOf": all }) }, ids)
    }

    fn finish(&self, mut root: Value, ids: &[SchemaId]) -> Option<Value> {
        // Counted before anything is written: what reaches too much is asked for often.
        let reached = self.reached(ids)?;
        let written = |id: SchemaId| Some((self.name(id), self.schema(id)?));
        let definitions: Map<String, Value> = reached.into_iter().map(written).collect::<Option<_>>()?;
        let members = root.as_object_mut()?;
        members.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        members.insert("$defs".to_owned(), Value::Object(definitions));
        Some(root)
    }

    /// All that some schemas reach, and they; `None` when that is too much for a proof.
    fn reached(&self, ids: &[SchemaId]) -> Option<BTreeSet<SchemaId>> {
        if ids.len() > 1 {
            // What one of them reaches is known to the next that asks.
            ids.iter().try_for_each(|id| self.reached(&[*id]).map(drop))?;
        }
        let mut waiting: Vec<SchemaId> = ids.to_vec();
        let mut seen: BTreeSet<SchemaId> = waiting.iter().copied().collect();
        while let Some(id) = waiting.pop() {
            if seen.len() > LIMIT || self.large.borrow().contains(&id) {
                if let [one] = ids {
                    self.large.borrow_mut().insert(*one);
                }
                return None;
            }
            waiting.extend(self.graph.schema(id).children().filter(|child| seen.insert(*child)));
        }
        Some(seen)
    }

    fn name(&self, id: SchemaId) -> String {
        format!("{}{}", self.prefix, id.index())
    }

    /// The schema that a definition was written for.
    pub(crate) fn id(&self, name: &str) -> Option<SchemaId> {
        self.graph.schemas.nth(name.strip_prefix(self.prefix)?.parse().ok()?)
    }

    fn address(&self, id: SchemaId) -> String {
        format!("#/$defs/{}", self.name(id))
    }

    fn link(&self, id: SchemaId) -> Value {
        json!({ "$ref": self.address(id) })
    }

    /// One schema object, children as references; annotations left out.
    fn schema(&self, id: SchemaId) -> Option<Value> {
        let schema = self.graph.schema(id);
        if let Some(value) = schema.boolean {
            return Some(Value::Bool(value));
        }
        let mut out = Map::new();
        for (keyword, held) in schema.keywords().filter(|(keyword, _)| keyword.role().decides()) {
            let written = match held {
                Held::Schema(id) if keyword == Keyword::Ref => Value::String(self.address(id)),
                Held::Schema(id) => self.link(id),
                // What it means depends on the path by which it is reached.
                Held::Dynamic(_) => return None,
                Held::Contains(contains) => {
                    let counts = [(Keyword::MinContains, contains.min), (Keyword::MaxContains, contains.max)];
                    for (keyword, count) in counts {
                        out.extend(count.map(|count| (keyword.name().to_owned(), Value::from(count))));
                    }
                    self.link(contains.schema)
                }
                Held::List(ids) => ids.iter().map(|id| self.link(*id)).collect(),
                Held::Map(named) => named.iter().map(|(name, id)| (name.clone(), self.link(*id))).collect(),
                Held::Count(count) => Value::from(count),
                Held::Number(number) => exact(&Json::Number(number.clone()))?,
                Held::Text(text) => Value::from(text),
                Held::Flag => Value::Bool(true),
                Held::Types(types) => json!(types.names()),
                Held::Json(value) => exact(value)?,
                Held::Values(values) => Value::Array(values.iter().map(exact).collect::<Option<_>>()?),
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

/// The value for `serde_json`, `None` when a number would become another one.
pub(crate) fn exact(value: &Json) -> Option<Value> {
    match value {
        Json::Number(number) => {
            let written = value.to_value();
            (Number::parse(&written.to_string()).ok()? == *number).then_some(written)
        }
        Json::Array(items) => items.iter().map(exact).collect::<Option<_>>().map(Value::Array),
        Json::Object(members) => {
            let members = members.iter().map(|(name, member)| Some((name.to_owned(), exact(member)?)));
            members.collect::<Option<_>>().map(Value::Object)
        }
        plain => Some(plain.to_value()),
    }
}
