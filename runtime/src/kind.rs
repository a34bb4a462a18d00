//! [`Kind`]: the six types that JSON tells apart.

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `null`
    Null,
    /// `true` or `false`
    Boolean,
    /// A number, whole or not.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl Kind {
    /// The name that JSON Schema gives the type: `boolean`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }

    /// The type of a valid JSON text without white space around it.
    pub(crate) fn of_text(text: &str) -> Self {
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
