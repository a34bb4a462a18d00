//! What a run has to say: problems with their places, shown together.
//!
//! Every stage pushes into [`Diagnostics`]; nothing is printed here. [`Diagnostics::render`]
//! writes for people, [`Diagnostics::json_lines`] for programs.
//!
//! A *fault* is an error whose reader went on: it says what it took in its place
//! ([`Diagnostic::mend`]). Readers report and recover, always; whether faults refuse a contract
//! is decided in one place, by [`Faults`].
//!
//! ```
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

pub use crate::tree::{Place, SourceId, Span};

/// How bad a problem is; errors sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing is generated.
    Error,
    /// Something was understood in a way its author may not expect.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The word in front of the code: `error`, `warning`, `note`.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Which kind of problem, in kebab case; stable, so that scripts may rely on it.
    pub code: &'static str,
    /// One sentence without the place.
    pub message: String,
    /// Where it is; `None` when it concerns no single document.
    pub place: Option<Place>,
    /// Other places that belong to it, with what they are.
    pub labels: Vec<(Place, String)>,
    /// What to do about it.
    pub help: Option<String>,
    /// What was taken in place of what is wrong, as a clause; `None` when nothing could be.
    pub mend: Option<String>,
}

/// What faults do: errors that were mended where they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Faults {
    /// They are warnings: what is meant is read, and what cannot be read is left out.
    #[default]
    Warn,
    /// They are errors, and nothing is generated.
    Deny,
}

impl Diagnostic {
    /// An error.
    #[must_use]
    pub(crate) fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A warning.
    #[must_use]
    pub(crate) fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A note.
    #[must_use]
    pub(crate) fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// A problem of a given severity.
    #[must_use]
    pub(crate) fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { severity, code, message, place: None, labels: Vec::new(), help: None, mend: None }
    }

    /// Says where it is.
    #[must_use]
    pub(crate) fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// Says where it is, when that is known.
    #[must_use]
    pub(crate) fn maybe_at(mut self, place: Option<Place>) -> Self {
        self.place = place;
        self
    }

    /// Adds another place and what it is (`first defined here`).
    #[must_use]
    pub(crate) fn label(mut self, place: Place, text: impl Into<String>) -> Self {
        self.labels.push((place, text.into()));
        self
    }

    /// Adds other places of the same.
    #[must_use]
    pub(crate) fn also(mut self, places: &[Place]) -> Self {
        self.labels.extend(places.iter().map(|place| (place.clone(), "also".to_owned())));
        self
    }

    /// Says what was taken in its place, as a clause: `it is left out`.
    #[must_use]
    pub(crate) fn mended(mut self, text: impl Into<String>) -> Self {
        self.mend = Some(text.into());
        self
    }

    /// Whether nobody could go on from here.
    #[must_use]
    pub(crate) fn is_fatal(&self) -> bool {
        self.severity == Severity::Error && self.mend.is_none()
    }

    /// Says what to do about it.
    #[must_use]
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }
}

/// A text that places point into.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    /// What people call it: the name of a file.
    pub(crate) name: String,
    /// What stands in it.
    pub(crate) text: Arc<str>,
}

/// Who holds texts that places point into.
pub(crate) trait Texts {
    /// Each of them, with the id that places have.
    fn texts(&self) -> impl Iterator<Item = (SourceId, Text)>;

    /// Where else it is written what stands at a place, which is where its author mends it.
    fn origin(&self, place: &Place) -> Option<Place> {
        let _ = place;
        None
    }
}

/// All problems of a run, with the texts that they point into.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    texts: BTreeMap<SourceId, Text>,
}

impl Diagnostics {
    /// None yet.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds one.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds another run's, texts included.
    pub(crate) fn append(&mut self, other: Self) {
        self.list.extend(other.list);
        self.texts.extend(other.texts);
    }

    /// Leaves those that pass.
    pub(crate) fn retain(&mut self, pass: impl FnMut(&Diagnostic) -> bool) {
        self.list.retain(pass);
    }

    /// Remembers the texts of a holder, so that excerpts can be shown. Cheap: texts are shared.
    pub(crate) fn attach(&mut self, holder: &impl Texts) {
        for each in &mut self.list {
            let labels = each.labels.iter_mut().map(|(place, _)| place);
            for place in each.place.iter_mut().chain(labels) {
                if let Some(origin) = holder.origin(place) {
                    *place = origin;
                }
            }
        }
        self.texts.extend(holder.texts());
    }

    /// Puts something in front of the names of all files.
    pub(crate) fn below(mut self, prefix: &str) -> Self {
        self.texts.values_mut().for_each(|text| text.name.insert_str(0, prefix));
        self
    }

    /// Whether any of them is an error.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// Whether any of them is an error that nothing was taken in place of.
    #[must_use]
    pub(crate) fn has_fatal(&self) -> bool {
        self.list.iter().any(Diagnostic::is_fatal)
    }

    /// Decides what mended errors are: warnings that say what was taken, or errors as before.
    pub(crate) fn settle(&mut self, faults: Faults) {
        if faults == Faults::Deny {
            return;
        }
        for each in self.list.iter_mut().filter(|each| each.severity == Severity::Error) {
            if let Some(mend) = &each.mend {
                each.severity = Severity::Warning;
                each.message = format!("{}; {mend}", each.message);
            }
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Each of them, in the order of [`Diagnostics::sort`] once that was called.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Errors first, then by source and offset; equal ones only once.
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

    /// All of them for people: excerpts with line numbers, help, a count at the end.
    ///
    /// `color` asks for colours; `NO_COLOR` in the environment overrules it.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render::people(&self.sorted(), color, None)
    }

    /// Each in one line, for the output of other tools: `file:line:column #/pointer: code: message (help)`.
    #[must_use]
    pub fn lines(&self) -> Vec<(Severity, String)> {
        render::lines(&self.sorted())
    }

    /// The same with the first few of each kind: the same severity and code, and the same message
    /// but for what it names.
    #[must_use]
    pub fn render_brief(&self, color: bool) -> String {
        render::people(&self.sorted(), color, Some(render::FEW))
    }

    /// All of them for programs: one JSON object a line with `severity`, `code`, `message`,
    /// `file`, `pointer`, `line`, `column` (both from 1), `help`, and `mend` for faults: what was taken
    /// in place of what is wrong; `null` where unknown.
    #[must_use]
    pub fn json_lines(&self) -> String {
        render::json_lines(&self.sorted())
    }

    fn sorted(&self) -> Self {
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
