//! Derives the name of an anonymous type from the enclosing named schema or operation and the path from there
//! to the type, such as `ShipCrewItem` for the items of the property `crew` of `Ship`.

use std::collections::BTreeSet;

use super::{PlaceName, TypeNames};
use crate::{
    api::{self, MediaType, OpenApiDocument, Operation, StatusPattern},
    names,
    schema::{Schema, SchemaGraph, SchemaId, SchemaOrigin, TypeSet},
    tree::unescape_token,
};

/// Returns the schemas of parameters, bodies, responses and headers, each with the name that its type gets if
/// the schema is anonymous. Parameters with a constant value and media types that are not exchanged need no type
/// and are omitted.
#[must_use]
pub fn type_places(api: &OpenApiDocument) -> Vec<(SchemaId, String)> {
    let mut out = Vec::new();
    for operation in api.operations.iter().chain(&api.webhooks) {
        operation_places(operation, &mut out);
    }
    out
}

/// Adds the schemas of one operation to `out`, in the same form as [`type_places`].
pub fn operation_places(operation: &Operation, out: &mut Vec<(SchemaId, String)>) {
    let base = names::type_name(&operation.id);
    for parameter in &operation.parameters {
        if let Some(schema) = parameter.schema.filter(|_| parameter.constant.is_none()) {
            out.push((schema, format!("{base}{}", names::variant_name(&parameter.name))));
        }
    }
    if let Some(body) = &operation.request_body {
        api::exchanged_media(&body.content)
            .for_each(|media| media_places(media, &format!("{base}Body"), out));
    }
    let is_success = |status| matches!(status, StatusPattern::Code(200..=299) | StatusPattern::Range(2));
    let successes = operation.responses.iter().filter(|response| is_success(response.status)).count();
    for response in &operation.responses {
        let content = || api::exchanged_media(&response.content);
        let status = match response.status {
            // An operation with several success responses has an enum of them, which needs the name.
            status if successes == 1 && content().count() == 1 && is_success(status) => String::new(),
            StatusPattern::Code(code) => format!("{code}"),
            StatusPattern::Range(digit) => format!("{digit}xx"),
            StatusPattern::Default => "Default".to_owned(),
        };
        content().for_each(|media| media_places(media, &format!("{base}Response{status}"), out));
        out.extend(
            response
                .headers
                .iter()
                .filter_map(|h| Some((h.schema?, format!("{base}{}", names::variant_name(&h.name))))),
        );
    }
}

/// Adds the schemas of a media type: the schema of the body and the schema of its items.
fn media_places(media: &MediaType, name: &str, out: &mut Vec<(SchemaId, String)>) {
    out.extend(media.schema.map(|schema| (schema, name.to_owned())));
    // If the field `data` of an event contains JSON, the item is this JSON, and the event itself needs no
    // type.
    let item = media.data_schema.or(media.item_schema);
    out.extend(item.map(|schema| (schema, format!("{name}Item"))));
}

impl TypeNames {
    /// Assigns names to the anonymous schemas: first to those inside of named schemas, in the order of the
    /// locations of the named schemas, then to those of operations. References come last: the target of a
    /// reference such as `#/paths/~1ships/get/responses/200/content/application~1json/schema/items` is named
    /// after its own location, and after the reference only if its location has no name.
    pub(super) fn assign_place_names(&mut self, graph: &SchemaGraph, api: &OpenApiDocument) {
        let mut named: Vec<SchemaId> = self.named.keys().copied().collect();
        named.sort_by_cached_key(|&id| graph.absolute_location(id));
        let mut walk = PlaceWalk { graph, names: self, seen: BTreeSet::new(), deferred: Some(Vec::new()) };
        for id in named {
            let hint = walk.names.named.get(&id).cloned().unwrap_or_default();
            // A named nullable schema is a newtype, and the type inside it needs a different name. The name of an
            // inline schema, from the configuration, is that of the type inside.
            let schema = graph.schema(id);
            let nullable = schema.origin != SchemaOrigin::Inline
                && schema.types.is_some_and(|types| types.contains(TypeSet::NULL));
            walk.visit_inside(id, if nullable { format!("{hint}Value") } else { hint });
        }
        for (id, hint) in type_places(api) {
            walk.visit_place(id, component_name(graph, id).unwrap_or(hint));
        }
        for (id, hint) in walk.deferred.take().unwrap_or_default() {
            walk.visit_place(id, hint);
        }
    }
}

/// Returns the name for a schema that is part of a component other than a schema, such as `Limit` for
/// `/components/parameters/limit/schema`. Such a schema is named after the component, regardless of the
/// operations that use it.
fn component_name(graph: &SchemaGraph, id: SchemaId) -> Option<String> {
    let mut steps = graph.schema(id).location.strip_prefix("/components/")?.split('/');
    let (kind, name) = (steps.next()?, steps.next()?);
    let name = names::type_name(&unescape_token(name));
    match kind {
        "parameters" | "headers" => Some(name),
        "requestBodies" => Some(format!("{name}Body")),
        "responses" => Some(format!("{name}Response")),
        _ => None,
    }
}

struct PlaceWalk<'a> {
    graph: &'a SchemaGraph,
    names: &'a mut TypeNames,
    seen: BTreeSet<SchemaId>,
    /// The references found so far, each with its name, or `None` while they are visited.
    deferred: Option<Vec<(SchemaId, String)>>,
}

impl PlaceWalk<'_> {
    fn visit_place(&mut self, id: SchemaId, hint: String) {
        if let Some((id, hint)) = self.name_place(id, hint) {
            self.visit_inside(id, hint);
        }
    }

    /// Reserves a name for the type of a schema. Returns the schema and the start of its children's names, or
    /// `None` if the schema already has a name, was visited before, or is a reference that is visited later.
    fn name_place(&mut self, id: SchemaId, hint: String) -> Option<(SchemaId, String)> {
        let target = self.names.aliases.get(&id).copied().unwrap_or(id);
        if !self.is_within(target, id)
            && let Some(deferred) = &mut self.deferred
        {
            if !self.names.named.contains_key(&target) {
                deferred.push((id, hint));
            }
            return None;
        }
        let id = target;
        if self.names.named.contains_key(&id) || !self.seen.insert(id) {
            return None;
        }
        if !may_need_type_name(self.graph.schema(id)) {
            return Some((id, hint));
        }
        let name = self.names.make_unique(names::model_name(&hint));
        self.names.places.insert(id, PlaceName { hint, name: name.clone() });
        Some((id, name))
    }

    /// Returns true if the location of `inner` is that of `outer` or inside of it. An alias without a `$ref`
    /// leads to a schema inside of it.
    fn is_within(&self, inner: SchemaId, outer: SchemaId) -> bool {
        let (inner, outer) = (&self.graph.schema(inner).place, &self.graph.schema(outer).place);
        let rest = inner.pointer.strip_prefix(&outer.pointer);
        inner.source == outer.source && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// Assigns names to all anonymous schemas inside of a schema. `hint` is the start of their names. It uses
    /// a list instead of recursion, because documents may be deeply nested.
    fn visit_inside(&mut self, id: SchemaId, hint: String) {
        let mut waiting = vec![(id, hint)];
        while let Some((id, hint)) = waiting.pop() {
            let mut found = Vec::new();
            self.child_places(id, &hint, &mut found);
            let mut next: Vec<_> =
                found.into_iter().filter_map(|(child, hint)| self.name_place(child, hint)).collect();
            next.reverse();
            waiting.extend(next);
        }
    }

    /// Collects the anonymous schemas of the properties, items and values of a schema, each with its path.
    fn child_places(&self, id: SchemaId, hint: &str, out: &mut Vec<(SchemaId, String)>) {
        let mut parts = vec![id];
        let mut seen = BTreeSet::new();
        while let Some(part) = parts.pop() {
            if !seen.insert(part) {
                continue;
            }
            let schema = self.graph.schema(part);
            for (wire, child) in &schema.properties {
                if self.may_contain_type(*child) {
                    out.push((*child, format!("{hint}{}", names::variant_name(wire))));
                }
            }
            out.extend(schema.items.map(|child| (child, format!("{hint}Item"))));
            let fixed = schema.prefix_items.iter().enumerate();
            out.extend(fixed.map(|(at, child)| (*child, format!("{hint}Item{at}"))));
            let values = schema.pattern_properties.iter().map(|(_, child)| *child);
            let values = values.chain(schema.additional_properties);
            out.extend(values.map(|child| (child, format!("{hint}Value"))));
            // The elements of `allOf` describe the same value, so the children of anonymous ones are
            // collected with the same start of their names.
            parts.extend(schema.all_of.iter().rev().filter(|part| !self.names.named.contains_key(part)));
        }
    }

    /// Returns true if the type of a schema, or of a schema inside of it, may need a name. Most properties
    /// need none.
    fn may_contain_type(&self, id: SchemaId) -> bool {
        let id = self.names.aliases.get(&id).copied().unwrap_or(id);
        let schema = self.graph.schema(id);
        !self.names.named.contains_key(&id)
            && (may_need_type_name(schema)
                || schema.items.is_some()
                || !schema.prefix_items.is_empty()
                || !schema.pattern_properties.is_empty()
                || schema.additional_properties.is_some())
    }
}

/// Returns true if the type of a schema may need a name.
fn may_need_type_name(schema: &Schema) -> bool {
    let kinds = schema.types.map_or(0, |types| types.difference(TypeSet::NULL).count());
    !schema.properties.is_empty()
        || schema.enumeration.is_some()
        || schema.constant.is_some()
        || !schema.all_of.is_empty()
        || !schema.any_of.is_empty()
        || !schema.one_of.is_empty()
        || schema.reference.is_some()
        || kinds > 1
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources};

    /// A schema that is shared by references to its location is named after this location, regardless of the
    /// order and number of the operations and components that refer to it.
    #[test]
    fn targets_of_references_are_named_after_their_location() {
        let json = |schema: &str| {
            format!(
                "responses: {{ '200': {{ description: d, content: {{ application/json: {{ schema: {schema} }} }} }} }}"
            )
        };
        let list = "/paths/~1m/get/responses/200/content/application~1json/schema";
        let ships = "{ type: array, items: { type: object, properties: { owner: { type: object, properties: { x: { type: string } } } } } }";
        let own = format!("  /m: {{ get: {{ operationId: listShips, {} }} }}\n", json(ships));
        let user = |name: &str, target: &str| {
            let body = json(&format!("{{ $ref: '#{target}' }}"));
            format!("  /{name}: {{ get: {{ operationId: {name}, {body} }} }}\n")
        };
        let owner = format!("{list}/items/properties/owner");
        let (item, inner) = (format!("{list}/items"), "/components/schemas/Z/properties/in");
        let component = format!("{{ type: object, properties: {{ in: {{ $ref: '#{owner}' }} }} }}");
        let wrapped = "allOf: [{ type: object, properties: { a: { type: integer } } }]";
        for (paths, schemas) in [
            (format!("{own}{}{}", user("b", &item), user("c", &owner)), format!("A: {component}")),
            (
                format!("{}{own}{}", user("b", &owner), user("c", &item)),
                format!("Z: {{ type: object, properties: {{ in: {{ {wrapped} }} }} }}"),
            ),
            (
                format!("{}{}{own}", user("b", &item), user("c", inner)),
                format!("A: {component}, Z: {{ type: object, properties: {{ in: {{ {wrapped} }} }} }}"),
            ),
        ] {
            let text = format!(
                "openapi: 3.1.0\ninfo: {{ title: T, version: '1' }}\npaths:\n{paths}components: {{ schemas: {{ {schemas} }} }}\n"
            );
            let sources = Sources::from_texts(&[("a.yaml", "", text.as_str())]).unwrap();
            let contract = Project::default().analyze_sources(sources).unwrap();
            let mut names: Vec<&str> = contract.shapes.types.iter().map(|def| def.name.as_str()).collect();
            names.sort_unstable();
            let all = ["A", "ListShipsResponseItem", "ListShipsResponseItemOwner", "Z", "ZIn"];
            let expected: Vec<&str> = all
                .into_iter()
                .filter(|name| match *name {
                    "A" => schemas.contains("A:"),
                    "Z" | "ZIn" => schemas.contains("Z:"),
                    _ => true,
                })
                .collect();
            assert_eq!(names, expected, "{text}");
        }
    }
}
