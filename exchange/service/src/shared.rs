//! What several gateways would share for a short while: one narrow trait per meaning, each with a form in
//! memory, and each with its rules as tests that every other form has to pass (`contract`).
//!
//! Live proofs have theirs in the DPoP library (`dpop_bound::ReplayStore`), attempts at guessing beside the logins
//! ([`Guesses`](crate::idp::guesses::Guesses)). All of them are closed: what cannot be asked refuses.
//!
//! Two things that are shared as well need no trait. Nonces are made and judged by a key alone: gateways that are to
//! take each other's are given the same bytes ([`Parts::nonce_key`](crate::gateway::Parts::nonce_key)), and nothing is
//! asked. Handoffs are rows of the store, beside the drafts that they open, and taken by the one statement that
//! deletes them: whoever shares the store shares them, and another store would have to give a row once when two ask
//! for it at the same time.

pub mod buckets;
pub mod bulkhead;
pub mod quota;
pub mod rate;
pub mod registry;

/// It cannot be asked; why is in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what is shared cannot be asked")]
pub struct Unavailable;

impl Unavailable {
    /// Says why in the log.
    #[must_use]
    pub fn because(error: &dyn std::error::Error) -> Self {
        tracing::warn!(%error, "what is shared cannot be asked");
        Self
    }
}
