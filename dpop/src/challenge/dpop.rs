//! DPoP challenges: RFC 9449, 7.1 (algorithms, errors), 8 and 9 (nonces); RFC 6750, 3 (common parameters).
//!
//! Clients find the DPoP challenge among all challenges of a response; servers build one. The nonce itself is
//! sent in a separate header field, see [`Nonce`](crate::Nonce).

use std::fmt;

use super::{Challenge, ChallengeError};

const SCHEME: &str = "DPoP";
/// The only algorithm of this crate.
const ALGS: &str = "ES256";

/// The parameters of a challenge with the scheme `DPoP`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DpopChallenge {
    algs: Option<Box<str>>,
    error: Option<DpopError>,
    error_description: Option<Box<str>>,
    scope: Option<Box<str>>,
    realm: Option<Box<str>>,
}

/// The `error` code of a challenge or of a token endpoint response (RFC 9449, 5, 7.1, 8 and 9; RFC 6750,
/// 3.1). Codes are compared exactly, including case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DpopError {
    /// `use_dpop_nonce`: the client repeats the request once, with a proof that contains the nonce of this
    /// response (RFC 9449, 8 and 9).
    UseDpopNonce,
    /// `invalid_dpop_proof`: the proof is invalid (RFC 9449, 5 and 7.1).
    InvalidDpopProof,
    /// `invalid_token`: the token is invalid or bound to another key (RFC 9449, 7.1).
    InvalidToken,
    /// `insufficient_scope`: the token is valid but does not permit this request (RFC 6750, 3.1).
    InsufficientScope,
    /// Any other code, unchanged.
    Other(Box<str>),
}

impl DpopChallenge {
    /// Returns the DPoP challenge of a response, given the values of all its `WWW-Authenticate` fields. If
    /// there are several, returns the first one with an error, or the first one if none has an error.
    /// Malformed challenges are skipped ([`Challenge::parse_lines`]).
    pub fn find_in_headers<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut plain = None;
        for challenge in Challenge::parse_lines(lines).iter().filter_map(Self::from_challenge) {
            if challenge.error.is_some() {
                return Some(challenge);
            }
            plain.get_or_insert(challenge);
        }
        plain
    }

    /// Reads the parameters of a challenge. Returns `None` if it has another scheme.
    #[must_use]
    pub fn from_challenge(challenge: &Challenge) -> Option<Self> {
        let param = |name| challenge.param(name).map(Box::from);
        challenge.has_scheme(SCHEME).then(|| Self {
            algs: param("algs"),
            error: challenge.param("error").map(DpopError::from_code),
            error_description: param("error_description"),
            scope: param("scope"),
            realm: param("realm"),
        })
    }

    /// Builds the challenge of a server that requires a token and a proof, without an error code.
    #[must_use]
    pub fn required() -> Self {
        Self { algs: Some(ALGS.into()), ..Self::default() }
    }

    /// Builds the challenge of a server that requires a nonce (RFC 9449, 9). The server sends the nonce
    /// itself in `DPoP-Nonce`.
    #[must_use]
    pub fn use_nonce() -> Self {
        Self { error: Some(DpopError::UseDpopNonce), ..Self::required() }
    }

    /// Builds the challenge for an invalid proof, with the reason (RFC 9449, 7.1).
    ///
    /// # Errors
    /// Returns an error if the description contains `"`, `\` or a character outside printable ASCII (RFC
    /// 6750, 3).
    pub fn invalid_proof(description: &str) -> Result<Self, ChallengeError> {
        Self::with_error(DpopError::InvalidDpopProof, description)
    }

    /// Builds the challenge for an invalid token, with the reason (RFC 9449, 7.1).
    ///
    /// # Errors
    /// Returns an error under the same condition as [`invalid_proof`](Self::invalid_proof).
    pub fn invalid_token(description: &str) -> Result<Self, ChallengeError> {
        Self::with_error(DpopError::InvalidToken, description)
    }

    /// Builds the challenge for a token without the required scopes. `scope` lists these scopes, separated by
    /// spaces (RFC 6750, 3.1).
    ///
    /// # Errors
    /// Returns an error under the same condition as [`invalid_proof`](Self::invalid_proof), also for `scope`.
    pub fn insufficient_scope(scope: &str, description: &str) -> Result<Self, ChallengeError> {
        let scope = Some(plain_text(scope)?);
        Ok(Self { scope, ..Self::with_error(DpopError::InsufficientScope, description)? })
    }

    fn with_error(error: DpopError, description: &str) -> Result<Self, ChallengeError> {
        let error_description = Some(plain_text(description)?);
        Ok(Self { error: Some(error), error_description, ..Self::required() })
    }

    /// Returns `Some(true)` if the challenge lists this algorithm, such as `ES256`, and `Some(false)` if it
    /// lists only others. Returns `None` if it lists no algorithms (RFC 9449, 7.1).
    #[must_use]
    pub fn supports(&self, alg: &str) -> Option<bool> {
        Some(self.algs()?.any(|known| known == alg))
    }

    /// Returns the accepted algorithms in the server's order, or `None` if the challenge lists none.
    #[must_use]
    pub fn algs(&self) -> Option<impl Iterator<Item = &str>> {
        self.algs.as_deref().map(str::split_ascii_whitespace)
    }

    /// Returns the error code. Returns `None` if the challenge has none, as after a request without
    /// credentials (RFC 6750, 3.1).
    #[must_use]
    pub const fn error(&self) -> Option<&DpopError> {
        self.error.as_ref()
    }

    /// Returns the human-readable error description. The server chose the text: do not display it as a
    /// message of the client.
    #[must_use]
    pub fn error_description(&self) -> Option<&str> {
        self.error_description.as_deref()
    }

    /// Returns the required scopes, separated by spaces (RFC 6750, 3).
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.scope.as_deref()
    }

    /// Returns the realm, the name of the protection space (RFC 9110, 11.5).
    #[must_use]
    pub fn realm(&self) -> Option<&str> {
        self.realm.as_deref()
    }
}

/// Formats the challenge as the value of a header field: `DPoP algs="ES256", error="use_dpop_nonce"`, then
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
        // Never fails: each value was parsed from a challenge or validated by a constructor.
        Challenge::with_parameters(SCHEME, present).map_err(|_| fmt::Error)?.fmt(f)
    }
}

impl DpopError {
    /// Converts a code. Unknown codes become [`Other`](Self::Other).
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

    /// Returns the code as written in `error`.
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

/// Validates the characters of `error_description`, a superset of those of `scope` (RFC 6750, 3).
fn plain_text(text: &str) -> Result<Box<str>, ChallengeError> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\'));
    if plain { Ok(text.into()) } else { Err(ChallengeError::Value) }
}
