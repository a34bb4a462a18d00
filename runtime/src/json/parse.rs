//! The strict parser behind [`Json::parse`](super::Json::parse).
//!
//! Recursive, because the depth is limited, and because the pointer of an error then
//! costs nothing until there is an error. What is deeper than every stack is read again on one
//! that holds it (`depth`).

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Json, JsonError, JsonErrorKind, Object};
use crate::read::raw;
use crate::{Number, depth};

pub(super) fn parse(bytes: &[u8], depth: usize) -> Result<Json, JsonError> {
    let here = depth.min(depth::held());
    parse_failing(bytes, here)
        .or_else(|failure| match failure.kind {
            JsonErrorKind::TooDeep if here < depth => {
                // No more stack than the text can use.
                let levels = depth::of(bytes).min(depth);
                depth::holding(levels, || parse_failing(bytes, levels)).unwrap_or(Err(failure))
            }
            _ => Err(failure),
        })
        .map_err(|failure| failure.locate(bytes))
}

fn parse_failing(bytes: &[u8], depth: usize) -> Parsed<Json> {
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(Failure::new(JsonErrorKind::ByteOrderMark, 0));
    }
    let text = std::str::from_utf8(bytes)
        .map_err(|error| Failure::new(JsonErrorKind::NotUtf8, error.valid_up_to()))?;
    let mut parser = Parser { text, at: 0 };
    parser.skip_space();
    let value = parser.value(depth)?;
    parser.skip_space();
    match parser.peek() {
        None => Ok(value),
        Some(_) => Err(parser.fail(JsonErrorKind::TrailingCharacters)),
    }
}

impl FromStr for Json {
    type Err = JsonError;

    /// Same as [`Json::parse`].
    fn from_str(text: &str) -> Result<Self, JsonError> {
        parse(text.as_bytes(), depth::DEFAULT)
    }
}

impl<'de> Deserialize<'de> for Json {
    /// From `serde_json` only; as strict as [`Json::parse`], except that `serde_json`
    /// decides about the text around the value.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = raw::text(deserializer)?;
        parse_failing(text.as_bytes(), depth::held()).map_err(|failure| D::Error::custom(failure.kind))
    }
}

/// Boxed, so that the happy path does not carry room for it.
type Parsed<T> = Result<T, Box<Failure>>;

struct Failure {
    kind: JsonErrorKind,
    offset: usize,
    /// From the inside out.
    path: Vec<Segment>,
}

enum Segment {
    Item(usize),
    Member(String),
}

impl Failure {
    #[cold]
    fn new(kind: JsonErrorKind, offset: usize) -> Box<Self> {
        Box::new(Self { kind, offset, path: Vec::new() })
    }

    #[cold]
    fn within(mut self: Box<Self>, segment: Segment) -> Box<Self> {
        self.path.push(segment);
        self
    }

    fn locate(self, bytes: &[u8]) -> JsonError {
        let before = &bytes[..self.offset.min(bytes.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        // What stands before the place is UTF-8; counting first bytes counts characters.
        let column =
            1 + before[line_start..].iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count();
        let mut pointer = String::new();
        for segment in self.path.iter().rev() {
            pointer.push('/');
            match segment {
                Segment::Item(index) => pointer.push_str(&index.to_string()),
                Segment::Member(name) => pointer.push_str(&name.replace('~', "~0").replace('/', "~1")),
            }
        }
        JsonError { kind: self.kind, offset: self.offset, line, column, pointer }
    }
}

struct Parser<'a> {
    text: &'a str,
    /// Always on a character boundary where the text is cut.
    at: usize,
}

impl<'a> Parser<'a> {
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
    fn unexpected(&self) -> Box<Failure> {
        self.fail(match self.peek() {
            None => JsonErrorKind::UnexpectedEnd,
            Some(_) => JsonErrorKind::UnexpectedCharacter,
        })
    }

    /// Reads a value with at most `depth` further levels.
    fn value(&mut self, depth: usize) -> Parsed<Json> {
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn deeper(&self, depth: usize) -> Parsed<usize> {
        depth.checked_sub(1).ok_or_else(|| self.fail(JsonErrorKind::TooDeep))
    }

    fn word(&mut self, word: &str, value: Json) -> Parsed<Json> {
        for expected in word.bytes() {
            if self.peek() != Some(expected) {
                return Err(self.unexpected());
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn number(&mut self) -> Parsed<Json> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') = self.peek() {
            self.at += 1;
        }
        Number::parse(self.slice(start))
            .map(Json::Number)
            .map_err(|_| Failure::new(JsonErrorKind::InvalidNumber, start))
    }

    fn array(&mut self, depth: usize) -> Parsed<Json> {
        let mut items = Vec::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            let item = self.value(depth).map_err(|failure| failure.within(Segment::Item(items.len())))?;
            items.push(item);
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected()),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    fn object(&mut self, depth: usize) -> Parsed<Json> {
        let mut members = Object::new();
        self.at += 1;
        self.skip_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            let key_at = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let key = self.string()?;
            if members.contains_key(&key) {
                return Err(Failure::new(JsonErrorKind::DuplicateMember, key_at).within(Segment::Member(key)));
            }
            self.skip_space();
            if self.peek() != Some(b':') {
                return Err(self.unexpected());
            }
            self.at += 1;
            self.skip_space();
            match self.value(depth) {
                Ok(value) => members.push(key, value),
                Err(failure) => return Err(failure.within(Segment::Member(key))),
            }
            self.skip_space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected()),
            }
            self.skip_space();
        }
        self.at += 1;
        Ok(Json::Object(members))
    }

    fn string(&mut self) -> Parsed<String> {
        self.at += 1;
        let mut decoded = String::new();
        loop {
            let start = self.at;
            while let Some(byte) = self.peek()
                && byte >= 0x20
                && byte != b'"'
                && byte != b'\\'
            {
                self.at += 1;
            }
            decoded.push_str(self.slice(start));
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(decoded);
                }
                Some(b'\\') => decoded.push(self.escape()?),
                Some(_) => return Err(self.fail(JsonErrorKind::ControlCharacter)),
                None => return Err(self.fail(JsonErrorKind::UnexpectedEnd)),
            }
        }
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
        let lone = || Failure::new(JsonErrorKind::LoneSurrogate, start);
        let first = self.hex(start)?;
        let code = match first {
            0xD800..0xDC00 => {
                if !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
                    return Err(lone());
                }
                let start = self.at;
                self.at += 1;
                match self.hex(start)? {
                    second @ 0xDC00..0xE000 => 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00),
                    _ => return Err(lone()),
                }
            }
            _ => first,
        };
        // What is left over is a second half without a first one.
        char::from_u32(code).ok_or_else(lone)
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
