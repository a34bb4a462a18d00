//! Tests of the tools of many contracts, and of their schemas with an independent validator.

use std::collections::BTreeSet;

use contract_codegen::{
    AnalyzedContract, Project, Sources,
    lower::{
        names::SchemaNames,
        schemas::{LoweringContext, SchemaLowerer, TargetDialect},
    },
    mcp::{ContractTools, ToolOptions, rmcp::model::Tool},
};
use contract_codegen_core::{
    conjunction::{
        SchemaConjunction,
        sample::random::{SampleRequest, random_value},
    },
    schema::SchemaId,
    tables::TableArenas,
};
use contract_runtime::Json;
use serde_json::{Value, json};

use super::{
    all_tools,
    folder::{Case, read},
    to_json,
};

/// Returns the contract of each case, with its project.
fn projects_of_cases() -> Vec<(String, Project, AnalyzedContract)> {
    let mut all = Vec::new();
    for case in Case::all().into_iter().filter(|case| !case.is_refused()) {
        let config = case.folder.join("input/codegen.toml");
        let config = [config, case.folder.join("codegen.toml")].into_iter().find(|path| path.exists());
        let project = match config {
            Some(path) => Project::from_config(&path).unwrap(),
            None => Project::default(),
        };
        let files = case.files();
        let texts: Vec<(&str, &str, String)> = files
            .iter()
            .filter(|(name, _)| !name.ends_with(".toml"))
            .map(|(name, path)| (name.as_str(), "", String::from_utf8_lossy(&read(path)).into_owned()))
            .collect();
        let texts: Vec<(&str, &str, &str)> =
            texts.iter().map(|(name, uri, text)| (*name, *uri, text.as_str())).collect();
        let Ok(sources) = Sources::from_texts(&texts) else { continue };
        let Ok(contract) = project.analyze_sources(sources) else { continue };
        all.push((case.name, project, contract));
    }
    all
}

fn contracts_of_cases() -> impl Iterator<Item = (String, AnalyzedContract)> {
    projects_of_cases().into_iter().map(|(case, _, contract)| (case, contract))
}

/// Returns the tools of each case that has operations.
fn tools_of_cases() -> Vec<(String, ContractTools)> {
    let all = projects_of_cases().into_iter().filter(|(_, _, contract)| contract.operation_count() > 0);
    let tools = all.map(|(case, project, contract)| {
        let options = ToolOptions { allow_writes: true, ..ToolOptions::default() };
        (case, ContractTools::new(project, contract, options))
    });
    tools.collect()
}

fn schemas(tool: &Tool) -> Vec<Value> {
    [Some(&tool.input_schema), tool.output_schema.as_ref()].into_iter().flatten().map(to_json).collect()
}

/// Collects the values of all `$ref`.
fn references(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn schemas_of_all_cases_are_valid_and_self_contained() {
    let cases = tools_of_cases();
    assert!(cases.len() > 20, "{}", cases.len());
    for (case, tools) in &cases {
        let mut names = BTreeSet::new();
        for (tool, _) in tools.tools() {
            let is_legal = |name: &str| {
                !name.is_empty()
                    && name.len() <= 64
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
            };
            assert!(is_legal(&tool.name) && !tool.name.contains('.'), "{case}: {}", tool.name);
            assert!(names.insert(tool.name.to_string()), "{case}: {} is not unique", tool.name);
            assert!(tool.description.as_ref().is_some_and(|text| !text.is_empty()), "{case}: {}", tool.name);
            let properties = tool.input_schema["properties"].as_object().unwrap();
            assert!(properties.keys().all(|name| is_legal(name)), "{case}: {properties:?}");
            for schema in schemas(tool) {
                assert_eq!(schema["type"], "object", "{case}: {}", tool.name);
                let valid = jsonschema::draft202012::meta::validate(&schema);
                assert!(valid.is_ok(), "{case}: {}: {valid:?}\n{schema}", tool.name);
                let mut found = BTreeSet::new();
                references(&schema, &mut found);
                for reference in found {
                    let pointer =
                        reference.strip_prefix('#').unwrap_or_else(|| panic!("{case}: {reference}"));
                    let decoded = pointer.replace("%20", " ");
                    assert!(schema.pointer(&decoded).is_some(), "{case}: {}: {reference}", tool.name);
                }
            }
        }
    }
}

/// Returns the schemas of a contract that have names, as `$defs` of 2020-12.
fn definitions(contract: &AnalyzedContract) -> (SchemaNames, Value) {
    let names = SchemaNames::from_types(&contract.graph, &contract.api);
    let schemas = SchemaLowerer::new(&contract.graph, TargetDialect::Draft202012);
    let mut link = |id| format!("#/$defs/{}", names.get(id));
    let all = names.iter().map(|(id, name)| {
        let mut context = LoweringContext { link: &mut link, lost: BTreeSet::new() };
        (name.to_owned(), schemas.write_schema(id, &mut context))
    });
    let all: serde_json::Map<String, Value> = all.collect();
    (names, Value::Object(all))
}

/// A schema in the dialect of tools accepts every value that the schema of the contract accepts. Schemas with an
/// exact form also reject the others.
#[test]
fn schemas_without_their_context_accept_all_valid_values() {
    let (mut accepted, mut rejected, mut wider) = (0, 0, 0);
    // The contract does not check these patterns, because they do not run in linear time.
    for (case, contract) in contracts_of_cases().filter(|(case, _)| !case.starts_with("pattern_unchecked")) {
        let arenas = TableArenas::default();
        let tables = contract.build_tables(&arenas);
        let (names, definitions) = definitions(&contract);
        for (id, name) in names.iter() {
            let document = json!({ "$ref": format!("#/$defs/{name}"), "$defs": definitions });
            let Ok(validator) = jsonschema::options()
                .with_draft(jsonschema::Draft::Draft202012)
                .should_validate_formats(false)
                .build(&document)
            else {
                continue;
            };
            for seed in 0..6_u64 {
                let conjunction = SchemaConjunction::from_schema(id);
                let sample = SampleRequest { seed, examples: false };
                let is_valid =
                    |schema: SchemaId, value: &Json| seed % 3 == 0 || tables.is_valid(schema, value);
                let value = random_value(
                    &contract.graph,
                    &conjunction,
                    contract.options.implied_objects,
                    sample,
                    &is_valid,
                );
                let Some(value) = value.filter(|value| Json::from(value.to_value()) == *value) else {
                    continue;
                };
                match (tables.is_valid(id, &value), validator.is_valid(&value.to_value())) {
                    (true, true) => accepted += 1,
                    (false, false) => rejected += 1,
                    (false, true) => wider += 1,
                    (true, false) => {
                        let plain = value.to_value();
                        let error = validator.validate(&plain);
                        panic!("{case}: {name} rejects {value}: {error:?}\n{document:#}")
                    }
                }
            }
        }
    }
    assert!(accepted > 500 && rejected > 50 && wider < 100, "{accepted} {rejected} {wider}");
}

/// The input schema accepts every call that the contract accepts.
#[test]
fn valid_calls_are_accepted_by_the_input_schema() {
    let mut calls = 0;
    for (case, tools) in &tools_of_cases() {
        let contract = tools.contract();
        for (tool, operation) in tools.tools() {
            let api = contract.api.operations.iter().find(|each| each.id == operation.id).unwrap();
            let Ok(validator) = jsonschema::draft202012::new(&to_json(&tool.input_schema)) else { continue };
            let properties = tool.input_schema["properties"].as_object().unwrap();
            for seed in 0..8_u64 {
                let mut arguments = json!({});
                let mut draw = |name: &str, schema| {
                    let conjunction = SchemaConjunction::from_schema(schema);
                    let sample = SampleRequest { seed, examples: false };
                    let accepts_all = |_, _: &_| true;
                    let value = random_value(
                        &contract.graph,
                        &conjunction,
                        contract.options.implied_objects,
                        sample,
                        &accepts_all,
                    );
                    if let Some(value) = value {
                        arguments[name] = value.to_value();
                    }
                };
                for parameter in &api.parameters {
                    if let Some(schema) = parameter.schema
                        && properties.contains_key(&parameter.name)
                    {
                        draw(&parameter.name, schema);
                    }
                }
                let json_body = api
                    .request_body
                    .iter()
                    .flat_map(|body| &body.content)
                    .find(|media| media.name == "application/json");
                if let Some(schema) = json_body.and_then(|media| media.schema) {
                    draw("body", schema);
                }
                let Value::Object(members) = &arguments else { unreachable!() };
                if tools.request(&tool.name, members).is_ok() {
                    calls += 1;
                    let valid = validator.validate(&arguments);
                    assert!(
                        valid.is_ok(),
                        "{case}: {}: {arguments}: {valid:?}\n{}",
                        tool.name,
                        to_json(&tool.input_schema)
                    );
                }
            }
        }
    }
    assert!(calls > 300, "{calls}");
}

#[test]
fn schemas_describe_arguments_and_results() {
    let tools = all_tools(
        r"
openapi: 3.0.3
info: { title: Trees, version: '1' }
servers: [{ url: 'https://a.example' }]
paths:
  /trees/{id}:
    put:
      operationId: writeTree
      summary: Write a tree
      description: Replaces it.
      deprecated: true
      parameters:
        - { name: id, in: path, required: true, description: Its id., schema: { $ref: '#/components/schemas/Id' } }
        - { name: 'a[b]', in: query, schema: { type: integer, nullable: true, minimum: 1 } }
      requestBody: { required: true, description: The tree., content: { application/json: { schema: { $ref: '#/components/schemas/Tree' } } } }
      responses: { '200': { description: it, content: { application/json: { schema: { $ref: '#/components/schemas/Tree' } } } } }
components:
  schemas:
    Id: { type: string, pattern: '^[a-z]+$' }
    Tree:
      type: object
      required: [key, name]
      properties:
        key: { type: string, readOnly: true }
        name: { type: string }
        parent: { $ref: '#/components/schemas/Tree' }
",
    );
    let tool = to_json(&tools.tools().next().unwrap().0);
    let tree = json!({
        "type": "object",
        "required": ["name"],
        "properties": {
            "key": { "type": "string", "readOnly": true },
            "name": { "type": "string" },
            "parent": { "$ref": "#/$defs/Tree" },
        },
    });
    let mut body = tree.clone();
    body["description"] = json!("The tree.");
    let mut output = tree.clone();
    output["$defs"] = json!({ "Tree": tree });
    let expected = json!({
        "name": "write_tree",
        "title": "Write a tree",
        "description": "Write a tree\n\nReplaces it.\n\nDeprecated.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "id": { "type": "string", "pattern": "^[a-z]+$", "description": "Its id." },
                "a_b": { "type": ["null", "integer"], "minimum": 1, "description": "The query parameter `a[b]`." },
                "body": body,
            },
            "required": ["id", "body"],
            "additionalProperties": false,
            "$defs": { "Tree": tree },
        },
        "outputSchema": output,
        "annotations": { "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": true },
    });
    assert_eq!(tool, expected, "{tool:#}");
}
