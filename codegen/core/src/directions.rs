//! Request-only and response-only properties of OpenAPI 3.0.
//!
//! OpenAPI 3.0 limits the effect of `required` on `readOnly` and `writeOnly` properties: "if the property is
//! marked as readOnly being true and is in the required list, the required will take effect on the response
//! only", and vice versa for `writeOnly` (3.0.3, 4.7.24.2). Since OpenAPI 3.1, both keywords are annotations,
//! as in JSON Schema, and `required` applies in both directions.
//!
//! The OpenAPI version of the document that contains the schema determines which rule applies.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    conjunction::{SchemaConjunction, SchemaFacts},
    schema::{SchemaGraph, SchemaId},
    tree::SourceId,
};

/// The direction in which a value is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From the client to the server: `readOnly` properties are not sent.
    Request,
    /// From the server to the client: `writeOnly` properties are not sent.
    Response,
}

impl Direction {
    pub(crate) const fn opposite(self) -> Self {
        match self {
            Self::Request => Self::Response,
            Self::Response => Self::Request,
        }
    }
}

/// A property that is required in one direction only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OneWayRequirement {
    /// The schema with the `required` entry.
    pub required_by: SchemaId,
    pub name: String,
    pub direction: Direction,
}

/// The properties that are sent or required in one direction only.
#[derive(Debug, Default)]
pub struct OneWayProperties {
    /// The documents that use OpenAPI 3.0.
    sources: BTreeSet<SourceId>,
    read_only: BTreeSet<SchemaId>,
    write_only: BTreeSet<SchemaId>,
    requirements: BTreeMap<SchemaId, Vec<OneWayRequirement>>,
}

impl OneWayProperties {
    /// Collects the one-way properties of a graph. `is_old` returns true for documents that use OpenAPI 3.0.
    pub fn from_graph(graph: &SchemaGraph, is_old: impl Fn(SourceId) -> bool) -> Self {
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
            transitive_closure(found, |id, waiting| waiting.extend(holders.get(&id).into_iter().flatten()))
        };
        let marked = |is: fn(&SchemaGraph, SchemaId) -> bool| {
            let is_old = |id: SchemaId| sources.contains(&graph.schema(id).place.source);
            spread(graph.ids().filter(|id| is_old(*id) && is(graph, *id)).collect())
        };
        let read_only = marked(|graph, id| graph.schema(id).read_only);
        let write_only = marked(|graph, id| graph.schema(id).write_only);
        let mut found = Self { sources, read_only, write_only, requirements: BTreeMap::new() };
        let has = |id: &SchemaId| graph.schema(*id).properties.iter().any(|(_, id)| found.is_marked(*id));
        // These schemas declare such a property, directly or in an `allOf` part.
        for whole in spread(graph.ids().filter(has).collect()) {
            let requirements = found.collect_requirements(graph, whole);
            if !requirements.is_empty() {
                found.requirements.insert(whole, requirements);
            }
        }
        found
    }

    /// Iterates over the schemas that have one-way requirements, directly or in a part, with these
    /// requirements.
    pub fn requirements_by_schema(&self) -> impl Iterator<Item = (SchemaId, &[OneWayRequirement])> {
        self.requirements.iter().map(|(whole, requirements)| (*whole, requirements.as_slice()))
    }

    /// Returns the one-way requirements of a schema, including those of its parts.
    pub fn requirements_of(&self, whole: SchemaId) -> &[OneWayRequirement] {
        self.requirements.get(&whole).map_or(&[], Vec::as_slice)
    }

    /// Returns the direction in which a property is sent if it is sent in only one. `declarations` are the
    /// schemas of the property.
    pub fn sent_direction(&self, declarations: &[SchemaId]) -> Option<Direction> {
        let is = |marked: &BTreeSet<SchemaId>| declarations.iter().any(|id| marked.contains(id));
        match (is(&self.read_only), is(&self.write_only)) {
            (true, false) => Some(Direction::Response),
            (false, true) => Some(Direction::Request),
            // `readOnly` and `writeOnly` exclude each other. If a property has both, neither applies.
            _ => None,
        }
    }

    /// Returns true if the effect of `required` depends on the direction in this document.
    pub fn is_directional(&self, source: SourceId) -> bool {
        self.sources.contains(&source)
    }

    fn is_marked(&self, id: SchemaId) -> bool {
        self.read_only.contains(&id) || self.write_only.contains(&id)
    }

    fn collect_requirements(&self, graph: &SchemaGraph, whole: SchemaId) -> Vec<OneWayRequirement> {
        let members =
            SchemaFacts::from_conjunction(graph, &SchemaConjunction::from_schema(whole), false).unconditional;
        let mut declarations: BTreeMap<&str, Vec<SchemaId>> = BTreeMap::new();
        for (name, id) in members.iter().flat_map(|part| &graph.schema(*part).properties) {
            declarations.entry(name).or_default().push(*id);
        }
        let mut requirements = Vec::new();
        for by in members.iter().filter(|id| self.is_directional(graph.schema(**id).place.source)) {
            for name in &graph.schema(*by).required {
                let direction = declarations
                    .get(name.as_str())
                    .and_then(|declarations| self.sent_direction(declarations));
                requirements.extend(direction.map(|direction| OneWayRequirement {
                    required_by: *by,
                    name: name.clone(),
                    direction,
                }));
            }
        }
        requirements
    }
}

/// Returns all schemas that are reachable from the start by repeated steps, including the start.
pub(crate) fn transitive_closure(
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
