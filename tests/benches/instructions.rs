//! One measured step, done once, for `valgrind --tool=callgrind`, which counts instructions: the same
//! number on a machine that is busy as on one that is not:
//! `cargo bench -p exchange-tests --bench instructions --no-run` says where the program is, then
//! `valgrind --tool=callgrind --toggle-collect='*counted*' PROGRAM tables set`.
//!
//! `instructions STEP DOCUMENT`, where the step is one of `tables`, `typed`, `jsonschema`, `refuse`,
//! `refuse-jsonschema`, `parse` and `derive`, and the document `set`, `page` or `tombstones`.

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
    // Without a step it is one of all benchmarks, and has nothing to say.
    let [step, document] = words.as_slice() else { return };
    match document.as_str() {
        "set" => run::<ChangeSet>(step),
        "page" => run::<Page>(step),
        "tombstones" => run::<Tombstones>(step),
        other => panic!("no document {other}"),
    }
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
            let (validator, value) = (oracle(&validator.location()), serde_json::from_str(&text).unwrap());
            measured(|| assert!(validator.is_valid(black_box(&value))));
        }
        "refuse" => measured(|| assert!(D::Type::parse_valid(black_box(broken.as_bytes())).is_err())),
        "refuse-jsonschema" => {
            let validator = oracle(&validator.location());
            measured(|| assert!(errors(&validator, black_box(broken.as_bytes())).len() >= 500));
        }
        "parse" => measured(|| assert!(D::Type::parse(black_box(text.as_bytes())).is_ok())),
        "derive" => measured(|| {
            assert!(serde_json::from_slice::<derived::PlainChangeSet>(black_box(text.as_bytes())).is_ok());
        }),
        other => panic!("no step {other}"),
    }
}

/// Done twice, so that what is made once is there; the second time is what `--toggle-collect` sees.
fn measured(step: impl Fn()) {
    step();
    counted(&step);
}

#[inline(never)]
fn counted(step: &dyn Fn()) {
    black_box(step)();
}
