//! Asks the generated types and tables of the suite's schemas about values.
//!
//! Reads lines of a group's number and a value, answers each with a line of JSON. What is right
//! it does not know: `cargo xtask suite` compares. With the argument `across` it reads values
//! alone, tries each with every group, and answers where tables and types say different things.

mod check;
mod table;

use std::{
    env,
    io::{self, BufRead as _, Write as _},
};

/// Stack size in bytes: the suite contains values that are valid at any depth.
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

/// A line for each disagreement, with the number of a group before its result; at the end, the number of
/// checks.
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
