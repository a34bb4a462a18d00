//! `mock`: a double of the service on a socket of this machine.

use std::{net::TcpListener, sync::Arc};

use axum::{
    Router,
    body::{Body, HttpBody as _, to_bytes},
    extract::Request,
    response::Response,
};
use contract_codegen::mock::{Broken, Mock, Review, Verdict};
use http::StatusCode;
use serde_json::{Value, json};

use super::{args::MockArgs, failure::Failure, project, screen::Screen};

/// Larger bodies are refused.
const LIMIT: usize = 64 << 20;
/// Requests that are answered at a time; the others wait.
const WORKERS: usize = 32;
/// Places that a message names.
const SHOWN: usize = 5;

/// Answers until it is ended.
pub(crate) fn mock(args: &MockArgs, screen: &Screen) -> Result<u8, Failure> {
    let project = project::selected(&project::inputs(&args.inputs, "")?, &args.selected, args.reading)?;
    let contract = project.read_with(&|what| screen.step(what))?;
    let said = contract.diagnostics.clone();
    if contract.operations() == 0 {
        screen.diagnostics(&said);
        return Err(Failure::Usage(
            "the contract has no operations below `paths`: a mock answers those of an OpenAPI document"
                .to_owned(),
        ));
    }
    let cannot = |error: std::io::Error| {
        Failure::Io(format!("cannot listen on {}, port {}: {error}", args.host, args.port))
    };
    let listener = TcpListener::bind((args.host, args.port)).map_err(cannot)?;
    listener.set_nonblocking(true).map_err(cannot)?;
    let address = format!("http://{}", listener.local_addr().map_err(cannot)?);
    screen.step(&format!("making the answers of {} operations", contract.operations()));
    let mock = Mock::new(project, contract, args.seed);
    let review = mock.review();
    let listening = || {
        let (count, title) = (mock.operations().all().len(), mock.contract().title());
        let word = if count == 1 { "operation" } else { "operations" };
        screen.event(
            &format!("listening on {address}: {count} {word} of {title}; Ctrl-C ends it"),
            json!({ "listening": { "address": address, "operations": count } }),
        )
    };
    // Programs read the address first, people last.
    if screen.is_json() {
        listening()?;
    }
    screen.diagnostics(&said);
    tell(&review, screen)?;
    if !screen.is_json() {
        listening()?;
    }
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_io().max_blocking_threads(WORKERS).build().map_err(cannot)?;
    // What each request is told on needs a screen as long as the server is there.
    let screen = Arc::new(Screen::new(args.shown));
    let mock = Arc::new(mock);
    let app = Router::new().fallback(move |request: Request| {
        let (mock, screen) = (Arc::clone(&mock), Arc::clone(&screen));
        async move { answer(mock, screen, request).await }
    });
    let ended = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(cannot)?;
        tokio::select! {
            served = axum::serve(listener, app).into_future() => served.map_err(cannot),
            // Also where whoever started it in the background has the signal ignored.
            Ok(()) = tokio::signal::ctrl_c() => Ok(()),
        }
    });
    // Who is being answered is not waited for.
    runtime.shutdown_background();
    ended.map(|()| 0)
}

/// Says what cannot be answered, which examples are not sent, and which tags mean what is refused.
fn tell(review: &Review, screen: &Screen) -> Result<(), Failure> {
    let Review { without_value, broken_examples, overlapping } = review;
    for (place, operations) in without_value {
        let all = operations.join(", ");
        screen.event_aside(
            &format!("no valid value was found for {place}: 501 for {all}"),
            json!({ "without-value": { "schema": place, "operations": operations } }),
        )?;
    }
    if !broken_examples.is_empty() {
        let some = if screen.is_verbose() { broken_examples.len() } else { SHOWN };
        let rest = broken_examples.len().saturating_sub(some);
        let more = if rest > 0 { format!("\n  and {rest} more: --verbose shows all") } else { String::new() };
        let some: Vec<String> =
            broken_examples.iter().take(some).map(|(place, rule)| format!("\n  {place}: {rule}")).collect();
        let all: Vec<Value> =
            broken_examples.iter().map(|(place, rule)| json!({ "example": place, "breaks": rule })).collect();
        screen.event_aside(
            &format!("examples that break their own schemas are not sent:{}{more}", some.concat()),
            json!({ "broken-examples": all }),
        )?;
    }
    for (place, value) in overlapping {
        screen.event_aside(
            &format!(
                "{place} refuses {value}, as more than one of its branches accepts it: give the tag of each a `const`, or write `anyOf`"
            ),
            json!({ "overlapping": { "schema": place, "value": value } }),
        )?;
    }
    Ok(())
}

/// Answers one request and tells of it in one line.
async fn answer(mock: Arc<Mock>, screen: Arc<Screen>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    // A query may hold a key.
    let (method, path) = (parts.method.to_string(), parts.uri.path().to_owned());
    let announced = body.size_hint().lower() > LIMIT as u64;
    let read = if announced { None } else { to_bytes(body, LIMIT).await.ok() };
    let response = match read {
        Some(body) => {
            let request = Request::from_parts(parts, body);
            let answered = tokio::task::spawn_blocking(move || mock.answer(request)).await;
            answered.unwrap_or_else(|_| {
                let detail = "the mock failed at this request; please report it with the contract";
                Mock::refused(StatusCode::INTERNAL_SERVER_ERROR, detail)
            })
        }
        None => {
            let detail = format!("the body has more than {} MiB, or broke off", LIMIT >> 20);
            Mock::refused(StatusCode::PAYLOAD_TOO_LARGE, &detail)
        }
    };
    let nothing = Verdict { operation: None, words: String::new(), broken: Vec::new() };
    let verdict = response.extensions().get::<Verdict>().unwrap_or(&nothing);
    let status = response.status().as_u16();
    // Whoever closed the pipe wants no more lines, and answers all the same.
    let _ = screen.event(&line(&method, &path, status, verdict), told(&method, &path, status, verdict));
    response.map(Body::from)
}

/// `200 GET /tickets/a-17 readTicket: the example`
fn line(method: &str, path: &str, status: u16, verdict: &Verdict) -> String {
    let operation = verdict.operation.as_ref().map(|id| format!(" {id}")).unwrap_or_default();
    let broken: Vec<String> = verdict.broken.iter().take(SHOWN).map(short).collect();
    let words = if broken.is_empty() { verdict.words.clone() } else { broken.join("; ") };
    format!("{status} {method} {path}{operation}: {words}")
}

/// `body /seat has to be at most 99`
fn short(broken: &Broken) -> String {
    format!("{} {} {}", broken.place, broken.pointer, broken.message)
}

fn told(method: &str, path: &str, status: u16, verdict: &Verdict) -> Value {
    let broken = verdict.broken.iter().map(|each| {
        json!({
            "in": each.place, "pointer": each.pointer, "keyword": each.keyword,
            "message": each.message, "origin": each.origin,
        })
    });
    json!({ "request": {
        "method": method, "path": path, "operation": verdict.operation, "status": status,
        "verdict": verdict.words, "violations": broken.collect::<Vec<_>>(),
    } })
}
