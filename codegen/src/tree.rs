//! Documents as trees that remember where every value stands.

use std::{borrow::Cow, sync::Arc};

#[cfg(feature = "proofs")]
pub use contract_runtime::pointer::escape;
pub use contract_runtime::pointer::join;
use contract_runtime::{Json, Number, pointer};

/// The name that a token of a pointer stands for; what is no token stands for itself.
#[must_use]
pub fn name_of(token: &str) -> Cow<'_, str> {
    pointer::unescape(token).unwrap_or(Cow::Borrowed(token))
}

/// Index of a source in [`crate::load::Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The file of the options, which is no document of the contract.
    pub const OPTIONS: Self = Self(u32::MAX);

    /// An overlay, which is none either.
    #[must_use]
    pub fn overlay(index: usize) -> Self {
        Self(u32::try_from(index).map_or(0, |index| (u32::MAX - 1).saturating_sub(index)))
    }
}

/// Byte range in a source's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
}

/// Where something stands: what every diagnostic names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The source.
    pub source: SourceId,
    /// JSON Pointer in it.
    pub pointer: String,
    /// Byte range of the value.
    pub span: Span,
}

/// A value with its span.
#[derive(Clone, Debug, PartialEq)]
pub struct Tree {
    /// What it is.
    pub value: Value,
    /// Where it stands.
    pub span: Span,
}

/// A JSON value; numbers keep their text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// The number's text, valid JSON.
    Number(String),
    /// A string, unescaped.
    String(String),
    /// An array.
    Array(Vec<Tree>),
    /// An object, members in document order, keys distinct.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Tree,
}

/// One input: a file's text, tree and digest.
#[derive(Clone, Debug)]
pub struct Source {
    /// As shown to people: relative to the folder that was given.
    pub name: String,
    /// Absolute base URI: `$id` of the root, or one made from the file's place.
    pub uri: String,
    /// The text as read.
    pub text: Arc<str>,
    /// Its tree.
    pub tree: Tree,
    /// SHA-256 of the bytes, lower-case hex.
    pub digest: String,
}

impl Tree {
    /// The member of an object, `None` for anything else.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    /// The value of an object's member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.value)
    }

    /// The members of an object; empty for anything else.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        if let Value::Object(members) = &self.value { members } else { &[] }
    }

    /// The elements of an array; empty for anything else.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        if let Value::Array(elements) = &self.value { elements } else { &[] }
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Value::String(text) = &self.value { Some(text) } else { None }
    }

    /// The truth value of a boolean.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let Value::Bool(value) = &self.value { Some(*value) } else { None }
    }

    /// The text of a number.
    #[must_use]
    pub fn as_number(&self) -> Option<&str> {
        if let Value::Number(text) = &self.value { Some(text) } else { None }
    }

    /// Whether it is an object.
    #[must_use]
    pub const fn is_object(&self) -> bool {
        matches!(self.value, Value::Object(_))
    }

    /// What a message calls it: `a string`, `an array`.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    /// The value without its places.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            // The readers let only valid numbers through, so the text never stays a string.
            Value::Number(text) => {
                Number::parse(text).map_or_else(|_| Json::String(text.clone()), Json::Number)
            }
            Value::String(text) => Json::String(text.clone()),
            Value::Array(elements) => Json::Array(elements.iter().map(Self::to_json).collect()),
            Value::Object(members) => Json::Object(
                members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect(),
            ),
        }
    }

    /// The value that a JSON Pointer names (RFC 6901), `None` when there is none.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Self> {
        pointer::tokens(pointer)?.try_fold(self, |here, token| here.step(&pointer::unescape(token)?))
    }

    /// One token of a JSON Pointer, unescaped.
    #[must_use]
    pub fn step(&self, token: &str) -> Option<&Self> {
        match &self.value {
            Value::Object(_) => self.get(token),
            Value::Array(elements) => elements.get(pointer::index(token)?),
            _ => None,
        }
    }
}
