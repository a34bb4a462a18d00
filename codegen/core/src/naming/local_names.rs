//! The local names of anonymous schemas. A local name is the name of the innermost property or parameter that
//! contains the schema, without the enclosing schemas and operations. Only schemas with the same local name
//! can share a type.

use std::collections::HashMap;

use crate::{
    api::OpenApiDocument,
    schema::{ResourceId, SchemaGraph, SchemaId},
};

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

    /// Returns the local name of a schema, followed by the path from there to the schema. If no property or
    /// parameter contains the schema, returns its whole location.
    pub(super) fn key(&self, graph: &SchemaGraph, id: SchemaId) -> String {
        let schema = graph.schema(id);
        if let Some((_, rest)) = schema.location.rsplit_once("/properties/") {
            return rest.to_owned();
        }
        let parts = schema.location.match_indices('/').map(|(at, _)| at).chain([schema.location.len()]);
        for end in parts {
            let place = (schema.resource, schema.location[..end].to_owned());
            if let Some(name) = self.parameters.get(&place) {
                return format!("{name}{}", &schema.location[end..]);
            }
        }
        format!("{:?}{}", schema.resource, schema.location)
    }
}
