//! Descriptions next to references.

use super::*;

/// The first `description` in a chain of references takes precedence (OpenAPI 3.1, 4.8.23). In OpenAPI 3.0, a
/// `description` next to a reference is ignored (4.7.23).
#[test]
fn descriptions_of_references_take_precedence() {
    const COMPONENTS: &str = "components:
  parameters:
    A: {name: a, in: query, schema: {type: string}, description: shared}
    Chain: {$ref: '#/components/parameters/Own'}
    Own: {$ref: '#/components/parameters/B', description: own}
    B: {name: b, in: query, schema: {type: string}, description: shared}
  requestBodies: {A: {content: {a/b: {}}, description: shared}}
  responses: {A: {description: shared}}
  headers: {A: {schema: {type: string}, description: shared}}
";
    for (version, sibling, expect, chained_description) in [
        ("3.1.0", ", description: own", "own", "own"),
        ("3.2.0", ", description: own", "own", "own"),
        ("3.1.0", "", "shared", "own"),
        ("3.0.3", ", description: own", "shared", "shared"),
    ] {
        let reference_to = |kind: &str| format!("{{$ref: '#/components/{kind}/A'{sibling}}}");
        let text = format!(
            "openapi: {version}
info: {{title: T, version: '1'}}
paths:
  /a:
    post:
      parameters: [{}, {{$ref: '#/components/parameters/Chain'}}]
      requestBody: {}
      responses:
        '200': {}
        '201': {{description: x, headers: {{H: {}}}}}
{COMPONENTS}",
            reference_to("parameters"),
            reference_to("requestBodies"),
            reference_to("responses"),
            reference_to("headers"),
        );
        let (_, apis, _) = resolve_files(&[("api.yaml", &text)]);
        let operation = &apis[0].operations[0];
        let [first, second] = operation.parameters.as_slice() else { panic!("{version}") };
        let body = operation.request_body.as_ref().unwrap();
        let header = &operation.responses[1].headers[0];
        for description in [&first.description, &body.description, &header.description] {
            assert_eq!(description.as_deref(), Some(expect), "{version} {sibling}");
        }
        assert_eq!(operation.responses[0].description, expect, "{version} {sibling}");
        assert_eq!(second.description.as_deref(), Some(chained_description), "{version} {sibling}");
    }
}
