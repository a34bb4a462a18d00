//! Excerpts of the source files around the location of a change.

use contract_codegen_core::diagnostics::SourceTextProvider;
use contract_runtime::text::LineStarts;

use crate::drift::{ContractVersion, SourceLocation, enumerations::escape_invisible};

/// The number of lines before the marked line.
const LINES_BEFORE: usize = 2;
/// The number of lines after the marked line.
const LINES_AFTER: usize = 5;
/// The maximum number of characters of a line.
const MAX_LINE_LENGTH: usize = 160;
/// The number of characters before the changed element in a line that is too long.
const CHARACTERS_BEFORE: usize = 40;

/// Consecutive lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SourceExcerpt {
    pub(super) lines: Vec<ExcerptLine>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExcerptLine {
    /// The line number, starting at 1.
    pub(super) number: usize,
    /// The line without the indentation that all lines share. A line that is too long is cut to the part that
    /// contains the changed element.
    pub(super) text: String,
    /// Whether this is the line of the change.
    pub(super) is_marked: bool,
}

/// Returns the lines around a location. Returns `None` if the version does not contain the file or the line.
pub(super) fn extract_excerpt(version: &ContractVersion, location: &SourceLocation) -> Option<SourceExcerpt> {
    let (source, text) =
        version.sources.source_texts().find(|(id, _)| version.file_name(*id) == location.file)?;
    let text = text.text;
    let marked = location.line.checked_sub(1)?;
    let first = marked.saturating_sub(LINES_BEFORE);
    let lines: Vec<&str> = text.lines().skip(first).take(marked - first + LINES_AFTER + 1).collect();
    lines.get(marked - first)?;
    let indentation = |line: &&str| line.len() - line.trim_start_matches(' ').len();
    let indent = lines.iter().filter(|line| !line.trim().is_empty()).map(indentation).min().unwrap_or(0);
    // Overlays have no tree.
    let element = version
        .sources
        .get(source)
        .and_then(|document| document.tree.resolve_pointer(&location.pointer))
        .map(|node| node.span.start as usize);
    let column = |number: usize| {
        let offset = element.filter(|_| number == marked)?;
        let start = LineStarts::new(&text).start_of_line(number)?;
        Some(text.get(start..offset)?.chars().count())
    };
    let lines = lines.into_iter().enumerate().map(|(index, line)| {
        let number = first + index;
        let is_marked = number == marked;
        let cut = cut_line(line, if is_long(line) { column(number) } else { None }, indent);
        ExcerptLine { number: number + 1, text: escape_invisible(&cut.replace('\t', "    ")), is_marked }
    });
    Some(SourceExcerpt { lines: lines.collect() })
}

fn is_long(line: &str) -> bool {
    line.chars().nth(MAX_LINE_LENGTH).is_some()
}

/// Returns a line without the indentation that all lines share. If the line is too long, returns only the
/// part around `column`, or the start of the line if `column` is `None`.
fn cut_line(line: &str, column: Option<usize>, indent: usize) -> String {
    if !is_long(line) {
        return line.get(indent..).unwrap_or_default().trim_end().to_owned();
    }
    let start = column.unwrap_or(0).saturating_sub(CHARACTERS_BEFORE);
    let start = if start == 0 { indent } else { start };
    let part: String = line.chars().skip(start).take(MAX_LINE_LENGTH).collect();
    let before = if start == indent { "" } else { "…" };
    let after = if line.chars().nth(start + MAX_LINE_LENGTH).is_some() { "…" } else { "" };
    format!("{before}{part}{after}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic on failure")]
mod tests {
    use super::*;

    fn excerpt(text: &str, pointer: &str, line: usize) -> Option<Vec<(usize, String, bool)>> {
        let version = ContractVersion::from_strings(&[("a.yaml", "", text)]).unwrap();
        let location = SourceLocation { file: "a.yaml".to_owned(), pointer: pointer.to_owned(), line };
        let found = extract_excerpt(&version, &location)?;
        Some(found.lines.into_iter().map(|line| (line.number, line.text, line.is_marked)).collect())
    }

    #[test]
    fn excerpts_contain_the_lines_around_the_change() {
        let text = "type: object\nproperties:\n  a:\n    type: string\n    maxLength: 5\n\n  b: {}\n";
        let found = excerpt(text, "/properties/a/maxLength", 5).unwrap();
        let expect = [
            (3, "a:", false),
            (4, "  type: string", false),
            (5, "  maxLength: 5", true),
            (6, "", false),
            (7, "b: {}", false),
        ];
        assert_eq!(found, expect.map(|(number, text, is_marked)| (number, text.to_owned(), is_marked)));
        assert_eq!(excerpt(text, "", 1).unwrap()[0], (1, "type: object".to_owned(), true));
        assert_eq!(excerpt(text, "", 99), None);
    }

    #[test]
    fn long_lines_are_cut_to_the_changed_element() {
        let names: Vec<String> = (0..99).map(|index| format!("p{index}: {{maxLength: {index}}}")).collect();
        let text = format!("{{properties: {{{}}}}}", names.join(", "));
        let found = excerpt(&text, "/properties/p50/maxLength", 1).unwrap();
        let line = &found[0].1;
        assert!(
            line.contains("p50: {maxLength: 50}") && line.starts_with('…') && line.ends_with('…'),
            "{line}"
        );
        assert_eq!(line.chars().count(), MAX_LINE_LENGTH + 2);
        let found = excerpt(&text, "/gone", 1).unwrap();
        assert!(found[0].1.starts_with("{properties: {p0: "), "{found:?}");
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let found = excerpt("title: \"a\u{202e}b\"\n", "/title", 1).unwrap();
        assert_eq!(found[0].1, "title: \"a\\u202eb\"");
    }
}
