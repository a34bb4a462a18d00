//! Decides which fields of error responses the messages of errors show, according to the selectors in
//! `client.shown`. Names without `#` apply to all error responses and need no plan.

use std::collections::BTreeSet;

use contract_runtime::media_type::MediaType;

use super::unused_names::may_refuse;
use crate::{
    api::{Operation, StatusPattern},
    schema::{SchemaGraph, SchemaId},
};

/// The fields of one error response that messages show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShownFields<'a> {
    /// The `operationId`.
    pub operation: &'a str,
    pub status: StatusPattern,
    /// The names of the properties, in the order of the contract.
    pub names: Vec<&'a str>,
}

/// Returns true if an entry of `client.shown` is a selector of schemas, and false if it is the name of a property.
pub(crate) fn is_selector(entry: &str) -> bool {
    entry.contains('#')
}

/// Returns the fields of the error responses of `operations` whose schemas are selected.
pub(super) fn find_shown_fields<'a>(
    graph: &'a SchemaGraph,
    operations: impl Iterator<Item = &'a Operation>,
    selected: &BTreeSet<SchemaId>,
) -> Vec<ShownFields<'a>> {
    let mut found = Vec::new();
    if selected.is_empty() {
        return found;
    }
    for operation in operations {
        for response in operation.responses.iter().filter(|response| may_refuse(response.status)) {
            let bodies = response.content.iter().filter(|media| MediaType::parse(&media.name).is_json());
            let mut search = FieldSearch { graph, selected, seen: BTreeSet::new(), names: Vec::new() };
            bodies.filter_map(|media| media.schema).for_each(|schema| search.visit_value(schema));
            if !search.names.is_empty() {
                let (operation, status) = (operation.id.as_str(), response.status);
                found.push(ShownFields { operation, status, names: search.names });
            }
        }
    }
    found
}

/// A search for the selected properties of one value.
struct FieldSearch<'a, 's> {
    graph: &'a SchemaGraph,
    selected: &'s BTreeSet<SchemaId>,
    seen: BTreeSet<SchemaId>,
    names: Vec<&'a str>,
}

impl FieldSearch<'_, '_> {
    /// Visits all schemas that apply to the value itself.
    fn visit_value(&mut self, id: SchemaId) {
        if !self.seen.insert(id) {
            return;
        }
        let schema = self.graph.schema(id);
        for (name, property) in &schema.properties {
            if !self.names.contains(&name.as_str()) && self.is_selected(*property, &mut BTreeSet::new()) {
                self.names.push(name);
            }
        }
        let conditional = [schema.condition, schema.then, schema.otherwise].into_iter().flatten();
        let dependent = schema.dependent_schemas.iter().map(|(_, step)| *step);
        let parts = schema.all_of.iter().chain(&schema.any_of).chain(&schema.one_of).chain(&schema.reference);
        conditional.chain(dependent).chain(parts.copied()).for_each(|step| self.visit_value(step));
    }

    /// Returns true if the schema of a property, or a schema that it includes, is selected.
    fn is_selected(&self, id: SchemaId, seen: &mut BTreeSet<SchemaId>) -> bool {
        let schema = self.graph.schema(id);
        let mut parts = schema.reference.iter().chain(&schema.all_of);
        seen.insert(id) && (self.selected.contains(&id) || parts.any(|part| self.is_selected(*part, seen)))
    }
}
