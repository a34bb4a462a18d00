//! The interface between transport and session. The transport requests tokens and proofs, and reports
//! rejections. The session refreshes tokens, halts, and ends.

use std::{future::Future, pin::Pin, sync::Arc};

use dpop_bound::{AccessToken, ProofSigner, TokenHash};
use exchange_api::{Response, scopes::Scope};

use crate::{environment::Environment, error::Error, ownership::Ownership};

/// A boxed future that can be sent between threads. The public traits return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The DPoP state for one server: nonces, clock estimate, and the key of this installation.
pub(crate) type ProofSession = dpop_bound::Session<Arc<dyn ProofSigner>, Environment>;

/// An access token with all data that is needed to sign calls.
#[derive(Clone)]
pub(crate) struct AccessGrant {
    /// The access token, bound to the key of `proofs`.
    pub(crate) token: Arc<AccessToken>,
    pub(crate) proofs: Arc<ProofSession>,
    /// The owner of the token. The transport adds it to the extensions of every response.
    pub(crate) owner: Ownership,
    /// The thumbprint of the key.
    pub(crate) jkt: Box<str>,
    /// The number of times that the session had been opened or resumed when the grant was created. It is used
    /// to ignore late responses.
    pub(crate) open_count: u32,
}

/// Data about a connection that is stored with the session.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ConnectionNote<'a> {
    /// The id of the installation at the exchange (SVC-07).
    Installation(&'a str),
    /// The label that the member chose (SVC-12).
    Label(&'a str),
}

/// A source of tokens. The session implements it.
pub(crate) trait TokenSource: Send + Sync {
    /// Returns the grant for signing a call now. Refreshes the token first if it is about to expire.
    ///
    /// Fails with an error that describes the state of the session if there is no token: signed out, halted,
    /// or ended.
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>>;

    /// Returns the DPoP state for the gateway, whether or not there is a token; `None` if there is no key.
    fn gateway_proofs(&self) -> Option<Arc<ProofSession>>;

    /// Returns a grant with a different token after the gateway rejected one (ERR-05). Uses a newer token of
    /// this or another process if there is one. Otherwise refreshes once for all concurrent callers.
    fn renew_grant<'a>(&'a self, refused: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>>;

    /// Returns the owner of the calls that are signed now, as far as this process has detected changes;
    /// `None` if no member is signed in.
    fn current_owner(&self) -> Option<Ownership>;

    /// Returns the scopes of the current token, as far as this process has detected changes. A refresh may
    /// change them (IDP-17).
    fn granted_scopes(&self) -> Arc<[Scope]> {
        Arc::default()
    }

    /// Returns true if the connection is still the stored one, so that no process has disconnected it or
    /// signed in again. Fails if the secret store cannot be read.
    fn is_current_connection<'a>(&'a self, owner: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>>;

    /// Stores data about a connection for this and the next process. Has no effect if any process has
    /// replaced the connection. Fails if the data cannot be written.
    fn record_note<'a>(
        &'a self,
        owner: &'a Ownership,
        note: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>>;

    /// Reports an error that affects the whole session, of kind `Halted` or `Ended`. Deletes the secrets that
    /// must be deleted after the error (ERR-12, ERR-13) before it returns. Has no effect if the grant belongs
    /// to an earlier connection, or is older than the end of a halt.
    fn report_rejection<'a>(&'a self, refused: &'a AccessGrant, error: &'a Error) -> BoxFuture<'a, ()>;
}

/// Access to the owner of calls, for caches of responses. It has no token source if the program created the
/// cache itself and guarantees that all calls belong to one member.
#[derive(Clone, Default)]
pub(crate) struct CurrentSigner(Option<Arc<dyn TokenSource>>);

impl CurrentSigner {
    pub(crate) const fn new(tokens: Option<Arc<dyn TokenSource>>) -> Self {
        Self(tokens)
    }

    /// Returns the owner of the calls that are signed now.
    pub(crate) fn owner(&self) -> Option<Ownership> {
        self.0.as_ref()?.current_owner()
    }

    /// Returns the owner of the call to which a response belongs.
    pub(crate) fn response_owner<T>(&self, response: &Response<T>) -> Option<Ownership> {
        self.0.as_ref().and_then(|_| response.extensions().get::<Ownership>().cloned())
    }
}
