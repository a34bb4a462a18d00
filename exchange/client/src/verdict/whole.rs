//! Whether a document was cut, told without reading it: who reads it reads all of it, and to do so here before that would
//! be the same once more. Says nothing of what is no JSON.

/// The lowest bit of each byte of eight, and the highest.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x80 * ONES;

/// Whether a body is an object or a list in which nothing is open at its end, no bracket and no text: of a document that
/// was cut something is, wherever that was, so what is JSON and looks whole is whole. Of what does not look so nothing is
/// said: it may be a text or a number.
pub(super) fn looks_whole(body: &[u8]) -> bool {
    let body = body.trim_ascii();
    if !matches!((body.first(), body.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']'))) {
        return false;
    }
    let mut open = Open::default();
    let (words, rest) = body.as_chunks::<8>();
    words.iter().for_each(|word| open.word(*word));
    rest.iter().for_each(|byte| open.byte(*byte));
    open.depth == 0 && !open.in_text
}

/// What is open behind the bytes that it was given.
#[derive(Clone, Debug, Default, PartialEq)]
struct Open {
    /// Brackets, of either kind.
    depth: i64,
    in_text: bool,
    /// In a text, behind the backslash of an escape.
    escaped: bool,
}

impl Open {
    fn byte(&mut self, byte: u8) {
        if self.in_text {
            self.in_text = self.escaped || byte != b'"';
            self.escaped = !self.escaped && byte == b'\\';
            return;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => self.depth -= 1,
            _ => {}
        }
    }

    /// Eight bytes at once, to the same as one by one.
    fn word(&mut self, bytes: [u8; 8]) {
        let word = u64::from_le_bytes(bytes);
        if self.escaped || equal(word, b'\\') != 0 {
            return bytes.into_iter().for_each(|byte| self.byte(byte));
        }
        // Whether an odd number of quotation marks stands up to each byte, with all that went before: it is in a text.
        let mut within = equal(word, b'"');
        for width in [8, 16, 32] {
            within ^= within << width;
        }
        if self.in_text {
            within ^= HIGHS;
        }
        self.in_text = within >> 63 == 1;
        // `[` and `{` differ by this bit, and so do `]` and `}`.
        let brackets = word | (0x20 * ONES);
        let count = |bracket| i64::from((equal(brackets, bracket) & !within).count_ones());
        self.depth += count(b'{') - count(b'}');
    }
}

/// The highest bit of each byte of eight that is this one.
const fn equal(word: u64, byte: u8) -> u64 {
    let other = word ^ (byte as u64 * ONES);
    // Of what differs in a lower bit the addition sets the highest, and carries nothing into the next byte.
    !(((other & !HIGHS) + !HIGHS) | other) & HIGHS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_found_wherever_it_stands() {
        for byte in 0..=u8::MAX {
            for other in [0, byte ^ 0x80, byte ^ 1, byte.wrapping_sub(1), byte.wrapping_add(1)] {
                for place in 0..8 {
                    let mut word = [other; 8];
                    word[place] = byte;
                    let same =
                        |found: u64, byte: u8| (found << 8) | if byte == word[place] { 0x80 } else { 0 };
                    let expected = word.iter().rev().fold(0, |found, byte| same(found, *byte));
                    assert_eq!(equal(u64::from_le_bytes(word), byte), expected, "{word:?}");
                }
            }
        }
    }

    /// All texts of brackets, quotation marks, backslashes and others, one behind the other, at every place of a word.
    #[test]
    fn eight_bytes_come_to_the_same_as_one_by_one() {
        const BYTES: &[u8] = b"{[}]\"\\a\xff";
        let mut random = 1_u64;
        let (mut by_words, mut by_bytes) = (Open::default(), Open::default());
        for _ in 0..100_000 {
            let word: [u8; 8] = std::array::from_fn(|_| {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                // Few backslashes, so that many words have none.
                let at = (random >> 58) as usize;
                BYTES[if at < 8 { at } else { at % 5 }]
            });
            by_words.word(word);
            word.into_iter().for_each(|byte| by_bytes.byte(byte));
            assert_eq!(by_words, by_bytes, "{word:?}");
        }
    }

    /// However it was cut, and whatever its texts say.
    #[test]
    fn of_a_cut_document_something_is_open() {
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
                    assert!(!looks_whole(&body.as_bytes()[..cut]), "{text} {cut}");
                }
                assert!(looks_whole(body.as_bytes()), "{text}");
            }
        }
    }
}
