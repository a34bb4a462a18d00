//! The operations of a contract as tools for AI agents, over the Model Context Protocol (MCP).
//!
//! [`ContractTools`] describes the tools, converts calls to requests as generated clients encode them, and converts
//! responses to results. It sends nothing. [`ToolServer`] adds a transport and serves the protocol with the
//! official SDK, [`rmcp`]:
//!
//! ```no_run
//! use contract_codegen::{Project, mcp::{ContractTools, ToolOptions, ToolServer}};
//! use contract_runtime::transport::Transport;
//!
//! async fn serve(transport: impl Transport + 'static) -> Result<(), Box<dyn std::error::Error>> {
//!     let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//!     let contract = project.read_contract()?;
//!     let tools = ContractTools::new(project, contract, ToolOptions::default());
//!     let credentials = tools.read_credentials(&|name| std::env::var(name).ok());
//!     Ok(ToolServer::new(tools, credentials.wrap(transport)).serve_stdio(|line| eprintln!("{line}")).await?)
//! }
//! ```
//!
//! By default only operations that read are tools: those with a safe method, and those that the option
//! `[operations] safe` names. The transport decides where requests are sent; [`is_protected`] helps it to send
//! credentials only over encrypted connections.

mod arguments;
mod credentials;
mod json_schema;
mod lines;
mod results;
mod server;
mod server_url;
mod size_limit;
mod tools;

use std::fmt;

use contract_codegen_core::{
    AnalyzedContract, Project,
    credentials::{self as security_schemes, SecuritySchemeKind},
    load::uri,
    stack::run_on_deep_stack,
};
use contract_runtime::{
    client::ApiClient,
    operation::{Operation, RepeatSafety},
    server::Bytes,
    transport::TransportError,
};
use http::{Request, Response};
pub use rmcp;
use rmcp::model::{CallToolResult, JsonObject, Tool};

use self::tools::PlannedTool;
pub use self::{
    credentials::CredentialVariables,
    server::{ServeError, ToolServer},
    server_url::is_protected,
};
use crate::mock::{MockServer, request_encoder};

/// The default limit for the size of a response in bytes. A larger one would fill the context of most models.
pub const DEFAULT_MAX_RESPONSE_BYTES: usize = 256 << 10;

/// The options of [`ContractTools`].
#[derive(Clone, Debug)]
pub struct ToolOptions {
    /// True if operations that may change data are tools as well.
    pub allow_writes: bool,
    /// The URL to which all requests are sent. By default, it is the server of the operation, or else the first
    /// absolute server of the document.
    pub server: Option<String>,
    /// The maximum size of a response in bytes. The result of a larger response is an error.
    pub max_response_bytes: usize,
}

impl Default for ToolOptions {
    fn default() -> Self {
        Self { allow_writes: false, server: None, max_response_bytes: DEFAULT_MAX_RESPONSE_BYTES }
    }
}

/// The tools of one contract. It keeps the contract in memory until the process ends.
pub struct ContractTools {
    mock: MockServer,
    planned: Vec<PlannedTool>,
    encoder: ApiClient,
    options: ToolOptions,
}

/// The request of a tool call, with its operation.
#[derive(Debug)]
pub struct ToolRequest<'t> {
    /// The call, for [`ContractTools::result`].
    pub call: ToolCall<'t>,
    /// The operation that is called.
    pub operation: &'static Operation,
    /// The request, with an absolute URI and without credentials.
    pub request: Request<Bytes>,
}

/// The reason why a call has no request.
#[derive(Clone, Debug, PartialEq)]
pub enum CallRefusal {
    /// The contract has no tool of this name.
    UnknownTool,
    /// The call is refused with this result, for example because its arguments are invalid.
    Result(Box<CallToolResult>),
}

impl ContractTools {
    /// Creates the tools of a contract that was read with this project.
    #[must_use]
    pub fn new(mut project: Project, contract: AnalyzedContract, options: ToolOptions) -> Self {
        // The transport adds the headers and cookies of credentials, so they are no arguments.
        let schemes = contract.api.security_schemes.iter();
        for (name, raw) in schemes {
            match security_schemes::parse_scheme(name, raw).kind {
                SecuritySchemeKind::Header(name) | SecuritySchemeKind::Cookie(name) => {
                    project.config.client.transport_headers.push(name.to_owned());
                }
                _ => {}
            }
        }
        run_on_deep_stack(|| {
            let mock = MockServer::new(project, contract, 0);
            let planned = tools::plan_tools(&mock);
            Self { mock, planned, encoder: request_encoder(), options }
        })
    }

    /// Returns the contract.
    #[must_use]
    pub const fn contract(&self) -> &'static AnalyzedContract {
        self.mock.contract()
    }

    /// Iterates over the tools that are listed, each with its operation.
    pub fn tools(&self) -> impl Iterator<Item = (&Tool, &'static Operation)> {
        self.listed().map(|planned| (&planned.tool, self.operation(planned)))
    }

    /// Returns the number of operations that are not listed because they may change data.
    #[must_use]
    pub fn write_count(&self) -> usize {
        self.planned.len() - self.listed().count()
    }

    /// Returns the URL to which the requests of an operation are sent, or `None` if neither the options nor the
    /// contract contain one.
    #[must_use]
    pub fn server_url(&self, operation: &Operation) -> Option<String> {
        let servers = &self.contract().api.servers;
        let base = servers.iter().map(|server| server.url.as_str()).find(|url| uri::is_absolute(url));
        match &self.options.server {
            Some(url) => Some(url.trim_end_matches('/').to_owned()),
            None => server_url::operation_url(operation.servers.first().copied(), base),
        }
    }

    /// Validates the arguments of a call and returns its request.
    ///
    /// # Errors
    /// Returns the reason why the call has no request. The result lists all violations of the contract, with
    /// JSON Pointers.
    pub fn request(&self, name: &str, arguments: &JsonObject) -> Result<ToolRequest<'_>, CallRefusal> {
        let tool = self.planned.iter().find(|planned| planned.tool.name == name);
        let tool = tool.ok_or(CallRefusal::UnknownTool)?;
        let refuse = |result: CallToolResult| CallRefusal::Result(Box::new(result));
        let operation = self.operation(tool);
        if !self.is_listed(tool) {
            let text = format!(
                "The tool `{name}` may change data and is not available, because this server only reads. \
                 The user can start it with `--allow-writes`."
            );
            return Err(refuse(results::failure(text)));
        }
        let url = self.server_url(operation).ok_or_else(|| {
            let text =
                "The contract names no server, so nothing was sent. The user can name it with `--server`.";
            refuse(results::failure(text))
        })?;
        let request = run_on_deep_stack(|| self.encode_request(tool, arguments, &url));
        let request = request.map_err(|faults| refuse(results::invalid_arguments(&faults)))?;
        Ok(ToolRequest { call: ToolCall(tool), operation, request })
    }

    fn operation(&self, tool: &PlannedTool) -> &'static Operation {
        &self.mock.operations().all()[tool.at]
    }

    fn is_listed(&self, tool: &PlannedTool) -> bool {
        self.options.allow_writes || self.operation(tool).repeat == RepeatSafety::Safe
    }

    fn listed(&self) -> impl Iterator<Item = &PlannedTool> {
        self.planned.iter().filter(|tool| self.is_listed(tool))
    }

    /// Returns the result of a call, from the response of a transport.
    #[must_use]
    pub fn result(
        &self,
        call: ToolCall<'_>,
        response: Result<Response<Bytes>, TransportError>,
    ) -> CallToolResult {
        match response {
            Ok(response) => self.response_result(call.0, response),
            Err(error) => self.transport_failure(call.0, &error),
        }
    }
}

/// A call of a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall<'t>(&'t PlannedTool);

/// Shows only counts, because requests may contain secrets.
impl fmt::Debug for ContractTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContractTools").field("tools", &self.planned.len()).finish_non_exhaustive()
    }
}
