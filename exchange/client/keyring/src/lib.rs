//! The platform's store of secrets (IDP-18, DPP-07): the Secret Service of a Linux desktop, the login keychain of
//! macOS, the Credential Manager of Windows.
//!
//! ```no_run
//! use exchange_client::{Identity, Place, Session};
//! use exchange_client_keyring::PlatformStore;
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let place = Place::new("https://id.example/realms/x", "https://api.example")?;
//! let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example")?;
//! let session = Session::builder(&place, &identity).credentials(PlatformStore::new()).open().await?;
//! # let _ = session;
//! # Ok(())
//! # }
//! ```
//!
//! A crate of its own, since on Linux it brings some eighty others with it. It keeps nothing anywhere else: where
//! there is no such store, or it is locked, every call is an error that says so, and the next call looks anew.
//! The session names the store and what to do, gives up a call after 30 seconds, and reads a new key back before
//! it uses it.

mod hex;
mod platform;
mod thread;

#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc};

use exchange_client::{CredentialError, CredentialStore, Entry, Later, Owner, SecretBytes};
use keyring_core::{Error, api::CredentialStoreApi};

use crate::thread::Thread;

type Store = Arc<dyn CredentialStoreApi + Send + Sync>;

/// The platform's store. Cloning shares its connection.
///
/// Calls are made one after another, in their order, on a thread of their own, so that a member is asked one
/// thing at a time. A store that waits for the member keeps neither the executor busy nor the program from
/// ending. A call that was given up is still made when its turn comes, before those that came later.
#[derive(Clone)]
pub struct PlatformStore(Arc<Thread>);

impl PlatformStore {
    /// The store of this platform. It is not looked for before it is needed.
    #[must_use]
    pub fn new() -> Self {
        Self::over(platform::connect)
    }

    fn over(connect: impl Fn() -> keyring_core::Result<Store> + Send + Sync + 'static) -> Self {
        Self(Arc::new(Thread::new(connect)))
    }

    /// Works with an entry; twice, when a connection from before is no longer one.
    fn with<T: Send + 'static>(
        &self,
        owner: &Owner,
        entry: Entry,
        work: impl Fn(&keyring_core::Entry) -> keyring_core::Result<T> + Send + 'static,
    ) -> Later<'static, Result<T, CredentialError>> {
        let thread = Arc::clone(&self.0);
        // The client's id is the name under which a member finds the entries in a keyring's own program.
        let (client, name) = (owner.client().to_owned(), owner.name_within(entry));
        Box::pin(async move {
            let with_store = move |store: &Store| {
                let entry = store.build(&client, &name, platform::modifiers().as_ref())?;
                work(&entry)
            };
            thread.call(with_store).await
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
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
        let read = self.with(owner, entry, |entry| match entry.get_secret() {
            Ok(kept) => Ok(Some(SecretBytes::new(kept))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(error),
        });
        Box::pin(async {
            let Some(kept) = read.await? else { return Ok(None) };
            let unreadable = || CredentialError::Failed("an entry was changed by another program".to_owned());
            hex::decoded(kept).map(Some).ok_or_else(unreadable)
        })
    }

    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>> {
        let kept = hex::encoded(secret);
        self.with(owner, entry, move |entry| entry.set_secret(&kept))
    }

    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>> {
        self.with(owner, entry, |entry| match entry.delete_credential() {
            Err(Error::NoEntry) => Ok(()),
            done => done,
        })
    }
}

/// Shows its name.
impl fmt::Debug for PlatformStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PlatformStore({})", platform::NAME)
    }
}
