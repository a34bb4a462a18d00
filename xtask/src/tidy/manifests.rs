//! `Cargo.toml`: every dependency has its reason; `Cargo.lock` is committed.

use crate::{
    problem::Problem,
    repository::{File, Repository},
};

/// Checks all manifests, and the lock.
pub(super) fn check(repository: &Repository) -> Vec<Problem> {
    let mut problems: Vec<Problem> = repository
        .ending("Cargo.toml")
        .filter(|file| file.name() == "Cargo.toml" && !file.path.starts_with("codegen/tests/"))
        .flat_map(reasons)
        .collect();
    if repository.file("Cargo.lock").is_none() {
        let repair = "run any cargo command, and commit the file that it writes";
        problems.push(Problem::new("lock", "Cargo.lock", "is missing, or ignored by git", repair));
    }
    problems
}

/// Dependencies without a comment above them or above the group of lines that they are in.
fn reasons(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut listing = false;
    // Whether the group of lines that this one belongs to began with a comment.
    let mut reason = false;
    // Brackets that the lines before left open.
    let mut open: i32 = 0;
    for (line, text) in file.lines() {
        let text = text.trim();
        if open > 0 {
            open += depth(text);
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
            open = depth(text);
        }
    }
    problems
}

fn check_one(file: &File, line: usize, name: &str, reason: bool, problems: &mut Vec<Problem>) {
    if !reason {
        let what = format!("`{name}` has no reason");
        let repair = "write a comment above the dependency, or its group: what it is needed for";
        problems.push(Problem::new("dependencies", &file.path, what, repair).at(line));
    }
}

/// Brackets opened less those closed.
fn depth(text: &str) -> i32 {
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
    fn dependencies_have_reasons() {
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
    fn the_lock_is_committed() {
        assert_problems(check, &[], &["Cargo.lock lock"]);
        assert_problems(check, &[("Cargo.lock", "")], &[]);
    }
}
