//! String helpers: code point counts for `minLength` and `maxLength`, line and column positions for error
//! messages, and a fast comparison of short names.
//!
//! JSON Schema counts Unicode code points. A code point occupies one to four bytes in UTF-8. The byte length
//! alone therefore decides most comparisons, and [`char_count_at_least`] rarely needs to scan.

/// Returns true if `text` has at least `least` code points.
///
/// Constant time unless the byte length lies between `least` and `4 * least`.
#[inline]
#[must_use]
pub const fn char_count_at_least(text: &str, least: usize) -> bool {
    let bytes = text.as_bytes();
    let length = bytes.len();
    if length < least {
        return false;
    }
    // Code points occupy at most four bytes, so fewer than `least` of them cannot fill this many bytes.
    if let Some(most) = least.checked_mul(4)
        && most <= length + 3
    {
        return true;
    }
    let mut count = 0;
    let mut at = 0;
    while at < bytes.len() {
        if starts_char(bytes[at]) {
            count += 1;
            if count >= least {
                return true;
            }
        }
        at += 1;
    }
    false
}

/// Returns true if `text` has at most `max` code points.
///
/// Constant time unless the byte length lies between `max` and `4 * max`.
#[inline]
#[must_use]
pub const fn char_count_at_most(text: &str, max: usize) -> bool {
    match max.checked_add(1) {
        Some(more) => !char_count_at_least(text, more),
        None => true,
    }
}

/// Compares two strings like `==`. Names of up to 32 bytes are compared inline as two overlapping chunks
/// instead of by a call of `memcmp`.
#[inline]
pub(crate) fn str_eq(one: &str, other: &str) -> bool {
    fn ends<const N: usize>(one: &[u8], other: &[u8]) -> bool {
        one.first_chunk::<N>() == other.first_chunk::<N>() && one.last_chunk::<N>() == other.last_chunk::<N>()
    }
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    // The first and the last chunk overlap or are adjacent.
    match one.len() {
        8..=16 => ends::<8>(one, other),
        4..=7 => ends::<4>(one, other),
        2..=3 => ends::<2>(one, other),
        17..=32 => ends::<16>(one, other),
        _ => one == other,
    }
}

/// Returns the line and the column of the byte at `offset`, both counted from 0. The column counts
/// characters.
///
/// Accepts bytes because the input may be invalid UTF-8 from `offset` on. Each call scans the input up to
/// `offset`. For many lookups, build a [`LineStarts`] once.
#[must_use]
pub fn line_and_column(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let line = before[..start].iter().filter(|byte| **byte == b'\n').count();
    (line, before[start..].iter().filter(|byte| starts_char(**byte)).count())
}

/// An index of line starts for repeated lookups between byte offsets and lines.
#[derive(Clone, Debug)]
pub struct LineStarts {
    starts: Vec<usize>,
}

impl LineStarts {
    /// Scans `text` for line breaks (`\n`).
    #[must_use]
    pub fn new(text: &str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { starts: std::iter::once(0).chain(breaks.map(|(index, _)| index + 1)).collect() }
    }

    /// Returns the line that contains the byte at `offset`, counted from 0.
    #[must_use]
    pub fn line_at(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset).saturating_sub(1)
    }

    /// Returns the byte offset of the start of a line (counted from 0), or `None` beyond the last line.
    #[must_use]
    pub fn start_of_line(&self, line: usize) -> Option<usize> {
        self.starts.get(line).copied()
    }
}

const fn starts_char(byte: u8) -> bool {
    byte & 0b1100_0000 != 0b1000_0000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_counting() {
        let texts = ["", "a", "abc", "ü", "äöü", "€", "a€b", "😀", "😀😀😀", "a😀ü€", "e\u{301}"];
        for text in texts {
            let count = text.chars().count();
            for limit in 0..16 {
                assert_eq!(char_count_at_least(text, limit), count >= limit, "{text} {limit}");
                assert_eq!(char_count_at_most(text, limit), count <= limit, "{text} {limit}");
            }
        }
        assert!(char_count_at_most("abc", usize::MAX));
        assert!(!char_count_at_least("abc", usize::MAX));
    }

    #[test]
    fn strings_are_equal_if_all_their_bytes_are() {
        let letters = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEF";
        for length in 0..40 {
            let text = &letters[..length];
            assert!(str_eq(text, text.to_owned().as_str()));
            assert!(!str_eq(text, &letters[..=length]));
            for at in 0..length {
                let other = format!("{}#{}", &text[..at], &text[at + 1..]);
                assert!(!str_eq(text, &other), "{text} {other}");
            }
        }
    }

    #[test]
    fn places() {
        let text = "aü\n\n€x";
        let lines = LineStarts::new(text);
        for (offset, expected) in
            [(0, (0, 0)), (1, (0, 1)), (3, (0, 2)), (4, (1, 0)), (5, (2, 0)), (8, (2, 1)), (9, (2, 2))]
        {
            assert_eq!(line_and_column(text.as_bytes(), offset), expected, "{offset}");
            assert_eq!(lines.line_at(offset), expected.0, "{offset}");
        }
        assert_eq!(
            (lines.start_of_line(1), lines.start_of_line(2), lines.start_of_line(3)),
            (Some(4), Some(5), None)
        );
        assert_eq!(line_and_column(b"", 5), (0, 0));
    }

    #[test]
    fn usable_in_constants() {
        const OK: bool = char_count_at_least("äöü", 3) && char_count_at_most("äöü", 3);
        const { assert!(OK) };
    }
}
