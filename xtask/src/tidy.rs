//! `tidy`: the rules of the house, each a function from the repository to its problems.

mod commands;
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
use requirements::Area;

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
    problems.extend(commands::check(repository, known));
    problems.extend(words::check(repository));
    problems.extend(links::check(repository));
    problems.extend(manifests::check(repository));
    (problems, areas)
}

/// For people: the problems, the rows by area, what it comes to.
fn report(problems: &[Problem], areas: &[Area]) -> String {
    let mut out = problem::render(problems);
    let (rows, covered): (usize, usize) =
        areas.iter().fold((0, 0), |(rows, covered), area| (rows + area.rows, covered + area.covered));
    if rows > covered {
        out.push_str(&format!(
            "{HEAD}rows of docs/requirements.md that tests name: {covered} of {rows}{HEAD:#}\n"
        ));
        for area in areas {
            let Area { name, rows, covered, later, .. } = area;
            out.push_str(&format!("  {name:<3} {covered:>2} of {rows:>2}"));
            if !later.is_empty() {
                let later: Vec<&str> = later.iter().filter_map(|id| id.rsplit('-').next()).collect();
                out.push_str(&format!("  {FAINT}not yet: {}{FAINT:#}", later.join(" ")));
            }
            out.push('\n');
        }
    }
    match problems.len() {
        0 => out.push_str(&format!(
            "{GOOD}tidy{GOOD:#} {covered} of {rows} requirement rows are named by tests\n"
        )),
        number => out.push_str(&format!("{BAD}untidy{BAD:#} {}\n", count(number, "problem"))),
    }
    out
}

/// For programs.
fn json_lines(problems: &[Problem], areas: &[Area]) -> String {
    let mut out: String = problems.iter().map(|problem| problem.json() + "\n").collect();
    let rows = areas.iter().map(|area| {
        let Area { name, rows, covered, missing, later } = area;
        json!({ "area": name, "rows": rows, "covered": covered, "missing": missing, "notYet": later })
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
    fn what_is_not_yet_tested_is_listed_without_failing() {
        let area = Area {
            name: "STK".to_owned(),
            rows: 3,
            covered: 1,
            missing: Vec::new(),
            later: vec!["STK-02".to_owned(), "STK-03".to_owned()],
        };
        let text = anstream::adapter::strip_str(&report(&[], std::slice::from_ref(&area))).to_string();
        assert_eq!(
            text,
            "rows of docs/requirements.md that tests name: 1 of 3\n  STK  1 of  3  not yet: 02 03\ntidy 1 of 3 requirement rows are named by tests\n"
        );
        let json = json_lines(&[Problem::new("lock", "Cargo.lock", "missing", "commit it")], &[area]);
        let [_, summary] = json.lines().collect::<Vec<_>>()[..] else { panic!("{json}") };
        let summary: serde_json::Value = summary.parse().unwrap();
        assert_eq!((&summary["problems"], &summary["areas"][0]["notYet"][1]), (&json!(1), &json!("STK-03")));
    }

    #[test]
    fn an_empty_repository_lacks_the_files_that_every_rule_reads() {
        let (problems, areas) = check(&Repository::default(), &Known::default());
        let files: Vec<&str> = problems.iter().map(|problem| problem.file.as_str()).collect();
        assert_eq!(files, ["docs/requirements.md", "README.md", "Cargo.lock"]);
        assert!(areas.is_empty());
    }
}
