//! Short-lived state that several gateways would share. Each purpose has one narrow trait with an in-memory
//! implementation, and a test suite (`contract`) that every other implementation must pass.
//!
//! Used proofs are in the DPoP library (`dpop_bound::ReplayStore`), limits on guessing beside the logins
//! ([`AttemptLimiter`](crate::idp::guesses::AttemptLimiter)). All of them fail closed: if the state is unavailable, the
//! request is refused.
//!
//! Two kinds of shared state need no trait. Nonces depend only on a key: gateways with the same
//! [`GatewayParts::nonce_key`](crate::gateway::GatewayParts::nonce_key) accept each other's. Handoffs are rows of the
//! store, and the statement that deletes a row also returns it, so each is opened once. Another store would have to
//! return a row only once to concurrent readers.

pub mod buckets;
pub mod bulkhead;
pub mod quota;
pub mod rate;
pub mod registry;

/// The error if shared state is unavailable. Its cause is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shared state is unavailable")]
pub struct SharedStateError;

impl SharedStateError {
    /// Logs the cause, and returns the error.
    #[must_use]
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "shared state unavailable");
        Self
    }
}
