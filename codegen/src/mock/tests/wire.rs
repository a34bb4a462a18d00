//! Tests of lists and nested values in queries and forms.

use super::*;

const SHOP: &str = r"
paths:
  /orders:
    get:
      parameters:
        - { name: expand, in: query, style: deepObject, schema: { type: array, items: { enum: [a, b] } } }
      responses: { '204': { description: '' } }
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            encoding: { items: { style: deepObject } }
            schema:
              type: object
              properties:
                items: { type: array, items: { type: object, properties: { quantity: { type: integer } } } }
                owner: { type: object, properties: { age: { type: integer } } }
      responses: { '204': { description: '' } }
";

#[test]
fn bracketed_names_are_validated() {
    let mock = mock_of(&api(SHOP));
    assert_eq!(send(&mock, "GET /orders?expand[]=a&expand[]=b", &[], "").status(), 204);
    assert_rejected(&mock, "GET /orders?expand[]=a&expand[]=c", &[], "", 400, &["query /expand/1 enum"]);
    let form = ["content-type: application/x-www-form-urlencoded"];
    let valid = "items[0][quantity]=1&items[1][quantity]=2&owner=%7B%22age%22:3%7D";
    assert_eq!(send(&mock, "POST /orders", &form, valid).status(), 204);
    let invalid = "items[0][quantity]=1&items[1][quantity]=x";
    assert_rejected(&mock, "POST /orders", &form, invalid, 400, &["body /items/1/quantity type"]);
}

#[test]
fn options_apply_to_mock_servers() {
    let sources = Sources::from_texts(&[("api.yaml", "https://a.example/api.yaml", &api(SHOP))]).unwrap();
    let mut project = Project::default();
    project.config.wire.nested = Some(contract_codegen_core::config::NestedSetting::Brackets);
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let mock = MockServer::new(project, contract, 0);
    let form = ["content-type: application/x-www-form-urlencoded"];
    assert_eq!(send(&mock, "POST /orders", &form, "owner[age]=3").status(), 204);
    assert_rejected(&mock, "POST /orders", &form, "owner[age]=x", 400, &["body /owner/age type"]);
}
