//! Secrets in the memory of one process: for tests and examples.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{CredentialError, CredentialStore, Entry, Owner, SecretBytes};
use crate::tokens::Later;

/// Forgets everything when the last clone is dropped: the next start is a new installation. Clones share what
/// they hold, as processes share a platform's store.
#[derive(Clone, Default)]
pub struct InMemory {
    kept: Arc<Mutex<HashMap<(Owner, Entry), SecretBytes>>>,
}

impl InMemory {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<(Owner, Entry), SecretBytes>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shows how much there is.
impl fmt::Debug for InMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InMemory({} entries)", self.kept().len())
    }
}

impl CredentialStore for InMemory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
        Box::pin(async move { Ok(self.kept().get(&(owner.clone(), entry)).cloned()) })
    }

    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.kept().insert((owner.clone(), entry), secret.clone());
            Ok(())
        })
    }

    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>> {
        Box::pin(async move {
            self.kept().remove(&(owner.clone(), entry));
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::tests, *};

    #[tokio::test]
    async fn it_keeps_what_it_is_given() {
        let store = InMemory::new();
        tests::keeps(&store.clone()).await;
        assert_eq!(format!("{store:?}"), "InMemory(3 entries)");
    }
}
