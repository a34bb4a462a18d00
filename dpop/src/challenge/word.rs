//! The alphabet of challenges: tokens (RFC 9110, 5.6.2), compared without regard to case, and `token68` (11.2).

use std::hash::{Hash, Hasher};

/// A token that means the same in any case: a scheme, or the name of a parameter.
#[derive(Clone, Debug)]
pub(super) struct Word(Box<str>);

impl Word {
    /// `None` when the text is no token.
    pub(super) fn new(text: &str) -> Option<Self> {
        (!text.is_empty() && text.bytes().all(is_token)).then(|| Self(text.into()))
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

/// Whether a byte can stand in a token (RFC 9110, 5.6.2).
pub(super) const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#'
                | b'$'
                | b'%'
                | b'&'
                | b'\''
                | b'*'
                | b'+'
                | b'-'
                | b'.'
                | b'^'
                | b'_'
                | b'`'
                | b'|'
                | b'~'
        )
}

/// Whether a byte can stand in a `token68`, before the `=` at its end (RFC 9110, 11.2).
pub(super) const fn is_token68_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
}

/// Whether the whole text is a `token68`.
pub(super) fn is_token68(text: &[u8]) -> bool {
    let letters = text.iter().take_while(|&&byte| is_token68_letter(byte)).count();
    letters > 0 && text.iter().skip(letters).all(|&byte| byte == b'=')
}
