//! Checks docs/clients.md, the page for implementers of clients, against the contract and its example.
//!
//! Every excerpt is a part of the example, and every part is on the page. Rows, error codes, statuses and paths
//! exist, and no error code, op reason or row of the client side is missing.

use std::collections::BTreeSet;

use serde_json::Value;

use super::requirements::{self, RequirementSide};
use crate::{
    repository::{RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

const PAGE: &str = "docs/clients.md";
const EXAMPLE: &str = "docs/clients/example.py";
const ERRORS: &str = "schemas/errors.json";
const OPENAPI: &str = "schemas/openapi.json";
/// Every path of the API starts with this string.
const PATH_PREFIX: &str = "/exchange/v1";
const FIX: &str = "correct the page, or the file that it describes";

/// Checks the page, if the repository contains it.
pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let Some(page) = repository.find_file(PAGE) else {
        return Vec::new();
    };
    let mut problems = Vec::new();
    check_excerpts(page, repository, &mut problems);
    check_rows(page, repository, &mut problems);
    match (parse_json(repository, ERRORS), parse_json(repository, OPENAPI)) {
        (Some(errors), Some(openapi)) => {
            check_codes(page, &errors, &mut problems);
            check_paths(page, &openapi, &mut problems);
        }
        _ => problems.push(violation(format!("{ERRORS} or {OPENAPI} is not JSON"))),
    }
    problems
}

fn violation(message: String) -> RuleViolation {
    RuleViolation::new("clients", PAGE, message, FIX)
}

fn parse_json(repository: &RepositoryFiles, path: &str) -> Option<Value> {
    serde_json::from_str(&repository.find_file(path)?.text).ok()
}

fn check_excerpts(page: &SourceFile, repository: &RepositoryFiles, problems: &mut Vec<RuleViolation>) {
    let example = repository.find_file(EXAMPLE).map(|file| file.text.as_str()).unwrap_or_default();
    let mut parts = example_parts(example);
    for (line, excerpt) in python_blocks(page) {
        match parts.iter().position(|(_, text)| *text == excerpt) {
            Some(index) => drop(parts.remove(index)),
            None => {
                let what = format!("the excerpt is not a part of {EXAMPLE}");
                let repair =
                    "copy the lines between `# part: …` and `# end` of the example, without indentation";
                problems.push(RuleViolation::new("clients", PAGE, what, repair).at_line(line));
            }
        }
    }
    problems.extend(
        parts.into_iter().map(|(name, _)| violation(format!("the part `{name}` of {EXAMPLE} is missing"))),
    );
}

/// Returns name and text of each part of the example: the lines between `# part: NAME` and `# end`, without
/// the indentation of these comments.
fn example_parts(example: &str) -> Vec<(&str, String)> {
    let mut parts = Vec::new();
    let mut lines = example.lines();
    while let Some(line) = lines.next() {
        let Some((indentation, name)) = line.split_once("# part: ") else {
            continue;
        };
        let text = lines.by_ref().take_while(|line| line.trim() != "# end");
        let text: Vec<&str> = text.map(|line| line.strip_prefix(indentation).unwrap_or(line)).collect();
        parts.push((name, text.join("\n")));
    }
    parts
}

/// Returns the Python blocks of a page with the numbers of their first lines.
fn python_blocks(page: &SourceFile) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.numbered_lines();
    while let Some((line, text)) = lines.next() {
        if text == "```python" {
            let text = lines.by_ref().map(|(_, text)| text).take_while(|text| *text != "```");
            blocks.push((line + 1, text.collect::<Vec<_>>().join("\n")));
        }
    }
    blocks
}

fn check_rows(page: &SourceFile, repository: &RepositoryFiles, problems: &mut Vec<RuleViolation>) {
    let rows = requirements::rows_with_sides(repository);
    let mut named = BTreeSet::new();
    for (line, text) in page.numbered_lines() {
        for id in requirements::row_ids(text) {
            if !rows.iter().any(|(row, _)| row == id) {
                problems.push(violation(format!("names the unknown row {id}")).at_line(line));
            }
            named.insert(id);
        }
    }
    for (id, sides) in &rows {
        if sides.contains(&RequirementSide::Client) && !named.contains(id.as_str()) {
            problems.push(violation(format!("does not name {id}, a row of the client")));
        }
    }
}

/// Compares the tables of errors with the registry: `code`, status, action.
fn check_codes(page: &SourceFile, errors: &Value, problems: &mut Vec<RuleViolation>) {
    let names = |list: &str, member: &str| -> BTreeSet<(String, String)> {
        let entries = errors[list].as_array().into_iter().flatten();
        let entries = entries.filter(|entry| entry["retired"] != true);
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        entries.map(|entry| (text(&entry[member]), text(&entry["status"]))).collect()
    };
    let mut errors = names("codes", "code");
    errors.append(&mut names("oauthErrors", "error"));
    let reasons: BTreeSet<String> = names("reasons", "reason").into_iter().map(|(name, _)| name).collect();
    let known: BTreeSet<&str> =
        errors.iter().map(|(code, _)| code).chain(&reasons).map(String::as_str).collect();

    let mut listed = BTreeSet::new();
    let mut listed_reasons = BTreeSet::new();
    for (line, text) in page.numbered_lines() {
        for code in code_spans(text).filter(|span| is_code(span)) {
            if !known.contains(code) {
                problems.push(violation(format!("`{code}` is not in {ERRORS}")).at_line(line));
            }
        }
        let mut cells = text.split('|').map(str::trim).skip(1);
        let (Some(first), Some(second)) = (cells.next(), cells.next()) else {
            continue;
        };
        if second.len() == 3 && second.bytes().all(|byte| byte.is_ascii_digit()) {
            listed.insert((first.trim_matches('`').to_owned(), second.to_owned()));
        } else {
            listed_reasons.extend(code_spans(first).map(str::to_owned));
        }
    }
    let differences = errors.symmetric_difference(&listed);
    problems.extend(differences.map(|(code, status)| {
        let place = if listed.contains(&(code.clone(), status.clone())) { ERRORS } else { "the page" };
        violation(format!("`{code}` with the status {status} is not in {place}"))
    }));
    let missing = reasons.difference(&listed_reasons);
    problems.extend(
        missing.map(|reason| violation(format!("the reason `{reason}` is not in the table of reasons"))),
    );
}

/// Returns true for names in the form of codes, such as `RATE_LIMITED`.
fn is_code(span: &str) -> bool {
    let variable = span == "EXCHANGE_SANDBOX";
    span.trim_matches('_').contains('_')
        && !variable
        && span.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

/// Checks the method and the path of each operation in a code span, such as `GET /exchange/v1/me/stock`.
fn check_paths(page: &SourceFile, openapi: &Value, problems: &mut Vec<RuleViolation>) {
    for (line, text) in page.numbered_lines() {
        for span in code_spans(text) {
            let (method, path) = span.split_once(' ').unwrap_or(("", span));
            if !path.starts_with(PATH_PREFIX) {
                continue;
            }
            let operations = &openapi["paths"][path];
            let exists = match method {
                "" => operations.is_object() || path == PATH_PREFIX,
                _ => operations[method.to_lowercase()].is_object(),
            };
            if !exists {
                problems.push(violation(format!("`{span}` is not in {OPENAPI}")).at_line(line));
            }
        }
    }
}

/// Returns the code spans of a line, without backticks.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::assert_problems;

    const ROWS: &str =
        "| id | side | requirement |\n|---|---|---|\n| AA-01 | K,C,S | x |\n| AA-02 | S | x |\n";
    const ERRORS_JSON: &str = r#"{
        "codes": [
            {"code": "RATE_LIMITED", "status": 429, "retired": false},
            {"code": "OLD_CODE", "status": 410, "retired": true}
        ],
        "reasons": [{"reason": "UNIT_MISMATCH"}],
        "oauthErrors": [{"error": "slow_down", "status": 400}]
    }"#;
    const OPENAPI_JSON: &str = r#"{"paths": {"/exchange/v1/me/stock": {"get": {}}}}"#;
    const EXAMPLE_TEXT: &str =
        "import x\n\nif x:\n    # part: one\n    a = 1\n\n    if a:\n        b = 2\n    # end\n";
    const VALID_PAGE: &str = "Row AA-01: `GET /exchange/v1/me/stock` below `/exchange/v1`, `EXCHANGE_SANDBOX`, `_`.\n\n\
        ```python\na = 1\n\nif a:\n    b = 2\n```\n\n| `RATE_LIMITED` | 429 | waits |\n| `slow_down` | 400 | waits |\n\n\
        | `UNIT_MISMATCH` | converts |\n";

    /// Checks a page that was changed at one place, and expects these messages.
    fn check_page(from: &str, to: &str, expected: &[&str]) {
        assert!(VALID_PAGE.contains(from), "{from}");
        let files = [
            (PAGE, VALID_PAGE.replacen(from, to, 1)),
            (EXAMPLE, EXAMPLE_TEXT.to_owned()),
            ("docs/requirements.md", ROWS.to_owned()),
            (ERRORS, ERRORS_JSON.to_owned()),
            (OPENAPI, OPENAPI_JSON.to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let messages: Vec<String> =
            check(&RepositoryFiles::from_files(&files)).into_iter().map(|problem| problem.message).collect();
        assert_eq!(messages, expected, "{from} -> {to}");
    }

    #[test]
    fn valid_page_has_no_violation() {
        check_page("Row", "Row", &[]);
    }

    #[test]
    fn excerpts_are_parts_of_the_example() {
        let foreign = "the excerpt is not a part of docs/clients/example.py";
        let missing = "the part `one` of docs/clients/example.py is missing";
        check_page("b = 2", "b = 3", &[foreign, missing]);
        check_page("```python", "```text", &[missing]);
        check_page("```python", "```python\na = 1\n```\n```python", &[foreign]);
    }

    #[test]
    fn rows_exist_and_those_of_the_client_are_named() {
        check_page("AA-01", "AA-01, AA-02, AA-99", &["names the unknown row AA-99"]);
        check_page("AA-01", "AA-02", &["does not name AA-01, a row of the client"]);
    }

    #[test]
    fn codes_match_the_registry() {
        check_page(
            "429",
            "503",
            &[
                "`RATE_LIMITED` with the status 429 is not in the page",
                "`RATE_LIMITED` with the status 503 is not in schemas/errors.json",
            ],
        );
        check_page(
            "| `slow_down` | 400 | waits |",
            "",
            &["`slow_down` with the status 400 is not in the page"],
        );
        check_page("Row", "`OLD_CODE`", &["`OLD_CODE` is not in schemas/errors.json"]);
        check_page(
            "| `UNIT_MISMATCH`",
            "| `UNIT`",
            &["the reason `UNIT_MISMATCH` is not in the table of reasons"],
        );
    }

    #[test]
    fn paths_are_in_the_document() {
        for span in ["POST /exchange/v1/me/stock", "GET /exchange/v1/me/stocks", "/exchange/v1/me"] {
            check_page(
                "GET /exchange/v1/me/stock",
                span,
                &[&format!("`{span}` is not in schemas/openapi.json")],
            );
        }
    }

    #[test]
    fn repository_without_the_page_has_no_violation() {
        assert_problems(check, &[], &[]);
    }
}
