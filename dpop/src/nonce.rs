//! Nonces: what a server hands out so that no proof can have been made before (RFC 9449, 8, 9 and 11.2).
//!
//! [`NonceIssuer`] is the server's side, [`NonceJar`] and [`after_challenge`] are the client's.

mod jar;
mod server;

use std::fmt;

pub use jar::{AfterChallenge, JarLimits, NonceJar, SavedNonce, SavedNonces, after_challenge};
pub use server::{NonceAge, NonceIssuer, NonceKey, NonceRefusal};

/// A nonce: the text that a server hands out in `DPoP-Nonce` and a proof carries back in `nonce`.
///
/// Opaque to the client. Not a secret, but nothing prints it by accident either.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Nonce(Box<str>);

/// The text is no nonce: RFC 9449, 8.1 allows one or more visible ASCII characters without `"` and
/// `\`, and a limit as many as it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a nonce: visible ASCII characters without quotes and backslashes are, at least one and not too many"
)]
pub struct MalformedNonce;

impl Nonce {
    /// The longest nonce that is taken unless a jar is told otherwise ([`JarLimits::nonce`]): it travels in
    /// every proof.
    pub const MAX_BYTES: usize = 256;

    /// The value of a `DPoP-Nonce` header field.
    ///
    /// # Errors
    /// When the text is empty, too long, or holds a character outside `NQCHAR` (RFC 9449, 8.1).
    pub fn new(text: &str) -> Result<Self, MalformedNonce> {
        Self::within(text, Self::MAX_BYTES)
    }

    /// The same of up to so many bytes.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn within(text: &str, most: usize) -> Result<Self, MalformedNonce> {
        let fits = (1..=most).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        if fits { Ok(Self(text.into())) } else { Err(MalformedNonce) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows the length alone.
impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({} bytes)", self.0.len())
    }
}
