//! `ci`: runs all checks, roughly from the fastest to the slowest, and prints how long each took and how to
//! fix a failure.
//!
//! Except for two, the cargo steps select the whole workspace with all features and do not set compiler
//! flags. Clippy and the documentation therefore share one build, and the examples and the tests share
//! another.

use std::{path::Path, time::Instant};

use crate::{
    CommandOutcome,
    cli::{CiArgs, RegenArgs, TestArgs, TidyArgs},
    packaging, regen,
    style::{DIMMED, FAILURE, HEADING, SUCCESS, report_error},
    test, tidy,
};

#[derive(Clone, Copy, Debug)]
struct CheckStep {
    name: &'static str,
    action: StepAction,
    /// The command or action that fixes a failure.
    fix: &'static str,
}

#[derive(Clone, Copy, Debug)]
enum StepAction {
    Cargo(&'static [&'static str]),
    Command(&'static str, fn(&Path) -> CommandOutcome),
}

const STEPS: &[CheckStep] = &[
    CheckStep {
        name: "formatting",
        action: StepAction::Cargo(&["fmt", "--all", "--check"]),
        fix: "cargo fmt --all",
    },
    CheckStep {
        name: "generated files",
        action: StepAction::Command("regen --check", |root| {
            regen::run(&RegenArgs { check: true, json: false }, root)
        }),
        fix: regen::REGEN_COMMAND,
    },
    CheckStep {
        name: "repository rules",
        action: StepAction::Command("tidy", |root| tidy::run(&TidyArgs::default(), root)),
        fix: "see each violation; then cargo xtask tidy",
    },
    CheckStep {
        name: "packages",
        action: StepAction::Command("package", packaging::run),
        fix: "see the output of cargo; then cargo xtask package",
    },
    CheckStep {
        name: "clippy",
        action: StepAction::Cargo(&[
            "clippy",
            "--workspace",
            "--all-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        fix: "cargo clippy --workspace --all-features --all-targets --fix",
    },
    CheckStep {
        name: "generator without features",
        action: StepAction::Cargo(&[
            "clippy",
            "--package",
            "contract-codegen",
            "--lib",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ]),
        fix: "add `#[cfg(feature = …)]` to code that needs a feature",
    },
    CheckStep {
        name: "command without mock server",
        action: StepAction::Cargo(&[
            "clippy",
            "--package",
            "contract-codegen",
            "--bins",
            "--no-default-features",
            "--features",
            "cli",
            "--",
            "-D",
            "warnings",
        ]),
        fix: "add `#[cfg(feature = \"serve\")]` to code that needs it",
    },
    CheckStep {
        name: "examples",
        action: StepAction::Cargo(&["build", "--workspace", "--all-features", "--examples"]),
        fix: "see the output of the compiler",
    },
    CheckStep {
        name: "tests",
        action: StepAction::Command("test", |root| test::run(&TestArgs::default(), root)),
        fix: "fix the test or the code; then cargo xtask test -- <part of its name>",
    },
    CheckStep {
        name: "documentation",
        action: StepAction::Cargo(&["doc", "--workspace", "--all-features", "--no-deps"]),
        fix: "see the output of rustdoc; then RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --all-features --no-deps",
    },
];

pub(crate) fn run(args: &CiArgs, root: &Path) -> CommandOutcome {
    let start = Instant::now();
    let (failed, verdict) = run_steps(STEPS, args.keep_going, |step| run_step(step, root));
    let seconds = start.elapsed().as_secs_f64();
    if failed.is_empty() {
        anstream::println!("\n{SUCCESS}ok{SUCCESS:#}: {} steps in {seconds:.1} s", STEPS.len());
    } else {
        anstream::println!("\n{FAILURE}failed{FAILURE:#} after {seconds:.1} s; to fix:");
        for step in failed {
            anstream::println!("  {}: {}", step.name, step.fix);
        }
    }
    verdict
}

/// Runs the steps until one fails, or all of them with `keep_going`. Returns the failed steps and the worst
/// result.
fn run_steps(
    steps: &[CheckStep],
    keep_going: bool,
    mut take: impl FnMut(&CheckStep) -> CommandOutcome,
) -> (Vec<&CheckStep>, CommandOutcome) {
    let mut failed = Vec::new();
    let mut worst = CommandOutcome::Passed;
    for step in steps {
        let verdict = take(step);
        if verdict == CommandOutcome::Passed {
            continue;
        }
        failed.push(step);
        if worst != CommandOutcome::NotRun {
            worst = verdict;
        }
        if !keep_going {
            break;
        }
    }
    (failed, worst)
}

fn run_step(step: &CheckStep, root: &Path) -> CommandOutcome {
    let start = Instant::now();
    let verdict = match step.action {
        StepAction::Command(command, run) => {
            print_heading(step, &format!("cargo xtask {command}"));
            run(root)
        }
        StepAction::Cargo(args) => {
            print_heading(step, &format!("cargo {}", args.join(" ")));
            let mut command = test::cargo_command();
            command.args(args).current_dir(root);
            // Only rustdoc reads this variable, so setting it does not cause a rebuild in other steps.
            command.env("RUSTDOCFLAGS", "-D warnings");
            match command.status() {
                Ok(status) if status.success() => CommandOutcome::Passed,
                Ok(_) => CommandOutcome::Failed,
                Err(error) => {
                    report_error(&format!("cannot run cargo: {error}"));
                    CommandOutcome::NotRun
                }
            }
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let (style, word) = if verdict == CommandOutcome::Passed { (SUCCESS, "ok") } else { (FAILURE, "failed") };
    anstream::println!("{style}{word}{style:#} {DIMMED}{seconds:.1} s{DIMMED:#}");
    verdict
}

fn print_heading(step: &CheckStep, command: &str) {
    anstream::println!("\n{HEADING}{}{HEADING:#} {DIMMED}{command}{DIMMED:#}", step.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        outcomes: [CommandOutcome; 3],
        keep_going: bool,
        executed: usize,
        failed: usize,
        expected: CommandOutcome,
    ) {
        let mut next = outcomes.into_iter();
        let (results, outcome) = run_steps(&STEPS[..3], keep_going, |_| next.next().unwrap());
        assert_eq!((3 - next.len(), results.len(), outcome), (executed, failed, expected), "{outcomes:?}");
    }

    #[test]
    fn first_failure_stops_unless_keep_going_is_set() {
        use CommandOutcome::{Failed, NotRun, Passed};
        check([Passed; 3], false, 3, 0, Passed);
        check([Passed, Failed, Passed], false, 2, 1, Failed);
        check([Failed, Passed, Failed], true, 3, 2, Failed);
        check([Failed, NotRun, Failed], true, 3, 3, NotRun);
    }

    /// The two steps with other flags check code without some features, which a build with all features
    /// cannot do.
    #[test]
    fn all_builds_except_two_share_their_flags() {
        let others = STEPS.iter().filter(|step| match step.action {
            StepAction::Cargo(args) => {
                args.first() != Some(&"fmt") && !test::WORKSPACE_FLAGS.iter().all(|flag| args.contains(flag))
            }
            StepAction::Command(..) => false,
        });
        assert_eq!(
            others.map(|step| step.name).collect::<Vec<_>>(),
            ["generator without features", "command without mock server"]
        );
    }
}
