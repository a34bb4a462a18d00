//! `test`: sends generated requests to a live service, and reports responses that violate the contract.

mod known_values;
mod report;

use std::{env, fmt::Write as _, fs, time::Duration};

use axum::body::{Body, Bytes, to_bytes};
use contract_codegen::mock::{MockServer, TestRequest, TestRequestGenerator, TestRequestKind};
use contract_runtime::operation::Operation;
use http::{HeaderName, HeaderValue, Method, Request, Response, header};
use serde_json::json;

use self::{
    known_values::KnownValues,
    report::{OperationResult, junit_document},
};
use super::{
    args::TestArgs,
    console::Console,
    error::{CommandError, EXIT_DIFFERENT},
    generate::count_noun,
    mock::MAX_BODY_BYTES,
    project,
    service::ServiceClient,
};

/// The maximum time for one response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// The methods that do not change data (RFC 9110, 9.2.1, and the QUERY method).
const SAFE_METHODS: &[&str] = &["GET", "HEAD", "OPTIONS", "QUERY"];

/// The statuses with which a service rejects the content of a request. Others, such as 404 and 409, depend on the
/// state of the service.
const REJECTIONS: &[u16] = &[400, 415, 422];

/// A header of each request. `shown` is its value in a curl command.
#[derive(Debug)]
struct AddedHeader {
    name: HeaderName,
    value: HeaderValue,
    shown: String,
}

/// Tests the operations of a service. Returns the exit code.
pub(crate) fn run_test(args: &TestArgs, console: &Console) -> Result<u8, CommandError> {
    let service = ServiceClient::from_url(&args.url)?;
    let headers = args.header.iter().map(|(name, value)| read_header(name, value));
    let headers = headers.collect::<Result<Vec<AddedHeader>, CommandError>>()?;
    if !headers.is_empty() && !service.is_protected() {
        return Err(CommandError::Usage(format!(
            "`--header` may contain credentials, and `http:` is allowed with them only for this machine, not for {}: use an `https:` URL",
            service.base_url()
        )));
    }
    let project = project::open_selected_project(
        &project::resolve_inputs(&args.inputs, "")?,
        &args.selection,
        args.reading,
    )?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    console.print_diagnostics(&contract.diagnostics);
    let title = contract.title();
    let mock = MockServer::new(project, contract, args.seed);
    let order = test_order(mock.operations().all(), args.write);
    if order.is_empty() {
        let message = "the contract has no operations to test: `test` requires an OpenAPI document, and \
                       `--write` for operations that change data";
        return Err(CommandError::Usage(message.to_owned()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::Io(format!("cannot start the client: {error}")))?;
    let generator = TestRequestGenerator::new(&mock, args.seed, args.requests);
    let mut test = LiveTest { mock: &mock, service, headers, known: KnownValues::default() };
    let mut results = Vec::new();
    for at in order {
        console.show_step(mock.operations().all()[at].id);
        let result = runtime.block_on(test.test_operation(&generator, at));
        let text = result.format_text();
        if console.is_json() || !text.is_empty() {
            console.print_event(text.trim_end(), result.to_json())?;
        }
        results.push(result);
    }
    if let Some(path) = &args.junit {
        fs::write(path, junit_document(&title, &results))
            .map_err(|error| CommandError::Io(format!("cannot write {}: {error}", path.display())))?;
    }
    let findings: usize = results.iter().map(|each| each.findings.len()).sum();
    let requests: usize = results.iter().map(|each| each.requests).sum();
    let skipped = results.iter().filter(|each| each.skipped.is_some()).count();
    let tested = count_noun(results.len() - skipped, "operation");
    let (all_requests, all_findings) = (count_noun(requests, "request"), count_noun(findings, "finding"));
    console.print_result(&format!(
        "{tested} tested, {skipped} skipped: {all_requests}, {all_findings}; seed {}\n",
        args.seed
    ))?;
    let exit = if findings == 0 { 0 } else { EXIT_DIFFERENT };
    console.print_summary(json!({
        "exit": exit, "findings": findings, "requests": requests, "skipped": skipped, "seed": args.seed,
    }));
    Ok(exit)
}

/// Parses a header of the command line. A value that starts with `$` is the name of an environment variable.
fn read_header(name: &str, value: &str) -> Result<AddedHeader, CommandError> {
    // Messages must not contain the value.
    let invalid = |reason: &str| CommandError::Usage(format!("the header `{name}` in `--header` {reason}"));
    let header = HeaderName::try_from(name).map_err(|_| invalid("has an invalid name"))?;
    let (value, shown) = match value.strip_prefix('$') {
        Some(variable) => {
            let value = env::var(variable);
            (
                value.map_err(|_| invalid(&format!("requires the environment variable `{variable}`")))?,
                value_of(variable),
            )
        }
        None => (value.to_owned(), value_of(&name.to_ascii_uppercase().replace('-', "_"))),
    };
    let mut value = HeaderValue::try_from(value).map_err(|_| invalid("has an invalid value"))?;
    value.set_sensitive(true);
    Ok(AddedHeader { name: header, value, shown })
}

fn value_of(variable: &str) -> String {
    format!("${variable}")
}

/// Returns the indexes of the tested operations: those that return ids of others first, deletions last.
fn test_order(operations: &[Operation], write: bool) -> Vec<usize> {
    let is_tested = |method: &str| write || SAFE_METHODS.contains(&method);
    let mut order: Vec<usize> =
        (0..operations.len()).filter(|&at| is_tested(operations[at].method)).collect();
    order.sort_by_key(|&at| {
        let Operation { method, path, .. } = operations[at];
        let rank = match method {
            "POST" => 0,
            "DELETE" => 2,
            _ => 1,
        };
        // Deletions of parents are after those of their children.
        let depth = path.matches('{').count();
        if rank == 2 { (1, usize::MAX - depth, rank) } else { (0, depth, rank) }
    });
    order
}

/// A test of a live service.
struct LiveTest<'m> {
    mock: &'m MockServer,
    service: ServiceClient,
    headers: Vec<AddedHeader>,
    known: KnownValues,
}

impl LiveTest<'_> {
    async fn test_operation(&mut self, generator: &TestRequestGenerator<'_>, at: usize) -> OperationResult {
        let operation = &self.mock.operations().all()[at];
        let mut result = OperationResult { operation: operation.id.to_owned(), ..OperationResult::default() };
        let mut requests = match generator.requests(at, &self.known.path_values(operation.path)) {
            Ok(requests) => requests,
            Err(reason) => {
                result.skipped = Some(reason);
                return result;
            }
        };
        for each in &mut requests {
            for header in &self.headers {
                each.request.headers_mut().insert(header.name.clone(), header.value.clone());
            }
        }
        let lacks_credentials = |each: &TestRequest| {
            let verdict = self.mock.validate_exchange(&each.request, None);
            verdict.request.iter().any(|violation| violation.place == "credentials")
        };
        if requests.first().is_some_and(lacks_credentials) {
            result.skipped = Some("its credentials are missing; add them with `--header`".to_owned());
            return result;
        }
        for each in &requests {
            result.requests += 1;
            let received = tokio::time::timeout(RESPONSE_TIMEOUT, self.exchange(&each.request)).await;
            let late = || Err(format!("no response within {} seconds", RESPONSE_TIMEOUT.as_secs()));
            let findings = match received.unwrap_or_else(|_| late()) {
                Ok(response) => {
                    if let Ok(body) = response.body()
                        && response.status().is_success()
                        && each.kind != TestRequestKind::Invalid
                    {
                        self.known.add_response(operation.path, body);
                    }
                    self.find_violations(each, &response)
                }
                Err(reason) => vec![reason],
            };
            for message in findings {
                result.add_finding(message, || self.curl_command(&each.request));
            }
        }
        result
    }

    /// Sends a request and receives the whole response.
    async fn exchange(&self, request: &Request<Bytes>) -> Result<Response<Result<Bytes, String>>, String> {
        let response = self.service.send(request).await.map_err(|reason| format!("no response: {reason}"))?;
        let (parts, body) = response.into_parts();
        let body = to_bytes(Body::new(body), MAX_BODY_BYTES).await;
        let body = body.map_err(|_| format!("it exceeds {} MiB or ended early", MAX_BODY_BYTES >> 20));
        Ok(Response::from_parts(parts, body))
    }

    /// Returns the findings of one exchange.
    fn find_violations(&self, sent: &TestRequest, response: &Response<Result<Bytes, String>>) -> Vec<String> {
        let status = response.status();
        if status.is_server_error() {
            return vec![format!("status {} for {}", status.as_u16(), describe_request(sent))];
        }
        let verdict = self.mock.validate_exchange(&sent.request, Some(response));
        let mut findings: Vec<String> =
            verdict.response.iter().map(|violation| format!("response {violation}")).collect();
        let is_valid = sent.kind != TestRequestKind::Invalid;
        let is_unexpected =
            if is_valid { REJECTIONS.contains(&status.as_u16()) } else { status.is_success() };
        if is_unexpected {
            findings.push(format!("status {} for {}", status.as_u16(), describe_request(sent)));
        }
        findings
    }

    /// Formats a request as a curl command. Values of added headers are environment variables.
    fn curl_command(&self, request: &Request<Bytes>) -> String {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        let url = shell_quote(&format!("{}{path}", self.service.base_url()));
        // With `-X HEAD`, curl waits for a body.
        let method = if request.method() == Method::HEAD {
            "--head".to_owned()
        } else {
            format!("-i -X {}", request.method())
        };
        let mut command = format!("curl {method} {url}");
        for (name, value) in request.headers() {
            if self.headers.iter().all(|added| added.name != name) {
                let value = String::from_utf8_lossy(value.as_bytes());
                let _ = write!(command, " -H {}", shell_quote(&format!("{name}: {value}")));
            }
        }
        for added in &self.headers {
            let _ = write!(command, " -H \"{}: {}\"", added.name, added.shown);
        }
        if !request.body().is_empty() || request.headers().contains_key(header::CONTENT_TYPE) {
            let body = String::from_utf8_lossy(request.body());
            let _ = write!(command, " --data-raw {}", shell_quote(&body));
        }
        command
    }
}

fn describe_request(sent: &TestRequest) -> String {
    match (&sent.violation, sent.kind) {
        (Some(violation), _) => format!("an invalid request: {violation}"),
        (None, TestRequestKind::Boundary) => "a valid request with a boundary value".to_owned(),
        (None, _) => "a valid request".to_owned(),
    }
}

/// Quotes a text for POSIX shells.
fn shell_quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
