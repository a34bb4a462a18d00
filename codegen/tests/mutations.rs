//! Tests with mutated contracts: for any document, the generator returns code or an error with a location,
//! and never panics.
//!
//! The documents are those of `cases/` and of the exchange, with changes at random locations. A seed number
//! determines each document. `MUTATION=4711` tests and prints a single document, and `MUTATIONS=100000` tests
//! more documents than the default. `cargo run -p contract-codegen --example mutants` compiles the output.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "tests panic on failure")]

#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/mutants.rs"]
mod mutants;
#[path = "harness/mutate.rs"]
mod mutate;
#[path = "harness/split_mix.rs"]
mod split_mix;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Instant,
};

use contract_codegen::diagnostics::Severity;
use contract_runtime::Json;

use mutants::{document, generate, seeds};

/// The number of documents that are tested by default.
const DEFAULT_DOCUMENTS: u64 = 10_000;

/// The stack size of the test threads in bytes, a quarter of the usual stack of a main thread. It must
/// suffice for any nesting depth.
const STACK_SIZE: usize = 2 << 20;

/// The allowed results for a document.
enum Verdict {
    Generated,
    Rejected,
}

/// Generates code from a document. Returns an error if the result is not allowed.
fn check_document(text: &str) -> Result<Verdict, String> {
    match catch_unwind(AssertUnwindSafe(|| generate(text))) {
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|m| (*m).to_owned()));
            Err(format!("panic: {}", message.unwrap_or_default()))
        }
        // Invalid Rust code is reported as an error with the code `internal`.
        Ok(Ok(generated)) if generated.files.iter().next().is_none() => Err("no files".to_owned()),
        Ok(Ok(_)) => Ok(Verdict::Generated),
        Ok(Err(problems)) => {
            let mut errors = problems.iter().filter(|d| d.severity == Severity::Error).peekable();
            if errors.peek().is_none() {
                return Err("rejected without an error".to_owned());
            }
            match errors.find(|d| d.code == "internal" || d.place.is_none()) {
                Some(bad) => Err(format!("{}: {} (place: {})", bad.code, bad.message, bad.place.is_some())),
                None => Ok(Verdict::Rejected),
            }
        }
    }
}

/// The results for many documents: each failure has the size and the number of the smallest document that
/// causes it.
#[derive(Default)]
struct Outcome {
    generated: u64,
    rejected: u64,
    failures: BTreeMap<String, (usize, u64)>,
}

/// Tests documents on all processors.
fn check_documents(numbers: std::ops::Range<u64>, seeds: &[Json]) -> Outcome {
    let next = AtomicU64::new(numbers.start);
    let outcome = Mutex::new(Outcome::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            let text = document(number, seeds);
            // A stack overflow aborts the process and prints only the name of the thread.
            let builder = thread::Builder::new().name(format!("MUTATION={number}")).stack_size(STACK_SIZE);
            let verdict =
                thread::scope(|scope| builder.spawn_scoped(scope, || check_document(&text)).unwrap().join());
            let verdict = verdict.unwrap();
            let mut outcome = outcome.lock().unwrap();
            match verdict {
                Ok(Verdict::Generated) => outcome.generated += 1,
                Ok(Verdict::Rejected) => outcome.rejected += 1,
                Err(failure) => {
                    let smallest = outcome.failures.entry(failure).or_insert((usize::MAX, 0));
                    *smallest = (*smallest).min((text.len(), number));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    outcome.into_inner().unwrap()
}

fn read_variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

#[test]
fn mutated_documents_yield_code_or_a_located_error() {
    let seeds = seeds();
    let start = Instant::now();
    let numbers = match read_variable("MUTATION") {
        Some(number) => {
            eprintln!("{}", document(number, &seeds));
            number..number + 1
        }
        None => 0..read_variable("MUTATIONS").unwrap_or(DEFAULT_DOCUMENTS),
    };
    let count = numbers.end - numbers.start;
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = check_documents(numbers, &seeds);
    let _ = std::panic::take_hook();
    eprintln!("{} generated, {} rejected in {:?}", outcome.generated, outcome.rejected, start.elapsed());
    let failures: Vec<String> = outcome
        .failures
        .iter()
        .map(|(failure, (_, number))| {
            format!("{failure}\n    MUTATION={number}\n    {}", document(*number, &seeds))
        })
        .collect();
    assert!(failures.is_empty(), "{} kinds of failure\n{}", failures.len(), failures.join("\n"));
    // Both results must be frequent; otherwise the documents would be of little use.
    assert!(count == 1 || outcome.generated.min(outcome.rejected) > count / 10);
}
