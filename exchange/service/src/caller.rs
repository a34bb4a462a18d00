//! The authenticated caller of a request. The gateway determines it, and the backend uses it.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::time::Moment;

/// An authenticated client on one device of a member, with the scopes of its token.
///
/// The gateway creates the caller, the relay transmits it, and the backend's handlers get it from their
/// context (`context.extension::<Caller>()`). A caller contains neither the token nor the proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The member on whose behalf the client acts.
    pub member: MemberId,
    /// The id of the registered client.
    pub client: ClientId,
    /// The installation with the proof's key (DPP-21); `None` if the lookup failed (SVC-03).
    pub installation: Option<InstallationId>,
    /// The RFC 7638 thumbprint of the proof's key, as a string.
    pub jkt: String,
    /// The scopes of the token. They can include scopes that the registry has since withdrawn from the
    /// client.
    pub scopes: TokenScopes,
    /// The time at which the member signed in to get this token (`auth_time`). A disconnect at or after this
    /// time revokes the token.
    pub auth_time: Moment,
    /// The correlation id of the request (GW-13).
    pub correlation_id: String,
    /// The claim on the idempotency key, for write routes.
    pub claim: Option<KeyClaim>,
}

/// The scopes of a token. Clones share one set, because each request clones the scopes several times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeSet<String>", into = "BTreeSet<String>")]
pub struct TokenScopes(Arc<BTreeSet<String>>);

impl Deref for TokenScopes {
    type Target = BTreeSet<String>;

    fn deref(&self) -> &BTreeSet<String> {
        &self.0
    }
}

/// Mutation copies the set if it is shared.
impl DerefMut for TokenScopes {
    fn deref_mut(&mut self) -> &mut BTreeSet<String> {
        Arc::make_mut(&mut self.0)
    }
}

impl From<BTreeSet<String>> for TokenScopes {
    fn from(scopes: BTreeSet<String>) -> Self {
        Self(Arc::new(scopes))
    }
}

impl<const N: usize> From<[String; N]> for TokenScopes {
    fn from(scopes: [String; N]) -> Self {
        BTreeSet::from(scopes).into()
    }
}

impl From<TokenScopes> for BTreeSet<String> {
    fn from(scopes: TokenScopes) -> Self {
        Arc::unwrap_or_clone(scopes.0)
    }
}

impl FromIterator<String> for TokenScopes {
    fn from_iter<I: IntoIterator<Item = String>>(scopes: I) -> Self {
        BTreeSet::from_iter(scopes).into()
    }
}

/// An idempotency key that this request holds exclusively until its lease expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyClaim {
    /// The SHA-256 hash of the key, in hexadecimal. The key itself is not stored.
    pub key_hash: String,
    /// The fencing token. It changes when another request takes over the claim.
    pub fence: i64,
}

impl Caller {
    /// Returns true if the token has the scope.
    #[must_use]
    pub fn has_scope(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }
}
