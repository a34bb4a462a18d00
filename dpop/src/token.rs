//! Access tokens: the claim `ath` (RFC 9449, 4.2) and the header field `Authorization` (7.1).

use std::fmt;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use crate::{base64url, grammar::is_token68};

/// An access token with its hash, which is computed once.
///
/// `Debug` shows only the length. The memory is cleared when the token is dropped.
#[derive(Clone)]
pub struct AccessToken {
    text: Zeroizing<String>,
    hash: TokenHash,
}

/// The error for a string that cannot be sent as an access token in `Authorization`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid access token: use letters, digits and -._~+/, with = only at the end (RFC 9110, 11.2)")]
pub struct MalformedToken;

impl AccessToken {
    /// Creates a token from the `access_token` of a token endpoint.
    ///
    /// # Errors
    /// Returns an error if the string is not a `token68` (RFC 9110, 11.2).
    pub fn new(text: impl Into<String>) -> Result<Self, MalformedToken> {
        let text = Zeroizing::new(text.into());
        if !is_token68(text.as_bytes()) {
            return Err(MalformedToken);
        }
        let hash = TokenHash::from_token(&text);
        Ok(Self { text, hash })
    }

    /// Returns the hash that proofs carry as `ath`.
    #[must_use]
    pub const fn hash(&self) -> &TokenHash {
        &self.hash
    }

    /// Returns the value of `Authorization`. Mark it as sensitive if the HTTP library supports that.
    #[must_use]
    pub fn authorization(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("DPoP {}", self.text.as_str()))
    }
}

/// Shows only the length.
impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AccessToken({} bytes)", self.text.len())
    }
}

/// `ath`: SHA-256 of the access token's ASCII bytes in base64url without padding, 43 characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// Computes the hash of a token.
    #[must_use]
    pub fn from_token(token: &str) -> Self {
        Self(Sha256::digest(token.as_bytes()).into())
    }

    /// Returns true if `ath` is the base64url encoding of this hash.
    #[must_use]
    pub fn matches(&self, ath: &str) -> bool {
        base64url::decode_array::<32>(ath).is_some_and(|bytes| bytes == self.0)
    }

    pub(crate) const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&base64url::encode(&self.0))
    }
}

/// Shows nothing, because the hash of a short token would reveal the token.
impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DPP-04; RFC 9449, 7.1: the token of figure 12 has the `ath` of figure 13.
    #[test]
    fn token_hash_matches_the_rfc() {
        let token = AccessToken::new("Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU").unwrap();
        let ath = "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo";
        assert_eq!(token.hash().to_string(), ath);
        assert!(token.hash().matches(ath));
        for other in ["", "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEp", &format!("{ath}=")] {
            assert!(!token.hash().matches(other), "{other}");
        }
        assert_eq!(token.authorization().as_str(), "DPoP Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU");
    }

    #[test]
    fn only_token68_is_an_access_token() {
        for text in ["a", "a==", "A-z0._~+/"] {
            assert!(AccessToken::new(text).is_ok(), "{text}");
        }
        for text in ["", "=", "a b", "a=b", "a\r\nX: y", "ä", "a,b", "\"a\""] {
            assert_eq!(AccessToken::new(text).err(), Some(MalformedToken), "{text}");
        }
    }

    #[test]
    fn debug_output_hides_the_token() {
        let token = AccessToken::new("secret").unwrap();
        assert_eq!(format!("{token:?} {:?}", token.hash()), "AccessToken(6 bytes) TokenHash(…)");
    }
}
