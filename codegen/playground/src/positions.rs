//! Converts byte ranges to lines and columns as an editor counts them, and diagnostics to JSON.

use std::collections::BTreeMap;

use contract_codegen::diagnostics::{Diagnostic, Diagnostics, DocumentLocation, SourceId};
use contract_runtime::text::LineStarts;
use serde_json::{Value, json};

/// The maximum number of diagnostics in a response. A page cannot show more in a useful way.
const MAX_DIAGNOSTICS: usize = 500;

/// Returns the line and the column of a byte offset. Both count from 1; the column counts UTF-16 code units.
pub(crate) fn line_and_column(text: &str, lines: &LineStarts, offset: usize) -> (usize, usize) {
    let offset = text.floor_char_boundary(offset);
    let line = lines.line_at(offset);
    let start = lines.start_of_line(line).unwrap_or(0);
    let column = text.get(start..offset).map_or(0, |before| before.encode_utf16().count());
    (line + 1, column + 1)
}

/// Returns the byte offset of a line and a column, or `None` beyond the last line. A column beyond the end of
/// the line is the end of the line.
pub(crate) fn offset_at(text: &str, lines: &LineStarts, (line, column): (usize, usize)) -> Option<usize> {
    let start = lines.start_of_line(line.checked_sub(1)?)?;
    let mut units = column.saturating_sub(1);
    let mut offset = start;
    for character in text.get(start..)?.chars() {
        if units < character.len_utf16() || character == '\n' {
            break;
        }
        units -= character.len_utf16();
        offset += character.len_utf8();
    }
    Some(offset)
}

/// Converts diagnostics to JSON: `total`, and the first of them in `list`, sorted by severity and location.
pub(crate) fn diagnostics_to_json(mut diagnostics: Diagnostics) -> Value {
    diagnostics.sort();
    let mut converter = DiagnosticConverter { diagnostics: &diagnostics, lines: BTreeMap::new() };
    let list = diagnostics.iter().take(MAX_DIAGNOSTICS).map(|each| converter.convert(each));
    let list: Vec<Value> = list.collect();
    json!({ "total": diagnostics.len(), "list": list })
}

struct DiagnosticConverter<'a> {
    diagnostics: &'a Diagnostics,
    lines: BTreeMap<SourceId, LineStarts>,
}

impl DiagnosticConverter<'_> {
    fn convert(&mut self, diagnostic: &Diagnostic) -> Value {
        let place = diagnostic.place.as_ref().map(|place| self.locate(place));
        let related: Vec<Value> = diagnostic
            .labels
            .iter()
            .map(|(place, text)| json!({ "place": self.locate(place), "text": text }))
            .collect();
        json!({
            "severity": diagnostic.severity.as_str(),
            "code": diagnostic.code,
            "message": diagnostic.message,
            "help": diagnostic.help,
            "place": place,
            "related": related,
        })
    }

    fn locate(&mut self, place: &DocumentLocation) -> Value {
        let Some(source) = self.diagnostics.source_text(place.source) else { return Value::Null };
        let lines = self.lines.entry(place.source).or_insert_with(|| LineStarts::new(&source.text));
        let (line, column) = line_and_column(&source.text, lines, place.span.start as usize);
        let (end_line, end_column) = line_and_column(&source.text, lines, place.span.end as usize);
        json!({
            "file": source.name, "pointer": place.pointer,
            "line": line, "column": column, "endLine": end_line, "endColumn": end_column,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf16_units() {
        let text = "a\n😀é: b\n\nlast";
        let lines = LineStarts::new(text);
        for (offset, expected) in
            [(0, (1, 1)), (2, (2, 1)), (6, (2, 3)), (8, (2, 4)), (11, (2, 7)), (12, (3, 1)), (17, (4, 5))]
        {
            assert_eq!(line_and_column(text, &lines, offset), expected, "{offset}");
            assert_eq!(offset_at(text, &lines, expected), Some(offset), "{offset}");
        }
        // Inside of a character, and beyond the end of a line or of the document.
        assert_eq!(line_and_column(text, &lines, 4), (2, 1));
        assert_eq!(offset_at(text, &lines, (2, 2)), Some(2));
        assert_eq!(offset_at(text, &lines, (2, 99)), Some(11));
        assert_eq!(offset_at(text, &lines, (9, 1)), None);
        assert_eq!(offset_at(text, &lines, (0, 1)), None);
    }
}
