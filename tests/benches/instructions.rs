//! Counts the instructions of one step of validation with `valgrind --tool=callgrind`. The count does not
//! depend on the load of the machine.
//!
//! ```text
//! cargo bench -p exchange-tests --bench instructions --no-run      prints the path of PROGRAM
//! valgrind --tool=callgrind --toggle-collect='*counted*' PROGRAM STEP DOCUMENT
//! ```
//!
//! | STEP | measures |
//! |---|---|
//! | `tables` | the validation tables on a parsed, valid document |
//! | `typed` | `is_valid` of the generated type on a parsed, valid document |
//! | `jsonschema` | the `jsonschema` crate on a parsed, valid document |
//! | `parse` | parsing a valid document into the generated type |
//! | `refuse` | parsing and validating an invalid document with the generated type |
//! | `refuse-jsonschema` | parsing and validating an invalid document with the `jsonschema` crate |
//! | `derive` | parsing into types with derived `Deserialize`; only for the document `set` |
//!
//! DOCUMENT is `set`, `page` or `tombstones`.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a panic ends the benchmark")]

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
    // `cargo bench` runs this program without arguments; then it prints nothing.
    let [step, document] = words.as_slice() else { return };
    match (step.as_str(), document.as_str()) {
        ("derive", "set") => derive(),
        (step, "set") => run::<ChangeSet>(step),
        (step, "page") => run::<Page>(step),
        (step, "tombstones") => run::<Tombstones>(step),
        (_, other) => panic!("no document {other}"),
    }
}

/// Measures parsing with types that do not validate.
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

/// Runs the step twice, so that one-time initialization is complete; `--toggle-collect` measures the second
/// run.
fn measured(step: impl Fn()) {
    step();
    counted(&step);
}

#[inline(never)]
fn counted(step: &dyn Fn()) {
    black_box(step)();
}
