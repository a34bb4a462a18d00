//! Folds quoted scalars with shallow lines by the rules of YAML (1.2.2, 6.5 and 7.3), before the document is
//! parsed: a line break becomes a blank, and empty lines become line breaks. The other bytes around a line
//! break become *fillers*: control characters that keep all byte offsets valid and are removed from the value
//! after parsing.

use std::borrow::Cow;

/// The byte that replaces a removed byte.
const FILLER: u8 = 1;
/// The byte that replaces an empty line and becomes a line break in the value.
const LINE_FILLER: u8 = 2;
/// The escapes by which the value of a scalar could contain filler characters (YAML 1.2.2, 5.7).
const ESCAPES: [&[u8]; 6] = [b"\\x01", b"\\x02", b"\\u0001", b"\\u0002", b"\\U00000001", b"\\U00000002"];

/// Folds the quoted scalar that begins at `at`. Returns true if the text changed. A scalar is not changed if
/// it has no closing quote or no line break, or if its value contains filler characters.
pub(super) fn fold_quoted_scalar(bytes: &mut [u8], at: usize) -> bool {
    let Some(end) = bytes.get(at..).and_then(quoted_length).map(|length| at + length) else { return false };
    let Some(text) = bytes.get_mut(at..end) else { return false };
    let contains_escape = |escape: &&[u8]| text.windows(escape.len()).any(|part| part == *escape);
    if text.iter().any(|byte| matches!(*byte, FILLER | LINE_FILLER)) || ESCAPES.iter().any(contains_escape) {
        return false;
    }
    let has_escapes = text.first() == Some(&b'"');
    let mut changed = false;
    let mut next = 0;
    while let Some(found) = text.get(next..).and_then(|rest| rest.iter().position(|byte| is_end(*byte))) {
        let (from, to, ends) = line_break_span(text, next + found);
        let escaped = has_escapes && is_escaped(text, from);
        write_folded(text.get_mut(from - usize::from(escaped)..to).unwrap_or_default(), ends, escaped);
        changed = true;
        next = to;
    }
    changed
}

/// Removes the [`FILLER`] characters that folding inserted into a scalar, and replaces each [`LINE_FILLER`]
/// by a line break.
pub(super) fn remove_fillers(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_filler = |each: char| [FILLER, LINE_FILLER].map(char::from).contains(&each);
    if !text.contains(is_filler) {
        return text;
    }
    let kept = text.chars().filter(|each| *each != char::from(FILLER));
    Cow::Owned(kept.map(|each| if each == char::from(LINE_FILLER) { '\n' } else { each }).collect())
}

/// Returns the length of the quoted scalar at the start of `text`, including both quotes.
fn quoted_length(text: &[u8]) -> Option<usize> {
    let quote = *text.first().filter(|quote| b"\"'".contains(quote))?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            // Two single quotes are an escaped single quote.
            byte if byte == quote && quote == b'\'' && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// Returns the start and end of the whitespace around a line break, and the number of line breaks in it.
fn line_break_span(text: &[u8], at: usize) -> (usize, usize, usize) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let before = text.get(..at).unwrap_or_default();
    let mut from = before.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    // An escaped blank is part of the value.
    if from < at && text.first() == Some(&b'"') && is_escaped(text, from) {
        from += 1;
    }
    let rest = text.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| !is_blank(byte) && !is_end(*byte)).unwrap_or(rest.len());
    let gap = rest.get(..length).unwrap_or_default();
    let feeds = gap.iter().filter(|byte| **byte == b'\n').count();
    let returns = gap.windows(2).filter(|pair| pair[0] == b'\r' && pair[1] != b'\n').count();
    (from, at + length, feeds + returns + usize::from(gap.last() == Some(&b'\r')))
}

/// Writes the folded form of `ends` line breaks: a blank for a single line break, one line break less for
/// several, and nothing for an escaped line break.
fn write_folded(gap: &mut [u8], ends: usize, escaped: bool) {
    gap.fill(FILLER);
    let lines = gap.iter_mut().take(ends - 1);
    lines.for_each(|byte| *byte = LINE_FILLER);
    if ends == 1 && !escaped {
        gap.iter_mut().take(1).for_each(|byte| *byte = b' ');
    }
}

const fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Returns true if an odd number of backslashes precedes `at`.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
