//! The words of challenges: tokens (RFC 9110, 5.6.2), compared without regard to case.

use std::hash::{Hash, Hasher};

use crate::grammar::is_token;

/// A token that means the same in any case: a scheme, or the name of a parameter.
#[derive(Clone, Debug)]
pub(super) struct Word(Box<str>);

impl Word {
    /// `None` when the text is no token.
    pub(super) fn new(text: &str) -> Option<Self> {
        is_token(text).then(|| Self(text.into()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn is(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl PartialEq for Word {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Word {}

impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for byte in self.0.bytes() {
            state.write_u8(byte.to_ascii_lowercase());
        }
        state.write_u8(b' '); // in no token, so one word never runs into the next
    }
}
