//! A request over all its transmissions, and the decision after each response.

use crate::{Attempt, Htu, Origin, ProofWindow, TokenHash, clock::ClockSyncError};

/// A request that may be sent more than once: one retry with a nonce and one with a corrected clock.
#[derive(Clone, Debug)]
pub struct DpopRequest {
    pub(super) method: Box<str>,
    pub(super) htu: Htu,
    pub(super) origin: Origin,
    pub(super) token: Option<TokenHash>,
    pub(super) window: ProofWindow,
    pub(super) waits_for_first: bool,
    pub(super) nonce_attempt: Attempt,
    pub(super) clock_attempt: Attempt,
}

impl DpopRequest {
    /// Creates a request without an access token, such as one to the token or revocation endpoint. `method`
    /// is the method exactly as it is sent.
    #[must_use]
    pub fn new(method: &str, htu: Htu) -> Self {
        Self {
            method: method.into(),
            origin: htu.origin(),
            htu,
            token: None,
            window: ProofWindow::default(),
            waits_for_first: true,
            nonce_attempt: Attempt::First,
            clock_attempt: Attempt::First,
        }
    }

    /// Sets the access token, or replaces it if it expired between two transmissions. The attempts that were
    /// used stay counted.
    #[must_use]
    pub const fn with_token(mut self, token: &TokenHash) -> Self {
        self.token = Some(*token);
        self
    }

    /// Sets the window of the server, if known: `iat` lies in its middle.
    #[must_use]
    pub const fn with_window(mut self, window: ProofWindow) -> Self {
        self.window = window;
        self
    }

    /// Disables waiting for the first request to the same server.
    #[must_use]
    pub const fn without_waiting(mut self) -> Self {
        self.waits_for_first = false;
        self
    }

    /// Returns the URL of the request without query and fragment.
    #[must_use]
    pub const fn htu(&self) -> &Htu {
        &self.htu
    }

    /// Returns the origin of the server.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// The action to take after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum NextStep {
    /// Return the response to the caller: a success, or an error that does not concern the proof.
    Done,
    /// Send the request again immediately, once, with a new proof and the same idempotency key. The server
    /// did not execute it.
    Retry(RetryReason),
    /// Fail: the proof was rejected, and a new proof would be rejected too.
    GiveUp(RetryError),
}

/// The reason for a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RetryReason {
    /// The server required a nonce and sent one.
    Nonce,
    /// The `iat` of the proof did not match the server's clock.
    Clock,
}

/// The reason why a rejected proof is not replaced by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum RetryError {
    /// The server requires the nonce that it was just sent.
    #[error("the server rejected the proof, although it contains the nonce that the server requires")]
    SameNonce,
    /// The server requires a nonce but sent none, or more than one.
    #[error("the server requires a nonce, but did not send exactly one")]
    NoNonce,
    /// The request was already retried with a nonce of this server, which requires another one.
    #[error("the server requires a new nonce for every attempt")]
    AlreadyRetried,
    /// The proof was rejected for a reason other than its time.
    #[error("the server rejected the proof for a reason other than its time")]
    Proof,
    /// The clock of this machine may be wrong and has to be set.
    #[error("the clock may be wrong: {0}")]
    Clock(ClockSyncError),
}
