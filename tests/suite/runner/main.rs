//! Validates values with the generated types and tables of the suite's schemas.
//!
//! `cargo xtask suite` compiles this program with the generated module `table`, and compares its output with
//! the expected results of the suite.
//!
//! Without an argument, each input line has the number of a schema and a value; the program prints one line
//! of JSON with the results for each. With the argument `compare-all`, each input line has only a value; the
//! program validates it with every schema, and prints the values for which tables and types disagree.

mod check;
mod table;

use std::{
    env,
    io::{self, BufRead as _, Write as _},
};

/// The stack size of the worker thread in bytes: enough for deeply nested values.
const WORKER_STACK_BYTES: usize = 64 << 20;

fn main() -> io::Result<()> {
    let work = if env::args().nth(1).as_deref() == Some("compare-all") { compare_all } else { validate_lines };
    let worker = std::thread::Builder::new().stack_size(WORKER_STACK_BYTES).spawn(work)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("a check panicked")))
}

fn validate_lines() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (number, value) = line.split_once(' ').ok_or(io::ErrorKind::InvalidInput)?;
        let group = number.parse().ok().and_then(|number: usize| table::GROUPS.get(number));
        let group = group.ok_or(io::ErrorKind::InvalidInput)?;
        writeln!(out, "{}", group.validate(value.as_bytes()))?;
    }
    out.flush()
}

/// Prints each disagreement as a line with the number of the schema and the value, and a line with the
/// results. The last line is the number of comparisons.
fn compare_all() -> io::Result<()> {
    let values: Vec<String> = io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, group) in table::GROUPS.iter().enumerate() {
        for value in &values {
            if !group.agrees(value.as_bytes()) {
                writeln!(out, "{number} {value}\n{}", group.validate(value.as_bytes()))?;
            }
        }
    }
    writeln!(out, "{}", table::GROUPS.len() * values.len())?;
    out.flush()
}
