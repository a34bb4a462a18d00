//! `tidy`: checks the rules of this repository. Each rule is a function that returns the violations in the
//! repository.

mod client_guide;
mod commands;
mod crates;
mod faults;
mod forbidden_text;
mod language;
mod links;
mod manifests;
mod requirements;
mod sources;
mod workspace;

use std::path::Path;

use serde_json::json;

use crate::{
    CommandOutcome,
    cli::TidyArgs,
    repository::RepositoryFiles,
    style::{DIMMED, FAILURE, HEADING, SUCCESS, format_count, report_error},
    violation::{self, RuleViolation},
};

use requirements::{AreaCoverage, RequirementSide};
use workspace::WorkspaceMetadata;

pub(crate) fn run(args: &TidyArgs, root: &Path) -> CommandOutcome {
    let repository = match RepositoryFiles::read_from(root) {
        Ok(repository) => repository,
        Err(error) => {
            report_error(&format!("cannot read {}: {error}", root.display()));
            return CommandOutcome::NotRun;
        }
    };
    let known = match WorkspaceMetadata::read_from_cargo(root) {
        Ok(known) => known,
        Err(error) => {
            report_error(&format!("cannot run cargo metadata: {error}"));
            return CommandOutcome::NotRun;
        }
    };
    let (problems, areas) = check_rules(&repository, &known);
    anstream::print!(
        "{}",
        if args.json { json_lines(&problems, &areas) } else { render_report(&problems, &areas) }
    );
    if problems.is_empty() { CommandOutcome::Passed } else { CommandOutcome::Failed }
}

/// Checks every rule. Also returns the test coverage of the requirements.
fn check_rules(
    repository: &RepositoryFiles,
    known: &WorkspaceMetadata,
) -> (Vec<RuleViolation>, Vec<AreaCoverage>) {
    let (mut rows, areas) = requirements::check(repository);
    let mut problems = sources::check(repository);
    problems.append(&mut rows);
    problems.extend(faults::check(repository));
    problems.extend(client_guide::check(repository));
    problems.extend(commands::check(repository, known));
    problems.extend(forbidden_text::check(repository));
    problems.extend(language::check(repository));
    problems.extend(links::check(repository));
    problems.extend(manifests::check(repository));
    problems.extend(crates::check(repository, known));
    (problems, areas)
}

/// Renders the violations, the requirements without tests (by component and area) and the totals as text.
fn render_report(problems: &[RuleViolation], areas: &[AreaCoverage]) -> String {
    let mut out = violation::render_violations(problems);
    let mut sums = Vec::new();
    for side in RequirementSide::ALL {
        let areas: Vec<&AreaCoverage> = areas.iter().filter(|area| area.side == side).collect();
        let rows: usize = areas.iter().map(|area| area.rows).sum();
        let uncovered: usize = areas.iter().map(|area| area.uncovered.len()).sum();
        sums.push(format!("{} {} of {rows}", side.letter(), rows - uncovered));
        if uncovered == 0 {
            continue;
        }
        out.push_str(&format!("{HEADING}rows without a test on side {}{HEADING:#}\n", side.letter()));
        for AreaCoverage { name, rows, uncovered, .. } in areas {
            if !uncovered.is_empty() {
                let numbers: Vec<&str> = uncovered.iter().filter_map(|id| id.rsplit('-').next()).collect();
                let (uncovered, numbers) = (uncovered.len(), numbers.join(" "));
                out.push_str(&format!(
                    "  {name:<3} {uncovered:>2} of {rows:>2}  {DIMMED}{numbers}{DIMMED:#}\n"
                ));
            }
        }
    }
    match problems.len() {
        0 => out.push_str(&format!("{SUCCESS}ok{SUCCESS:#} rows with tests: {}\n", sums.join(", "))),
        number => {
            out.push_str(&format!("{FAILURE}failed{FAILURE:#} {}\n", format_count(number, "violation")))
        }
    }
    out
}

fn json_lines(problems: &[RuleViolation], areas: &[AreaCoverage]) -> String {
    let mut out: String = problems.iter().map(|problem| problem.to_json() + "\n").collect();
    let rows = areas.iter().map(|area| {
        let AreaCoverage { name, side, rows, uncovered } = area;
        json!({ "area": name, "side": side.letter(), "rows": rows, "uncovered": uncovered })
    });
    let summary = json!({ "problems": problems.len(), "areas": rows.collect::<Vec<_>>() });
    out.push_str(&format!("{summary}\n"));
    out
}

/// Asserts the location and rule of each violation that a rule finds in a repository, in order.
#[cfg(test)]
fn assert_problems(
    rule: impl Fn(&RepositoryFiles) -> Vec<RuleViolation>,
    files: &[(&str, &str)],
    expected: &[&str],
) {
    let problems = rule(&RepositoryFiles::from_files(files));
    let found: Vec<String> = problems.iter().map(|p| format!("{} {}", p.location(), p.rule)).collect();
    assert_eq!(found, expected, "{problems:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uncovered_rows_are_listed() {
        let area = AreaCoverage {
            name: "STK".to_owned(),
            side: RequirementSide::Service,
            rows: 3,
            uncovered: vec!["STK-02".to_owned(), "STK-03".to_owned()],
        };
        let text = anstream::adapter::strip_str(&render_report(&[], std::slice::from_ref(&area))).to_string();
        assert_eq!(
            text,
            "rows without a test on side S\n  STK  2 of  3  02 03\nok rows with tests: K 0 of 0, S 1 of 3, C 0 of 0\n"
        );
        let json = json_lines(&[RuleViolation::new("lock", "Cargo.lock", "missing", "commit it")], &[area]);
        let [_, summary] = json.lines().collect::<Vec<_>>()[..] else { panic!("{json}") };
        let summary: serde_json::Value = summary.parse().unwrap();
        assert_eq!(
            (&summary["problems"], &summary["areas"][0]["side"], &summary["areas"][0]["uncovered"][1]),
            (&json!(1), &json!("S"), &json!("STK-03"))
        );
    }

    #[test]
    fn missing_files_are_reported() {
        let (problems, areas) = check_rules(&RepositoryFiles::default(), &WorkspaceMetadata::default());
        let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
        assert_eq!(
            files,
            ["docs/requirements.md", "exchange/client/e2e/faults.md", "README.md", "Cargo.lock"]
        );
        assert!(areas.is_empty());
    }
}
