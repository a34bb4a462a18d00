//! Short-lived state that several gateways would have to share. Each purpose has a narrow trait with an
//! in-memory implementation, and a test suite (`contract`) that every other implementation must pass.
//!
//! The store of used proofs is defined in the DPoP library (`dpop_bound::ReplayStore`), and the limits on
//! guessing in [`AttemptLimiter`](crate::idp::guesses::AttemptLimiter). All of this state fails closed: if it
//! is unavailable, the request is refused. The limiter of newcomers is an exception, because later limits
//! apply to its requests.
//!
//! Two kinds of shared state need no trait. Nonces depend only on a key: gateways with the same
//! [`GatewayParts::nonce_key`](crate::gateway::GatewayParts::nonce_key) accept each other's nonces. Handoffs
//! are rows of the store. The statement that deletes a row also returns it, so each handoff can be used only
//! once. Another kind of store would have to guarantee this for concurrent reads.

pub mod buckets;
pub mod bulkhead;
pub mod quota;
pub mod rate;
pub mod registry;

/// The error for shared state that is unavailable. The log contains the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the shared state is unavailable")]
pub struct SharedStateError;

impl SharedStateError {
    /// Logs the cause and returns the error.
    #[must_use]
    pub fn from_error(error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "shared state unavailable");
        Self
    }
}
