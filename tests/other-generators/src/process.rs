//! Runs the other generators in separate processes, so that a panic, a stack overflow or an endless loop in
//! one of them cannot affect this process.
//!
//! The child process is the command itself with a hidden subcommand that calls [`serve`]. It reads one
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

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "engine";

/// Prefix of the error for a run that exceeded its timeout.
const NO_END: &str = "no end";
/// Number of timeouts after which no further runs are started.
const ENDLESS: usize = 3;

/// Default timeout of one run.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval at which a child process that has closed its output is polled for its exit status.
const PAUSE: Duration = Duration::from_millis(2);

/// A runner for the other generators.
#[derive(Clone, Debug)]
pub struct Engines {
    /// The program that implements [`SUBCOMMAND`]; `None` runs the generators in this process.
    program: Option<PathBuf>,
    patience: Duration,
}

/// A request to a generator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
enum Request {
    /// Generate types for the `definitions` of a draft-07 document.
    Typify { document: Value },
    /// Generate a client for an OpenAPI 3.0 document. `replaced` lists the components to replace, in order.
    Progenitor { document: Value, replaced: Vec<String> },
}

/// The response of a generator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Made {
    /// The generated Rust code.
    pub(super) code: String,
    /// The Rust type of each definition.
    pub(super) types: BTreeMap<String, String>,
    /// The error, if the generator failed.
    refused: Option<String>,
}

impl Engines {
    /// Creates a runner that starts one process per run. The program must call [`serve`] for [`SUBCOMMAND`].
    #[must_use]
    pub const fn of(program: PathBuf) -> Self {
        Self { program: Some(program), patience: PATIENCE }
    }

    /// Creates a runner that uses this process. Panics are caught unless the build aborts on panic; timeouts
    /// do not apply.
    #[must_use]
    pub const fn here() -> Self {
        Self { program: None, patience: PATIENCE }
    }

    /// Sets the timeout of each run.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Generates progenitor's client for an OpenAPI 3.0 document whose components are replaced by `Lowered0`,
    /// `Lowered1` and so on.
    ///
    /// # Errors
    /// Returns progenitor's error in one sentence, or its panic message.
    pub(super) fn progenitor(&self, document: &Value, replaced: &[String]) -> Result<String, String> {
        let request = Request::Progenitor { document: document.clone(), replaced: replaced.to_vec() };
        self.ask(request).map(|made| made.code)
    }

    /// Generates typify's types for the `definitions` of a draft-07 document.
    ///
    /// # Errors
    /// As [`Engines::progenitor`].
    pub(super) fn typify(&self, document: Value) -> Result<Made, String> {
        self.ask(Request::Typify { document })
    }

    fn ask(&self, request: Request) -> Result<Made, String> {
        let made = match &self.program {
            Some(program) => {
                let text = serde_json::to_string(&request).map_err(|error| error.to_string())?;
                let answer = run(program, text, self.patience)?;
                serde_json::from_str(&answer).map_err(|error| format!("its answer is unreadable: {error}"))?
            }
            None => caught(|| answer(request))?,
        };
        match made.refused {
            Some(reason) => Err(reason),
            None => Ok(made),
        }
    }
}

/// A counter of timeouts that limits how many runs may time out.
#[derive(Debug, Default)]
pub(super) struct Endless(usize);

impl Endless {
    /// Counts the result if it is a timeout, and returns it unchanged.
    pub(super) fn hear<T>(&mut self, answer: Result<T, String>) -> Result<T, String> {
        self.0 += usize::from(answer.as_ref().is_err_and(|reason| reason.starts_with(NO_END)));
        answer
    }

    /// Returns the reason for a rejection if the limit of timeouts is reached.
    pub(super) fn refusal(&self) -> Option<String> {
        (self.0 >= ENDLESS).then(|| format!("not asked: {ENDLESS} runs had no end"))
    }
}

/// Handles one request from standard input and returns the exit code of the process.
#[must_use]
pub fn serve() -> u8 {
    let read = || -> Result<Request, String> {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let made = match read() {
        Ok(request) => run_on_deep_stack(|| answer(request)),
        Err(error) => Made { refused: Some(error), ..Made::default() },
    };
    let text = serde_json::to_string(&made).unwrap_or_default();
    u8::from(io::stdout().write_all(text.as_bytes()).is_err())
}

fn answer(request: Request) -> Made {
    let made = match request {
        Request::Typify { document } => typify(&document),
        Request::Progenitor { document, replaced } => progenitor(document, &replaced),
    };
    made.unwrap_or_else(|refused| Made { refused: Some(refused), ..Made::default() })
}

fn typify(document: &Value) -> Result<Made, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let mut space = TypeSpace::new(&TypeSpaceSettings::default());
    let definitions: BTreeMap<String, _> =
        serde_json::from_value(document["definitions"].clone()).map_err(|error| words(&error))?;
    let names: Vec<String> = definitions.keys().cloned().collect();
    space.add_ref_types(definitions).map_err(|error| words(&error))?;
    let mut types = BTreeMap::new();
    for name in names {
        let reference = serde_json::from_value(json!({ "$ref": format!("#/definitions/{name}") }));
        let id = space.add_type(&reference.map_err(|error| words(&error))?).map_err(|error| words(&error))?;
        let made = space.get_type(&id).map_err(|error| words(&error))?;
        types.insert(name, made.ident().to_string());
    }
    Ok(Made { code: space.to_stream().to_string(), types, refused: None })
}

fn progenitor(document: Value, replaced: &[String]) -> Result<Made, String> {
    let document: openapiv3::OpenAPI = serde_json::from_value(document).map_err(|error| error.to_string())?;
    let mut settings = GenerationSettings::default();
    for (index, key) in replaced.iter().enumerate() {
        settings.with_replacement(key, format!("Lowered{index}"), std::iter::empty());
    }
    let tokens = Generator::new(&settings).generate_tokens(&document).map_err(|error| error.to_string())?;
    Ok(Made { code: tokens.to_string(), ..Made::default() })
}

/// Runs the program and returns its output if it succeeds within the timeout.
fn run(program: &PathBuf, request: String, patience: Duration) -> Result<String, String> {
    let child = Command::new(program)
        .arg(SUBCOMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    // Pipes are served by separate threads: a full pipe would block the child, and reading needs a timeout.
    let input = child.stdin.take();
    thread::spawn(move || input.map(|mut input| input.write_all(request.as_bytes())));
    let (said, complaint) = (told(child.stdout.take()), told(child.stderr.take()));
    let end = Instant::now() + patience;
    let said = said.recv_timeout(patience);
    // A child that closed its output may still be running, and so may processes that it started.
    let by = if said.is_ok() { end } else { Instant::now() };
    let status = ended(&mut child, by).map_err(|error| error.to_string())?;
    match (said, status) {
        (Ok(said), Some(status)) if status.success() => Ok(said),
        (Ok(_), Some(status)) => {
            let left = end.saturating_duration_since(Instant::now());
            let complaint = complaint.recv_timeout(left).unwrap_or_default();
            Err(last_words(&complaint, &status.to_string()))
        }
        (Err(_), _) | (_, None) => Err(format!("{NO_END} after {} s", patience.as_secs())),
    }
}

/// Waits for a child to exit until a deadline. Kills the child and returns `None` when the deadline passes.
fn ended(child: &mut Child, by: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() < by => thread::sleep(PAUSE),
            None => break,
        }
    }
    // The child may have exited in the meantime, so an error is ignored.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// Reads a pipe to its end in a separate thread and sends the content through the returned channel.
fn told(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, told) = mpsc::channel();
    thread::spawn(move || sender.send(pipe.map(text).unwrap_or_default()));
    told
}

fn text(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // On an error, the bytes read so far are returned.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Summarizes how a process failed: its panic message, or the system's description of the exit status.
fn last_words(complaint: &str, status: &str) -> String {
    if complaint.contains("overflowed its stack") {
        return "its stack overflows".to_owned();
    }
    let mut lines = complaint.lines().skip_while(|line| !line.contains("panicked at"));
    match lines.nth(1) {
        Some(message) => format!("it panics: {message}"),
        None => format!("it ends with {status}"),
    }
}

/// Calls a function and returns its panic message as an error if it panics.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Unwind safety: `call` only modifies values created for it, and these are dropped.
    panic::catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned())
            .map_or_else(|| "it panics".to_owned(), |text| format!("it panics: {text}"))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_reason() {
        let failed: Result<(), String> = caught(|| panic!("no {}", 7));
        assert_eq!(failed, Err("it panics: no 7".to_owned()));
        assert_eq!(caught(|| 1), Ok(1));
    }

    #[test]
    fn the_end_of_a_process_is_told_in_its_words() {
        let panic = "thread 'main' panicked at src/merge.rs:289:9:\nnot implemented: if\nnote: run with";
        assert_eq!(last_words(panic, ""), "it panics: not implemented: if");
        let overflow = "\nthread 'main' has overflowed its stack\nfatal runtime error";
        assert_eq!(last_words(overflow, "signal: 6"), "its stack overflows");
        assert_eq!(last_words("", "signal: 9 (SIGKILL)"), "it ends with signal: 9 (SIGKILL)");
    }

    /// A process that closed its output and keeps running is killed.
    #[test]
    fn what_does_not_end_is_ended() {
        let stays =
            || Command::new("rustc").arg("-").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut child = stays();
        assert_eq!(ended(&mut child, Instant::now()).unwrap(), None);
        assert!(child.try_wait().unwrap().is_some(), "it still runs");
        let mut child = stays();
        child.kill().unwrap();
        let status = ended(&mut child, Instant::now() + PATIENCE).unwrap();
        assert!(status.is_some_and(|status| !status.success()), "its own end was not waited for");
    }

    #[test]
    fn each_makes_what_it_is_asked_for() {
        let engines = Engines::here();
        let made = engines.typify(json!({ "definitions": { "a-b": { "type": "string", "maxLength": 3 } } }));
        let made = made.unwrap();
        assert_eq!(made.types["a-b"], "AB");
        assert!(made.code.contains("longer than 3"), "{}", made.code);
        let refused =
            engines.typify(json!({ "definitions": { "A": { "type": "string", "enum": ["a", "A"] } } }));
        assert!(refused.unwrap_err().starts_with("it panics: "));
        let document = json!({ "openapi": "3.0.3", "info": { "title": "", "version": "" }, "paths": {
            "/a": { "get": { "operationId": "read", "responses": { "204": { "description": "" } } } },
        }});
        assert!(engines.progenitor(&document, &[]).unwrap().contains("fn read"));
    }
}
