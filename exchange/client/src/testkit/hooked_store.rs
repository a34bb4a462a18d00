//! A secret store for tests that calls a hook before each operation.

use crate::{
    credentials::{CredentialEntry, CredentialError, CredentialOwner, CredentialStore, SecretBytes},
    token_source::BoxFuture,
};

/// An operation of a secret store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreOperation {
    /// The operation [`CredentialStore::read`].
    Read,
    /// The operation [`CredentialStore::write`].
    Write,
    /// The operation [`CredentialStore::delete`].
    Delete,
}

type StoreHook =
    dyn Fn(StoreOperation, CredentialEntry) -> BoxFuture<'static, Result<(), CredentialError>> + Send + Sync;

/// A store that calls a hook before each operation of an inner store. The operation starts after the hook's
/// future has completed. If the hook returns an error, the operation fails with it and does not reach the
/// inner store.
pub struct HookedStore<S> {
    name: &'static str,
    inner: S,
    hook: Box<StoreHook>,
}

impl<S: CredentialStore> HookedStore<S> {
    /// Wraps a store under this name. An operation calls the hook immediately and then awaits its future.
    pub fn new<F>(
        name: &'static str,
        below: S,
        hook: impl Fn(StoreOperation, CredentialEntry) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<(), CredentialError>> + Send + 'static,
    {
        Self { name, inner: below, hook: Box::new(move |operation, entry| Box::pin(hook(operation, entry))) }
    }
}

impl<S: CredentialStore> CredentialStore for HookedStore<S> {
    fn name(&self) -> &str {
        self.name
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        let result = (self.hook)(StoreOperation::Read, entry);
        Box::pin(async move {
            result.await?;
            self.inner.read(owner, entry).await
        })
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        let result = (self.hook)(StoreOperation::Write, entry);
        Box::pin(async move {
            result.await?;
            self.inner.write(owner, entry, secret).await
        })
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        let result = (self.hook)(StoreOperation::Delete, entry);
        Box::pin(async move {
            result.await?;
            self.inner.delete(owner, entry).await
        })
    }
}
