//! `faults`: what can happen to a client, and the tests that show what becomes of it, by the table of
//! exchange/client/e2e/faults.md.

use std::{collections::BTreeSet, path::Path, time::Duration};

use crate::{
    Verdict,
    cli::TestArgs,
    style::{complain, progress},
    test,
};

/// Where the table is.
pub(crate) const TABLE: &str = "exchange/client/e2e/faults.md";

/// As long as all of them may take, on a machine that does nothing else: in virtual time nobody waits.
const LONGEST: Duration = Duration::from_secs(60);

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
    let (verdict, took) = test::timed(&TestArgs { args: arguments(&names) }, root);
    progress("faults", &told(took));
    verdict
}

/// What is said of tests that took so long; how fast a machine is decides no verdict.
fn told(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match took > LONGEST {
        true => format!(
            "the tests took {seconds:.1} s, more than a minute: unless this machine is busy, one of them waits"
        ),
        false => format!("the tests took {seconds:.1} s"),
    }
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
    fn more_than_a_minute_is_said() {
        assert_eq!(told(LONGEST), "the tests took 60.0 s");
        assert!(told(Duration::from_millis(60_100)).contains("60.1 s, more than a minute"));
    }

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
