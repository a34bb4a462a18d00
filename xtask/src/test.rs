//! `test`: runs all tests of the workspace, with or without cargo-nextest.
//!
//! The output of the runner is passed through. Its summary lines are parsed, so that a run without any tests
//! is reported as a failure.

use std::{
    io::{self, BufRead as _, BufReader, IsTerminal as _, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    CommandOutcome,
    cli::TestArgs,
    style::{FAILURE, SUCCESS, format_count, report_error},
};

/// The flags of every build of the workspace. They are the same everywhere, so that nothing is built twice.
pub(crate) const WORKSPACE_FLAGS: [&str; 2] = ["--workspace", "--all-features"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestRunner {
    /// `cargo nextest run`: runs all tests in parallel, without documentation tests.
    Nextest,
    /// `cargo test`: runs one test binary after the other, and then the documentation tests.
    Cargo,
    /// `cargo test --doc`: runs only the documentation tests.
    DocTests,
}

/// The numbers of tests and their total duration, from the summary lines of the runner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// The duration of the tests, without the build.
    duration: Duration,
}

pub(crate) fn run(args: &TestArgs, root: &Path) -> CommandOutcome {
    run_timed(args, root).0
}

/// Runs the tests. Also returns their duration without the build.
pub(crate) fn run_timed(args: &TestArgs, root: &Path) -> (CommandOutcome, Duration) {
    let start = Instant::now();
    let mut runs = vec![if has_nextest(root) { TestRunner::Nextest } else { TestRunner::Cargo }];
    if runs == [TestRunner::Nextest] && args.args.is_empty() {
        runs.push(TestRunner::DocTests);
    }
    let mut total = TestCounts::default();
    let mut failed = false;
    for runner in runs {
        let mut command = runner_command(runner, &args.args, io::stderr().is_terminal());
        match run_counted(runner, command.current_dir(root)) {
            Ok((success, count)) => {
                failed |= !success;
                total.add_counts(count);
            }
            Err(error) => {
                report_error(&format!("cannot run cargo: {error}"));
                return (CommandOutcome::NotRun, total.duration);
            }
        }
    }
    let verdict = total.outcome(failed);
    let (style, word) =
        if verdict == CommandOutcome::Passed { (SUCCESS, "passed") } else { (FAILURE, "failed") };
    let TestCounts { passed, failed, skipped, duration } = total;
    let tests = format_count(passed + failed, "test");
    anstream::println!(
        "{style}{word}{style:#}: {tests} ran, {passed} passed, {failed} failed, {skipped} skipped, in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    if passed + failed == 0 {
        report_error(&"no test ran; see the output above, or check the filter");
    }
    (verdict, duration)
}

/// Returns the cargo command of the current toolchain.
pub(crate) fn cargo_command() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns true if cargo-nextest is installed.
pub(crate) fn has_nextest(root: &Path) -> bool {
    let mut command = cargo_command();
    command.args(["nextest", "--version"]).current_dir(root).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn runner_command(runner: TestRunner, args: &[String], terminal: bool) -> Command {
    let mut command = cargo_command();
    match runner {
        TestRunner::Nextest => {
            command.args(["nextest", "run"]).args(WORKSPACE_FLAGS);
            command.args(["--no-fail-fast", "--status-level=slow", "--final-status-level=fail"]);
            command.arg(if terminal { "--color=always" } else { "--cargo-quiet" });
        }
        TestRunner::Cargo => {
            command.arg("test").args(WORKSPACE_FLAGS).args(["--no-fail-fast", "--quiet"]);
        }
        TestRunner::DocTests => {
            command.args(["test", "--doc"]).args(WORKSPACE_FLAGS).args(["--no-fail-fast", "--quiet"]);
        }
    }
    if runner != TestRunner::DocTests {
        command.args(args);
    }
    command
}

/// Runs a command, passes its output through and counts tests. Returns true if the command succeeded.
fn run_counted(runner: TestRunner, command: &mut Command) -> io::Result<(bool, TestCounts)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let Child { stdout, stderr, .. } = &mut child;
    // nextest writes its summary to stderr and cargo to stdout, so both are read concurrently.
    let (out, err) = (stdout.take(), stderr.take());
    let errors = thread::spawn(move || {
        err.map_or_else(TestCounts::default, |pipe| {
            forward_lines(runner, pipe, |line| anstream::eprint!("{line}"))
        })
    });
    let print = |line: &str| anstream::print!("{line}");
    let mut total = out.map_or_else(TestCounts::default, |pipe| forward_lines(runner, pipe, print));
    // The thread ends when the pipe is closed.
    total.add_counts(errors.join().unwrap_or_default());
    Ok((child.wait()?.success(), total))
}

/// Prints each line and adds up the counts of the summary lines.
fn forward_lines(runner: TestRunner, pipe: impl Read, print: impl Fn(&str)) -> TestCounts {
    let mut total = TestCounts::default();
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
        let line = String::from_utf8_lossy(&bytes);
        print(&line);
        if let Some(count) =
            TestCounts::parse_summary(runner, &anstream::adapter::strip_str(&line).to_string())
        {
            total.add_counts(count);
        }
        bytes.clear();
    }
    total
}

impl TestCounts {
    /// Parses a summary line: `test result: ok. 3 passed; 0 failed; 1 ignored; …` from cargo, or
    /// `Summary [0.1s] 3 tests run: 3 passed, 0 skipped` from nextest. In the output of nextest, lines of
    /// cargo are ignored, because they belong to the repeated output of failed tests.
    fn parse_summary(runner: TestRunner, line: &str) -> Option<Self> {
        let (parts, duration) = match runner {
            TestRunner::Nextest => {
                let (head, parts) = line.trim().strip_prefix("Summary [")?.split_once(" run: ")?;
                (parts, head.split_once("s]").map(|(seconds, _)| seconds))
            }
            TestRunner::Cargo | TestRunner::DocTests => {
                let parts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
                let duration = parts
                    .rsplit_once("finished in ")
                    .and_then(|(_, seconds)| seconds.trim().strip_suffix('s'));
                (parts, duration)
            }
        };
        let duration =
            duration.and_then(|seconds| Duration::try_from_secs_f64(seconds.trim().parse().ok()?).ok());
        let mut count = Self { duration: duration.unwrap_or_default(), ..Self::default() };
        for part in parts.split([';', ',']) {
            let mut tokens = part.split_whitespace();
            let (Some(number), Some(word)) = (tokens.next(), tokens.next()) else { continue };
            let Ok(number) = number.parse::<usize>() else { continue };
            match word {
                "passed" => count.passed += number,
                "failed" | "exec" | "timed" => count.failed += number,
                "ignored" | "skipped" => count.skipped += number,
                _ => {}
            }
        }
        Some(count)
    }

    fn add_counts(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.duration += more.duration;
    }

    /// Returns the result of a run. `failed` is true if a runner failed.
    fn outcome(self, failed: bool) -> CommandOutcome {
        let ran_no_test = self.passed + self.failed == 0;
        if failed || ran_no_test || self.failed > 0 { CommandOutcome::Failed } else { CommandOutcome::Passed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runner: TestRunner, line: &str, expected: Option<[usize; 3]>) {
        let counts =
            TestCounts::parse_summary(runner, line).map(|count| [count.passed, count.failed, count.skipped]);
        assert_eq!(counts, expected, "{line}");
    }

    #[test]
    fn summary_lines_are_parsed() {
        let cargo = |line, expect| check(TestRunner::Cargo, line, expect);
        let ok =
            "test result: ok. 30 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.05s";
        cargo(ok, Some([30, 0, 1]));
        cargo(
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            Some([3, 2, 0]),
        );
        cargo("test parse::result: ok", None);
        let nextest = |line, expect| check(TestRunner::Nextest, line, expect);
        nextest("     Summary [   1.234s] 12 tests run: 12 passed, 3 skipped", Some([12, 0, 3]));
        nextest(
            "Summary [1s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 0 skipped",
            Some([10, 2, 0]),
        );
        nextest("Summary [1s] 12/14 tests run: 12 passed (1 flaky), 3 skipped", Some([12, 0, 3]));
        nextest("    test result: FAILED. 0 passed; 1 failed; 0 ignored", None);
    }

    #[test]
    fn duration_excludes_the_build() {
        let duration = |runner, line| TestCounts::parse_summary(runner, line).unwrap().duration;
        let cargo =
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1.05s\n";
        let nextest = "     Summary [  61.250s] 12 tests run: 12 passed, 3 skipped";
        assert_eq!(duration(TestRunner::Cargo, cargo), Duration::from_millis(1050));
        assert_eq!(duration(TestRunner::Nextest, nextest), Duration::from_millis(61_250));
        // The durations of the test binaries are added up, because cargo runs them one after the other.
        assert_eq!(
            forward_lines(TestRunner::Cargo, cargo.repeat(3).as_bytes(), |_| ()).duration,
            Duration::from_millis(3150)
        );
    }

    #[test]
    fn a_run_without_tests_fails() {
        assert_eq!(TestCounts::default().outcome(false), CommandOutcome::Failed);
        let some = TestCounts { passed: 1, ..TestCounts::default() };
        assert_eq!(some.outcome(false), CommandOutcome::Passed);
        assert_eq!(some.outcome(true), CommandOutcome::Failed);
        assert_eq!(TestCounts { failed: 1, ..some }.outcome(false), CommandOutcome::Failed);
    }

    #[test]
    fn colored_output_is_parsed() {
        let output = "running 1 test\n\u{1b}[32m     Summary\u{1b}[0m [0.1s] 1 test run: \u{1b}[1m1\u{1b}[0m passed, 0 skipped\n";
        assert_eq!(forward_lines(TestRunner::Nextest, output.as_bytes(), |_| ()).passed, 1);
    }

    #[test]
    fn arguments_are_not_passed_to_doc_tests() {
        let arguments = |runner| {
            let command = runner_command(runner, &["round_trip".to_owned()], false);
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert!(arguments(TestRunner::Cargo).ends_with(&["round_trip".to_owned()]));
        assert!(arguments(TestRunner::Nextest).contains(&"--all-features".to_owned()));
        assert!(!arguments(TestRunner::DocTests).contains(&"round_trip".to_owned()));
    }
}
