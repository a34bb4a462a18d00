//! Serves the tools over the Model Context Protocol with the official SDK.

use std::{fmt, sync::Arc};

use contract_runtime::transport::Transport;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, Implementation, InitializeResult,
        JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities,
    },
    service::{RequestContext, ServerInitializeError},
    transport::stdio,
};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};

use super::{CallRefusal, ContractTools, lines::checked_streams};

/// The maximum size in bytes of the tools on one page of the list, unless a single tool is larger.
const MAX_PAGE_BYTES: usize = 128 << 10;

/// A server of the Model Context Protocol. Clones share the tools and the transport.
#[derive(Clone)]
pub struct ToolServer {
    tools: Arc<ContractTools>,
    transport: Arc<dyn Transport>,
}

/// The reason why the protocol could not be served.
#[derive(Debug)]
pub struct ServeError(String);

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServeError {}

impl ToolServer {
    /// Creates a server that sends the requests of tool calls with this transport.
    #[must_use]
    pub fn new(tools: ContractTools, transport: impl Transport + 'static) -> Self {
        Self { tools: Arc::new(tools), transport: Arc::new(transport) }
    }

    /// Returns the tools.
    #[must_use]
    pub fn tools(&self) -> &ContractTools {
        &self.tools
    }

    /// Calls a tool. Failures of the call are part of the result.
    ///
    /// # Errors
    /// Returns an error if there is no tool of this name.
    pub async fn call(&self, name: &str, arguments: &JsonObject) -> Result<CallToolResult, ErrorData> {
        let request = match self.tools.request(name, arguments) {
            Ok(request) => request,
            Err(CallRefusal::Result(result)) => return Ok(*result),
            Err(CallRefusal::UnknownTool) => {
                return Err(ErrorData::invalid_params(format!("unknown tool: {name}"), None));
            }
        };
        let response = self.transport.send(request.operation, request.request).await;
        Ok(self.tools.result(request.call, response))
    }

    /// Serves the protocol over standard input and output until the input ends. Nothing else may be written to
    /// standard output. `log` receives the reason for each message that is rejected because it is no valid request.
    ///
    /// # Errors
    /// Returns an error if the client does not follow the protocol, or if writing fails.
    pub async fn serve_stdio(self, log: impl Fn(&str)) -> Result<(), ServeError> {
        let (input, output) = stdio();
        self.serve_streams(input, output, log).await
    }

    /// Serves the protocol over these streams, like [`serve_stdio`](Self::serve_stdio).
    ///
    /// # Errors
    /// Returns an error if the client does not follow the protocol, or if writing fails.
    pub async fn serve_streams(
        self,
        input: impl AsyncRead + Unpin,
        output: impl AsyncWrite + Unpin,
        log: impl Fn(&str),
    ) -> Result<(), ServeError> {
        let (stream, run) = checked_streams(input, output, log);
        let (served, written) = tokio::join!(self.serve_checked(stream), run);
        served.and(written.map_err(|error| ServeError(error.to_string())))
    }

    async fn serve_checked(self, stream: DuplexStream) -> Result<(), ServeError> {
        let service = match self.serve(stream).await {
            Ok(service) => service,
            // The client ended before it started a session.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(ServerInitializeError::ExpectedInitializeRequest(_)) => {
                return Err(ServeError("the first message of the client is not `initialize`".to_owned()));
            }
            Err(error) => return Err(ServeError(error.to_string())),
        };
        service.waiting().await.map(drop).map_err(|error| ServeError(error.to_string()))
    }
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> InitializeResult {
        let api = &self.tools.contract().api;
        let title = if api.title.is_empty() { "API" } else { &api.title };
        let mut instructions = format!("The tools call the operations of {title}.");
        if let Some(description) = api.description.as_deref().filter(|text| !text.trim().is_empty()) {
            instructions.push_str("\n\n");
            instructions.push_str(description);
        }
        if self.tools.write_count() > 0 {
            instructions.push_str("\n\nOnly operations that read data are available.");
        }
        let name = contract_codegen_core::names::constant_name(title).to_ascii_lowercase().replace('_', "-");
        let version = if api.version.is_empty() { "0" } else { &api.version };
        InitializeResult::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new(name, version).with_title(title))
            .with_instructions(instructions)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        // The cursor is the number of tools on earlier pages.
        let start = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>());
        let start = start.map_err(|_| ErrorData::invalid_params("unknown cursor", None))?;
        let mut size = 0;
        let mut page = Vec::new();
        let mut rest = self.tools.tools().skip(start).map(|(tool, _)| tool).peekable();
        while let Some(tool) = rest.next_if(|tool| {
            size += serde_json::to_string(tool).map_or(0, |text| text.len());
            page.is_empty() || size <= MAX_PAGE_BYTES
        }) {
            page.push(tool.clone());
        }
        let next = rest.peek().map(|_| (start + page.len()).to_string());
        let mut result = ListToolsResult::with_all_items(page);
        result.next_cursor = next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = request.arguments.unwrap_or_default();
        // A cancelled call is dropped, and its request with it.
        tokio::select! {
            result = self.call(&request.name, &arguments) => result.map(CallToolResponse::from),
            () = context.ct.cancelled() => Err(ErrorData::internal_error("the call was cancelled", None)),
        }
    }
}

/// Shows only counts, because requests may contain secrets.
impl fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolServer").field("tools", &self.tools).finish_non_exhaustive()
    }
}
