//! Checks that every dependency in a `Cargo.toml` has a comment with its reason, and that `Cargo.lock` is
//! committed.

use crate::{
    repository::{RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

/// Checks all manifests and the lock file.
pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let mut problems: Vec<RuleViolation> = repository
        .with_suffix("Cargo.toml")
        .filter(|file| file.file_name() == "Cargo.toml" && !file.path.starts_with("codegen/tests/"))
        .flat_map(check_reasons)
        .collect();
    if repository.find_file("Cargo.lock").is_none() {
        let repair = "run any cargo command and commit the file";
        problems.push(RuleViolation::new("lock", "Cargo.lock", "is missing, or ignored by git", repair));
    }
    problems
}

/// Reports dependencies that have no comment above them or above their group of lines.
fn check_reasons(file: &SourceFile) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    let mut listing = false;
    // True if the current group of lines starts with a comment.
    let mut reason = false;
    // The number of brackets that earlier lines opened and did not close.
    let mut open: i32 = 0;
    for (line, text) in file.numbered_lines() {
        let text = text.trim();
        if open > 0 {
            open += bracket_depth(text);
            continue;
        }
        if text.is_empty() {
            reason = false;
        } else if text.starts_with('#') {
            reason = true;
        } else if text.starts_with('[') {
            let name = text.trim_matches(['[', ']']);
            listing = name.ends_with("dependencies");
            if let Some((_, one)) = name.split_once("dependencies.") {
                check_one(file, line, one, reason, &mut problems);
            }
            reason = false;
        } else if listing {
            let name = text.split(['=', '.', ' ']).next().unwrap_or(text);
            check_one(file, line, name, reason || text.contains(" # "), &mut problems);
            open = bracket_depth(text);
        }
    }
    problems
}

fn check_one(file: &SourceFile, line: usize, name: &str, reason: bool, problems: &mut Vec<RuleViolation>) {
    if !reason {
        let what = format!("`{name}` has no comment with its reason");
        let repair = "add a comment with the reason above the dependency or its group";
        problems.push(RuleViolation::new("dependencies", &file.path, what, repair).at_line(line));
    }
}

/// Returns the number of opening brackets minus the number of closing brackets.
fn bracket_depth(text: &str) -> i32 {
    text.chars().fold(0, |depth, c| match c {
        '[' | '{' => depth + 1,
        ']' | '}' => depth - 1,
        _ => depth,
    })
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    #[test]
    fn dependencies_need_a_comment() {
        let good = "[package]\nname = \"a\"\n\n[dependencies]\n# A group.\nserde = \"1\"\ntoml = \"1\"\n# One of several lines.\nhttp = { version = \"1\", features = [\n  \"a\",\n] }\n\n# A table.\n[dependencies.bytes]\nversion = \"1\"\n";
        let bad = "[dependencies]\nserde = \"1\"\n\n# A reason.\ntoml = \"1\"\n\nhttp.workspace = true\n\n[target.'cfg(unix)'.dev-dependencies]\nlibc = \"1\"\n\n[dependencies.bytes]\nversion = \"1\"\n";
        assert_problems(
            check,
            &[("Cargo.lock", ""), ("a/Cargo.toml", good), ("b/Cargo.toml", bad)],
            &[
                "b/Cargo.toml:2 dependencies",
                "b/Cargo.toml:7 dependencies",
                "b/Cargo.toml:10 dependencies",
                "b/Cargo.toml:12 dependencies",
            ],
        );
    }

    #[test]
    fn missing_lock_file_is_reported() {
        assert_problems(check, &[], &["Cargo.lock lock"]);
        assert_problems(check, &[("Cargo.lock", "")], &[]);
    }
}
