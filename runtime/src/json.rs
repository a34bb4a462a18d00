//! [`Json`]: any JSON value, with numbers exactly as written and object members in order.
//!
//! Generated types store undeclared members as `Json`, and schemas are evaluated on it. [`Json::parse`] is a
//! strict RFC 8259 parser: it rejects input that two parsers might interpret differently.

mod convert;
mod parse;
pub mod parser;
#[cfg(test)]
mod tests;
mod write;

use std::error::Error;
use std::fmt;

pub use crate::json_type::JsonType;
use crate::{Map, Number, depth, pointer};

/// A JSON object with members in insertion order.
pub type JsonObject = Map<Json>;

/// Any JSON value.
///
/// `==` compares numbers by value and ignores the order of object members, as JSON Schema does.
/// [`strict_eq`](Self::strict_eq) distinguishes `1` from `1.0`. `Display` prints compact JSON. `Json` can be
/// deserialized only by `serde_json`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Json {
    /// The literal `null`.
    #[default]
    Null,
    /// The literals `true` and `false`.
    Bool(bool),
    /// A number, exactly as written.
    Number(Number),
    /// A string, with escape sequences decoded.
    String(String),
    /// An array of values.
    Array(Vec<Json>),
    /// An object with its members in order.
    Object(JsonObject),
}

impl fmt::Display for JsonType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The reason why a text is not valid JSON, and the position of the error.
///
/// The message contains neither values nor member names, because they may be confidential. However,
/// [`pointer`](Self::pointer) contains member names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// The kind of the error.
    pub kind: JsonErrorKind,
    /// The byte offset of the error.
    pub offset: usize,
    /// The line of the error, counted from 1.
    pub line: usize,
    /// The character within the line, counted from 1.
    pub column: usize,
    /// The JSON Pointer (RFC 6901) of the innermost value that contains the error.
    pub pointer: String,
    /// The token that was expected instead of an unexpected character or end of input.
    pub expected: Option<ExpectedToken>,
}

/// A token that the JSON parser expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExpectedToken {
    /// The start of a value.
    Value,
    /// The key of an object member.
    Key,
    /// The `:` after a key.
    Colon,
    /// `,` or `]` after an array element.
    NextElement,
    /// `,` or `}` after an object member.
    NextMember,
    /// The closing quote of a string.
    ClosingQuote {
        /// The byte offset of the opening quote.
        opened: usize,
    },
}

/// The kinds of syntax errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The input is not valid UTF-8.
    NotUtf8,
    /// The input starts with a byte order mark (RFC 8259, 8.1).
    ByteOrderMark,
    /// The input ends within a value.
    UnexpectedEnd,
    /// The character is not allowed at this position.
    UnexpectedCharacter,
    /// The value is followed by further input.
    TrailingCharacters,
    /// A number is invalid: `01`, `1.`, `-`.
    InvalidNumber,
    /// A backslash is followed by an invalid escape sequence.
    InvalidEscape,
    /// A surrogate `\uD800` to `\uDFFF` has no counterpart.
    LoneSurrogate,
    /// A string contains an unescaped character below U+0020.
    ControlCharacter,
    /// A key occurs twice in an object.
    DuplicateMember,
    /// Arrays and objects are nested more deeply than the limit permits.
    TooDeep,
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotUtf8 => "invalid UTF-8",
            Self::ByteOrderMark => "byte order mark",
            Self::UnexpectedEnd => "unexpected end",
            Self::UnexpectedCharacter => "unexpected character",
            Self::TrailingCharacters => "trailing characters",
            Self::InvalidNumber => "invalid number",
            Self::InvalidEscape => "invalid escape",
            Self::LoneSurrogate => "lone surrogate",
            Self::ControlCharacter => "unescaped control character",
            Self::DuplicateMember => "duplicate member",
            Self::TooDeep => "nested too deeply",
        })
    }
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {}, column {}", self.kind, self.line, self.column)
    }
}

impl Error for JsonError {}

impl Json {
    /// Parses a text that consists of exactly one JSON value and white space.
    ///
    /// Rejects byte order marks, duplicate members, lone surrogates and documents with more than
    /// [`depth::DEFAULT_DEPTH`] levels.
    ///
    /// # Errors
    /// Returns the kind and the position of the first error.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        Self::parse_with_depth(text, depth::DEFAULT_DEPTH)
    }

    /// Parses like [`Json::parse`], but with a custom limit for nested arrays and objects. The limit is
    /// capped at [`depth::MAX_DEPTH`].
    ///
    /// # Errors
    /// Same as [`Json::parse`]. Also returns [`JsonErrorKind::TooDeep`] if a stack for that depth cannot be
    /// allocated.
    pub fn parse_with_depth(text: &[u8], depth: usize) -> Result<Self, JsonError> {
        parse::parse_json(text, depth.min(depth::MAX_DEPTH))
    }

    /// Parses JSON that this program serialized, without a depth limit.
    pub(crate) fn parse_unlimited(text: &[u8]) -> Result<Self, JsonError> {
        parse::parse_json(text, usize::MAX)
    }

    /// Returns the JSON type of the value.
    #[inline]
    #[must_use]
    pub const fn json_type(&self) -> JsonType {
        match self {
            Self::Null => JsonType::Null,
            Self::Bool(_) => JsonType::Boolean,
            Self::Number(_) => JsonType::Number,
            Self::String(_) => JsonType::String,
            Self::Array(_) => JsonType::Array,
            Self::Object(_) => JsonType::Object,
        }
    }

    /// Returns true if the value is `null`.
    #[inline]
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Returns the boolean, or `None` for other types.
    #[inline]
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Returns the number, or `None` for other types.
    #[inline]
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the string, or `None` for other types.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the elements, or `None` for other types.
    #[inline]
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the members, or `None` for other types.
    #[inline]
    #[must_use]
    pub const fn as_object(&self) -> Option<&JsonObject> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// Returns the value at a JSON Pointer (RFC 6901): `""` is the whole value, `/a/0` is an array element,
    /// and `/a~1b` is the member `a/b`.
    ///
    /// Returns `None` if there is no such value or `pointer` is malformed.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        pointer::split_tokens(pointer)?.try_fold(self, |value, token| match value {
            Self::Array(items) => items.get(pointer::parse_index(token)?),
            Self::Object(members) => members.get(&pointer::unescape_token(token)?),
            _ => None,
        })
    }

    /// Returns a mutable reference to the value at a JSON Pointer.
    #[must_use]
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        pointer::split_tokens(pointer)?.try_fold(self, |value, token| match value {
            Self::Array(items) => items.get_mut(pointer::parse_index(token)?),
            Self::Object(members) => members.get_mut(&pointer::unescape_token(token)?),
            _ => None,
        })
    }

    /// Returns a copy with the value at a JSON Pointer replaced, or `None` if there is no such value.
    #[must_use]
    pub fn with_value_at(&self, pointer: &str, value: Self) -> Option<Self> {
        let mut out = self.clone();
        *out.pointer_mut(pointer)? = value;
        Some(out)
    }

    /// Compares like `==`, but compares numbers as written, so that `1` and `1.0` differ.
    #[must_use]
    pub fn strict_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a == b && a.to_json_text() == b.to_json_text(),
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.strict_eq(b))
            }
            (Self::Object(a), Self::Object(b)) => {
                let same = |(key, a): (&str, &Self)| b.get(key).is_some_and(|b| a.strict_eq(b));
                a.len() == b.len() && a.iter().all(same)
            }
            _ => self == other,
        }
    }
}
