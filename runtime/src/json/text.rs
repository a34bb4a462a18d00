//! The one reader of JSON text: strict, and told what to make of what it finds.
//!
//! Recursive, because the depth is limited, and because the pointer of an error then
//! costs nothing until there is an error.

use std::borrow::Cow;
use std::ops::Range;

use super::{Expected, JsonError, JsonErrorKind};
use crate::pointer;
use crate::text::position;

/// What comes of a JSON text. The reader tells of each value when it has been read whole, and
/// where it stands, in bytes; of a member's key before its value.
pub trait Build {
    /// A value.
    type Value;
    /// The elements of an array so far.
    type Array: Default;
    /// The members of an object so far.
    type Object: Default;

    /// `null`
    fn null(&mut self, span: Range<usize>) -> Self::Value;
    /// `true` or `false`
    fn boolean(&mut self, value: bool, span: Range<usize>) -> Self::Value;
    /// What begins like a number; `None` when it is none ([`Number::parse`](crate::Number::parse)).
    fn number(&mut self, text: &str, span: Range<usize>) -> Option<Self::Value>;
    /// A string, escapes resolved.
    fn string(&mut self, text: String, span: Range<usize>) -> Self::Value;
    /// An element of an array.
    fn element(&mut self, array: &mut Self::Array, value: Self::Value);
    /// An array that ends here.
    fn array(&mut self, array: Self::Array, span: Range<usize>) -> Self::Value;
    /// A key, whose value follows: whether it may stand here.
    fn key(&mut self, object: &mut Self::Object, key: &str, span: Range<usize>) -> Key;
    /// A member, with the place of its key.
    fn member(
        &mut self,
        object: &mut Self::Object,
        key: Cow<'_, str>,
        span: Range<usize>,
        value: Self::Value,
    );
    /// An object that ends here.
    fn object(&mut self, object: Self::Object, span: Range<usize>) -> Self::Value;

    /// Half of a surrogate pair in a string: what to read instead, unless the text is refused for
    /// it (RFC 8259, 8.2).
    #[cold]
    fn lone_surrogate(&mut self, code: u32, span: Range<usize>) -> Option<char> {
        let _ = (code, span);
        None
    }

    /// A value inside the one that is being read begins.
    #[inline]
    fn enter(&mut self, step: Step<'_>) {
        let _ = step;
    }

    /// It has ended.
    #[inline]
    fn leave(&mut self) {}
}

/// Where a value stands in the one around it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'k> {
    /// The element at an index.
    Item(usize),
    /// The member of a name.
    Member(&'k str),
}

/// Whether an object takes a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// It does.
    Taken,
    /// It has the key already: the text is refused with [`JsonErrorKind::DuplicateMember`].
    Refused,
}

/// Reads a text that consists of exactly one JSON value and white space, with at most `depth`
/// arrays and objects in one another.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn build<B: Build>(text: &str, depth: usize, build: &mut B) -> Result<B::Value, JsonError> {
    read(text, depth, build).map_err(|failure| failure.locate(text.as_bytes()))
}

/// The same without looking for the line of what is wrong.
pub(super) fn read<B: Build>(text: &str, depth: usize, build: &mut B) -> Parsed<B::Value> {
    let mut parser = Parser { text, at: 0, build };
    parser.skip_space();
    let value = parser.value(depth)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.fail(JsonErrorKind::TrailingCharacters)),
    }
}

/// Boxed, so that the happy path does not carry room for it.
pub(super) type Parsed<T> = Result<T, Box<Failure>>;

/// What is wrong, before anybody asks in which line.
pub(super) struct Failure {
    pub(super) kind: JsonErrorKind,
    offset: usize,
    expected: Option<Expected>,
    /// From the inside out.
    path: Vec<Segment>,
}

enum Segment {
    Item(usize),
    Member(String),
}

impl Failure {
    #[cold]
    pub(super) fn new(kind: JsonErrorKind, offset: usize) -> Box<Self> {
        Box::new(Self { kind, offset, expected: None, path: Vec::new() })
    }

    #[cold]
    fn within(mut self: Box<Self>, segment: Segment) -> Box<Self> {
        self.path.push(segment);
        self
    }

    pub(super) fn locate(self, bytes: &[u8]) -> JsonError {
        let (line, column) = position(bytes, self.offset);
        let mut path = String::new();
        for segment in self.path.iter().rev() {
            match segment {
                Segment::Item(index) => pointer::push_index(&mut path, *index),
                Segment::Member(name) => pointer::push(&mut path, name),
            }
        }
        let Self { kind, offset, expected, .. } = self;
        JsonError { kind, offset, line: line + 1, column: column + 1, pointer: path, expected }
    }
}

struct Parser<'a, 'b, B> {
    text: &'a str,
    /// Always on a character boundary where the text is cut.
    at: usize,
    build: &'b mut B,
}

impl<'a, B: Build> Parser<'a, '_, B> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    #[cold]
    fn fail(&self, kind: JsonErrorKind) -> Box<Failure> {
        Failure::new(kind, self.at)
    }

    /// The failure for whatever stands here instead of what was expected.
    #[cold]
    fn unexpected(&self, expected: Expected) -> Box<Failure> {
        let mut failure = self.fail(match self.peek() {
            None => JsonErrorKind::UnexpectedEnd,
            Some(_) => JsonErrorKind::UnexpectedCharacter,
        });
        failure.expected = Some(expected);
        failure
    }

    /// Reads a value with at most `depth` further levels.
    fn value(&mut self, depth: usize) -> Parsed<B::Value> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let text = self.string()?;
                Ok(self.build.string(text.into_owned(), start..self.at))
            }
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => {
                self.word("true")?;
                Ok(self.build.boolean(true, start..self.at))
            }
            Some(b'f') => {
                self.word("false")?;
                Ok(self.build.boolean(false, start..self.at))
            }
            Some(b'n') => {
                self.word("null")?;
                Ok(self.build.null(start..self.at))
            }
            _ => Err(self.unexpected(Expected::Value)),
        }
    }

    fn deeper(&self, depth: usize) -> Parsed<usize> {
        depth.checked_sub(1).ok_or_else(|| self.fail(JsonErrorKind::TooDeep))
    }

    fn word(&mut self, word: &str) -> Parsed<()> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected(Expected::Value));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Parsed<B::Value> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        let text = self.slice(start);
        self.build
            .number(text, start..self.at)
            .ok_or_else(|| Failure::new(JsonErrorKind::InvalidNumber, start))
    }

    fn array(&mut self, depth: usize) -> Parsed<B::Value> {
        let start = self.at;
        let mut items = B::Array::default();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(self.build.array(items, start..self.at));
        }
        let mut index = 0;
        loop {
            self.build.enter(Step::Item(index));
            let item = self.value(depth).map_err(|failure| failure.within(Segment::Item(index)))?;
            self.build.leave();
            self.build.element(&mut items, item);
            index += 1;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected(Expected::NextElement)),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(self.build.array(items, start..self.at))
    }

    fn object(&mut self, depth: usize) -> Parsed<B::Value> {
        let start = self.at;
        let mut members = B::Object::default();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(self.build.object(members, start..self.at));
        }
        loop {
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected(Expected::Key));
            }
            let key = self.string()?;
            let key_span = key_at..self.at;
            self.skip_space();
            let colon = self.peek() == Some(b':');
            self.build.enter(Step::Member(&key));
            if let Key::Refused = self.build.key(&mut members, &key, key_span.clone()) {
                let failure = Failure::new(JsonErrorKind::DuplicateMember, key_at);
                return Err(failure.within(Segment::Member(key.into_owned())));
            }
            if !colon {
                return Err(self.unexpected(Expected::Colon));
            }
            self.at += 1;
            self.skip_space();
            match self.value(depth) {
                Ok(value) => {
                    self.build.leave();
                    self.build.member(&mut members, key, key_span, value);
                }
                Err(failure) => return Err(failure.within(Segment::Member(key.into_owned()))),
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected(Expected::NextMember)),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(self.build.object(members, start..self.at))
    }

    /// Reads a string; nothing is copied unless something is escaped. Most of a text is strings,
    /// and most are short.
    #[inline(always)]
    fn string(&mut self) -> Parsed<Cow<'a, str>> {
        let quote = self.at;
        self.at += 1;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = self.slice(quote + 1);
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        self.escaped(quote).map(Cow::Owned)
    }

    /// The rest of a string that does not stand for itself from here on.
    #[inline(never)]
    fn escaped(&mut self, quote: usize) -> Parsed<String> {
        let mut decoded = String::new();
        let mut start = quote + 1;
        loop {
            decoded.push_str(self.slice(start));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => decoded.push(self.escape()?),
                Some(_) => return Err(self.fail(JsonErrorKind::ControlCharacter)),
                None => return Err(self.unexpected(Expected::Quote { opened: quote })),
            }
            start = self.at;
            self.skip_plain();
        }
    }

    /// Goes on to the next character of a string that does not stand for itself: `"`, a backslash or
    /// a control character; or to the end.
    #[inline]
    fn skip_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (words, _) = rest.as_chunks::<8>();
        let mut plain = 0;
        for word in words {
            let special = specials(u64::from_le_bytes(*word));
            if special != 0 {
                self.at += plain + special.trailing_zeros() as usize / 8;
                return;
            }
            plain += 8;
        }
        let tail = rest.get(plain..).unwrap_or_default();
        let special = tail.iter().position(|byte| matches!(byte, 0..0x20 | b'"' | b'\\'));
        self.at += plain + special.unwrap_or(tail.len());
    }

    /// Reads an escape; a failure points to its backslash.
    fn escape(&mut self) -> Parsed<char> {
        let start = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(b'u') => return self.unicode(start),
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) => return Err(Failure::new(JsonErrorKind::InvalidEscape, start)),
            None => return Err(self.fail(JsonErrorKind::UnexpectedEnd)),
        };
        self.at += 1;
        Ok(simple)
    }

    /// Reads `uXXXX`, or a surrogate pair `uXXXX\uXXXX`.
    fn unicode(&mut self, start: usize) -> Parsed<char> {
        let first = self.hex(start)?;
        let alone = self.at;
        let code = match first {
            0xD800..0xDC00 if self.text.as_bytes()[self.at..].starts_with(b"\\u") => {
                let start = self.at;
                self.at += 1;
                match self.hex(start)? {
                    second @ 0xDC00..0xE000 => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => first,
                }
            }
            _ => first,
        };
        if let Some(found) = char::from_u32(code) {
            return Ok(found);
        }
        // A first half without a second one, or a second one without a first.
        self.at = alone;
        let instead = self.build.lone_surrogate(first, start..alone);
        instead.ok_or_else(|| Failure::new(JsonErrorKind::LoneSurrogate, start))
    }

    /// Reads `uXXXX`.
    fn hex(&mut self, start: usize) -> Parsed<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte) => char::from(byte).to_digit(16),
                None => return Err(self.fail(JsonErrorKind::UnexpectedEnd)),
            };
            match digit {
                Some(digit) => code = code * 16 + digit,
                None => return Err(Failure::new(JsonErrorKind::InvalidEscape, start)),
            }
            self.at += 1;
        }
        Ok(code)
    }
}

/// The high bit of each byte below 0x20, each quote and each backslash of eight bytes. The lowest is
/// exact; a borrow may set one above it.
#[inline]
const fn specials(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    const fn below(word: u64, limit: u64) -> u64 {
        word.wrapping_sub(limit * ONES) & !word
    }
    (below(word, 0x20) | below(word ^ (b'"' as u64 * ONES), 1) | below(word ^ (b'\\' as u64 * ONES), 1))
        & HIGHS
}

#[cfg(test)]
mod tests {
    use super::specials;

    /// Whatever stands behind it.
    #[test]
    fn the_first_special_byte_of_eight_is_found() {
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for behind in [b'a', 0, b'"', 0x80, 0xff, byte] {
                    let mut word = [b'~'; 8];
                    word[place..].fill(behind);
                    word[place] = byte;
                    let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
                    let expected = word.iter().position(special);
                    let found = specials(u64::from_le_bytes(word));
                    let found = (found != 0).then(|| found.trailing_zeros() as usize / 8);
                    assert_eq!(found, expected, "{word:?}");
                }
            }
        }
    }
}
