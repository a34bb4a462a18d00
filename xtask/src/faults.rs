//! `faults`: what can happen to a client, and the tests that show what becomes of it, by the table of
//! client/e2e/faults.md.

use std::{collections::BTreeSet, path::Path};

use crate::{
    Verdict,
    cli::TestArgs,
    style::{complain, progress},
    test,
};

/// Where the table is.
pub(crate) const TABLE: &str = "client/e2e/faults.md";

/// One row of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault<'t> {
    /// Counted from 1.
    pub(crate) number: usize,
    /// Where it stands.
    pub(crate) line: usize,
    /// Files and the functions in them.
    pub(crate) tests: Vec<(&'t str, &'t str)>,
}

/// The rows of the table, in its order.
pub(crate) fn rows(text: &str) -> Vec<Fault<'_>> {
    let row = |(line, text): (usize, _)| {
        let mut cells = str::split(text, '|').map(str::trim);
        let (Some(""), Some(number)) = (cells.next(), cells.next()) else { return None };
        let tests = cells.nth(2)?.split('`').filter_map(|test| test.split_once("::"));
        Some(Fault { number: number.parse().ok()?, line: line + 1, tests: tests.collect() })
    };
    text.lines().enumerate().filter_map(row).collect()
}

/// Runs the tests of all of them.
pub(crate) fn run(root: &Path) -> Verdict {
    let text = match std::fs::read_to_string(root.join(TABLE)) {
        Ok(text) => text,
        Err(error) => {
            complain(&format!("cannot read {TABLE}: {error}"));
            return Verdict::NotRun;
        }
    };
    let faults = rows(&text);
    let names = names(&faults);
    progress("faults", &format!("{} faults, {} tests", faults.len(), names.len()));
    test::run(&TestArgs { args: arguments(&names) }, root)
}

fn names<'t>(faults: &[Fault<'t>]) -> BTreeSet<&'t str> {
    faults.iter().flat_map(|fault| &fault.tests).map(|(_, name)| *name).collect()
}

/// cargo itself takes one name alone; what runs the tests takes all.
fn arguments(names: &BTreeSet<&str>) -> Vec<String> {
    ["--"].into_iter().chain(names.iter().copied()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_numbers_and_tests() {
        let text = "# Faults\n\n| # | fault | expected | tests |\n|---|---|---|---|\n| 1 | a | b | `x/a.rs::one` `x/b.rs::two` |\n| 2 | c | `d` | `x/a.rs::one` |\n";
        let faults = rows(text);
        assert_eq!(
            faults,
            [
                Fault { number: 1, line: 5, tests: vec![("x/a.rs", "one"), ("x/b.rs", "two")] },
                Fault { number: 2, line: 6, tests: vec![("x/a.rs", "one")] },
            ]
        );
        assert_eq!(arguments(&names(&faults)), ["--", "one", "two"]);
    }
}
