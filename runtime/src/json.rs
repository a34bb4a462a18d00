//! [`Json`]: any JSON value, with numbers as they were written and objects in order.
//!
//! This is what members outside the contract are kept as, and what schemas are evaluated
//! on. Reading is strict RFC 8259: [`Json::parse`] refuses what two parsers might
//! understand differently.

mod convert;
mod parse;
#[cfg(test)]
mod tests;
pub mod text;
mod write;

use std::error::Error;
use std::fmt;

pub use crate::kind::Kind;
use crate::{Map, Number, depth, pointer};

/// A JSON object.
pub type Object = Map<Json>;

/// Any JSON value.
///
/// `==` compares numbers by value and objects regardless of order, as JSON Schema does;
/// [`strict_eq`](Self::strict_eq) tells `1` from `1.0`. Printing gives compact JSON.
/// Deserialises from `serde_json` only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Json {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, exactly as written.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Json>),
    /// An object.
    Object(Object),
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why a text is not acceptable JSON, and where.
///
/// The message names neither values nor members, because those may be confidential;
/// [`pointer`](Self::pointer) does name members.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub kind: JsonErrorKind,
    /// Where, in bytes from the start.
    pub offset: usize,
    /// Where, as a line counted from one.
    pub line: usize,
    /// Where, as a character in that line counted from one.
    pub column: usize,
    /// The innermost value that contains the place, as a JSON Pointer (RFC 6901).
    pub pointer: String,
    /// What should have stood there instead of an unexpected character or end.
    pub expected: Option<Expected>,
}

/// What a reader of JSON was waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Expected {
    /// A value.
    Value,
    /// The key of a member.
    Key,
    /// `:` behind a key.
    Colon,
    /// `,` or `]`
    NextElement,
    /// `,` or `}`
    NextMember,
    /// The end of a string.
    Quote {
        /// Where it begins, in bytes from the start.
        opened: usize,
    },
}

/// What is wrong with a text that is not acceptable JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum JsonErrorKind {
    /// The bytes are not UTF-8.
    NotUtf8,
    /// The text begins with a byte order mark (RFC 8259, 8.1).
    ByteOrderMark,
    /// The text ends too early.
    UnexpectedEnd,
    /// A character that cannot stand here.
    UnexpectedCharacter,
    /// There is more after the value.
    TrailingCharacters,
    /// Something that begins like a number but is none: `01`, `1.`, `-`.
    InvalidNumber,
    /// A backslash that begins no escape of JSON.
    InvalidEscape,
    /// `\uD800` to `\uDFFF` without its other half.
    LoneSurrogate,
    /// A character below U+0020 in a string, which must be escaped.
    ControlCharacter,
    /// A member name occurs twice in an object.
    DuplicateMember,
    /// More arrays and objects in one another than the reader was told to follow.
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
    /// Reads a text that consists of exactly one JSON value and white space.
    ///
    /// Strict: no byte order mark, no duplicate members, no lone surrogates, no more than
    /// [`depth::DEFAULT`] levels. Fails with what is wrong and where.
    pub fn parse(text: &[u8]) -> Result<Self, JsonError> {
        Self::parse_within(text, depth::DEFAULT)
    }

    /// The same with a bound of the caller's own: at most `depth` arrays and objects in one
    /// another, and never more than [`depth::MAX`].
    ///
    /// # Errors
    /// As [`Json::parse`]; [`JsonErrorKind::TooDeep`] also where there is no room for a stack of
    /// such a depth.
    pub fn parse_within(text: &[u8], depth: usize) -> Result<Self, JsonError> {
        parse::parse(text, depth.min(depth::MAX))
    }

    /// What a value of this program was written as, which is as deep as the value.
    pub(crate) fn of_written(text: &[u8]) -> Result<Self, JsonError> {
        parse::parse(text, usize::MAX)
    }

    /// The JSON type.
    #[inline]
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Null => Kind::Null,
            Self::Bool(_) => Kind::Boolean,
            Self::Number(_) => Kind::Number,
            Self::String(_) => Kind::String,
            Self::Array(_) => Kind::Array,
            Self::Object(_) => Kind::Object,
        }
    }

    /// Whether this is `null`.
    #[inline]
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The boolean, if this is one.
    #[inline]
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The number, if this is one.
    #[inline]
    #[must_use]
    pub const fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The string, if this is one.
    #[inline]
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The items, if this is an array.
    #[inline]
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if this is an object.
    #[inline]
    #[must_use]
    pub const fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The value at a JSON Pointer (RFC 6901): `""` is the whole, `/a/0` an item, `/a~1b`
    /// the member `a/b`.
    ///
    /// `None` when there is no such value or `pointer` is malformed.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Self> {
        pointer::tokens(pointer)?.try_fold(self, |value, token| match value {
            Self::Array(items) => items.get(pointer::index(token)?),
            Self::Object(members) => members.get(&pointer::unescape(token)?),
            _ => None,
        })
    }

    /// The same, to be changed.
    #[must_use]
    pub fn pointer_mut(&mut self, pointer: &str) -> Option<&mut Self> {
        pointer::tokens(pointer)?.try_fold(self, |value, token| match value {
            Self::Array(items) => items.get_mut(pointer::index(token)?),
            Self::Object(members) => members.get_mut(&pointer::unescape(token)?),
            _ => None,
        })
    }

    /// The same with another value at a JSON Pointer; `None` where nothing is there.
    #[must_use]
    pub fn replaced(&self, pointer: &str, value: Self) -> Option<Self> {
        let mut out = self.clone();
        *out.pointer_mut(pointer)? = value;
        Some(out)
    }

    /// Equality that compares numbers as text; objects still regardless of order.
    #[must_use]
    pub fn strict_eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => a == b && a.text() == b.text(),
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
