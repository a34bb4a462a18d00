//! Which row of the table each schema has, and what the row is called.
//!
//! What only refers to another schema has no row of its own, but that one's: tables are smaller and
//! nothing is looked up twice. Definitions always have one, so that what refers to them says nothing
//! of what stands in them.
//!
//! Rows stand together by what they belong to: a resource, and in it each definition, component and
//! operation. Such a group has a name, and its rows are counted from there.

use std::collections::BTreeMap;

use contract_runtime::schema::{ResourceId as RowResource, SchemaId as RowId};

use crate::{
    naming::rows::{RowNames, head_of, resource_constant},
    schema::{Graph, ResourceId, SchemaId, keywords::Keyword},
    shape::Shapes,
};

/// The order of rows and their names.
#[derive(Debug)]
pub(super) struct Rows {
    /// The groups, in the order of their rows.
    pub(super) groups: Vec<Group>,
    /// The resources that have rows, in order.
    pub(super) resources: Vec<Listed>,
    of: BTreeMap<SchemaId, RowId>,
    conjunctions: BTreeMap<Vec<SchemaId>, RowId>,
    numbers: BTreeMap<ResourceId, RowResource>,
}

/// A resource as the tables list it.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) id: ResourceId,
    /// The constant of its number.
    pub(super) constant: String,
}

/// Rows that belong together.
#[derive(Debug)]
pub(super) struct Group {
    /// The constant of its first row.
    pub(super) name: String,
    /// Where it begins: the last step of the URI, and the pointer unless that is empty.
    pub(super) place: String,
    pub(super) resource: ResourceId,
    pub(super) first: u32,
    pub(super) rows: Vec<Content>,
}

/// What a row says.
#[derive(Debug)]
pub(super) enum Content {
    /// What a schema says.
    Schema(SchemaId),
    /// What several say together about one place.
    All(Vec<SchemaId>),
}

impl Rows {
    pub(super) fn new(graph: &Graph, shapes: &Shapes, names: &RowNames) -> Self {
        let mut groups: Vec<Group> = Vec::new();
        let mut known: BTreeMap<(ResourceId, &str), usize> = BTreeMap::new();
        let mut group_of = |id: SchemaId, groups: &mut Vec<Group>| {
            let (resource, head) = (graph.schema(id).resource, head_of(graph, id));
            *known.entry((resource, head)).or_insert_with(|| {
                let uri = &graph.resource(resource).uri;
                let file = uri.rsplit('/').next().unwrap_or(uri);
                let place = if head.is_empty() { file.to_owned() } else { format!("{file}#{head}") };
                let name = names.group(uri, head).to_owned();
                groups.push(Group { name, place, resource, first: 0, rows: Vec::new() });
                groups.len() - 1
            })
        };
        for id in graph.ids().filter(|id| meant(graph, *id) == *id) {
            let group = group_of(id, &mut groups);
            groups[group].rows.push(Content::Schema(id));
        }
        let mut conjunctions = BTreeMap::new();
        for def in &shapes.types {
            let ids = &def.conj.ids;
            if ids.len() > 1 && conjunctions.insert(ids.clone(), RowId(0)).is_none() {
                // It belongs to the place that says all of it, not to what the place refers to.
                let group = group_of(def.schema.unwrap_or(ids[0]), &mut groups);
                groups[group].rows.push(Content::All(ids.clone()));
            }
        }
        // Stable: within a resource, groups stand as the document has them.
        groups.sort_by_key(|group| group.resource);
        let mut rows = Self {
            groups,
            resources: Vec::new(),
            of: BTreeMap::new(),
            conjunctions,
            numbers: BTreeMap::new(),
        };
        rows.number(graph, names);
        rows
    }

    fn number(&mut self, graph: &Graph, names: &RowNames) {
        let (mut next, mut resource) = (RowId(0), RowResource(0));
        for group in &mut self.groups {
            group.first = next.0;
            self.numbers.entry(group.resource).or_insert_with(|| {
                let constant = resource_constant(names.resource(&graph.resource(group.resource).uri));
                self.resources.push(Listed { id: group.resource, constant });
                let number = resource;
                resource = RowResource(resource.0 + 1);
                number
            });
            for content in &group.rows {
                match content {
                    Content::Schema(id) => self.of.insert(*id, next),
                    Content::All(ids) => self.conjunctions.insert(ids.clone(), next),
                };
                next = next.plus(1);
            }
        }
        for id in graph.ids() {
            if let Some(row) = self.of(meant(graph, id)) {
                self.of.insert(id, row);
            }
        }
    }

    /// The row of a schema, or of the one that it stands for.
    pub(super) fn of(&self, id: SchemaId) -> Option<RowId> {
        self.of.get(&id).copied()
    }

    /// The row of what several schemas say together.
    pub(super) fn all(&self, ids: &[SchemaId]) -> Option<RowId> {
        match ids {
            [one] => self.of(*one),
            several => self.conjunctions.get(several).copied(),
        }
    }

    /// The number of a resource that has rows.
    pub(super) fn resource(&self, id: ResourceId) -> Option<RowResource> {
        self.numbers.get(&id).copied()
    }

    /// The group of a row and how far behind its first the row stands.
    pub(super) fn group(&self, row: RowId) -> Option<(&Group, u32)> {
        let after = self.groups.partition_point(|group| group.first <= row.0);
        let group = self.groups.get(after.checked_sub(1)?)?;
        let offset = row.0 - group.first;
        ((offset as usize) < group.rows.len()).then_some((group, offset))
    }

    /// A row as people write it: `SHIP`, `SHIP.plus(3)`.
    pub(super) fn name(&self, row: RowId) -> Option<String> {
        let (Group { name, .. }, offset) = self.group(row)?;
        Some(if offset == 0 { name.clone() } else { format!("{name}.plus({offset})") })
    }
}

/// So many references are followed from one to the next; behind the last of more stands another.
const FOLLOWED: usize = 64;

/// The schema whose row a schema has: its own, unless all that it does is to refer to another.
fn meant(graph: &Graph, id: SchemaId) -> SchemaId {
    let mut found = id;
    for _ in 0..FOLLOWED {
        let schema = graph.schema(found);
        let is_mere = schema.decides_by(&[Keyword::Ref])
            && schema.location != head_of(graph, found)
            // What it stands in could be looked for by a `$dynamicRef`.
            && graph.resource(schema.resource).dynamic_anchors.is_empty();
        match schema.reference.filter(|_| is_mere) {
            // Where `false` stands itself it is reported by another name.
            Some(target) if graph.schema(target).boolean == Some(false) => return found,
            Some(target) => found = target,
            None => return found,
        }
    }
    // A circle of references has no schema that it means.
    id
}
