//! Finds the schemas that are reachable from others.

use std::collections::BTreeSet;

use super::{SchemaGraph, SchemaId};

/// Returns the schemas `seeds` and all schemas that are reachable from them, including the schemas that
/// extend a discriminator base by `allOf`.
pub fn reachable_schemas(graph: &SchemaGraph, seeds: Vec<SchemaId>) -> BTreeSet<SchemaId> {
    let mut found = BTreeSet::new();
    let mut waiting = seeds;
    let mut anchors = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if !found.insert(id) {
            continue;
        }
        waiting.extend(direct_dependencies(graph, id));
        if let Some(anchor) = dynamic_anchor(graph, id).filter(|anchor| anchors.insert(*anchor)) {
            waiting.extend(schemas_with_anchor(graph, anchor));
        }
    }
    found
}

/// Returns the schemas that a schema applies and, if it is a base in `types.families`, the schemas that
/// extend it.
pub(crate) fn direct_dependencies(graph: &SchemaGraph, id: SchemaId) -> impl Iterator<Item = SchemaId> + '_ {
    let schema = graph.schema(id);
    schema.child_schemas().chain(schema.content_schema).chain(schema.family_members().iter().copied())
}

/// Returns the name of the dynamic anchor to which the `$dynamicRef` of a schema refers, or `None` if there
/// is none.
pub(crate) fn dynamic_anchor(graph: &SchemaGraph, id: SchemaId) -> Option<&str> {
    graph.schema(id).dynamic_reference.as_ref().and_then(|dynamic| dynamic.anchor.as_deref())
}

/// Returns the schemas that define the dynamic anchor `anchor`. The path of evaluation determines which of
/// them applies.
pub(crate) fn schemas_with_anchor<'g>(
    graph: &'g SchemaGraph,
    anchor: &'g str,
) -> impl Iterator<Item = SchemaId> + 'g {
    let all = graph.resources.iter().flat_map(|resource| &resource.dynamic_anchors);
    all.filter(move |(name, _)| name == anchor).map(|(_, id)| *id)
}
