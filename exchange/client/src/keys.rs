//! The key of this installation: made once, kept over launches and logins, and what the exchange knows the
//! installation by (DPP-07).

use std::sync::Arc;

use dpop_bound::{KeyPair, ProofSigner};

use crate::{
    credentials::{Entry, SecretBytes, Vault},
    error::{Error, ErrorKind},
    tokens::Later,
};

/// Where the key comes from. Implement it for a key that never leaves its hardware: whatever signs is a
/// [`ProofSigner`].
pub trait KeySource: Send + Sync {
    /// The key, if there is one.
    ///
    /// # Errors
    /// When nobody can tell: that there is none ends a connection.
    fn load(&self) -> Later<'_, Result<Option<Arc<dyn ProofSigner>>, Error>>;

    /// A new key, which is there for good once this returns. Asked for only when the member signs in and there
    /// is none.
    ///
    /// # Errors
    /// When there is no key, or it might not be found again.
    fn create(&self) -> Later<'_, Result<Arc<dyn ProofSigner>, Error>>;

    /// Destroys the key: what connects next is a new installation (IDP-24). One that is not there is destroyed.
    ///
    /// # Errors
    /// When it may still be there.
    fn delete(&self) -> Later<'_, Result<(), Error>>;

    /// Destroys what stands in the key's place and is none, nor ever will be: not a key that cannot be had at the
    /// moment. Whether there was such a thing. A source in which there cannot be one keeps this as it is.
    ///
    /// # Errors
    /// When it may still be there.
    fn delete_unreadable(&self) -> Later<'_, Result<bool, Error>> {
        Box::pin(async { Ok(false) })
    }
}

/// A key in software, kept in the secret store in PKCS#8.
pub(crate) struct StoredKey(pub(crate) Vault);

impl StoredKey {
    fn read(&self, bytes: &[u8]) -> Result<Arc<dyn ProofSigner>, Error> {
        let key = KeyPair::from_pkcs8(bytes).map_err(|error| {
            let what =
                format!("what the secret store ({}) holds as this installation's key is none", self.0.name());
            Error::caused(ErrorKind::Secrets, what, error)
        })?;
        Ok(Arc::new(key))
    }
}

impl KeySource for StoredKey {
    fn load(&self) -> Later<'_, Result<Option<Arc<dyn ProofSigner>>, Error>> {
        Box::pin(async {
            let bytes = self.0.read(Entry::DpopKey).await?;
            bytes.map(|bytes| self.read(&bytes)).transpose()
        })
    }

    fn create(&self) -> Later<'_, Result<Arc<dyn ProofSigner>, Error>> {
        Box::pin(async {
            let made = || Error::new(ErrorKind::Secrets, "no key can be made on this computer");
            let key = KeyPair::generate().map_err(|_| made())?;
            let bytes = SecretBytes::from(key.to_pkcs8().map_err(|_| made())?);
            self.0.write(Entry::DpopKey, &bytes).await?;
            // To lose it later ends the connection: better to find out now.
            match self.0.read(Entry::DpopKey).await? {
                Some(kept) if kept == bytes => self.read(&kept),
                _ => {
                    let what = format!("the secret store ({}) does not keep what it is given", self.0.name());
                    Err(Error::new(ErrorKind::Secrets, what))
                }
            }
        })
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        Box::pin(self.0.delete(Entry::DpopKey))
    }

    fn delete_unreadable(&self) -> Later<'_, Result<bool, Error>> {
        Box::pin(async {
            let bytes = self.0.read(Entry::DpopKey).await?;
            let is_none = bytes.is_some_and(|bytes| self.read(&bytes).is_err());
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
        credentials::{CredentialError, CredentialStore, InMemory, Owner, tests},
        environment::Environment,
    };

    fn vault(store: impl CredentialStore + 'static) -> Vault {
        Vault::new(Arc::new(store), tests::owner("default"), Environment::system())
    }

    /// DPP-07: one key over launches, until it is destroyed.
    #[tokio::test]
    async fn a_key_is_kept() {
        let store = InMemory::new();
        let keys = || StoredKey(vault(store.clone()));
        assert!(keys().load().await.unwrap().is_none());
        let made = keys().create().await.unwrap().public_key().thumbprint();
        let found = keys().load().await.unwrap().unwrap().public_key().thumbprint();
        assert_eq!(found, made);
        keys().delete().await.unwrap();
        assert!(keys().load().await.unwrap().is_none());
        assert_ne!(keys().create().await.unwrap().public_key().thumbprint(), made);
        assert!(!keys().delete_unreadable().await.unwrap() && keys().load().await.unwrap().is_some());

        store.write(&tests::owner("default"), Entry::DpopKey, &tests::secret("hush")).await.unwrap();
        let error = keys().load().await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Secrets);
        assert!(!format!("{error:?}").contains("hush"));
        assert!(keys().delete_unreadable().await.unwrap() && keys().load().await.unwrap().is_none());
        assert!(!keys().delete_unreadable().await.unwrap());
    }

    /// Says that it keeps what it is given, and does not.
    struct Forgetful;

    impl CredentialStore for Forgetful {
        fn name(&self) -> &'static str {
            "Forgetful"
        }

        fn read<'a>(
            &'a self,
            _: &'a Owner,
            _: Entry,
        ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
            Box::pin(async { Ok(None) })
        }

        fn write<'a>(
            &'a self,
            _: &'a Owner,
            _: Entry,
            _: &'a SecretBytes,
        ) -> Later<'a, Result<(), CredentialError>> {
            Box::pin(async { Ok(()) })
        }

        fn delete<'a>(&'a self, _: &'a Owner, _: Entry) -> Later<'a, Result<(), CredentialError>> {
            Box::pin(async { Ok(()) })
        }
    }

    /// DPP-07: a key is read back before it is used.
    #[tokio::test]
    async fn a_key_that_is_not_kept_is_not_used() {
        let error = StoredKey(vault(Forgetful)).create().await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Secrets);
        assert!(error.to_string().starts_with("the secret store (Forgetful) does not keep"), "{error}");
    }
}
