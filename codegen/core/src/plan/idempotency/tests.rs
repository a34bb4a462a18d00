//! Tests that the option `operations.idempotency-header` determines which operations take an idempotency key.

#![allow(clippy::unwrap_used)]

use crate::{
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
";

/// Returns the operations that take a key under this option, each with `?` if the client generates the key,
/// or the error messages.
fn plan(option: &str) -> Result<Vec<String>, String> {
    let mut project = Project::default();
    project.config.operations = toml::from_str(&format!("idempotency-header = {option}")).unwrap();
    let sources = Sources::from_texts(&[("api.yaml", "", SHOP)]).unwrap();
    let contract = project.analyze_sources(sources).map_err(|problems| {
        problems.iter().map(|each| each.message.as_str()).collect::<Vec<_>>().join("; ")
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
    for (operations, expect) in [
        ("{ operation = 'read' }", "the selected operations are idempotent without a key"),
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
