//! Checks for strings that must not be committed: absolute paths of a developer's machine, and marks of
//! unfinished work.

use crate::{
    repository::{RepositoryFiles, SourceFile},
    violation::RuleViolation,
};

/// Absolute paths of a developer's machine. Each is split into two strings, so that this file does not
/// contain it.
const MACHINE_FOLDERS: [&str; 3] = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];
const UNFINISHED_MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
const UNFINISHED_MACRO: &str = concat!("todo", "!(");
/// Files by other authors, which are not checked.
const EXTERNAL_TEXT: [&str; 2] = ["Cargo.lock", "codegen/tests/cases/"];

/// Checks every line of every file.
pub(super) fn check(repository: &RepositoryFiles) -> Vec<RuleViolation> {
    let is_own_file =
        |file: &&SourceFile| !EXTERNAL_TEXT.iter().any(|foreign| file.path.starts_with(foreign));
    repository.files.iter().filter(is_own_file).flat_map(check_file).collect()
}

fn check_file(file: &SourceFile) -> Vec<RuleViolation> {
    let mut problems = Vec::new();
    for (line, text) in file.numbered_lines() {
        if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| has_path(text, folder)) {
            let what = format!("absolute path: {folder}");
            let repair = "use a path relative to the repository";
            problems.push(RuleViolation::new("words", &file.path, what, repair).at_line(line));
        }
        let mark = UNFINISHED_MARKS
            .iter()
            .find(|mark| has_word(text, mark))
            .or(text.contains(UNFINISHED_MACRO).then_some(&UNFINISHED_MACRO));
        if let Some(mark) = mark {
            let what = format!("unfinished work: {mark}");
            let repair = "finish it, or document the limitation";
            problems.push(RuleViolation::new("words", &file.path, what, repair).at_line(line));
        }
    }
    problems
}

/// Returns true if the line contains an absolute path that starts with this folder. Longer paths and URLs
/// that contain the folder do not count.
fn has_path(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '}' | '>' | '*' | '~'))
    })
}

fn has_word(text: &str, word: &str) -> bool {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(word).any(|(at, _)| {
        !inside(text[..at].chars().next_back()) && !inside(text[at + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::{super::assert_problems, *};

    #[test]
    fn absolute_paths_are_reported_but_urls_are_not() {
        let [work, root, home] = MACHINE_FOLDERS;
        let bad = format!("a\nsee {work}main\n`{root}.cargo` file://{home}me\n");
        let good = format!("https://example.com{work}1 ../{}x {{base}}{home}\n", &work[1..]);
        assert_problems(check, &[("a.md", &bad), ("b.md", &good)], &["a.md:2 words", "a.md:3 words"]);
    }

    #[test]
    fn unfinished_work_is_reported() {
        let [first, second] = UNFINISHED_MARKS;
        let bad = format!("// {first}: later\n// {second}\n    {UNFINISHED_MACRO})\n");
        let good = format!("METHOD{first} {first}S {}\n", first.to_lowercase());
        assert_problems(
            check,
            &[("a.rs", &bad), ("b.rs", &good), ("codegen/tests/cases/github/input/api.json", &bad)],
            &["a.rs:1 words", "a.rs:2 words", "a.rs:3 words"],
        );
    }
}
