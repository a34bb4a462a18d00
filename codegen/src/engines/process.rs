//! The runs of other generators: as processes of their own, so that what panics, overflows its stack
//! or never ends takes nothing along.
//!
//! The process is the command itself with a hidden subcommand, which calls [`serve`]: a request on
//! its standard input, an answer on its standard output.

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

use progenitor_impl::{GenerationSettings, Generator};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use typify_impl::{TypeSpace, TypeSpaceSettings};

use crate::stack::deep;

/// The hidden subcommand.
pub const SUBCOMMAND: &str = "engine";

/// What is said of a run that took too long.
const NO_END: &str = "no end";
/// Runs without an end after which nothing more is asked.
const ENDLESS: usize = 3;

/// How long one run may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often a process that has said all is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(2);

/// Runs generators.
#[derive(Clone, Debug)]
pub struct Engines {
    /// What answers [`SUBCOMMAND`]; `None` for this process.
    program: Option<PathBuf>,
    patience: Duration,
}

/// What a generator is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "engine", rename_all = "lowercase")]
enum Request {
    /// Types of the `definitions` of a draft-07 document.
    Typify { document: Value },
    /// A client for an OpenAPI 3.0 document; components that are replaced, in order.
    Progenitor { document: Value, replaced: Vec<String> },
}

/// What it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Made {
    /// Rust.
    pub(super) code: String,
    /// The Rust type of each definition.
    pub(super) types: BTreeMap<String, String>,
    /// Why there is nothing.
    refused: Option<String>,
}

impl Engines {
    /// Each run is a process of a program that answers [`SUBCOMMAND`] with [`serve`].
    #[must_use]
    pub const fn of(program: PathBuf) -> Self {
        Self { program: Some(program), patience: PATIENCE }
    }

    /// All runs are in this process, where a panic is caught unless panics abort, and no run is ended.
    #[must_use]
    pub const fn here() -> Self {
        Self { program: None, patience: PATIENCE }
    }

    /// No run may take longer.
    #[must_use]
    pub fn within(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What progenitor makes of an OpenAPI 3.0 document whose components are replaced by `Lowered0`,
    /// `Lowered1` and so on.
    ///
    /// # Errors
    /// What it says, in one sentence; a panic's message too.
    pub(super) fn progenitor(&self, document: &Value, replaced: &[String]) -> Result<String, String> {
        let request = Request::Progenitor { document: document.clone(), replaced: replaced.to_vec() };
        self.ask(request).map(|made| made.code)
    }

    /// What typify makes of the `definitions` of a draft-07 document.
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

/// Runs without an end, of which only a few are waited for.
#[derive(Debug, Default)]
pub(super) struct Endless(usize);

impl Endless {
    /// The same answer, counted.
    pub(super) fn hear<T>(&mut self, answer: Result<T, String>) -> Result<T, String> {
        self.0 += usize::from(answer.as_ref().is_err_and(|reason| reason.starts_with(NO_END)));
        answer
    }

    /// Whether there were too many, in the words of a refusal.
    pub(super) fn refusal(&self) -> Option<String> {
        (self.0 >= ENDLESS).then(|| format!("not asked: {ENDLESS} runs had no end"))
    }
}

/// One request, answered; the exit code is that of the process.
#[must_use]
pub fn serve() -> u8 {
    let read = || -> Result<Request, String> {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| error.to_string())?;
        serde_json::from_str(&text).map_err(|error| error.to_string())
    };
    let made = match read() {
        Ok(request) => deep(|| answer(request)),
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

/// Runs the program: what it prints, if it ends well and in time.
fn run(program: &PathBuf, request: String, patience: Duration) -> Result<String, String> {
    let child = Command::new(program)
        .arg(SUBCOMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    // Threads of their own: a full pipe would stop the process, and it is waited for with an end.
    let input = child.stdin.take();
    thread::spawn(move || input.map(|mut input| input.write_all(request.as_bytes())));
    let (said, complaint) = (told(child.stdout.take()), told(child.stderr.take()));
    let end = Instant::now() + patience;
    let said = said.recv_timeout(patience);
    // What has closed its output need not end, nor what it started.
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

/// How a process ends; `None` for one that has not by then, and is ended.
fn ended(child: &mut Child, by: Instant) -> io::Result<Option<ExitStatus>> {
    loop {
        match child.try_wait()? {
            Some(status) => return Ok(Some(status)),
            None if Instant::now() < by => thread::sleep(PAUSE),
            None => break,
        }
    }
    // It may have ended just now.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// All that comes out of a pipe, once it is closed.
fn told(pipe: Option<impl Read + Send + 'static>) -> mpsc::Receiver<String> {
    let (sender, told) = mpsc::channel();
    thread::spawn(move || sender.send(pipe.map(text).unwrap_or_default()));
    told
}

fn text(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What came before an error is what there is.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a process said of its end: a panic's message, or how the system puts it.
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

/// Calls what may panic; the panic's message comes back.
fn caught<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    // Everything that `call` may leave half-changed was made for it and is dropped.
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

    /// A process that has said all that it will ever say, and stays.
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
