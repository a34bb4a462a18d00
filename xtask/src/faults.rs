//! `faults`: runs the tests for client faults, which the table in exchange/client/e2e/faults.md lists.

use std::{collections::BTreeSet, path::Path, time::Duration};

use crate::{
    CommandOutcome,
    cli::TestArgs,
    style::{report_error, report_progress},
    test,
};

pub(crate) const FAULT_TABLE: &str = "exchange/client/e2e/faults.md";

/// The expected duration of all tests on an idle machine. They use virtual time and do not wait.
const EXPECTED_DURATION: Duration = Duration::from_secs(60);

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FaultRow<'t> {
    /// The number of the fault in the table, starting at 1.
    pub(crate) number: usize,
    pub(crate) line: usize,
    pub(crate) tests: Vec<(&'t str, &'t str)>,
}

/// Parses the rows of the table, in document order.
pub(crate) fn parse_rows(text: &str) -> Vec<FaultRow<'_>> {
    let row = |(line, text): (usize, _)| {
        let mut cells = str::split(text, '|').map(str::trim);
        let (Some(""), Some(number)) = (cells.next(), cells.next()) else { return None };
        let tests = cells.nth(2)?.split('`').filter_map(|test| test.split_once("::"));
        Some(FaultRow { number: number.parse().ok()?, line: line + 1, tests: tests.collect() })
    };
    text.lines().enumerate().filter_map(row).collect()
}

pub(crate) fn run(root: &Path) -> CommandOutcome {
    let text = match std::fs::read_to_string(root.join(FAULT_TABLE)) {
        Ok(text) => text,
        Err(error) => {
            report_error(&format!("cannot read {FAULT_TABLE}: {error}"));
            return CommandOutcome::NotRun;
        }
    };
    let faults = parse_rows(&text);
    let names = test_names(&faults);
    report_progress("faults", &format!("{} faults, {} tests", faults.len(), names.len()));
    let (verdict, took) = test::run_timed(&TestArgs { args: runner_arguments(&names) }, root);
    report_progress("faults", &describe_duration(took));
    verdict
}

/// Describes the duration of the tests. It has no effect on the result, because machines differ in speed.
fn describe_duration(took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match took > EXPECTED_DURATION {
        true => format!(
            "the tests took {seconds:.1} s, more than a minute: one of them may wait in real time, unless this machine is busy"
        ),
        false => format!("the tests took {seconds:.1} s"),
    }
}

fn test_names<'t>(faults: &[FaultRow<'t>]) -> BTreeSet<&'t str> {
    faults.iter().flat_map(|fault| &fault.tests).map(|(_, name)| *name).collect()
}

/// Returns the arguments of the test runner. The names follow `--`, because cargo itself accepts only one
/// name.
fn runner_arguments(names: &BTreeSet<&str>) -> Vec<String> {
    ["--"].into_iter().chain(names.iter().copied()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_run_is_reported() {
        assert_eq!(describe_duration(EXPECTED_DURATION), "the tests took 60.0 s");
        assert!(describe_duration(Duration::from_millis(60_100)).contains("60.1 s, more than a minute"));
    }

    #[test]
    fn fault_rows_are_parsed() {
        let text = "# Faults\n\n| # | fault | expected | tests |\n|---|---|---|---|\n| 1 | a | b | `x/a.rs::one` `x/b.rs::two` |\n| 2 | c | `d` | `x/a.rs::one` |\n";
        let faults = parse_rows(text);
        assert_eq!(
            faults,
            [
                FaultRow { number: 1, line: 5, tests: vec![("x/a.rs", "one"), ("x/b.rs", "two")] },
                FaultRow { number: 2, line: 6, tests: vec![("x/a.rs", "one")] },
            ]
        );
        assert_eq!(runner_arguments(&test_names(&faults)), ["--", "one", "two"]);
    }
}
