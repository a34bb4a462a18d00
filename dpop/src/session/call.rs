//! One request of the caller's, over all its transmissions, and what becomes of it.

use crate::{Attempt, Htu, Origin, TokenHash, Window, clock::ClockDoubt};

/// One request, which may be sent more than once: for a nonce, and for the clock, once each.
#[derive(Clone, Debug)]
pub struct Call {
    pub(super) method: Box<str>,
    pub(super) htu: Htu,
    pub(super) origin: Origin,
    pub(super) token: Option<TokenHash>,
    pub(super) window: Window,
    pub(super) waits: bool,
    pub(super) nonce: Attempt,
    pub(super) clock: Attempt,
}

impl Call {
    /// A request with this method, exactly as it is sent, to this URL, without an access token: to the token or
    /// revocation endpoint.
    #[must_use]
    pub fn new(method: &str, htu: Htu) -> Self {
        Self {
            method: method.into(),
            origin: htu.origin(),
            htu,
            token: None,
            window: Window::default(),
            waits: true,
            nonce: Attempt::First,
            clock: Attempt::First,
        }
    }

    /// With an access token. Also for another one, when a token ran out between two transmissions: attempts
    /// that were used up stay so.
    #[must_use]
    pub const fn with_token(mut self, token: &TokenHash) -> Self {
        self.token = Some(*token);
        self
    }

    /// To a server with this window, if that is known: the `iat` is aimed at its middle.
    #[must_use]
    pub const fn within(mut self, window: Window) -> Self {
        self.window = window;
        self
    }

    /// Not waiting for another request to the same server, however little is known of it.
    #[must_use]
    pub const fn without_waiting(mut self) -> Self {
        self.waits = false;
        self
    }

    /// Where it goes to.
    #[must_use]
    pub const fn htu(&self) -> &Htu {
        &self.htu
    }

    /// The server that it goes to.
    #[must_use]
    pub const fn origin(&self) -> &Origin {
        &self.origin
    }
}

/// What to do after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum Next {
    /// Nothing more about proofs: it is a success, or a refusal for something else.
    Done,
    /// Send the request again, at once and once, with a new proof; a write with the idempotency key that it
    /// had. It was not carried out.
    Again(Why),
    /// The proof was refused, and another would be.
    GiveUp(GiveUp),
}

/// Why a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Why {
    /// The server asked for a nonce, and handed one out.
    Nonce,
    /// The server's clock shows another time than the proof did.
    Clock,
}

/// Why a refused proof is not replaced by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum GiveUp {
    /// The server asks for the nonce that it was just sent.
    #[error("the server asks for the nonce that it was sent")]
    SameNonce,
    /// The server asks for a nonce and hands none out, or not exactly one.
    #[error("the server asks for a nonce and hands none out")]
    NoNonce,
    /// The request was sent with a nonce of this server, and it asks for another.
    #[error("the server asks for another nonce each time")]
    AlreadyRetried,
    /// The proof's time is right; something else about it is not.
    #[error("the server refused the proof, and not for its time")]
    Proof,
    /// The clock of this machine has to be set.
    #[error("the clock may be wrong: {0}")]
    Clock(ClockDoubt),
}
