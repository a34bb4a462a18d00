//! Names for the schemas in the documents that the other generators receive.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::{OpenApiDocument, Operation},
    schema::{SchemaGraph, SchemaId, SchemaOrigin},
    shape::TypeRef,
};
use heck::ToPascalCase;

use super::schemas::mentioned;

/// Names of all schemas that are named, referenced or used directly by an operation.
#[derive(Debug)]
pub struct Names(BTreeMap<SchemaId, String>);

impl Names {
    /// Names schemas like their Rust types.
    pub fn of(graph: &SchemaGraph, api: &OpenApiDocument) -> Self {
        Self::spelled(graph, api, &|_| None)
    }

    /// Names schemas as in the contract where a component allows the name, otherwise like their Rust types.
    pub fn as_written(contract: &AnalyzedContract) -> Self {
        let AnalyzedContract { graph, shapes, .. } = contract;
        let is_legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        Self::spelled(graph, &contract.api, &|id| match &graph.schema(id).origin {
            SchemaOrigin::Component(name) => Some(name.clone()).filter(|name| name.chars().all(is_legal)),
            SchemaOrigin::Inline => match shapes.type_of_schema(id) {
                TypeRef::Named(ty) => Some(shapes.get(*ty).name.clone()),
                _ => None,
            },
            SchemaOrigin::Root(_) | SchemaOrigin::Definition(_) => None,
        })
    }

    fn spelled(graph: &SchemaGraph, api: &OpenApiDocument, own: &dyn Fn(SchemaId) -> Option<String>) -> Self {
        let mut ids: BTreeSet<SchemaId> = BTreeSet::new();
        for id in graph.ids() {
            let schema = graph.schema(id);
            if schema.origin != SchemaOrigin::Inline {
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
        // The last number used for each name, so that many schemas of one name take linear time.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut name = |id: SchemaId| {
            let schema = graph.schema(id);
            let words = match &schema.origin {
                SchemaOrigin::Root(name) | SchemaOrigin::Definition(name) | SchemaOrigin::Component(name) => {
                    name.as_str()
                }
                SchemaOrigin::Inline => {
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
        // Named schemas come first, so that they keep their names.
        let (inline, named): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| graph.schema(*id).origin == SchemaOrigin::Inline);
        Self(named.into_iter().chain(inline).map(&mut name).collect())
    }

    /// Returns each schema with its name.
    pub fn iter(&self) -> impl Iterator<Item = (SchemaId, &str)> {
        self.0.iter().map(|(id, name)| (*id, name.as_str()))
    }

    pub fn get(&self, id: SchemaId) -> &str {
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
