//! Parses the file with accepted changes, and reports its problems with their locations.

use std::sync::Arc;

use contract_codegen_core::{
    diagnostics::{Diagnostic, Diagnostics, SourceText, SourceTextProvider},
    resolve::suggest::nearest_match,
    tree::{DocumentLocation, SourceId, Span},
};
use contract_runtime::text::LineStarts;
use toml::de::{DeTable, DeValue};

use super::{Acceptance, AcceptedChanges, AcceptedEntry};
use crate::drift::{
    dates::CalendarDate,
    rules::{RULES, find_rule},
};

/// The code of all diagnostics of the file.
const CODE: &str = "accepted-changes";
const LIST: &str = "accepted";
const KEYS: [&str; 6] = ["rule", "place", "difference", "reason", "by", "expires"];

/// A TOML value with its byte range.
type SpannedValue<'t> = toml::Spanned<DeValue<'t>>;

/// The parsed file, as the source of excerpts.
struct AcceptedSource<'t> {
    file: &'t str,
    text: Arc<str>,
}

impl SourceTextProvider for AcceptedSource<'_> {
    fn source_texts(&self) -> impl Iterator<Item = (SourceId, SourceText)> {
        let text = SourceText { name: self.file.to_owned(), text: Arc::clone(&self.text) };
        [(SourceId::OPTIONS, text)].into_iter()
    }
}

pub(super) fn parse_file(file: &str, text: &str) -> Result<AcceptedChanges, Diagnostics> {
    let mut problems = FileProblems::default();
    let (mut entries, mut lines) = (Vec::new(), Vec::new());
    let starts = LineStarts::new(text);
    match DeTable::parse(text) {
        Err(error) => {
            problems.push(String::new(), error.span().unwrap_or_default(), error.message(), None);
        }
        Ok(root) => {
            for (index, value) in find_entries(root.get_ref(), &mut problems).into_iter().enumerate() {
                if let Some(entry) = parse_entry(index, value, &mut problems) {
                    entries.push(entry);
                    lines.push(starts.line_at(value.span().start) + 1);
                }
            }
        }
    }
    if problems.list.is_empty() {
        return Ok(AcceptedChanges { file: file.to_owned(), entries, lines });
    }
    problems.list.attach_sources(&AcceptedSource { file, text: Arc::from(text) });
    Err(problems.list)
}

/// Collects the problems of the file.
#[derive(Default)]
struct FileProblems {
    list: Diagnostics,
}

impl FileProblems {
    fn push(&mut self, pointer: String, span: std::ops::Range<usize>, message: &str, help: Option<String>) {
        let offset = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let span = Span { start: offset(span.start), end: offset(span.end) };
        let place = DocumentLocation { source: SourceId::OPTIONS, pointer, span };
        self.list.push(Diagnostic { place: Some(place), help, ..Diagnostic::error(CODE, message) });
    }
}

/// Returns the entries of the file, and reports all other keys.
fn find_entries<'t, 'v>(root: &'v DeTable<'t>, problems: &mut FileProblems) -> Vec<&'v SpannedValue<'t>> {
    let mut entries = Vec::new();
    for (key, value) in root {
        match value.get_ref() {
            DeValue::Array(values) if key.get_ref() == LIST => entries.extend(values.iter()),
            _ => {
                let message = match key.get_ref().as_ref() {
                    LIST => "`accepted` must be a list of tables".to_owned(),
                    other => format!("unknown key `{other}`"),
                };
                let help = Some("write each accepted change as a table `[[accepted]]`".to_owned());
                problems.push(format!("/{}", key.get_ref()), key.span(), &message, help);
            }
        }
    }
    entries
}

fn parse_entry(index: usize, value: &SpannedValue<'_>, problems: &mut FileProblems) -> Option<AcceptedEntry> {
    let pointer = format!("/{LIST}/{index}");
    let Some(table) = value.get_ref().as_table() else {
        problems.push(pointer, value.span(), "an accepted change must be a table", None);
        return None;
    };
    for (key, _) in table {
        let name = key.get_ref().as_ref();
        if !KEYS.contains(&name) {
            let help = nearest_match(name, KEYS).map_or_else(
                || format!("the keys are {}", KEYS.map(|key| format!("`{key}`")).join(", ")),
                |near| format!("did you mean `{near}`?"),
            );
            problems.push(
                format!("{pointer}/{name}"),
                key.span(),
                &format!("unknown key `{name}`"),
                Some(help),
            );
        }
    }
    let mut string = |key: &str, is_required: bool| {
        let Some((_, found)) = table.iter().find(|(name, _)| name.get_ref() == key) else {
            if is_required {
                let message = format!("the accepted change has no `{key}`");
                problems.push(pointer.clone(), value.span(), &message, missing_key_help(key));
            }
            return None;
        };
        let text = found.get_ref().as_str().filter(|text| !text.trim().is_empty());
        if text.is_none() {
            let message = format!("`{key}` must be a string that is not empty");
            problems.push(format!("{pointer}/{key}"), found.span(), &message, missing_key_help(key));
        }
        text.map(str::to_owned)
    };
    let (rule, place) = (string("rule", true), string("place", true));
    let (difference, reason, by) = (string("difference", false), string("reason", true), string("by", false));
    let expires = parse_expiry(table, &pointer, problems);
    if let Some(rule) = rule.as_deref().filter(|rule| find_rule(rule).is_none()) {
        let near = nearest_match(rule, RULES.iter().map(|rule| rule.id));
        let help = near.map_or_else(
            || "`contract-codegen drift --explain` lists the rules".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let span = table.iter().find(|(name, _)| name.get_ref() == "rule").map(|(_, value)| value.span());
        let message = format!("there is no rule `{rule}`");
        problems.push(format!("{pointer}/rule"), span.unwrap_or_default(), &message, Some(help));
    }
    let acceptance = Acceptance { reason: reason?, by, expires };
    Some(AcceptedEntry { rule: rule?, place: place?, difference, acceptance })
}

fn missing_key_help(key: &str) -> Option<String> {
    let help = match key {
        "rule" => "copy the rule from the report, such as `enum-value-removed`",
        "place" => "copy the place from the report, such as `GET /ships 200 body /name`",
        "reason" => "write down why the change is acceptable",
        _ => return None,
    };
    Some(help.to_owned())
}

/// Parses `expires`, a TOML date or a string.
fn parse_expiry(table: &DeTable<'_>, pointer: &str, problems: &mut FileProblems) -> Option<CalendarDate> {
    let (_, value) = table.iter().find(|(name, _)| name.get_ref() == "expires")?;
    let text = match value.get_ref() {
        DeValue::Datetime(date) => Some(date.to_string()),
        other => other.as_str().map(str::to_owned),
    };
    let date = text.and_then(|text| text.parse().ok());
    if date.is_none() {
        let help = Some("write it as `expires = 2027-01-31`".to_owned());
        problems.push(format!("{pointer}/expires"), value.span(), "`expires` must be a date", help);
    }
    date
}
