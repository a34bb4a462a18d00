//! Finds the schemas of media types that the generated code does not exchange.

use std::collections::BTreeSet;

use super::type_places;
use crate::{
    api::OpenApiDocument,
    schema::{SchemaGraph, SchemaId, SchemaOrigin},
    tree::{DocumentLocation, SourceId},
};

/// Returns the anonymous schemas in media types that the generated code does not exchange.
pub(crate) fn unexchanged_schemas(graph: &SchemaGraph, api: &OpenApiDocument) -> BTreeSet<SchemaId> {
    let places: BTreeSet<SchemaId> = type_places(api).into_iter().map(|(id, _)| id).collect();
    let operations = || api.operations.iter().chain(&api.webhooks);
    let bodies = operations().flat_map(|operation| &operation.request_body).flat_map(|body| &body.content);
    let responses = operations().flat_map(|operation| &operation.responses);
    let omitted =
        bodies.chain(responses.flat_map(|response| &response.content)).filter(|media| media.omitted);
    let roots = omitted.flat_map(|media| [media.schema, media.item_schema, media.data_schema]).flatten();
    let is_inline = |id: &SchemaId| graph.schema(*id).origin == SchemaOrigin::Inline;
    let roots = roots.filter(|id| is_inline(id) && !places.contains(id));
    let roots: BTreeSet<(SourceId, &str)> = roots
        .map(|id| {
            let place = &graph.schema(id).place;
            (place.source, place.pointer.as_str())
        })
        .collect();
    if roots.is_empty() {
        return BTreeSet::new();
    }
    let is_inside = |id: &SchemaId| {
        let DocumentLocation { source, pointer, .. } = &graph.schema(*id).place;
        let mut ends = pointer.match_indices('/').map(|(at, _)| at).chain([pointer.len()]);
        ends.any(|end| pointer.get(..end).is_some_and(|outer| roots.contains(&(*source, outer))))
    };
    graph.ids().filter(|id| is_inline(id) && is_inside(id)).collect()
}
