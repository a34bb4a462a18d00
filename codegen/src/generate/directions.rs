//! What is asked for in one direction alone, in types: a schema has one type for both, and what one that reaches
//! it does not ask for is optional there.

use std::collections::BTreeSet;

use crate::{
    api::{Api, MediaType, Operation},
    diagnostics::{Diagnostic, Diagnostics},
    directions::{
        Direction::{self, Answer, Request},
        OneWay, closure,
    },
    schema::{Graph, SchemaId},
    tree::SourceId,
};

/// A member that a schema asks for.
type Asked = (SchemaId, String);

/// Takes out of `required` what a direction that reaches the schema is never sent, and says where the other one
/// asks for it.
pub(super) fn settle(
    graph: &mut Graph,
    api: &Api,
    is_old: impl Fn(SourceId) -> bool,
    diagnostics: &mut Diagnostics,
) {
    let one_way = OneWay::of(graph, is_old);
    if one_way.wholes().next().is_none() {
        return;
    }
    let (requests, answers) = (reached(graph, api, Request), reached(graph, api, Answer));
    // What no operation reaches may go either way.
    let goes = |id: SchemaId, direction| {
        let (own, other) = if direction == Request { (&requests, &answers) } else { (&answers, &requests) };
        own.contains(&id) || !other.contains(&id)
    };
    let is_reached = |id: &SchemaId| requests.contains(id) || answers.contains(id);
    let (mut taken, mut lost) = (BTreeSet::<Asked>::new(), BTreeSet::<Asked>::new());
    for (whole, asked) in one_way.wholes() {
        // What is reached is judged where it is reached.
        let counts = |by: &SchemaId| is_reached(&whole) || !is_reached(by);
        for asked in asked.iter().filter(|asked| counts(&asked.by)) {
            let member = || (asked.by, asked.name.clone());
            if goes(whole, asked.direction.other()) {
                taken.insert(member());
            }
            if goes(whole, asked.direction) {
                lost.insert(member());
            }
        }
    }
    for (id, name) in &taken {
        let schema = &mut graph.schemas[*id];
        schema.required.retain(|other| other != name);
        schema.one_way.push(name.clone());
    }
    tell(graph, taken.intersection(&lost), diagnostics);
}

fn tell<'a>(graph: &Graph, lost: impl Iterator<Item = &'a Asked>, diagnostics: &mut Diagnostics) {
    let lost: Vec<&Asked> = lost.collect();
    let Some((first, name)) = lost.first() else { return };
    let what = match lost.len() {
        1 => format!("`{name}` is `required` of one direction alone (`readOnly`, `writeOnly`): it"),
        count => {
            format!("{count} members are `required` of one direction alone (`readOnly`, `writeOnly`): each")
        }
    };
    let message = format!("{what} is optional in both, which have one type");
    let help = "write schemas of their own for requests and for answers to have it asked for (OpenAPI 3.0.3, 4.7.24.2)";
    diagnostics.push(Diagnostic::note("one-way", message).at(graph.schema(*first).place.clone()).help(help));
}

/// Everything that the operations send in a direction.
fn reached(graph: &Graph, api: &Api, direction: Direction) -> BTreeSet<SchemaId> {
    let mut roots = Vec::new();
    for operation in &api.operations {
        roots.extend(if direction == Request { sent(operation) } else { answered(operation) });
    }
    // What the service sends of itself comes from whoever keeps it.
    for operation in &api.webhooks {
        roots.extend(if direction == Request { answered(operation) } else { sent(operation) });
    }
    closure(roots, |id, waiting| waiting.extend(graph.schema(id).children()))
}

fn sent(operation: &Operation) -> Vec<SchemaId> {
    let bodies = operation.request_body.iter().flat_map(|body| &body.content);
    let parameters = operation.parameters.iter().filter_map(|parameter| parameter.schema);
    parameters.chain(bodies.flat_map(MediaType::schemas)).collect()
}

fn answered(operation: &Operation) -> Vec<SchemaId> {
    let headers = operation.responses.iter().flat_map(|response| &response.headers);
    let bodies = operation.responses.iter().flat_map(|response| &response.content);
    headers.filter_map(|header| header.schema).chain(bodies.flat_map(MediaType::schemas)).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::{generate::Project, load::Sources};

    /// An API of a version with schemas, of which one is sent and one answered; its fields that may be left out,
    /// sorted, and the notes.
    fn optional(version: &str, schemas: &str, sent: &str, answered: &str) -> (String, usize) {
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
            content(sent),
            content(answered),
        );
        let sources = Sources::from_texts(&[("api.yaml", "", &document)]).unwrap();
        let contract = Project::default().understand(sources).unwrap();
        let notes = contract.diagnostics.iter().filter(|each| each.code == "one-way").count();
        let mut fields = Vec::new();
        for id in contract.shapes.ids() {
            let def = contract.shapes.get(id);
            if let crate::shape::Body::Struct(body) = &def.body {
                let optional = body.fields.iter().filter(|field| !field.required);
                fields.extend(optional.map(|field| format!("{}.{}", def.name, field.wire)));
            }
        }
        fields.sort();
        (fields.join(" "), notes)
    }

    const USER: &str = "User: { type: object, required: [id, name, password], properties: {
        id: { type: integer, readOnly: true }, name: { type: string }, password: { type: string, writeOnly: true } } }";

    /// OpenAPI 3.0.3, 4.7.24.2: what is asked for in one direction alone.
    #[test]
    fn each_direction_asks_for_what_it_is_sent() {
        let check = |sent: &str, answered: &str, expected: &str, notes: usize| {
            let found = optional("3.0.3", USER, sent, answered);
            assert_eq!(found, (expected.to_owned(), notes), "{sent} {answered}");
        };
        check("User", "User", "User.id User.password", 1);
        check("User", "Plain", "User.id", 0);
        check("Plain", "User", "User.password", 0);
        // Nobody knows which way it goes.
        check("Plain", "Plain", "User.id User.password", 1);
        // Later both words are annotations.
        for version in ["3.1.0", "3.2.0"] {
            assert_eq!(optional(version, USER, "User", "User"), (String::new(), 0), "{version}");
        }
    }

    /// Wherever members and `required` stand together.
    #[test]
    fn members_and_what_asks_for_them_may_stand_in_several_parts() {
        let id = "Id: { type: integer, readOnly: true }, ";
        let base = "Base: { type: object, properties: { id: { $ref: '#/components/schemas/Id' } } }, ";
        let sub = "Sub: { allOf: [{ $ref: '#/components/schemas/Base' }, { required: [id] }] }";
        let parts = format!("{id}{base}{sub}");
        assert_eq!(optional("3.0.3", &parts, "Sub", "Plain").0, "Sub.id");
        assert_eq!(optional("3.0.3", &parts, "Plain", "Sub").0, "");
        // What no operation reaches says nothing of the parts that one does.
        let base =
            "Base: { type: object, required: [id], properties: { id: { type: integer, readOnly: true } } }, ";
        let sub = "Sub: { allOf: [{ $ref: '#/components/schemas/Base' }] }";
        assert_eq!(optional("3.0.3", &format!("{base}{sub}"), "Plain", "Base").0, "");
        assert_eq!(optional("3.0.3", &format!("{base}{sub}"), "Sub", "Plain").0, "Base.id");
        // Both words together say nothing.
        let both = "Both: { type: object, required: [id], properties: { id: { type: integer, readOnly: true, writeOnly: true } } }";
        assert_eq!(optional("3.0.3", both, "Both", "Both").0, "");
    }

    /// A callback goes out, and its answer comes back.
    #[test]
    fn callbacks_go_the_other_way() {
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
        let contract = Project::default().understand(sources).unwrap();
        let user = contract.graph.ids().find(|id| !contract.graph.schema(*id).one_way.is_empty()).unwrap();
        assert_eq!(contract.graph.schema(user).one_way, ["password"]);
    }
}
