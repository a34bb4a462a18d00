//! Names for the schemas of lowered documents.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::{OpenApiDocument, Operation},
    schema::{SchemaGraph, SchemaId, SchemaOrigin},
    shape::TypeRef,
};
use heck::ToPascalCase;

use super::schemas::find_shared_schemas;

/// The component names of schemas in the lowered document. They include the schemas that the contract names
/// or references, and the schemas that operations use directly.
#[derive(Debug)]
pub struct SchemaNames(BTreeMap<SchemaId, String>);

impl SchemaNames {
    /// Derives all names in the style of Rust types, such as `ShipPage` for `ship-page`.
    pub fn from_types(graph: &SchemaGraph, api: &OpenApiDocument) -> Self {
        Self::assign_names(graph, api, &|_| None)
    }

    /// Uses the names of components and types in the contract if OpenAPI 3.0 allows them, and otherwise the
    /// names of [`SchemaNames::from_types`].
    pub fn from_contract(contract: &AnalyzedContract) -> Self {
        let AnalyzedContract { graph, shapes, .. } = contract;
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        Self::assign_names(graph, &contract.api, &|id| match &graph.schema(id).origin {
            SchemaOrigin::Component(name) => Some(name.clone()).filter(|name| name.chars().all(is_allowed)),
            SchemaOrigin::Inline => match shapes.type_of_schema(id) {
                TypeRef::Named(ty) => Some(shapes.get(*ty).name.clone()),
                _ => None,
            },
            SchemaOrigin::Root(_) | SchemaOrigin::Definition(_) => None,
        })
    }

    fn assign_names(
        graph: &SchemaGraph,
        api: &OpenApiDocument,
        preferred_name: &dyn Fn(SchemaId) -> Option<String>,
    ) -> Self {
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
        ids.extend(find_shared_schemas(graph));
        let has_no_reference = |id: &SchemaId| graph.schema(*id).reference.is_none();
        ids.extend(
            api.operations.iter().chain(&api.webhooks).flat_map(operation_schemas).filter(has_no_reference),
        );
        let mut used = BTreeSet::new();
        // The last number that was appended to each name. Without it, numbering many schemas with the same
        // name would take quadratic time.
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let mut assign = |id: SchemaId| {
            let schema = graph.schema(id);
            let source = match &schema.origin {
                SchemaOrigin::Root(name) | SchemaOrigin::Definition(name) | SchemaOrigin::Component(name) => {
                    name.as_str()
                }
                SchemaOrigin::Inline => {
                    schema.place.pointer.rsplit('/').find(|token| *token != "schema").unwrap_or("")
                }
            };
            let ascii: String = source.chars().filter(char::is_ascii).collect();
            let pascal = ascii.to_pascal_case();
            let base = if let Some(preferred) = preferred_name(id) {
                preferred
            } else if pascal.starts_with(|first: char| first.is_ascii_alphabetic()) {
                pascal
            } else {
                format!("X{pascal}")
            };
            let number = numbers.entry(base.to_lowercase()).or_insert(1);
            let mut name = base.clone();
            while !used.insert(name.to_lowercase()) {
                *number += 1;
                name = format!("{base}{number}");
            }
            (id, name)
        };
        // Named schemas are assigned their names first, so that they get no number.
        let (inline, named): (Vec<_>, Vec<_>) =
            ids.into_iter().partition(|id| graph.schema(*id).origin == SchemaOrigin::Inline);
        Self(named.into_iter().chain(inline).map(&mut assign).collect())
    }

    /// Returns each schema with its name.
    pub fn iter(&self) -> impl Iterator<Item = (SchemaId, &str)> {
        self.0.iter().map(|(id, name)| (*id, name.as_str()))
    }

    pub fn get(&self, id: SchemaId) -> &str {
        self.0.get(&id).map_or("", String::as_str)
    }
}

/// Returns the schemas that an operation uses directly.
fn operation_schemas(operation: &Operation) -> Vec<SchemaId> {
    let parameters = operation.parameters.iter().map(|parameter| parameter.schema);
    let request_bodies =
        operation.request_body.iter().flat_map(|body| &body.content).map(|media| media.schema);
    let responses = || operation.responses.iter();
    let bodies = responses().flat_map(|response| &response.content).map(|media| media.schema);
    let headers = responses().flat_map(|response| &response.headers).map(|header| header.schema);
    parameters.chain(request_bodies).chain(bodies).chain(headers).flatten().collect()
}
