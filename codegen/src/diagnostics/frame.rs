//! `miette`'s frames around clipped excerpts.

use std::{fmt, ops::Range};

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents, ThemeStyles,
};

use super::{
    Diagnostic, Severity,
    render::{Excerpts, floor},
};
use crate::tree::{Place, SourceId};

/// Columns of a terminal that everything fits into.
const WIDTH: usize = 80;
/// Characters of a source line that are shown: what the frame leaves of [`WIDTH`].
const LINE: usize = 66;

/// A diagnostic in its frame, and whether that says where it is.
pub(super) fn text(lines: &mut Excerpts<'_>, diagnostic: &Diagnostic, color: bool) -> (String, bool) {
    let report = Report { diagnostic, excerpt: lines.excerpt(diagnostic.place.as_ref()) };
    let mut text = String::new();
    // Writing into a string does not fail, and excerpts answer every span.
    if handler(diagnostic, color).render_report(&mut text, &report).is_err() {
        text = format!("{}[{}]: {}\n", diagnostic.severity.word(), diagnostic.code, diagnostic.message);
    }
    (text, report.excerpt.is_some())
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

impl Excerpts<'_> {
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
