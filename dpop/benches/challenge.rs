//! Parsing challenges: common lines, and lines that are built to be as expensive as possible.
//!
//! The cost of parsing should be linear in the length of the line: the throughput at 100 kB is the same as at
//! 1 kB.

#![allow(clippy::unwrap_used, reason = "a panic ends the benchmark")]

use divan::{Bencher, counter::BytesCount};
use dpop_bound::challenge::{Challenge, DpopChallenge};

const LENGTHS: [usize; 3] = [1_000, 10_000, 100_000];

fn main() {
    divan::main();
}

/// Lines that are expensive to parse: name, prefix, and a part that is repeated until the line has the
/// requested length. `#` in the part is replaced by a counter.
const HOSTILE: [(&str, &str, &str); 8] = [
    ("commas", "S", ", "),
    ("spaces", "S", " \t"),
    ("schemes", "S", "a,"),
    ("parameters", "S ", "a#=b,"),
    ("escapes", "S a=\"", "\\\""),
    ("open quotes", "", "a a=\"b, c d=\\\"e\", "),
    ("token68 that is none", "S ", "a ====,"),
    ("junk", "S ", "\"a\",=,a b c,"),
];

fn hostile(name: &str, length: usize) -> Vec<u8> {
    let (_, begin, part) = HOSTILE.iter().find(|(known, ..)| *known == name).unwrap();
    let mut line = String::from(*begin);
    let mut number = 0;
    while line.len() < length {
        line.push_str(&part.replace('#', &number.to_string()));
        number += 1;
    }
    line.truncate(length);
    line.into_bytes()
}

/// Parses each expensive line at each length.
#[divan::bench(args = HOSTILE.map(|(name, ..)| name), consts = LENGTHS)]
fn hostile_line<const LENGTH: usize>(bencher: Bencher<'_, '_>, name: &str) {
    let line = hostile(name, LENGTH);
    bencher
        .counter(BytesCount::of_slice(&line))
        .bench(|| Challenge::parse_lines([divan::black_box(line.as_slice())]));
}

#[divan::bench]
fn find_use_dpop_nonce() -> Option<DpopChallenge> {
    DpopChallenge::find_in_headers(divan::black_box([
        br#"DPoP algs="ES256", error="use_dpop_nonce""#.as_slice()
    ]))
}

#[divan::bench]
fn write_use_dpop_nonce() -> String {
    DpopChallenge::use_nonce().to_string()
}
