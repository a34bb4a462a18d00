//! Quoted texts that go on further out than the parser allows: their lines are folded here as YAML
//! folds them (1.2.2, 6.5 and 7.3), before the parser sees them. Texts stay as long as they were, so
//! that every place stays where it was: what folding leaves out is filled up.

use std::borrow::Cow;

/// Stands for nothing.
const NOTHING: u8 = 1;
/// Stands for the end of a line that was empty.
const LINE: u8 = 2;
/// How a text says these itself (YAML 1.2.2, 5.7).
const ESCAPES: [&[u8]; 6] = [b"\\x01", b"\\x02", b"\\u0001", b"\\u0002", b"\\U00000001", b"\\U00000002"];

/// Folds the quoted text that begins at `at`. Whether anything changed: not where it has no end, no
/// line's end, or fillers of its own, which could not be told from ours.
pub(super) fn fold(bytes: &mut [u8], at: usize) -> bool {
    let Some(end) = bytes.get(at..).and_then(length).map(|length| at + length) else { return false };
    let Some(text) = bytes.get_mut(at..end) else { return false };
    let says = |escape: &&[u8]| text.windows(escape.len()).any(|part| part == *escape);
    if text.iter().any(|byte| matches!(*byte, NOTHING | LINE)) || ESCAPES.iter().any(says) {
        return false;
    }
    let has_escapes = text.first() == Some(&b'"');
    let mut changed = false;
    let mut next = 0;
    while let Some(found) = text.get(next..).and_then(|rest| rest.iter().position(|byte| is_end(*byte))) {
        let (from, to, ends) = around(text, next + found);
        let escaped = has_escapes && is_escaped(text, from);
        fill(text.get_mut(from - usize::from(escaped)..to).unwrap_or_default(), ends, escaped);
        changed = true;
        next = to;
    }
    changed
}

/// A text that was folded, as it is meant: fillers go.
pub(super) fn unfilled(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_filler = |each: char| [NOTHING, LINE].map(char::from).contains(&each);
    if !text.contains(is_filler) {
        return text;
    }
    let kept = text.chars().filter(|each| *each != char::from(NOTHING));
    Cow::Owned(kept.map(|each| if each == char::from(LINE) { '\n' } else { each }).collect())
}

/// How long the quoted text at the beginning is, both quotes included.
fn length(text: &[u8]) -> Option<usize> {
    let quote = *text.first().filter(|quote| b"\"'".contains(quote))?;
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' if quote == b'"' => at += 2,
            // Twice, it is one of the text.
            byte if byte == quote && quote == b'\'' && text.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The blanks and line ends around the first line's end: from, to, and how many lines end there.
fn around(text: &[u8], at: usize) -> (usize, usize, usize) {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let before = text.get(..at).unwrap_or_default();
    let mut from = before.iter().rposition(|byte| !is_blank(byte)).map_or(0, |last| last + 1);
    // A blank behind a backslash is no blank.
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

/// Writes what so many line ends fold to: a blank for one, and a line's end for each further one. An
/// escaped one is nothing.
fn fill(gap: &mut [u8], ends: usize, escaped: bool) {
    gap.fill(NOTHING);
    let lines = gap.iter_mut().take(ends - 1);
    lines.for_each(|byte| *byte = LINE);
    if ends == 1 && !escaped {
        gap.iter_mut().take(1).for_each(|byte| *byte = b' ');
    }
}

const fn is_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// Whether what stands at `at` is behind an odd number of backslashes.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}
