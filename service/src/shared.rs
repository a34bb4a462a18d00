//! What several gateways would share for a short while: one narrow trait per meaning, each with a form in
//! memory, and each with its rules as tests that every other form has to pass (`contract`).
//!
//! Live proofs have theirs in the DPoP library (`dpop_bound::ReplayStore`). All of them are closed: what
//! cannot be asked refuses.

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
