//! The local names of anonymous schemas. A local name is the name of the innermost property or parameter that
//! contains the schema, without the enclosing schemas and operations. Only schemas with the same local name
//! can share a type.

use std::collections::HashMap;

use crate::{
    api::OpenApiDocument,
    schema::{ResourceId, SchemaGraph, SchemaId},
};

/// The key that schemas must have in common to share a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum LocalKey {
    /// The local name, followed by the path from there to the schema.
    Shared(String),
    /// A schema that no property or parameter contains: it shares its type with no other one.
    Own(SchemaId),
}

/// The names of a contract's parameters, by the resource and location of their schemas.
#[derive(Debug, Default)]
pub(super) struct LocalNames {
    parameters: HashMap<(ResourceId, String), String>,
}

impl LocalNames {
    pub(super) fn from_api(graph: &SchemaGraph, api: &OpenApiDocument) -> Self {
        let operations = api.operations.iter().chain(&api.webhooks);
        let parameters = operations.flat_map(|operation| &operation.parameters).filter_map(|parameter| {
            let schema = graph.schema(parameter.schema?);
            Some(((schema.resource, schema.location.clone()), parameter.name.clone()))
        });
        Self { parameters: parameters.collect() }
    }

    pub(super) fn key(&self, graph: &SchemaGraph, id: SchemaId) -> LocalKey {
        let schema = graph.schema(id);
        if let Some((_, rest)) = schema.location.rsplit_once("/properties/") {
            return LocalKey::Shared(rest.to_owned());
        }
        let parts = schema.location.match_indices('/').map(|(at, _)| at).chain([schema.location.len()]);
        for end in parts {
            let place = (schema.resource, schema.location[..end].to_owned());
            if let Some(name) = self.parameters.get(&place) {
                return LocalKey::Shared(format!("{name}{}", &schema.location[end..]));
            }
        }
        LocalKey::Own(id)
    }
}
