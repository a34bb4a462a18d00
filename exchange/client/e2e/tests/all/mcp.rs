//! Tests of the example that serves the operations of the exchange as tools: an agent calls them in the session of a
//! member, against the real service.

use std::path::Path;

use contract_codegen::{
    Project,
    mcp::{ContractTools, ToolOptions, rmcp::ServiceExt as _},
};
use exchange_client::{
    Exchange, MemoryCredentials, Session,
    api::{operations::OPERATIONS, runtime::operation::Operation, scopes::Scope},
};
use exchange_client_e2e::{LossyNetwork, SandboxClock, SleepMode, exchange_address, identity, sign_in};
use exchange_service::sandbox::Sandbox;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};

#[allow(dead_code, reason = "the example's `main` signs a member in at a terminal")]
#[path = "../../examples/mcp.rs"]
mod example;

/// An agent that writes and reads the lines of the protocol.
struct Agent {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    input: WriteHalf<DuplexStream>,
    last_id: u64,
}

impl Agent {
    async fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": parameters });
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let line = self.lines.next_line().await.unwrap().unwrap();
        let response: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(response["id"], id, "{response}");
        response["result"].clone()
    }

    async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.request("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }
}

/// The tools use the member's session: their requests are signed, and repeated if the response is lost.
#[tokio::test]
async fn an_agent_calls_the_exchange_in_the_session_of_a_member() {
    let sandbox = Sandbox::start().await.unwrap();
    let clock = SandboxClock::for_sandbox(&sandbox, SleepMode::AdvanceClock);
    let (address, identity) = (exchange_address(&sandbox), identity("sandbox-client"));
    let session = Session::builder(&address, &identity).credentials(MemoryCredentials::new());
    let session = session.environment(clock.environment()).open().await.unwrap();
    sign_in(&session, &sandbox, &[Scope::ExchangeStockRead]).await.unwrap();
    let network = LossyNetwork::new();
    let exchange = Exchange::builder(address, identity).transport(network.clone()).build(&session).unwrap();

    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let server = example::tool_server(&exchange).unwrap();
    let serving = tokio::spawn(async move { server.serve(theirs).await.unwrap().waiting().await });
    let (output, input) = tokio::io::split(ours);
    let mut agent = Agent { lines: BufReader::new(output).lines(), input, last_id: 0 };
    let client = json!({ "name": "agent", "version": "1" });
    let parameters = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    agent.request("initialize", parameters).await;
    agent.input.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n").await.unwrap();

    let tools = agent.request("tools/list", json!({})).await;
    let names: Vec<&str> =
        tools["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert!(names.contains(&"stock_read") && names.contains(&"catalog_resolve"), "{names:?}");
    assert!(!names.iter().any(|name| name.ends_with("_write")), "{names:?}");
    // The transport adds the header of the proof, so it is not an argument.
    let stock = tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "stock_read").unwrap();
    assert!(stock["inputSchema"]["properties"]["limit"].is_object(), "{stock}");
    assert!(!stock["inputSchema"]["properties"].to_string().contains("DPoP\""), "{stock}");

    let page = agent.call("stock_read", json!({ "limit": 2 })).await;
    assert_eq!(page["isError"], false, "{page}");
    let text: Value = serde_json::from_str(page["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(text["items"].as_array().unwrap().len(), 2, "{text}");

    let invalid = agent.call("stock_read", json!({ "limit": 0 })).await;
    assert!(invalid["content"][0]["text"].as_str().unwrap().contains("/limit must be at least"), "{invalid}");
    // The member did not grant this scope.
    let refused = agent.call("ships_read", json!({})).await;
    assert_eq!(refused["isError"], true, "{refused}");
    let written = agent.call("stock_write", json!({})).await;
    assert!(written["content"][0]["text"].as_str().unwrap().contains("only reads"), "{written}");

    drop(agent);
    serving.await.unwrap().unwrap();
}

/// Returns the fields of an operation that determine its requests, as text.
fn describe_row(operation: &Operation) -> String {
    let Operation { method, path, tags, anonymous, idempotent, repeat, servers, .. } = operation;
    let mut text = format!("{method} {path} {tags:?} {anonymous} {idempotent} {repeat:?} {servers:?}");
    for row in operation.parameters {
        text.push_str(&format!(
            "\n{} {:?} {} {:?} {} {} {} {} {:?} {:?}",
            row.name,
            row.location,
            row.required,
            row.style,
            row.explode,
            row.allow_reserved,
            row.allow_empty,
            row.idempotency_key,
            row.wire,
            row.shape
        ));
    }
    for content in operation.body.iter().flat_map(|body| body.content) {
        text.push_str(&format!("\n{} {:?}", content.media_type, content.format));
    }
    text
}

/// The tools encode requests with the same rows as the generated client, so both send the same requests.
#[test]
fn rows_of_tools_equal_those_of_the_generated_client() {
    let project = Project::from_config(Path::new(example::CONTRACT)).unwrap();
    let contract = project.read_contract().unwrap();
    let options = ToolOptions { allow_writes: true, ..ToolOptions::default() };
    let tools = ContractTools::new(project, contract, options);
    let rows: Vec<&Operation> = tools.tools().map(|(_, operation)| operation).collect();
    assert_eq!(rows.len(), OPERATIONS.len());
    for row in rows {
        let generated = OPERATIONS.iter().find(|each| each.id == row.id).unwrap();
        assert_eq!(describe_row(row), describe_row(generated), "{}", row.id);
    }
}
