//! [`JsonType`]: the six types of JSON values.

/// The type of a JSON value. Unlike the JSON Schema keyword `type`, it does not distinguish integers from
/// other numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JsonType {
    /// The literal `null`.
    Null,
    /// The literals `true` and `false`.
    Boolean,
    /// A number, with or without a fraction.
    Number,
    /// A string, possibly empty.
    String,
    /// An array of values.
    Array,
    /// An object with string keys.
    Object,
}

impl JsonType {
    /// Returns the name of the type in JSON Schema, for example `boolean`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// Determines the type from the first byte of a valid JSON text without surrounding white space.
    pub(crate) fn from_json_text(text: &str) -> Self {
        match text.as_bytes().first() {
            Some(b'"') => Self::String,
            Some(b'{') => Self::Object,
            Some(b'[') => Self::Array,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'-' | b'0'..=b'9') => Self::Number,
            _ => Self::Null,
        }
    }
}
