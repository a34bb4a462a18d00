//! A cache of verified access tokens by their hashes, so that the signature of a token is verified only once.

use std::sync::Arc;

use dpop_bound::TokenHash;
use moka::sync::Cache;

use crate::idp::tokens::{TokenClaims, TokenError, TokenVerifier};
use crate::time::Moment;

/// A token verifier with a bounded cache. Other stages check revocations for each request.
pub(super) struct TokenCache {
    verifier: Arc<dyn TokenVerifier>,
    verified: Cache<TokenHash, Arc<TokenClaims>>,
}

impl TokenCache {
    /// Creates a cache for at most `limit` tokens.
    pub(super) fn new(verifier: Arc<dyn TokenVerifier>, limit: u64) -> Self {
        Self { verifier, verified: Cache::new(limit) }
    }

    /// Returns the number of cached tokens, which is approximate, and the capacity.
    pub(super) fn usage(&self) -> (u64, u64) {
        let limit = self.verified.policy().max_capacity().unwrap_or(u64::MAX);
        (self.verified.entry_count(), limit)
    }

    /// Returns the claims of a token, from the cache or by verifying the token.
    pub(super) async fn verify_token(
        &self,
        token: &str,
        hash: &TokenHash,
        now: Moment,
    ) -> Result<Arc<TokenClaims>, TokenError> {
        if let Some(claims) = self.verified.get(hash) {
            if now < claims.expires_at {
                return Ok(claims);
            }
            self.verified.invalidate(hash);
            return Err(TokenError::Expired);
        }
        let claims = Arc::new(self.verifier.verify_token(token, now).await?);
        self.verified.insert(*hash, Arc::clone(&claims));
        Ok(claims)
    }
}
