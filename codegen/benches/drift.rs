//! Benchmarks of the comparison of two versions of a large contract.

#![allow(clippy::unwrap_used, reason = "benchmarks panic on failure")]

#[path = "../tests/drift/large.rs"]
mod large;

use contract_codegen::drift::{CompareOptions, ContractVersion, compare};

const SCHEMAS: usize = 15_000;

fn main() {
    divan::main();
}

fn version(limit: usize) -> ContractVersion {
    ContractVersion::from_strings(&[("openapi.json", "", &large::contract(SCHEMAS, limit))]).unwrap()
}

/// Reads and resolves one version.
#[divan::bench(sample_count = 5)]
fn read(bencher: divan::Bencher<'_, '_>) {
    let text = large::contract(SCHEMAS, 50);
    bencher.bench(|| ContractVersion::from_strings(&[("openapi.json", "", &text)]).unwrap());
}

/// Compares two equal versions.
#[divan::bench(sample_count = 5)]
fn identical(bencher: divan::Bencher<'_, '_>) {
    let (old, new) = (version(50), version(50));
    bencher.bench(|| compare(&old, &new, &CompareOptions::default()));
}

/// Compares versions in which 150 of 15,000 schemas changed. The effect of each change requires a proof, and
/// every operation uses all schemas.
#[divan::bench(sample_count = 5)]
fn changed(bencher: divan::Bencher<'_, '_>) {
    let (old, new) = (version(50), version(40));
    bencher.bench(|| compare(&old, &new, &CompareOptions::default()));
}
