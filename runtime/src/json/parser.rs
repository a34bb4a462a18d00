//! The JSON parser. It accepts exactly the grammar of RFC 8259, and a [`JsonBuilder`] constructs the result.
//!
//! The parser is recursive: the depth is limited, and the JSON Pointer of an error is built while the
//! recursion unwinds, so that it costs nothing without an error.

use std::borrow::Cow;
use std::ops::Range;

use super::{ExpectedToken, JsonError, JsonErrorKind};
use crate::pointer;
use crate::text::line_and_column;

/// A handler that constructs the result while JSON text is parsed. The parser calls it for each complete
/// value with its byte range, and for each object key before the value.
pub trait JsonBuilder {
    /// The result for a value.
    type Value;
    /// The elements of an unfinished array.
    type Array: Default;
    /// The members of an unfinished object.
    type Object: Default;

    /// Builds the literal `null`.
    fn build_null(&mut self, span: Range<usize>) -> Self::Value;
    /// Builds the literal `true` or `false`.
    fn build_bool(&mut self, value: bool, span: Range<usize>) -> Self::Value;
    /// Builds a number from its text. Returns `None` if the text is not a valid number
    /// ([`Number::parse`](crate::Number::parse)).
    fn build_number(&mut self, text: &str, span: Range<usize>) -> Option<Self::Value>;
    /// Builds a string from its unescaped content.
    fn build_string(&mut self, text: String, span: Range<usize>) -> Self::Value;
    /// Appends an element to an unfinished array.
    fn push_element(&mut self, array: &mut Self::Array, value: Self::Value);
    /// Finishes an array.
    fn finish_array(&mut self, array: Self::Array, span: Range<usize>) -> Self::Value;
    /// Decides whether a key is accepted, before its value is parsed.
    fn check_key(&mut self, object: &mut Self::Object, key: &str, span: Range<usize>) -> KeyDecision;
    /// Appends a member to an unfinished object. `span` is the byte range of the key.
    fn insert_member(
        &mut self,
        object: &mut Self::Object,
        key: Cow<'_, str>,
        span: Range<usize>,
        value: Self::Value,
    );
    /// Finishes an object.
    fn finish_object(&mut self, object: Self::Object, span: Range<usize>) -> Self::Value;

    /// Returns the replacement for a lone surrogate in a string, or `None` to reject the text (RFC 8259,
    /// 8.2). Rejects by default.
    #[cold]
    fn replace_lone_surrogate(&mut self, code: u32, span: Range<usize>) -> Option<char> {
        let _ = (code, span);
        None
    }

    /// Notifies the builder before a nested value is parsed.
    #[inline]
    fn enter_value(&mut self, step: PathStep<'_>) {
        let _ = step;
    }

    /// Notifies the builder after a nested value was parsed.
    #[inline]
    fn leave_value(&mut self) {}
}

/// The position of a value within its parent.
#[derive(Clone, Copy, Debug)]
pub enum PathStep<'k> {
    /// The index of an array element.
    Index(usize),
    /// The key of an object member.
    Member(&'k str),
}

/// The decision of a [`JsonBuilder`] about an object key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyDecision {
    /// The key is accepted.
    Accepted,
    /// The object already has the key. Parsing fails with [`JsonErrorKind::DuplicateMember`].
    Duplicate,
}

/// Parses JSON text that consists of exactly one JSON value and white space, with at most `depth` nested
/// arrays and objects.
///
/// # Errors
/// Returns the kind and the position of the first error.
pub fn parse_with<B: JsonBuilder>(text: &str, depth: usize, build: &mut B) -> Result<B::Value, JsonError> {
    parse_unlocated(text, depth, build).map_err(|failure| failure.with_location(text.as_bytes()))
}

/// Parses like [`parse_with`], but does not compute the line and the column of an error.
pub(super) fn parse_unlocated<B: JsonBuilder>(
    text: &str,
    depth: usize,
    build: &mut B,
) -> ParseResult<B::Value> {
    let mut parser = JsonParser { text, at: 0, build };
    parser.skip_space();
    let value = parser.parse_value(depth)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.error_here(JsonErrorKind::TrailingCharacters)),
    }
}

/// A result with a boxed error, to keep the success path small.
pub(super) type ParseResult<T> = Result<T, Box<ParseFailure>>;

/// A parse error before its line and column are computed.
pub(super) struct ParseFailure {
    pub(super) kind: JsonErrorKind,
    offset: usize,
    expected: Option<ExpectedToken>,
    /// The path segments from the innermost to the outermost.
    path: Vec<PathSegment>,
}

enum PathSegment {
    Item(usize),
    Member(String),
}

impl ParseFailure {
    #[cold]
    pub(super) fn new(kind: JsonErrorKind, offset: usize) -> Box<Self> {
        Box::new(Self { kind, offset, expected: None, path: Vec::new() })
    }

    #[cold]
    fn in_segment(mut self: Box<Self>, segment: PathSegment) -> Box<Self> {
        self.path.push(segment);
        self
    }

    pub(super) fn with_location(self, bytes: &[u8]) -> JsonError {
        let (line, column) = line_and_column(bytes, self.offset);
        let mut path = String::new();
        for segment in self.path.iter().rev() {
            match segment {
                PathSegment::Item(index) => pointer::push_index_token(&mut path, *index),
                PathSegment::Member(name) => pointer::push_token(&mut path, name),
            }
        }
        let Self { kind, offset, expected, .. } = self;
        JsonError { kind, offset, line: line + 1, column: column + 1, pointer: path, expected }
    }
}

struct JsonParser<'a, 'b, B> {
    text: &'a str,
    /// The byte offset. Invariant: it is a character boundary whenever the text is sliced at it.
    at: usize,
    build: &'b mut B,
}

impl<'a, B: JsonBuilder> JsonParser<'a, '_, B> {
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

    fn slice_from(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or_default()
    }

    #[cold]
    fn error_here(&self, kind: JsonErrorKind) -> Box<ParseFailure> {
        ParseFailure::new(kind, self.at)
    }

    /// Returns the error for the current character or the end of input.
    #[cold]
    fn unexpected_token(&self, expected: ExpectedToken) -> Box<ParseFailure> {
        let mut failure = self.error_here(match self.peek() {
            None => JsonErrorKind::UnexpectedEnd,
            Some(_) => JsonErrorKind::UnexpectedCharacter,
        });
        failure.expected = Some(expected);
        failure
    }

    /// Parses a value with at most `depth` further levels.
    fn parse_value(&mut self, depth: usize) -> ParseResult<B::Value> {
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                let text = self.parse_string()?;
                Ok(self.build.build_string(text.into_owned(), start..self.at))
            }
            Some(b'{') => self.parse_object(self.remaining_depth(depth)?),
            Some(b'[') => self.parse_array(self.remaining_depth(depth)?),
            Some(b'-' | b'0'..=b'9') => self.parse_number(),
            Some(b't') => {
                self.expect_literal("true")?;
                Ok(self.build.build_bool(true, start..self.at))
            }
            Some(b'f') => {
                self.expect_literal("false")?;
                Ok(self.build.build_bool(false, start..self.at))
            }
            Some(b'n') => {
                self.expect_literal("null")?;
                Ok(self.build.build_null(start..self.at))
            }
            _ => Err(self.unexpected_token(ExpectedToken::Value)),
        }
    }

    fn remaining_depth(&self, depth: usize) -> ParseResult<usize> {
        depth.checked_sub(1).ok_or_else(|| self.error_here(JsonErrorKind::TooDeep))
    }

    fn expect_literal(&mut self, word: &str) -> ParseResult<()> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected_token(ExpectedToken::Value));
            }
            self.at += 1;
        }
        Ok(())
    }

    fn parse_number(&mut self) -> ParseResult<B::Value> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        let text = self.slice_from(start);
        self.build
            .build_number(text, start..self.at)
            .ok_or_else(|| ParseFailure::new(JsonErrorKind::InvalidNumber, start))
    }

    fn parse_array(&mut self, depth: usize) -> ParseResult<B::Value> {
        let start = self.at;
        let mut items = B::Array::default();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(self.build.finish_array(items, start..self.at));
        }
        let mut index = 0;
        loop {
            self.build.enter_value(PathStep::Index(index));
            let item =
                self.parse_value(depth).map_err(|failure| failure.in_segment(PathSegment::Item(index)))?;
            self.build.leave_value();
            self.build.push_element(&mut items, item);
            index += 1;
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected_token(ExpectedToken::NextElement)),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(self.build.finish_array(items, start..self.at))
    }

    fn parse_object(&mut self, depth: usize) -> ParseResult<B::Value> {
        let start = self.at;
        let mut members = B::Object::default();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(self.build.finish_object(members, start..self.at));
        }
        loop {
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected_token(ExpectedToken::Key));
            }
            let key = self.parse_string()?;
            let key_span = key_at..self.at;
            self.skip_space();
            let colon = self.peek() == Some(b':');
            self.build.enter_value(PathStep::Member(&key));
            if let KeyDecision::Duplicate = self.build.check_key(&mut members, &key, key_span.clone()) {
                let failure = ParseFailure::new(JsonErrorKind::DuplicateMember, key_at);
                return Err(failure.in_segment(PathSegment::Member(key.into_owned())));
            }
            if !colon {
                return Err(self.unexpected_token(ExpectedToken::Colon));
            }
            self.at += 1;
            self.skip_space();
            match self.parse_value(depth) {
                Ok(value) => {
                    self.build.leave_value();
                    self.build.insert_member(&mut members, key, key_span, value);
                }
                Err(failure) => return Err(failure.in_segment(PathSegment::Member(key.into_owned()))),
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected_token(ExpectedToken::NextMember)),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(self.build.finish_object(members, start..self.at))
    }

    /// Parses a string. Copies the string only if it contains escape sequences. Inlined because a typical
    /// document consists mostly of short strings.
    #[inline(always)]
    fn parse_string(&mut self) -> ParseResult<Cow<'a, str>> {
        let quote = self.at;
        self.at += 1;
        self.skip_plain();
        if self.peek() == Some(b'"') {
            let text = self.slice_from(quote + 1);
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        self.parse_escaped_string(quote).map(Cow::Owned)
    }

    /// Parses the rest of a string that contains an escape or an invalid character.
    #[inline(never)]
    fn parse_escaped_string(&mut self, quote: usize) -> ParseResult<String> {
        let mut decoded = String::new();
        let mut start = quote + 1;
        loop {
            decoded.push_str(self.slice_from(start));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => decoded.push(self.parse_escape()?),
                Some(_) => return Err(self.error_here(JsonErrorKind::ControlCharacter)),
                None => return Err(self.unexpected_token(ExpectedToken::ClosingQuote { opened: quote })),
            }
            start = self.at;
            self.skip_plain();
        }
    }

    /// Skips to the next special character of a string (a quote, a backslash or a control character), or to
    /// the end of input.
    #[inline]
    fn skip_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let (words, _) = rest.as_chunks::<8>();
        let mut plain = 0;
        for word in words {
            let special = special_byte_mask(u64::from_le_bytes(*word));
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

    /// Parses an escape sequence. Errors point to its backslash.
    fn parse_escape(&mut self) -> ParseResult<char> {
        let start = self.at;
        self.at += 1;
        let simple = match self.peek() {
            Some(b'u') => return self.parse_unicode_escape(start),
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(_) => return Err(ParseFailure::new(JsonErrorKind::InvalidEscape, start)),
            None => return Err(self.error_here(JsonErrorKind::UnexpectedEnd)),
        };
        self.at += 1;
        Ok(simple)
    }

    /// Parses `uXXXX`, or a surrogate pair `uXXXX\uXXXX`.
    fn parse_unicode_escape(&mut self, start: usize) -> ParseResult<char> {
        let first = self.parse_hex(start)?;
        let alone = self.at;
        let code = match first {
            0xD800..0xDC00 if self.text.as_bytes()[self.at..].starts_with(b"\\u") => {
                let start = self.at;
                self.at += 1;
                match self.parse_hex(start)? {
                    second @ 0xDC00..0xE000 => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => first,
                }
            }
            _ => first,
        };
        if let Some(found) = char::from_u32(code) {
            return Ok(found);
        }
        // The text has a high surrogate without a low one, or a low surrogate without a high one.
        self.at = alone;
        let instead = self.build.replace_lone_surrogate(first, start..alone);
        instead.ok_or_else(|| ParseFailure::new(JsonErrorKind::LoneSurrogate, start))
    }

    /// Parses the four hex digits of `uXXXX`.
    fn parse_hex(&mut self, start: usize) -> ParseResult<u32> {
        self.at += 1;
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte) => char::from(byte).to_digit(16),
                None => return Err(self.error_here(JsonErrorKind::UnexpectedEnd)),
            };
            match digit {
                Some(digit) => code = code * 16 + digit,
                None => return Err(ParseFailure::new(JsonErrorKind::InvalidEscape, start)),
            }
            self.at += 1;
        }
        Ok(code)
    }
}

/// Sets the high bit of each byte that is below 0x20, a quote or a backslash. The lowest set bit is exact,
/// but higher bits may be set by a borrow.
#[inline]
const fn special_byte_mask(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x80 * ONES;
    const fn mark_bytes_below(word: u64, limit: u64) -> u64 {
        word.wrapping_sub(limit * ONES) & !word
    }
    (mark_bytes_below(word, 0x20)
        | mark_bytes_below(word ^ (b'"' as u64 * ONES), 1)
        | mark_bytes_below(word ^ (b'\\' as u64 * ONES), 1))
        & HIGHS
}

#[cfg(test)]
mod tests {
    use super::special_byte_mask;

    /// The first special byte is found regardless of the bytes after it.
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
                    let found = special_byte_mask(u64::from_le_bytes(word));
                    let found = (found != 0).then(|| found.trailing_zeros() as usize / 8);
                    assert_eq!(found, expected, "{word:?}");
                }
            }
        }
    }
}
