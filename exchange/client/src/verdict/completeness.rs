//! A fast check that a JSON body was not truncated. It does not parse the body, because the caller does that
//! later. Its result is meaningless for bodies that are not JSON.

/// The lowest bit and the highest bit of each of eight bytes.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x80 * ONES;

/// Returns true if a body is an object or an array, and no bracket and no string is open at its end.
///
/// A truncated JSON object or array always has an open bracket or string, so valid JSON that looks complete
/// is complete. Returns false for other documents, such as a plain string or number.
pub(super) fn looks_complete(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    if !matches!((body.first(), body.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))) {
        return false;
    }
    let mut open = BracketState::default();
    let (words, rest) = body.as_chunks::<8>();
    words.iter().for_each(|word| open.push_word(*word));
    rest.iter().for_each(|byte| open.push_byte(*byte));
    open.depth == 0 && !open.in_string
}

/// The brackets and strings that are open after the bytes so far.
#[derive(Clone, Debug, Default, PartialEq)]
struct BracketState {
    /// The nesting depth of brackets of both kinds.
    depth: i64,
    in_string: bool,
    /// True if the last byte was a backslash that starts an escape sequence in a string.
    escaped: bool,
}

impl BracketState {
    fn push_byte(&mut self, byte: u8) {
        if self.in_string {
            self.in_string = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }

    /// Processes eight bytes at once, with the same result as processing them one by one.
    fn push_word(&mut self, bytes: [u8; 8]) {
        let word = u64::from_le_bytes(bytes);
        if self.escaped || match_bytes(word, b'\\') != 0 {
            return bytes.into_iter().for_each(|byte| self.push_byte(byte));
        }
        // Prefix XOR: the high bit of a byte is set if the number of quotation marks up to it is odd, which
        // means that the byte is in a string.
        let mut within = match_bytes(word, b'"');
        for width in [8, 16, 32] {
            within ^= within << width;
        }
        if self.in_string {
            within ^= HIGHS;
        }
        self.in_string = within >> 63 == 1;
        // `[` and `{` differ only in this bit, and so do `]` and `}`.
        let brackets = word | (0x20 * ONES);
        let count = |bracket| i64::from((match_bytes(brackets, bracket) & !within).count_ones());
        self.depth += count(b'{') - count(b'}');
    }
}

/// Returns a word with the highest bit set in each byte that equals `byte`.
const fn match_bytes(word: u64, byte: u8) -> u64 {
    let other = word ^ (byte as u64 * ONES);
    // The addition sets the highest bit if a lower bit differs, and never carries into the next byte.
    !(((other & !HIGHS) + !HIGHS) | other) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_at_every_position() {
        for byte in 0..=u8::MAX {
            for other in [0, byte ^ 0x80, byte ^ 1, byte.wrapping_sub(1), byte.wrapping_add(1)] {
                for place in 0..8 {
                    let mut word = [other; 8];
                    word[place] = byte;
                    let same =
                        |found: u64, byte: u8| (found << 8) | if byte == word[place] { 0x80 } else { 0 };
                    let expected = word.iter().rev().fold(0, |found, byte| same(found, *byte));
                    assert_eq!(match_bytes(u64::from_le_bytes(word), byte), expected, "{word:?}");
                }
            }
        }
    }

    /// Random words of brackets, quotation marks, backslashes, and other bytes lead to the same state as
    /// single bytes.
    #[test]
    fn words_and_single_bytes_give_the_same_state() {
        const BYTES: &[u8] = b"{[}]\"\\a\xff";
        let mut random = 1_u64;
        let (mut by_words, mut by_bytes) = (BracketState::default(), BracketState::default());
        for _ in 0..100_000 {
            let word: [u8; 8] = std::array::from_fn(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // There are few backslashes, so that many words have none.
                let at = (random >> 58) as usize;
                BYTES[if at < 8 { at } else { at % 5 }]
            });
            by_words.push_word(word);
            word.into_iter().for_each(|byte| by_bytes.push_byte(byte));
            assert_eq!(by_words, by_bytes, "{word:?}");
        }
    }

    /// A truncated document has an open bracket, wherever it is cut and whatever its strings contain.
    #[test]
    fn truncated_document_has_open_brackets() {
        let long = "x".repeat(500);
        for text in
            ["", "[{", "}]}", "}]}]}]}", "\\\"", "a \\\" {", "\\\\", "\\\\\\\"]}]}", "\u{e9}}]}", &long]
        {
            for before in 0..8 {
                let before = " ".repeat(before);
                let body = format!(
                    r#"{before}{{"items": [{{"a": "{text}", "b": [1, [2]]}}, {{}}], "{text}": true}} "#
                );
                let end = body.rfind('}').unwrap_or_default();
                for cut in 0..end {
                    assert!(!looks_complete(&body.as_bytes()[..cut]), "{text} {cut}");
                }
                assert!(looks_complete(body.as_bytes()), "{text}");
            }
        }
    }
}
