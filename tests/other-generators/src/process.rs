//! Runs the other generators in separate processes, so that a panic, a stack overflow or an endless loop in
//! one of them cannot affect this process.
//!
//! The child process is the command itself with a hidden subcommand that calls [`serve_request`]. It reads one
//! request from standard input and writes one response to standard output.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use contract_codegen_core::stack::run_on_deep_stack;
use progenitor_impl::{GenerationSettings, Generator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use typify_impl::{TypeSpace, TypeSpaceSettings};

/// The name of the hidden subcommand.
pub const SUBCOMMAND: &str = "run-generator";

/// The prefix of the error for a run that exceeded its timeout.
const TIMEOUT_MESSAGE: &str = "timed out";
/// The number of timeouts after which no further runs are started.
const MAX_TIMEOUTS: usize = 3;

/// The default timeout of one run.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// The interval at which a child process that has closed its output is polled for its exit status.
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A runner for the other generators.
#[derive(Clone, Debug)]
pub struct GeneratorRunner {
    /// The program that implements [`SUBCOMMAND`]; `None` runs the generators in this process.
    program: Option<PathBuf>,
    timeout: Duration,
}

/// A request to a generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "generator", rename_all = "lowercase")]
enum Request {
    /// Generate types for the `definitions` of a draft-07 document.
    Typify { document: Value },
    /// Generate a client for an OpenAPI 3.0 document. `replaced` lists the components to replace, in order.
    Progenitor { document: Value, replaced: Vec<String> },
}

/// The response of a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct GeneratedCode {
    /// The generated Rust code.
    pub(super) code: String,
    /// The Rust type of each definition.
    pub(super) types: BTreeMap<String, String>,
    /// The error, if the generator failed.
    error: Option<String>,
}

impl GeneratorRunner {
    /// Creates a runner that starts one process per run. The program must call
    /// [`serve_request`] for [`SUBCOMMAND`].
    #[must_use]
    pub const fn with_program(program: PathBuf) -> Self {
        Self { program: Some(program), timeout: DEFAULT_TIMEOUT }
    }

    /// Creates a runner that uses this process. Panics are caught unless the build aborts on panic;
    /// timeouts do not apply.
    #[must_use]
    pub const fn in_process() -> Self {
        Self { program: None, timeout: DEFAULT_TIMEOUT }
    }

    /// Sets the timeout of each run.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        Self { timeout, ..self }
    }

    /// Generates progenitor's client for an OpenAPI 3.0 document whose components are replaced by `Lowered0`,
    /// `Lowered1` and so on.
    ///
    /// # Errors
    /// Returns progenitor's error in one sentence, or its panic message.
    pub(super) fn run_progenitor(&self, document: &Value, replaced: &[String]) -> Result<String, String> {
        let request = Request::Progenitor { document: document.clone(), replaced: replaced.to_vec() };
        self.send_request(request).map(|generated| generated.code)
    }

    /// Generates typify's types for the `definitions` of a draft-07 document.
    ///
    /// # Errors
    /// Returns the errors that [`GeneratorRunner::run_progenitor`] returns.
    pub(super) fn run_typify(&self, document: Value) -> Result<GeneratedCode, String> {
        self.send_request(Request::Typify { document })
    }

    fn send_request(&self, request: Request) -> Result<GeneratedCode, String> {
        let generated = match &self.program {
            Some(program) => {
                let text = serde_json::to_string(&request).map_err(|error| error.to_string())?;
                let response = run_program(program, text, self.timeout)?;
                serde_json::from_str(&response).map_err(|error| format!("invalid response: {error}"))?
            }
            None => catch_panic(|| handle_request(request))?,
        };
        match generated.error {
            Some(reason) => Err(reason),
            None => Ok(generated),
        }
    }
}

/// A counter of timeouts that limits how many runs may time out.
#[derive(Debug, Default)]
pub(super) struct TimeoutCounter(usize);

impl TimeoutCounter {
    /// Counts the result if it is a timeout, and returns it unchanged.
    pub(super) fn count_timeout<T>(&mut self, result: Result<T, String>) -> Result<T, String> {
        self.0 += usize::from(result.as_ref().is_err_and(|reason| reason.starts_with(TIMEOUT_MESSAGE)));
        result
    }

    /// Returns the reason why no further runs are started, if the limit is reached.
    pub(super) fn limit_error(&self) -> Option<String> {
        (self.0 >= MAX_TIMEOUTS).then(|| format!("not run: {MAX_TIMEOUTS} earlier runs timed out"))
    }
}

/// Handles one request from standard input and returns the exit code of the process.
#[must_use]
pub fn serve_request() -> u8 {
    let read_request = || -> Result<Request, String> {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let generated = match read_request() {
        Ok(request) => run_on_deep_stack(|| handle_request(request)),
        Err(error) => GeneratedCode { error: Some(error), ..GeneratedCode::default() },
    };
    let text = serde_json::to_string(&generated).unwrap_or_default();
    u8::from(io::stdout().write_all(text.as_bytes()).is_err())
}

fn handle_request(request: Request) -> GeneratedCode {
    let generated = match request {
        Request::Typify { document } => generate_types(&document),
        Request::Progenitor { document, replaced } => generate_client(document, &replaced),
    };
    generated.unwrap_or_else(|error| GeneratedCode { error: Some(error), ..GeneratedCode::default() })
}

fn generate_types(document: &Value) -> Result<GeneratedCode, String> {
    let describe = |error: &dyn std::fmt::Display| error.to_string();
    let mut space = TypeSpace::new(&TypeSpaceSettings::default());
    let definitions: BTreeMap<String, _> =
        serde_json::from_value(document["definitions"].clone()).map_err(|error| describe(&error))?;
    let names: Vec<String> = definitions.keys().cloned().collect();
    space.add_ref_types(definitions).map_err(|error| describe(&error))?;
    let mut types = BTreeMap::new();
    for name in names {
        let reference = serde_json::from_value(json!({ "$ref": format!("#/definitions/{name}") }));
        let id = space
            .add_type(&reference.map_err(|error| describe(&error))?)
            .map_err(|error| describe(&error))?;
        let definition = space.get_type(&id).map_err(|error| describe(&error))?;
        types.insert(name, definition.ident().to_string());
    }
    Ok(GeneratedCode { code: space.to_stream().to_string(), types, error: None })
}

fn generate_client(document: Value, replaced: &[String]) -> Result<GeneratedCode, String> {
    let document: openapiv3::OpenAPI = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let mut settings = GenerationSettings::default();
    for (index, key) in replaced.iter().enumerate() {
        settings.with_replacement(key, format!("Lowered{index}"), std::iter::empty());
    }
    let tokens = Generator::new(&settings).generate_tokens(&document).map_err(|error| error.to_string())?;
    Ok(GeneratedCode { code: tokens.to_string(), ..GeneratedCode::default() })
}

/// Runs the program and returns its output if it succeeds within the timeout.
fn run_program(program: &PathBuf, request: String, timeout: Duration) -> Result<String, String> {
    let child = Command::new(program)
        .arg(SUBCOMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    // Pipes are served by separate threads: a full pipe would block the child, and reading needs a timeout.
    let input = child.stdin.take();
    thread::spawn(move || input.map(|mut input| input.write_all(request.as_bytes())));
    let (stdout, stderr) = (read_in_background(child.stdout.take()), read_in_background(child.stderr.take()));
    let deadline = Instant::now() + timeout;
    let output = stdout.recv_timeout(timeout);
    // A child that closed its output may still be running, and so may processes that it started.
    let exit_deadline = if output.is_ok() { deadline } else { Instant::now() };
    let status = wait_until(&mut child, exit_deadline).map_err(|error| error.to_string())?;
    match (output, status) {
        (Ok(output), Some(status)) if status.success() => Ok(output),
        (Ok(_), Some(status)) => {
            let remaining = deadline.saturating_duration_since(Instant::now());
            let stderr = stderr.recv_timeout(remaining).unwrap_or_default();
            Err(describe_failure(&stderr, &status.to_string()))
        }
        (Err(_), _) | (_, None) => Err(format!("{TIMEOUT_MESSAGE} after {} s", timeout.as_secs())),
    }
}

/// Waits for a child to exit until a deadline. Kills the child and returns `None` when the deadline passes.
fn wait_until(child: &mut Child, deadline: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() < deadline => thread::sleep(POLL_INTERVAL),
            None => break,
        }
    }
    // The child may have exited in the meantime, so an error is ignored.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// Reads a pipe to its end in a separate thread and sends the content through the returned channel.
fn read_in_background(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(pipe.map(read_lossy).unwrap_or_default()));
    receiver
}

/// Reads a pipe to its end; invalid UTF-8 is replaced.
fn read_lossy(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // On an error, the bytes read so far are returned.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Summarizes how a process failed: its panic message, or the system's description of the exit status.
fn describe_failure(stderr: &str, status: &str) -> String {
    if stderr.contains("overflowed its stack") {
        return "stack overflow".to_owned();
    }
    let mut lines = stderr.lines().skip_while(|line| !line.contains("panicked at"));
    match lines.nth(1) {
        Some(message) => format!("panicked: {message}"),
        None => format!("failed with {status}"),
    }
}

/// Calls a function and returns its panic message as an error if it panics.
fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safety: `call` only modifies values created for it, and these are dropped.
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .map_or_else(|| "panicked".to_owned(), |text| format!("panicked: {text}"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is a test failure")]
mod tests {
    use super::*;

    #[test]
    fn panic_message_is_returned_as_error() {
        let failed: Result<(), String> = catch_panic(|| panic!("no {}", 7));
        assert_eq!(failed, Err("panicked: no 7".to_owned()));
        assert_eq!(catch_panic(|| 1), Ok(1));
    }

    #[test]
    fn process_failures_are_described() {
        let panic = "thread 'main' panicked at src/merge.rs:289:9:\nnot implemented: if\nnote: run with";
        assert_eq!(describe_failure(panic, ""), "panicked: not implemented: if");
        let overflow = "\nthread 'main' has overflowed its stack\nfatal runtime error";
        assert_eq!(describe_failure(overflow, "signal: 6"), "stack overflow");
        assert_eq!(describe_failure("", "signal: 9 (SIGKILL)"), "failed with signal: 9 (SIGKILL)");
    }

    /// The child closes its output and waits for input.
    #[test]
    fn child_is_killed_at_the_deadline() {
        let start_waiting_child =
            || Command::new("rustc").arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut child = start_waiting_child();
        assert_eq!(wait_until(&mut child, Instant::now()).unwrap(), None);
        assert!(child.try_wait().unwrap().is_some(), "the child is still running");
        let mut child = start_waiting_child();
        child.kill().unwrap();
        let status = wait_until(&mut child, Instant::now() + DEFAULT_TIMEOUT).unwrap();
        assert!(
            status.is_some_and(|status| !status.success()),
            "the exit status of the child is not returned"
        );
    }

    #[test]
    fn generators_run_in_process() {
        let runner = GeneratorRunner::in_process();
        let generated =
            runner.run_typify(json!({ "definitions": { "a-b": { "type": "string", "maxLength": 3 } } }));
        let generated = generated.unwrap();
        assert_eq!(generated.types["a-b"], "AB");
        assert!(generated.code.contains("longer than 3"), "{}", generated.code);
        let rejected =
            runner.run_typify(json!({ "definitions": { "A": { "type": "string", "enum": ["a", "A"] } } }));
        assert!(rejected.unwrap_err().starts_with("panicked: "));
        let document = json!({ "openapi": "3.0.3", "info": { "title": "", "version": "" }, "paths": {
            "/a": { "get": { "operationId": "read", "responses": { "204": { "description": "" } } } },
        }});
        assert!(runner.run_progenitor(&document, &[]).unwrap().contains("fn read"));
    }
}
