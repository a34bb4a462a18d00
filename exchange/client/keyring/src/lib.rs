//! A [`CredentialStore`] that uses the platform's secret store (IDP-18, DPP-07): the Secret Service of a
//! Linux desktop, the login keychain of macOS, or the Credential Manager of Windows.
//!
//! ```no_run
//! use exchange_client::{ClientIdentity, ExchangeAddress, Session};
//! use exchange_client_keyring::PlatformStore;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let address = ExchangeAddress::new("https://id.example/realms/x", "https://api.example")?;
//! let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example")?;
//! let session = Session::builder(&address, &identity).credentials(PlatformStore::new()).open().await?;
//! # let _ = session;
//! # Ok(())
//! # }
//! ```
//!
//! This is a separate crate because it has about 80 dependencies on Linux. It has no fallback: if the
//! platform's store is missing or locked, every call fails, and the next call tries to connect again. The
//! session adds the name of the store and the advice to the error, stops waiting for a call after 30 seconds,
//! and reads a new key back before using it.

mod hex;
mod platform;
mod thread;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use exchange_client::{
    BoxFuture, CredentialEntry, CredentialError, CredentialOwner, CredentialStore, SecretBytes,
};
use keyring_core::{Error, api::CredentialStoreApi};

use crate::thread::StoreThread;

type Store = Arc<dyn CredentialStoreApi + Send + Sync>;

/// The platform's secret store. Clones share one connection.
///
/// Calls run one after another on a separate thread, in the order in which they were made, so that the member
/// sees one prompt at a time. While the store waits for the member, neither the executor nor the end of the
/// program is blocked. If the caller stops waiting for a call, the call still runs, before later calls.
#[derive(Clone)]
pub struct PlatformStore(Arc<StoreThread>);

impl PlatformStore {
    /// Creates a handle to the store of this platform. It connects when it is first used.
    #[must_use]
    pub fn new() -> Self {
        Self::with_connect(platform::connect_store)
    }

    fn with_connect(connect: impl Fn() -> keyring_core::Result<Store> + Send + Sync + 'static) -> Self {
        Self(Arc::new(StoreThread::new(connect)))
    }

    /// Runs a function on an entry. If the existing connection has failed, runs the function again on a new
    /// one.
    fn call_with_entry<T: Send + 'static>(
        &self,
        owner: &CredentialOwner,
        entry: CredentialEntry,
        work: impl Fn(&keyring_core::Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, CredentialError>> {
        let thread = Arc::clone(&self.0);
        // Programs that display keyrings list the entries under the client id.
        let (client, name) = (owner.client().to_owned(), owner.name_within_client(entry));
        Box::pin(async move {
            let with_store = move |store: &Store| {
                let entry = store.build(&client, &name, platform::store_modifiers().as_ref())?;
                work(&entry)
            };
            thread.run_job(with_store).await
        })
    }
}

impl Default for PlatformStore {
    fn default() -> Self {
        Self::new()
    }
}

impl CredentialStore for PlatformStore {
    fn name(&self) -> &'static str {
        platform::NAME
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        let read = self.call_with_entry(owner, entry, |entry| match entry.get_secret() {
            Ok(stored) => Ok(Some(SecretBytes::new(stored))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        });
        Box::pin(async {
            let Some(stored) = read.await? else { return Ok(None) };
            let unreadable = || CredentialError::Other("an entry was changed by another program".to_owned());
            hex::decode_secret(stored).map(Some).ok_or_else(unreadable)
        })
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        let stored = hex::encode_secret(secret);
        self.call_with_entry(owner, entry, move |entry| entry.set_secret(&stored))
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        self.call_with_entry(owner, entry, |entry| match entry.delete_credential() {
            Err(Error::NoEntry) => Ok(()),
            done => done,
        })
    }
}

/// Prints the name of the store.
impl fmt::Debug for PlatformStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlatformStore({})", platform::NAME)
    }
}
