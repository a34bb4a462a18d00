//! The key of this installation. It is created once, survives restarts and logins, and identifies the
//! installation to the exchange (DPP-07).

use std::sync::Arc;

use dpop_bound::{KeyPair, ProofSigner, backend::KeyError};

use crate::{
    credentials::{CredentialEntry, CredentialVault, SecretBytes},
    error::{Error, ErrorKind},
    token_source::BoxFuture,
};

/// A source of the installation key. Implement it for a key that never leaves its hardware; any
/// [`ProofSigner`] can be used for signing.
pub trait KeySource: Send + Sync {
    /// Loads the key; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if it cannot be determined whether the key exists. `None` ends the connection.
    fn load(&self) -> BoxFuture<'_, Result<Option<Arc<dyn ProofSigner>>, Error>>;

    /// Creates a key. The key must be stored permanently before the future completes. The session calls this
    /// only during sign-in, if there is no key.
    ///
    /// # Errors
    /// Returns an error if no key was created, or if it may not be found again.
    fn create(&self) -> BoxFuture<'_, Result<Arc<dyn ProofSigner>, Error>>;

    /// Deletes the key, so that the next connection is a new installation (IDP-24). Deleting a missing key
    /// succeeds.
    ///
    /// # Errors
    /// Returns an error if the key may still exist.
    fn delete(&self) -> BoxFuture<'_, Result<(), Error>>;

    /// Deletes the stored entry if it can never be used as a key, and returns true if there was such an
    /// entry. A key that is only temporarily unavailable is kept.
    ///
    /// The default implementation does nothing and is for sources that cannot contain such an entry.
    ///
    /// # Errors
    /// Returns an error if the entry may still exist.
    fn delete_unreadable(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async { Ok(false) })
    }
}

/// A software key in PKCS#8, which is kept in the secret store.
pub(crate) struct StoredKey(pub(crate) CredentialVault);

impl StoredKey {
    fn parse_key(&self, bytes: &[u8]) -> Result<Arc<dyn ProofSigner>, Error> {
        let key = KeyPair::from_pkcs8(bytes).map_err(|error| {
            let what = format!(
                "the secret store ({}) holds an invalid key of this installation",
                self.0.store_name()
            );
            Error::with_source(ErrorKind::Secrets, what, error)
        })?;
        Ok(Arc::new(key))
    }
}

impl KeySource for StoredKey {
    fn load(&self) -> BoxFuture<'_, Result<Option<Arc<dyn ProofSigner>>, Error>> {
        Box::pin(async {
            let bytes = self.0.read_entry(CredentialEntry::DpopKey).await?;
            bytes.map(|bytes| self.parse_key(&bytes)).transpose()
        })
    }

    fn create(&self) -> BoxFuture<'_, Result<Arc<dyn ProofSigner>, Error>> {
        Box::pin(async {
            let error = |source: KeyError| {
                Error::with_source(ErrorKind::Secrets, "cannot create the key of this installation", source)
            };
            let key = KeyPair::generate().map_err(error)?;
            let bytes = SecretBytes::from(key.to_pkcs8().map_err(error)?);
            self.0.write_entry(CredentialEntry::DpopKey, &bytes).await?;
            // The key is read back now, because losing it later would end the connection.
            match self.0.read_entry(CredentialEntry::DpopKey).await? {
                Some(stored) if stored == bytes => self.parse_key(&stored),
                _ => {
                    let what = format!("the secret store ({}) did not store the key", self.0.store_name());
                    Err(Error::new(ErrorKind::Secrets, what))
                }
            }
        })
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(self.0.delete_entry(CredentialEntry::DpopKey))
    }

    fn delete_unreadable(&self) -> BoxFuture<'_, Result<bool, Error>> {
        Box::pin(async {
            let bytes = self.0.read_entry(CredentialEntry::DpopKey).await?;
            let is_none = bytes.is_some_and(|bytes| self.parse_key(&bytes).is_err());
            if is_none {
                self.delete().await?;
            }
            Ok(is_none)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        credentials::{CredentialError, CredentialOwner, CredentialStore, MemoryCredentials, tests},
        environment::Environment,
    };

    fn vault(store: impl CredentialStore + 'static) -> CredentialVault {
        CredentialVault::new(Arc::new(store), tests::owner("default"), Environment::system())
    }

    /// DPP-07: the same key is used after restarts, until it is deleted.
    #[tokio::test]
    async fn key_persists_until_deleted() {
        let store = MemoryCredentials::new();
        let keys = || StoredKey(vault(store.clone()));
        assert!(keys().load().await.unwrap().is_none());
        let created = keys().create().await.unwrap().public_key().thumbprint();
        let found = keys().load().await.unwrap().unwrap().public_key().thumbprint();
        assert_eq!(found, created);
        keys().delete().await.unwrap();
        assert!(keys().load().await.unwrap().is_none());
        assert_ne!(keys().create().await.unwrap().public_key().thumbprint(), created);
        assert!(!keys().delete_unreadable().await.unwrap() && keys().load().await.unwrap().is_some());

        store
            .write(&tests::owner("default"), CredentialEntry::DpopKey, &tests::secret("hush"))
            .await
            .unwrap();
        let error = keys().load().await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Secrets);
        assert!(!format!("{error:?}").contains("hush"));
        assert!(keys().delete_unreadable().await.unwrap() && keys().load().await.unwrap().is_none());
        assert!(!keys().delete_unreadable().await.unwrap());
    }

    /// A store that reports success but keeps nothing.
    struct ForgetfulStore;

    impl CredentialStore for ForgetfulStore {
        fn name(&self) -> &'static str {
            "Forgetful"
        }

        fn read<'a>(
            &'a self,
            _: &'a CredentialOwner,
            _: CredentialEntry,
        ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
            Box::pin(async { Ok(None) })
        }

        fn write<'a>(
            &'a self,
            _: &'a CredentialOwner,
            _: CredentialEntry,
            _: &'a SecretBytes,
        ) -> BoxFuture<'a, Result<(), CredentialError>> {
            Box::pin(async { Ok(()) })
        }

        fn delete<'a>(
            &'a self,
            _: &'a CredentialOwner,
            _: CredentialEntry,
        ) -> BoxFuture<'a, Result<(), CredentialError>> {
            Box::pin(async { Ok(()) })
        }
    }

    /// DPP-07: a new key is read back before it is used.
    #[tokio::test]
    async fn key_that_was_not_stored_is_not_used() {
        let error = StoredKey(vault(ForgetfulStore)).create().await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Secrets);
        assert!(error.to_string().starts_with("the secret store (Forgetful) did not store"), "{error}");
    }
}
