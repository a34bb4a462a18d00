//! Parsed documents as trees, in which every value has its byte range.

use std::{borrow::Cow, sync::Arc};

pub use contract_runtime::pointer::escape_token;
pub use contract_runtime::pointer::join_token;
use contract_runtime::{Json, Number, pointer};

/// Returns the unescaped name in a JSON Pointer token. An invalid token is returned unchanged.
#[must_use]
pub fn unescape_token(token: &str) -> Cow<'_, str> {
    pointer::unescape_token(token).unwrap_or(Cow::Borrowed(token))
}

/// The index of a source in [`crate::load::Sources`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SourceId(pub u32);

impl SourceId {
    /// The configuration file, which is not a document of the contract.
    pub const OPTIONS: Self = Self(u32::MAX);

    /// Returns the id of the overlay with this index. Like the configuration file, overlays are not documents
    /// of the contract.
    #[must_use]
    pub fn overlay(index: usize) -> Self {
        Self(u32::try_from(index).map_or(0, |index| (u32::MAX - 1).saturating_sub(index)))
    }
}

/// A range of bytes in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u32,
    /// The offset after the last byte.
    pub end: u32,
}

/// The location of a value in a source, as diagnostics report it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct DocumentLocation {
    /// The source that contains the value.
    pub source: SourceId,
    /// The JSON Pointer of the value in the source.
    pub pointer: String,
    /// The byte range of the value.
    pub span: Span,
}

/// A value with its byte range.
#[derive(Clone, Debug, PartialEq)]
pub struct DocumentNode {
    pub value: NodeValue,
    pub span: Span,
}

/// A JSON value. Numbers keep their spelling.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    Null,
    Bool(bool),
    /// The spelling of a number, which is valid JSON.
    Number(String),
    /// The unescaped string.
    String(String),
    Array(Vec<DocumentNode>),
    /// The members in document order. Invariant: keys are distinct.
    Object(Vec<ObjectMember>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ObjectMember {
    /// The unescaped key.
    pub key: String,
    pub key_span: Span,
    pub value: DocumentNode,
}

/// A document of the contract, with its text, tree and digest.
#[derive(Clone, Debug)]
pub struct SourceDocument {
    /// The display name: the path relative to the common folder of the inputs.
    pub name: String,
    /// The absolute base URI: the `$id` of the root, or a URI derived from the file name.
    pub uri: String,
    /// The decoded text, without a byte order mark.
    pub text: Arc<str>,
    pub tree: DocumentNode,
    /// The SHA-256 digest of the bytes, in lowercase hexadecimal.
    pub digest: String,
}

impl ObjectMember {
    /// Returns the location of the value, for the member of an object with the given source and pointer.
    #[must_use]
    pub fn place(&self, source: SourceId, pointer: &str) -> DocumentLocation {
        DocumentLocation { source, pointer: join_token(pointer, &self.key), span: self.value.span }
    }
}

impl DocumentNode {
    /// Returns the member of an object, or `None` for any other value.
    #[must_use]
    pub fn member(&self, key: &str) -> Option<&ObjectMember> {
        self.members().iter().find(|member| member.key == key)
    }

    /// Returns the value of a member of an object.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.value)
    }

    /// Returns the members of an object, or an empty slice for any other value.
    #[must_use]
    pub fn members(&self) -> &[ObjectMember] {
        if let NodeValue::Object(members) = &self.value { members } else { &[] }
    }

    /// Returns the elements of an array, or an empty slice for any other value.
    #[must_use]
    pub fn elements(&self) -> &[Self] {
        if let NodeValue::Array(elements) = &self.value { elements } else { &[] }
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let NodeValue::String(text) = &self.value { Some(text) } else { None }
    }

    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        if let NodeValue::Bool(value) = &self.value { Some(*value) } else { None }
    }

    /// Returns the spelling of a number, or `None` for any other value.
    #[must_use]
    pub fn as_number(&self) -> Option<&str> {
        if let NodeValue::Number(text) = &self.value { Some(text) } else { None }
    }

    #[must_use]
    pub const fn is_object(&self) -> bool {
        matches!(self.value, NodeValue::Object(_))
    }

    /// Returns the JSON type with its article for messages, such as `a string` or `an array`.
    #[must_use]
    pub const fn kind_with_article(&self) -> &'static str {
        match self.value {
            NodeValue::Null => "null",
            NodeValue::Bool(_) => "a boolean",
            NodeValue::Number(_) => "a number",
            NodeValue::String(_) => "a string",
            NodeValue::Array(_) => "an array",
            NodeValue::Object(_) => "an object",
        }
    }

    /// Converts the tree to a JSON value without byte ranges.
    #[must_use]
    pub fn to_json(&self) -> Json {
        match &self.value {
            NodeValue::Null => Json::Null,
            NodeValue::Bool(value) => Json::Bool(*value),
            // The parsers accept only valid numbers, so the fallback to a string is never used.
            NodeValue::Number(text) => {
                Number::parse(text).map_or_else(|_| Json::String(text.clone()), Json::Number)
            }
            NodeValue::String(text) => Json::String(text.clone()),
            NodeValue::Array(elements) => Json::Array(elements.iter().map(Self::to_json).collect()),
            NodeValue::Object(members) => Json::Object(
                members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect(),
            ),
        }
    }

    /// Returns the value at a JSON Pointer (RFC 6901).
    #[must_use]
    pub fn resolve_pointer(&self, pointer: &str) -> Option<&Self> {
        pointer::split_tokens(pointer)?
            .try_fold(self, |here, token| here.child_by_token(&pointer::unescape_token(token)?))
    }

    /// Returns the child that an unescaped JSON Pointer token selects.
    #[must_use]
    pub fn child_by_token(&self, token: &str) -> Option<&Self> {
        match &self.value {
            NodeValue::Object(_) => self.get(token),
            NodeValue::Array(elements) => elements.get(pointer::parse_index(token)?),
            _ => None,
        }
    }
}
