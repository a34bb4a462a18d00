//! A store of secrets that a test gets in the way of.

use crate::{
    credentials::{CredentialError, CredentialStore, Entry, Owner, SecretBytes},
    tokens::Later,
};

/// What is asked of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// [`CredentialStore::read`].
    Read,
    /// [`CredentialStore::write`].
    Write,
    /// [`CredentialStore::delete`].
    Delete,
}

type Hook = dyn Fn(Asked, Entry) -> Later<'static, Result<(), CredentialError>> + Send + Sync;

/// Does as the store below it, once its hook let a call pass: what the hook takes the call takes, and its error is the
/// answer, of which the store below hears nothing.
pub struct Hooked<S> {
    name: &'static str,
    below: S,
    hook: Box<Hook>,
}

impl<S: CredentialStore> Hooked<S> {
    /// A store of this name over another. The hook is called at once, what it gives is waited for.
    pub fn new<F>(
        name: &'static str,
        below: S,
        hook: impl Fn(Asked, Entry) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), CredentialError>> + Send + 'static,
    {
        Self { name, below, hook: Box::new(move |asked, entry| Box::pin(hook(asked, entry))) }
    }
}

impl<S: CredentialStore> CredentialStore for Hooked<S> {
    fn name(&self) -> &str {
        self.name
    }

    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
        let passes = (self.hook)(Asked::Read, entry);
        Box::pin(async move {
            passes.await?;
            self.below.read(owner, entry).await
        })
    }

    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>> {
        let passes = (self.hook)(Asked::Write, entry);
        Box::pin(async move {
            passes.await?;
            self.below.write(owner, entry, secret).await
        })
    }

    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>> {
        let passes = (self.hook)(Asked::Delete, entry);
        Box::pin(async move {
            passes.await?;
            self.below.delete(owner, entry).await
        })
    }
}
