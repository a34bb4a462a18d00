//! Storage of secrets: the key and the tokens of this installation (IDP-18, DPP-07).
//!
//! [`CredentialStore`] is the trait; [`MemoryCredentials`] is for tests, [`InsecureFileCredentials`] for
//! machines without a secret store. There is no default and no fallback: if a store cannot be used, the error
//! names it.

mod file;
mod memory;

use std::{
    fmt,
    future::poll_fn,
    ops::{Deref, DerefMut},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::{sync::Mutex, task::unconstrained};
use zeroize::Zeroizing;

pub use self::{
    file::{CredentialFolderError, InsecureFileCredentials, encode_file_name},
    memory::MemoryCredentials,
};
use crate::{
    address::ExchangeAddress,
    environment::Environment,
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    token_source::BoxFuture,
};

/// The maximum duration of one store call. It leaves time for the member to type the password of a keyring.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes that are zeroed when they are dropped. The type implements neither `Display` nor `Serialize`:
///
/// ```
/// use exchange_client::SecretBytes;
///
/// fn keep(secret: &SecretBytes) -> &[u8] {
///     secret
/// }
/// ```
///
/// ```compile_fail,E0277
/// use exchange_client::SecretBytes;
///
/// fn show(secret: &SecretBytes) -> String {
///     secret.to_string()
/// }
/// ```
///
/// ```compile_fail,E0277
/// use exchange_client::SecretBytes;
///
/// fn write(secret: &SecretBytes) -> serde_json::Result<String> {
///     serde_json::to_string(secret)
/// }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SecretBytes(Zeroizing<Vec<u8>>);

impl SecretBytes {
    /// Takes ownership of the bytes. Earlier copies of them are not zeroed.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(Zeroizing::new(bytes))
    }
}

impl Deref for SecretBytes {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0
    }
}

impl DerefMut for SecretBytes {
    fn deref_mut(&mut self) -> &mut Vec<u8> {
        &mut self.0
    }
}

impl From<Zeroizing<Vec<u8>>> for SecretBytes {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

/// Prints neither the bytes nor their number.
impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes")
    }
}

/// The name of a stored secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CredentialEntry {
    /// The private key of this installation (DPP-07).
    DpopKey,
    /// The refresh token with the thumbprint of its key (IDP-18).
    RefreshToken,
    /// The access token with its lifetime and scopes. Several processes can share it.
    AccessToken,
}

impl CredentialEntry {
    /// All entries.
    pub const ALL: [Self; 3] = [Self::DpopKey, Self::RefreshToken, Self::AccessToken];

    /// Returns the name of the entry in a store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DpopKey => "dpop-key",
            Self::RefreshToken => "refresh-token",
            Self::AccessToken => "access-token",
        }
    }
}

impl fmt::Display for CredentialEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The owner of a set of secrets: client, issuer, gateway, and profile.
///
/// Two gateways of one issuer have separate keys and tokens, because a token for one gateway must not be sent
/// to the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CredentialOwner {
    client_id: Box<str>,
    issuer: Box<str>,
    gateway: Box<str>,
    profile: Box<str>,
}

impl CredentialOwner {
    /// Creates an owner. `profile` separates several members, or several connections of one member, that use
    /// one operating-system account.
    #[must_use]
    pub fn new(address: &ExchangeAddress, identity: &ClientIdentity, profile: &str) -> Self {
        let [client, issuer, gateway, profile] =
            [identity.client_id(), address.issuer(), address.gateway(), profile].map(Into::into);
        Self { client_id: client, issuer, gateway, profile }
    }

    /// Returns the registered client id.
    #[must_use]
    pub fn client(&self) -> &str {
        &self.client_id
    }

    /// Returns the pinned issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Returns the gateway's origin; empty for [`without_gateway`](Self::without_gateway).
    #[must_use]
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// Returns the profile.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// Returns `{client}/{issuer}/{gateway}/{profile}/{entry}`: the name of an entry in a store with one flat
    /// namespace.
    #[must_use]
    pub fn full_name(&self, entry: CredentialEntry) -> String {
        format!("{}/{}", self.client_id, self.name_within_client(entry))
    }

    /// Returns `{issuer}/{gateway}/{profile}/{entry}`: the name of an entry in a store with a namespace per
    /// client.
    #[must_use]
    pub fn name_within_client(&self, entry: CredentialEntry) -> String {
        let Self { issuer, gateway, profile, .. } = self;
        match &**gateway {
            "" => format!("{issuer}/{profile}/{entry}"),
            gateway => format!("{issuer}/{gateway}/{profile}/{entry}"),
        }
    }

    /// Returns the owner under which earlier versions stored secrets. Their names did not include the
    /// gateway. The session only revokes and deletes these entries, when the member disconnects.
    #[must_use]
    pub fn without_gateway(&self) -> Self {
        Self { gateway: "".into(), ..self.clone() }
    }
}

/// A store of secrets. Implement it for another store, such as a vault, a smart card, or a helper program.
///
/// The methods run on the async executor: move blocking work to `tokio::task::spawn_blocking`. The session
/// stops waiting for a call after 30 seconds.
pub trait CredentialStore: Send + Sync {
    /// Returns the name of the store for status output and errors, such as `Secret Service`.
    fn name(&self) -> &str;

    /// Reads an entry; `None` if it does not exist.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read, for example because it is locked. A locked store must
    /// not return `None`.
    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>>;

    /// Writes an entry, replacing the previous value. The write is atomic. Once the future completes, the
    /// entry survives a power loss.
    ///
    /// # Errors
    /// Returns an error if the secret is not stored.
    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>>;

    /// Deletes an entry. Deleting a missing entry succeeds.
    ///
    /// # Errors
    /// Returns an error if the entry may still exist.
    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>>;
}

impl<T: CredentialStore + ?Sized> CredentialStore for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn read<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<Option<SecretBytes>, CredentialError>> {
        (**self).read(owner, entry)
    }

    fn write<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
        secret: &'a SecretBytes,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        (**self).write(owner, entry, secret)
    }

    fn delete<'a>(
        &'a self,
        owner: &'a CredentialOwner,
        entry: CredentialEntry,
    ) -> BoxFuture<'a, Result<(), CredentialError>> {
        (**self).delete(owner, entry)
    }
}

/// The reason a store call failed. The message is printed, so it must not contain a secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// The store does not exist on this machine: there is no service, session or keyring.
    #[error("is not available: {0}")]
    Missing(String),
    /// The store is locked, and the member did not unlock it.
    #[error("is locked")]
    Locked,
    /// The store denies access to this program.
    #[error("denies access to this program: {0}")]
    Denied(String),
    /// The call took longer than 30 seconds.
    #[error("does not respond")]
    Timeout,
    /// Any other failure, with a message.
    #[error("failed: {0}")]
    Other(String),
}

/// The secrets of one owner in a store, with a timeout for each call.
#[derive(Clone)]
pub(crate) struct CredentialVault {
    store: Arc<dyn CredentialStore>,
    owner: CredentialOwner,
    environment: Environment,
    /// Locked while the store processes a call; calls run in the order in which they were made.
    call_lock: Arc<Mutex<()>>,
}

impl CredentialVault {
    pub(crate) fn new(
        store: Arc<dyn CredentialStore>,
        owner: CredentialOwner,
        environment: Environment,
    ) -> Self {
        Self { store, owner, environment, call_lock: Arc::default() }
    }

    /// Returns the vault of [`CredentialOwner::without_gateway`] in the same store.
    pub(crate) fn without_gateway(&self) -> Self {
        Self { owner: self.owner.without_gateway(), ..self.clone() }
    }

    pub(crate) fn store_name(&self) -> &str {
        self.store.name()
    }

    pub(crate) async fn read_entry(&self, entry: CredentialEntry) -> Result<Option<SecretBytes>, Error> {
        self.run_with_timeout(move |vault| async move { vault.store.read(&vault.owner, entry).await }).await
    }

    pub(crate) async fn write_entry(
        &self,
        entry: CredentialEntry,
        secret: &SecretBytes,
    ) -> Result<(), Error> {
        let secret = secret.clone();
        self.run_with_timeout(
            move |vault| async move { vault.store.write(&vault.owner, entry, &secret).await },
        )
        .await
    }

    pub(crate) async fn delete_entry(&self, entry: CredentialEntry) -> Result<(), Error> {
        self.run_with_timeout(move |vault| async move { vault.store.delete(&vault.owner, entry).await }).await
    }

    /// Creates an error of kind [`ErrorKind::Secrets`] that names the store.
    pub(crate) fn store_error(&self, why: &CredentialError) -> Error {
        Error::new(ErrorKind::Secrets, format!("the secret store ({}) {why}", self.store_name()))
    }

    /// Runs a store call and stops waiting for it after [`STORE_TIMEOUT`]. The call itself continues, and
    /// later calls start after it, so the last write takes effect even if the store is slow.
    async fn run_with_timeout<T, F>(&self, work: impl FnOnce(Self) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, CredentialError>> + Send + 'static,
    {
        let work = work(self.clone());
        // Polling the lock once here puts the calls into the queue in the order in which they were made,
        // instead of the order in which their tasks start.
        let mut turn = Box::pin(unconstrained(Arc::clone(&self.call_lock).lock_owned()));
        let taken = poll_fn(|context| Poll::Ready(turn.as_mut().poll(context))).await;
        let work = tokio::spawn(async move {
            let _turn = match taken {
                Poll::Ready(taken) => taken,
                Poll::Pending => turn.await,
            };
            work.await
        });
        let done = tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|error| Err(CredentialError::Other(error.to_string()))),
            () = self.environment.sleep(STORE_TIMEOUT) => Err(CredentialError::Timeout),
        };
        done.map_err(|error| self.store_error(&error))
    }
}

/// Runs blocking work on tokio's blocking threads.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CredentialError> + Send + 'static,
) -> Result<T, CredentialError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(CredentialError::Other(error.to_string())),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testkit::{HookedStore, StoreOperation};

    pub(crate) fn owner(profile: &str) -> CredentialOwner {
        let address = ExchangeAddress::new("https://id.example/realms/x", "https://api.example").unwrap();
        let identity = ClientIdentity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        CredentialOwner::new(&address, &identity, profile)
    }

    pub(crate) fn secret(text: &str) -> SecretBytes {
        SecretBytes::new(text.as_bytes().to_vec())
    }

    /// Checks the requirements for every store: entries and owners are separate, the last write takes effect,
    /// and a deleted entry does not exist.
    pub(crate) async fn keeps(store: &dyn CredentialStore) {
        let (mine, other) = (owner("default"), owner("second"));
        for entry in CredentialEntry::ALL {
            assert_eq!(store.read(&mine, entry).await, Ok(None));
            assert_eq!(store.delete(&mine, entry).await, Ok(()));
            store.write(&mine, entry, &secret("first")).await.unwrap();
            store.write(&mine, entry, &secret(entry.as_str())).await.unwrap();
        }
        store.write(&other, CredentialEntry::DpopKey, &secret("\0\u{ff}")).await.unwrap();
        for entry in CredentialEntry::ALL {
            assert_eq!(store.read(&mine, entry).await, Ok(Some(secret(entry.as_str()))));
        }
        store.delete(&mine, CredentialEntry::DpopKey).await.unwrap();
        assert_eq!(store.read(&mine, CredentialEntry::DpopKey).await, Ok(None));
        assert_eq!(store.read(&mine, CredentialEntry::RefreshToken).await, Ok(Some(secret("refresh-token"))));
        assert_eq!(store.read(&other, CredentialEntry::DpopKey).await, Ok(Some(secret("\0\u{ff}"))));
    }

    /// IDP-18: if a store is locked, slow or missing, the error names the store and the next step.
    #[tokio::test(start_paused = true)]
    async fn unusable_store_is_named() {
        let check = async |slow, error: CredentialError| {
            let broken = HookedStore::new("Broken Store", MemoryCredentials::new(), move |_, _| {
                let error = error.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(slow)).await;
                    Err(error)
                }
            });
            let vault = CredentialVault::new(Arc::new(broken), owner("default"), Environment::system());
            let errors = [
                vault.read_entry(CredentialEntry::DpopKey).await.unwrap_err(),
                vault.write_entry(CredentialEntry::RefreshToken, &secret("hush")).await.unwrap_err(),
                vault.delete_entry(CredentialEntry::AccessToken).await.unwrap_err(),
            ];
            for error in &errors {
                assert_eq!(error.kind(), ErrorKind::Secrets);
                assert!(!format!("{error} {error:?}").contains("hush"));
            }
            assert_eq!(format!("{:?}", secret("hush")), "SecretBytes");
            errors[0].to_string()
        };
        let advice = "; unlock the secret store of this computer, or choose another before signing in";
        assert_eq!(
            check(1, CredentialError::Locked).await,
            format!("the secret store (Broken Store) is locked{advice}")
        );
        assert_eq!(
            check(40, CredentialError::Locked).await,
            format!("the secret store (Broken Store) does not respond{advice}")
        );
        assert_eq!(
            check(0, CredentialError::Missing("no session bus".into())).await,
            format!("the secret store (Broken Store) is not available: no session bus{advice}")
        );
    }

    /// IDP-18: the first of two calls runs first, even if its caller drops it immediately and the runtime
    /// schedules its task last, which a multi-threaded runtime can do.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn calls_are_executed_in_order() {
        let vault =
            CredentialVault::new(Arc::new(MemoryCredentials::new()), owner("default"), Environment::system());
        let stored = tokio::spawn(async move {
            {
                let old = secret("old");
                let mut given_up = Box::pin(vault.write_entry(CredentialEntry::RefreshToken, &old));
                poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_ready())).await;
            }
            vault.write_entry(CredentialEntry::RefreshToken, &secret("new")).await.unwrap();
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            vault.read_entry(CredentialEntry::RefreshToken).await.unwrap()
        });
        assert!(stored.await.unwrap() == Some(secret("new")));
    }

    /// IDP-18: a slow store keeps the last write, and a write whose caller stopped waiting does not undo a
    /// later deletion.
    #[tokio::test(start_paused = true)]
    async fn slow_store_executes_calls_in_order() {
        let inner = MemoryCredentials::new();
        let store = HookedStore::new("Slow Store", inner.clone(), async |operation, _| {
            if operation == StoreOperation::Write {
                tokio::time::sleep(Duration::from_secs(40)).await;
            }
            Ok(())
        });
        let vault = CredentialVault::new(Arc::new(store), owner("default"), Environment::system());
        for text in ["first", "second"] {
            vault.write_entry(CredentialEntry::RefreshToken, &secret(text)).await.unwrap_err();
        }
        let read = loop {
            // The second write is still running.
            if let Ok(read) = vault.read_entry(CredentialEntry::RefreshToken).await {
                break read;
            }
        };
        assert_eq!(read, Some(secret("second")));
        vault.write_entry(CredentialEntry::RefreshToken, &secret("third")).await.unwrap_err();
        vault.delete_entry(CredentialEntry::RefreshToken).await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(inner.read(&owner("default"), CredentialEntry::RefreshToken).await, Ok(None));
    }

    #[test]
    fn names_contain_owner_and_entry() {
        assert_eq!(
            owner("default").full_name(CredentialEntry::DpopKey),
            "desk/https://id.example/realms/x/https://api.example/default/dpop-key"
        );
        assert_eq!(
            CredentialEntry::ALL.map(CredentialEntry::as_str),
            ["dpop-key", "refresh-token", "access-token"]
        );
    }
}
