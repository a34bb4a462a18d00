//! What is found in a small contract, and that the file says it.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{config::Config, load::Sources};

const API: &str = r#"
openapi: 3.1.0
info: { title: Fleet, version: '1' }
servers: [{ url: 'https://fleet.example' }]
paths:
  /ships:
    post:
      operationId: addShip
      tags: [ships]
      parameters: [{ name: Idempotency-Key, in: header, required: true, schema: { type: string } }, { name: Vendor-Request-Id, in: header, description: For idempotent requests., schema: { type: string } }, { name: DPoP, in: header, schema: { type: string } }]
      requestBody: { content: { application/json: { schema: { $ref: '#/components/schemas/Login' } } } }
      responses: { '200': { description: '', content: { application/json: { schema: { $ref: '#/components/schemas/Event' } } } } }
  /name:
    put:
      operationId: nameShip
      parameters: [{ name: Authorization, in: header, schema: { type: string } }]
      requestBody: { content: { text/größe: {} } }
      responses: { '204': { description: '' } }
components:
  schemas:
    Login:
      type: object
      properties:
        password: { type: string }
        pin: { type: string, format: password }
        handle: { type: string, pattern: '^(?!x)' }
        seed: { $ref: '#/components/schemas/Seed' }
        proof: { type: string, description: Keep this secret. }
        other: { $ref: 'https://vendor.example/v1/other.json#/a' }
        another: { $ref: 'https://vendor.example/v1/other.json#/b' }
        nextPageToken: { type: string }
        token: { type: string, enum: [a, b] }
        size: { type: integer }
        width: { type: integer, minimum: 0, maximum: 9 }
    Seed: { type: string, writeOnly: true }
    Cargo: { type: object, discriminator: { propertyName: kind }, properties: { kind: { type: string } } }
    Ore: { allOf: [{ $ref: '#/components/schemas/Cargo' }], properties: { grade: { type: string } } }
    Event:
      oneOf:
        - { type: object, required: [kind], properties: { kind: { const: a } } }
        - { type: object, required: [kind], properties: { kind: { const: b } } }
"#;

fn look() -> Findings {
    let mut project = Project::default();
    project.config.types.unsupported = Some(Unsupported::Keep);
    project.config.client.skip_unsupported = Some(true);
    let contract = project.understand(Sources::from_texts(&[("api.yaml", "", API)]).unwrap());
    let contract = contract.unwrap_or_else(|problems| panic!("{problems}"));
    found(&project, &contract).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn what_an_owner_may_decide_is_found() {
    let found = look();
    let login = "#/components/schemas/Login/properties";
    let secrets: Vec<&str> = found.secrets.iter().map(|(selector, _)| selector.as_str()).collect();
    assert_eq!(
        secrets,
        [
            &format!("{login}/password"),
            &format!("{login}/pin"),
            &format!("{login}/proof"),
            "#/components/schemas/Seed"
        ]
    );
    assert_eq!(found.unanswered, ["https://vendor.example/v1/other.json"]);
    assert_eq!(found.unbounded, [format!("{login}/size")]);
    assert_eq!(found.families, [("#/components/schemas/Cargo".to_owned(), 1)]);
    assert_eq!(found.patterns, [(format!("{login}/handle"), "^(?!x)".to_owned())]);
    assert_eq!(
        (found.idempotency, found.transport),
        (vec!["Idempotency-Key".to_owned(), "Vendor-Request-Id".to_owned()], vec!["DPoP".to_owned()])
    );
    assert_eq!(found.operations, 2);
    let refused =
        "`nameShip` has no method in the client: `text/größe` is no media type that a client can send";
    assert_eq!(found.refused, [refused]);
    assert!(found.diagnostics.iter().any(|each| each.message == refused), "{}", found.diagnostics);
    assert_eq!(found.servers, ["https://fleet.example"]);
    let [(tag, types)] = found.tags.as_slice() else { panic!("{:?}", found.tags) };
    assert!(tag == "ships" && *types >= 3, "{types}");
}

#[test]
fn the_file_is_valid_with_and_without_its_comments() {
    let text = codegen_toml(&look(), &["api.yaml".to_owned()]);
    let config: Config = toml::from_str(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(config.inputs, [PathBuf::from("api.yaml")]);
    assert_eq!(config.types.unchecked, ["#/components/schemas/Login/properties/handle"]);
    // Each option that stands as a comment is one that there is.
    let options = |line: &str| {
        let name = line.split([' ', '=']).next().unwrap_or_default();
        line.contains(" = ") && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    };
    let mut awake = String::new();
    for line in text.lines() {
        let inner = line.strip_prefix("# ").unwrap_or(line);
        let list = inner.starts_with("    \"") || inner == "]";
        let wake = options(inner) || list || inner.starts_with('[');
        awake.push_str(if wake { inner } else { line });
        awake.push('\n');
    }
    let awake = awake.replace("[names]\n# \"", "[names]\n\"").replace("[replace]\n# \"", "[replace]\n\"");
    let config: Config = toml::from_str(&awake).unwrap_or_else(|e| panic!("{e}\n{awake}"));
    assert_eq!((config.secrets.len(), config.open.len(), config.areas.len()), (4, 0, 1));
    assert_eq!(config.mounts["https://vendor.example/v1/"], PathBuf::from("vendor"));
    assert_eq!(config.operations.idempotency_header.as_deref(), Some("Idempotency-Key"));
    assert_eq!((config.names.len(), config.replace.len()), (1, 1), "{awake}");
}
