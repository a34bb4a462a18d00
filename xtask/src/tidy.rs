//! `tidy`: the rules of the house, each a function from the repository to its problems.

mod commands;
mod crates;
mod faults;
mod known;
mod links;
mod manifests;
mod requirements;
mod sources;
mod words;

use std::path::Path;

use serde_json::json;

use crate::{
    Verdict,
    cli::TidyArgs,
    problem::{self, Problem},
    repository::Repository,
    style::{BAD, FAINT, GOOD, HEAD, complain, count},
};

use known::Known;
use requirements::{Area, Side};

/// Carries the command out.
pub(crate) fn run(args: &TidyArgs, root: &Path) -> Verdict {
    let repository = match Repository::read(root) {
        Ok(repository) => repository,
        Err(error) => {
            complain(&format!("cannot read {}: {error}", root.display()));
            return Verdict::NotRun;
        }
    };
    let known = match Known::ask(root) {
        Ok(known) => known,
        Err(error) => {
            complain(&format!("cannot ask cargo for the packages: {error}"));
            return Verdict::NotRun;
        }
    };
    let (problems, areas) = check(&repository, &known);
    anstream::print!("{}", if args.json { json_lines(&problems, &areas) } else { report(&problems, &areas) });
    if problems.is_empty() { Verdict::InOrder } else { Verdict::ToRepair }
}

/// Every rule, in the order of their modules; and how far the tests have come.
fn check(repository: &Repository, known: &Known) -> (Vec<Problem>, Vec<Area>) {
    let (mut rows, areas) = requirements::check(repository);
    let mut problems = sources::check(repository);
    problems.append(&mut rows);
    problems.extend(faults::check(repository));
    problems.extend(commands::check(repository, known));
    problems.extend(words::check(repository));
    problems.extend(links::check(repository));
    problems.extend(manifests::check(repository));
    problems.extend(crates::check(repository, known));
    (problems, areas)
}

/// For people: the problems, the uncovered rows by side and area, what it comes to.
fn report(problems: &[Problem], areas: &[Area]) -> String {
    let mut out = problem::render(problems);
    let mut sums = Vec::new();
    for side in Side::ALL {
        let areas: Vec<&Area> = areas.iter().filter(|area| area.side == side).collect();
        let rows: usize = areas.iter().map(|area| area.rows).sum();
        let uncovered: usize = areas.iter().map(|area| area.uncovered.len()).sum();
        sums.push(format!("{} {} of {rows}", side.letter(), rows - uncovered));
        if uncovered == 0 {
            continue;
        }
        out.push_str(&format!("{HEAD}rows that no test of side {} names{HEAD:#}\n", side.letter()));
        for Area { name, rows, uncovered, .. } in areas {
            if !uncovered.is_empty() {
                let numbers: Vec<&str> = uncovered.iter().filter_map(|id| id.rsplit('-').next()).collect();
                let (uncovered, numbers) = (uncovered.len(), numbers.join(" "));
                out.push_str(&format!(
                    "  {name:<3} {uncovered:>2} of {rows:>2}  {FAINT}{numbers}{FAINT:#}\n"
                ));
            }
        }
    }
    match problems.len() {
        0 => out.push_str(&format!("{GOOD}tidy{GOOD:#} rows that tests name: {}\n", sums.join(", "))),
        number => out.push_str(&format!("{BAD}untidy{BAD:#} {}\n", count(number, "problem"))),
    }
    out
}

/// For programs.
fn json_lines(problems: &[Problem], areas: &[Area]) -> String {
    let mut out: String = problems.iter().map(|problem| problem.json() + "\n").collect();
    let rows = areas.iter().map(|area| {
        let Area { name, side, rows, uncovered } = area;
        json!({ "area": name, "side": side.letter(), "rows": rows, "uncovered": uncovered })
    });
    let summary = json!({ "problems": problems.len(), "areas": rows.collect::<Vec<_>>() });
    out.push_str(&format!("{summary}\n"));
    out
}

/// Asserts which problems a rule finds in a repository: place and rule, in order.
#[cfg(test)]
fn assert_problems(rule: impl Fn(&Repository) -> Vec<Problem>, files: &[(&str, &str)], expect: &[&str]) {
    let problems = rule(&Repository::of(files));
    let found: Vec<String> = problems.iter().map(|p| format!("{} {}", p.place(), p.rule)).collect();
    assert_eq!(found, expect, "{problems:#?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_yet_tested_is_listed() {
        let area = Area {
            name: "STK".to_owned(),
            side: Side::Service,
            rows: 3,
            uncovered: vec!["STK-02".to_owned(), "STK-03".to_owned()],
        };
        let text = anstream::adapter::strip_str(&report(&[], std::slice::from_ref(&area))).to_string();
        assert_eq!(
            text,
            "rows that no test of side S names\n  STK  2 of  3  02 03\ntidy rows that tests name: K 0 of 0, S 1 of 3, C 0 of 0\n"
        );
        let json = json_lines(&[Problem::new("lock", "Cargo.lock", "missing", "commit it")], &[area]);
        let [_, summary] = json.lines().collect::<Vec<_>>()[..] else { panic!("{json}") };
        let summary: serde_json::Value = summary.parse().unwrap();
        assert_eq!(
            (&summary["problems"], &summary["areas"][0]["side"], &summary["areas"][0]["uncovered"][1]),
            (&json!(1), &json!("S"), &json!("STK-03"))
        );
    }

    #[test]
    fn an_empty_repository_lacks_the_files_that_every_rule_reads() {
        let (problems, areas) = check(&Repository::default(), &Known::default());
        let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
        assert_eq!(
            files,
            ["docs/requirements.md", "exchange/client/e2e/faults.md", "README.md", "Cargo.lock"]
        );
        assert!(areas.is_empty());
    }
}
