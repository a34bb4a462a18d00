//! Removes schemas from a graph and assigns new ids to the remaining ones.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    ContainsConstraint, Discriminator, DynamicReference, ResourceId, Schema, SchemaGraph, SchemaId,
    SchemaResource,
};
use crate::arena::{Arena, ArenaMap};

/// The new ids of schemas and resources after other schemas were removed from the graph.
#[derive(Clone, Debug)]
pub(crate) struct SchemaRemapping {
    schemas: ArenaMap<Schema, Option<SchemaId>>,
    resources: ArenaMap<SchemaResource, Option<ResourceId>>,
}

impl SchemaRemapping {
    /// Returns the new id of a schema, or `None` if it was removed.
    pub(crate) fn get(&self, id: SchemaId) -> Option<SchemaId> {
        self.schemas[id]
    }

    /// Returns the new id of a resource, or `None` if all of its schemas were removed.
    pub(crate) fn resource(&self, id: ResourceId) -> Option<ResourceId> {
        self.resources[id]
    }

    /// Replaces the ids in a set by the new ids and drops removed schemas.
    pub(crate) fn remap_set(&self, ids: BTreeSet<SchemaId>) -> BTreeSet<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    /// Replaces the keys of a map by the new ids and drops the entries of removed schemas.
    pub(crate) fn remap_keys<V>(&self, map: BTreeMap<SchemaId, V>) -> BTreeMap<SchemaId, V> {
        map.into_iter().filter_map(|(id, value)| Some((self.get(id)?, value))).collect()
    }

    /// Replaces the ids in a list by the new ids and drops removed schemas.
    pub(crate) fn remap_list(&self, ids: Vec<SchemaId>) -> Vec<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    fn remap_named(&self, members: &mut Vec<(String, SchemaId)>) {
        replace_named(members, &mut |id| self.get(id));
    }

    /// Replaces an optional id by the new id, or by `None` if the schema was removed.
    pub(crate) fn remap_option(&self, id: &mut Option<SchemaId>) {
        *id = id.and_then(|id| self.get(id));
    }
}

fn replace_named(
    members: &mut Vec<(String, SchemaId)>,
    replace: &mut dyn FnMut(SchemaId) -> Option<SchemaId>,
) {
    members.retain_mut(|(_, id)| replace(*id).map(|left| *id = left).is_some());
}

impl Schema {
    /// Replaces every schema to which this one refers by the result of `replace`. A reference for which
    /// `replace` returns `None` is dropped.
    ///
    /// The function destructures `self` without `..`, so that a new keyword does not compile until it is
    /// handled here.
    pub(crate) fn replace_schemas(&mut self, replace: &mut dyn FnMut(SchemaId) -> Option<SchemaId>) {
        let Schema {
            place: _,
            resource: _,
            location: _,
            origin: _,
            boolean: _,
            gap: _,
            is_generic: _,
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
        } = self;
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
            *id = id.and_then(&mut *replace);
        }
        for list in [prefix_items, all_of, any_of, one_of] {
            *list = std::mem::take(list).into_iter().filter_map(&mut *replace).collect();
        }
        for members in [definitions, properties, pattern_properties, dependent_schemas] {
            replace_named(members, replace);
        }
        if let Some(Discriminator { tag: _, mapping, default, family }) = discriminator {
            replace_named(mapping, replace);
            *default = default.and_then(&mut *replace);
            *family = std::mem::take(family).into_iter().filter_map(&mut *replace).collect();
        }
        *contains =
            contains.take().and_then(|c| Some(ContainsConstraint { schema: replace(c.schema)?, ..c }));
        *dynamic_reference = dynamic_reference
            .take()
            .and_then(|d| Some(DynamicReference { initial: replace(d.initial)?, ..d }));
    }
}

impl SchemaGraph {
    /// Removes all schemas that are not in `kept`. Returns the reduced graph, in which the order of the
    /// schemas is the same, and the new ids.
    ///
    /// The set must be closed: it must contain every schema that one of its elements applies.
    pub(crate) fn retain_schemas(self, kept: &BTreeSet<SchemaId>) -> (Self, SchemaRemapping) {
        let mut left = Arena::<Schema>::first_ids(kept.len());
        let schemas = self.schemas.map_ids(|id| kept.contains(&id).then(|| left.next()).flatten());
        let mut moved = SchemaRemapping { schemas, resources: self.resources.map_ids(|_| None) };
        let holds = self.resources.map_ids(|_| false);
        let holds = kept.iter().fold(holds, |mut holds, id| {
            holds[self.schemas[*id].resource] = true;
            holds
        });
        let mut part = Self::default();
        for (id, resource) in self.resources.ids().zip(self.resources).filter(|(id, _)| holds[*id]) {
            let SchemaResource { uri, source, mut root, mut dynamic_anchors } = resource;
            moved.remap_option(&mut root);
            moved.remap_named(&mut dynamic_anchors);
            moved.resources[id] =
                Some(part.resources.push(SchemaResource { uri, source, root, dynamic_anchors }));
        }
        for (id, schema) in self.schemas.ids().zip(self.schemas).filter(|(id, _)| kept.contains(id)) {
            debug_assert!(
                schema.child_schemas().all(|child| kept.contains(&child)),
                "{id:?} applies what is gone"
            );
            let resource = moved.resource(schema.resource).unwrap_or_default();
            let mut schema = Schema { resource, ..schema };
            schema.replace_schemas(&mut |id| moved.get(id));
            part.schemas.push(schema);
        }
        (part, moved)
    }
}
