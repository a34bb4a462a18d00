//! `test`: the whole project's tests by one command, with or without cargo-nextest.
//!
//! The runner's output goes through unchanged; the lines that close it are read on the way, so
//! that a run in which nothing was tested fails like one in which something broke.

use std::{
    io::{self, BufRead as _, BufReader, IsTerminal as _, Read},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::{
    Verdict,
    cli::TestArgs,
    style::{BAD, GOOD, complain, count},
};

/// What every build of the workspace selects; the same everywhere, so that nothing is built twice.
pub(crate) const WHOLE: [&str; 2] = ["--workspace", "--all-features"];

/// What runs the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    /// `cargo nextest run`: all tests at once, those of the documentation apart.
    Nextest,
    /// `cargo test`: one binary after the other, those of the documentation included.
    Cargo,
    /// `cargo test --doc`
    Documentation,
}

/// How many tests there were, and how long they took, as the closing lines say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Of the tests alone, without what was built for them.
    took: Duration,
}

/// Carries the command out.
pub(crate) fn run(args: &TestArgs, root: &Path) -> Verdict {
    timed(args, root).0
}

/// The same; and how long the tests took, once they were built.
pub(crate) fn timed(args: &TestArgs, root: &Path) -> (Verdict, Duration) {
    let start = Instant::now();
    let mut runs = vec![if has_nextest(root) { Runner::Nextest } else { Runner::Cargo }];
    if runs == [Runner::Nextest] && args.args.is_empty() {
        runs.push(Runner::Documentation);
    }
    let mut total = Count::default();
    let mut failed = false;
    for runner in runs {
        let mut command = command(runner, &args.args, io::stderr().is_terminal());
        match watch(runner, command.current_dir(root)) {
            Ok((success, count)) => {
                failed |= !success;
                total.add(count);
            }
            Err(error) => {
                complain(&format!("cannot run cargo: {error}"));
                return (Verdict::NotRun, total.took);
            }
        }
    }
    let verdict = total.verdict(failed);
    let (style, word) = if verdict == Verdict::InOrder { (GOOD, "passed") } else { (BAD, "failed") };
    let Count { passed, failed, skipped, took } = total;
    let ran = count(passed + failed, "test");
    anstream::println!(
        "{style}{word}{style:#}: {ran} ran, {passed} passed, {failed} failed, {skipped} skipped, in {:.1} s",
        start.elapsed().as_secs_f64()
    );
    if passed + failed == 0 {
        complain(&"no test ran; look at the lines above, or at the filter that was given");
    }
    (verdict, took)
}

/// cargo as the toolchain runs it, in the terms of the environment.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

fn has_nextest(root: &Path) -> bool {
    let mut command = cargo();
    command.args(["nextest", "--version"]).current_dir(root).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn command(runner: Runner, args: &[String], terminal: bool) -> Command {
    let mut command = cargo();
    match runner {
        Runner::Nextest => {
            command.args(["nextest", "run"]).args(WHOLE);
            command.args(["--no-fail-fast", "--status-level=fail", "--final-status-level=fail"]);
            command.arg(if terminal { "--color=always" } else { "--cargo-quiet" });
        }
        Runner::Cargo => {
            command.arg("test").args(WHOLE).args(["--no-fail-fast", "--quiet"]);
        }
        Runner::Documentation => {
            command.args(["test", "--doc"]).args(WHOLE).args(["--no-fail-fast", "--quiet"]);
        }
    }
    if runner != Runner::Documentation {
        command.args(args);
    }
    command
}

/// Runs a command, hands its output on as it comes and counts; whether it succeeded.
fn watch(runner: Runner, command: &mut Command) -> io::Result<(bool, Count)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let Child { stdout, stderr, .. } = &mut child;
    // nextest closes on stderr, cargo on stdout; both are read as they come.
    let (out, err) = (stdout.take(), stderr.take());
    let errors = thread::spawn(move || {
        err.map_or_else(Count::default, |pipe| pass(runner, pipe, |line| anstream::eprint!("{line}")))
    });
    let print = |line: &str| anstream::print!("{line}");
    let mut total = out.map_or_else(Count::default, |pipe| pass(runner, pipe, print));
    // A thread that only reads and prints ends when the pipe does.
    total.add(errors.join().unwrap_or_default());
    Ok((child.wait()?.success(), total))
}

/// Hands lines on; what they close adds up.
fn pass(runner: Runner, pipe: impl Read, print: impl Fn(&str)) -> Count {
    let mut total = Count::default();
    let mut reader = BufReader::new(pipe);
    let mut bytes = Vec::new();
    while reader.read_until(b'\n', &mut bytes).is_ok_and(|length| length > 0) {
        let line = String::from_utf8_lossy(&bytes);
        print(&line);
        if let Some(count) = Count::read(runner, &anstream::adapter::strip_str(&line).to_string()) {
            total.add(count);
        }
        bytes.clear();
    }
    total
}

impl Count {
    /// Reads a closing line: `test result: ok. 3 passed; 0 failed; 1 ignored; …` of cargo,
    /// `Summary [0.1s] 3 tests run: 3 passed, 0 skipped` of nextest, which repeats what failing
    /// tests printed, closing lines of cargo's kind included.
    fn read(runner: Runner, line: &str) -> Option<Self> {
        let (parts, took) = match runner {
            Runner::Nextest => {
                let (head, parts) = line.trim().strip_prefix("Summary [")?.split_once(" run: ")?;
                (parts, head.split_once("s]").map(|(took, _)| took))
            }
            Runner::Cargo | Runner::Documentation => {
                let parts = line.strip_prefix("test result: ")?.split_once(". ")?.1;
                let took =
                    parts.rsplit_once("finished in ").and_then(|(_, took)| took.trim().strip_suffix('s'));
                (parts, took)
            }
        };
        let took = took.and_then(|took| Duration::try_from_secs_f64(took.trim().parse().ok()?).ok());
        let mut count = Self { took: took.unwrap_or_default(), ..Self::default() };
        for part in parts.split([';', ',']) {
            let mut words = part.split_whitespace();
            let (Some(number), Some(word)) = (words.next(), words.next()) else { continue };
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

    fn add(&mut self, more: Self) {
        self.passed += more.passed;
        self.failed += more.failed;
        self.skipped += more.skipped;
        self.took += more.took;
    }

    /// What it comes to when the runner itself succeeded or `failed`.
    fn verdict(self, failed: bool) -> Verdict {
        let nothing = self.passed + self.failed == 0;
        if failed || nothing || self.failed > 0 { Verdict::ToRepair } else { Verdict::InOrder }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(runner: Runner, line: &str, expect: Option<[usize; 3]>) {
        let found = Count::read(runner, line).map(|count| [count.passed, count.failed, count.skipped]);
        assert_eq!(found, expect, "{line}");
    }

    #[test]
    fn closing_lines_are_counted() {
        let cargo = |line, expect| check(Runner::Cargo, line, expect);
        let ok =
            "test result: ok. 30 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.05s";
        cargo(ok, Some([30, 0, 1]));
        cargo(
            "test result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out",
            Some([3, 2, 0]),
        );
        cargo("test parse::result: ok", None);
        let nextest = |line, expect| check(Runner::Nextest, line, expect);
        nextest("     Summary [   1.234s] 12 tests run: 12 passed, 3 skipped", Some([12, 0, 3]));
        nextest(
            "Summary [1s] 12 tests run: 10 passed (1 slow), 1 failed, 1 timed out, 0 skipped",
            Some([10, 2, 0]),
        );
        nextest("Summary [1s] 12/14 tests run: 12 passed (1 flaky), 3 skipped", Some([12, 0, 3]));
        nextest("    test result: FAILED. 0 passed; 1 failed; 0 ignored", None);
    }

    #[test]
    fn what_was_built_takes_no_part_in_the_time() {
        let took = |runner, line| Count::read(runner, line).unwrap().took;
        let cargo =
            "test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 2 filtered out; finished in 1.05s\n";
        let nextest = "     Summary [  61.250s] 12 tests run: 12 passed, 3 skipped";
        assert_eq!(took(Runner::Cargo, cargo), Duration::from_millis(1050));
        assert_eq!(took(Runner::Nextest, nextest), Duration::from_millis(61_250));
        // One binary after the other.
        assert_eq!(pass(Runner::Cargo, cargo.repeat(3).as_bytes(), |_| ()).took, Duration::from_millis(3150));
    }

    #[test]
    fn a_run_without_tests_fails() {
        assert_eq!(Count::default().verdict(false), Verdict::ToRepair);
        let some = Count { passed: 1, ..Count::default() };
        assert_eq!(some.verdict(false), Verdict::InOrder);
        assert_eq!(some.verdict(true), Verdict::ToRepair);
        assert_eq!(Count { failed: 1, ..some }.verdict(false), Verdict::ToRepair);
    }

    #[test]
    fn output_is_counted_through_colours() {
        let output = "running 1 test\n\u{1b}[32m     Summary\u{1b}[0m [0.1s] 1 test run: \u{1b}[1m1\u{1b}[0m passed, 0 skipped\n";
        assert_eq!(pass(Runner::Nextest, output.as_bytes(), |_| ()).passed, 1);
    }

    #[test]
    fn arguments_reach_the_runner_and_not_the_documentation() {
        let arguments = |runner| {
            let command = command(runner, &["round_trip".to_owned()], false);
            command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert!(arguments(Runner::Cargo).ends_with(&["round_trip".to_owned()]));
        assert!(arguments(Runner::Nextest).contains(&"--all-features".to_owned()));
        assert!(!arguments(Runner::Documentation).contains(&"round_trip".to_owned()));
    }
}
