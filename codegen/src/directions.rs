//! `required` beside `readOnly` and `writeOnly` in OpenAPI 3.0: "if the property is marked as readOnly being true
//! and is in the required list, the required will take effect on the response only", and the other way round
//! (3.0.3, 4.7.24.2). Since 3.1 both words are annotations, as in JSON Schema, and `required` holds of both
//! directions.
//!
//! What each schema says is of the version of the document that it stands in.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    schema::{Graph, SchemaId},
    together::{Conj, Facts},
    tree::SourceId,
};

/// Who a value goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Direction {
    /// Whoever keeps it: what is `readOnly` is not sent.
    Request,
    /// Whoever asks for it: what is `writeOnly` is not answered.
    Answer,
}

impl Direction {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Request => Self::Answer,
            Self::Answer => Self::Request,
        }
    }
}

/// A member that is asked for in one direction alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Asked {
    /// The schema whose `required` names it.
    pub(crate) by: SchemaId,
    pub(crate) name: String,
    /// Who asks for it.
    pub(crate) direction: Direction,
}

/// What is sent, and asked for, in one direction alone.
#[derive(Debug, Default)]
pub(crate) struct OneWay {
    /// The documents of OpenAPI 3.0.
    sources: BTreeSet<SourceId>,
    read_only: BTreeSet<SchemaId>,
    write_only: BTreeSet<SchemaId>,
    asked: BTreeMap<SchemaId, Vec<Asked>>,
}

impl OneWay {
    /// `is_old` says which documents are of OpenAPI 3.0.
    pub(crate) fn of(graph: &Graph, is_old: impl Fn(SourceId) -> bool) -> Self {
        let sources: BTreeSet<SourceId> = graph.ids().map(|id| graph.schema(id).place.source).collect();
        let sources: BTreeSet<SourceId> = sources.into_iter().filter(|source| is_old(*source)).collect();
        if sources.is_empty() {
            return Self::default();
        }
        let mut holders: BTreeMap<SchemaId, Vec<SchemaId>> = BTreeMap::new();
        for id in graph.ids() {
            let schema = graph.schema(id);
            for part in schema.reference.iter().chain(&schema.all_of) {
                holders.entry(*part).or_default().push(id);
            }
        }
        let spread = |found: Vec<SchemaId>| {
            closure(found, |id, waiting| waiting.extend(holders.get(&id).into_iter().flatten()))
        };
        let marked = |is: fn(&Graph, SchemaId) -> bool| {
            let is_old = |id: SchemaId| sources.contains(&graph.schema(id).place.source);
            spread(graph.ids().filter(|id| is_old(*id) && is(graph, *id)).collect())
        };
        let read_only = marked(|graph, id| graph.schema(id).read_only);
        let write_only = marked(|graph, id| graph.schema(id).write_only);
        let mut found = Self { sources, read_only, write_only, asked: BTreeMap::new() };
        let has = |id: &SchemaId| graph.schema(*id).properties.iter().any(|(_, id)| found.is_marked(*id));
        // What has such a member, by itself or in a part.
        for whole in spread(graph.ids().filter(has).collect()) {
            let asked = found.asked_of(graph, whole);
            if !asked.is_empty() {
                found.asked.insert(whole, asked);
            }
        }
        found
    }

    /// The schemas that ask for members in one direction alone, by themselves or in a part, and which.
    pub(crate) fn wholes(&self) -> impl Iterator<Item = (SchemaId, &[Asked])> {
        self.asked.iter().map(|(whole, asked)| (*whole, asked.as_slice()))
    }

    /// What a schema and its parts ask for in one direction alone.
    pub(crate) fn asked(&self, whole: SchemaId) -> &[Asked] {
        self.asked.get(&whole).map_or(&[], Vec::as_slice)
    }

    /// The one direction in which a member is sent, by all that the `properties` of one place say of it.
    pub(crate) fn sent(&self, said: &[SchemaId]) -> Option<Direction> {
        let is = |marked: &BTreeSet<SchemaId>| said.iter().any(|id| marked.contains(id));
        match (is(&self.read_only), is(&self.write_only)) {
            (true, false) => Some(Direction::Answer),
            (false, true) => Some(Direction::Request),
            // Both words must not stand together, and say nothing then.
            _ => None,
        }
    }

    /// Whether what the schemas of a document ask for is asked where it is sent, and nowhere else.
    pub(crate) fn holds_in(&self, source: SourceId) -> bool {
        self.sources.contains(&source)
    }

    fn is_marked(&self, id: SchemaId) -> bool {
        self.read_only.contains(&id) || self.write_only.contains(&id)
    }

    fn asked_of(&self, graph: &Graph, whole: SchemaId) -> Vec<Asked> {
        let members = Facts::of(graph, &Conj::one(whole), false).members;
        let mut said: BTreeMap<&str, Vec<SchemaId>> = BTreeMap::new();
        for (name, id) in members.iter().flat_map(|part| &graph.schema(*part).properties) {
            said.entry(name).or_default().push(*id);
        }
        let mut asked = Vec::new();
        for by in members.iter().filter(|id| self.holds_in(graph.schema(**id).place.source)) {
            for name in &graph.schema(*by).required {
                let direction = said.get(name.as_str()).and_then(|said| self.sent(said));
                asked.extend(direction.map(|direction| Asked { by: *by, name: name.clone(), direction }));
            }
        }
        asked
    }
}

/// Everything that is reached in steps.
pub(crate) fn closure(
    mut waiting: Vec<SchemaId>,
    step: impl Fn(SchemaId, &mut Vec<SchemaId>),
) -> BTreeSet<SchemaId> {
    let mut reached = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if reached.insert(id) {
            step(id, &mut waiting);
        }
    }
    reached
}
