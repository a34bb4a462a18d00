//! One measured step, done once, for `valgrind --tool=callgrind`, which counts instructions: the same
//! number on a machine that is busy as on one that is not:
//! `cargo bench -p exchange-tests --bench instructions --no-run` says where the program is, then
//! `valgrind --tool=callgrind --toggle-collect='*counted*' PROGRAM tables set`.
//!
//! `instructions STEP DOCUMENT`, where the step is one of `tables`, `typed`, `jsonschema`, `refuse`,
//! `refuse-jsonschema` and `parse`, and the document `set`, `page` or `tombstones`; `derive set` is
//! there beside them, since the types without checks are those of a change set.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot go on stops")]

#[path = "validation/derived.rs"]
mod derived;
#[path = "validation/documents.rs"]
mod documents;
#[path = "validation/oracle.rs"]
mod oracle;

use std::hint::black_box;

use contract_runtime::{Contract, Json};
use documents::{ChangeSet, Document, Page, Tombstones};
use oracle::{errors, oracle};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    // Without a step it runs as part of all benchmarks and prints nothing.
    let [step, document] = words.as_slice() else { return };
    match (step.as_str(), document.as_str()) {
        ("derive", "set") => derive(),
        (step, "set") => run::<ChangeSet>(step),
        (step, "page") => run::<Page>(step),
        (step, "tombstones") => run::<Tombstones>(step),
        (_, other) => panic!("no document {other}"),
    }
}

/// What reading costs without the contract.
fn derive() {
    let text = ChangeSet::text();
    measured(|| {
        assert!(serde_json::from_slice::<derived::PlainChangeSet>(black_box(text.as_bytes())).is_ok());
    });
}

fn run<D: Document>(step: &str) {
    let (text, broken) = (D::text(), D::broken());
    let validator = D::Type::VALIDATOR;
    match step {
        "tables" => {
            let value = Json::parse(text.as_bytes()).unwrap();
            measured(|| assert!(validator.is_valid(black_box(&value))));
        }
        "typed" => {
            let value = D::Type::parse(text.as_bytes()).unwrap();
            measured(|| assert!(black_box(&value).is_valid()));
        }
        "jsonschema" => {
            let (validator, value) =
                (oracle(&validator.schema_location()), serde_json::from_str(&text).unwrap());
            measured(|| assert!(validator.is_valid(black_box(&value))));
        }
        "refuse" => measured(|| assert!(D::Type::parse_valid(black_box(broken.as_bytes())).is_err())),
        "refuse-jsonschema" => {
            let validator = oracle(&validator.schema_location());
            measured(|| assert!(errors(&validator, black_box(broken.as_bytes())).len() >= 500));
        }
        "parse" => measured(|| assert!(D::Type::parse(black_box(text.as_bytes())).is_ok())),
        other => panic!("no step {other} for this document"),
    }
}

/// Done twice, so that one-time initialization is complete; `--toggle-collect` measures the second run.
fn measured(step: impl Fn()) {
    step();
    counted(&step);
}

#[inline(never)]
fn counted(step: &dyn Fn()) {
    black_box(step)();
}
