//! The session: one connection of one installation, shared by every task and every process of it.
//!
//! It signs in when the member asks ([`Session::sign_in`]), keeps the tokens fresh, and ends when the exchange
//! says so. What it is at the moment is a [`SessionState`], which can be watched.
//!
//! A refresh token is spent by using it, so whoever refreshes is alone: once in a process, since all who ask
//! share one refresh, and once among processes, since it holds a lock and reads the store anew before it asks.
//! A new refresh token is kept for good before anything else is done with it.

mod disconnect;
mod inside;
mod login;
mod refresh;
mod stored;
#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, sync::Arc};

use dpop_bound::TokenHash;
use exchange_api::{Transport, scopes::Scope};
use tokio::sync::watch;

use self::inside::Inside;
pub use self::{
    disconnect::{Disconnected, LocalData, StepTaken},
    login::{DeviceLogin, LoginProgress},
};
use crate::{
    credentials::{CredentialStore, Owner, Vault},
    environment::Environment,
    error::{Error, ErrorKind},
    identity::Identity,
    keys::{KeySource, StoredKey},
    lock::{Folder, Notes},
    oauth::Provider,
    place::Place,
    state::SessionState,
    tokens::{Grant, Later, Note, Proofs, Tokens},
    transport::Road,
    whose::Whose,
};

/// A connection to the exchange, or the place of one. Cloning shares it.
///
/// Its calls are to be made within a tokio runtime: what must not be left half done (a refresh, keeping new
/// tokens) runs as a task of its own and goes on when its caller is dropped.
#[derive(Clone)]
pub struct Session(Arc<Inside>);

/// How a session is opened.
#[must_use = "nothing is opened before `open`"]
pub struct SessionBuilder {
    place: Place,
    identity: Identity,
    profile: String,
    environment: Environment,
    store: Option<Arc<dyn CredentialStore>>,
    keys: Option<Arc<dyn KeySource>>,
    folder: Option<Folder>,
    transport: Option<Arc<dyn Transport>>,
}

/// What an earlier process noted of a connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Noted {
    /// What the exchange calls this installation (SVC-07): none from the moment on in which tokens of a new connection
    /// are kept, until the exchange has said it of that one.
    pub installation_id: Option<String>,
    /// Somebody signed in, and nobody noted an end of it.
    pub was_connected: bool,
}

impl SessionBuilder {
    /// Another name for this connection than `default`: for a second member, or a second connection, of the same
    /// account of this machine.
    pub fn profile(mut self, profile: &str) -> Self {
        profile.clone_into(&mut self.profile);
        self
    }

    /// Where secrets are kept. There is no default, so that nothing is kept where nobody chose it.
    pub fn credentials(mut self, store: impl CredentialStore + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Where the key comes from, if it is not kept with the other secrets: from hardware.
    pub fn keys(mut self, keys: impl KeySource + 'static) -> Self {
        self.keys = Some(Arc::new(keys));
        self
    }

    /// A folder for what is no secret, and for the lock between the processes of this installation. Each gateway and
    /// each profile needs one of its own. Without a folder there must be no other process, and the next one does not
    /// know what servers asked to wait.
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(Folder::new(folder));
        self
    }

    /// What an earlier process noted of the connection in the [state folder](Self::state_folder), for which no secret
    /// store is asked: it may be locked, or the connection over by now.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`] when the folder cannot be read.
    pub async fn noted(&self) -> Result<Noted, Error> {
        let Some(folder) = &self.folder else { return Ok(Noted::default()) };
        let Notes { installation_id, scopes, ended, .. } = folder.notes().await?;
        Ok(Noted { installation_id, was_connected: !scopes.is_empty() && ended.is_none() })
    }

    /// Clocks, timer and randomness of your own.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// What carries requests to the identity provider. It must resend nothing by itself and follow no redirect;
    /// the default is the runtime's plain transport (feature `reqwest`), which reads answers of up to 256 KiB.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Opens it as it was left: signed in, signed out, or over.
    ///
    /// # Errors
    /// When the secret store or the folder cannot be used ([`ErrorKind::Secrets`], [`ErrorKind::Storage`]). No
    /// other store takes its place. Nothing is sent.
    pub async fn open(self) -> Result<Session, Error> {
        let session = self.built()?;
        session.0.open().await?;
        Ok(session)
    }

    /// A session that asks the secret store nothing before it has to: it has what was noted of the connection, and nobody
    /// is signed in to it before [`resume`](Session::resume). For when the store cannot be used: what is noted can be shown,
    /// and [`disconnect`](Session::disconnect) deletes all that is kept elsewhere, and says of tokens and key that they
    /// may be there still.
    ///
    /// # Errors
    /// When the folder cannot be used ([`ErrorKind::Storage`]), or no store was chosen. Nothing is sent.
    pub async fn unopened(self) -> Result<Session, Error> {
        let session = self.built()?;
        session.0.read_notes().await?;
        Ok(session)
    }

    fn built(self) -> Result<Session, Error> {
        let Self { place, identity, profile, environment, store, keys, folder, transport } = self;
        let store = store.ok_or_else(|| Error::new(ErrorKind::Secrets, "no secret store was chosen"))?;
        let transport = match transport {
            Some(transport) => transport,
            None => plain()?,
        };
        let vault = Vault::new(store, Owner::new(&place, &identity, &profile), environment.clone());
        let keys = keys.unwrap_or_else(|| Arc::new(StoredKey(vault.clone())));
        let provider = Provider::new(&place, &identity, transport, environment.clone());
        let inside = Inside::new(place, identity, environment, vault, keys, provider, folder);
        let inside = Arc::new(inside);
        inside.share_waits();
        Ok(Session(inside))
    }
}

#[cfg(feature = "reqwest")]
fn plain() -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(crate::transport::wire(crate::oauth::LARGEST)?))
}

#[cfg(not(feature = "reqwest"))]
fn plain() -> Result<Arc<dyn Transport>, Error> {
    Err(Error::new(ErrorKind::Bug, "no transport was chosen"))
}

impl Session {
    /// A session of this client at this exchange.
    pub fn builder(place: &Place, identity: &Identity) -> SessionBuilder {
        SessionBuilder {
            place: place.clone(),
            identity: identity.clone(),
            profile: "default".to_owned(),
            environment: Environment::system(),
            store: None,
            keys: None,
            folder: None,
            transport: None,
        }
    }

    /// Which exchange it is a session of.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.0.place
    }

    /// Which client it is a session of.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.0.identity
    }

    /// Its clocks.
    pub(crate) fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// What all exchanges of this session send by: what the gateway asked to wait, of whichever it asked it, and how much
    /// leaves at all.
    pub(crate) fn road(&self) -> &Road {
        &self.0.road
    }

    /// What it is now.
    #[must_use]
    pub fn state(&self) -> SessionState {
        *self.0.state.borrow()
    }

    /// What it is now, and every change of it.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<SessionState> {
        self.0.state.subscribe()
    }

    /// What the member granted, as the last token has it (IDP-17). Empty when nobody is signed in.
    #[must_use]
    pub fn scopes(&self) -> Arc<[Scope]> {
        self.0.scopes()
    }

    /// Whether the member granted this capability.
    #[must_use]
    pub fn has(&self, scope: &Scope) -> bool {
        self.scopes().contains(scope)
    }

    /// The name of the secret store, to be shown with the status.
    #[must_use]
    pub fn secret_store(&self) -> &str {
        self.0.vault.name()
    }

    /// What the exchange calls this installation, as it was noted of this connection (SVC-07); nothing when it is a
    /// new one, which may be another member's. Of a session that is over or signed out, what was noted of the last.
    #[must_use]
    pub fn installation_id(&self) -> Option<String> {
        self.0.held().noted()?.installation_id.clone()
    }

    /// The label that the member chose, as it was noted of the same connection (SVC-12).
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.0.held().noted()?.label.clone()
    }

    /// Begins a device login for these capabilities, and for what every connection needs (IDP-05). Only because
    /// the member asks: never on a timer, and never in a loop (CLI-03). A connection that there is stays until
    /// the new one takes its place.
    ///
    /// Makes the key of this installation if there is none.
    ///
    /// # Errors
    /// When the secret store cannot be used, when a scope is none of the exchange's, or what the provider says.
    pub async fn sign_in(&self, scopes: &[Scope]) -> Result<DeviceLogin, Error> {
        DeviceLogin::begin(&self.0, scopes).await
    }

    /// Goes on after a halt, because the member did what was asked and says so; and looks whether another
    /// process signed in or out. What is over stays over.
    ///
    /// # Errors
    /// As [`SessionBuilder::open`].
    pub async fn resume(&self) -> Result<SessionState, Error> {
        self.0.open().await?;
        Ok(self.state())
    }

    /// Ends the connection because the member asks: revokes the refresh token, deletes the tokens, deletes the
    /// key, and then what else was kept of it (IDP-24, CLI-06). Each step is done whatever became of the one
    /// before; what became of each is told.
    pub async fn disconnect(&self) -> Disconnected {
        disconnect::disconnect(&self.0).await
    }

    /// Something that is deleted with the connection.
    pub fn keeps(&self, data: impl LocalData + 'static) {
        self.0.keep(data.kept());
    }

    /// Waits until nothing goes on by itself any more: a refresh, tokens that are being kept, a login that was given
    /// up while the provider was asked. To be called, for as long as one wants to wait, before a program ends that
    /// drops what is under way.
    pub async fn settled(&self) {
        self.0.settled().await;
    }

    /// Writes down what is known of the servers' nonces and clocks, so that the next process begins without a
    /// challenge, and what they asked to wait, so that it begins no earlier. To be called when a process ends; a
    /// refresh does the first too, and whatever a server asks the second.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub async fn save(&self) -> Result<(), Error> {
        let proofs = self.0.save_proofs().await;
        proofs.and(self.0.save_waits().await)
    }
}

impl Tokens for Session {
    fn current(&self) -> Later<'_, Result<Grant, Error>> {
        Box::pin(self.0.current())
    }

    fn gateway(&self) -> Option<Arc<Proofs>> {
        self.0.held().keyed.as_ref().map(|keyed| Arc::clone(&keyed.gateway))
    }

    fn renewed<'a>(&'a self, refused: &'a TokenHash) -> Later<'a, Result<Grant, Error>> {
        Box::pin(self.0.renewed(refused))
    }

    fn whose(&self) -> Option<Whose> {
        self.0.held().whose()
    }

    fn scopes(&self) -> Arc<[Scope]> {
        self.0.scopes()
    }

    fn is_kept<'a>(&'a self, of: &'a Whose) -> Later<'a, Result<bool, Error>> {
        Box::pin(self.0.is_kept(of))
    }

    fn noted<'a>(&'a self, of: &'a Whose, note: Note<'a>) -> Later<'a, Result<(), Error>> {
        Box::pin(self.0.noted(of, note))
    }

    fn told<'a>(&'a self, refused: &'a Grant, refusal: &'a Error) -> Later<'a, ()> {
        Box::pin(self.0.told(refused, refusal))
    }
}

/// Shows the state.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Shows whose it will be.
impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBuilder").field("place", &self.place).finish_non_exhaustive()
    }
}
