//! Relaxes properties that only requests or only responses require (`writeOnly`, `readOnly`) in OpenAPI 3.0.
//! A schema has one type for both directions. Such a property is therefore optional if the schema is used in
//! the other direction.

use std::collections::BTreeSet;

use crate::{
    api::{MediaType, OpenApiDocument, Operation},
    diagnostics::{Diagnostic, Diagnostics},
    directions::{
        Direction::{self, Request, Response},
        OneWayProperties, transitive_closure,
    },
    schema::{SchemaGraph, SchemaId},
    tree::SourceId,
};

/// A property that a schema requires: the schema and the name.
type RequiredMember = (SchemaId, String);

/// Removes a property from `required` if the schema is used in a direction in which the property is never
/// sent. The field of the property is then optional. A note reports the properties of schemas that both
/// directions use.
pub(super) fn relax_one_way_members(
    graph: &mut SchemaGraph,
    api: &OpenApiDocument,
    is_old: impl Fn(SourceId) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let one_way = OneWayProperties::from_graph(graph, is_old);
    if one_way.requirements_by_schema().next().is_none() {
        return;
    }
    let (requests, answers) =
        (reachable_schemas(graph, api, Request), reachable_schemas(graph, api, Response));
    // A schema that no operation uses is treated as if both directions used it.
    let goes = |id: SchemaId, direction| {
        let (own, other) = if direction == Request { (&requests, &answers) } else { (&answers, &requests) };
        own.contains(&id) || !other.contains(&id)
    };
    let is_reached = |id: &SchemaId| requests.contains(id) || answers.contains(id);
    let (mut enforced, mut waived) = (BTreeSet::<RequiredMember>::new(), BTreeSet::<RequiredMember>::new());
    for (whole, requirements) in one_way.requirements_by_schema() {
        // A `required` in a schema that no operation uses does not affect schemas that operations use.
        let counts = |by: &SchemaId| is_reached(&whole) || !is_reached(by);
        for requirement in requirements.iter().filter(|requirement| counts(&requirement.required_by)) {
            let member = || (requirement.required_by, requirement.name.clone());
            if goes(whole, requirement.direction.opposite()) {
                enforced.insert(member());
            }
            if goes(whole, requirement.direction) {
                waived.insert(member());
            }
        }
    }
    for (id, name) in &enforced {
        let schema = &mut graph.schemas[*id];
        schema.required.retain(|other| other != name);
        schema.one_way.push(name.clone());
    }
    report_relaxed(graph, enforced.intersection(&waived), diagnostics);
}

fn report_relaxed<'a>(
    graph: &SchemaGraph,
    lost: impl Iterator<Item = &'a RequiredMember>,
    diagnostics: &mut Diagnostics,
) {
    let lost: Vec<&RequiredMember> = lost.collect();
    let Some((first, name)) = lost.first() else { return };
    let what = match lost.len() {
        1 => format!("`{name}` is `required` in one direction only (`readOnly`, `writeOnly`): it"),
        count => {
            format!("{count} properties are `required` in one direction only (`readOnly`, `writeOnly`): each")
        }
    };
    let message = format!("{what} is optional in the type that both directions share");
    let help =
        "to make it required, use separate schemas for requests and responses (OpenAPI 3.0.3, 4.7.24.2)";
    diagnostics
        .push(Diagnostic::note("one-way", message).with_place(graph.schema(*first).place.clone()).help(help));
}

/// Returns all schemas that are reachable from the requests of all operations or, depending on `direction`,
/// from their responses.
fn reachable_schemas(graph: &SchemaGraph, api: &OpenApiDocument, direction: Direction) -> BTreeSet<SchemaId> {
    let mut roots = Vec::new();
    for operation in &api.operations {
        roots.extend(if direction == Request {
            request_schemas(operation)
        } else {
            response_schemas(operation)
        });
    }
    // A webhook request is sent by the service, so it is treated as a response.
    for operation in &api.webhooks {
        roots.extend(if direction == Request {
            response_schemas(operation)
        } else {
            request_schemas(operation)
        });
    }
    transitive_closure(roots, |id, waiting| waiting.extend(graph.schema(id).child_schemas()))
}

fn request_schemas(operation: &Operation) -> Vec<SchemaId> {
    let bodies = operation.request_body.iter().flat_map(|body| &body.content);
    let parameters = operation.parameters.iter().filter_map(|parameter| parameter.schema);
    parameters.chain(bodies.flat_map(MediaType::schema_ids)).collect()
}

fn response_schemas(operation: &Operation) -> Vec<SchemaId> {
    let headers = operation.responses.iter().flat_map(|response| &response.headers);
    let bodies = operation.responses.iter().flat_map(|response| &response.content);
    headers.filter_map(|header| header.schema).chain(bodies.flat_map(MediaType::schema_ids)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources};

    /// Analyzes an API with a request body of the schema `request` and a response of the schema `response`.
    /// Returns the optional fields of all structs, sorted, and the number of notes about relaxed properties.
    fn optional_fields(version: &str, schemas: &str, request: &str, response: &str) -> (String, usize) {
        let content = |name: &str| {
            format!(
                "content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/{name}' }} }} }}"
            )
        };
        let document = format!(
            "openapi: {version}
info: {{ title: T, version: '1' }}
paths:
  /a:
    post:
      requestBody: {{ required: true, {} }}
      responses: {{ '200': {{ description: '', {} }} }}
components: {{ schemas: {{ Plain: {{ type: object }}, {schemas} }} }}
",
            content(request),
            content(response),
        );
        let sources = Sources::from_texts(&[("api.yaml", "", &document)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let notes = contract.diagnostics.iter().filter(|each| each.code == "one-way").count();
        let mut fields = Vec::new();
        for id in contract.shapes.ids() {
            let def = contract.shapes.get(id);
            if let crate::shape::TypeBody::Struct(body) = &def.body {
                let optional = body.fields.iter().filter(|field| !field.required);
                fields.extend(optional.map(|field| format!("{}.{}", def.name, field.wire)));
            }
        }
        fields.sort();
        (fields.join(" "), notes)
    }

    const USER: &str = "User: { type: object, required: [id, name, password], properties: {
        id: { type: integer, readOnly: true }, name: { type: string }, password: { type: string, writeOnly: true } } }";

    /// In OpenAPI 3.0, a required `readOnly` property is optional if requests use the schema, and a required
    /// `writeOnly` property if responses use it (3.0.3, 4.7.24.2).
    #[test]
    fn each_direction_requires_only_its_own_properties() {
        let check = |request: &str, response: &str, expected: &str, notes: usize| {
            let found = optional_fields("3.0.3", USER, request, response);
            assert_eq!(found, (expected.to_owned(), notes), "{request} {response}");
        };
        check("User", "User", "User.id User.password", 1);
        check("User", "Plain", "User.id", 0);
        check("Plain", "User", "User.password", 0);
        // If no operation uses the schema, both properties are optional.
        check("Plain", "Plain", "User.id User.password", 1);
        // In OpenAPI 3.1 and later, `readOnly` and `writeOnly` are annotations, so that required properties
        // stay required.
        for version in ["3.1.0", "3.2.0"] {
            assert_eq!(optional_fields(version, USER, "User", "User"), (String::new(), 0), "{version}");
        }
    }

    /// A required `readOnly` property is also optional in requests if `readOnly` is in the target of a
    /// `$ref`, and `required` in another part of an `allOf`.
    #[test]
    fn properties_and_required_may_be_in_different_subschemas() {
        let id = "Id: { type: integer, readOnly: true }, ";
        let base = "Base: { type: object, properties: { id: { $ref: '#/components/schemas/Id' } } }, ";
        let sub = "Sub: { allOf: [{ $ref: '#/components/schemas/Base' }, { required: [id] }] }";
        let parts = format!("{id}{base}{sub}");
        assert_eq!(optional_fields("3.0.3", &parts, "Sub", "Plain").0, "Sub.id");
        assert_eq!(optional_fields("3.0.3", &parts, "Plain", "Sub").0, "");
        // Schemas that no operation uses do not affect those that are used.
        let base =
            "Base: { type: object, required: [id], properties: { id: { type: integer, readOnly: true } } }, ";
        let sub = "Sub: { allOf: [{ $ref: '#/components/schemas/Base' }] }";
        assert_eq!(optional_fields("3.0.3", &format!("{base}{sub}"), "Plain", "Base").0, "");
        assert_eq!(optional_fields("3.0.3", &format!("{base}{sub}"), "Sub", "Plain").0, "Base.id");
        // A property with both `readOnly` and `writeOnly` stays required.
        let both = "Both: { type: object, required: [id], properties: { id: { type: integer, readOnly: true, writeOnly: true } } }";
        assert_eq!(optional_fields("3.0.3", both, "Both", "Both").0, "");
    }

    /// The service sends the request body of a callback. A `writeOnly` property is therefore not required in
    /// it.
    #[test]
    fn callbacks_reverse_the_direction() {
        let document = format!(
            "openapi: 3.0.3
info: {{ title: T, version: '1' }}
paths:
  /a:
    post:
      responses: {{ '204': {{ description: '' }} }}
      callbacks:
        told:
          '{{$request.query.url}}':
            post:
              requestBody: {{ content: {{ application/json: {{ schema: {{ $ref: '#/components/schemas/User' }} }} }} }}
              responses: {{ '204': {{ description: '' }} }}
components: {{ schemas: {{ {USER} }} }}
"
        );
        let sources = Sources::from_texts(&[("api.yaml", "", &document)]).unwrap();
        let contract = Project::default().analyze_sources(sources).unwrap();
        let user = contract.graph.ids().find(|id| !contract.graph.schema(*id).one_way.is_empty()).unwrap();
        assert_eq!(contract.graph.schema(user).one_way, ["password"]);
    }
}
