//! Verification, step 2: is the proof for this request? RFC 9449, 4.3 (8 to 12) and 7.1; DPP-03, DPP-04,
//! DPP-08, DPP-15, DPP-21.
//!
//! The claims are looked at in the order `htm`, `htu`, `iat`, key, `ath`, `jti`; the first that is wrong
//! is the answer. Whether the `jti` was seen before is the last question, and [`crate::live`]'s.

use std::{fmt, time::Duration};

use crate::{
    form::{Claim, SignedProof},
    key::Thumbprint,
    live::Candidate,
    target::Target,
    time::{UnixTime, Window},
    token::TokenHash,
};

/// Bytes that a `jti` may have. 96 random bits (DPP-03) take 16 characters of base64url, the densest
/// spelling in use; nobody needs more than 256.
pub const JTI_BYTES: std::ops::RangeInclusive<usize> = 16..=256;

/// What a proof has to be for.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The request's method, as it came.
    pub method: &'a str,
    /// Where the request came to.
    pub target: Target<'a>,
    /// The server's time.
    pub now: UnixTime,
    /// How far `iat` may be from it.
    pub window: Window,
    /// The key that the token is bound to: its `cnf.jkt`. `None` where there is no token yet, at the token
    /// endpoint's first request: every key will do.
    pub key: Option<&'a Thumbprint>,
    /// The access token that came with the proof. `None` at the token and revocation endpoints,
    /// where an `ath` is not looked at.
    pub token: Option<&'a TokenHash>,
}

/// Why a proof is not for this request: `invalid_dpop_proof` (ERR-08).
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
    /// `htu` is not, character by character, the address of the request (DPP-08).
    #[error("`htu` is not the request's address")]
    Htu,
    /// `iat` is missing.
    #[error("`iat` is missing")]
    IatMissing,
    /// `iat` is no whole number of seconds since the epoch (DPP-03): text, a fraction, negative.
    #[error("`iat` is no whole number of seconds")]
    IatMalformed,
    /// `iat` lies too far in the past.
    #[error("the proof is too old")]
    Old,
    /// `iat` lies too far in the future.
    #[error("the proof is not valid yet")]
    Early,
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
    /// `jti` has not as many bytes as [`JTI_BYTES`] says, or holds control characters.
    #[error("`jti` is no unique id")]
    Jti,
}

/// A proof that is for this request, and may only have been seen before.
#[derive(Clone)]
pub struct CheckedProof {
    thumbprint: Thumbprint,
    jti: String,
    iat: u64,
    /// How long past `iat` it would be accepted.
    lifetime: Duration,
}

impl SignedProof {
    /// Checks the claims against the request.
    ///
    /// # Errors
    /// The first claim that is wrong.
    pub fn check(self, expected: &Expected<'_>) -> Result<CheckedProof, ClaimRefusal> {
        let Self { thumbprint, claims } = self;
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
        in_window(iat, expected)?;
        if expected.key.is_some_and(|key| *key != thumbprint) {
            return Err(ClaimRefusal::Key);
        }
        if let Some(token) = expected.token
            && !token.is(&claims.ath.text(ClaimRefusal::AthMissing)?)
        {
            return Err(ClaimRefusal::Ath);
        }
        let jti = claims.jti.text(ClaimRefusal::JtiMissing)?;
        if !JTI_BYTES.contains(&jti.len()) || jti.chars().any(char::is_control) {
            return Err(ClaimRefusal::Jti);
        }
        Ok(CheckedProof { thumbprint, jti, iat, lifetime: expected.window.past })
    }
}

/// Both bounds count; the server's fraction of a second does, too.
fn in_window(iat: u64, expected: &Expected<'_>) -> Result<(), ClaimRefusal> {
    let Expected { now, window, .. } = expected;
    let iat = UnixTime::from_secs(iat);
    if now.saturating_since(iat) > window.past {
        Err(ClaimRefusal::Old)
    } else if iat.saturating_since(*now) > window.future {
        Err(ClaimRefusal::Early)
    } else {
        Ok(())
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
    /// Whose proof it is: the installation (DPP-21).
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

    /// What [`LiveProofs::admit`](crate::LiveProofs::admit) asks for, and whose room the proof takes. It counts
    /// for as long as the window that it was checked with would accept it ([`Window::past`]; DPP-18).
    #[must_use]
    pub fn candidate<'a>(&'a self, member: Option<&'a str>) -> Candidate<'a> {
        let Self { thumbprint, jti, iat, lifetime } = self;
        Candidate { key: thumbprint, jti, member, iat: *iat, lifetime: *lifetime }
    }
}

/// Shows neither id nor time.
impl fmt::Debug for CheckedProof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CheckedProof").field(&self.thumbprint).finish()
    }
}
