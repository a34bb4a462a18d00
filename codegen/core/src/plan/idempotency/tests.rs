//! Tests that the option `operations.idempotency-header` determines which operations take an idempotency key.

#![allow(clippy::unwrap_used)]

use crate::{
    config::ConfigFile,
    generate::Project,
    load::Sources,
    plan::{OperationSide, RetrySafety},
};

const SHOP: &str = r"
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /required:
    post:
      operationId: required
      parameters: [{ name: Idempotency-Key, in: header, required: true, schema: { type: string } }]
      responses: { '204': { description: '' } }
  /optional:
    post:
      operationId: optional
      parameters: [{ name: idempotency-key, in: header, schema: { type: string } }]
      responses: { '204': { description: '' } }
    put:
      operationId: replace
      parameters: [{ name: Idempotency-Key, in: header, schema: { type: string } }]
      responses: { '204': { description: '' } }
  /undeclared:
    post: { operationId: undeclared, responses: { '204': { description: '' } } }
    get: { operationId: read, responses: { '204': { description: '' } } }
webhooks:
  sold:
    post: { operationId: sold, responses: { '204': { description: '' } } }
  bought:
    post:
      operationId: bought
      parameters: [{ name: Idempotency-Key, in: header, schema: { type: string } }]
      responses: { '204': { description: '' } }
";

/// Returns the operations that take a key under this option, each with `?` if the client generates the key,
/// or the error messages.
fn plan(option: &str) -> Result<Vec<String>, String> {
    let mut project = Project::default();
    let text = format!("[operations]\nidempotency-header = {option}\n");
    project.config = toml::from_str(&text).unwrap();
    project.config.file = Some(ConfigFile { name: "codegen.toml".to_owned(), text: text.as_str().into() });
    let sources = Sources::from_texts(&[("api.yaml", "", SHOP)]).unwrap();
    let contract = project.analyze_sources(sources).map_err(|problems| {
        let messages = problems.iter().map(|each| {
            let span =
                each.place.as_ref().map(|place| &text[place.span.start as usize..place.span.end as usize]);
            format!("{} at {}", each.message, span.unwrap_or_default())
        });
        messages.collect::<Vec<_>>().join("; ")
    })?;
    let plan = project.operation_plan(&contract, OperationSide::Paths);
    let keyed = plan.calls.iter().filter(|call| call.retry == RetrySafety::Keyed);
    Ok(keyed
        .map(|call| {
            let added = call.parameters.iter().any(|each| each.row.idempotency_key);
            assert_eq!(call.requires_key, !added, "{}", call.operation.id);
            format!("{}{}", call.operation.id, if added { "?" } else { "" })
        })
        .collect())
}

#[test]
fn declared_headers_make_calls_repeatable() {
    assert_eq!(plan("'Idempotency-Key'").unwrap(), ["required", "optional?"]);
}

#[test]
fn selected_operations_get_the_header() {
    let selected =
        |operations: &str| plan(&format!("{{ name = 'Idempotency-Key', operations = [{operations}] }}"));
    assert_eq!(selected("{ path = '/**' }").unwrap(), ["required", "optional?", "undeclared?"]);
    assert_eq!(selected("{ operation = 'undeclared' }").unwrap(), ["undeclared?"]);
    let declared_by_webhook = selected("{ operation = 'undeclared' }, { webhook = 'bought' }");
    assert_eq!(declared_by_webhook.unwrap(), ["undeclared?"]);
    for (operations, expect) in [
        ("{ operation = 'read' }", "the selected operations are idempotent without a key at 'read'"),
        ("{ path = '/**' }, { operation = 'read' }", "idempotent without a key at 'read'"),
        (
            "{ webhook = 'sold' }",
            "it selects only webhooks, and the header is added only to operations of `paths` at 'sold'",
        ),
        ("{ path = '/**' }, { operation = 'sold' }", "it selects only webhooks"),
        ("", "`operations` is empty at 'Idempotency-Key'"),
        ("{ operation = 'nothing' }", "no operation is called `nothing`"),
    ] {
        let error = selected(operations).unwrap_err();
        assert!(error.contains(expect), "{error}");
    }
}

#[test]
fn headers_without_effect_are_rejected() {
    let error = plan("'X-Key'").unwrap_err();
    assert!(error.contains("no operation has this header parameter"), "{error}");
    let error = plan("'X Key'").unwrap_err();
    assert!(error.contains("is not a valid header name"), "{error}");
}
