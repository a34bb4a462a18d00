//! Diagnostics as text: `miette`'s frames around clipped excerpts, or JSON lines.

use std::{collections::BTreeMap, fmt, fmt::Write as _, ops::Range};

use contract_runtime::text::Lines;
use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents, ThemeStyles,
};

use super::{Diagnostic, Diagnostics, Severity, Text};
use crate::tree::{Place, SourceId};

/// Columns of a terminal that everything fits into.
const WIDTH: usize = 80;
/// Characters of a source line that are shown: what the frame leaves of [`WIDTH`].
const LINE: usize = 66;

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
            one(&mut out, &mut lines, first, &also, color);
            if let Some(more) = others.len().checked_sub(named).filter(|more| *more > 0) {
                let (word, code) = (first.severity.word(), first.code);
                let _ = writeln!(out, "{word}[{code}]: {more} more of this kind; --verbose shows all\n");
            }
            continue;
        }
        // A line that hides one problem would save nothing.
        let shown = most.filter(|most| kind.len() > most + 1).unwrap_or(kind.len());
        let (shown, rest) = kind.split_at(shown);
        shown.iter().for_each(|diagnostic| one(&mut out, &mut lines, diagnostic, &[], color));
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

/// One with its excerpt, and where else there are such.
fn one(out: &mut String, lines: &mut Excerpts<'_>, diagnostic: &Diagnostic, also: &[&Place], color: bool) {
    let report = Report { diagnostic, excerpt: lines.excerpt(diagnostic.place.as_ref()) };
    let mut text = String::new();
    // Writing into a string does not fail, and excerpts answer every span.
    if handler(diagnostic, color).render_report(&mut text, &report).is_err() {
        text = format!("{}[{}]: {}\n", diagnostic.severity.word(), diagnostic.code, diagnostic.message);
    }
    out.push_str(text.trim_start_matches(['\n', ' ']).trim_end());
    out.push('\n');
    if report.excerpt.is_none()
        && let Some(place) = &diagnostic.place
    {
        let _ = writeln!(out, "   at {}", lines.describe(place));
    }
    for (place, text) in &diagnostic.labels {
        let _ = writeln!(out, "   {text}: {}", lines.describe(place));
    }
    for place in also {
        let _ = writeln!(out, "   also: {}", lines.describe(place));
    }
    out.push('\n');
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
        1 => "; one is a fault, which `--strict` refuses".to_owned(),
        count => format!("; {count} are faults, which `--strict` refuses"),
    };
    format!("{}{about}\n", parts.join(", "))
}

fn handler(diagnostic: &Diagnostic, color: bool) -> GraphicalReportHandler {
    let mut theme = GraphicalTheme::unicode_nocolor();
    if color {
        theme.styles = ThemeStyles::ansi();
    }
    // The icon is the one text that stands before the message, coloured by severity.
    let head = format!("{}[{}]:", diagnostic.severity.word(), diagnostic.code);
    theme.characters.error.clone_from(&head);
    theme.characters.warning.clone_from(&head);
    theme.characters.advice = head;
    GraphicalReportHandler::new_themed(theme)
        .with_width(WIDTH)
        .with_links(false)
        .with_context_lines(1)
        .without_syntax_highlighting()
        .tab_width(2)
}

/// One diagnostic as `miette` wants it.
struct Report<'a> {
    diagnostic: &'a Diagnostic,
    excerpt: Option<Excerpt>,
}

impl fmt::Debug for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.diagnostic, formatter)
    }
}

impl fmt::Display for Report<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for Report<'_> {}

impl miette::Diagnostic for Report<'_> {
    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.diagnostic.severity {
            Severity::Error => miette::Severity::Error,
            Severity::Warning => miette::Severity::Warning,
            Severity::Note => miette::Severity::Advice,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.diagnostic.help.as_ref().map(|help| Box::new(help) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|excerpt| excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        // Options have names, not pointers.
        let place = self.diagnostic.place.as_ref().filter(|place| place.source != SourceId::OPTIONS);
        let pointer = place.map(|place| format!("#{}", clip(&place.pointer)));
        let span = (excerpt.span.start, excerpt.span.len());
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(pointer, span))))
    }
}

/// The end of a pointer that is too long for one line.
fn clip(pointer: &str) -> String {
    let count = pointer.chars().count();
    if count <= LINE - 8 {
        return pointer.to_owned();
    }
    let tail: String = pointer.chars().skip(count - (LINE - 9)).collect();
    format!("…{tail}")
}

/// A few lines around a span, each clipped to a window.
struct Excerpt {
    name: String,
    text: String,
    span: Range<usize>,
    first_line: usize,
    line: usize,
    column: usize,
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let count = self.text.lines().count();
        let whole = SourceSpan::from((0, self.text.len()));
        // Without context lines `miette` asks for the position that it prints in the frame.
        let (span, line, column) =
            if before == 0 { (*span, self.line, self.column) } else { (whole, self.first_line, 0) };
        let data = self.text.as_bytes();
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data, span, line, column, count)))
    }
}

/// Texts with their lines, found once.
struct Excerpts<'a> {
    texts: &'a BTreeMap<SourceId, Text>,
    lines: BTreeMap<SourceId, Lines>,
}

impl<'a> Excerpts<'a> {
    const fn new(texts: &'a BTreeMap<SourceId, Text>) -> Self {
        Self { texts, lines: BTreeMap::new() }
    }

    fn lines(&mut self, source: SourceId) -> Option<(&'a Text, &Lines)> {
        let text = self.texts.get(&source)?;
        Some((text, self.lines.entry(source).or_insert_with(|| Lines::of(&text.text))))
    }

    /// Line and column from 0; the column counts characters.
    fn position(&mut self, place: &Place) -> Option<(&'a Text, usize, usize)> {
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

    fn excerpt(&mut self, place: Option<&Place>) -> Option<Excerpt> {
        let place = place?;
        let (text, line, column) = self.position(place)?;
        let (_, lines) = self.lines(place.source)?;
        let first_line = line.saturating_sub(1);
        let start = floor(&text.text, place.span.start as usize);
        let end = floor(&text.text, place.span.end as usize).max(start);
        let mut out = String::new();
        let mut span = 0..0;
        for index in first_line..=line + 1 {
            let Some(from) = lines.start(index) else { break };
            let until = lines.start(index + 1).unwrap_or(text.text.len());
            let content = text.text.get(from..until).unwrap_or("").trim_end_matches(['\n', '\r']);
            if index == line {
                // A value over many lines is marked on its first.
                let local = start - from..(end - from).min(content.len()).max(start - from);
                let (window, moved) = window(content, local);
                span = out.len() + moved.start..out.len() + moved.end;
                out.push_str(&window);
            } else if !(index > line && content.is_empty() && until == text.text.len()) {
                out.push_str(&window(content, 0..0).0);
            } else {
                break;
            }
            out.push('\n');
        }
        Some(Excerpt { name: text.name.clone(), text: out, span, first_line, line, column })
    }
}

/// At most [`LINE`] characters of a line around `span`, and where the span is in them.
fn window(line: &str, span: Range<usize>) -> (String, Range<usize>) {
    // Tabs and other control characters would break the frame.
    let clean = |text: &str| -> String {
        text.chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
    };
    let before = line.get(..span.start).unwrap_or(line);
    let marked = line.get(span.clone()).unwrap_or("");
    let after = line.get(span.end..).unwrap_or("");
    if line.len() <= LINE || line.chars().take(LINE + 1).count() <= LINE {
        let text = clean(line);
        let start = clean(before).len();
        return (text, start..start + clean(marked).len());
    }
    let head: Vec<char> = before.chars().rev().take(LINE / 3).collect();
    let cut_head = head.len() < before.chars().take(LINE / 3 + 1).count();
    let mut text = String::from(if cut_head { "…" } else { "" });
    text.push_str(&clean(&head.iter().rev().collect::<String>()));
    let start = text.len();
    let room = LINE - head.len();
    let middle: String = marked.chars().take(room).collect();
    text.push_str(&clean(&middle));
    let end = text.len();
    let rest = room.saturating_sub(middle.chars().count());
    let tail: String = after.chars().take(rest).collect();
    text.push_str(&clean(&tail));
    if middle.len() < marked.len() || tail.len() < after.len() {
        text.push('…');
    }
    (text, start..end)
}

/// The last character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
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
            r#"{{"severity":{},"code":{},"message":{},"file":{},"pointer":{},"line":{},"column":{},"help":{}}}"#,
            quote(diagnostic.severity.word()),
            quote(diagnostic.code),
            quote(&diagnostic.message),
            text(position.map(|(text, ..)| &*text.name)),
            text(place.filter(|place| place.source != SourceId::OPTIONS).map(|place| &*place.pointer)),
            number(position.map(|(_, line, _)| line)),
            number(position.map(|(.., column)| column)),
            text(diagnostic.help.as_deref()),
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
