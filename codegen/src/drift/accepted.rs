//! Accepted changes, that is, breaking changes to which the maintainers of a contract agreed, with the
//! reason.
//!
//! The file `drift.toml` lists them. [`AcceptedChanges::parse`] parses its text, [`AcceptedChanges::apply`]
//! marks the changes of a comparison that its entries cover, and [`append_entries`] adds entries to its text.
//! No function here reads or writes files, or reads the clock.

mod parsing;

use std::fmt::Write;

use contract_codegen_core::diagnostics::Diagnostics;

use super::{ChangeLevel, ContractChange, ContractDrift, SourceLocation, dates::CalendarDate};

/// The usual name of the file that lists accepted changes.
pub const ACCEPTED_FILE: &str = "drift.toml";

/// The reason why a breaking change is accepted, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acceptance {
    /// Why the change is accepted. Never empty.
    pub reason: String,
    /// The person or team that accepted the change.
    pub by: Option<String>,
    /// The last day on which the change is accepted; `None` for no end.
    pub expires: Option<CalendarDate>,
}

/// One `[[accepted]]` entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedEntry {
    /// The id of a rule: [`ContractChange::rule`].
    pub rule: String,
    /// The changed element: [`ContractChange::subject`].
    pub place: String,
    /// The change: [`ContractChange::difference`]. If it is `None`, the entry covers all changes of the rule
    /// at the place.
    pub difference: Option<String>,
    /// The reason for the acceptance, and its last day.
    pub acceptance: Acceptance,
}

impl AcceptedEntry {
    /// Creates the entry that covers exactly one change.
    #[must_use]
    pub fn for_change(change: &ContractChange, acceptance: &Acceptance) -> Self {
        Self {
            rule: change.rule.to_owned(),
            place: change.subject.clone(),
            difference: Some(change.difference.clone()),
            acceptance: acceptance.clone(),
        }
    }

    /// Returns true if the entry names the rule and the place of a change.
    fn is_at(&self, change: &ContractChange) -> bool {
        self.rule == change.rule && self.place == change.subject
    }

    fn covers(&self, change: &ContractChange) -> bool {
        self.is_at(change) && self.difference.as_ref().is_none_or(|own| *own == change.difference)
    }
}

/// The entries of a file with accepted changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcceptedChanges {
    /// The path of the file, for messages.
    file: String,
    entries: Vec<AcceptedEntry>,
    /// The line of each entry, starting at 1.
    lines: Vec<usize>,
}

/// An entry that has expired, or that covers no change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutdatedEntry {
    /// The location of the entry. The path of the file is the one that was passed to
    /// [`AcceptedChanges::parse`].
    pub location: SourceLocation,
    /// Why the entry has no effect.
    pub message: String,
    /// The next step for the user.
    pub help: String,
}

impl AcceptedChanges {
    /// Parses the text of a file. `file` is its path, for messages.
    ///
    /// # Errors
    /// Returns all problems of the file with their locations: invalid TOML, unknown keys, missing keys, empty
    /// strings, unknown rules and invalid dates.
    pub fn parse(file: &str, text: &str) -> Result<Self, Diagnostics> {
        parsing::parse_file(file, text)
    }

    /// Returns the entries in the order of the file.
    #[must_use]
    pub fn entries(&self) -> &[AcceptedEntry] {
        &self.entries
    }

    /// Sets [`ContractChange::accepted`] of the breaking changes that an entry covers. Lists the entries that
    /// have expired or cover no change in [`ContractDrift::outdated_entries`]. Replaces the result of an
    /// earlier call.
    ///
    /// An entry that covers a change of another level is not outdated, because options such as
    /// `--across-majors` and the current date may make this change breaking.
    pub fn apply(&self, drift: &mut ContractDrift, today: CalendarDate) {
        drift.outdated_entries.clear();
        drift.changes.iter_mut().for_each(|change| change.accepted = None);
        for (index, (entry, line)) in self.entries.iter().zip(&self.lines).enumerate() {
            let expired = entry.acceptance.expires.filter(|expires| *expires < today);
            let problem = match expired {
                _ if !drift.changes.iter().any(|change| entry.covers(change)) => {
                    Some(describe_uncovered(entry, drift))
                }
                Some(date) => Some((
                    format!("the entry for `{}` at `{}` expired on {date}", entry.rule, entry.place),
                    "undo the change, or agree on a later `expires`".to_owned(),
                )),
                None => None,
            };
            if let Some((message, help)) = problem {
                let pointer = format!("/accepted/{index}");
                let location = SourceLocation { file: self.file.clone(), pointer, line: *line };
                drift.outdated_entries.push(OutdatedEntry { location, message, help });
                continue;
            }
            for change in drift.changes.iter_mut().filter(|change| entry.covers(change)) {
                if change.level() == ChangeLevel::Breaking {
                    change.accepted.get_or_insert_with(|| entry.acceptance.clone());
                }
            }
        }
    }
}

/// Returns the message and the help of an entry that covers no change.
fn describe_uncovered(entry: &AcceptedEntry, drift: &ContractDrift) -> (String, String) {
    let AcceptedEntry { rule, place, difference, .. } = entry;
    let now = drift.changes.iter().find(|change| entry.is_at(change));
    match (now, difference) {
        (Some(change), Some(difference)) => (
            format!("no change of the rule `{rule}` at `{place}` has the difference \"{difference}\""),
            format!(
                "the difference is now \"{}\": review it, then update or remove the entry",
                change.difference
            ),
        ),
        _ => (
            format!("there is no change of the rule `{rule}` at `{place}`"),
            "remove the entry; if the place was renamed, copy the new one from the report".to_owned(),
        ),
    }
}

/// Appends entries to the text of a file. The existing text is kept unchanged. Equal entries are written
/// once.
///
/// # Errors
/// Returns a message if no entries can be appended to the text, because it contains the list in the inline
/// form `accepted = [...]`.
pub fn append_entries(text: &str, entries: &[AcceptedEntry]) -> Result<String, String> {
    let mut out = text.trim_end().to_owned();
    for (index, entry) in entries.iter().enumerate() {
        if entries[..index].contains(entry) {
            continue;
        }
        if !out.is_empty() {
            out.push_str(if out.ends_with('\n') { "\n" } else { "\n\n" });
        }
        let AcceptedEntry { rule, place, difference, acceptance: Acceptance { reason, by, expires } } = entry;
        out.push_str("[[accepted]]\n");
        let strings = [("rule", Some(rule)), ("place", Some(place)), ("difference", difference.as_ref())];
        let strings = strings.into_iter().chain([("reason", Some(reason)), ("by", by.as_ref())]);
        for (key, value) in strings {
            if let Some(value) = value {
                let _ = writeln!(out, "{key} = {}", toml::Value::String(value.clone()));
            }
        }
        if let Some(date) = expires {
            let _ = writeln!(out, "expires = {date}");
        }
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    match toml::de::DeTable::parse(&out) {
        Ok(_) => Ok(out),
        Err(_) => {
            Err("entries cannot be added to an inline list: write each entry as `[[accepted]]`".to_owned())
        }
    }
}

#[cfg(test)]
mod tests;
