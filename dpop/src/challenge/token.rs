//! Case-insensitive tokens of challenges: schemes and parameter names (RFC 9110, 5.6.2).

use std::hash::{Hash, Hasher};

use crate::grammar::is_token;

/// A token that is compared case-insensitively: a scheme or the name of a parameter.
#[derive(Clone, Debug)]
pub(super) struct CaseInsensitiveToken(Box<str>);

impl CaseInsensitiveToken {
    /// Creates a token; returns `None` if the string is not one.
    pub(super) fn new(text: &str) -> Option<Self> {
        is_token(text).then(|| Self(text.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn matches(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl PartialEq for CaseInsensitiveToken {
    fn eq(&self, other: &Self) -> bool {
        self.matches(&other.0)
    }
}

impl Eq for CaseInsensitiveToken {}

impl Hash for CaseInsensitiveToken {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(b' '); // Not a token character, so adjacent tokens hash differently.
    }
}
