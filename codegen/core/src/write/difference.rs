//! Selects the part of a difference that a check shows: the first hunk with a significant change.
//!
//! Editing a schema changes the digest of its file and shifts the numbers of table rows. A hunk with only
//! such changes is shown only if there is no other one.

use std::fmt::Write as _;

use similar::{ChangeTag, TextDiff};

/// The maximum number of lines of a hunk that are shown.
const MAX_LINES: usize = 24;

/// The shown part of the difference in one file.
#[derive(Debug)]
pub(super) struct FileDifference {
    /// True if the lines differ in more than digests and row numbers.
    pub(super) is_significant: bool,
    /// The hunk as a unified diff, with at most [`MAX_LINES`] lines.
    pub(super) text: String,
}

/// Returns the first hunk with a significant change or, if there is none, the first hunk.
pub(super) fn first_difference(path: &str, before: &str, after: &str) -> FileDifference {
    let before = before.replace("\r\n", "\n");
    let diff = TextDiff::from_lines(before.as_str(), after);
    let mut unified = diff.unified_diff();
    let mut first = None;
    for hunk in unified.context_radius(3).iter_hunks() {
        let lines = |tag: ChangeTag| -> Vec<String> {
            let changes = hunk.iter_changes().filter(|change| change.tag() == tag);
            changes.map(|change| mask_unstable(change.value())).collect()
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
    for line in hunk.lines().take(MAX_LINES) {
        // Writing into a string does not fail.
        let _ = writeln!(text, "{line}");
    }
    let more = hunk.lines().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let _ = writeln!(text, "… {more} more lines");
    }
    FileDifference { is_significant: means, text }
}

/// The text before the row number in references to table rows.
const OFFSET_CALL: &str = ".offset_by(";

/// Removes the parts of a line that change whenever a schema is edited: the digest of an input, the number of
/// a row, and the number of rows in a group.
fn mask_unstable(line: &str) -> String {
    if let Some((before, _)) = line.split_once("` sha256 ") {
        return before.to_owned();
    }
    // A constant in capitals with a number is the number of rows in a group.
    if let Some((name, count)) = line.trim().trim_end_matches(',').split_once(" = ")
        && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
        && count.chars().all(|c| c.is_ascii_digit())
    {
        return name.to_owned();
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(OFFSET_CALL) {
        let (before, after) = rest.split_at(at + OFFSET_CALL.len());
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
    fn digest_and_row_differences_are_insignificant() {
        let before = "//! * `a.json` sha256 01\n\n\n\n\n\n\n\n\n        SHIP = 7,\n\n\n\n\n\n\n\n\nx(SHIP.offset_by(1));\n";
        let after = before.replace("01", "02").replace('7', "8").replace("(1)", "(22)");
        let found = first_difference("a.rs", before, &after);
        assert!(
            !found.is_significant && found.text.contains("-//! * `a.json` sha256 01\n"),
            "{}",
            found.text
        );
        let after = after.replace("x(", "y(");
        let found = first_difference("a.rs", before, &after);
        assert!(found.is_significant && !found.text.contains("sha256"), "{}", found.text);
        assert!(found.text.contains("+y(SHIP.offset_by(22));\n"), "{}", found.text);
    }
}
