//! `mock`: serves a mock of the contract's API on a local socket, or forwards requests to a live service.

mod proxy;
mod statistics;

use std::{net::TcpListener, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody as _, to_bytes},
    extract::Request,
    response::Response,
};
use contract_codegen::mock::{MessageViolation, MockReview, MockServer, MockVerdict};
use http::StatusCode;
use serde_json::{Value, json};

use self::proxy::ProxySession;
use super::{args::MockArgs, console::Console, error::CommandError, project, service::ServiceClient};

/// The maximum size of a request body in bytes; larger bodies get status 413.
pub(super) const MAX_BODY_BYTES: usize = 64 << 20;
/// The maximum number of requests that are processed at the same time; further requests wait.
const MAX_CONCURRENT_REQUESTS: usize = 32;
/// The maximum number of violations or examples in one message.
const MAX_LISTED_ITEMS: usize = 5;

/// Runs the mock server until Ctrl-C.
pub(crate) fn run_mock(args: &MockArgs, console: &Console) -> Result<u8, CommandError> {
    let project = project::open_selected_project(
        &project::resolve_inputs(&args.inputs, "")?,
        &args.selection,
        args.reading,
    )?;
    let contract = project.read_contract_with(&|what| console.show_step(what))?;
    let diagnostics = contract.diagnostics.clone();
    if contract.operation_count() == 0 {
        console.print_diagnostics(&diagnostics);
        return Err(CommandError::Usage(
            "the contract has no operations in `paths`: `mock` requires an OpenAPI document with operations"
                .to_owned(),
        ));
    }
    let service = args.proxy.as_deref().map(ServiceClient::from_url).transpose()?;
    let cannot = |error: std::io::Error| {
        CommandError::Io(format!("cannot listen on {}, port {}: {error}", args.host, args.port))
    };
    let listener = TcpListener::bind((args.host, args.port)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = format!("http://{}", listener.local_addr().map_err(cannot)?);
    if service.is_none() {
        console.show_step(&format!("preparing responses for {} operations", contract.operation_count()));
    }
    let mock = Arc::new(MockServer::new(project, contract, args.seed));
    // The responses of a service replace those of the mock.
    let review = if service.is_some() { MockReview::default() } else { mock.review() };
    let listening = || {
        if console.is_quiet() && !console.is_json() {
            return Ok(());
        }
        let (count, title) = (mock.operations().all().len(), mock.contract().title());
        let noun = if count == 1 { "operation" } else { "operations" };
        let target = service.as_ref().map(|service| format!(", forwarded to {}", service.base_url()));
        console.print_event(
            &format!(
                "listening on {address}: {count} {noun} of {title}{}; press Ctrl-C to stop",
                target.unwrap_or_default()
            ),
            json!({ "listening": { "address": address, "operations": count } }),
        )
    };
    // With `--json`, the address is printed first, so that programs can read it early; otherwise it is
    // printed last, so that it stays visible.
    if console.is_json() {
        listening()?;
    }
    console.print_diagnostics(&diagnostics);
    report_review(&review, console)?;
    if !console.is_json() {
        listening()?;
    }
    // Request handlers are `'static`, so they cannot borrow the console.
    let own_console = Arc::new(Console::new(args.display));
    let session = service
        .map(|service| Arc::new(ProxySession::new(service, Arc::clone(&mock), Arc::clone(&own_console))));
    let app = match &session {
        Some(session) => proxy::proxy_router(session),
        None => Router::new().fallback(move |request: Request| {
            handle_request(Arc::clone(&mock), Arc::clone(&own_console), request)
        }),
    };
    serve_until_interrupt(app, listener).map_err(cannot)?;
    if let Some(session) = session {
        session.print_summary(console)?;
    }
    Ok(0)
}

/// Serves requests until Ctrl-C. Requests in progress are aborted.
fn serve_until_interrupt(app: Router, listener: TcpListener) -> std::io::Result<()> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(MAX_CONCURRENT_REQUESTS).build()?;
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            served = axum::serve(listener, app).into_future() => served,
            // The signal ends the server even if the shell started the process in the background, where
            // signals are ignored by default.
            Ok(()) = tokio::signal::ctrl_c() => Ok(()),
        }
    });
    runtime.shutdown_background();
    ended
}

/// Prints the operations without a valid response, and the examples that are not sent. Overlapping unions are
/// not printed, because the diagnostics of the contract contain them.
fn report_review(review: &MockReview, console: &Console) -> Result<(), CommandError> {
    let MockReview { without_value, invalid_examples, overlapping_unions: _ } = review;
    for (place, operations) in without_value {
        let all = operations.join(", ");
        console.print_side_event(
            &format!("no valid value found for {place}; these operations answer 501: {all}"),
            json!({ "without-value": { "schema": place, "operations": operations } }),
        )?;
    }
    if !invalid_examples.is_empty() {
        let some = if console.is_verbose() { invalid_examples.len() } else { MAX_LISTED_ITEMS };
        let rest = invalid_examples.len().saturating_sub(some);
        let more =
            if rest > 0 { format!("\n  and {rest} more; use --verbose to list all") } else { String::new() };
        let some: Vec<String> =
            invalid_examples.iter().take(some).map(|(place, rule)| format!("\n  {place}: {rule}")).collect();
        let all: Vec<Value> = invalid_examples
            .iter()
            .map(|(place, rule)| json!({ "example": place, "breaks": rule }))
            .collect();
        console.print_side_event(
            &format!("examples that violate their own schema are not sent:{}{more}", some.concat()),
            json!({ "broken-examples": all }),
        )?;
    }
    Ok(())
}

/// Responds to one request and logs it as one line.
async fn handle_request(mock: Arc<MockServer>, console: Arc<Console>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // The query is not logged, because it may contain an API key.
    let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
    let response = match read_body(body).await {
        Some(body) => {
            let request = Request::from_parts(parts, body);
            let answered = tokio::task::spawn_blocking(move || mock.respond_to(request)).await;
            answered.unwrap_or_else(|_| {
                let detail =
                    "the mock server failed on this request; please report the bug with the contract";
                MockServer::error_response(StatusCode::INTERNAL_SERVER_ERROR, detail)
            })
        }
        None => MockServer::error_response(StatusCode::PAYLOAD_TOO_LARGE, &describe_large_body()),
    };
    let no_verdict = MockVerdict { operation: None, description: String::new(), violations: Vec::new() };
    let verdict = response.extensions().get::<MockVerdict>().unwrap_or(&no_verdict);
    let status = response.status().as_u16();
    if is_printed(&console, !verdict.violations.is_empty()) {
        // The server keeps running if standard output is closed.
        let _ = console.print_event(
            &format_request_line(&method, &path, status, verdict),
            request_event(&method, &path, status, verdict),
        );
    }
    response.map(Body::from)
}

/// Returns true if the line of a request is printed. `--quiet` suppresses the lines without violations and errors, but
/// no JSON.
pub(super) fn is_printed(console: &Console, has_findings: bool) -> bool {
    has_findings || !console.is_quiet() || console.is_json()
}

/// Reads the body of a request. Returns `None` if it is too large or ends early.
async fn read_body(body: Body) -> Option<Bytes> {
    let is_too_large = body.size_hint().lower() > MAX_BODY_BYTES as u64;
    if is_too_large { None } else { to_bytes(body, MAX_BODY_BYTES).await.ok() }
}

fn describe_large_body() -> String {
    format!("the body exceeds {} MiB or ended early", MAX_BODY_BYTES >> 20)
}

/// Formats a line such as `200 GET /tickets/a-17 readTicket: the example`.
fn format_request_line(method: &str, path: &str, status: u16, verdict: &MockVerdict) -> String {
    let operation = verdict.operation.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let broken: Vec<String> =
        verdict.violations.iter().take(MAX_LISTED_ITEMS).map(MessageViolation::to_string).collect();
    let detail = if broken.is_empty() { verdict.description.clone() } else { broken.join("; ") };
    format!("{status} {method} {path}{operation}: {detail}")
}

/// Returns a violation as a JSON object.
pub(super) fn violation_object(violation: &MessageViolation) -> serde_json::Map<String, Value> {
    violation.members().into_iter().map(|(name, text)| (name.to_owned(), Value::from(text))).collect()
}

fn request_event(method: &str, path: &str, status: u16, verdict: &MockVerdict) -> Value {
    let broken = verdict.violations.iter().map(violation_object).map(Value::Object);
    json!({ "request": {
        "method": method, "path": path, "operation": verdict.operation, "status": status,
        "verdict": verdict.description, "violations": broken.collect::<Vec<_>>(),
    } })
}
