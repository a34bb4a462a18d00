//! Where secrets are kept: the key of this installation and its tokens, and nothing else (IDP-18, DPP-07).
//!
//! A [`CredentialStore`] is whatever keeps bytes for nobody but the member: a platform's store, [`InMemory`] for
//! tests, or [`InsecureFile`], which is never chosen for anybody. There is no fallback from one to another: a
//! store that cannot be used is an error that names it.

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
    file::{InsecureFile, UnusableFolder, file_name},
    memory::InMemory,
};
use crate::{
    environment::Environment,
    error::{Error, ErrorKind},
    identity::Identity,
    place::Place,
    tokens::Later,
};

/// How long a store may take for one answer: a member may have to type the password of a keyring.
const LIMIT: Duration = Duration::from_secs(30);

/// Bytes that are cleared when they are dropped. They go to the store, and nowhere where anybody reads:
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
    /// These.
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

/// Not even how many there are.
impl fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretBytes")
    }
}

/// What is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Entry {
    /// The private half of this installation's key (DPP-07).
    DpopKey,
    /// The refresh token (IDP-18), and which key it is bound to.
    RefreshToken,
    /// The access token, until when it holds and what for: so that several processes share one.
    AccessToken,
}

impl Entry {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DpopKey, Self::RefreshToken, Self::AccessToken];

    /// Its name in a store.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DpopKey => "dpop-key",
            Self::RefreshToken => "refresh-token",
            Self::AccessToken => "access-token",
        }
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose secrets they are: those of a client, at an issuer, for a gateway, under a profile. Of two gateways of one issuer
/// each has a key and tokens of its own: a token for one is nothing that the other is to see.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Owner {
    client: Box<str>,
    issuer: Box<str>,
    gateway: Box<str>,
    profile: Box<str>,
}

impl Owner {
    /// `profile` tells the members of one machine's account apart, and several connections of one member.
    #[must_use]
    pub fn new(place: &Place, identity: &Identity, profile: &str) -> Self {
        let [client, issuer, gateway, profile] =
            [identity.client_id(), place.issuer(), place.gateway(), profile].map(Into::into);
        Self { client, issuer, gateway, profile }
    }

    /// The client's id.
    #[must_use]
    pub fn client(&self) -> &str {
        &self.client
    }

    /// The pinned issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The gateway's origin; empty in the [name of before](Self::before_gateways).
    #[must_use]
    pub fn gateway(&self) -> &str {
        &self.gateway
    }

    /// The profile.
    #[must_use]
    pub fn profile(&self) -> &str {
        &self.profile
    }

    /// `{client}/{issuer}/{gateway}/{profile}/{entry}`: what an entry is called where one name is all there is.
    #[must_use]
    pub fn name_of(&self, entry: Entry) -> String {
        format!("{}/{}", self.client, self.name_within(entry))
    }

    /// `{issuer}/{gateway}/{profile}/{entry}`: what an entry is called among those of the client.
    #[must_use]
    pub fn name_within(&self, entry: Entry) -> String {
        let Self { issuer, gateway, profile, .. } = self;
        match &**gateway {
            "" => format!("{issuer}/{profile}/{entry}"),
            gateway => format!("{issuer}/{gateway}/{profile}/{entry}"),
        }
    }

    /// What the same owner was called before gateways were part of the name. A session reads nothing from there but what
    /// it revokes, and deletes it with a disconnection.
    #[must_use]
    pub fn before_gateways(&self) -> Self {
        Self { gateway: "".into(), ..self.clone() }
    }
}

/// Keeps secrets. Implement it for a store of your own: a vault, a smart card's memory, a helper program.
///
/// What blocks belongs on a thread of its own (`tokio::task::spawn_blocking`): a store is called from async
/// code. The session gives up a call after 30 seconds.
pub trait CredentialStore: Send + Sync {
    /// What it is called in a status and in errors: `Secret Service`.
    fn name(&self) -> &str;

    /// What is kept under this name; `None` when nothing is.
    ///
    /// # Errors
    /// When nobody can tell, such as of a store that is locked. That an entry does not exist is never said of
    /// such a one.
    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>>;

    /// Keeps it in the place of what was there: whole or not at all, and over a loss of power once this
    /// returns.
    ///
    /// # Errors
    /// When it is not kept.
    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>>;

    /// Forgets it. To forget what is not there is no error.
    ///
    /// # Errors
    /// When it may still be there.
    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>>;
}

impl<T: CredentialStore + ?Sized> CredentialStore for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn read<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
    ) -> Later<'a, Result<Option<SecretBytes>, CredentialError>> {
        (**self).read(owner, entry)
    }

    fn write<'a>(
        &'a self,
        owner: &'a Owner,
        entry: Entry,
        secret: &'a SecretBytes,
    ) -> Later<'a, Result<(), CredentialError>> {
        (**self).write(owner, entry, secret)
    }

    fn delete<'a>(&'a self, owner: &'a Owner, entry: Entry) -> Later<'a, Result<(), CredentialError>> {
        (**self).delete(owner, entry)
    }
}

/// Why a store did not do it. What it says must hold no secret: it is printed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CredentialError {
    /// There is no such store here: no service, no session, no keyring.
    #[error("is not there: {0}")]
    Missing(String),
    /// It is locked, and nobody unlocked it.
    #[error("is locked")]
    Locked,
    /// It does not let this program in.
    #[error("lets this program not in: {0}")]
    Denied(String),
    /// It took longer than 30 seconds.
    #[error("does not answer")]
    Silent,
    /// Something else went wrong.
    #[error("failed: {0}")]
    Failed(String),
}

/// The secrets of one owner, with a limit of time for each call.
#[derive(Clone)]
pub(crate) struct Vault {
    store: Arc<dyn CredentialStore>,
    owner: Owner,
    environment: Environment,
    /// Held by the call that the store works on, in the order of the calls.
    turn: Arc<Mutex<()>>,
}

impl Vault {
    pub(crate) fn new(store: Arc<dyn CredentialStore>, owner: Owner, environment: Environment) -> Self {
        Self { store, owner, environment, turn: Arc::default() }
    }

    /// What the same store keeps under names of before gateways were part of them.
    pub(crate) fn before_gateways(&self) -> Self {
        Self { owner: self.owner.before_gateways(), ..self.clone() }
    }

    /// The name of the store.
    pub(crate) fn name(&self) -> &str {
        self.store.name()
    }

    pub(crate) async fn read(&self, entry: Entry) -> Result<Option<SecretBytes>, Error> {
        self.within(move |vault| async move { vault.store.read(&vault.owner, entry).await }).await
    }

    pub(crate) async fn write(&self, entry: Entry, secret: &SecretBytes) -> Result<(), Error> {
        let secret = secret.clone();
        self.within(move |vault| async move { vault.store.write(&vault.owner, entry, &secret).await }).await
    }

    pub(crate) async fn delete(&self, entry: Entry) -> Result<(), Error> {
        self.within(move |vault| async move { vault.store.delete(&vault.owner, entry).await }).await
    }

    /// An error of the kind [`ErrorKind::Secrets`] that names the store.
    pub(crate) fn failed(&self, why: &CredentialError) -> Error {
        Error::new(ErrorKind::Secrets, format!("the secret store ({}) {why}", self.name()))
    }

    /// Gives the answer up after a while, and not the deed: what a slow store was told last is what it keeps, since
    /// later calls wait until it is done.
    async fn within<T, F>(&self, work: impl FnOnce(Self) -> F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, CredentialError>> + Send + 'static,
    {
        let work = work(self.clone());
        // Its place in the queue is that of the call, whenever the task comes to run.
        let mut turn = Box::pin(unconstrained(Arc::clone(&self.turn).lock_owned()));
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
            done = work => done.unwrap_or_else(|error| Err(CredentialError::Failed(error.to_string()))),
            () = self.environment.sleep(LIMIT) => Err(CredentialError::Silent),
        };
        done.map_err(|error| self.failed(&error))
    }
}

/// Runs what blocks apart from the executor.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CredentialError> + Send + 'static,
) -> Result<T, CredentialError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(CredentialError::Failed(error.to_string())),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testkit::{Asked, Hooked};

    pub(crate) fn owner(profile: &str) -> Owner {
        let place = Place::new("https://id.example/realms/x", "https://api.example").unwrap();
        let identity = Identity::new("desk", "Desk", "1.0.0", "https://desk.example").unwrap();
        Owner::new(&place, &identity, profile)
    }

    pub(crate) fn secret(text: &str) -> SecretBytes {
        SecretBytes::new(text.as_bytes().to_vec())
    }

    /// What every store has to keep: entries and owners apart, the last write, nothing after a deletion.
    pub(crate) async fn keeps(store: &dyn CredentialStore) {
        let (mine, other) = (owner("default"), owner("second"));
        for entry in Entry::ALL {
            assert_eq!(store.read(&mine, entry).await, Ok(None));
            assert_eq!(store.delete(&mine, entry).await, Ok(()));
            store.write(&mine, entry, &secret("first")).await.unwrap();
            store.write(&mine, entry, &secret(entry.as_str())).await.unwrap();
        }
        store.write(&other, Entry::DpopKey, &secret("\0\u{ff}")).await.unwrap();
        for entry in Entry::ALL {
            assert_eq!(store.read(&mine, entry).await, Ok(Some(secret(entry.as_str()))));
        }
        store.delete(&mine, Entry::DpopKey).await.unwrap();
        assert_eq!(store.read(&mine, Entry::DpopKey).await, Ok(None));
        assert_eq!(store.read(&mine, Entry::RefreshToken).await, Ok(Some(secret("refresh-token"))));
        assert_eq!(store.read(&other, Entry::DpopKey).await, Ok(Some(secret("\0\u{ff}"))));
    }

    /// IDP-18: a store that is locked, slow or missing is an error that names it and says what to do.
    #[tokio::test(start_paused = true)]
    async fn a_store_that_cannot_be_used_is_named() {
        let check = async |slow, error: CredentialError| {
            let broken = Hooked::new("Broken Store", InMemory::new(), move |_, _| {
                let error = error.clone();
                async move {
                    tokio::time::sleep(Duration::from_secs(slow)).await;
                    Err(error)
                }
            });
            let vault = Vault::new(Arc::new(broken), owner("default"), Environment::system());
            let errors = [
                vault.read(Entry::DpopKey).await.unwrap_err(),
                vault.write(Entry::RefreshToken, &secret("hush")).await.unwrap_err(),
                vault.delete(Entry::AccessToken).await.unwrap_err(),
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
            format!("the secret store (Broken Store) does not answer{advice}")
        );
        assert_eq!(
            check(0, CredentialError::Missing("no session bus".into())).await,
            format!("the secret store (Broken Store) is not there: no session bus{advice}")
        );
    }

    /// IDP-18: of two calls the first is done first, also when it was given up at once and the runtime comes to its task
    /// last, as one with several threads does.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn calls_are_done_in_their_order() {
        let vault = Vault::new(Arc::new(InMemory::new()), owner("default"), Environment::system());
        let kept = tokio::spawn(async move {
            {
                let old = secret("old");
                let mut given_up = Box::pin(vault.write(Entry::RefreshToken, &old));
                poll_fn(|context| Poll::Ready(given_up.as_mut().poll(context).is_ready())).await;
            }
            vault.write(Entry::RefreshToken, &secret("new")).await.unwrap();
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            vault.read(Entry::RefreshToken).await.unwrap()
        });
        assert!(kept.await.unwrap() == Some(secret("new")));
    }

    /// IDP-18: a slow store keeps what it was told last, and a deletion that came later is not undone by a write whose
    /// answer was given up.
    #[tokio::test(start_paused = true)]
    async fn a_slow_store_does_all_of_it_in_order() {
        let kept = InMemory::new();
        let store = Hooked::new("Slow Store", kept.clone(), async |asked, _| {
            if asked == Asked::Write {
                tokio::time::sleep(Duration::from_secs(40)).await;
            }
            Ok(())
        });
        let vault = Vault::new(Arc::new(store), owner("default"), Environment::system());
        for text in ["first", "second"] {
            vault.write(Entry::RefreshToken, &secret(text)).await.unwrap_err();
        }
        let read = loop {
            // The second write is still under way.
            if let Ok(read) = vault.read(Entry::RefreshToken).await {
                break read;
            }
        };
        assert_eq!(read, Some(secret("second")));
        vault.write(Entry::RefreshToken, &secret("third")).await.unwrap_err();
        vault.delete(Entry::RefreshToken).await.unwrap();
        tokio::time::sleep(Duration::from_secs(100)).await;
        assert_eq!(kept.read(&owner("default"), Entry::RefreshToken).await, Ok(None));
    }

    #[test]
    fn names_tell_owner_and_entry() {
        assert_eq!(
            owner("default").name_of(Entry::DpopKey),
            "desk/https://id.example/realms/x/https://api.example/default/dpop-key"
        );
        assert_eq!(Entry::ALL.map(Entry::as_str), ["dpop-key", "refresh-token", "access-token"]);
    }
}
