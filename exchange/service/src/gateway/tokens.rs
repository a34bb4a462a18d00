//! Verified access tokens, remembered by their hash until they end: a signature is verified once.

use std::sync::Arc;

use dpop_bound::TokenHash;
use moka::sync::Cache;

use crate::idp::tokens::{TokenClaims, TokenRefusal, Verifier};
use crate::time::Moment;

/// A verifier behind a bounded memory. What was revoked since is asked per request, elsewhere.
pub(super) struct Tokens {
    verifier: Arc<dyn Verifier>,
    known: Cache<TokenHash, Arc<TokenClaims>>,
}

impl Tokens {
    /// Remembers at most so many.
    pub(super) fn new(verifier: Arc<dyn Verifier>, most: u64) -> Self {
        Self { verifier, known: Cache::new(most) }
    }

    /// What the token of this hash says, when it is good.
    pub(super) async fn verify(
        &self,
        token: &str,
        hash: &TokenHash,
        now: Moment,
    ) -> Result<Arc<TokenClaims>, TokenRefusal> {
        if let Some(claims) = self.known.get(hash) {
            if now < claims.expires_at {
                return Ok(claims);
            }
            self.known.invalidate(hash);
            return Err(TokenRefusal::Expired);
        }
        let claims = Arc::new(self.verifier.verify(token, now).await?);
        self.known.insert(*hash, Arc::clone(&claims));
        Ok(claims)
    }
}
