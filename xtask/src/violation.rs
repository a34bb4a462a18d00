//! A violation of a repository rule, with its location, a message, and its fix.

use serde_json::json;

use crate::style::{DIMMED, FAILURE};

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RuleViolation {
    /// The id of the rule, which is one word.
    pub(crate) rule: &'static str,
    /// The path of the file, relative to the repository, with `/` as the separator.
    pub(crate) file: String,
    /// The line number, starting at 1; `None` if the violation concerns the whole file.
    pub(crate) line: Option<usize>,
    pub(crate) message: String,
    pub(crate) fix: String,
}

impl RuleViolation {
    /// Creates a violation that concerns a whole file.
    pub(crate) fn new(
        rule: &'static str,
        file: &str,
        what: impl Into<String>,
        repair: impl Into<String>,
    ) -> Self {
        Self { rule, file: file.to_owned(), line: None, message: what.into(), fix: repair.into() }
    }

    /// Sets the line number, starting at 1.
    pub(crate) fn at_line(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// Formats the location, such as `src/a.rs:3`.
    pub(crate) fn location(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }

    pub(crate) fn to_json(&self) -> String {
        let Self { rule, file, line, message: what, fix: repair } = self;
        json!({ "rule": rule, "file": file, "line": line, "what": what, "repair": repair }).to_string()
    }
}

/// Renders violations as text. The fix is printed once for adjacent violations with the same fix.
pub(crate) fn render_violations(problems: &[RuleViolation]) -> String {
    let mut out = String::new();
    for (index, problem) in problems.iter().enumerate() {
        let RuleViolation { rule, message: what, fix: repair, .. } = problem;
        let place = problem.location();
        out.push_str(&format!("{FAILURE}{place}{FAILURE:#}: {what} {DIMMED}[{rule}]{DIMMED:#}\n"));
        if problems.get(index + 1).is_none_or(|next| next.fix != *repair) {
            out.push_str(&format!("  -> {repair}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjacent_violations_share_one_fix() {
        let problems = [
            RuleViolation::new("lines", "a.rs", "too long", "split it").at_line(801),
            RuleViolation::new("lines", "b.rs", "too long", "split it"),
            RuleViolation::new("lock", "Cargo.lock", "missing", "commit it"),
        ];
        let text = anstream::adapter::strip_str(&render_violations(&problems)).to_string();
        assert_eq!(
            text,
            "a.rs:801: too long [lines]\nb.rs: too long [lines]\n  -> split it\nCargo.lock: missing [lock]\n  -> commit it\n"
        );
    }

    #[test]
    fn violation_is_rendered_as_json() {
        let json = RuleViolation::new("lock", "Cargo.lock", "missing", "commit it").to_json();
        let expected = json!({
            "rule": "lock", "file": "Cargo.lock", "line": null, "what": "missing", "repair": "commit it",
        });
        assert_eq!(json.parse::<serde_json::Value>().unwrap(), expected);
    }
}
