//! Who calls: what the gateway found out about a request, and what the backend goes by.

use std::collections::BTreeSet;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::time::Moment;

/// A member's client on one of the member's devices, authenticated, with what its token allows.
///
/// The gateway makes it, the relay carries it, the backend's handlers find it in their context
/// (`context.extension::<Caller>()`). It holds no token and no proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// The member for whom the client acts.
    pub member: MemberId,
    /// The registered client.
    pub client: ClientId,
    /// The installation, found by the proof's key (DPP-21); none when it could not be looked up (SVC-03).
    pub installation: Option<InstallationId>,
    /// The RFC 7638 thumbprint of the key, as text.
    pub jkt: String,
    /// The scopes of the token; what the registry takes away is not yet gone from them.
    pub scopes: TokenScopes,
    /// When the member signed in for this token (`auth_time`): a disconnect after it revokes the token.
    pub auth_time: Moment,
    /// Under which id the request is known (GW-13).
    pub correlation_id: String,
    /// The claim on the idempotency key, for the write routes.
    pub claim: Option<Claim>,
}

/// The scopes of a token. A clone shares them: what is known of a token is told of each of its requests, in several
/// places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "BTreeSet<String>", into = "BTreeSet<String>")]
pub struct TokenScopes(Arc<BTreeSet<String>>);

impl Deref for TokenScopes {
    type Target = BTreeSet<String>;

    fn deref(&self) -> &BTreeSet<String> {
        &self.0
    }
}

/// Those of this value alone.
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

/// An idempotency key that this request claimed, and is alone in holding until its lease is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// SHA-256 of the key, in hex: the key itself is stored nowhere.
    pub key_hash: String,
    /// What the write completes with: a claim that was taken over has another one.
    pub fence: i64,
}

impl Caller {
    /// Whether the token has a scope.
    #[must_use]
    pub fn has(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }
}
