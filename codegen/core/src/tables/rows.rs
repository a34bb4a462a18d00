//! Assigns table rows to schemas and names to rows.
//!
//! A schema that consists only of a reference shares the row of its target, which keeps the tables small.
//! Documents, definitions and components always have their own row, so that references to them do not depend
//! on their content.
//!
//! Rows are grouped by resource, and within a resource by definition, component or operation. Each group has
//! a name, and its rows are numbered from there.

use std::collections::BTreeMap;

use contract_runtime::schema::{ResourceId as RowResource, SchemaId as RowId};

use crate::{
    naming::rows::{RowNames, head_of, resource_constant},
    schema::{ResourceId, SchemaGraph, SchemaId, keywords::Keyword},
    shape::Shapes,
};

/// The rows of the validation tables, in order and in named groups, and the row of each schema.
#[derive(Debug)]
pub(super) struct TableRows {
    pub(super) groups: Vec<RowGroup>,
    /// The resources that have rows, in the order of their numbers.
    pub(super) resources: Vec<ListedResource>,
    by_schema: BTreeMap<SchemaId, RowId>,
    conjunctions: BTreeMap<Vec<SchemaId>, RowId>,
    numbers: BTreeMap<ResourceId, RowResource>,
}

/// A resource (a document or a schema with `$id`) in the resource list of the tables.
#[derive(Debug)]
pub(super) struct ListedResource {
    pub(super) id: ResourceId,
    /// The name of the constant that contains the number of the resource.
    pub(super) constant: String,
}

/// A named group of consecutive rows.
#[derive(Debug)]
pub(super) struct RowGroup {
    /// The name of the generated constant that contains the id of the group's first row.
    pub(super) name: String,
    /// The location of the group for a comment: the last segment of the resource's URI, followed by the
    /// pointer unless that is empty.
    pub(super) place: String,
    pub(super) resource: ResourceId,
    pub(super) first: u32,
    pub(super) rows: Vec<RowContent>,
}

/// The schema, or the conjunction of several schemas, that a row of the validation tables describes.
#[derive(Debug)]
pub(super) enum RowContent {
    Schema(SchemaId),
    Conjunction(Vec<SchemaId>),
}

impl TableRows {
    pub(super) fn new(graph: &SchemaGraph, shapes: &Shapes, names: &RowNames) -> Self {
        let mut groups: Vec<RowGroup> = Vec::new();
        let mut known: BTreeMap<(ResourceId, &str), usize> = BTreeMap::new();
        let mut group_of = |id: SchemaId, groups: &mut Vec<RowGroup>| {
            let (resource, head) = (graph.schema(id).resource, head_of(graph, id));
            *known.entry((resource, head)).or_insert_with(|| {
                let uri = &graph.resource(resource).uri;
                let file = uri.rsplit('/').next().unwrap_or(uri);
                let place = if head.is_empty() { file.to_owned() } else { format!("{file}#{head}") };
                let name = names.group_name(resource, head).to_owned();
                groups.push(RowGroup { name, place, resource, first: 0, rows: Vec::new() });
                groups.len() - 1
            })
        };
        let has_row =
            |id: &SchemaId| !shapes.unexchanged.contains(id) && resolve_row_schema(graph, *id) == *id;
        for id in graph.ids().filter(has_row) {
            let group = group_of(id, &mut groups);
            groups[group].rows.push(RowContent::Schema(id));
        }
        let mut conjunctions = BTreeMap::new();
        for def in &shapes.types {
            let ids = &def.conj.ids;
            if ids.len() > 1 && conjunctions.insert(ids.clone(), RowId(0)).is_none() {
                // The row is in the group of the type that combines the schemas, or in that of the first
                // schema if the type is anonymous.
                let group = group_of(def.schema.unwrap_or(ids[0]), &mut groups);
                groups[group].rows.push(RowContent::Conjunction(ids.clone()));
            }
        }
        // The sort is stable, so the groups of a resource stay in document order.
        groups.sort_by_key(|group| group.resource);
        let mut rows = Self {
            groups,
            resources: Vec::new(),
            by_schema: BTreeMap::new(),
            conjunctions,
            numbers: BTreeMap::new(),
        };
        rows.assign_numbers(graph, names);
        rows
    }

    fn assign_numbers(&mut self, graph: &SchemaGraph, names: &RowNames) {
        let (mut next, mut resource) = (RowId(0), RowResource(0));
        for group in &mut self.groups {
            group.first = next.0;
            self.numbers.entry(group.resource).or_insert_with(|| {
                let constant = resource_constant(names.resource_name(group.resource));
                self.resources.push(ListedResource { id: group.resource, constant });
                let number = resource;
                resource = RowResource(resource.0 + 1);
                number
            });
            for content in &group.rows {
                match content {
                    RowContent::Schema(id) => self.by_schema.insert(*id, next),
                    RowContent::Conjunction(ids) => self.conjunctions.insert(ids.clone(), next),
                };
                next = next.offset_by(1);
            }
        }
        for id in graph.ids() {
            if let Some(row) = self.row_of(resolve_row_schema(graph, id)) {
                self.by_schema.insert(id, row);
            }
        }
    }

    /// Returns the row that validates a value against a schema. It may be the row of a schema to which this one refers.
    pub(super) fn row_of(&self, id: SchemaId) -> Option<RowId> {
        self.by_schema.get(&id).copied()
    }

    /// Returns the row that validates a value against all of the given schemas. For a single schema, this is the row
    /// of the schema. For several schemas, it is the row of their conjunction, or `None` if the tables have no such row.
    pub(super) fn row_of_all(&self, ids: &[SchemaId]) -> Option<RowId> {
        match ids {
            [one] => self.row_of(*one),
            several => self.conjunctions.get(several).copied(),
        }
    }

    /// Returns the number of a resource in the resource list, or `None` if the resource has no rows.
    pub(super) fn resource_number(&self, id: ResourceId) -> Option<RowResource> {
        self.numbers.get(&id).copied()
    }

    /// Returns the group of a row, and the offset of the row in the group.
    pub(super) fn group_of(&self, row: RowId) -> Option<(&RowGroup, u32)> {
        let after = self.groups.partition_point(|group| group.first <= row.0);
        let group = self.groups.get(after.checked_sub(1)?)?;
        let offset = row.0 - group.first;
        ((offset as usize) < group.rows.len()).then_some((group, offset))
    }

    /// Returns the name of a row, such as `SHIP` or `SHIP.offset_by(3)`.
    pub(super) fn row_name(&self, row: RowId) -> Option<String> {
        let (RowGroup { name, .. }, offset) = self.group_of(row)?;
        Some(if offset == 0 { name.clone() } else { format!("{name}.offset_by({offset})") })
    }
}

/// The maximum number of consecutive references that are followed.
const MAX_REFERENCES: usize = 64;

/// Returns the schema whose row a schema uses: the schema itself, or the target of a bare reference.
fn resolve_row_schema(graph: &SchemaGraph, id: SchemaId) -> SchemaId {
    let mut found = id;
    for _ in 0..MAX_REFERENCES {
        let schema = graph.schema(found);
        let is_mere = schema.is_constrained_only_by(&[Keyword::Ref])
            && schema.location != head_of(graph, found)
            // A resource with dynamic anchors affects the target of a later `$dynamicRef`, so its references
            // keep their own rows.
            && graph.resource(schema.resource).dynamic_anchors.is_empty();
        match schema.reference.filter(|_| is_mere) {
            // A reference to `false` keeps its own row, because `false` itself is reported differently.
            Some(target) if graph.schema(target).boolean == Some(false) => return found,
            Some(target) => found = target,
            None => return found,
        }
    }
    // A cycle of references has no target.
    id
}
