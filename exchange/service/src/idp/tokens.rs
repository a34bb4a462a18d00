//! The claims of access tokens, and the interface between token verifiers and the stages of the gateway.
//!
//! A [`TokenVerifier`] checks that a token was issued by the provider and has not expired. Later stages use
//! the claims to check that the token is for the gateway, that it is bound to the key of the proof, and that
//! it is not revoked, in the order of GW-01.

use std::collections::BTreeSet;
use std::fmt;

use dpop_bound::MaybeReady;

use crate::caller::TokenScopes;
use crate::ids::{ClientId, MemberId};
use crate::time::Moment;

/// The claims of a token that the issuer signed and that has not expired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenClaims {
    /// The client to which the token was issued.
    pub client: ClientId,
    /// The member on whose behalf the client acts.
    pub member: MemberId,
    /// The granted scopes.
    pub scopes: TokenScopes,
    /// The RFC 7638 thumbprint of the key to which the token is bound; `None` for a bearer token (ERR-06).
    pub jkt: Option<String>,
    /// The audiences of the token (IDP-07).
    pub audiences: BTreeSet<String>,
    /// The time at which the member signed in to get the token. A disconnect at or after this time revokes
    /// the token (ERR-12).
    pub auth_time: Moment,
    /// The time at which the token expires.
    pub expires_at: Moment,
}

impl TokenClaims {
    /// Returns true if the token was issued for this audience (IDP-07).
    #[must_use]
    pub fn is_for(&self, audience: &str) -> bool {
        self.audiences.contains(audience)
    }
}

/// The reason a token is refused. The response has the code `UNAUTHENTICATED`, except for
/// [`Unavailable`](Self::Unavailable).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum TokenError {
    /// The token is not a signed JWT, or lacks claims of an access token.
    #[error("the token is not an access token")]
    Malformed,
    /// The token is another kind of JWT, such as an id token (RFC 9068, section 4).
    #[error("the token's type is not that of an access token")]
    WrongType,
    /// The algorithm is not accepted, or does not match the key.
    #[error("the token's algorithm is not accepted")]
    Algorithm,
    /// The key is unknown or has expired.
    #[error("the token's key is unknown")]
    Key,
    /// The signature does not match the key.
    #[error("the token's signature is invalid")]
    Signature,
    /// The token has another issuer.
    #[error("the token was issued by another issuer")]
    Issuer,
    /// The token has expired.
    #[error("the token has expired")]
    Expired,
    /// The token is not valid yet.
    #[error("the token is not valid yet")]
    NotYetValid,
    /// The issuer is unreachable. The response has the code `SERVICE_UNAVAILABLE` and `Retry-After: 5` (A9).
    #[error("the identity provider cannot be reached")]
    Unavailable,
}

impl TokenError {
    /// Returns a stable keyword for logs and counters.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Malformed => "token-malformed",
            Self::WrongType => "token-type",
            Self::Algorithm => "token-algorithm",
            Self::Key => "token-key",
            Self::Signature => "token-signature",
            Self::Issuer => "token-issuer",
            Self::Expired => "token-expired",
            Self::NotYetValid => "token-early",
            Self::Unavailable => "provider-unavailable",
        }
    }
}

/// The future that [`TokenVerifier::verify_token`] returns.
pub type VerificationFuture<'a> = MaybeReady<'a, Result<TokenClaims, TokenError>>;

/// A verifier of access tokens: the provider in this process, or an external provider.
pub trait TokenVerifier: Send + Sync + fmt::Debug {
    /// Verifies a token at the time `now` and returns its claims.
    fn verify_token<'a>(&'a self, token: &'a str, now: Moment) -> VerificationFuture<'a>;
}
