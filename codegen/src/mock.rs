//! The mock server. It validates every request and responds to every operation of a contract with examples or
//! generated valid values.
//!
//! ```no_run
//! use contract_codegen::{MockServer, Project};
//! use contract_runtime::server::Bytes;
//!
//! let project = Project { inputs: vec!["openapi.yaml".into()], ..Project::default() };
//! let mock = MockServer::from_project(project, 0)?;
//! let request = http::Request::get("/tickets/a-17").body(Bytes::new())?;
//! assert_eq!(mock.respond_to(request).status(), 200);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The module uses neither sockets nor a clock. A response depends on the contract, on the seed and, with
//! `Prefer: dynamic=true`, on the request. The runtime parses and routes requests, as in generated servers,
//! and the validation tables decide which values are valid.

mod bodies;
mod declared_errors;
mod exchange;
mod last_page;
mod operation_rows;
mod preferences;
mod problem;
#[cfg(any(feature = "live", feature = "mcp"))]
mod request_encoder;
#[cfg(feature = "live")]
mod test_requests;
mod validate;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, Mutex, OnceLock},
    thread,
};

use contract_codegen_core::{
    analyzed_contract::AnalyzedContract,
    api::{self, StatusPattern},
    credentials::{self, CredentialScheme},
    diagnostics::Diagnostics,
    generate::Project,
    locations::LocationFormatter,
    plan::{OperationSide, PlannedCall, ResponseOutcome, SidePlan},
    schema::SchemaId,
    stack::run_on_deep_stack,
    tables::{TableArenas, TableSet},
};
use contract_runtime::{
    operation::{Operation, OperationLookup, OperationTable},
    server::Bytes,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header, request::Parts};

#[cfg(any(feature = "live", feature = "mcp"))]
pub(crate) use self::request_encoder::request_encoder;
#[cfg(feature = "live")]
pub use self::test_requests::{TestRequest, TestRequestGenerator, TestRequestKind};
use self::{
    bodies::{BodyError, GeneratedBody},
    preferences::{RequestPreferences, negotiate_media_type},
    problem::ProblemResponse,
};
pub use self::{exchange::ExchangeVerdict, problem::MessageViolation};
use crate::init;

/// A mock server for one contract. It keeps the contract and its tables in memory until the process ends,
/// like the tables of a generated server, so a process should create it only once.
pub struct MockServer {
    project: &'static Project,
    contract: &'static AnalyzedContract,
    pub(crate) plan: &'static SidePlan<'static>,
    pub(crate) tables: &'static TableSet<'static>,
    operations: OperationTable,
    /// A copy of the operations without their parameters. It is used to validate the body of a request whose
    /// parameters are invalid.
    pub(crate) bodies: &'static [Operation],
    /// For each operation and each of its responses, a row whose parameters are the declared headers.
    response_headers: Vec<Vec<&'static Operation>>,
    /// The paths of the URLs in `servers`, longest first. The path of a request may start with one of them.
    bases: Vec<String>,
    schemes: Vec<CredentialScheme<'static>>,
    /// The data of the events that mark the end of a stream. They are the values of the option `ends` in
    /// `[streams]`.
    end_data: &'static [&'static str],
    /// The names of the events after which a stream ends. They are the values of the option `last-events` in
    /// `[streams]`.
    last_events: &'static [&'static str],
    seed: u64,
    /// A cache of the response bodies that do not depend on the request. The key consists of the index of the
    /// operation, the status, and the index of the media type.
    cached_bodies: Mutex<HashMap<(usize, u16, usize), GeneratedBody>>,
    /// The ids of the schemas by location, with which violations are described. The map is built when the
    /// first violation occurs.
    schemas_by_location: OnceLock<HashMap<String, SchemaId>>,
}

/// The outcome of a request, for logs. It is stored in the extensions of the response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MockVerdict {
    /// The `operationId`; `None` if no operation matches the path and the method.
    pub operation: Option<String>,
    /// The origin of the body, or the reason for an error response.
    pub description: String,
    /// All violations of the contract by the request.
    pub violations: Vec<MessageViolation>,
}

/// The problems of a contract that affect the mock server's responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MockReview {
    /// The locations of schemas for which no valid value is known, each with the operations that therefore
    /// respond with status 501.
    pub without_value: Vec<(String, Vec<String>)>,
    /// The locations of examples that violate their schema, each with the violated rule. The mock does not
    /// send them.
    pub invalid_examples: Vec<(String, String)>,
    /// The locations of `oneOf` schemas with a `discriminator` that reject a value because more than one
    /// branch accepts it, each with such a value.
    pub overlapping_unions: Vec<(String, String)>,
}

impl MockServer {
    /// Reads the contract of a project and creates its mock server.
    ///
    /// # Errors
    /// Returns all problems in all files if the contract is invalid.
    pub fn from_project(project: Project, seed: u64) -> Result<Self, Diagnostics> {
        let contract = project.read_contract()?;
        Ok(Self::new(project, contract, seed))
    }

    /// Creates the mock server for a contract that was read with this project. `seed` determines the
    /// generated values.
    #[must_use]
    pub fn new(mut project: Project, mut contract: AnalyzedContract, seed: u64) -> Self {
        contract.enforce_machine_integers();
        // Clients that follow links or counts stop only if the server knows the pagination.
        let suggested =
            init::suggested_pages(&project.operation_plan(&contract, OperationSide::Paths), &contract);
        project.config.pages.extend(suggested);
        let project: &'static Project = Box::leak(Box::new(project));
        let contract: &'static AnalyzedContract = Box::leak(Box::new(contract));
        let arenas: &'static TableArenas<'static> = Box::leak(Box::default());
        let tables: &'static TableSet<'static> = Box::leak(Box::new(contract.build_tables(arenas)));
        let plan: &'static SidePlan<'static> =
            Box::leak(Box::new(project.operation_plan(contract, OperationSide::Paths)));
        let operations = operation_rows::operation_rows(plan, tables);
        let response_headers = operation_rows::response_header_rows(plan, tables);
        let bodies = operations.all().iter().map(|operation| Operation { parameters: &[], ..*operation });
        let own = contract.api.operations.iter().flat_map(|operation| &operation.servers);
        let mut bases: Vec<String> =
            contract.api.servers.iter().chain(own).map(|server| base_path(&server.url)).collect();
        bases.push(String::new());
        bases.sort_by(|one, other| other.len().cmp(&one.len()).then(one.cmp(other)));
        bases.dedup();
        let schemes = contract.api.security_schemes.iter();
        Self {
            project,
            contract,
            plan,
            tables,
            operations,
            bodies: bodies.collect::<Vec<_>>().leak(),
            response_headers,
            bases,
            schemes: schemes.map(|(name, raw)| credentials::parse_scheme(name, raw)).collect(),
            end_data: leak_strings(&project.config.streams.ends),
            last_events: leak_strings(&project.config.streams.last_events),
            seed,
            cached_bodies: Mutex::default(),
            schemas_by_location: OnceLock::new(),
        }
    }

    /// Returns the operations that the mock server supports, as an operation table of the runtime.
    #[must_use]
    pub const fn operations(&self) -> OperationTable {
        self.operations
    }

    /// Returns the contract.
    #[must_use]
    pub const fn contract(&self) -> &'static AnalyzedContract {
        self.contract
    }

    /// Generates and caches the default response of every operation, so that the first requests are fast.
    /// Returns the problems that were found.
    #[must_use]
    pub fn review(&self) -> MockReview {
        let calls: Vec<usize> = (0..self.plan.calls.len()).collect();
        let workers = thread::available_parallelism().map_or(1, usize::from);
        let share = calls.len().div_ceil(workers).max(1);
        let parts: Vec<ReviewFindings> = thread::scope(|scope| {
            let looking = |part| scope.spawn(move || run_on_deep_stack(|| self.review_calls(part)));
            let looking: Vec<_> = calls.chunks(share).map(looking).collect();
            looking.into_iter().filter_map(|part| part.join().ok()).collect()
        });
        let mut review = MockReview::default();
        let places = LocationFormatter::new(self.contract);
        let mut without: BTreeMap<SchemaId, Vec<String>> = BTreeMap::new();
        for (schema, operation) in parts.iter().flat_map(|found| &found.without_value) {
            without.entry(self.resolve_references(*schema)).or_default().push(operation.clone());
        }
        for (schema, operations) in without {
            review
                .without_value
                .push((places.format_location(&self.contract.graph.schema(schema).place), operations));
        }
        let mut invalid: Vec<(String, String)> = Vec::new();
        for (place, rule) in parts.into_iter().flat_map(|found| found.invalid_examples) {
            invalid.push((places.format_location(&place), rule));
        }
        invalid.sort();
        invalid.dedup();
        review.invalid_examples = invalid;
        let graph = &self.contract.graph;
        let overlapping = self.contract.overlapping_unions.iter();
        review.overlapping_unions = overlapping
            .map(|(id, value)| (places.format_location(&graph.schema(*id).place), value.to_string()))
            .collect();
        review
    }

    /// Follows the references of a schema to their target.
    fn resolve_references(&self, schema: SchemaId) -> SchemaId {
        let mut at = schema;
        // The limit protects against cycles in graphs that were not created by the loader.
        for _ in 0..32 {
            let Some(next) = self.contract.graph.schema(at).reference else { break };
            at = next;
        }
        at
    }

    fn review_calls(&self, calls: &[usize]) -> ReviewFindings {
        let mut found = ReviewFindings::default();
        for &at in calls {
            let call = &self.plan.calls[at];
            let Some(selected) = self.default_response(at) else { continue };
            let Some(response) = selected.response else { continue };
            let Some((media, name)) = negotiate_media_type(&http::HeaderMap::new(), &response.content) else {
                continue;
            };
            found.invalid_examples.extend(self.invalid_examples(media));
            let body = self.response_body(&selected, media, &name, &RequestPreferences::default(), None);
            if let Err(BodyError::Value(schema)) = body {
                found.without_value.push((schema, call.operation.id.clone()));
            }
        }
        found
    }

    /// Returns the response to a request. The extensions of the response contain a [`MockVerdict`].
    #[must_use]
    pub fn respond_to(&self, request: Request<Bytes>) -> Response<Bytes> {
        let (parts, body) = request.into_parts();
        let origin = parts.headers.get(header::ORIGIN).cloned();
        let head = parts.method == Method::HEAD;
        // Values and schemas may be nested more deeply than the stack of a server thread allows.
        let mut response = run_on_deep_stack(|| self.handle_request(parts, body));
        if let Some(origin) = origin {
            let headers = response.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
            headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("*"));
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if head {
            // A response to HEAD has the same header fields as a response to GET (RFC 9110, 9.3.2).
            let length = std::mem::take(response.body_mut()).len();
            if length > 0 {
                response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
            }
        }
        response
    }

    /// Returns an error response in the format of the mock server's own error responses, for callers that
    /// reject a request themselves, for example because its body is too large.
    #[must_use]
    pub fn error_response(status: StatusCode, detail: &str) -> Response<Bytes> {
        attach_verdict(None, Err(ProblemResponse::new(status, detail)), None)
    }

    fn handle_request(&self, parts: Parts, body: Bytes) -> Response<Bytes> {
        match self.route_request(parts) {
            RouteResult::To(at, parts) => {
                let done = self.answer_call(at, &parts, &body);
                let problem = done.as_ref().err();
                let declared = problem.and_then(|problem| self.declared_error(at, &parts, problem));
                attach_verdict(Some(self.plan.calls[at].operation.id.clone()), done, declared)
            }
            RouteResult::Done(done) => attach_verdict(None, *done, None),
        }
    }

    /// Finds the operation that matches a request, and removes the base path from the URI of the request.
    fn route_request(&self, mut parts: Parts) -> RouteResult {
        let path = parts.uri.path().to_owned();
        let below = |base: &String| match path.strip_prefix(base.as_str())? {
            "" => Some("/"),
            rest => rest.starts_with('/').then_some(rest),
        };
        let mut allowed: Vec<&'static str> = Vec::new();
        let header = |name: &str| parts.headers.get(name).map(|value| value.as_bytes());
        let query = parts.uri.query().unwrap_or_default();
        for rest in self.bases.iter().filter_map(below) {
            match self.operations.find_request(parts.method.as_str(), rest, query, header) {
                OperationLookup::Found(operation) => {
                    let query = parts.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
                    let Ok(uri) = format!("{rest}{query}").parse::<Uri>() else { continue };
                    let at = self.operations.all().iter().position(|each| each == operation);
                    parts.uri = uri;
                    return RouteResult::To(at.unwrap_or(0), Arc::new(parts));
                }
                OperationLookup::MethodNotAllowed(methods) => allowed.extend(methods.methods()),
                OperationLookup::NotFound => {}
            }
        }
        if allowed.is_empty() {
            let known = self.bases.first().filter(|base| !base.is_empty());
            let below =
                known.map(|base| format!(", with or without the base path `{base}`")).unwrap_or_default();
            let detail = format!("the contract has no path that matches `{path}`{below}");
            return RouteResult::Done(Box::new(Err(ProblemResponse::new(StatusCode::NOT_FOUND, detail))));
        }
        let methods = allowed.join(", ");
        if parts.method == Method::OPTIONS {
            let origin = "the methods of the path".to_owned();
            return RouteResult::Done(Box::new(Ok((preflight_response(&parts, &methods), origin))));
        }
        let detail = format!("`{path}` supports {methods}, not {}", parts.method);
        let problem_response = ProblemResponse::new(StatusCode::METHOD_NOT_ALLOWED, detail);
        RouteResult::Done(Box::new(Err(problem_response.with_header(header::ALLOW, &methods))))
    }

    /// Validates a request to the operation with the index `at`, and returns the response.
    fn answer_call(&self, at: usize, parts: &Arc<Parts>, body: &Bytes) -> MockResult {
        self.validate_request(at, parts, body)?;
        let preferences = RequestPreferences::from_headers(&parts.headers);
        let selected = match preferences.code {
            Some(code) => self.response_for_status(at, code)?,
            None => self.default_response(at).unwrap_or(SelectedResponse { at, status: 200, response: None }),
        };
        let mut response = Response::new(Bytes::new());
        let status = StatusCode::from_u16(selected.status).unwrap_or(StatusCode::OK);
        *response.status_mut() = status;
        let mut origin = "no body".to_owned();
        if let Some(described) = selected.response {
            let seed = self.response_seed(&selected, &preferences, parts, body);
            let bodiless = matches!(selected.status, 204 | 205 | 304) || selected.status < 200;
            if !bodiless && !described.content.is_empty() {
                let (media, name) = negotiate_media_type(&parts.headers, &described.content)
                    .ok_or_else(|| not_acceptable(described))?;
                let dynamic = preferences.dynamic.then_some(seed);
                let body = self.response_body(&selected, media, &name, &preferences, dynamic);
                let mut body = body.map_err(|error| self.missing_body_response(&selected, &error))?;
                if status.is_success() && preferences.example.is_none() {
                    let call = &self.plan.calls[at];
                    body = self.list_page(call, media, parts, &body).unwrap_or(body);
                }
                origin = body.source;
                *response.body_mut() = body.body;
                response
                    .headers_mut()
                    .extend(HeaderValue::try_from(name).ok().map(|name| (header::CONTENT_TYPE, name)));
            }
            let headers = self
                .response_headers(described, seed)
                .map_err(|error| self.missing_body_response(&selected, &error))?;
            response.headers_mut().extend(headers);
            last_page::remove_own_link(response.headers_mut(), parts.uri.query());
        }
        let applied =
            HeaderValue::try_from(preferences.applied_header()).ok().filter(|applied| !applied.is_empty());
        let name = http::HeaderName::from_static("preference-applied");
        response.headers_mut().extend(applied.map(|applied| (name, applied)));
        Ok((response, origin))
    }

    /// Returns the first response with a status from 200 to 299 or, if there is none, the first other
    /// response that counts as a success, such as a redirect.
    fn default_response(&self, at: usize) -> Option<SelectedResponse> {
        let call = &self.plan.calls[at];
        let mut cases: Vec<(u16, StatusPattern)> = call
            .responses
            .cases
            .iter()
            .map(|case| (case.default_status(ResponseOutcome::Success), case.status))
            .collect();
        cases.sort_by_key(|(status, _)| !(200..=299).contains(status));
        let (status, entry) = *cases.first()?;
        let response = call.operation.responses.iter().find(|response| response.status == entry);
        Some(SelectedResponse { at, status, response })
    }

    /// Returns the response that the contract describes for the status in `Prefer: code=…`.
    fn response_for_status(&self, at: usize, code: u16) -> Result<SelectedResponse, ProblemResponse> {
        let call: &'static PlannedCall<'static> = &self.plan.calls[at];
        let responses = &call.operation.responses;
        let Some(response) = find_response(responses, code).map(|index| &responses[index]) else {
            let known: Vec<String> = responses.iter().map(|each| each.status.key()).collect();
            let detail = format!("the operation has no response {code}, only {}", known.join(", "));
            return Err(ProblemResponse::new(StatusCode::NOT_FOUND, detail));
        };
        Ok(SelectedResponse { at, status: code, response: Some(response) })
    }

    fn missing_body_response(&self, selected: &SelectedResponse, error: &BodyError) -> ProblemResponse {
        let status = selected.status;
        match error {
            BodyError::Value(schema) => {
                let meant = self.contract.graph.schema(self.resolve_references(*schema));
                let place = LocationFormatter::new(self.contract).format_location(&meant.place);
                let detail = format!(
                    "no valid value was found for the body of the {status} response, whose schema is at {place}; add an example"
                );
                ProblemResponse::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
            BodyError::Header(name) => {
                let detail = format!(
                    "no valid value was found for the header `{name}` of the {status} response; add an example"
                );
                ProblemResponse::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
            BodyError::Example(known) => {
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let detail = format!(
                    "the {status} response has no example with the name in `Prefer`; available: {known}"
                );
                ProblemResponse::new(StatusCode::NOT_FOUND, detail)
            }
            BodyError::Broken(rule) => {
                let detail = format!("this example of the {status} response violates its schema: {rule}");
                ProblemResponse::new(StatusCode::NOT_IMPLEMENTED, detail)
            }
        }
    }

    /// Returns the seed for a response. The seed depends on the operation and the status and, with the
    /// preference `dynamic`, also on the request.
    fn response_seed(
        &self,
        selected: &SelectedResponse,
        preferences: &RequestPreferences,
        parts: &Parts,
        body: &Bytes,
    ) -> u64 {
        let seed = mix_seed(self.base_seed(selected), &[]);
        if !preferences.dynamic {
            return seed;
        }
        mix_seed(seed, &[parts.method.as_str().as_bytes(), parts.uri.to_string().as_bytes(), body])
    }

    fn base_seed(&self, selected: &SelectedResponse) -> u64 {
        let id = &self.plan.calls[selected.at].operation.id;
        mix_seed(self.seed, &[id.as_bytes(), &selected.status.to_be_bytes()])
    }
}

impl fmt::Debug for MockServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MockServer")
            .field("operations", &self.plan.calls.len())
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

/// The result of handling a request: a response with a description of the origin of its body, or an error
/// response.
type MockResult = Result<(Response<Bytes>, String), ProblemResponse>;

/// The result of routing a request.
enum RouteResult {
    /// The index of the matching operation, and the head of the request with the base path removed from its
    /// URI.
    To(usize, Arc<Parts>),
    /// The response to a request that matches no operation, such as an OPTIONS request for a path of the
    /// contract.
    Done(Box<MockResult>),
}

/// The problems that were found while the responses of some of the operations were generated.
#[derive(Default)]
struct ReviewFindings {
    without_value: Vec<(SchemaId, String)>,
    invalid_examples: Vec<(contract_codegen_core::tree::DocumentLocation, String)>,
}

/// The status of the response to a call, and the entry of `responses` that describes the response.
struct SelectedResponse {
    at: usize,
    status: u16,
    response: Option<&'static api::Response>,
}

/// Creates the response and attaches its [`MockVerdict`]. `declared` is an error in the form that the contract
/// declares.
fn attach_verdict(
    operation: Option<String>,
    result: MockResult,
    declared: Option<Response<Bytes>>,
) -> Response<Bytes> {
    let (mut response, verdict) = match result {
        Ok((response, origin)) => {
            (response, MockVerdict { operation, description: origin, violations: Vec::new() })
        }
        Err(refusal) => {
            let response = declared.unwrap_or_else(|| refusal.to_response(operation.as_deref()));
            (response, MockVerdict { operation, description: refusal.detail, violations: refusal.violations })
        }
    };
    response.extensions_mut().insert(verdict);
    response
}

/// Returns the index of the response that describes a status: the entry of the status, of its range, such as
/// `4XX`, or `default`.
pub(crate) fn find_response(responses: &[api::Response], status: u16) -> Option<usize> {
    let class = u8::try_from(status / 100).unwrap_or(0);
    let entries = [StatusPattern::Code(status), StatusPattern::Range(class), StatusPattern::Default];
    entries.iter().find_map(|entry| responses.iter().position(|each| each.status == *entry))
}

/// Converts the strings of an option to static strings, which rows of the runtime require. The memory is
/// leaked.
fn leak_strings(texts: &'static [String]) -> &'static [&'static str] {
    let texts: Vec<&'static str> = texts.iter().map(String::as_str).collect();
    texts.leak()
}

/// Returns the path of a server URL without a trailing slash; empty if the URL has no path or contains
/// variables.
fn base_path(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("", |at| &rest[at..]));
    let path = rest.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if path.starts_with('/') && !path.contains('{') { path.to_owned() } else { String::new() }
}

/// Returns the response to an OPTIONS request that no operation handles, including preflight requests of
/// browsers (Fetch, 4.8). `methods` are the methods of the path.
fn preflight_response(parts: &Parts, methods: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = StatusCode::NO_CONTENT;
    let headers = response.headers_mut();
    if let Ok(methods) = HeaderValue::try_from(methods) {
        headers.insert(header::ALLOW, methods.clone());
        if parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
            headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods);
        }
    }
    if let Some(requested) = parts.headers.get(header::ACCESS_CONTROL_REQUEST_HEADERS) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, requested.clone());
    }
    response
}

fn not_acceptable(described: &api::Response) -> ProblemResponse {
    let known: Vec<&str> =
        api::exchanged_media(&described.content).map(|media| media.name.as_str()).collect();
    let detail = format!("`Accept` matches none of {}", known.join(", "));
    ProblemResponse::new(StatusCode::NOT_ACCEPTABLE, detail)
}

/// Combines byte strings and a seed into a new seed (FNV-1a).
pub(crate) fn mix_seed(seed: u64, texts: &[&[u8]]) -> u64 {
    let step = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let start = seed.to_be_bytes().into_iter().fold(0xcbf2_9ce4_8422_2325, step);
    texts.iter().fold(start, |state, text| step(text.iter().copied().fold(state, step), 0xff))
}

#[cfg(test)]
mod tests;
