//! The whole contract of the exchange, from files to printed modules.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

use std::path::Path;

use contract_codegen::Project;

fn main() {
    divan::main();
}

fn project() -> Project {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../schemas/codegen.toml");
    Project::from_config(&file).unwrap()
}

#[divan::bench(sample_count = 20)]
fn read_and_decide() {
    divan::black_box(project().read().unwrap());
}

#[divan::bench(sample_count = 20)]
fn generate() {
    divan::black_box(project().generate().unwrap());
}
