//! The difference that is shown: the first that means something.
//!
//! An edit of a schema changes a digest and moves rows of its group. What is shown is the first
//! change beside that.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

/// Lines of a hunk that are shown.
const LINES: usize = 24;

/// A differing file as candidate.
#[derive(Debug)]
pub(super) struct Difference {
    /// Whether more than digests and numbers of rows differ.
    pub(super) means: bool,
    /// The hunk, as unified diff.
    pub(super) text: String,
}

/// The first hunk that means something, or the first.
pub(super) fn difference(path: &str, before: &str, after: &str) -> Difference {
    let before = before.replace("\r\n", "\n");
    let diff = TextDiff::from_lines(before.as_str(), after);
    let mut unified = diff.unified_diff();
    let mut first = None;
    for hunk in unified.context_radius(3).iter_hunks() {
        let lines = |tag: ChangeTag| -> Vec<String> {
            let changes = hunk.iter_changes().filter(|change| change.tag() == tag);
            changes.map(|change| masked(change.value())).collect()
        };
        let means = lines(ChangeTag::Delete) != lines(ChangeTag::Insert);
        if means || first.is_none() {
            first = Some((means, hunk.to_string()));
        }
        if means {
            break;
        }
    }
    let (means, hunk) = first.unwrap_or_default();
    let mut text = format!("--- {path} (on disk)\n+++ {path} (generated)\n");
    for line in hunk.lines().take(LINES) {
        // Writing into a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    let more = hunk.lines().count().saturating_sub(LINES);
    if more > 0 {
        let _ = writeln!(text, "… {more} more lines");
    }
    Difference { means, text }
}

/// What stands before the number of a row in its group.
const OFFSET: &str = ".plus(";

/// A line without what changes of itself: the digest of an input, where a row stands in its group,
/// how many stand there.
fn masked(line: &str) -> String {
    if let Some((before, _)) = line.split_once("` sha256 ") {
        return before.to_owned();
    }
    // How many rows a group has.
    if let Some((name, count)) = line.trim().trim_end_matches(',').split_once(" = ")
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && count.chars().all(|c| c.is_ascii_digit())
    {
        return name.to_owned();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(OFFSET) {
        let (before, after) = rest.split_at(at + OFFSET.len());
        out.push_str(before);
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_and_rows_mean_nothing() {
        let before =
            "//! * `a.json` sha256 01\n\n\n\n\n\n\n\n\n        SHIP = 7,\n\n\n\n\n\n\n\n\nx(SHIP.plus(1));\n";
        let after = before.replace("01", "02").replace('7', "8").replace("(1)", "(22)");
        let found = difference("a.rs", before, &after);
        assert!(!found.means && found.text.contains("-//! * `a.json` sha256 01\n"), "{}", found.text);
        let after = after.replace("x(", "y(");
        let found = difference("a.rs", before, &after);
        assert!(found.means && !found.text.contains("sha256"), "{}", found.text);
        assert!(found.text.contains("+y(SHIP.plus(22));\n"), "{}", found.text);
    }
}
