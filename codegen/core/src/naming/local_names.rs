//! The local names of anonymous schemas: the name of the property or parameter, without the enclosing schemas
//! and operations.

use std::collections::HashMap;

use crate::{
    api::OpenApiDocument,
    schema::{ResourceId, SchemaGraph, SchemaId},
};

/// The parameters of a contract, by the location of their schemas.
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

    /// Returns the part of a schema's location that begins with the name of the innermost property or
    /// parameter, or the whole location if there is none.
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
