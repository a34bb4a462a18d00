//! Words that committed text does not hold: paths of somebody's machine, unfinished work.

use crate::{
    problem::Problem,
    repository::{File, Repository},
};

/// Folders of machines. In two parts, so that this file does not hold them.
const FOLDERS: [&str; 3] = [concat!("/", "work/"), concat!("/", "root/"), concat!("/", "home/")];
/// Marks of unfinished work.
const MARKS: [&str; 2] = [concat!("TO", "DO"), concat!("FIX", "ME")];
/// The macro of unfinished work.
const MACRO: &str = concat!("todo", "!(");
/// Text of others: what they wrote is kept as it is.
const FOREIGN: [&str; 2] = ["Cargo.lock", "codegen/tests/cases/"];

/// Checks every line of every text.
pub(super) fn check(repository: &Repository) -> Vec<Problem> {
    let own = |file: &&File| !FOREIGN.iter().any(|foreign| file.path.starts_with(foreign));
    repository.files.iter().filter(own).flat_map(of_file).collect()
}

fn of_file(file: &File) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (line, text) in file.lines() {
        if let Some(folder) = FOLDERS.iter().find(|folder| has_path(text, folder)) {
            let what = format!("a path of somebody's machine: {folder}");
            let repair = "use a path relative to the repository";
            problems.push(Problem::new("words", &file.path, what, repair).at(line));
        }
        let mark = MARKS.iter().find(|mark| has_word(text, mark)).or(text.contains(MACRO).then_some(&MACRO));
        if let Some(mark) = mark {
            let what = format!("unfinished work: {mark}");
            let repair = "finish it, or say in plain words what is not supported";
            problems.push(Problem::new("words", &file.path, what, repair).at(line));
        }
    }
    problems
}

/// Whether a path begins with this folder; a part of a longer path or of an address does not count.
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
    fn paths_of_machines_are_found_and_addresses_are_not() {
        let [work, root, home] = FOLDERS;
        let bad = format!("a\nsee {work}main\n`{root}.cargo` file://{home}me\n");
        let good = format!("https://example.com{work}1 ../{}x {{base}}{home}\n", &work[1..]);
        assert_problems(check, &[("a.md", &bad), ("b.md", &good)], &["a.md:2 words", "a.md:3 words"]);
    }

    #[test]
    fn unfinished_work_is_found() {
        let [first, second] = MARKS;
        let bad = format!("// {first}: later\n// {second}\n    {MACRO})\n");
        let good = format!("METHOD{first} {first}S {}\n", first.to_lowercase());
        assert_problems(
            check,
            &[("a.rs", &bad), ("b.rs", &good), ("codegen/tests/cases/github/input/api.json", &bad)],
            &["a.rs:1 words", "a.rs:2 words", "a.rs:3 words"],
        );
    }
}
