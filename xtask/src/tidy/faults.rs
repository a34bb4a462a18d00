//! Checks that the faults in exchange/client/e2e/faults.md are numbered consecutively, and that each has
//! existing tests.

use crate::{
    faults::{FAULT_TABLE, parse_rows},
    repository::RepositoryFiles,
    violation::RuleViolation,
};

pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let Some(table) = repository.find_file(FAULT_TABLE) else {
        let repair = "restore the table of faults: | number | fault | expected | tests |";
        return vec![RuleViolation::new("faults", FAULT_TABLE, "is missing", repair)];
    };
    let mut problems = Vec::new();
    for (number, fault) in (1..).zip(parse_rows(&table.text)) {
        let mut wrong = |what: String, repair: &str| {
            problems.push(RuleViolation::new("faults", FAULT_TABLE, what, repair).at_line(fault.line));
        };
        if fault.number != number {
            let what = format!("is fault {}, expected {number}", fault.number);
            wrong(what, "number the faults consecutively from 1");
        }
        if fault.tests.is_empty() {
            wrong(format!("fault {} has no test", fault.number), "add its tests: `path/of/a.rs::function`");
        }
        for (path, name) in &fault.tests {
            let is_there =
                repository.find_file(path).is_some_and(|file| file.text.contains(&format!("fn {name}(")));
            if !is_there {
                let what = format!("the test {path}::{name} does not exist");
                wrong(what, "name an existing test for this fault");
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    #[test]
    fn faults_without_existing_tests_are_reported() {
        let head = "# Faults\n\n| # | fault | expected | tests |\n|---|---|---|---|\n";
        let table = |rows: &str| format!("{head}{rows}");
        let code = ("a/b.rs", "#[test]\nfn one() {}\n");
        let good = table("| 1 | x | y | `a/b.rs::one` |\n");
        assert_problems(check, &[(FAULT_TABLE, good.as_str()), code], &[]);
        let bad = table("| 1 | x | y | `a/b.rs::on` `a/c.rs::one` |\n| 3 | x | y | |\n");
        assert_problems(
            check,
            &[(FAULT_TABLE, bad.as_str()), code],
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
