//! Validates values with the generated types and tables of the suite's schemas.
//!
//! Reads lines with the number of a schema and a value, and prints one line of JSON for each. It does not
//! know the expected results: `cargo xtask suite` compares them. With the argument `across`, it reads lines
//! with only a value, validates each value with every schema, and prints the values for which tables and
//! types disagree.

mod check;
mod table;

use std::{
    env,
    io::{self, BufRead as _, Write as _},
};

/// The stack size of the worker thread in bytes: enough for deeply nested values.
const STACK: usize = 64 << 20;

fn main() -> io::Result<()> {
    let work = if env::args().nth(1).as_deref() == Some("across") { across } else { answer };
    let worker = std::thread::Builder::new().stack_size(STACK).spawn(work)?;
    worker.join().unwrap_or_else(|_| Err(io::Error::other("a check panicked")))
}

fn answer() -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (number, value) = line.split_once(' ').ok_or(io::ErrorKind::InvalidInput)?;
        let group = number.parse().ok().and_then(|number: usize| table::GROUPS.get(number));
        let group = group.ok_or(io::ErrorKind::InvalidInput)?;
        writeln!(out, "{}", group.ask(value.as_bytes()))?;
    }
    out.flush()
}

/// Prints each disagreement as a line with the number of the schema and the value, and a line with the
/// results. The last line is the number of comparisons.
fn across() -> io::Result<()> {
    let values: Vec<String> = io::stdin().lock().lines().collect::<Result<_, _>>()?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    for (number, group) in table::GROUPS.iter().enumerate() {
        for value in &values {
            if !group.agrees(value.as_bytes()) {
                writeln!(out, "{number} {value}\n{}", group.ask(value.as_bytes()))?;
            }
        }
    }
    writeln!(out, "{}", table::GROUPS.len() * values.len())?;
    out.flush()
}
