//! Tests of the options and warnings of `[wire]`.

#![allow(clippy::unwrap_used)]

use super::*;
use crate::{
    config::{ArraySetting, NestedSetting},
    generate::Project,
    load::Sources,
};

const SHOP: &str = r"
openapi: 3.1.0
info: { title: Shop, version: '1' }
paths:
  /orders:
    get:
      operationId: list
      parameters:
        - { name: expand, in: query, style: deepObject, schema: { type: array, items: { type: string } } }
        - { name: filter, in: query, style: deepObject, schema: { $ref: '#/components/schemas/Flat' } }
        - { name: deep, in: query, style: deepObject, schema: { $ref: '#/components/schemas/Deep' } }
        - { name: since, in: query, style: deepObject, schema: { anyOf: [{ type: integer }, { $ref: '#/components/schemas/Flat' }] } }
        - { name: ids, in: query, schema: { type: array, items: { type: integer } } }
        - { name: color, in: query, schema: { $ref: '#/components/schemas/Flat' } }
        - { name: nested, in: query, schema: { $ref: '#/components/schemas/Deep' } }
        - { name: joined, in: query, explode: false, schema: { type: array, items: { type: integer } } }
        - { name: X-Ids, in: header, schema: { type: array, items: { type: integer } } }
      responses: { '204': { description: '' } }
    post:
      operationId: make
      requestBody:
        content:
          application/x-www-form-urlencoded:
            encoding: { flat: { style: deepObject }, json: { contentType: application/json } }
            schema: { $ref: '#/components/schemas/Form' }
      responses: { '204': { description: '' } }
components:
  schemas:
    Flat: { type: object, properties: { a: { type: integer } } }
    Deep: { type: object, properties: { b: { $ref: '#/components/schemas/Flat' } } }
    Form:
      type: object
      properties:
        flat: { $ref: '#/components/schemas/Flat' }
        plain: { $ref: '#/components/schemas/Flat' }
        json: { $ref: '#/components/schemas/Flat' }
        items: { type: array, items: { $ref: '#/components/schemas/Flat' } }
        tags: { type: array, items: { type: string } }
        text: { type: string }
";

/// Plans a document under changed `[wire]` options. Returns the name and convention of each row that has one,
/// and the messages of the diagnostics.
fn plan(change: impl FnOnce(&mut crate::config::WireConfig)) -> (Vec<String>, Vec<String>) {
    plan_document(SHOP, change)
}

fn plan_document(
    document: &str,
    change: impl FnOnce(&mut crate::config::WireConfig),
) -> (Vec<String>, Vec<String>) {
    let mut project = Project::default();
    change(&mut project.config.wire);
    let sources = Sources::from_texts(&[("api.yaml", "", document)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let plans = project.operation_plans(&contract);
    let mut diagnostics = Diagnostics::new();
    check_wire(project.plan_input(&contract), &project.config, &plans, &mut diagnostics);
    let rows = plans.paths.calls.iter().flat_map(|call| wire_rows(project.plan_input(&contract), call));
    let rows = rows.filter_map(|row| {
        let wire = row.row.wire?;
        Some(format!("{} {:?} {:?}", row.row.name, wire.nested, wire.arrays))
    });
    let messages = diagnostics.iter().map(|each| {
        let pointer = each.place.as_ref().map_or("", |place| place.pointer.as_str());
        format!("{pointer} {}", each.message.split([':', ';']).next().unwrap())
    });
    (rows.collect(), messages.collect())
}

#[test]
fn undefined_encodings_are_reported_once_for_each_kind() {
    let (rows, messages) = plan(|_| {});
    assert!(rows.is_empty(), "{rows:?}");
    assert_eq!(
        messages,
        [
            "/paths/~1orders/get/parameters/0 OpenAPI does not define the encoding of a list with the style `deepObject`",
            "/paths/~1orders/get/parameters/2 OpenAPI does not define the encoding of lists and objects inside of a `deepObject` value",
            "/paths/~1orders/get/parameters/6 OpenAPI does not define the encoding of lists and objects inside of a value with the style `form`",
        ]
    );
}

/// If a parameter has a serialized example, its encoding is that of the example. If an option in `[wire]` is
/// set, it takes precedence over the example.
#[test]
fn examples_decide_the_convention() {
    let shop = SHOP.replace(
        "            schema: { $ref: '#/components/schemas/Form' }",
        "            example: 'flat[a]=1&items[][a]=1&plain[a]=1'\n            schema: { $ref: '#/components/schemas/Form' }",
    );
    let shop = shop.replace("{ name: expand,", "{ name: expand, example: 'expand[0]=a&expand[1]=b',");
    let (rows, messages) = plan_document(&shop, |_| {});
    assert_eq!(rows, ["expand Indices Indices", "plain Indices Repeat", "items Brackets Brackets"]);
    assert_eq!(messages.len(), 2, "the list `expand` must not be reported: {messages:?}");
    let (rows, _) = plan_document(&shop, |wire| wire.arrays = Some(ArraySetting::Repeat));
    assert!(rows.contains(&"expand Indices Repeat".to_owned()), "{rows:?}");
}

#[test]
fn options_for_the_contract_leave_what_openapi_defines() {
    let (rows, messages) = plan(|wire| {
        wire.nested = Some(NestedSetting::Brackets);
        wire.arrays = Some(ArraySetting::Brackets);
    });
    let names: Vec<&str> = rows.iter().map(|row| row.split(' ').next().unwrap()).collect();
    assert_eq!(
        names,
        ["expand", "filter", "deep", "since", "ids", "nested", "flat", "plain", "items", "tags"],
        "these do not include the flat `color`, the comma-separated `joined`, headers and declared JSON"
    );
    assert!(rows.iter().all(|row| row.ends_with("Brackets Brackets")), "{rows:?}");
    assert!(messages.is_empty(), "{messages:?}");
    // The option `arrays` has an effect without the option for nested values.
    let (rows, _) = plan(|wire| wire.arrays = Some(ArraySetting::Indices));
    assert!(rows.contains(&"ids Json Indices".to_owned()), "{rows:?}");
    assert!(rows.contains(&"tags Json Indices".to_owned()), "{rows:?}");
    assert!(rows.contains(&"deep Indices Indices".to_owned()), "{rows:?}");
    assert!(!rows.iter().any(|row| row.starts_with("plain")), "{rows:?}");
    let (rows, _) = plan(|wire| wire.nested = Some(NestedSetting::Json));
    assert!(rows.contains(&"deep Json Brackets".to_owned()), "{rows:?}");
    assert!(!rows.iter().any(|row| row.starts_with("plain") || row.starts_with("ids")), "{rows:?}");
}

/// The schemas of a form are collected once for the whole form, and not again for each field.
#[test]
fn schemas_of_large_forms_are_shared() {
    const FIELDS: usize = 100;
    let parts = (0..FIELDS).map(|at| format!("        - properties: {{ f{at}: {{ type: string }} }}\n"));
    let form = format!("    Form:\n      allOf:\n{}", parts.collect::<String>());
    let (before, _) = SHOP.split_once("    Form:\n").unwrap();
    let mut project = Project::default();
    let settings = WireSettings { nested: Some(NestedSetting::Indices), arrays: None };
    project.config.wire.schemas.insert("#/components/schemas/Form".to_owned(), settings);
    let document = format!("{before}{form}");
    let sources = Sources::from_texts(&[("api.yaml", "", &document)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap_or_else(|problems| panic!("{problems}"));
    let plans = project.operation_plans(&contract);
    let call = plans.paths.calls.iter().find(|call| call.body.is_some()).unwrap();
    let rows = wire_rows(project.plan_input(&contract), call);
    assert_eq!(rows.len(), FIELDS);
    assert!(
        rows.iter().all(|row| row.form_ids.len() > FIELDS && Rc::ptr_eq(&row.form_ids, &rows[0].form_ids))
    );
    assert!(rows.iter().map(|row| row.ids.len()).sum::<usize>() <= 2 * FIELDS);
}

#[test]
fn selectors_choose_values_and_forms() {
    let settings = WireSettings { nested: Some(NestedSetting::Indices), arrays: None };
    let (rows, messages) = plan(|wire| {
        wire.schemas.insert("#/components/schemas/Form".to_owned(), settings);
    });
    assert_eq!(rows, ["flat Indices Brackets", "plain Indices Repeat", "items Indices Repeat"]);
    assert_eq!(messages.len(), 3);
    let (rows, _) = plan(|wire| {
        wire.arrays = Some(ArraySetting::Comma);
        let selector = "#/paths/~1orders/get/parameters/5/schema".to_owned();
        wire.schemas.insert(selector, settings);
    });
    assert!(rows.contains(&"color Indices Comma".to_owned()), "{rows:?}");
    assert!(rows.contains(&"ids Json Comma".to_owned()), "{rows:?}");
    let (_, messages) = plan(|wire| {
        wire.schemas.insert("#/components/schemas/Form/properties/text".to_owned(), settings);
    });
    assert_eq!(
        messages.last().unwrap(),
        " `wire.schemas` does nothing for `#/components/schemas/Form/properties/text`"
    );
}
