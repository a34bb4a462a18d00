//! The session: one connection of one installation. All tasks and processes share it.
//!
//! Entry points: [`Session::builder`], [`Session::sign_in`], [`Session::disconnect`]. A session refreshes its
//! tokens and ends when the exchange ends the connection. [`Session::watch`] reports changes of its
//! [`SessionState`].
//!
//! A refresh token can be used only once, so refreshes are exclusive. Within a process, all callers share one
//! refresh. A refresh also holds a file lock, which excludes other processes, and then reads the store again.
//! The new refresh token is stored permanently before it is used.

mod disconnect;
mod inner;
mod login;
mod refresh;
mod stored;
#[cfg(test)]
mod tests;

use std::{fmt, path::PathBuf, sync::Arc};

use dpop_bound::TokenHash;
use exchange_api::{Transport, scopes::Scope};
use tokio::sync::watch;

use self::inner::SessionInner;
pub use self::{
    disconnect::{DisconnectReport, LocalData, StepOutcome},
    login::{DeviceLogin, LoginProgress},
};
use crate::{
    address::ExchangeAddress,
    credentials::{CredentialOwner, CredentialStore, CredentialVault},
    environment::Environment,
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    keys::{KeySource, StoredKey},
    oauth::IdentityProvider,
    ownership::Ownership,
    state::SessionState,
    state_folder::{ConnectionNotes, StateFolder},
    token_source::{AccessGrant, BoxFuture, ConnectionNote, ProofSession, TokenSource},
    transport::SharedLimiter,
};

/// A connection to the exchange, or the state before a member has signed in. Clones share it.
///
/// Its methods must be called within a tokio runtime. Work that must not be interrupted, such as a refresh or
/// storing new tokens, runs in a separate task and continues if the caller is dropped.
#[derive(Clone)]
pub struct Session(Arc<SessionInner>);

/// A builder of a [`Session`].
#[must_use = "nothing is opened before `open`"]
pub struct SessionBuilder {
    address: ExchangeAddress,
    identity: ClientIdentity,
    profile: String,
    environment: Environment,
    credential_store: Option<Arc<dyn CredentialStore>>,
    key_source: Option<Arc<dyn KeySource>>,
    folder: Option<StateFolder>,
    transport: Option<Arc<dyn Transport>>,
}

/// Data about a connection that an earlier process recorded in the state folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionSummary {
    /// The id of this installation at the exchange (SVC-07). It is cleared when the tokens of a new
    /// connection are stored, and set again once the exchange has returned the id for that connection.
    pub installation_id: Option<String>,
    /// True if a member signed in and no end of the connection was recorded.
    pub was_connected: bool,
}

impl SessionBuilder {
    /// Sets the profile; the default is `default`. Use a different one for a second member, or for a second
    /// connection, under the same account of this machine.
    pub fn profile(mut self, profile: &str) -> Self {
        profile.clone_into(&mut self.profile);
        self
    }

    /// Sets the store of secrets. It is mandatory, so that secrets are never stored in an unexpected
    /// location.
    pub fn credentials(mut self, store: impl CredentialStore + 'static) -> Self {
        self.credential_store = Some(Arc::new(store));
        self
    }

    /// Sets the source of the key, for keys in hardware. By default, the key is kept in the secret store.
    pub fn keys(mut self, keys: impl KeySource + 'static) -> Self {
        self.key_source = Some(Arc::new(keys));
        self
    }

    /// Sets the folder for data that is not secret, and for the lock between the processes of this
    /// installation. Each gateway and each profile needs a separate folder.
    ///
    /// Without a folder, only one process may use the installation, and the `Retry-After` times of this
    /// process do not apply to the next one.
    pub fn state_folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = Some(StateFolder::new(folder));
        self
    }

    /// Reads the data about a connection that an earlier process recorded in the [state
    /// folder](Self::state_folder). Does not access the secret store, which may be locked. The connection may
    /// have ended since.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the folder cannot be read.
    pub async fn connection_summary(&self) -> Result<ConnectionSummary, Error> {
        let Some(folder) = &self.folder else { return Ok(ConnectionSummary::default()) };
        let ConnectionNotes { installation_id, scopes, ended, .. } = folder.read_notes().await?;
        Ok(ConnectionSummary { installation_id, was_connected: !scopes.is_empty() && ended.is_none() })
    }

    /// Sets the clocks, the timer, and the random source.
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets the transport for requests to the identity provider. It must not retry requests or follow
    /// redirects.
    ///
    /// The default is the plain network transport (feature `reqwest`), which reads responses of up to 256
    /// KiB.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Opens the session in its stored state: active, signed out, or ended. Does not send a request.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Secrets`] or [`ErrorKind::Storage`] if the secret store or the folder cannot be
    /// used. No other store is tried.
    pub async fn open(self) -> Result<Session, Error> {
        let session = self.build_session()?;
        session.0.load_state().await?;
        Ok(session)
    }

    /// Creates a session without accessing the secret store. The recorded data of the connection is
    /// available, but no member is signed in until [`resume`](Session::resume) is called.
    ///
    /// Use this if the store cannot be used: [`disconnect`](Session::disconnect) then deletes all data
    /// outside of the store, and reports that tokens and key may still exist. Does not send a request.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the folder cannot be used, and [`ErrorKind::Secrets`] if no store
    /// was set.
    pub async fn open_without_credentials(self) -> Result<Session, Error> {
        let session = self.build_session()?;
        session.0.read_notes().await?;
        Ok(session)
    }

    fn build_session(self) -> Result<Session, Error> {
        let Self {
            address,
            identity,
            profile,
            environment,
            credential_store: store,
            key_source: keys,
            folder,
            transport,
        } = self;
        let store = store.ok_or_else(|| Error::new(ErrorKind::Secrets, "no secret store was chosen"))?;
        let transport = match transport {
            Some(transport) => transport,
            None => default_transport()?,
        };
        let vault = CredentialVault::new(
            store,
            CredentialOwner::new(&address, &identity, &profile),
            environment.clone(),
        );
        let keys = keys.unwrap_or_else(|| Arc::new(StoredKey(vault.clone())));
        let provider = IdentityProvider::new(&address, &identity, transport, environment.clone());
        let inside = SessionInner::new(address, identity, environment, vault, keys, provider, folder);
        let inside = Arc::new(inside);
        inside.share_waits();
        Ok(Session(inside))
    }
}

#[cfg(feature = "reqwest")]
fn default_transport() -> Result<Arc<dyn Transport>, Error> {
    Ok(Arc::new(crate::transport::network_transport(crate::oauth::MAX_RESPONSE_SIZE)?))
}

#[cfg(not(feature = "reqwest"))]
fn default_transport() -> Result<Arc<dyn Transport>, Error> {
    Err(Error::new(ErrorKind::Bug, "no transport was set"))
}

impl Session {
    /// Returns a builder for a session of this client at this exchange.
    pub fn builder(address: &ExchangeAddress, identity: &ClientIdentity) -> SessionBuilder {
        SessionBuilder {
            address: address.clone(),
            identity: identity.clone(),
            profile: "default".to_owned(),
            environment: Environment::system(),
            credential_store: None,
            key_source: None,
            folder: None,
            transport: None,
        }
    }

    /// Returns the address of the exchange.
    #[must_use]
    pub fn address(&self) -> &ExchangeAddress {
        &self.0.address
    }

    /// Returns the identity of the client.
    #[must_use]
    pub fn identity(&self) -> &ClientIdentity {
        &self.0.identity
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.0.environment
    }

    /// Returns the limiter that all clients of this session share, including the `Retry-After` times of the
    /// gateway.
    pub(crate) fn shared_limiter(&self) -> &SharedLimiter {
        &self.0.limiter
    }

    /// Returns the current state.
    #[must_use]
    pub fn state(&self) -> SessionState {
        *self.0.state.borrow()
    }

    /// Returns a receiver for the current state and its changes.
    #[must_use]
    pub fn watch(&self) -> watch::Receiver<SessionState> {
        self.0.state.subscribe()
    }

    /// Returns the scopes of the last token (IDP-17); empty if no member is signed in.
    #[must_use]
    pub fn scopes(&self) -> Arc<[Scope]> {
        self.0.scopes()
    }

    /// Returns true if the member granted this scope.
    #[must_use]
    pub fn has_scope(&self, scope: &Scope) -> bool {
        self.scopes().contains(scope)
    }

    /// Returns the name of the secret store, for status output.
    #[must_use]
    pub fn credential_store_name(&self) -> &str {
        self.0.vault.store_name()
    }

    /// Returns the stored id of this installation at the exchange (SVC-07). `None` for a new connection whose
    /// id is still unknown, because it may belong to another member. After the end of a connection or a
    /// logout, returns the last known id.
    #[must_use]
    pub fn installation_id(&self) -> Option<String> {
        self.0.connection_state().connection_notes()?.installation_id.clone()
    }

    /// Returns the stored label of this installation, which the member chose (SVC-12); `None` if none is
    /// stored for the current connection.
    #[must_use]
    pub fn label(&self) -> Option<String> {
        self.0.connection_state().connection_notes()?.label.clone()
    }

    /// Starts a device login for these scopes and the scopes that every connection needs (IDP-05). Creates
    /// the key of this installation if it is missing.
    ///
    /// Call this only when the member requests it, never from a timer or in a loop (CLI-03). An existing
    /// connection stays valid until the new one replaces it.
    ///
    /// # Errors
    /// Returns an error if the secret store cannot be used, if a scope is not defined by the exchange, or if
    /// the provider rejects the request.
    pub async fn sign_in(&self, scopes: &[Scope]) -> Result<DeviceLogin, Error> {
        DeviceLogin::start(&self.0, scopes).await
    }

    /// Resumes the session after a halt, once the member has acted. Also detects logins and logouts of other
    /// processes. A connection that has ended stays ended.
    ///
    /// # Errors
    /// Returns the errors of [`SessionBuilder::open`].
    pub async fn resume(&self) -> Result<SessionState, Error> {
        self.0.load_state().await?;
        Ok(self.state())
    }

    /// Ends the connection at the member's request: revokes the refresh token, and deletes the tokens, the
    /// key and the registered local data (IDP-24, CLI-06). Runs all steps even if some of them fail, and
    /// reports the result of each.
    pub async fn disconnect(&self) -> DisconnectReport {
        disconnect::disconnect(&self.0).await
    }

    /// Registers local data that [`disconnect`](Self::disconnect) then deletes.
    pub fn register_local_data(&self, data: impl LocalData + 'static) {
        self.0.add_local_data(data.into_registered());
    }

    /// Waits until no background task is running. Background tasks refresh tokens, store tokens, and clean up
    /// after dropped logins. Call this with a timeout before the program ends.
    pub async fn wait_until_idle(&self) {
        self.0.wait_until_idle().await;
    }

    /// Writes the nonces and clock estimates, so that the next process starts without a challenge, and the
    /// `Retry-After` times, so that the next process does not send too early. Call this before the process
    /// ends. A token refresh also saves the nonces and clock estimates, and each new `Retry-After` saves the
    /// waits.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written.
    pub async fn save_state(&self) -> Result<(), Error> {
        let proofs = self.0.save_proofs().await;
        proofs.and(self.0.save_waits().await)
    }
}

impl TokenSource for Session {
    fn current_grant(&self) -> BoxFuture<'_, Result<AccessGrant, Error>> {
        Box::pin(self.0.current_grant())
    }

    fn gateway_proofs(&self) -> Option<Arc<ProofSession>> {
        self.0.connection_state().key_proofs.as_ref().map(|keyed| Arc::clone(&keyed.gateway))
    }

    fn renew_grant<'a>(&'a self, refused: &'a TokenHash) -> BoxFuture<'a, Result<AccessGrant, Error>> {
        Box::pin(self.0.renew_grant(refused))
    }

    fn current_owner(&self) -> Option<Ownership> {
        self.0.connection_state().owner()
    }

    fn granted_scopes(&self) -> Arc<[Scope]> {
        self.0.scopes()
    }

    fn is_current_connection<'a>(&'a self, owner: &'a Ownership) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(self.0.is_stored_connection(owner))
    }

    fn record_note<'a>(
        &'a self,
        owner: &'a Ownership,
        note: ConnectionNote<'a>,
    ) -> BoxFuture<'a, Result<(), Error>> {
        Box::pin(self.0.record_note(owner, note))
    }

    fn report_rejection<'a>(&'a self, refused: &'a AccessGrant, error: &'a Error) -> BoxFuture<'a, ()> {
        Box::pin(self.0.handle_rejection(refused, error))
    }
}

/// Prints only the state.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("state", &self.state()).finish_non_exhaustive()
    }
}

/// Prints only the address.
impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBuilder").field("address", &self.address).finish_non_exhaustive()
    }
}
