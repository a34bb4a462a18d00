//! `ci`: every check in order, the cheapest first, each with its time and its repair.
//!
//! All steps but two select the whole workspace with all features and set no compiler flags of their own:
//! clippy and the documentation share one build, examples and tests the other.

use std::{path::Path, time::Instant};

use crate::{
    Verdict,
    cli::{CiArgs, RegenArgs, TestArgs, TidyArgs},
    packaging, regen,
    style::{BAD, FAINT, GOOD, HEAD, complain},
    test, tidy,
};

/// One step.
#[derive(Clone, Copy, Debug)]
struct Step {
    name: &'static str,
    action: Action,
    /// What to run, or to do, when it fails.
    repair: &'static str,
}

/// What a step does.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// cargo with these arguments.
    Cargo(&'static [&'static str]),
    /// Another command of this program.
    Own(&'static str, fn(&Path) -> Verdict),
}

const STEPS: &[Step] = &[
    Step {
        name: "formatting",
        action: Action::Cargo(&["fmt", "--all", "--check"]),
        repair: "cargo fmt --all",
    },
    Step {
        name: "generated files",
        action: Action::Own("regen --check", |root| {
            regen::run(&RegenArgs { check: true, json: false }, root)
        }),
        repair: regen::REPAIR,
    },
    Step {
        name: "house rules",
        action: Action::Own("tidy", |root| tidy::run(&TidyArgs::default(), root)),
        repair: "what each problem names; then cargo xtask tidy",
    },
    Step {
        name: "packages",
        action: Action::Own("package", packaging::run),
        repair: "what cargo says; then cargo xtask package",
    },
    Step {
        name: "clippy",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-features",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]),
        repair: "cargo clippy --workspace --all-features --all-targets --fix",
    },
    Step {
        name: "a build script's generator",
        action: Action::Cargo(&[
            "clippy",
            "--package",
            "contract-codegen",
            "--lib",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ]),
        repair: "`#[cfg(feature = …)]` for what only a feature needs",
    },
    Step {
        name: "a command without other generators",
        action: Action::Cargo(&[
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
        repair: "`#[cfg(feature = \"engines\")]` for what only it needs",
    },
    Step {
        name: "examples",
        action: Action::Cargo(&["build", "--workspace", "--all-features", "--examples"]),
        repair: "what the compiler says",
    },
    Step {
        name: "tests",
        action: Action::Own("test", |root| test::run(&TestArgs::default(), root)),
        repair: "the test or the code; then cargo xtask test -- <part of its name>",
    },
    Step {
        name: "documentation",
        action: Action::Cargo(&["doc", "--workspace", "--all-features", "--no-deps"]),
        repair: "what rustdoc says; then RUSTDOCFLAGS=\"-D warnings\" cargo doc --workspace --all-features --no-deps",
    },
];

/// Carries the command out.
pub(crate) fn run(args: &CiArgs, root: &Path) -> Verdict {
    let start = Instant::now();
    let (failed, verdict) = walk(STEPS, args.keep_going, |step| carry_out(step, root));
    let seconds = start.elapsed().as_secs_f64();
    if failed.is_empty() {
        anstream::println!("\n{GOOD}in order{GOOD:#}: {} steps in {seconds:.1} s", STEPS.len());
    } else {
        anstream::println!("\n{BAD}to repair{BAD:#}, after {seconds:.1} s:");
        for step in failed {
            anstream::println!("  {}: {}", step.name, step.repair);
        }
    }
    verdict
}

/// Takes steps until one fails, or all; those that failed, and the worst verdict.
fn walk(steps: &[Step], keep_going: bool, mut take: impl FnMut(&Step) -> Verdict) -> (Vec<&Step>, Verdict) {
    let mut failed = Vec::new();
    let mut worst = Verdict::InOrder;
    for step in steps {
        let verdict = take(step);
        if verdict == Verdict::InOrder {
            continue;
        }
        failed.push(step);
        if worst != Verdict::NotRun {
            worst = verdict;
        }
        if !keep_going {
            break;
        }
    }
    (failed, worst)
}

fn carry_out(step: &Step, root: &Path) -> Verdict {
    let start = Instant::now();
    let verdict = match step.action {
        Action::Own(command, run) => {
            head(step, &format!("cargo xtask {command}"));
            run(root)
        }
        Action::Cargo(args) => {
            head(step, &format!("cargo {}", args.join(" ")));
            let mut command = test::cargo();
            command.args(args).current_dir(root);
            // Read by rustdoc alone: nothing else is built anew for it.
            command.env("RUSTDOCFLAGS", "-D warnings");
            match command.status() {
                Ok(status) if status.success() => Verdict::InOrder,
                Ok(_) => Verdict::ToRepair,
                Err(error) => {
                    complain(&format!("cannot run cargo: {error}"));
                    Verdict::NotRun
                }
            }
        }
    };
    let seconds = start.elapsed().as_secs_f64();
    let (style, word) = if verdict == Verdict::InOrder { (GOOD, "ok") } else { (BAD, "failed") };
    anstream::println!("{style}{word}{style:#} {FAINT}{seconds:.1} s{FAINT:#}");
    verdict
}

fn head(step: &Step, command: &str) {
    anstream::println!("\n{HEAD}{}{HEAD:#} {FAINT}{command}{FAINT:#}", step.name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(verdicts: [Verdict; 3], keep_going: bool, taken: usize, failed: usize, worst: Verdict) {
        let mut next = verdicts.into_iter();
        let (list, verdict) = walk(&STEPS[..3], keep_going, |_| next.next().unwrap());
        assert_eq!((3 - next.len(), list.len(), verdict), (taken, failed, worst), "{verdicts:?}");
    }

    #[test]
    fn the_first_failure_stops_unless_asked_otherwise() {
        use Verdict::{InOrder, NotRun, ToRepair};
        check([InOrder; 3], false, 3, 0, InOrder);
        check([InOrder, ToRepair, InOrder], false, 2, 1, ToRepair);
        check([ToRepair, InOrder, ToRepair], true, 3, 2, ToRepair);
        check([ToRepair, NotRun, ToRepair], true, 3, 3, NotRun);
    }

    /// Those that do not are there for what the others cannot see: code that needs a feature and does not say so.
    #[test]
    fn every_build_but_two_selects_the_same() {
        let others = STEPS.iter().filter(|step| match step.action {
            Action::Cargo(args) => {
                args.first() != Some(&"fmt") && !test::WHOLE.iter().all(|flag| args.contains(flag))
            }
            Action::Own(..) => false,
        });
        assert_eq!(
            others.map(|step| step.name).collect::<Vec<_>>(),
            ["a build script's generator", "a command without other generators"]
        );
    }
}
