//! `regen`: the contract in, `generated/src/generated` out.
//!
//! The generator is called as a library, so a check takes no second process. Everything that is
//! printed is made by [`report`] from what was decided before.

use std::path::Path;

use contract_codegen::{
    Project,
    diagnostics::{Diagnostics, Severity},
    write::{Change, Changes, Mode, WriteError, apply},
};
use serde_json::json;

use crate::{
    Verdict,
    cli::RegenArgs,
    repository::GENERATED,
    style::{BAD, FAINT, GOOD, colored, complain, count},
};

/// The options of the generator.
const CONFIG: &str = "schemas/codegen.toml";
/// The command that brings the output up to date.
pub(crate) const REPAIR: &str = "cargo xtask regen";

/// Why nothing was generated.
#[derive(Debug)]
enum Failure {
    /// The contract has mistakes.
    Contract(Diagnostics),
    /// The output folder cannot be read or written, or belongs to somebody else.
    Output(WriteError),
}

/// What came out.
#[derive(Debug)]
struct Outcome {
    changes: Changes,
    diagnostics: Diagnostics,
}

/// Carries the command out.
pub(crate) fn run(args: &RegenArgs, root: &Path) -> Verdict {
    let mode = if args.check { Mode::Check } else { Mode::Write };
    match regenerate(root, mode) {
        Ok(outcome) => {
            let color = colored(&std::io::stdout());
            let text = if args.json { json_lines(&outcome) } else { report(&outcome, mode, color) };
            anstream::print!("{text}");
            if args.check && !outcome.changes.is_clean() { Verdict::ToRepair } else { Verdict::InOrder }
        }
        Err(Failure::Contract(problems)) => {
            if args.json {
                anstream::print!("{}", problems.json_lines());
            } else {
                anstream::eprint!("{}", problems.render(colored(&std::io::stderr())));
                complain(&format!("the contract has mistakes; {GENERATED} is as it was"));
            }
            Verdict::ToRepair
        }
        Err(Failure::Output(error)) => {
            complain(&error);
            Verdict::NotRun
        }
    }
}

/// Runs the generator and compares or writes.
fn regenerate(root: &Path, mode: Mode) -> Result<Outcome, Failure> {
    let project = Project::from_config(&root.join(CONFIG)).map_err(Failure::Contract)?;
    let generated = project.generate().map_err(Failure::Contract)?;
    let changes = apply(&generated.files, &root.join(GENERATED), mode).map_err(Failure::Output)?;
    Ok(Outcome { changes, diagnostics: generated.contract.diagnostics })
}

/// For people: warnings, a line per changed file, what it comes to.
fn report(outcome: &Outcome, mode: Mode, color: bool) -> String {
    let Outcome { changes, diagnostics } = outcome;
    let mut out = String::new();
    // A note changes nothing that anybody wrote or reads here.
    let warnings: Vec<_> = diagnostics.iter().filter(|each| each.severity != Severity::Note).collect();
    if !changes.is_clean() && !warnings.is_empty() {
        out.push_str(&diagnostics.render(color));
    }
    let unlike = changes.files.iter().filter(|(_, change)| **change != Change::Same);
    for (path, change) in unlike {
        out.push_str(&format!("{} {GENERATED}{path}\n", change.word()));
    }
    let files = changes.files.len() - changes.count(Change::Removed);
    let mut total = format!("{GENERATED}: {}", count(files, "file"));
    if !warnings.is_empty() {
        total.push_str(&format!(", {}", count(warnings.len(), "warning")));
    }
    let differing = changes.files.len() - changes.count(Change::Same);
    if changes.is_clean() {
        out.push_str(&format!("{GOOD}current{GOOD:#} {total}\n"));
    } else if mode == Mode::Write {
        out.push_str(&format!("{GOOD}written{GOOD:#} {total}, {differing} changed\n"));
    } else {
        if let Some(difference) = &changes.difference {
            out.push('\n');
            difference.lines().for_each(|line| out.push_str(&painted(line)));
            out.push('\n');
        }
        out.push_str(&format!("{BAD}stale{BAD:#} {total}, {differing} would change\n  -> {REPAIR}\n"));
    }
    out
}

/// A line of a diff in its colour.
fn painted(line: &str) -> String {
    let style = match line.chars().next() {
        Some('+') => GOOD,
        Some('-') => BAD,
        Some('@') => FAINT,
        _ => anstyle::Style::new(),
    };
    format!("{style}{line}{style:#}\n")
}

/// For programs.
fn json_lines(outcome: &Outcome) -> String {
    let Outcome { changes, diagnostics } = outcome;
    let mut out = diagnostics.json_lines();
    for (path, change) in changes.files.iter().filter(|(_, change)| **change != Change::Same) {
        let line = json!({ "path": format!("{GENERATED}{path}"), "change": change.word() });
        out.push_str(&format!("{line}\n"));
    }
    let [created, updated, removed] =
        [Change::Created, Change::Updated, Change::Removed].map(|change| changes.count(change));
    let summary = json!({
        "clean": changes.is_clean(), "created": created, "updated": updated, "removed": removed,
        "difference": changes.difference,
    });
    out.push_str(&format!("{summary}\n"));
    out
}

#[cfg(test)]
mod tests;
