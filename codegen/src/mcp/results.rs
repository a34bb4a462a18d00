//! Converts responses and failures to the results of tool calls.

use std::borrow::Cow;

use contract_runtime::{
    Json,
    client::credentials::MissingCredentials,
    format::base64,
    media_type::MediaType,
    operation::{Operation, RepeatSafety},
    server::Bytes,
    transport::{Delivery, PartialBody, TransportError},
};
use http::{HeaderMap, Method, Response, StatusCode, header};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use super::{ContractTools, arguments::InvalidArgument, tools::PlannedTool};
use crate::mock::{MessageViolation, find_response};

/// The maximum number of violations in one result.
const MAX_LISTED: usize = 20;
/// The number of characters that are shown of a response that is too large.
const EXCERPT_CHARS: usize = 1000;
/// The headers that are shown although the contract does not declare them.
const SHOWN_HEADERS: &[header::HeaderName] = &[header::LINK, header::LOCATION, header::RETRY_AFTER];

/// Returns the result of a call whose arguments violate the contract.
pub(super) fn invalid_arguments(faults: &[InvalidArgument]) -> CallToolResult {
    let lines = faults.iter().take(MAX_LISTED).map(|fault| match fault.pointer.as_str() {
        "" => format!("\n- the arguments {}", fault.message),
        pointer => format!("\n- {pointer} {}", fault.message),
    });
    let more = faults.len().saturating_sub(MAX_LISTED);
    let more = if more > 0 { format!("\n- and {more} more") } else { String::new() };
    let lines: String = lines.collect();
    failure(format!("The arguments violate the contract, so nothing was sent:{lines}{more}"))
}

/// Returns an error result.
pub(super) fn failure(text: impl Into<String>) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(text)])
}

impl ContractTools {
    /// Returns the result of a call without a response.
    pub(super) fn transport_failure(&self, tool: &PlannedTool, error: &TransportError) -> CallToolResult {
        let operation = self.operation(tool);
        let mut text = format!("The call failed: {error}.");
        if error.downcast_source::<MissingCredentials>().is_some() {
            let security = &self.mock.plan.calls[tool.at].operation.security;
            let is_needed = |scheme: &str| security.iter().flatten().any(|(name, _)| name == scheme);
            let variables = self.credential_variables();
            let needed = variables.iter().filter(|each| is_needed(&each.scheme));
            let names: Vec<String> = needed.map(|each| each.describe()).collect();
            text.push_str(&format!(
                " The user sets credentials in environment variables of the MCP server: {}.",
                names.join("; ")
            ));
        } else if error.delivery() == Delivery::Unknown && operation.repeat == RepeatSafety::NonIdempotent {
            text.push_str(
                " The request may have been processed, so check the state before you repeat the call.",
            );
        }
        failure(text)
    }

    /// Converts the response of a call. A response that violates the contract has a warning.
    pub(super) fn response_result(&self, tool: &PlannedTool, response: Response<Bytes>) -> CallToolResult {
        let operation = &self.mock.operations().all()[tool.at];
        let partial = response.extensions().get::<PartialBody>().copied();
        let status = response.status();
        let headers = self.shown_headers(tool.at, &response);
        let is_error = status.is_client_error() || status.is_server_error();
        let size = response.body().len();
        if size > self.options.max_response_bytes {
            return self.large_response(tool, &response, &headers);
        }
        let mut blocks = Vec::new();
        let violations = if is_error || partial.is_some() {
            Vec::new()
        } else {
            self.response_violations(tool.at, operation, &response)
        };
        if is_error || size == 0 || status.is_redirection() {
            blocks.push(ContentBlock::text(format!("Status {}{headers}", describe_status(status))));
        }
        if !violations.is_empty() {
            blocks.push(ContentBlock::text(describe_violations(status, &violations)));
        }
        if let Some(encoding) = content_encoding(response.headers()).filter(|_| size > 0) {
            blocks.push(ContentBlock::text(format!(
                "The body is encoded as `{}`, although the request accepts only unencoded bodies; it is not decoded.",
                encoding.escape_debug()
            )));
        }
        if size > 0 {
            blocks.push(body_block(tool.tool.name.as_ref(), response.headers(), response.body()));
        }
        if partial.is_some() {
            blocks.push(ContentBlock::text("The response is incomplete: this is its beginning."));
        }
        if !is_error && size > 0 && !status.is_redirection() && !headers.is_empty() {
            blocks.push(ContentBlock::text(format!("Response headers:{headers}")));
        }
        let structured = structured_content(tool, status, &violations, &response);
        let is_unstructured = tool.tool.output_schema.is_some() && structured.is_none();
        let mut result = if is_error || is_unstructured {
            CallToolResult::error(blocks)
        } else {
            CallToolResult::success(blocks)
        };
        result.structured_content = structured;
        result
    }

    fn response_violations(
        &self,
        at: usize,
        operation: &Operation,
        response: &Response<Bytes>,
    ) -> Vec<MessageViolation> {
        let method = Method::from_bytes(operation.method.as_bytes()).unwrap_or_default();
        let mut copy = Response::new(Ok(response.body().clone()));
        *copy.status_mut() = response.status();
        copy.headers_mut().clone_from(response.headers());
        self.mock.response_verdict(at, &method, &copy).response
    }

    /// Returns the lines of the headers that a caller may need: those that the contract declares, and those for
    /// links and delays.
    fn shown_headers(&self, at: usize, response: &Response<Bytes>) -> String {
        let declared = &self.mock.plan.calls[at].operation.responses;
        let described = find_response(declared, response.status().as_u16()).map(|index| &declared[index]);
        let is_declared = |name: &header::HeaderName| {
            described.is_some_and(|own| {
                own.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name.as_str()))
            })
        };
        let is_shown = |name: &header::HeaderName| {
            let hidden = [header::SET_COOKIE, header::CONTENT_TYPE, header::CONTENT_LENGTH];
            !hidden.contains(name) && (SHOWN_HEADERS.contains(name) || is_declared(name))
        };
        let shown = response.headers().iter().filter(|(name, _)| is_shown(name));
        shown
            .map(|(name, value)| format!("\n{name}: {}", String::from_utf8_lossy(value.as_bytes())))
            .collect()
    }

    /// Returns the result for a response that is larger than the limit.
    fn large_response(
        &self,
        tool: &PlannedTool,
        response: &Response<Bytes>,
        headers: &str,
    ) -> CallToolResult {
        let call = &self.mock.plan.calls[tool.at];
        let optional = tool.arguments.iter().filter(|own| !own.is_required);
        let names: Vec<String> = optional
            .filter(|own| call.parameters[own.parameter].row.location.as_str().starts_with("query"))
            .map(|own| format!("`{}`", own.name))
            .collect();
        let narrow = match names.as_slice() {
            [] => String::new(),
            names => format!(" Call the tool with arguments that select less: {}.", names.join(", ")),
        };
        let (size, limit) = (response.body().len(), self.options.max_response_bytes);
        let text = format!(
            "Status {}. The response has {size} bytes, more than the limit of {limit} bytes, so it is not shown.{narrow} \
             The user can raise the limit with `--max-response-bytes`.{headers}",
            describe_status(response.status())
        );
        let mut blocks = vec![ContentBlock::text(text)];
        if let Some(text) = decode_text(response.headers(), response.body()) {
            let excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
            blocks.push(ContentBlock::text(format!("It starts with:\n{excerpt}")));
        }
        CallToolResult::error(blocks)
    }
}

/// Returns the JSON of a valid response, if the tool has an output schema.
fn structured_content(
    tool: &PlannedTool,
    status: StatusCode,
    violations: &[MessageViolation],
    response: &Response<Bytes>,
) -> Option<serde_json::Value> {
    if tool.tool.output_schema.is_none() || !status.is_success() || !violations.is_empty() {
        return None;
    }
    let value = Json::parse(response.body()).ok()?.to_value();
    value.is_object().then_some(value)
}

fn describe_status(status: StatusCode) -> String {
    match status.canonical_reason() {
        Some(reason) => format!("{} {reason}", status.as_u16()),
        None => status.as_u16().to_string(),
    }
}

fn describe_violations(status: StatusCode, violations: &[MessageViolation]) -> String {
    let lines: String =
        violations.iter().take(MAX_LISTED).map(|violation| format!("\n- {violation}")).collect();
    format!(
        "Warning: the call succeeded with status {}, but the response violates the contract:{lines}",
        describe_status(status)
    )
}

/// Returns the body of a response: text, an image, audio, or a binary resource.
fn body_block(tool: &str, headers: &HeaderMap, body: &Bytes) -> ContentBlock {
    if let Some(text) = decode_text(headers, body) {
        return ContentBlock::text(text);
    }
    let media_type = content_type(headers);
    let essence = MediaType::parse(media_type).essence().to_owned();
    let encoded = base64::encode(body);
    match MediaType::parse(media_type).top_level_type() {
        "image" => ContentBlock::image(encoded, essence),
        "audio" => ContentBlock::audio(encoded, essence),
        _ => {
            let uri = format!("response:///{tool}");
            let essence = if essence.is_empty() { "application/octet-stream".to_owned() } else { essence };
            ContentBlock::resource(ResourceContents::blob(encoded, uri).with_mime_type(essence))
        }
    }
}

fn content_type(headers: &HeaderMap) -> &str {
    headers.get(header::CONTENT_TYPE).and_then(|line| line.to_str().ok()).unwrap_or_default()
}

/// Returns the encoding of a body, such as `gzip`. Returns `None` if it is not encoded.
fn content_encoding(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get(header::CONTENT_ENCODING)?.to_str().ok()?;
    (!line.is_empty() && !line.eq_ignore_ascii_case("identity")).then_some(line)
}

/// Returns a body as text if it is UTF-8 or, with this `charset`, Latin-1. Returns `None` for media types of images and
/// the like.
fn decode_text<'b>(headers: &HeaderMap, body: &'b Bytes) -> Option<Cow<'b, str>> {
    if content_encoding(headers).is_some() || !has_text_type(headers) {
        return None;
    }
    if let Ok(text) = std::str::from_utf8(body) {
        return Some(Cow::Borrowed(text));
    }
    let charset = MediaType::parse(content_type(headers)).parameter("charset")?;
    let is_latin =
        ["iso-8859-1", "iso8859-1", "latin1", "l1"].iter().any(|name| charset.eq_ignore_ascii_case(name));
    is_latin.then(|| body.iter().copied().map(char::from).collect())
}

fn has_text_type(headers: &HeaderMap) -> bool {
    let line = content_type(headers);
    let media = MediaType::parse(line);
    line.is_empty()
        || media.is_json()
        || media.is_text()
        || media.is_form()
        || media.subtype().ends_with("xml")
        || matches!(
            media.subtype(),
            "javascript" | "yaml" | "x-yaml" | "graphql" | "jsonl" | "x-ndjson" | "json-seq"
        )
}
