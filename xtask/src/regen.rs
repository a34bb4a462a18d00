//! `regen`: generates `generated/src/generated` from the contract.
//!
//! Calls the generator as a library, without another process. [`render_report`] renders the result.

use std::path::Path;

use contract_codegen::{
    Project,
    diagnostics::{Diagnostics, Severity},
    write::{FileChange, FileChanges, WriteError, WriteMode, apply_files},
};
use serde_json::json;

use crate::{
    CommandOutcome,
    cli::RegenArgs,
    repository::GENERATED_FOLDER,
    style::{DIMMED, FAILURE, SUCCESS, format_count, report_error, supports_color},
};

const CONFIG_FILE: &str = "schemas/codegen.toml";
pub(crate) const REGEN_COMMAND: &str = "cargo xtask regen";

#[derive(Debug)]
enum RegenError {
    Contract(Diagnostics),
    /// The output folder cannot be read or written, or the generator does not own it.
    Output(WriteError),
}

#[derive(Debug)]
struct RegenOutcome {
    changes: FileChanges,
    diagnostics: Diagnostics,
}

pub(crate) fn run(args: &RegenArgs, root: &Path) -> CommandOutcome {
    let mode = if args.check { WriteMode::Check } else { WriteMode::Write };
    match regenerate(root, mode) {
        Ok(outcome) => {
            let color = supports_color(&std::io::stdout());
            let text = if args.json { json_lines(&outcome) } else { render_report(&outcome, mode, color) };
            anstream::print!("{text}");
            if args.check && !outcome.changes.is_clean() {
                CommandOutcome::Failed
            } else {
                CommandOutcome::Passed
            }
        }
        Err(RegenError::Contract(problems)) => {
            if args.json {
                anstream::print!("{}", problems.json_lines());
            } else {
                anstream::eprint!("{}", problems.render(supports_color(&std::io::stderr())));
                report_error(&format!("the contract has errors; {GENERATED_FOLDER} was not changed"));
            }
            CommandOutcome::Failed
        }
        Err(RegenError::Output(error)) => {
            report_error(&error);
            CommandOutcome::NotRun
        }
    }
}

/// Runs the generator, and compares its output with the files or writes it, depending on `mode`.
fn regenerate(root: &Path, mode: WriteMode) -> Result<RegenOutcome, RegenError> {
    let project = Project::from_config(&root.join(CONFIG_FILE)).map_err(RegenError::Contract)?;
    let generated = project.generate().map_err(RegenError::Contract)?;
    let changes =
        apply_files(&generated.files, &root.join(GENERATED_FOLDER), mode).map_err(RegenError::Output)?;
    Ok(RegenOutcome { changes, diagnostics: generated.contract.diagnostics })
}

/// Renders the result as text: warnings, a line per changed file, and the totals.
fn render_report(outcome: &RegenOutcome, mode: WriteMode, color: bool) -> String {
    let RegenOutcome { changes, diagnostics } = outcome;
    let mut out = String::new();
    // Notes have no effect on the output and are not printed.
    let warnings: Vec<_> = diagnostics.iter().filter(|each| each.severity != Severity::Note).collect();
    if !changes.is_clean() && !warnings.is_empty() {
        out.push_str(&diagnostics.render(color));
    }
    let unlike = changes.files.iter().filter(|(_, change)| **change != FileChange::Same);
    for (path, change) in unlike {
        out.push_str(&format!("{} {GENERATED_FOLDER}{path}\n", change.as_str()));
    }
    let files = changes.files.len() - changes.count(FileChange::Removed);
    let mut total = format!("{GENERATED_FOLDER}: {}", format_count(files, "file"));
    if !warnings.is_empty() {
        total.push_str(&format!(", {}", format_count(warnings.len(), "warning")));
    }
    let differing = changes.files.len() - changes.count(FileChange::Same);
    if changes.is_clean() {
        out.push_str(&format!("{SUCCESS}current{SUCCESS:#} {total}\n"));
    } else if mode == WriteMode::Write {
        out.push_str(&format!("{SUCCESS}written{SUCCESS:#} {total}, {differing} changed\n"));
    } else {
        if let Some(difference) = &changes.difference {
            out.push('\n');
            difference.lines().for_each(|line| out.push_str(&color_line(line)));
            out.push('\n');
        }
        out.push_str(&format!(
            "{FAILURE}stale{FAILURE:#} {total}, {differing} would change\n  -> {REGEN_COMMAND}\n"
        ));
    }
    out
}

fn color_line(line: &str) -> String {
    let style = match line.chars().next() {
        Some('+') => SUCCESS,
        Some('-') => FAILURE,
        Some('@') => DIMMED,
        _ => anstyle::Style::new(),
    };
    format!("{style}{line}{style:#}\n")
}

fn json_lines(outcome: &RegenOutcome) -> String {
    let RegenOutcome { changes, diagnostics } = outcome;
    let mut out = diagnostics.json_lines();
    for (path, change) in changes.files.iter().filter(|(_, change)| **change != FileChange::Same) {
        let line = json!({ "path": format!("{GENERATED_FOLDER}{path}"), "change": change.as_str() });
        out.push_str(&format!("{line}\n"));
    }
    let [created, updated, removed] =
        [FileChange::Created, FileChange::Updated, FileChange::Removed].map(|change| changes.count(change));
    let summary = json!({
        "clean": changes.is_clean(), "created": created, "updated": updated, "removed": removed,
        "difference": changes.difference,
    });
    out.push_str(&format!("{summary}\n"));
    out
}

#[cfg(test)]
mod tests;
