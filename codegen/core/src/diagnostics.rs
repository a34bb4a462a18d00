//! The diagnostics of a run: errors, warnings and notes with their locations.
//!
//! Every stage adds its diagnostics to [`Diagnostics`]; this module prints nothing. [`Diagnostics::render`]
//! formats them for people, [`Diagnostics::json_lines`] for programs.
//!
//! A *fault* is an error after which the parser continued with a [`Diagnostic::fallback`]. Parsers always
//! report and recover. Only [`FaultPolicy`] determines if faults cause a contract to be rejected.
//!
//! ```
//! # use contract_codegen_core as contract_codegen;
//! use contract_codegen::{Sources, diagnostics::Severity};
//!
//! let problems = Sources::from_texts(&[("seat.schema.json", "", r#"{"type": }"#)]).unwrap_err();
//! assert!(problems.iter().all(|found| found.severity == Severity::Error && found.place.is_some()));
//! assert!(problems.render(false).contains("seat.schema.json:1"));
//! ```

#[cfg(feature = "frames")]
mod frame;
mod render;

use std::{collections::BTreeMap, sync::Arc};

use serde::Deserialize;

pub use crate::tree::{DocumentLocation, SourceId, Span};

/// The severity of a diagnostic. Errors sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// An error. No code is generated.
    Error,
    /// A warning. The generator chose an interpretation that the author may not expect.
    Warning,
    /// A note with additional information that requires no action.
    Note,
}

impl Severity {
    /// Returns the word with which diagnostics of this severity start: `error`, `warning` or `note`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A problem of the contract or the options: an error, a warning or a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The severity, which [`FaultPolicy`] may lower.
    pub severity: Severity,
    /// The kind of problem in kebab case. Codes are stable, so that scripts may rely on them.
    pub code: &'static str,
    /// The problem as one sentence, without its location.
    pub message: String,
    /// The location, or `None` if the problem does not concern a single document.
    pub place: Option<DocumentLocation>,
    /// Related locations, each with a label such as `first defined here`.
    pub labels: Vec<(DocumentLocation, String)>,
    /// The recommended action, as a clause such as `list it once`.
    pub help: Option<String>,
    /// The fallback with which the generator continues after a fault, as a clause such as `it is ignored`.
    /// `None` if the diagnostic is not a fault.
    pub fallback: Option<String>,
}

/// Whether faults, which are errors with a [`Diagnostic::fallback`], cause a contract to be rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FaultPolicy {
    /// Faults become warnings, and the generator continues with the fallback.
    #[default]
    Warn,
    /// Faults remain errors, and no code is generated.
    Deny,
}

impl Diagnostic {
    /// Creates an error without a location.
    #[must_use]
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    #[must_use]
    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    #[must_use]
    pub(crate) fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// Creates a diagnostic without a location.
    #[must_use]
    pub(crate) fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity, code, message, place: None, labels: Vec::new(), help: None, fallback: None }
    }

    #[must_use]
    pub(crate) fn with_place(mut self, place: DocumentLocation) -> Self {
        self.place = Some(place);
        self
    }

    #[must_use]
    pub(crate) fn with_optional_place(mut self, place: Option<DocumentLocation>) -> Self {
        self.place = place;
        self
    }

    /// Adds a related location with a label such as `first defined here`.
    #[must_use]
    pub(crate) fn with_label(mut self, place: DocumentLocation, text: impl Into<String>) -> Self {
        self.labels.push((place, text.into()));
        self
    }

    /// Adds further locations of the same problem, labeled `also`.
    #[must_use]
    pub(crate) fn with_related_places(mut self, places: &[DocumentLocation]) -> Self {
        self.labels.extend(places.iter().map(|place| (place.clone(), "also".to_owned())));
        self
    }

    /// Sets the fallback with which the parser continues, as a clause such as `it is ignored`.
    #[must_use]
    pub(crate) fn with_fallback(mut self, text: impl Into<String>) -> Self {
        self.fallback = Some(text.into());
        self
    }

    /// Returns true if the diagnostic is an error without a fallback.
    #[must_use]
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity == Severity::Error && self.fallback.is_none()
    }

    /// Sets the recommended action.
    #[must_use]
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// A source file from which diagnostics take excerpts.
#[derive(Clone, Debug)]
pub struct SourceText {
    /// The display name, usually the name of the file.
    pub name: String,
    /// The content of the file.
    pub text: Arc<str>,
}

/// A collection of [`SourceText`]s.
pub trait SourceTextProvider {
    /// Iterates over all [`SourceText`]s with their source ids.
    fn source_texts(&self) -> impl Iterator<Item = (SourceId, SourceText)>;

    /// Returns the location in an overlay from which the value at `place` was inserted, or `None` if it is
    /// not from an overlay.
    fn original_place(&self, place: &DocumentLocation) -> Option<DocumentLocation> {
        let _ = place;
        None
    }
}

/// The diagnostics of a run, with the [`SourceText`]s for their excerpts.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    texts: BTreeMap<SourceId, SourceText>,
}

impl Diagnostics {
    /// Creates an empty list.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a diagnostic.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Appends the diagnostics and source texts of `other`.
    pub(crate) fn append(&mut self, other: Self) {
        self.list.extend(other.list);
        self.texts.extend(other.texts);
    }

    /// Keeps only the diagnostics for which `pass` returns true.
    pub(crate) fn retain(&mut self, pass: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(pass);
    }

    /// Stores the source texts of `holder` for excerpts; they are shared, not copied. If a location refers to
    /// a value from an overlay, replaces it with the location in the overlay.
    pub fn attach_sources(&mut self, holder: &impl SourceTextProvider) {
        for each in &mut self.list {
            let labels = each.labels.iter_mut().map(|(place, _)| place);
            for place in each.place.iter_mut().chain(labels) {
                if let Some(origin) = holder.original_place(place) {
                    *place = origin;
                }
            }
        }
        self.texts.extend(holder.source_texts());
    }

    /// Returns the name and the content of a source to which a diagnostic refers.
    #[must_use]
    pub fn source_text(&self, source: SourceId) -> Option<&SourceText> {
        self.texts.get(&source)
    }

    /// Adds a prefix to the names of all source files.
    pub fn prefix_file_names(mut self, prefix: &str) -> Self {
        self.texts.values_mut().for_each(|text| text.name.insert_str(0, prefix));
        self
    }

    /// Returns true if at least one diagnostic has the severity `Error`.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Returns true if at least one diagnostic is an error without a fallback.
    #[must_use]
    pub(crate) fn has_fatal(&self) -> bool {
        self.list.iter().any(Diagnostic::is_fatal)
    }

    /// Lowers each fault to a warning whose message mentions the fallback. With [`FaultPolicy::Deny`], does
    /// nothing.
    pub fn apply_fault_policy(&mut self, faults: FaultPolicy) {
        if faults == FaultPolicy::Deny {
            return;
        }
        for each in self.list.iter_mut().filter(|each| each.severity == Severity::Error) {
            if let Some(fallback_text) = &each.fallback {
                each.severity = Severity::Warning;
                each.message = format!("{}; {fallback_text}", each.message);
            }
        }
    }

    /// Returns true if there are no diagnostics of any severity.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Returns the number of diagnostics of all severities.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Iterates over all diagnostics, in insertion order or in the order of the last [`Diagnostics::sort`].
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts the diagnostics by severity, file and offset, and removes duplicates.
    pub fn sort(&mut self) {
        let texts = &self.texts;
        let key = |diagnostic: &Diagnostic| {
            let place = diagnostic.place.as_ref();
            let name = place.and_then(|place| texts.get(&place.source)).map(|text| &*text.name);
            (
                diagnostic.severity,
                name.map(str::to_owned),
                place.map(|place| (place.source, place.span.start)),
            )
        };
        self.list.sort_by(|left, right| {
            key(left)
                .cmp(&key(right))
                .then_with(|| left.code.cmp(right.code))
                .then_with(|| left.message.cmp(&right.message))
        });
        self.list.dedup();
    }

    /// Formats all diagnostics for people: excerpts with line numbers, help, and a summary line.
    ///
    /// `color` enables ANSI colors, unless the environment variable `NO_COLOR` is set.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render::render_human(&self.sorted_copy(), color, None)
    }

    /// Returns the diagnostics with a code.
    #[must_use]
    pub fn with_code(&self, code: &str) -> Self {
        let list = self.list.iter().filter(|diagnostic| diagnostic.code == code).cloned().collect();
        Self { list, texts: self.texts.clone() }
    }

    /// Formats each diagnostic as one line for the output of other tools:
    /// `file:line:column #/pointer: code: message (help)`.
    #[must_use]
    pub fn single_lines(&self) -> Vec<(Severity, String)> {
        render::render_lines(&self.sorted_copy())
    }

    /// Formats three diagnostics of each kind and the number of the others; a single other one is formatted
    /// too. Diagnostics are of one kind if they have the same severity, code and message, apart from numbers
    /// and from text in backticks or parentheses.
    #[must_use]
    pub fn render_brief(&self, color: bool) -> String {
        render::render_human(&self.sorted_copy(), color, Some(render::MAX_PER_KIND))
    }

    /// Returns only the diagnostics with the severity `Error`.
    #[must_use]
    pub fn only_errors(&self) -> Self {
        let mut errors = self.clone();
        errors.list.retain(|diagnostic| diagnostic.severity == Severity::Error);
        errors
    }

    /// Formats all diagnostics for programs, as one JSON object per line with `severity`, `code`, `message`,
    /// `file`, `pointer`, `line`, `column` (both counted from 1), `help`, and `mend` (the fallback of a
    /// fault). Unknown values are `null`.
    #[must_use]
    pub fn json_lines(&self) -> String {
        render::json_lines(&self.sorted_copy())
    }

    fn sorted_copy(&self) -> Self {
        let mut sorted = self.clone();
        sorted.sort();
        sorted
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, more: I) {
        self.list.extend(more);
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl std::fmt::Display for Diagnostics {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostics {}

#[cfg(test)]
mod tests;
