//! The names that schemas have in the documents that others are asked with.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use heck::ToPascalCase;

use super::schemas::mentioned;
use crate::{
    api::{Api, Operation},
    reading::Reading,
    schema::{Graph, Origin, SchemaId},
    shape::TypeRef,
};

/// Every schema that has a name, or is referred to, or stands by itself in an operation.
#[derive(Debug)]
pub(super) struct Names(BTreeMap<SchemaId, String>);

impl Names {
    /// Names as Rust types have them.
    pub(super) fn of(graph: &Graph, api: &Api) -> Self {
        Self::spelled(graph, api, &|_| None)
    }

    /// Those of the contract where a component can have them, else those of the types.
    pub(super) fn as_written(contract: &Reading) -> Self {
        let Reading { graph, shapes, .. } = contract;
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        Self::spelled(graph, &contract.api, &|id| match &graph.schema(id).origin {
            Origin::Component(name) => Some(name.clone()).filter(|name| name.chars().all(is_legal)),
            Origin::Inline => match shapes.of(id) {
                TypeRef::Named(ty) => Some(shapes.get(*ty).name.clone()),
                _ => None,
            },
            Origin::Root(_) | Origin::Definition(_) => None,
        })
    }

    fn spelled(graph: &Graph, api: &Api, own: &dyn Fn(SchemaId) -> Option<String>) -> Self {
        let mut ids: BTreeSet<SchemaId> = BTreeSet::new();
        for id in graph.ids() {
            let schema = graph.schema(id);
            if schema.origin != Origin::Inline {
                ids.insert(id);
            }
            ids.extend(schema.reference);
            ids.extend(schema.dynamic_reference.as_ref().map(|dynamic| dynamic.initial));
            ids.extend(schema.discriminator.iter().flat_map(|each| &each.mapping).map(|(_, id)| *id));
        }
        ids.extend(mentioned(graph));
        let bare = |id: &SchemaId| graph.schema(*id).reference.is_none();
        ids.extend(api.operations.iter().chain(&api.webhooks).flat_map(roots).filter(bare));
        let mut taken = BTreeSet::new();
        // The last number of each name, so that thousands of one name are not counted anew each time.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut name = |id: SchemaId| {
            let schema = graph.schema(id);
            let words = match &schema.origin {
                Origin::Root(name) | Origin::Definition(name) | Origin::Component(name) => name.as_str(),
                Origin::Inline => {
                    schema.place.pointer.rsplit('/').find(|word| *word != "schema").unwrap_or("")
                }
            };
            let plain: String = words.chars().filter(char::is_ascii).collect();
            let plain = plain.to_pascal_case();
            let base = if let Some(own) = own(id) {
                own
            } else if plain.starts_with(|first: char| first.is_ascii_alphabetic()) {
                plain
            } else {
                format!("X{plain}")
            };
            let number = numbers.entry(base.to_lowercase()).or_insert(1);
            let mut name = base.clone();
            while !taken.insert(name.to_lowercase()) {
                *number += 1;
                name = format!("{base}{number}");
            }
            (id, name)
        };
        // What has a name keeps it.
        let (inline, named): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| graph.schema(*id).origin == Origin::Inline);
        Self(named.into_iter().chain(inline).map(&mut name).collect())
    }

    /// Each schema with its name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (SchemaId, &str)> {
        self.0.iter().map(|(id, name)| (*id, name.as_str()))
    }

    pub(super) fn get(&self, id: SchemaId) -> &str {
        self.0.get(&id).map_or("", String::as_str)
    }
}

fn roots(operation: &Operation) -> Vec<SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let body = operation.request_body.iter().flat_map(|body| &body.content).map(|media| media.schema);
    let responses = || operation.responses.iter();
    let answers = responses().flat_map(|response| &response.content).map(|media| media.schema);
    let headers = responses().flat_map(|response| &response.headers).map(|header| header.schema);
    parameters.chain(body).chain(answers).chain(headers).flatten().collect()
}
