//! Tests of `[[pages]]` entries with and without pruning, and of the runtime features that they require.

#![allow(clippy::unwrap_used)]

use crate::{
    config::{Config, OutputLayout},
    diagnostics::Diagnostics,
    generate::Project,
    load::Sources,
    plan::OperationSide,
};

const API: &str = r#"
openapi: 3.1.0
info: { title: Fleet, version: '1' }
paths:
  /ships:
    get:
      operationId: ships
      parameters: [{ name: page, in: query, schema: { type: integer } }]
      responses: { '200': { description: '', content: { application/json: { schema: { type: array, items: { type: string } } } } } }
  /crews:
    get:
      operationId: crews
      parameters: [{ name: page, in: query, schema: { type: integer } }]
      responses: { '200': { description: '', content: { application/json: { schema: { type: array, items: { type: string } } } } } }
  /docks:
    get:
      operationId: docks
      responses: { '200': { description: '', content: { application/json: { schema: { type: string } } } } }
"#;

fn project(options: &str) -> Project {
    let config: Config = toml::from_str(options).unwrap_or_else(|e| panic!("{e}\n{options}"));
    Project { config, ..Project::default() }
}

fn sources() -> Sources {
    Sources::from_texts(&[("api.yaml", "", API)]).unwrap()
}

/// Returns the ids of the operations that are paginated under these options, or the messages if problems are
/// reported.
fn paginated_operations(options: &str) -> Result<Vec<String>, String> {
    let project = project(options);
    let join_messages =
        |problems: Diagnostics| problems.iter().map(|each| each.message.clone()).collect::<String>();
    let contract = project.analyze_sources(sources()).map_err(join_messages)?;
    let paged = {
        let plan = project.operation_plan(&contract, OperationSide::Paths);
        let calls = plan.calls.iter().filter(|call| call.pages.is_some());
        calls.map(|call| call.operation.id.clone()).collect()
    };
    project.generate_from(contract).map(|_| paged).map_err(join_messages)
}

#[test]
fn globs_apply_only_to_fitting_operations() {
    let glob = "[[pages]]\ninclude = [{ path = \"/**\" }]\npage = { to = \"page\" }\n";
    assert_eq!(paginated_operations(glob).unwrap(), ["ships", "crews"]);
    let error =
        paginated_operations("[[pages]]\ninclude = [{ path = \"/docks\" }]\npage = { to = \"page\" }\n")
            .unwrap_err();
    assert!(error.contains("`docks` has no array of items"), "{error}");
    // If one entry names an operation and a glob of another entry matches it, the entry with the name
    // applies.
    let with_named = format!("{glob}[[pages]]\noperations = [\"ships\"]\noffset = {{ to = \"page\" }}\n");
    assert_eq!(paginated_operations(&with_named).unwrap(), ["ships", "crews"]);
    let conflict = paginated_operations(&format!("{glob}{glob}")).unwrap_err();
    assert!(conflict.contains("`crews` is paginated by two"), "{conflict}");
}

/// If the contract defines a default for the page parameter, the generated client starts with this number.
#[test]
fn first_page_is_the_default_of_the_contract() {
    let generate_client = |default: &str, page: &str| {
        let api = API.replacen("{ type: integer }", &format!("{{ type: integer{default} }}"), 1);
        let project = project(&format!("[[pages]]\noperations = [\"ships\"]\n{page}\n"));
        let contract =
            project.analyze_sources(Sources::from_texts(&[("api.yaml", "", &api)]).unwrap()).unwrap();
        match project.generate_from(contract) {
            Ok(output) => output.files.0["src/client.rs"].split_whitespace().collect::<String>(),
            Err(problems) => problems.iter().map(|each| each.message.clone()).collect(),
        }
    };
    let check = |default: &str, page: &str, expect: &str| {
        let found = generate_client(default, page);
        assert!(found.contains(&format!("argument:0,first:{expect},")), "{default} {page}: {found}");
    };
    check("", "page = { to = \"page\" }", "1");
    check("", "page = { to = \"page\", first = 0 }", "0");
    check(", default: 0", "page = { to = \"page\" }", "0");
    check(", default: 0", "page = { to = \"page\", first = 0 }", "0");
    check("", "offset = { to = \"page\" }", "0");
    check(", default: 1", "offset = { to = \"page\" }", "1");
    let conflict = generate_client(", default: 1", "page = { to = \"page\", first = 0 }");
    assert!(conflict.contains("`ships` has the default 1 for `page`, not 0"), "{conflict}");
}

/// If an option excludes an operation that a `[[pages]]` entry names, no problem is reported.
#[test]
fn pages_of_pruned_operations_are_not_reported() {
    let part = "[operations]\nexclude = [{ operation = \"ships\" }]\n[[pages]]\n";
    let page = "\npage = { to = \"page\" }\n";
    let named = paginated_operations(&format!("{part}operations = [\"ships\", \"crews\"]{page}"));
    assert_eq!(named.unwrap(), ["crews"]);
    let globbed = paginated_operations(&format!("{part}include = [{{ operation = \"ships\" }}]{page}"));
    assert_eq!(globbed.unwrap(), [] as [&str; 0]);
    let unknown = paginated_operations(&format!("{part}operations = [\"shops\"]{page}")).unwrap_err();
    assert!(unknown.contains("`shops`"), "{unknown}");
}

/// Only a client with paginated operations requires the runtime feature `pages`.
#[test]
fn only_paginated_clients_require_the_pages_feature() {
    let pages = "[[pages]]\noperations = [\"ships\"]\npage = { to = \"page\" }\n";
    let manifest = |options: &str| {
        let project = project(options);
        let contract = project.analyze_sources(sources()).unwrap();
        project.generate_from(contract).unwrap().files.0["Cargo.toml"].clone()
    };
    assert!(manifest(pages).contains("client = [\"contract-runtime/client\", \"contract-runtime/pages\"]"));
    assert!(!manifest("").contains("/pages"));
    assert!(!manifest(&format!("{pages}[output]\nclient = false\n")).contains("/pages"));
    let mut project = project(pages);
    project.config.output.layout = OutputLayout::File;
    let contract = project.analyze_sources(sources()).unwrap();
    let file = project.generate_from(contract).unwrap().files.0.into_values().next().unwrap();
    assert!(
        file.contains("`contract-runtime` with its features `client` and `pages` and `server`"),
        "{file}"
    );
}
