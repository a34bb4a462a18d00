//! `mcp`: serves the operations of a contract as tools over standard input and output.

mod transport;

use std::{env, fmt::Write as _};

use contract_codegen::mcp::{ContractTools, CredentialVariables, ToolOptions, ToolServer, is_protected};
use serde_json::json;

use self::transport::HttpTransport;
use super::{
    args::McpArgs,
    console::{Console, escape_controls},
    error::CommandError,
    generate::count_noun,
    project,
    service::parse_service_url,
};

/// The number of tools above which a hint recommends a selection. Clients load all tools into the context of a model.
const MANY_TOOLS: usize = 100;

/// Serves the tools until standard input ends. Returns the exit code.
pub(crate) fn run_mcp(args: &McpArgs, console: &Console) -> Result<u8, CommandError> {
    check_streams(args)?;
    if let Some(url) = &args.server {
        check_server(url)?;
    }
    let inputs = project::resolve_inputs(&args.inputs, "")?;
    let project = project::open_selected_project(&inputs, &args.selection, args.reading)?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    console.print_diagnostics(&contract.diagnostics);
    let options = ToolOptions {
        allow_writes: args.allow_writes,
        server: args.server.clone(),
        max_response_bytes: args.max_response_bytes,
    };
    let tools = ContractTools::new(project, contract, options);
    if tools.tools().next().is_none() {
        let hint = match tools.write_count() {
            0 => "`mcp` requires an OpenAPI document with operations",
            _ => "all of them may change data; use `--allow-writes` to serve them",
        };
        return Err(CommandError::Usage(format!("the contract has no operations to serve: {hint}")));
    }
    if args.list {
        print_tools(&tools, console)?;
        return Ok(0);
    }
    let servers = tools.tools().filter_map(|(_, operation)| tools.server_url(operation));
    for url in servers.collect::<std::collections::BTreeSet<String>>() {
        check_server(&url)?;
    }
    report_start(&tools, console);
    let credentials = tools.read_credentials(&read_variable);
    let server = ToolServer::new(tools, credentials.wrap(HttpTransport::new(args.max_response_bytes)?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::Io(format!("cannot start the server: {error}")))?;
    let served = runtime.block_on(async {
        tokio::select! {
            served = server.serve_stdio(|line| console.print_line(line)) => served,
            Ok(()) = tokio::signal::ctrl_c() => Ok(()),
        }
    });
    // A pending read of standard input cannot be cancelled.
    runtime.shutdown_background();
    served.map(|()| 0).map_err(|error| CommandError::Io(error.to_string()))
}

fn read_variable(name: &str) -> Option<String> {
    env::var(name).ok()
}

/// Returns an error if an option needs a stream that the protocol uses.
fn check_streams(args: &McpArgs) -> Result<(), CommandError> {
    if args.list {
        return Ok(());
    }
    if args.display.json {
        return Err(CommandError::Usage(
            "standard output is used by the protocol: use `--json` only with `--list`".to_owned(),
        ));
    }
    if args.inputs.iter().any(|path| project::is_stdin(path)) {
        return Err(CommandError::Usage(
            "standard input is used by the protocol: pass the path of the contract instead of `-`".to_owned(),
        ));
    }
    Ok(())
}

/// Returns an error if requests to a server would not be protected.
fn check_server(url: &str) -> Result<(), CommandError> {
    let parsed = parse_service_url(url)?;
    if is_protected(&parsed) {
        return Ok(());
    }
    let host = parsed.host().unwrap_or_default();
    Err(CommandError::Usage(format!(
        "`http:` is allowed only for this machine, not for {host}: use an `https:` URL, for example with `--server`"
    )))
}

/// Prints notes for the user. Agents show standard error in their logs.
fn report_start(tools: &ContractTools, console: &Console) {
    let count = tools.tools().count();
    let server = tools.tools().find_map(|(_, operation)| tools.server_url(operation));
    let server = server.unwrap_or_else(|| "no server; pass one with `--server`".to_owned());
    console.print_status(
        "serving",
        &format!("{} of {}: {server}", count_noun(count, "tool"), tools.contract().title()),
    );
    if count > MANY_TOOLS {
        console.print_line(
            "note: agents choose worse among many tools; select some with `--tag` or `--operation`",
        );
    }
    for variables in tools.credential_variables().iter().filter(|each| !each.is_set(&read_variable)) {
        let CredentialVariables { scheme, tools, .. } = variables;
        console.print_line(&format!(
            "note: no credential for `{scheme}`, which {} may need: set {}",
            count_noun(*tools, "tool"),
            variables.describe()
        ));
    }
}

/// Prints the tools, and the environment variables of their credentials without the values.
fn print_tools(tools: &ContractTools, console: &Console) -> Result<(), CommandError> {
    let width = tools.tools().map(|(tool, _)| tool.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (tool, operation) in tools.tools() {
        let title = tool.title.as_deref().map(|title| format!(" — {}", title.replace('\n', " ")));
        let title = title.unwrap_or_default();
        let _ = writeln!(text, "{:width$}  {} {}{title}", tool.name, operation.method, operation.path);
    }
    let hidden = tools.write_count();
    if hidden > 0 {
        let _ = writeln!(text, "not served without `--allow-writes`: {}", count_noun(hidden, "operation"));
    }
    let variables = tools.credential_variables();
    for each in &variables {
        let state = if each.is_set(&read_variable) { "set" } else { "not set" };
        let _ = writeln!(text, "credential `{}`: {} ({state})", each.scheme, each.describe());
    }
    console.print_result(&escape_controls(&text))?;
    let listed: Vec<serde_json::Value> = tools.tools().map(|(tool, _)| json!(tool)).collect();
    let variables = variables.iter().map(|each| {
        json!({
            "scheme": each.scheme, "variables": each.alternatives, "set": each.is_set(&read_variable),
            "tools": each.tools,
        })
    });
    console.print_summary(json!({
        "command": "mcp", "exit": 0, "tools": listed, "hidden": hidden,
        "credentials": variables.collect::<Vec<_>>(),
    }));
    Ok(())
}
