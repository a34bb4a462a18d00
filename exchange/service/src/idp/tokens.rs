//! Access tokens as the gateway sees them: who is behind one, and what it allows.
//!
//! A [`Verifier`] says whether a token was issued and still holds. Whether it is for the gateway, is
//! bound to the proof's key, or was revoked are questions of their own, each with its place in the order
//! of checks (GW-01); so the answers to them are in the claims and decide nothing here.

use std::collections::BTreeSet;
use std::fmt;

use dpop_bound::Pending;

use crate::caller::TokenScopes;
use crate::ids::{ClientId, MemberId};
use crate::time::Moment;

/// What an access token says, once it is known to be an issuer's own and in its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// The client that it was issued to.
    pub client: ClientId,
    /// The member that it acts for.
    pub member: MemberId,
    /// The scopes that were granted.
    pub scopes: TokenScopes,
    /// The thumbprint of the key that it is bound to, as text; none is a bearer's token (ERR-06).
    pub jkt: Option<String>,
    /// Whom it is for (IDP-07).
    pub audiences: BTreeSet<String>,
    /// When the member signed in for it: a disconnect at or after it revokes the token (ERR-12).
    pub auth_time: Moment,
    /// From when on it no longer holds.
    pub expires_at: Moment,
}

impl TokenClaims {
    /// Whether it was issued for this audience (IDP-07).
    #[must_use]
    pub fn is_for(&self, audience: &str) -> bool {
        self.audiences.contains(audience)
    }
}

/// Why a token says nothing: `UNAUTHENTICATED`, but for [`Unavailable`](Self::Unavailable).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TokenRefusal {
    /// Not a signed JWT, or its claims are not those of an access token.
    #[error("the token is no access token")]
    Malformed,
    /// Another kind of JWT, such as an id token (RFC 9068, 4).
    #[error("the token's type is not that of an access token")]
    Type,
    /// An algorithm that is not taken, or not the key's.
    #[error("the token's algorithm is not taken")]
    Algorithm,
    /// A key that the issuer does not have, or no longer.
    #[error("the token's key is unknown")]
    Key,
    /// The signature is not the key's.
    #[error("the token's signature is wrong")]
    Signature,
    /// Another issuer's.
    #[error("the token is another issuer's")]
    Issuer,
    /// Its time is over.
    #[error("the token has expired")]
    Expired,
    /// Its time has not come.
    #[error("the token is not valid yet")]
    Early,
    /// Nobody can tell, since the issuer cannot be reached: `SERVICE_UNAVAILABLE`, `Retry-After: 5` (A9).
    #[error("the identity provider cannot be reached")]
    Unavailable,
}

impl TokenRefusal {
    /// A word for each, for logs and counters: it never changes.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "token-malformed",
            Self::Type => "token-type",
            Self::Algorithm => "token-algorithm",
            Self::Key => "token-key",
            Self::Signature => "token-signature",
            Self::Issuer => "token-issuer",
            Self::Expired => "token-expired",
            Self::Early => "token-early",
            Self::Unavailable => "provider-unavailable",
        }
    }
}

/// A verdict that is there, or on its way.
pub type Verifying<'a> = Pending<'a, Result<TokenClaims, TokenRefusal>>;

/// Who can tell whether a token was issued and still holds: the provider in this process, or one elsewhere.
pub trait Verifier: Send + Sync + fmt::Debug {
    /// Judges a token at a moment.
    fn verify<'a>(&'a self, token: &'a str, now: Moment) -> Verifying<'a>;
}
