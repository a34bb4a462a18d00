//! Comparing large contracts: what is the same, and what changed here and there.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot go on stops")]

#[path = "../tests/drift/large.rs"]
mod large;

use contract_codegen::drift::{Options, Version, compare};

const SCHEMAS: usize = 15_000;

fn main() {
    divan::main();
}

fn version(limit: usize) -> Version {
    Version::from_texts(&[("openapi.json", "", &large::contract(SCHEMAS, limit))]).unwrap()
}

/// Reading and resolving one of them.
#[divan::bench(sample_count = 5)]
fn read(bencher: divan::Bencher<'_, '_>) {
    let text = large::contract(SCHEMAS, 50);
    bencher.bench(|| Version::from_texts(&[("openapi.json", "", &text)]).unwrap());
}

/// Two readings of one document.
#[divan::bench(sample_count = 5)]
fn identical(bencher: divan::Bencher<'_, '_>) {
    let (old, new) = (version(50), version(50));
    bencher.bench(|| compare(&old, &new, &Options::default()));
}

/// 150 of 15,000 schemas changed, each with a proof; every operation reaches all of them.
#[divan::bench(sample_count = 5)]
fn changed(bencher: divan::Bencher<'_, '_>) {
    let (old, new) = (version(50), version(40));
    bencher.bench(|| compare(&old, &new, &Options::default()));
}
