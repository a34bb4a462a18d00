//! Contracts that somebody spoilt: whatever stands in a document, the generator gives output or
//! says what is wrong and where. It never panics, and never fails without a place.
//!
//! The documents are those of `cases/` and the exchange's own, changed at random places. Each
//! has a number, which alone decides what it is: `MUTATION=4711` tries that one and prints it,
//! `MUTATIONS=100000` tries more than usual. That the output compiles is asked by
//! `cargo run -p contract-codegen --example mutants`.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs, reason = "a test that cannot go on fails")]

#[allow(dead_code, reason = "shared with the tests of the cases")]
#[path = "harness/folder.rs"]
mod folder;
#[path = "harness/mutants.rs"]
mod mutants;
#[path = "harness/mutate.rs"]
mod mutate;

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

/// How many documents are tried.
const WANTED: u64 = 10_000;

/// A quarter of what a main thread has: nothing may need more, however deep a document is.
const STACK: usize = 2 << 20;

/// How a document may be treated.
enum Treated {
    Generated,
    Refused,
}

/// How a document was treated, or what is wrong with that.
fn treat(text: &str) -> Result<Treated, String> {
    match catch_unwind(AssertUnwindSafe(|| generate(text))) {
        Err(panic) => {
            let message = panic.downcast_ref::<String>().cloned();
            let message = message.or_else(|| panic.downcast_ref::<&str>().map(|m| (*m).to_owned()));
            Err(format!("panic: {}", message.unwrap_or_default()))
        }
        // What is no Rust is an error called `internal`.
        Ok(Ok(generated)) if generated.files.iter().next().is_none() => Err("no files".to_owned()),
        Ok(Ok(_)) => Ok(Treated::Generated),
        Ok(Err(problems)) => {
            let mut errors = problems.iter().filter(|d| d.severity == Severity::Error).peekable();
            if errors.peek().is_none() {
                return Err("refused without an error".to_owned());
            }
            match errors.find(|d| d.code == "internal" || d.place.is_none()) {
                Some(bad) => Err(format!("{}: {} (place: {})", bad.code, bad.message, bad.place.is_some())),
                None => Ok(Treated::Refused),
            }
        }
    }
}

/// The outcome of many documents: complaints with the number of the smallest document for each.
#[derive(Default)]
struct Outcome {
    generated: u64,
    refused: u64,
    complaints: BTreeMap<String, (usize, u64)>,
}

/// Tries the documents, on as many threads as there are processors.
fn try_all(numbers: std::ops::Range<u64>, seeds: &[Json]) -> Outcome {
    let next = AtomicU64::new(numbers.start);
    let outcome = Mutex::new(Outcome::default());
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= numbers.end {
                return;
            }
            let text = document(number, seeds);
            // A stack that overflows ends everything, and says only which thread it was.
            let named = thread::Builder::new().name(format!("MUTATION={number}")).stack_size(STACK);
            let treated = thread::scope(|scope| named.spawn_scoped(scope, || treat(&text)).unwrap().join());
            let treated = treated.unwrap();
            let mut outcome = outcome.lock().unwrap();
            match treated {
                Ok(Treated::Generated) => outcome.generated += 1,
                Ok(Treated::Refused) => outcome.refused += 1,
                Err(complaint) => {
                    let smallest = outcome.complaints.entry(complaint).or_insert((usize::MAX, 0));
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

fn variable(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|number| number.parse().unwrap())
}

#[test]
fn spoilt_documents_give_output_or_a_place() {
    let seeds = seeds();
    let start = Instant::now();
    let numbers = match variable("MUTATION") {
        Some(number) => {
            eprintln!("{}", document(number, &seeds));
            number..number + 1
        }
        None => 0..variable("MUTATIONS").unwrap_or(WANTED),
    };
    let tried = numbers.end - numbers.start;
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = try_all(numbers, &seeds);
    let _ = std::panic::take_hook();
    eprintln!("{} generated, {} refused in {:?}", outcome.generated, outcome.refused, start.elapsed());
    let list: Vec<String> = outcome
        .complaints
        .iter()
        .map(|(what, (_, number))| {
            format!("{what}\n    MUTATION={number}\n    {}", document(*number, &seeds))
        })
        .collect();
    assert!(list.is_empty(), "{} kinds of failure\n{}", list.len(), list.join("\n"));
    // Both happen, or the documents say nothing.
    assert!(tried == 1 || outcome.generated.min(outcome.refused) > tried / 10);
}
