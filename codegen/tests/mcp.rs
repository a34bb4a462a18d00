//! Tests of `contract-codegen mcp`: tools, requests and results as a library, and the protocol as a process.
#![cfg(all(feature = "mcp", feature = "serve"))]
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests panic on failure")]

#[path = "mcp/contracts.rs"]
mod contracts;
#[path = "harness/folder.rs"]
mod folder;
#[path = "mcp/process.rs"]
mod process;
#[path = "mcp/requests.rs"]
mod requests;
#[path = "mcp/results.rs"]
mod results;

use contract_codegen::{
    Project, Sources,
    mcp::{CallRefusal, ContractTools, ToolOptions, ToolRequest, rmcp::model::CallToolResult},
};
use serde_json::{Value, json};

/// Returns the tools of a contract, with those that change data.
fn all_tools(document: &str) -> ContractTools {
    tools_with(document, ToolOptions { allow_writes: true, ..ToolOptions::default() })
}

fn tools_with(document: &str, options: ToolOptions) -> ContractTools {
    let project = Project::default();
    let sources = Sources::from_texts(&[("openapi.yaml", "", document)]).unwrap();
    let contract = project.analyze_sources(sources).unwrap();
    ContractTools::new(project, contract, options)
}

/// Returns the request of a call.
#[track_caller]
fn request_of<'t>(tools: &'t ContractTools, name: &str, arguments: &Value) -> ToolRequest<'t> {
    match tools.request(name, arguments.as_object().unwrap()) {
        Ok(request) => request,
        Err(CallRefusal::Result(result)) => panic!("{name} {arguments}: {}", text_of(&result)),
        Err(CallRefusal::UnknownTool) => panic!("no tool {name}"),
    }
}

/// Returns the error text of a call without a request.
#[track_caller]
fn refusal_of(tools: &ContractTools, name: &str, arguments: &Value) -> String {
    match tools.request(name, arguments.as_object().unwrap()) {
        Err(CallRefusal::Result(result)) => {
            assert_eq!(result.is_error, Some(true));
            text_of(&result)
        }
        other => panic!("{name} {arguments}: {other:?}"),
    }
}

/// Joins the texts of a result.
fn text_of(result: &CallToolResult) -> String {
    let texts = result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone()));
    texts.collect::<Vec<String>>().join("\n---\n")
}

fn to_json(value: &impl serde::Serialize) -> Value {
    json!(value)
}
