//! Diagnostics as text, with or without frames, or as JSON lines.

use std::{collections::BTreeMap, fmt::Write as _};

use contract_runtime::text::Lines;

#[cfg(feature = "frames")]
use super::frame;
use super::{Diagnostic, Diagnostics, Severity, Text};
use crate::tree::{Place, SourceId};

/// How many of a kind are shown where not all of them are.
pub(super) const FEW: usize = 3;

/// For people; `most` of each kind when that is said.
pub(super) fn people(diagnostics: &Diagnostics, color: bool, most: Option<usize>) -> String {
    let color = color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let mut lines = Excerpts::new(&diagnostics.texts);
    let mut out = String::new();
    let kinds = if most.is_some() { kinds(diagnostics) } else { vec![diagnostics.iter().collect()] };
    for kind in kinds {
        // What refuses a contract is shown with a few excerpts, what is only said with one.
        let is_error = kind.first().is_some_and(|first| first.severity == Severity::Error);
        if let (Some(most), false, Some((first, others))) = (most, is_error, kind.split_first()) {
            let named = if others.len() > most { most - 1 } else { others.len() };
            let also: Vec<&Place> =
                others.iter().take(named).filter_map(|each| each.place.as_ref()).collect();
            one(&mut out, &mut lines, first, &also, Some(most), color);
            if let Some(more) = others.len().checked_sub(named).filter(|more| *more > 0) {
                let (word, code) = (first.severity.word(), first.code);
                let _ = writeln!(out, "{word}[{code}]: {more} more of this kind; --verbose shows all\n");
            }
            continue;
        }
        // A line that hides one problem would save nothing.
        let shown = most.filter(|most| kind.len() > most + 1).unwrap_or(kind.len());
        let (shown, rest) = kind.split_at(shown);
        shown.iter().for_each(|diagnostic| one(&mut out, &mut lines, diagnostic, &[], None, color));
        if let Some(first) = rest.first() {
            let (word, code) = (first.severity.word(), first.code);
            let _ = writeln!(out, "{word}[{code}]: {} more of this kind; --verbose shows all\n", rest.len());
        }
    }
    out.push_str(&summary(diagnostics));
    out
}

/// All of them by kind, in the order of the first of each.
fn kinds(diagnostics: &Diagnostics) -> Vec<Vec<&Diagnostic>> {
    let mut all: Vec<Vec<&Diagnostic>> = Vec::new();
    let mut known: BTreeMap<(Severity, &str, String), usize> = BTreeMap::new();
    for diagnostic in diagnostics {
        let kind = (diagnostic.severity, diagnostic.code, sense(&diagnostic.message));
        let at = *known.entry(kind).or_insert(all.len());
        match all.get_mut(at) {
            Some(kind) => kind.push(diagnostic),
            None => all.push(vec![diagnostic]),
        }
    }
    all
}

/// A message without what it names: quotes in backticks, numbers, and what stands in brackets.
fn sense(message: &str) -> String {
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

/// One with its excerpt and at most so many of its places, and where else there are such.
fn one(
    out: &mut String,
    lines: &mut Excerpts<'_>,
    diagnostic: &Diagnostic,
    also: &[&Place],
    most: Option<usize>,
    color: bool,
) {
    #[cfg(feature = "frames")]
    let framed = frame::text(lines, diagnostic, color);
    #[cfg(not(feature = "frames"))]
    let framed = plain(diagnostic, color);
    let (text, is_placed) = framed;
    out.push_str(text.trim_start_matches(['\n', ' ']).trim_end());
    out.push('\n');
    if !is_placed && let Some(place) = &diagnostic.place {
        let _ = writeln!(out, "   at {}", lines.describe(place));
    }
    let labels = &diagnostic.labels;
    // A line that hides one place would save nothing.
    let shown = most.filter(|most| labels.len() > most + 1).unwrap_or(labels.len());
    for (place, text) in labels.iter().take(shown) {
        let _ = writeln!(out, "   {text}: {}", lines.describe(place));
    }
    if let Some(rest) = labels.len().checked_sub(shown).filter(|rest| *rest > 0) {
        let _ = writeln!(out, "   {rest} more places; --verbose shows all");
    }
    for place in also {
        let _ = writeln!(out, "   also: {}", lines.describe(place));
    }
    out.push('\n');
}

/// One without an excerpt, and that it does not say where it is.
#[cfg(not(feature = "frames"))]
fn plain(diagnostic: &Diagnostic, _color: bool) -> (String, bool) {
    let mut text = format!("{}[{}]: {}\n", diagnostic.severity.word(), diagnostic.code, diagnostic.message);
    if let Some(help) = &diagnostic.help {
        let _ = writeln!(text, "  help: {help}");
    }
    (text, false)
}

fn summary(diagnostics: &Diagnostics) -> String {
    let count = |severity| diagnostics.iter().filter(|each| each.severity == severity).count();
    let parts: Vec<String> = [Severity::Error, Severity::Warning, Severity::Note]
        .into_iter()
        .map(|severity| (severity, count(severity)))
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {}{}", severity.word(), if count == 1 { "" } else { "s" }))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let passed = diagnostics.iter().filter(|each| each.mend.is_some() && each.severity != Severity::Error);
    let about = match passed.count() {
        0 => String::new(),
        1 => "; one is a fault, which `faults = \"deny\"` refuses".to_owned(),
        count => format!("; {count} are faults, which `faults = \"deny\"` refuses"),
    };
    format!("{}{about}\n", parts.join(", "))
}

/// Texts with their lines, found once.
pub(super) struct Excerpts<'a> {
    texts: &'a BTreeMap<SourceId, Text>,
    lines: BTreeMap<SourceId, Lines>,
}

impl<'a> Excerpts<'a> {
    const fn new(texts: &'a BTreeMap<SourceId, Text>) -> Self {
        Self { texts, lines: BTreeMap::new() }
    }

    pub(super) fn lines(&mut self, source: SourceId) -> Option<(&'a Text, &Lines)> {
        let text = self.texts.get(&source)?;
        Some((text, self.lines.entry(source).or_insert_with(|| Lines::of(&text.text))))
    }

    /// Line and column from 0; the column counts characters.
    pub(super) fn position(&mut self, place: &Place) -> Option<(&'a Text, usize, usize)> {
        let (text, lines) = self.lines(place.source)?;
        let offset = floor(&text.text, place.span.start as usize);
        let line = lines.line(offset);
        let start = lines.start(line).unwrap_or(0);
        let column = text.text.get(start..offset).map_or(0, |before| before.chars().count());
        Some((text, line, column))
    }

    /// `file:line:column #/pointer`
    fn describe(&mut self, place: &Place) -> String {
        match self.position(place) {
            Some((text, line, column)) => {
                format!("{}:{}:{} #{}", text.name, line + 1, column + 1, place.pointer)
            }
            None => format!("#{}", place.pointer),
        }
    }
}

/// The last character boundary at or before an offset.
pub(super) fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

/// For the output of other tools: each in one line, with its place before it.
pub(super) fn lines(diagnostics: &Diagnostics) -> Vec<(Severity, String)> {
    let mut excerpts = Excerpts::new(&diagnostics.texts);
    let line = |diagnostic: &Diagnostic| {
        let place = diagnostic.place.as_ref().map(|place| excerpts.describe(place) + ": ");
        let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
        let (place, help) = (place.unwrap_or_default(), help.unwrap_or_default());
        let line = format!("{place}{}: {}{help}", diagnostic.code, diagnostic.message);
        (diagnostic.severity, line.replace('\n', " "))
    };
    diagnostics.iter().map(line).collect()
}

/// For programs.
pub(super) fn json_lines(diagnostics: &Diagnostics) -> String {
    let mut lines = Excerpts::new(&diagnostics.texts);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref();
        let position = place.and_then(|place| lines.position(place));
        let text = |value: Option<&str>| value.map_or_else(|| "null".to_owned(), quote);
        let number =
            |value: Option<usize>| value.map_or_else(|| "null".to_owned(), |at| (at + 1).to_string());
        let _ = writeln!(
            out,
            r#"{{"severity":{},"code":{},"message":{},"file":{},"pointer":{},"line":{},"column":{},"help":{},"mend":{}}}"#,
            quote(diagnostic.severity.word()),
            quote(diagnostic.code),
            quote(&diagnostic.message),
            text(position.map(|(text, ..)| &*text.name)),
            text(place.filter(|place| place.source != SourceId::OPTIONS).map(|place| &*place.pointer)),
            number(position.map(|(_, line, _)| line)),
            number(position.map(|(.., column)| column)),
            text(diagnostic.help.as_deref()),
            text(diagnostic.mend.as_deref()),
        );
    }
    out
}

fn quote(text: &str) -> String {
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
