//! Something that breaks a rule of the house: where, what, and what to do about it.

use serde_json::json;

use crate::style::{BAD, FAINT};

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// The rule, one word.
    pub(crate) rule: &'static str,
    /// The file, relative to the repository, with `/`.
    pub(crate) file: String,
    /// The line, from 1; `None` when it concerns the whole file.
    pub(crate) line: Option<usize>,
    /// What is wrong.
    pub(crate) what: String,
    /// What to do.
    pub(crate) repair: String,
}

impl Problem {
    /// A problem of a whole file.
    pub(crate) fn new(
        rule: &'static str,
        file: &str,
        what: impl Into<String>,
        repair: impl Into<String>,
    ) -> Self {
        Self { rule, file: file.to_owned(), line: None, what: what.into(), repair: repair.into() }
    }

    /// Says at which line, from 1.
    pub(crate) fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// `src/a.rs:3`
    pub(crate) fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}:{line}", self.file),
            None => self.file.clone(),
        }
    }

    /// One JSON object.
    pub(crate) fn json(&self) -> String {
        let Self { rule, file, line, what, repair } = self;
        json!({ "rule": rule, "file": file, "line": line, "what": what, "repair": repair }).to_string()
    }
}

/// Problems for people; neighbours that are repaired alike share the line that says how.
pub(crate) fn render(problems: &[Problem]) -> String {
    let mut out = String::new();
    for (index, problem) in problems.iter().enumerate() {
        let Problem { rule, what, repair, .. } = problem;
        let place = problem.place();
        out.push_str(&format!("{BAD}{place}{BAD:#}: {what} {FAINT}[{rule}]{FAINT:#}\n"));
        if problems.get(index + 1).is_none_or(|next| next.repair != *repair) {
            out.push_str(&format!("  -> {repair}\n"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_share_their_repair() {
        let problems = [
            Problem::new("lines", "a.rs", "too long", "split it").at(801),
            Problem::new("lines", "b.rs", "too long", "split it"),
            Problem::new("lock", "Cargo.lock", "missing", "commit it"),
        ];
        let text = anstream::adapter::strip_str(&render(&problems)).to_string();
        assert_eq!(
            text,
            "a.rs:801: too long [lines]\nb.rs: too long [lines]\n  -> split it\nCargo.lock: missing [lock]\n  -> commit it\n"
        );
    }

    #[test]
    fn programs_get_an_object() {
        let json = Problem::new("lock", "Cargo.lock", "missing", "commit it").json();
        let expect = json!({
            "rule": "lock", "file": "Cargo.lock", "line": null, "what": "missing", "repair": "commit it",
        });
        assert_eq!(json.parse::<serde_json::Value>().unwrap(), expect);
    }
}
