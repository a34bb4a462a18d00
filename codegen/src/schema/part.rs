//! A part of a graph: the schemas that are left, numbered anew, once.

use std::collections::{BTreeMap, BTreeSet};

use super::{Contains, Discriminator, DynamicReference, Graph, Resource, Schema, SchemaId};
use crate::arena::{Arena, ById};

/// Where each schema of a graph stands in a part of it.
#[derive(Clone, Debug)]
pub(crate) struct Moved(ById<Schema, Option<SchemaId>>);

impl Moved {
    /// Its id in the part; `None` when it was left out.
    pub(crate) fn get(&self, id: SchemaId) -> Option<SchemaId> {
        self.0[id]
    }

    /// The members of a set that are left.
    pub(crate) fn set(&self, ids: BTreeSet<SchemaId>) -> BTreeSet<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    /// What a map says about the schemas that are left.
    pub(crate) fn keys<V>(&self, map: BTreeMap<SchemaId, V>) -> BTreeMap<SchemaId, V> {
        map.into_iter().filter_map(|(id, value)| Some((self.get(id)?, value))).collect()
    }

    /// The members of a list that are left.
    pub(crate) fn list(&self, ids: Vec<SchemaId>) -> Vec<SchemaId> {
        ids.into_iter().filter_map(|id| self.get(id)).collect()
    }

    fn named(&self, members: &mut Vec<(String, SchemaId)>) {
        members.retain_mut(|(_, id)| self.get(*id).map(|left| *id = left).is_some());
    }

    /// What an optional id is in the part.
    pub(crate) fn one(&self, id: &mut Option<SchemaId>) {
        *id = id.and_then(|id| self.get(id));
    }

    /// No `..`: whoever adds a keyword decides here whether it names schemas.
    fn schema(&self, mut schema: Schema) -> Schema {
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
            self.one(id);
        }
        for list in [prefix_items, all_of, any_of, one_of] {
            *list = self.list(std::mem::take(list));
        }
        for members in [definitions, properties, pattern_properties, dependent_schemas] {
            self.named(members);
        }
        if let Some(Discriminator { tag: _, mapping, default, family }) = discriminator {
            self.named(mapping);
            self.one(default);
            *family = self.list(std::mem::take(family));
        }
        *contains = contains.take().and_then(|c| Some(Contains { schema: self.get(c.schema)?, ..c }));
        *dynamic_reference = dynamic_reference
            .take()
            .and_then(|d| Some(DynamicReference { initial: self.get(d.initial)?, ..d }));
        schema
    }
}

impl Graph {
    /// The graph of these schemas alone, in the same order, and where each of them stands there.
    ///
    /// All that one of them applies has to be among them.
    pub(crate) fn keep(self, kept: &BTreeSet<SchemaId>) -> (Self, Moved) {
        let mut left = Arena::<Schema>::first_ids(kept.len());
        let moved = Moved(self.schemas.map(|id| kept.contains(&id).then(|| left.next()).flatten()));
        let holds = self.resources.map(|_| false);
        let holds = kept.iter().fold(holds, |mut holds, id| {
            holds[self.schemas[*id].resource] = true;
            holds
        });
        let mut part = Self::default();
        let mut resources = self.resources.map(|_| None);
        for (id, resource) in self.resources.ids().zip(self.resources).filter(|(id, _)| holds[*id]) {
            let Resource { uri, source, mut root, mut dynamic_anchors } = resource;
            moved.one(&mut root);
            moved.named(&mut dynamic_anchors);
            resources[id] = Some(part.resources.push(Resource { uri, source, root, dynamic_anchors }));
        }
        for (id, schema) in self.schemas.ids().zip(self.schemas).filter(|(id, _)| kept.contains(id)) {
            debug_assert!(
                schema.children().all(|child| kept.contains(&child)),
                "{id:?} applies what is gone"
            );
            let resource = resources[schema.resource].unwrap_or_default();
            part.schemas.push(Schema { resource, ..moved.schema(schema) });
        }
        (part, moved)
    }
}
