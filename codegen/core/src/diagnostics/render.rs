//! Formats diagnostics as text, with or without frames, and as JSON lines.

use std::{collections::BTreeMap, fmt::Write as _};

use contract_runtime::text::LineStarts;

#[cfg(feature = "frames")]
use super::frame;
use super::{Diagnostic, Diagnostics, Severity, SourceText};
use crate::tree::{DocumentLocation, SourceId};

/// The number of diagnostics of one kind that the brief format shows. If there is only one more, it is shown
/// as well.
pub(super) const MAX_PER_KIND: usize = 3;

/// Formats the diagnostics for people. `most` is the number of diagnostics of each kind that are shown; if
/// there is only one more, it is shown as well.
pub(super) fn render_human(diagnostics: &Diagnostics, color: bool, most: Option<usize>) -> String {
    let color = color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut lines = ExcerptCache::new(&diagnostics.texts);
    let mut out = String::new();
    let kinds = if most.is_some() { group_by_kind(diagnostics) } else { vec![diagnostics.iter().collect()] };
    for kind in kinds {
        // In the brief format, errors are shown with several excerpts, warnings and notes with only one.
        let is_error = kind.first().is_some_and(|first| first.severity == Severity::Error);
        if let (Some(most), false, Some((first, others))) = (most, is_error, kind.split_first()) {
            let named = if others.len() > most { most - 1 } else { others.len() };
            let also: Vec<&DocumentLocation> =
                others.iter().take(named).filter_map(|each| each.place.as_ref()).collect();
            render_diagnostic(&mut out, &mut lines, first, &also, Some(most), color);
            if let Some(more) = others.len().checked_sub(named).filter(|more| *more > 0) {
                let (label, code) = (first.severity.as_str(), first.code);
                let _ = writeln!(out, "{label}[{code}]: {more} more of this kind; --verbose shows all\n");
            }
            continue;
        }
        // A summary line that replaces a single diagnostic would not save space.
        let shown = most.filter(|most| kind.len() > most + 1).unwrap_or(kind.len());
        let (shown, rest) = kind.split_at(shown);
        shown
            .iter()
            .for_each(|diagnostic| render_diagnostic(&mut out, &mut lines, diagnostic, &[], None, color));
        if let Some(first) = rest.first() {
            let (label, code) = (first.severity.as_str(), first.code);
            let _ = writeln!(out, "{label}[{code}]: {} more of this kind; --verbose shows all\n", rest.len());
        }
    }
    out.push_str(&summary_line(diagnostics));
    out
}

/// Groups diagnostics with the same severity, code and message template. The groups are in the order of their
/// first diagnostics.
fn group_by_kind(diagnostics: &Diagnostics) -> Vec<Vec<&Diagnostic>> {
    let mut all: Vec<Vec<&Diagnostic>> = Vec::new();
    let mut known: BTreeMap<(Severity, &str, String), usize> = BTreeMap::new();
    for diagnostic in diagnostics {
        let kind = (diagnostic.severity, diagnostic.code, message_template(&diagnostic.message));
        let at = *known.entry(kind).or_insert(all.len());
        match all.get_mut(at) {
            Some(kind) => kind.push(diagnostic),
            None => all.push(vec![diagnostic]),
        }
    }
    all
}

/// Returns the message without its variable parts: text in backticks, numbers, and text in parentheses.
fn message_template(message: &str) -> String {
    let mut out = String::new();
    let mut depth = 0usize;
    let mut quoted = false;
    for each in message.chars() {
        match each {
            '`' => quoted = !quoted,
            _ if quoted => {}
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            each if depth == 0 && !each.is_ascii_digit() => out.push(each),
            _ => {}
        }
    }
    out
}

/// Formats a diagnostic with its excerpt, at most `most` of its labels, and the locations `also` of other
/// diagnostics of the same kind.
fn render_diagnostic(
    out: &mut String,
    lines: &mut ExcerptCache<'_>,
    diagnostic: &Diagnostic,
    also: &[&DocumentLocation],
    most: Option<usize>,
    color: bool,
) {
    #[cfg(feature = "frames")]
    let framed = frame::render_frame(lines, diagnostic, color);
    #[cfg(not(feature = "frames"))]
    let framed = render_plain(diagnostic, color);
    let (text, is_placed) = framed;
    out.push_str(text.trim_start_matches(['\n', ' ']).trim_end());
    out.push('\n');
    if !is_placed && let Some(place) = &diagnostic.place {
        let _ = writeln!(out, "   at {}", lines.describe_place(place));
    }
    let labels = &diagnostic.labels;
    // A summary line that replaces a single location would not save space.
    let shown = most.filter(|most| labels.len() > most + 1).unwrap_or(labels.len());
    for (place, text) in labels.iter().take(shown) {
        let _ = writeln!(out, "   {text}: {}", lines.describe_place(place));
    }
    if let Some(rest) = labels.len().checked_sub(shown).filter(|rest| *rest > 0) {
        let _ = writeln!(out, "   {rest} more places; --verbose shows all");
    }
    for place in also {
        let _ = writeln!(out, "   also: {}", lines.describe_place(place));
    }
    out.push('\n');
}

/// Formats a diagnostic without an excerpt, in builds without the feature `frames`. The flag is false,
/// because the text does not contain the location.
#[cfg(not(feature = "frames"))]
fn render_plain(diagnostic: &Diagnostic, _color: bool) -> (String, bool) {
    let mut text = format!("{}[{}]: {}\n", diagnostic.severity.as_str(), diagnostic.code, diagnostic.message);
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  help: {help}");
    }
    (text, false)
}

fn summary_line(diagnostics: &Diagnostics) -> String {
    let count = |severity| diagnostics.iter().filter(|each| each.severity == severity).count();
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, count(severity)))
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| {
            format!("{count} {}{}", severity.as_str(), if count == 1 { "" } else { "s" })
        })
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let passed =
        diagnostics.iter().filter(|each| each.fallback.is_some() && each.severity != Severity::Error);
    let about = match passed.count() {
        0 => String::new(),
        1 => "; one is a fault, which `faults = \"deny\"` rejects".to_owned(),
        count => format!("; {count} are faults, which `faults = \"deny\"` rejects"),
    };
    format!("{}{about}\n", parts.join(", "))
}

/// The source texts with an index of their lines, which is built when a text is first needed.
pub(super) struct ExcerptCache<'a> {
    texts: &'a BTreeMap<SourceId, SourceText>,
    lines: BTreeMap<SourceId, LineStarts>,
}

impl<'a> ExcerptCache<'a> {
    const fn new(texts: &'a BTreeMap<SourceId, SourceText>) -> Self {
        Self { texts, lines: BTreeMap::new() }
    }

    pub(super) fn source_lines(&mut self, source: SourceId) -> Option<(&'a SourceText, &LineStarts)> {
        let text = self.texts.get(&source)?;
        Some((text, self.lines.entry(source).or_insert_with(|| LineStarts::new(&text.text))))
    }

    /// Returns the text of a source, and the line and column of a location in it. Both count from 0, the
    /// column in characters.
    pub(super) fn line_and_column(
        &mut self,
        place: &DocumentLocation,
    ) -> Option<(&'a SourceText, usize, usize)> {
        let (text, lines) = self.source_lines(place.source)?;
        let offset = floor_char_boundary(&text.text, place.span.start as usize);
        let line = lines.line_at(offset);
        let start = lines.start_of_line(line).unwrap_or(0);
        let column = text.text.get(start..offset).map_or(0, |before| before.chars().count());
        Some((text, line, column))
    }

    /// Formats a location as `file:line:column #/pointer`.
    fn describe_place(&mut self, place: &DocumentLocation) -> String {
        match self.line_and_column(place) {
            Some((text, line, column)) => {
                format!("{}:{}:{} #{}", text.name, line + 1, column + 1, place.pointer)
            }
            None => format!("#{}", place.pointer),
        }
    }
}

/// Returns the last character boundary at or before a byte offset.
pub(super) fn floor_char_boundary(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// Formats each diagnostic as one line that starts with its location.
pub(super) fn render_lines(diagnostics: &Diagnostics) -> Vec<(Severity, String)> {
    let mut excerpts = ExcerptCache::new(&diagnostics.texts);
    let line = |diagnostic: &Diagnostic| {
        let place = diagnostic.place.as_ref().map(|place| excerpts.describe_place(place) + ": ");
        let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
        let (place, help) = (place.unwrap_or_default(), help.unwrap_or_default());
        let line = format!("{place}{}: {}{help}", diagnostic.code, diagnostic.message);
        (diagnostic.severity, line.replace('\n', " "))
    };
    diagnostics.iter().map(line).collect()
}

/// Formats each diagnostic as one JSON object per line.
pub(super) fn json_lines(diagnostics: &Diagnostics) -> String {
    let mut lines = ExcerptCache::new(&diagnostics.texts);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref();
        let position = place.and_then(|place| lines.line_and_column(place));
        let text = |value: Option<&str>| value.map_or_else(|| "null".to_owned(), quote_json);
        let number =
            |value: Option<usize>| value.map_or_else(|| "null".to_owned(), |at| (at + 1).to_string());
        let _ = writeln!(
            out,
            r#"{{"severity":{},"code":{},"message":{},"file":{},"pointer":{},"line":{},"column":{},"help":{},"mend":{}}}"#,
            quote_json(diagnostic.severity.as_str()),
            quote_json(diagnostic.code),
            quote_json(&diagnostic.message),
            text(position.map(|(text, ..)| &*text.name)),
            text(place.filter(|place| place.source != SourceId::OPTIONS).map(|place| &*place.pointer)),
            number(position.map(|(_, line, _)| line)),
            number(position.map(|(.., column)| column)),
            text(diagnostic.help.as_deref()),
            text(diagnostic.fallback.as_deref()),
        );
    }
    out
}

fn quote_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for each in text.chars() {
        match each {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            each if each.is_control() => {
                let _ = write!(out, "\\u{:04x}", u32::from(each));
            }
            each => out.push(each),
        }
    }
    out.push('"');
    out
}
