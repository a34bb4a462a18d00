//! The seam between what sends and who signs: the transport asks for a token and a key, and tells what became
//! of them; the session refreshes, halts and ends.

use std::{future::Future, pin::Pin, sync::Arc};

use dpop_bound::{AccessToken, ProofSigner, TokenHash};
use exchange_api::{Answer, scopes::Scope};

use crate::{environment::Environment, error::Error, whose::Whose};

/// A future in a box: what the traits give that others implement.
pub type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Nonces, clocks and the key of this installation.
pub(crate) type Proofs = dpop_bound::Session<Arc<dyn ProofSigner>, Environment>;

/// What a call is signed with.
#[derive(Clone)]
pub(crate) struct Grant {
    /// Bound to the key of `proofs`.
    pub(crate) token: Arc<AccessToken>,
    /// Makes its proofs.
    pub(crate) proofs: Arc<Proofs>,
    /// Whose it is; among the extensions of the answers that are got with it.
    pub(crate) whose: Whose,
    /// The thumbprint of the key.
    pub(crate) jkt: Box<str>,
    /// How often the session was opened or resumed by then: a late answer says nothing of what came after it.
    pub(crate) opened: u32,
}

/// Something that the exchange said of a connection, to be noted with it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Note<'a> {
    /// What it calls the installation (SVC-07).
    Installation(&'a str),
    /// What the member calls it (SVC-12).
    Label(&'a str),
}

/// Who has tokens.
pub(crate) trait Tokens: Send + Sync {
    /// What to sign a call with now: refreshed before if the token is about to run out.
    ///
    /// Fails with the state of the session where there is none: signed out, halted, ended.
    fn current(&self) -> Later<'_, Result<Grant, Error>>;

    /// What is known of the gateway's clock and nonces with the key that there is, whether there is a token or not.
    fn gateway(&self) -> Option<Arc<Proofs>>;

    /// Another than the token that the gateway did not take (ERR-05): a newer one if there is one by now, in
    /// this process or another, else it is refreshed, once for all who ask.
    fn renewed<'a>(&'a self, refused: &'a TokenHash) -> Later<'a, Result<Grant, Error>>;

    /// Whose the calls are that are signed now, as far as this process knows; nothing when nobody is signed in.
    fn whose(&self) -> Option<Whose>;

    /// What the token was granted, as far as this process knows: it may be another after a refresh (IDP-17).
    fn scopes(&self) -> Arc<[Scope]> {
        Arc::default()
    }

    /// Whether this connection is still the one that is kept, for every process: nobody disconnected or signed in anew.
    /// Fails when the secret store cannot be asked.
    fn is_kept<'a>(&'a self, of: &'a Whose) -> Later<'a, Result<bool, Error>>;

    /// Notes what was said of this connection, for the grants that follow and for the next process; nothing when there is
    /// another connection by now, in whichever process. Fails when it cannot be written down.
    fn noted<'a>(&'a self, of: &'a Whose, note: Note<'a>) -> Later<'a, Result<(), Error>>;

    /// A refusal that is about the session and not about the call alone: kinds `Halted` and `Ended`. Deletes
    /// what the row asks for (ERR-12, ERR-13) before it returns. One that comes so late that the grant is of
    /// another connection than the one there is, or of before a halt that was lifted, changes nothing.
    fn told<'a>(&'a self, refused: &'a Grant, refusal: &'a Error) -> Later<'a, ()>;
}

/// Who signs calls, for what is remembered of their answers; nothing where a program made that by hand, and answers for
/// it that the calls are one member's.
#[derive(Clone, Default)]
pub(crate) struct Signers(Option<Arc<dyn Tokens>>);

impl Signers {
    pub(crate) const fn new(tokens: Option<Arc<dyn Tokens>>) -> Self {
        Self(tokens)
    }

    /// Whose the calls are that are signed now.
    pub(crate) fn now(&self) -> Option<Whose> {
        self.0.as_ref()?.whose()
    }

    /// Whose an answer is.
    pub(crate) fn of<T>(&self, answer: &Answer<T>) -> Option<Whose> {
        self.0.as_ref().and_then(|_| answer.extensions.get::<Whose>().cloned())
    }
}
