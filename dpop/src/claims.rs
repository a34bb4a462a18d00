//! Verification, step 2: is the proof for this request? RFC 9449, 4.3 (8 to 12) and 7.1.
//!
//! The claims are looked at in the order `htm`, `htu`, `iat`, key, `ath`, `jti`; the first that is wrong
//! is the answer. Whether the `jti` was seen before is the last question, and [`crate::live`]'s.

use std::fmt;

use crate::{
    form::{Claim, SignedProof},
    key::Thumbprint,
    live::{Candidate, Holder},
    target::Target,
    time::{Timing, UnixTime, Window},
    token::TokenHash,
};

/// What a proof has to be for.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The request's method, as it came.
    pub method: &'a str,
    /// Where the request came to.
    pub target: Target<'a>,
    /// The server's time.
    pub now: UnixTime,
    /// How far `iat` may be from it: that of the store which is asked next
    /// ([`ReplayStore::window`](crate::ReplayStore::window)). The store asks for it again, so that two windows
    /// that differ by mistake refuse more and admit nothing twice.
    pub window: Window,
    /// What the request brings besides the proof, and which key that is bound to.
    pub binding: Binding<'a>,
}

/// What a request's proof is bound to.
///
/// There is no way to leave the key out by accident: where there is an access token there is its binding, and
/// a token without one is refused.
#[derive(Clone, Copy, Debug)]
pub enum Binding<'a> {
    /// A request with an access token, to a resource server.
    Token {
        /// The token that came with the proof: `ath` has to be its hash.
        hash: &'a TokenHash,
        /// The key that the token is bound to: its `cnf.jkt`, as it stands in the token or in what its issuer
        /// says of it. `None` is a token that is bound to no key, a bearer's, and refused
        /// ([`ClaimRefusal::NotBound`]).
        jkt: Option<&'a Thumbprint>,
    },
    /// A request without an access token for something that is bound to this key: a refresh token, an
    /// authorization code (`dpop_jkt`: RFC 9449, 10). An `ath` is not looked at.
    Key(&'a Thumbprint),
    /// A request without an access token for something that is not bound yet, such as the first of a grant:
    /// every key will do, and what is issued is bound to [`CheckedProof::thumbprint`]. An `ath` is not looked
    /// at.
    AnyKey,
}

/// Why a proof is not for this request: `invalid_dpop_proof`, but for [`NotBound`](Self::NotBound).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimRefusal {
    /// `htm` is missing or no text.
    #[error("`htm` is missing")]
    HtmMissing,
    /// `htm` is another method; methods are compared as they stand (RFC 9110, 9.1).
    #[error("`htm` is not the request's method")]
    Htm,
    /// `htu` is missing or no text.
    #[error("`htu` is missing")]
    HtuMissing,
    /// `htu` is not, character by character, the address of the request.
    #[error("`htu` is not the request's address")]
    Htu,
    /// `iat` is missing.
    #[error("`iat` is missing")]
    IatMissing,
    /// `iat` is no whole number of seconds since the epoch: text, a fraction, negative.
    #[error("`iat` is no whole number of seconds")]
    IatMalformed,
    /// `iat` lies too far in the past.
    #[error("the proof is too old")]
    Old,
    /// `iat` lies too far in the future.
    #[error("the proof is not valid yet")]
    Early,
    /// The token is bound to no key: whoever has it could use it, so it is no better than a bearer's. The
    /// proof is not at fault; the answer is the one to a request without
    /// ([`Refusal::is_proof_required`](crate::Refusal::is_proof_required)).
    #[error("the token is bound to no key")]
    NotBound,
    /// The token is bound to another key.
    #[error("the token is bound to another key")]
    Key,
    /// `ath` is missing or no text, and there is a token.
    #[error("`ath` is missing")]
    AthMissing,
    /// `ath` is not the token's hash.
    #[error("`ath` is not the token's hash")]
    Ath,
    /// `jti` is missing or no text.
    #[error("`jti` is missing")]
    JtiMissing,
    /// `jti` has not as many bytes as [`Limits`](crate::form::Limits) say, or holds control characters.
    #[error("`jti` is no unique id")]
    Jti,
}

/// A proof that is for this request, and may only have been seen before.
///
/// It is not to be dropped without a store having been asked:
///
/// ```compile_fail
/// #![deny(unused_must_use)]
/// use dpop_bound::{Expected, SignedProof, claims::ClaimRefusal};
///
/// fn serve(signed: SignedProof, expected: &Expected<'_>) -> Result<(), ClaimRefusal> {
///     signed.check(expected)?;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
#[must_use = "a proof that no store admits may be a replay: ask `ReplayStore::admit`"]
pub struct CheckedProof {
    thumbprint: Thumbprint,
    jti: String,
    iat: u64,
}

impl SignedProof {
    /// Checks the claims against the request.
    ///
    /// # Errors
    /// The first claim that is wrong.
    pub fn check(self, expected: &Expected<'_>) -> Result<CheckedProof, ClaimRefusal> {
        let Self { thumbprint, claims, limits } = self;
        let htm = claims.htm.text(ClaimRefusal::HtmMissing)?;
        if htm != expected.method {
            return Err(ClaimRefusal::Htm);
        }
        let htu = claims.htu.text(ClaimRefusal::HtuMissing)?;
        if !expected.target.is(&htu) {
            return Err(ClaimRefusal::Htu);
        }
        let iat = match claims.iat {
            Claim::Is(iat) => iat,
            Claim::Missing => return Err(ClaimRefusal::IatMissing),
            Claim::Malformed => return Err(ClaimRefusal::IatMalformed),
        };
        match expected.window.timing(iat, expected.now) {
            Timing::Old => return Err(ClaimRefusal::Old),
            Timing::Early => return Err(ClaimRefusal::Early),
            Timing::Within => {}
        }
        match expected.binding {
            Binding::Token { jkt: None, .. } => return Err(ClaimRefusal::NotBound),
            Binding::Token { jkt: Some(key), .. } | Binding::Key(key) if *key != thumbprint => {
                return Err(ClaimRefusal::Key);
            }
            Binding::Token { hash, .. } if !hash.is(&claims.ath.text(ClaimRefusal::AthMissing)?) => {
                return Err(ClaimRefusal::Ath);
            }
            Binding::Token { .. } | Binding::Key(_) | Binding::AnyKey => {}
        }
        let jti = claims.jti.text(ClaimRefusal::JtiMissing)?;
        if !limits.jti_bytes().contains(&jti.len()) || jti.chars().any(char::is_control) {
            return Err(ClaimRefusal::Jti);
        }
        Ok(CheckedProof { thumbprint, jti, iat })
    }
}

impl Claim<String> {
    fn text(self, otherwise: ClaimRefusal) -> Result<String, ClaimRefusal> {
        match self {
            Self::Is(text) => Ok(text),
            Self::Missing | Self::Malformed => Err(otherwise),
        }
    }
}

impl CheckedProof {
    /// Whose proof it is: the key by which a server knows this instance of a client.
    #[must_use]
    pub const fn thumbprint(&self) -> &Thumbprint {
        &self.thumbprint
    }

    /// Its unique id.
    #[must_use]
    pub fn jti(&self) -> &str {
        &self.jti
    }

    /// When it was made, by its maker's clock, in seconds since the epoch.
    #[must_use]
    pub const fn iat(&self) -> u64 {
        self.iat
    }

    /// What [`ReplayStore::admit`](crate::ReplayStore::admit) asks for, and whose room the proof takes.
    #[must_use]
    pub const fn candidate<'a>(&'a self, holder: Holder<'a>) -> Candidate<'a> {
        let Self { thumbprint, jti, iat } = self;
        Candidate { key: thumbprint, jti: jti.as_str(), holder, iat: *iat }
    }
}

/// Shows neither id nor time.
impl fmt::Debug for CheckedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckedProof").field(&self.thumbprint).finish()
    }
}
