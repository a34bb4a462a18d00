//! `mock`: serves a mock of the contract's API on a local socket.

use std::{net::TcpListener, sync::Arc};

use axum::{
    Router,
    body::{Body, HttpBody as _, to_bytes},
    extract::Request,
    response::Response,
};
use contract_codegen::mock::{MockReview, MockServer, MockVerdict, RequestViolation};
use http::StatusCode;
use serde_json::{Value, json};

use super::{args::MockArgs, console::Console, error::CommandError, project};

/// The maximum size of a request body in bytes; larger bodies get status 413.
const MAX_BODY_BYTES: usize = 64 << 20;
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
    let cannot = |error: std::io::Error| {
        CommandError::Io(format!("cannot listen on {}, port {}: {error}", args.host, args.port))
    };
    let listener = TcpListener::bind((args.host, args.port)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = format!("http://{}", listener.local_addr().map_err(cannot)?);
    console.show_step(&format!("preparing responses for {} operations", contract.operation_count()));
    let mock = MockServer::new(project, contract, args.seed);
    let review = mock.review();
    let listening = || {
        let (count, title) = (mock.operations().all().len(), mock.contract().title());
        let noun = if count == 1 { "operation" } else { "operations" };
        console.print_event(
            &format!("listening on {address}: {count} {noun} of {title}; press Ctrl-C to stop"),
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
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime =
        runtime.enable_io().max_blocking_threads(MAX_CONCURRENT_REQUESTS).build().map_err(cannot)?;
    // Request handlers are `'static`, so they cannot borrow the console.
    let console = Arc::new(Console::new(args.display));
    let mock = Arc::new(mock);
    let app = Router::new().fallback(move |request: Request| {
        let (mock, console) = (Arc::clone(&mock), Arc::clone(&console));
        async move { handle_request(mock, console, request).await }
    });
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(cannot)?;
        tokio::select! {
            served = axum::serve(listener, app).into_future() => served.map_err(cannot),
            // The signal ends the server even if the shell started the process in the background, where
            // signals are ignored by default.
            Ok(()) = tokio::signal::ctrl_c() => Ok(()),
        }
    });
    // Requests in progress are aborted.
    runtime.shutdown_background();
    ended.map(|()| 0)
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
    let announced = body.size_hint().lower() > MAX_BODY_BYTES as u64;
    let read = if announced { None } else { to_bytes(body, MAX_BODY_BYTES).await.ok() };
    let response = match read {
        Some(body) => {
            let request = Request::from_parts(parts, body);
            let answered = tokio::task::spawn_blocking(move || mock.respond_to(request)).await;
            answered.unwrap_or_else(|_| {
                let detail =
                    "the mock server failed on this request; please report the bug with the contract";
                MockServer::error_response(StatusCode::INTERNAL_SERVER_ERROR, detail)
            })
        }
        None => {
            let detail = format!("the body exceeds {} MiB or ended early", MAX_BODY_BYTES >> 20);
            MockServer::error_response(StatusCode::PAYLOAD_TOO_LARGE, &detail)
        }
    };
    let no_verdict = MockVerdict { operation: None, description: String::new(), violations: Vec::new() };
    let verdict = response.extensions().get::<MockVerdict>().unwrap_or(&no_verdict);
    let status = response.status().as_u16();
    // The server keeps running if standard output is closed.
    let _ = console.print_event(
        &format_request_line(&method, &path, status, verdict),
        request_event(&method, &path, status, verdict),
    );
    response.map(Body::from)
}

/// Formats a line such as `200 GET /tickets/a-17 readTicket: the example`.
fn format_request_line(method: &str, path: &str, status: u16, verdict: &MockVerdict) -> String {
    let operation = verdict.operation.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let broken: Vec<String> =
        verdict.violations.iter().take(MAX_LISTED_ITEMS).map(format_violation).collect();
    let detail = if broken.is_empty() { verdict.description.clone() } else { broken.join("; ") };
    format!("{status} {method} {path}{operation}: {detail}")
}

/// Formats a violation, such as `body /seat must be at most 99`.
fn format_violation(broken: &RequestViolation) -> String {
    format!("{} {} {}", broken.place, broken.pointer, broken.message)
}

fn request_event(method: &str, path: &str, status: u16, verdict: &MockVerdict) -> Value {
    let broken = verdict.violations.iter().map(|each| {
        json!({
            "in": each.place, "pointer": each.pointer, "keyword": each.keyword,
            "message": each.message, "origin": each.origin,
        })
    });
    json!({ "request": {
        "method": method, "path": path, "operation": verdict.operation, "status": status,
        "verdict": verdict.description, "violations": broken.collect::<Vec<_>>(),
    } })
}
