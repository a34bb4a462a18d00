//! Nonces, with which a server prevents proofs that were created in advance (RFC 9449, 8, 9 and 11.2).
//!
//! [`NonceIssuer`] is the server side; [`NonceJar`] and [`after_challenge`] are the client side.

mod jar;
mod server;

use std::fmt;

pub use jar::{ChallengeAction, JarLimits, NonceJar, SavedNonce, SavedNonces, after_challenge};
pub use server::{NonceAge, NonceError, NonceIssuer, NonceKey};

/// A nonce: the string that a server sends in `DPoP-Nonce` and that a proof repeats in `nonce`.
///
/// The client treats it as opaque. A nonce is not a secret, but `Debug` shows only its length.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Nonce(Box<str>);

/// The error for a string that is not a nonce. RFC 9449, 8.1 allows one or more visible ASCII characters
/// without `"` and `\`, and the caller sets the maximum length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "invalid nonce: use visible ASCII characters without quotes and backslashes, at least one and at most the maximum length"
)]
pub struct MalformedNonce;

impl Nonce {
    /// The maximum length of a nonce in bytes, unless [`JarLimits::max_nonce_bytes`] sets another one. Every
    /// proof contains the nonce.
    pub const MAX_BYTES: usize = 256;

    /// Validates the value of a `DPoP-Nonce` header field.
    ///
    /// # Errors
    /// Returns an error if the string is empty, too long, or contains a character outside `NQCHAR` (RFC 9449,
    /// 8.1).
    pub fn new(text: &str) -> Result<Self, MalformedNonce> {
        Self::with_max_bytes(text, Self::MAX_BYTES)
    }

    /// Validates a nonce of at most `max_bytes` bytes.
    ///
    /// # Errors
    /// Returns an error under the conditions of [`new`](Self::new), with this maximum.
    pub fn with_max_bytes(text: &str, max_bytes: usize) -> Result<Self, MalformedNonce> {
        let fits = (1..=max_bytes).contains(&text.len())
            && text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        if fits { Ok(Self(text.into())) } else { Err(MalformedNonce) }
    }

    /// Returns the nonce as a string.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Shows only the length.
impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Nonce({} bytes)", self.0.len())
    }
}
