//! Renders framed source excerpts with `miette`.

use std::{fmt, ops::Range};

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents, ThemeStyles,
};

use super::{
    Diagnostic, Severity,
    render::{ExcerptCache, floor_char_boundary},
};
use crate::tree::{DocumentLocation, SourceId};

/// The width of a frame in terminal columns.
const TERMINAL_WIDTH: usize = 80;
/// The maximum number of characters of a source line; the frame needs the remaining columns of
/// [`TERMINAL_WIDTH`].
const MAX_LINE_CHARS: usize = 66;

/// Renders a diagnostic as text with a framed excerpt. The flag is true if the diagnostic has an excerpt. The
/// excerpt also shows the location.
pub(super) fn render_frame(
    lines: &mut ExcerptCache<'_>,
    diagnostic: &Diagnostic,
    color: bool,
) -> (String, bool) {
    let report = MietteReport { diagnostic, excerpt: lines.extract_excerpt(diagnostic.place.as_ref()) };
    let mut text = String::new();
    // Rendering does not fail: writing to a string always succeeds, and excerpts resolve every span.
    if graphical_handler(diagnostic, color).render_report(&mut text, &report).is_err() {
        text = format!("{}[{}]: {}\n", diagnostic.severity.as_str(), diagnostic.code, diagnostic.message);
    }
    (text, report.excerpt.is_some())
}

fn graphical_handler(diagnostic: &Diagnostic, color: bool) -> GraphicalReportHandler {
    let mut theme = GraphicalTheme::unicode_nocolor();
    if color {
        theme.styles = ThemeStyles::ansi();
    }
    // `miette` prints its icon before the message, colored by severity, so the code is passed as the icon.
    let head = format!("{}[{}]:", diagnostic.severity.as_str(), diagnostic.code);
    theme.characters.error.clone_from(&head);
    theme.characters.warning.clone_from(&head);
    theme.characters.advice = head;
    GraphicalReportHandler::new_themed(theme)
        .with_width(TERMINAL_WIDTH)
        .with_links(false)
        .with_context_lines(1)
        .without_syntax_highlighting()
        .tab_width(2)
}

/// An adapter through which `miette` reads a diagnostic.
struct MietteReport<'a> {
    diagnostic: &'a Diagnostic,
    excerpt: Option<SourceExcerpt>,
}

impl fmt::Debug for MietteReport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.diagnostic, formatter)
    }
}

impl fmt::Display for MietteReport<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.diagnostic.message)
    }
}

impl std::error::Error for MietteReport<'_> {}

impl miette::Diagnostic for MietteReport<'_> {
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
        // Locations in the options are labeled by name, not by pointer.
        let place = self.diagnostic.place.as_ref().filter(|place| place.source != SourceId::OPTIONS);
        let pointer = place.map(|place| format!("#{}", clip_pointer(&place.pointer)));
        let span = (excerpt.span.start, excerpt.span.len());
        Some(Box::new(std::iter::once(LabeledSpan::new_primary_with_span(pointer, span))))
    }
}

/// Returns the pointer, or `…` and its end if it is too long for one line.
fn clip_pointer(pointer: &str) -> String {
    let count = pointer.chars().count();
    if count <= MAX_LINE_CHARS - 8 {
        return pointer.to_owned();
    }
    let tail: String = pointer.chars().skip(count - (MAX_LINE_CHARS - 9)).collect();
    format!("…{tail}")
}

/// The line of a location and its neighbors, each clipped to [`MAX_LINE_CHARS`].
struct SourceExcerpt {
    name: String,
    text: String,
    span: Range<usize>,
    first_line: usize,
    line: usize,
    column: usize,
}

impl SourceCode for SourceExcerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        _after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let count = self.text.lines().count();
        let whole = SourceSpan::from((0, self.text.len()));
        // `miette` requests no context lines when it needs the position for the header of the frame.
        let (span, line, column) =
            if before == 0 { (*span, self.line, self.column) } else { (whole, self.first_line, 0) };
        let data = self.text.as_bytes();
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data, span, line, column, count)))
    }
}

impl ExcerptCache<'_> {
    fn extract_excerpt(&mut self, place: Option<&DocumentLocation>) -> Option<SourceExcerpt> {
        let place = place?;
        let (text, line, column) = self.line_and_column(place)?;
        let (_, lines) = self.source_lines(place.source)?;
        let first_line = line.saturating_sub(1);
        let start = floor_char_boundary(&text.text, place.span.start as usize);
        let end = floor_char_boundary(&text.text, place.span.end as usize).max(start);
        let mut out = String::new();
        let mut span = 0..0;
        for index in first_line..=line + 1 {
            let Some(from) = lines.start_of_line(index) else { break };
            let until = lines.start_of_line(index + 1).unwrap_or(text.text.len());
            let content = text.text.get(from..until).unwrap_or("").trim_end_matches(['\n', '\r']);
            if index == line {
                // A value that spans several lines is marked only on its first line.
                let local = start - from..(end - from).min(content.len()).max(start - from);
                let (window, moved) = clip_line(content, local);
                span = out.len() + moved.start..out.len() + moved.end;
                out.push_str(&window);
            } else if !(index > line && content.is_empty() && until == text.text.len()) {
                out.push_str(&clip_line(content, 0..0).0);
            } else {
                break;
            }
            out.push('\n');
        }
        Some(SourceExcerpt { name: text.name.clone(), text: out, span, first_line, line, column })
    }
}

/// Returns the part of a line around `span`, and the position of the span in it. The part has at most
/// [`MAX_LINE_CHARS`] characters, apart from a `…` at each end that is cut off.
fn clip_line(line: &str, span: Range<usize>) -> (String, Range<usize>) {
    // Tabs and other control characters would break the frame.
    let clean = |text: &str| -> String {
        text.chars().map(|each| if each.is_control() { ' ' } else { each }).collect()
    };
    let before = line.get(..span.start).unwrap_or(line);
    let marked = line.get(span.clone()).unwrap_or("");
    let after = line.get(span.end..).unwrap_or("");
    if line.len() <= MAX_LINE_CHARS || line.chars().take(MAX_LINE_CHARS + 1).count() <= MAX_LINE_CHARS {
        let text = clean(line);
        let start = clean(before).len();
        return (text, start..start + clean(marked).len());
    }
    let head: Vec<char> = before.chars().rev().take(MAX_LINE_CHARS / 3).collect();
    let cut_head = head.len() < before.chars().take(MAX_LINE_CHARS / 3 + 1).count();
    let mut text = String::from(if cut_head { "…" } else { "" });
    text.push_str(&clean(&head.iter().rev().collect::<String>()));
    let start = text.len();
    let room = MAX_LINE_CHARS - head.len();
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
