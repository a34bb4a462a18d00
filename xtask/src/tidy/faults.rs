//! The faults of exchange/client/e2e/faults.md: each has its number and tests, and the tests are there.

use crate::{
    faults::{TABLE, rows},
    problem::Problem,
    repository::Repository,
};

/// Checks the table, where there is a client.
pub(super) fn check(repository: &Repository) -> Vec<Problem> {
    let Some(table) = repository.file(TABLE) else {
        let repair = "bring back the table of faults: | number | fault | expected | tests |";
        return vec![Problem::new("faults", TABLE, "is missing", repair)];
    };
    let mut problems = Vec::new();
    for (number, fault) in (1..).zip(rows(&table.text)) {
        let mut wrong = |what: String, repair: &str| {
            problems.push(Problem::new("faults", TABLE, what, repair).at(fault.line));
        };
        if fault.number != number {
            let what = format!("is fault {}, and {number} would be the next", fault.number);
            wrong(what, "count the faults of the table from 1");
        }
        if fault.tests.is_empty() {
            wrong(format!("fault {} has no test", fault.number), "name its tests: `path/of/a.rs::function`");
        }
        for (path, name) in &fault.tests {
            let is_there =
                repository.file(path).is_some_and(|file| file.text.contains(&format!("fn {name}(")));
            if !is_there {
                let what = format!("names the test {path}::{name}, which is not there");
                wrong(what, "name the test that shows what becomes of this fault");
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    #[test]
    fn every_fault_has_tests_that_are_there() {
        let head = "# Faults\n\n| # | fault | expected | tests |\n|---|---|---|---|\n";
        let table = |rows: &str| format!("{head}{rows}");
        let code = ("a/b.rs", "#[test]\nfn one() {}\n");
        let good = table("| 1 | x | y | `a/b.rs::one` |\n");
        assert_problems(check, &[(TABLE, good.as_str()), code], &[]);
        let bad = table("| 1 | x | y | `a/b.rs::on` `a/c.rs::one` |\n| 3 | x | y | |\n");
        assert_problems(
            check,
            &[(TABLE, bad.as_str()), code],
            &[
                "exchange/client/e2e/faults.md:5 faults",
                "exchange/client/e2e/faults.md:5 faults",
                "exchange/client/e2e/faults.md:6 faults",
                "exchange/client/e2e/faults.md:6 faults",
            ],
        );
        assert_problems(check, &[code], &["exchange/client/e2e/faults.md faults"]);
    }
}
