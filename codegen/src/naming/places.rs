//! The names of types that nobody named: each is called by the way that leads to it, from the
//! schema with a name that holds it, or from the operation.

use std::collections::BTreeSet;

use super::{Names, PlaceName};
use crate::{
    api::{Api, MediaType, Operation, Status},
    names,
    schema::{Graph, Schema, SchemaId, Types},
    tree::name_of,
};

/// Every place of the operations that has a type, with the name that an anonymous one takes. What is always the same
/// has none, once that is settled.
#[must_use]
pub fn places(api: &Api) -> Vec<(SchemaId, String)> {
    let mut out = Vec::new();
    for operation in api.operations.iter().chain(&api.webhooks) {
        operation_places(operation, &mut out);
    }
    out
}

/// The same of one operation.
pub fn operation_places(operation: &Operation, out: &mut Vec<(SchemaId, String)>) {
    let base = names::type_name(&operation.id);
    for parameter in &operation.parameters {
        if let Some(schema) = parameter.schema.filter(|_| parameter.constant.is_none()) {
            out.push((schema, format!("{base}{}", names::variant_name(&parameter.name))));
        }
    }
    if let Some(body) = &operation.request_body {
        body.content.iter().for_each(|media| content(media, &format!("{base}Body"), out));
    }
    for response in &operation.responses {
        let status = match response.status {
            Status::Code(code) => format!("{code}"),
            Status::Range(digit) => format!("{digit}xx"),
            Status::Default => "Default".to_owned(),
        };
        response.content.iter().for_each(|media| content(media, &format!("{base}Answer{status}"), out));
        out.extend(
            response
                .headers
                .iter()
                .filter_map(|h| Some((h.schema?, format!("{base}{}", names::variant_name(&h.name))))),
        );
    }
}

/// A media type is called after its body, an item of it after that.
fn content(media: &MediaType, name: &str, out: &mut Vec<(SchemaId, String)>) {
    out.extend(media.schema.map(|schema| (schema, name.to_owned())));
    // Where JSON stands in the `data` of an event, the event around it is no type.
    let item = media.data_schema.or(media.item_schema);
    out.extend(item.map(|schema| (schema, format!("{name}Item"))));
}

impl Names {
    /// Walks from all names inwards, in the order of their locations, then from the operations.
    pub(super) fn settle_places(&mut self, graph: &Graph, api: &Api) {
        let mut named: Vec<SchemaId> = self.named.keys().copied().collect();
        named.sort_by_cached_key(|&id| graph.location(id));
        let mut walk = Walk { graph, names: self, seen: BTreeSet::new() };
        for id in named {
            let hint = walk.names.named.get(&id).cloned().unwrap_or_default();
            // A nullable schema with a name is a newtype; what is inside has a name of its own.
            let nullable = graph.schema(id).types.is_some_and(|types| types.contains(Types::NULL));
            walk.inside(id, if nullable { format!("{hint}Value") } else { hint });
        }
        for (id, hint) in places(api) {
            walk.place(id, component(graph, id).unwrap_or(hint));
        }
        self.share_places();
    }
}

/// The name of the component that a schema stands in: `/components/parameters/limit/schema` has
/// it whoever uses the parameter.
fn component(graph: &Graph, id: SchemaId) -> Option<String> {
    let mut steps = graph.schema(id).location.strip_prefix("/components/")?.split('/');
    let (kind, name) = (steps.next()?, steps.next()?);
    let name = names::type_name(&name_of(name));
    match kind {
        "parameters" | "headers" => Some(name),
        "requestBodies" => Some(format!("{name}Body")),
        "responses" => Some(format!("{name}Answer")),
        _ => None,
    }
}

struct Walk<'a> {
    graph: &'a Graph,
    names: &'a mut Names,
    seen: BTreeSet<SchemaId>,
}

impl Walk<'_> {
    fn place(&mut self, id: SchemaId, hint: String) {
        if let Some((id, hint)) = self.named(id, hint) {
            self.inside(id, hint);
        }
    }

    /// Names a place; what it is called by, unless it has a name or was seen before.
    fn named(&mut self, id: SchemaId, hint: String) -> Option<(SchemaId, String)> {
        let id = self.names.aliases.get(&id).copied().unwrap_or(id);
        let id = self.names.equals.get(&id).copied().unwrap_or(id);
        if self.names.named.contains_key(&id) || !self.seen.insert(id) {
            return None;
        }
        if !is_type(self.graph.schema(id)) {
            return Some((id, hint));
        }
        let name = self.names.unique(names::model_name(&hint));
        self.names.places.insert(id, PlaceName { hint, name: name.clone() });
        Some((id, name))
    }

    /// Names the places inside a schema. Documents may be as deep as they like, hence the list.
    fn inside(&mut self, id: SchemaId, hint: String) {
        let mut waiting = vec![(id, hint)];
        while let Some((id, hint)) = waiting.pop() {
            let mut found = Vec::new();
            self.children(id, &hint, &mut found);
            let mut next: Vec<_> =
                found.into_iter().filter_map(|(child, hint)| self.named(child, hint)).collect();
            next.reverse();
            waiting.extend(next);
        }
    }

    /// The places right below a schema, with what leads to each.
    fn children(&self, id: SchemaId, hint: &str, out: &mut Vec<(SchemaId, String)>) {
        let mut parts = vec![id];
        let mut seen = BTreeSet::new();
        while let Some(part) = parts.pop() {
            if !seen.insert(part) {
                continue;
            }
            let schema = self.graph.schema(part);
            for (wire, child) in &schema.properties {
                if self.leads_on(*child) {
                    out.push((*child, format!("{hint}{}", names::variant_name(wire))));
                }
            }
            out.extend(schema.items.map(|child| (child, format!("{hint}Item"))));
            let fixed = schema.prefix_items.iter().enumerate();
            out.extend(fixed.map(|(at, child)| (*child, format!("{hint}Item{at}"))));
            let values = schema.pattern_properties.iter().map(|(_, child)| *child);
            let values = values.chain(schema.additional_properties);
            out.extend(values.map(|child| (child, format!("{hint}Value"))));
            // What `allOf` says here is said about the same place.
            parts.extend(schema.all_of.iter().rev().filter(|part| !self.names.named.contains_key(part)));
        }
    }

    /// Whether a type may stand at a place or inside it: most properties are plain.
    fn leads_on(&self, id: SchemaId) -> bool {
        let id = self.names.aliases.get(&id).copied().unwrap_or(id);
        let schema = self.graph.schema(id);
        !self.names.named.contains_key(&id)
            && (is_type(schema)
                || schema.items.is_some()
                || !schema.prefix_items.is_empty()
                || !schema.pattern_properties.is_empty()
                || schema.additional_properties.is_some())
    }
}

/// Whether the type of a place may need a name.
fn is_type(schema: &Schema) -> bool {
    let kinds = schema.types.map_or(0, |types| types.without(Types::NULL).count());
    !schema.properties.is_empty()
        || schema.enumeration.is_some()
        || schema.constant.is_some()
        || !schema.all_of.is_empty()
        || !schema.any_of.is_empty()
        || !schema.one_of.is_empty()
        || schema.reference.is_some()
        || kinds > 1
}
