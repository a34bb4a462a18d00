//! A store of secrets in the memory of one process, for tests and examples.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{CredentialEntry, CredentialError, CredentialOwner, CredentialStore, SecretBytes};
use crate::token_source::BoxFuture;

/// A store in memory. Clones share their entries, as processes share a platform's store. The entries are lost
/// when the last clone is dropped, so the next process is a new installation.
#[derive(Clone, Default)]
pub struct MemoryCredentials {
    entries: Arc<Mutex<HashMap<(CredentialOwner, CredentialEntry), SecretBytes>>>,
}

impl MemoryCredentials {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock_entries(&self) -> MutexGuard<'_, HashMap<(CredentialOwner, CredentialEntry), SecretBytes>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints only the number of entries.
impl fmt::Debug for MemoryCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InMemory({} entries)", self.lock_entries().len())
    }
}

impl CredentialStore for MemoryCredentials {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        Box::pin(async move { Ok(self.lock_entries().get(&(owner.clone(), entry)).cloned()) })
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.lock_entries().insert((owner.clone(), entry), secret.clone());
            Ok(())
        })
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.lock_entries().remove(&(owner.clone(), entry));
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};

    #[tokio::test]
    async fn stored_entries_round_trip() {
        let store = MemoryCredentials::new();
        tests::keeps(&store.clone()).await;
        assert_eq!(format!("{store:?}"), "InMemory(3 entries)");
    }
}
