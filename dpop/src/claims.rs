//! Verification, step 2: the claims of a proof against the request (RFC 9449, 4.3 (8 to 12) and 7.1).
//!
//! [`SignedProof::check_claims`] checks `htm`, `htu`, `iat`, key, `ath` and `jti` in this order and returns
//! the first error. Replay detection comes last, in [`crate::replay`].

use std::fmt;

use crate::{
    key::Thumbprint,
    replay::{ProofHolder, ReplayCandidate},
    signed_proof::{ClaimValue, SignedProof},
    target::RequestTarget,
    time::{IatTiming, ProofWindow, UnixTime},
    token::TokenHash,
};

/// The properties of a request that its proof has to match.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedRequest<'a> {
    /// The request's method, exactly as received.
    pub method: &'a str,
    /// The URL of the request.
    pub target: RequestTarget<'a>,
    /// The server's time.
    pub now: UnixTime,
    /// The accepted distance of `iat` from `now`. Use the window of the replay store
    /// ([`ReplayStore::window`](crate::ReplayStore::window)). The store checks `iat` again with its own
    /// window, so a different window here rejects more proofs, but never admits a proof twice.
    pub window: ProofWindow,
    /// The credential that the request contains besides the proof, and the key to which it is bound.
    pub binding: KeyBinding<'a>,
}

/// The credential of a request and the key to which it is bound.
///
/// The type prevents omitting the key by accident: a request with an access token requires the token's
/// binding, and a token without one is rejected.
#[derive(Clone, Copy, Debug)]
pub enum KeyBinding<'a> {
    /// A request with an access token, sent to a resource server.
    Token {
        /// The hash of the request's token, which `ath` has to equal.
        hash: &'a TokenHash,
        /// The thumbprint of the key to which the token is bound: its `cnf.jkt`, from the token or from the
        /// introspection response. `None` is a bearer token, bound to no key, and is rejected
        /// ([`ClaimError::NotBound`]).
        jkt: Option<&'a Thumbprint>,
    },
    /// A request without an access token for a credential that is bound to this key: a refresh token or an
    /// authorization code (`dpop_jkt`: RFC 9449, 10). `ath` is ignored.
    Key(&'a Thumbprint),
    /// A request without an access token for a credential that is not bound yet, such as the first request of
    /// a grant. Any key is accepted, and the server binds the issued token to [`CheckedProof::thumbprint`].
    /// `ath` is ignored.
    AnyKey,
}

/// The claim that does not match the request: `invalid_dpop_proof`, except for [`NotBound`](Self::NotBound).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// `htm` is missing or not a string.
    #[error("`htm` is missing")]
    HtmMissing,
    /// `htm` is another method. Methods are case-sensitive (RFC 9110, 9.1).
    #[error("`htm` is not the request's method")]
    Htm,
    /// `htu` is missing or not a string.
    #[error("`htu` is missing")]
    HtuMissing,
    /// `htu` differs from the URL of the request. The strings are compared byte by byte.
    #[error("`htu` is not the request's address")]
    Htu,
    /// The claim `iat` is missing.
    #[error("`iat` is missing")]
    IatMissing,
    /// `iat` is not a non-negative integer number of seconds since the epoch: a string, a fraction or
    /// negative.
    #[error("`iat` is not a whole number of seconds")]
    IatMalformed,
    /// `iat` is before the beginning of the window.
    #[error("the proof is too old")]
    Old,
    /// `iat` is after the end of the window.
    #[error("the proof is not valid yet")]
    Early,
    /// The token is bound to no key, so a thief could use it as a bearer token. The proof itself is valid.
    /// Respond as to a request without a proof
    /// ([`VerificationError::is_proof_required`](crate::VerificationError::is_proof_required)).
    #[error("the token is not bound to a key")]
    NotBound,
    /// The token is bound to a key other than that of the proof.
    #[error("the token is bound to another key")]
    Key,
    /// The request has a token, but `ath` is missing or not a string.
    #[error("`ath` is missing")]
    AthMissing,
    /// `ath` differs from the hash of the token.
    #[error("`ath` is not the token's hash")]
    Ath,
    /// `jti` is missing or not a string.
    #[error("`jti` is missing")]
    JtiMissing,
    /// The length of `jti` is outside [`ProofLimits`](crate::signed_proof::ProofLimits), or it contains
    /// control characters.
    #[error("`jti` has an invalid length or contains control characters")]
    Jti,
}

/// A proof whose claims match the request. Only the replay check is left.
///
/// A caller that drops it without the replay check gets a compiler warning:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// use dpop_bound::{ExpectedRequest, SignedProof, claims::ClaimError};
///
/// fn serve(signed: SignedProof, expected: &ExpectedRequest<'_>) -> Result<(), ClaimError> {
///     signed.check_claims(expected)?;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
#[must_use = "check for a replay with `ReplayStore::admit`"]
pub struct CheckedProof {
    thumbprint: Thumbprint,
    jti: String,
    iat: u64,
}

impl SignedProof {
    /// Checks the claims against the request.
    ///
    /// # Errors
    /// Returns the first claim that does not match.
    pub fn check_claims(self, expected: &ExpectedRequest<'_>) -> Result<CheckedProof, ClaimError> {
        let Self { thumbprint, claims, limits } = self;
        let htm = claims.htm.into_string(ClaimError::HtmMissing)?;
        if htm != expected.method {
            return Err(ClaimError::Htm);
        }
        let htu = claims.htu.into_string(ClaimError::HtuMissing)?;
        if !expected.target.matches(&htu) {
            return Err(ClaimError::Htu);
        }
        let iat = match claims.iat {
            ClaimValue::Present(iat) => iat,
            ClaimValue::Missing => return Err(ClaimError::IatMissing),
            ClaimValue::Malformed => return Err(ClaimError::IatMalformed),
        };
        match expected.window.classify_iat(iat, expected.now) {
            IatTiming::TooOld => return Err(ClaimError::Old),
            IatTiming::TooEarly => return Err(ClaimError::Early),
            IatTiming::Within => {}
        }
        match expected.binding {
            KeyBinding::Token { jkt: None, .. } => return Err(ClaimError::NotBound),
            KeyBinding::Token { jkt: Some(key), .. } | KeyBinding::Key(key) if *key != thumbprint => {
                return Err(ClaimError::Key);
            }
            KeyBinding::Token { hash, .. }
                if !hash.matches(&claims.ath.into_string(ClaimError::AthMissing)?) =>
            {
                return Err(ClaimError::Ath);
            }
            KeyBinding::Token { .. } | KeyBinding::Key(_) | KeyBinding::AnyKey => {}
        }
        let jti = claims.jti.into_string(ClaimError::JtiMissing)?;
        if !limits.jti_byte_range().contains(&jti.len()) || jti.chars().any(char::is_control) {
            return Err(ClaimError::Jti);
        }
        Ok(CheckedProof { thumbprint, jti, iat })
    }
}

impl ClaimValue<String> {
    fn into_string(self, otherwise: ClaimError) -> Result<String, ClaimError> {
        match self {
            Self::Present(text) => Ok(text),
            Self::Missing | Self::Malformed => Err(otherwise),
        }
    }
}

impl CheckedProof {
    /// Returns the thumbprint of the proof's key, which identifies a client instance.
    #[must_use]
    pub const fn thumbprint(&self) -> &Thumbprint {
        &self.thumbprint
    }

    /// Returns the unique id (`jti`) of the proof.
    #[must_use]
    pub fn jti(&self) -> &str {
        &self.jti
    }

    /// Returns the creation time on the client's clock, in seconds since the epoch.
    #[must_use]
    pub const fn iat(&self) -> u64 {
        self.iat
    }

    /// Returns the argument of [`ReplayStore::admit`](crate::ReplayStore::admit). The proof counts against
    /// the limit of `holder`.
    #[must_use]
    pub const fn replay_candidate<'a>(&'a self, holder: ProofHolder<'a>) -> ReplayCandidate<'a> {
        let Self { thumbprint, jti, iat } = self;
        ReplayCandidate { key: thumbprint, jti: jti.as_str(), holder, iat: *iat }
    }
}

/// Shows the thumbprint, but neither `jti` nor `iat`.
impl fmt::Debug for CheckedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckedProof").field(&self.thumbprint).finish()
    }
}
