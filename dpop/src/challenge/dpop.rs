//! What a DPoP challenge says: RFC 9449, 7.1 (algorithms, errors) and 8, 9 (nonces); RFC 6750, 3 (the common parameters).
//!
//! Clients look for one among all challenges of an answer, servers write one. The nonce itself
//! travels in a header field of its own, see [`Nonce`](crate::Nonce).

use std::fmt;

use super::{Challenge, UnwritableChallenge};

const SCHEME: &str = "DPoP";
/// The one algorithm of this crate.
const ALGS: &str = "ES256";

/// What a challenge of the scheme DPoP says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DpopChallenge {
    algs: Option<Box<str>>,
    error: Option<DpopError>,
    error_description: Option<Box<str>>,
    scope: Option<Box<str>>,
    realm: Option<Box<str>>,
}

/// What was wrong with a request: `error` in a challenge, or in an answer of the token endpoint
/// (RFC 9449, 5, 7.1, 8 and 9; RFC 6750, 3.1). Names are compared exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DpopError {
    /// `use_dpop_nonce`: repeat the request once, with a proof that carries the answer's nonce
    /// (RFC 9449, 8 and 9).
    UseDpopNonce,
    /// `invalid_dpop_proof`: the proof does not hold (RFC 9449, 5 and 7.1).
    InvalidDpopProof,
    /// `invalid_token`: the token does not hold, or is bound to another key (RFC 9449, 7.1).
    InvalidToken,
    /// `insufficient_scope`: the token holds but does not allow this (RFC 6750, 3.1).
    InsufficientScope,
    /// Any other, as it was written.
    Other(Box<str>),
}

impl DpopChallenge {
    /// The DPoP challenge of an answer: of all its `WWW-Authenticate` lines, in any position among
    /// other challenges. Of several the first that has an error, else the first; what is malformed
    /// is left out ([`Challenge::parse_lines`]).
    pub fn find<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut plain = None;
        for challenge in Challenge::parse_lines(lines).iter().filter_map(Self::from_challenge) {
            if challenge.error.is_some() {
                return Some(challenge);
            }
            plain.get_or_insert(challenge);
        }
        plain
    }

    /// What this challenge says; `None` when it is of another scheme.
    #[must_use]
    pub fn from_challenge(challenge: &Challenge) -> Option<Self> {
        let param = |name| challenge.param(name).map(Box::from);
        challenge.is(SCHEME).then(|| Self {
            algs: param("algs"),
            error: challenge.param("error").map(DpopError::from_code),
            error_description: param("error_description"),
            scope: param("scope"),
            realm: param("realm"),
        })
    }

    /// A server's plain challenge: come with a token and a proof.
    #[must_use]
    pub fn required() -> Self {
        Self { algs: Some(ALGS.into()), ..Self::default() }
    }

    /// A server's challenge for a nonce (RFC 9449, 9). The nonce itself goes into
    /// `DPoP-Nonce`.
    #[must_use]
    pub fn use_nonce() -> Self {
        Self { error: Some(DpopError::UseDpopNonce), ..Self::required() }
    }

    /// A server's refusal of a proof, and why (RFC 9449, 7.1).
    ///
    /// # Errors
    /// When the description holds anything but printable ASCII without `"` and `\` (RFC 6750, 3).
    pub fn invalid_proof(description: &str) -> Result<Self, UnwritableChallenge> {
        Self::refusal(DpopError::InvalidDpopProof, description)
    }

    /// A server's refusal of a token, and why (RFC 9449, 7.1).
    ///
    /// # Errors
    /// As [`invalid_proof`](Self::invalid_proof).
    pub fn invalid_token(description: &str) -> Result<Self, UnwritableChallenge> {
        Self::refusal(DpopError::InvalidToken, description)
    }

    /// A server's refusal of what the token does not allow, with the scopes, set apart by spaces,
    /// that would (RFC 6750, 3.1).
    ///
    /// # Errors
    /// As [`invalid_proof`](Self::invalid_proof), for the scopes too.
    pub fn insufficient_scope(scope: &str, description: &str) -> Result<Self, UnwritableChallenge> {
        let scope = Some(plain_text(scope)?);
        Ok(Self { scope, ..Self::refusal(DpopError::InsufficientScope, description)? })
    }

    fn refusal(error: DpopError, description: &str) -> Result<Self, UnwritableChallenge> {
        let error_description = Some(plain_text(description)?);
        Ok(Self { error: Some(error), error_description, ..Self::required() })
    }

    /// Whether the server takes proofs signed with this algorithm, such as `ES256`; `None` when it
    /// does not say (RFC 9449, 7.1).
    #[must_use]
    pub fn supports(&self, alg: &str) -> Option<bool> {
        Some(self.algs()?.any(|known| known == alg))
    }

    /// The algorithms that the server takes, in its order; `None` when it does not say.
    #[must_use]
    pub fn algs(&self) -> Option<impl Iterator<Item = &str>> {
        self.algs.as_deref().map(str::split_ascii_whitespace)
    }

    /// What was wrong; `None` when the request had nothing that could be (RFC 6750, 3.1).
    #[must_use]
    pub const fn error(&self) -> Option<&DpopError> {
        self.error.as_ref()
    }

    /// The same for people. Text of the server: show it to nobody as your own.
    #[must_use]
    pub fn error_description(&self) -> Option<&str> {
        self.error_description.as_deref()
    }

    /// The scopes that are needed, set apart by spaces (RFC 6750, 3).
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// What is protected (RFC 9110, 11.5).
    #[must_use]
    pub fn realm(&self) -> Option<&str> {
        self.realm.as_deref()
    }
}

/// The challenge as it stands in a header field: `DPoP algs="ES256", error="use_dpop_nonce"`, then
/// `error_description`, `scope` and `realm`.
impl fmt::Display for DpopChallenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parameters = [
            ("algs", self.algs.as_deref()),
            ("error", self.error.as_ref().map(DpopError::as_str)),
            ("error_description", self.error_description()),
            ("scope", self.scope()),
            ("realm", self.realm()),
        ];
        let present = parameters.into_iter().filter_map(|(name, value)| Some((name, value?)));
        // Never an error: each value was read from a challenge or checked when it was built.
        Challenge::with_parameters(SCHEME, present).map_err(|_| fmt::Error)?.fmt(f)
    }
}

impl DpopError {
    /// The error of this name; never fails, for other names are kept.
    #[must_use]
    pub fn from_code(code: &str) -> Self {
        match code {
            "use_dpop_nonce" => Self::UseDpopNonce,
            "invalid_dpop_proof" => Self::InvalidDpopProof,
            "invalid_token" => Self::InvalidToken,
            "insufficient_scope" => Self::InsufficientScope,
            other => Self::Other(other.into()),
        }
    }

    /// The name, as it stands in `error`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::UseDpopNonce => "use_dpop_nonce",
            Self::InvalidDpopProof => "invalid_dpop_proof",
            Self::InvalidToken => "invalid_token",
            Self::InsufficientScope => "insufficient_scope",
            Self::Other(code) => code,
        }
    }
}

impl fmt::Display for DpopError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The characters of `error_description`, among them those of `scope` (RFC 6750, 3).
fn plain_text(text: &str) -> Result<Box<str>, UnwritableChallenge> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    if plain { Ok(text.into()) } else { Err(UnwritableChallenge::Value) }
}
