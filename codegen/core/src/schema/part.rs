//! Reduces a graph to some of its schemas and renumbers these.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ContainsConstraint, Discriminator, DynamicReference, Schema, SchemaGraph, SchemaId, SchemaResource,
};
use crate::arena::{Arena, ArenaMap};

/// The new ids of the schemas of a graph after others were removed.
#[derive(Clone, Debug)]
pub(crate) struct SchemaRemapping(ArenaMap<Schema, Option<SchemaId>>);

impl SchemaRemapping {
    /// Returns the new id of a schema; `None` when it was removed.
    pub(crate) fn get(&self, id: SchemaId) -> Option<SchemaId> {
        self.0[id]
    }

    /// Maps the ids of a set and drops removed schemas.
    pub(crate) fn remap_set(&self, ids: BTreeSet<SchemaId>) -> BTreeSet<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    /// Maps the keys of a map and drops removed schemas.
    pub(crate) fn remap_keys<V>(&self, map: BTreeMap<SchemaId, V>) -> BTreeMap<SchemaId, V> {
        map.into_iter().filter_map(|(id, value)| Some((self.get(id)?, value))).collect()
    }

    /// Maps the ids of a list and drops removed schemas.
    pub(crate) fn remap_list(&self, ids: Vec<SchemaId>) -> Vec<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    fn remap_named(&self, members: &mut Vec<(String, SchemaId)>) {
        members.retain_mut(|(_, id)| self.get(*id).map(|left| *id = left).is_some());
    }

    /// Maps an optional id, which becomes `None` when the schema was removed.
    pub(crate) fn remap_option(&self, id: &mut Option<SchemaId>) {
        *id = id.and_then(|id| self.get(id));
    }

    /// Destructures without `..`, so that a new keyword does not compile until it is handled here.
    fn remap_schema(&self, mut schema: Schema) -> Schema {
        let Schema {
            place: _,
            resource: _,
            location: _,
            origin: _,
            boolean: _,
            gap: _,
            reference,
            dynamic_reference,
            definitions,
            title: _,
            description: _,
            default: _,
            examples: _,
            deprecated: _,
            read_only: _,
            write_only: _,
            format: _,
            asserted: _,
            content_encoding: _,
            content_media_type: _,
            content_schema,
            extensions: _,
            discriminator,
            implied_otherwise: _,
            types: _,
            enumeration: _,
            constant: _,
            minimum: _,
            maximum: _,
            exclusive_minimum: _,
            exclusive_maximum: _,
            multiple_of: _,
            min_length: _,
            max_length: _,
            pattern: _,
            min_items: _,
            max_items: _,
            unique_items: _,
            contains,
            prefix_items,
            items,
            unevaluated_items,
            properties,
            pattern_properties,
            additional_properties,
            unevaluated_properties,
            property_names,
            required: _,
            one_way: _,
            min_properties: _,
            max_properties: _,
            dependent_required: _,
            dependent_schemas,
            all_of,
            any_of,
            one_of,
            not,
            condition,
            then,
            otherwise,
        } = &mut schema;
        for id in [
            reference,
            content_schema,
            items,
            unevaluated_items,
            additional_properties,
            unevaluated_properties,
            property_names,
            not,
            condition,
            then,
            otherwise,
        ] {
            self.remap_option(id);
        }
        for list in [prefix_items, all_of, any_of, one_of] {
            *list = self.remap_list(std::mem::take(list));
        }
        for members in [definitions, properties, pattern_properties, dependent_schemas] {
            self.remap_named(members);
        }
        if let Some(Discriminator { tag: _, mapping, default, family }) = discriminator {
            self.remap_named(mapping);
            self.remap_option(default);
            *family = self.remap_list(std::mem::take(family));
        }
        *contains =
            contains.take().and_then(|c| Some(ContainsConstraint { schema: self.get(c.schema)?, ..c }));
        *dynamic_reference = dynamic_reference
            .take()
            .and_then(|d| Some(DynamicReference { initial: self.get(d.initial)?, ..d }));
        schema
    }
}

impl SchemaGraph {
    /// Reduces the graph to the schemas `kept`, in the same order, and returns the new ids.
    ///
    /// The set must be closed: it contains every schema that one of its members applies.
    pub(crate) fn retain_schemas(self, kept: &BTreeSet<SchemaId>) -> (Self, SchemaRemapping) {
        let mut left = Arena::<Schema>::first_ids(kept.len());
        let moved =
            SchemaRemapping(self.schemas.map_ids(|id| kept.contains(&id).then(|| left.next()).flatten()));
        let holds = self.resources.map_ids(|_| false);
        let holds = kept.iter().fold(holds, |mut holds, id| {
            holds[self.schemas[*id].resource] = true;
            holds
        });
        let mut part = Self::default();
        let mut resources = self.resources.map_ids(|_| None);
        for (id, resource) in self.resources.ids().zip(self.resources).filter(|(id, _)| holds[*id]) {
            let SchemaResource { uri, source, mut root, mut dynamic_anchors } = resource;
            moved.remap_option(&mut root);
            moved.remap_named(&mut dynamic_anchors);
            resources[id] = Some(part.resources.push(SchemaResource { uri, source, root, dynamic_anchors }));
        }
        for (id, schema) in self.schemas.ids().zip(self.schemas).filter(|(id, _)| kept.contains(id)) {
            debug_assert!(
                schema.child_schemas().all(|child| kept.contains(&child)),
                "{id:?} applies what is gone"
            );
            let resource = resources[schema.resource].unwrap_or_default();
            part.schemas.push(Schema { resource, ..moved.remap_schema(schema) });
        }
        (part, moved)
    }
}
