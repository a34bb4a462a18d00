//! The state of a session, and its persistence in the secret store and the state folder.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use dpop_bound::{AccessToken, ProofSigner};
use exchange_api::scopes::Scope;
use tokio::{
    runtime::Handle,
    sync::{OwnedMutexGuard, watch},
};

use super::{
    LocalData,
    refresh::{RefreshReceiver, RefreshThrottle},
    stored::{StoredAccess, StoredRefresh, TokenLifetime},
};
use crate::{
    address::ExchangeAddress,
    credentials::{CredentialEntry, CredentialVault},
    environment::Environment,
    error::{Error, ErrorKind},
    identity::ClientIdentity,
    keys::KeySource,
    oauth::{IdentityProvider, RefreshToken, TokenResponse},
    ownership::Ownership,
    retry_after::{RetryAfterTable, SavedRetryAfterTable},
    state::{EndReason, SessionState},
    state_folder::{ConnectionNotes, EndNote, FolderLock, SavedProofs, SavedWaits, StateFolder},
    token_source::{AccessGrant, ConnectionNote, ProofSession},
    transport::SharedLimiter,
};

pub(super) struct SessionInner {
    pub(super) address: ExchangeAddress,
    pub(super) identity: ClientIdentity,
    pub(super) environment: Environment,
    pub(super) vault: CredentialVault,
    pub(super) keys: Arc<dyn KeySource>,
    pub(super) provider: IdentityProvider,
    folder: Option<StateFolder>,
    pub(super) state: watch::Sender<SessionState>,
    connection_state: Mutex<ConnectionState>,
    /// Locked during every sequence of reads and writes of the store.
    process_lock: Arc<tokio::sync::Mutex<()>>,
    /// The running refresh, if any.
    pub(super) active_refresh: Mutex<Option<RefreshReceiver>>,
    /// The `Retry-After` times of the gateway. Those of the identity provider are in `provider`.
    pub(super) gateway_waits: RetryAfterTable,
    /// The rate limiter of the gateway, which uses `gateway_waits`.
    pub(super) limiter: SharedLimiter,
    /// The number of running background tasks.
    pub(super) background_tasks: watch::Sender<usize>,
    /// True if there are unsaved waits, for which a save is scheduled.
    waits_dirty: AtomicBool,
    local_data: Mutex<Vec<Arc<dyn LocalData>>>,
}

/// The current connection in memory. Invariant: it is never locked across an `await`.
#[derive(Default)]
pub(super) struct ConnectionState {
    pub(super) key_proofs: Option<KeyProofs>,
    /// The local id of the connection.
    pub(super) connection: Option<Box<str>>,
    pub(super) access: Option<StoredAccess>,
    /// Tokens that could not be saved in the store yet.
    pub(super) unsaved: Option<UnsavedTokens>,
    pub(super) notes: ConnectionNotes,
    pub(super) throttle: RefreshThrottle,
    /// The number of times that the session was opened or resumed.
    open_count: u32,
}

impl ConnectionState {
    /// Returns the notes if they belong to the current connection, or if there is no current connection.
    pub(super) fn connection_notes(&self) -> Option<&ConnectionNotes> {
        let known = |connection: &str| self.notes.connection.as_deref() == Some(connection);
        self.connection.as_deref().is_none_or(known).then_some(&self.notes)
    }

    /// Returns the owner of the current connection.
    pub(super) fn owner(&self) -> Option<Ownership> {
        let connection = self.connection.clone()?;
        let installation = self.connection_notes().and_then(|notes| notes.installation_id.as_deref());
        Some(Ownership { connection: Some(connection), installation: installation.map(Into::into) })
    }

    /// Returns the scopes of the current connection.
    fn scopes(&self) -> Arc<[Scope]> {
        match &self.access {
            Some(access) => Arc::clone(&access.scopes),
            None => self.connection_notes().map_or_else(Arc::default, noted_scopes),
        }
    }

    /// Returns the known scopes of this connection, which need not be the current one.
    pub(super) fn scopes_of(&self, connection: &str) -> Arc<[Scope]> {
        if self.connection.as_deref() == Some(connection) {
            return self.scopes();
        }
        let notes = Some(&self.notes).filter(|notes| notes.connection.as_deref() == Some(connection));
        notes.map_or_else(Arc::default, noted_scopes)
    }

    /// Returns true if the grant has the current connection and key, and is not older than the last resume.
    pub(super) fn is_current_grant(&self, grant: &AccessGrant) -> bool {
        let jkt = self.key_proofs.as_ref().map(|keyed| &keyed.jkt);
        let connection = self.connection.as_deref();
        connection.is_some_and(|connection| grant.owner.is_connection(connection))
            && (jkt, self.open_count) == (Some(&grant.jkt), grant.open_count)
    }
}

/// The key of this installation, and its DPoP state for each server. The states of gateway and provider are
/// separate, so that a nonce of one is never sent to the other, even if both have the same origin (DPP-17).
#[derive(Clone)]
pub(super) struct KeyProofs {
    pub(super) jkt: Box<str>,
    pub(super) gateway: Arc<ProofSession>,
    pub(super) provider: Arc<ProofSession>,
}

/// The tokens of a refresh that could not be saved in the store yet, and the refresh token that they replace.
#[derive(Clone)]
pub(super) struct UnsavedTokens {
    pub(super) spent: RefreshToken,
    pub(super) refresh: StoredRefresh,
    pub(super) access: StoredAccess,
}

/// Exclusive access to the stored session, within this process and among all processes of the installation.
pub(super) struct ExclusiveGuard {
    _turn: OwnedMutexGuard<()>,
    _locked: Option<FolderLock>,
}

impl SessionInner {
    pub(super) fn new(
        address: ExchangeAddress,
        identity: ClientIdentity,
        environment: Environment,
        vault: CredentialVault,
        keys: Arc<dyn KeySource>,
        provider: IdentityProvider,
        folder: Option<StateFolder>,
    ) -> Self {
        let gateway = RetryAfterTable::default();
        let road = SharedLimiter::new(gateway.clone(), environment.now().monotonic);
        Self {
            address,
            identity,
            environment,
            vault,
            keys,
            provider,
            folder,
            state: watch::Sender::new(SessionState::SignedOut),
            connection_state: Mutex::default(),
            process_lock: Arc::default(),
            active_refresh: Mutex::default(),
            gateway_waits: gateway,
            limiter: road,
            background_tasks: watch::Sender::new(0),
            waits_dirty: AtomicBool::new(false),
            local_data: Mutex::default(),
        }
    }

    pub(super) fn connection_state(&self) -> MutexGuard<'_, ConnectionState> {
        self.connection_state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn add_local_data(&self, data: Arc<dyn LocalData>) {
        self.local_data.lock().unwrap_or_else(PoisonError::into_inner).push(data);
    }

    pub(super) fn local_data(&self) -> Vec<Arc<dyn LocalData>> {
        self.local_data.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn scopes(&self) -> Arc<[Scope]> {
        self.connection_state().scopes()
    }

    pub(super) fn set_state(&self, state: SessionState) {
        let changed = self.state.send_if_modified(|now| std::mem::replace(now, state) != state);
        if changed {
            tracing::info!(?state, "session state changed");
        }
    }

    /// Returns an error unless the state permits sending calls.
    pub(super) fn check_active(&self) -> Result<(), Error> {
        let state = *self.state.borrow();
        match state {
            SessionState::Active => Ok(()),
            SessionState::SignedOut => Err(Error::new(ErrorKind::SignInNeeded, "no member is signed in")),
            SessionState::Halted(halt) => Err(Error::new(ErrorKind::Halted(halt), halt.message())),
            SessionState::Ended(end) => Err(Error::new(ErrorKind::Ended(end), end.message())),
        }
    }

    /// Acquires exclusive access. Waits for other tasks and processes.
    pub(super) async fn acquire_exclusive(&self) -> Result<ExclusiveGuard, Error> {
        let turn = Arc::clone(&self.process_lock).lock_owned().await;
        let locked = match &self.folder {
            Some(folder) => Some(folder.acquire_lock(&self.environment).await?),
            None => None,
        };
        Ok(ExclusiveGuard { _turn: turn, _locked: locked })
    }

    /// Acquires exclusive access, but only within this process if the file lock fails.
    pub(super) async fn acquire_exclusive_or_local(&self) -> ExclusiveGuard {
        match self.acquire_exclusive().await {
            Ok(guard) => guard,
            Err(error) => {
                tracing::warn!(%error, "continuing without the session lock");
                ExclusiveGuard { _turn: Arc::clone(&self.process_lock).lock_owned().await, _locked: None }
            }
        }
    }

    /// Loads the state from the secret store and the notes.
    pub(super) async fn load_state(&self) -> Result<(), Error> {
        let guard = self.acquire_exclusive().await?;
        self.read_notes().await?;
        let Some(refresh) = self.stored_refresh().await? else {
            self.drop_connection();
            let ended = self.connection_state().notes.ended.clone();
            self.set_state(match ended.and_then(|ended| parse_end(&ended.why)) {
                Some(end) => SessionState::Ended(end),
                None => SessionState::SignedOut,
            });
            return Ok(());
        };
        if self.finish_ended(&guard, &refresh).await? {
            return Ok(());
        }
        if !self.has_key(&refresh.jkt).await? {
            self.set_state(SessionState::Ended(EndReason::KeyLost));
            return Ok(());
        }
        let access = self.stored_access(&refresh).await?;
        {
            let mut state = self.connection_state();
            state.throttle = RefreshThrottle::default();
            state.connection = Some(refresh.connection.clone());
            state.access = access;
            state.open_count = state.open_count.wrapping_add(1);
        }
        self.set_state(SessionState::Active);
        Ok(())
    }

    /// Reads the notes, and the waits that earlier processes saved.
    pub(super) async fn read_notes(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let notes = folder.read_notes().await?;
        self.connection_state().notes = notes;
        self.restore_waits().await
    }

    /// Reads the refresh token from the store.
    pub(super) async fn stored_refresh(&self) -> Result<Option<StoredRefresh>, Error> {
        let Some(bytes) = self.vault.read_entry(CredentialEntry::RefreshToken).await? else {
            return Ok(None);
        };
        let refresh = StoredRefresh::from_bytes(&bytes);
        if refresh.is_none() {
            tracing::warn!("the stored refresh token is invalid");
        }
        Ok(refresh)
    }

    /// Reads the access token from the store; `None` if it does not belong to this refresh token.
    pub(super) async fn stored_access(&self, refresh: &StoredRefresh) -> Result<Option<StoredAccess>, Error> {
        let bytes = self.vault.read_entry(CredentialEntry::AccessToken).await?;
        let access = bytes.and_then(|bytes| StoredAccess::from_bytes(&bytes, self.environment.now()));
        Ok(access.filter(|access| access.belongs_to(refresh)))
    }

    /// Returns true if the key with this thumbprint is available. Loads the stored key if a different one is
    /// in memory.
    pub(super) async fn has_key(&self, jkt: &str) -> Result<bool, Error> {
        if self.connection_state().key_proofs.as_ref().is_some_and(|keyed| *keyed.jkt == *jkt) {
            return Ok(true);
        }
        let Some(key) = self.keys.load().await? else { return Ok(false) };
        let keyed = self.load_proofs(key).await;
        let is_it = *keyed.jkt == *jkt;
        self.connection_state().key_proofs = Some(keyed);
        Ok(is_it)
    }

    /// Creates the DPoP state of a key, with the saved nonces and clock estimates.
    pub(super) async fn load_proofs(&self, key: Arc<dyn ProofSigner>) -> KeyProofs {
        let jkt = key.public_key().thumbprint().to_string().into();
        let gateway = Arc::new(ProofSession::new(Arc::clone(&key), self.environment.clone()));
        let provider = Arc::new(ProofSession::new(key, self.environment.clone()));
        if let Some(folder) = &self.folder {
            match folder.read_proofs().await {
                Ok(saved) => {
                    let now = self.environment.now();
                    gateway.restore(saved.gateway, now);
                    provider.restore(saved.provider, now);
                }
                Err(error) => tracing::debug!(%error, "cannot read the saved nonces"),
            }
        }
        KeyProofs { jkt, gateway, provider }
    }

    pub(super) async fn save_proofs(&self) -> Result<(), Error> {
        let (Some(folder), Some(keyed)) = (&self.folder, self.connection_state().key_proofs.clone()) else {
            return Ok(());
        };
        let now = self.environment.now();
        let saved = SavedProofs { gateway: keyed.gateway.save(now), provider: keyed.provider.save(now) };
        folder.save_proofs(&saved).await
    }

    /// Reads and applies the waits that earlier or concurrent processes saved.
    async fn restore_waits(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let (waits, now) = (folder.read_waits().await?, self.environment.now());
        self.apply_waits(&waits);
        if waits.gateway.is_ahead(now.wall) || waits.provider.is_ahead(now.wall) {
            self.save_waits().await?;
        }
        Ok(())
    }

    fn apply_waits(&self, waits: &SavedWaits) {
        let now = self.environment.now();
        self.gateway_waits.restore_saved(&waits.gateway, now);
        self.provider.retry_after().restore_saved(&waits.provider, now);
    }

    /// Saves the waits of this process, merged with those of other processes, and applies the waits of other
    /// processes.
    pub(super) async fn save_waits(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.waits_dirty.store(false, Ordering::SeqCst);
        let now = self.environment.now();
        let (gateway, provider) =
            (self.gateway_waits.to_saved(now), self.provider.retry_after().to_saved(now));
        if gateway == SavedRetryAfterTable::default() && provider == SavedRetryAfterTable::default() {
            return Ok(());
        }
        let change = move |there: SavedWaits| SavedWaits {
            gateway: there.gateway.merge_with(gateway, now.wall),
            provider: there.provider.merge_with(provider, now.wall),
        };
        let there = folder.change_waits(change).await?;
        self.apply_waits(&there);
        Ok(())
    }

    /// Installs two hooks. One saves every new wait immediately, because the process may end at any time. The
    /// other reads the waits of other processes before a request is sent.
    pub(super) fn share_waits(self: &Arc<Self>) {
        if self.folder.is_none() {
            return;
        }
        for gates in [&self.gateway_waits, self.provider.retry_after()] {
            let inside = Arc::downgrade(self);
            gates.set_reload_hook(move || {
                let inside = inside.upgrade();
                Box::pin(async move {
                    let Some(inside) = inside else { return };
                    if let Err(error) = inside.restore_waits().await {
                        tracing::debug!(%error, "cannot read the waits of other processes");
                    }
                })
            });
            let inside = Arc::downgrade(self);
            gates.set_change_hook(move || {
                let (Some(inside), Ok(_)) = (inside.upgrade(), Handle::try_current()) else { return };
                if !inside.waits_dirty.swap(true, Ordering::SeqCst) {
                    let writer = Arc::clone(&inside);
                    drop(inside.spawn(async move {
                        if let Err(error) = writer.save_waits().await {
                            tracing::warn!(%error, "cannot save the requested waits");
                        }
                    }));
                }
            });
        }
    }

    /// Removes the waits that apply to single members, after a disconnection (CLI-06).
    async fn clear_member_waits(&self) -> Result<(), Error> {
        let change = |there: SavedWaits| SavedWaits { gateway: there.gateway.without_members(), ..there };
        // The file is changed first, because the waits would otherwise be read from it again.
        let forgotten = match &self.folder {
            Some(folder) => folder.change_waits(change).await.map(drop),
            None => Ok(()),
        };
        self.gateway_waits.forget_members();
        forgotten
    }

    /// Stores data about a connection, in memory and in the notes. Has no effect if this or another process
    /// has replaced the connection.
    pub(super) async fn record_note(&self, owner: &Ownership, note: ConnectionNote<'_>) -> Result<(), Error> {
        let Some(connection) = owner.connection.as_deref() else { return Ok(()) };
        let change = |notes: &mut ConnectionNotes| {
            notes.assign_to(connection);
            match note {
                ConnectionNote::Installation(id) => notes.installation_id = Some(id.to_owned()),
                ConnectionNote::Label(label) => notes.label = Some(label.to_owned()),
            }
        };
        {
            let mut state = self.connection_state();
            if state.connection.as_deref() != Some(connection) {
                return Ok(());
            }
            let before = state.notes.clone();
            change(&mut state.notes);
            if state.notes == before {
                return Ok(());
            }
        }
        if let ConnectionNote::Installation(id) = note {
            self.gateway_waits.set_installation(connection, id);
        }
        let guard = self.acquire_exclusive().await?;
        if self.is_stored_connection(owner).await?
            && self.connection_state().connection.as_deref() == Some(connection)
        {
            self.update_notes(&guard, change).await?;
        }
        Ok(())
    }

    /// Returns true if this connection is still the one in the store, which all processes share. Also returns
    /// true for an owner without a connection id, for which this cannot be determined.
    pub(super) async fn is_stored_connection(&self, owner: &Ownership) -> Result<bool, Error> {
        if owner.connection.is_none() {
            return Ok(true);
        }
        Ok(self.stored_refresh().await?.is_some_and(|stored| owner.is_connection(&stored.connection)))
    }

    /// Changes the notes, in memory and on disk, and keeps the changes of other processes. Requires exclusive
    /// access.
    pub(super) async fn update_notes(
        &self,
        _: &ExclusiveGuard,
        change: impl Fn(&mut ConnectionNotes) + Send,
    ) -> Result<(), Error> {
        change(&mut self.connection_state().notes);
        let Some(folder) = &self.folder else { return Ok(()) };
        let before = folder.read_notes().await?;
        let mut notes = before.clone();
        change(&mut notes);
        let written = if notes == before { Ok(()) } else { folder.write_notes(&notes).await };
        self.connection_state().notes = notes;
        written
    }

    /// Returns the recorded id of this installation, which another process may have recorded.
    pub(super) async fn noted_installation(&self) -> Result<Option<String>, Error> {
        match &self.folder {
            Some(folder) => Ok(folder.read_notes().await?.installation_id),
            None => Ok(self.connection_state().notes.installation_id.clone()),
        }
    }

    /// Reads the notes from disk if the installation id of this connection is unknown.
    pub(super) async fn read_notes_for(&self, connection: &str) {
        let is_known = {
            let notes = &self.connection_state().notes;
            notes.connection.as_deref() == Some(connection) && notes.installation_id.is_some()
        };
        let Some(folder) = self.folder.as_ref().filter(|_| !is_known) else { return };
        match folder.read_notes().await {
            Ok(notes) => self.connection_state().notes = notes,
            Err(error) => tracing::debug!(%error, "cannot read the notes of the connection"),
        }
    }

    /// Returns the connection whose end a process recorded, and the reason.
    pub(super) async fn noted_end(&self) -> Option<(String, EndReason)> {
        let ended = self.folder.as_ref()?.read_notes().await.ok()?.ended?;
        let end = parse_end(&ended.why)?;
        Some((ended.connection, end))
    }

    /// Returns the id of the current or last connection, from memory, from the store, or from the notes.
    pub(super) async fn known_connection(&self) -> Option<String> {
        let connection = self.connection_state().connection.as_deref().map(str::to_owned);
        let stored = match connection {
            Some(connection) => Some(connection),
            None => self.stored_refresh().await.ok().flatten().map(|refresh| refresh.connection.to_string()),
        };
        let notes = match &self.folder {
            Some(folder) if stored.is_none() => folder.read_notes().await.ok()?,
            _ => return stored,
        };
        notes.connection.or_else(|| notes.ended.map(|ended| ended.connection))
    }

    /// Deletes the notes, except the list of connections with secrets that could not be deleted. Adds `left`
    /// to this list.
    pub(super) async fn clear_notes(&self, _: &ExclusiveGuard, left: Option<String>) -> Result<(), Error> {
        let there = self.stored_notes().await.unwrap_or_else(|_| self.connection_state().notes.clone());
        let mut notes = ConnectionNotes { left: there.left, ..ConnectionNotes::default() };
        // After a repeated logout, the list already contains the connection.
        notes.left.extend(left.filter(|left| !notes.left.contains(left)));
        self.connection_state().notes = notes.clone();
        let waits = self.clear_member_waits().await;
        let forgotten = match &self.folder {
            // The notes are replaced instead of deleted, so that a crash in between does not revive the
            // connection.
            Some(folder) if !notes.left.is_empty() => {
                folder.write_notes(&notes).await.and(folder.save_proofs(&SavedProofs::default()).await)
            }
            Some(folder) => folder.delete_notes().await,
            None => Ok(()),
        };
        forgotten.and(waits)
    }

    /// Returns the notes from disk, which include the changes of other processes.
    async fn stored_notes(&self) -> Result<ConnectionNotes, Error> {
        match &self.folder {
            Some(folder) => folder.read_notes().await,
            None => Ok(self.connection_state().notes.clone()),
        }
    }

    /// Completes the cleanup of this token's connection, if an earlier attempt recorded its end but could not
    /// delete its secrets. Returns true if the connection had ended.
    pub(super) async fn finish_ended(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
    ) -> Result<bool, Error> {
        let notes = self.stored_notes().await?;
        if notes.left.iter().any(|left| **left == *refresh.connection) {
            self.finish_disconnect(guard, refresh).await;
            return Ok(true);
        }
        let Some(ended) = notes.ended.filter(|ended| *ended.connection == *refresh.connection) else {
            return Ok(false);
        };
        self.end_connection(guard, parse_end(&ended.why).unwrap_or(EndReason::GrantRevoked), &refresh.jkt)
            .await;
        Ok(true)
    }

    /// IDP-24: deletes the secrets that an earlier logout could not delete.
    async fn finish_disconnect(&self, guard: &ExclusiveGuard, refresh: &StoredRefresh) {
        self.drop_connection();
        self.set_state(SessionState::SignedOut);
        let deleted = self.delete_all_tokens().await.and(self.delete_key(&refresh.jkt).await);
        let done = match deleted {
            Ok(()) => {
                self.update_notes(guard, |notes| notes.left.retain(|left| **left != *refresh.connection))
                    .await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "cannot delete all secrets of the ended connection; the next start retries");
        }
    }

    /// Returns the grant for signing calls. Returns `None` if there is no token, or if the key to which it is
    /// bound is missing.
    pub(super) fn grant(&self) -> Option<AccessGrant> {
        let state = self.connection_state();
        let (access, keyed) = (state.access.as_ref()?, state.key_proofs.as_ref()?);
        if access.jkt != keyed.jkt {
            return None;
        }
        Some(AccessGrant {
            token: Arc::clone(&access.token),
            proofs: Arc::clone(&keyed.gateway),
            owner: state.owner()?,
            jkt: keyed.jkt.clone(),
            open_count: state.open_count,
        })
    }

    /// Creates the stored form of the access token in a response. `requested_scopes` is used if the response
    /// contains no scopes.
    pub(super) fn access_from_response(
        &self,
        connection: &str,
        jkt: &str,
        response: &TokenResponse,
        requested_scopes: Arc<[Scope]>,
    ) -> StoredAccess {
        let life = TokenLifetime::starting_at(
            self.environment.now(),
            response.expires_in,
            self.environment.random_fraction(),
        );
        StoredAccess {
            connection: connection.into(),
            jkt: jkt.into(),
            token: Arc::<AccessToken>::clone(&response.access),
            scopes: response.scopes.clone().map_or(requested_scopes, Into::into),
            lifetime: life,
        }
    }

    /// Stores new tokens: first the refresh token, permanently, and then the other data. Losing the other
    /// data costs only one additional refresh.
    pub(super) async fn store_tokens(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
        access: StoredAccess,
    ) -> Result<AccessGrant, Error> {
        self.vault.write_entry(CredentialEntry::RefreshToken, &refresh.to_bytes()).await?;
        self.finish_storing(guard, refresh, access).await
    }

    /// Stores the access token and the notes, and then uses the tokens.
    pub(super) async fn finish_storing(
        &self,
        guard: &ExclusiveGuard,
        refresh: &StoredRefresh,
        access: StoredAccess,
    ) -> Result<AccessGrant, Error> {
        if let Err(error) = self.vault.write_entry(CredentialEntry::AccessToken, &access.to_bytes()).await {
            tracing::warn!(%error, "cannot store the access token for other processes");
        }
        let scopes: Vec<String> = access.scopes.iter().map(ToString::to_string).collect();
        let update = self.update_notes(guard, |notes| {
            notes.assign_to(&refresh.connection);
            notes.scopes.clone_from(&scopes);
            notes.ended = None;
        });
        if let Err(error) = update.await {
            tracing::warn!(%error, "cannot write the session notes");
        }
        if let Err(error) = self.save_proofs().await {
            tracing::warn!(%error, "cannot save the nonces");
        }
        self.use_tokens(refresh, access)
    }

    /// Makes tokens that are already stored the current ones.
    pub(super) fn use_tokens(
        &self,
        refresh: &StoredRefresh,
        access: StoredAccess,
    ) -> Result<AccessGrant, Error> {
        {
            let mut state = self.connection_state();
            state.connection = Some(refresh.connection.clone());
            state.access = Some(access);
            state.unsaved = None;
            state.throttle.record_success();
        }
        self.grant()
            .ok_or_else(|| Error::new(ErrorKind::Bug, "cannot use the access token: its key is missing"))
    }

    /// Ends the connection. Deletes the secrets that the reason requires (ERR-12, ERR-13, ERR-47), and
    /// records the end, so that the next process can complete the deletion. Does not delete a key other than
    /// the rejected one.
    pub(super) async fn end_connection(&self, guard: &ExclusiveGuard, end: EndReason, jkt: &str) {
        let connection = self.connection_state().connection.clone();
        let connection = match connection {
            Some(connection) => Some(connection),
            None => self.stored_refresh().await.ok().flatten().map(|refresh| refresh.connection),
        };
        self.set_state(SessionState::Ended(end));
        self.drop_connection();
        let ended = connection
            .map(|connection| EndNote { connection: connection.into(), why: end_name(end).to_owned() });
        let update = self.update_notes(guard, |notes| {
            notes.scopes.clear();
            notes.ended.clone_from(&ended);
            if end == EndReason::InstallationDisconnected {
                notes.installation_id = None;
            }
        });
        let mut done = vec![update.await];
        done.push(self.delete_tokens().await);
        if end == EndReason::InstallationDisconnected {
            done.push(self.delete_key(jkt).await);
        }
        for error in done.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "cannot delete all secrets of the ended connection; the next start retries");
        }
    }

    /// Deletes the tokens. The access token is deleted first, so that an interrupted deletion can be
    /// detected. If this fails, the refresh token is deleted nevertheless, because it is valid much longer.
    pub(super) async fn delete_tokens(&self) -> Result<(), Error> {
        let access = self.vault.delete_entry(CredentialEntry::AccessToken).await;
        access.and(self.vault.delete_entry(CredentialEntry::RefreshToken).await)
    }

    /// Deletes the tokens, and all entries under the names of earlier versions. Used only when the member
    /// disconnects.
    pub(super) async fn delete_all_tokens(&self) -> Result<(), Error> {
        self.delete_tokens().await?;
        let earlier = self.vault.without_gateway();
        for entry in [CredentialEntry::AccessToken, CredentialEntry::RefreshToken, CredentialEntry::DpopKey] {
            earlier.delete_entry(entry).await?;
        }
        Ok(())
    }

    /// Deletes the key with this thumbprint, but keeps a newer key.
    async fn delete_key(&self, jkt: &str) -> Result<(), Error> {
        let _ = self.connection_state().key_proofs.take_if(|keyed| *keyed.jkt == *jkt);
        match self.keys.load().await {
            Ok(Some(key)) if key.public_key().thumbprint().to_string() == jkt => self.keys.delete().await,
            Ok(_) => Ok(()),
            // An unreadable entry is not a usable key, and it would prevent the next sign-in from creating a
            // key.
            Err(error) => match self.keys.delete_unreadable().await? {
                true => Ok(()),
                false => Err(error),
            },
        }
    }

    pub(super) fn drop_connection(&self) {
        let mut state = self.connection_state();
        state.connection = None;
        state.access = None;
        state.unsaved = None;
        state.throttle = RefreshThrottle::default();
    }
}

/// Returns the scopes that the notes contain.
fn noted_scopes(notes: &ConnectionNotes) -> Arc<[Scope]> {
    notes.scopes.iter().map(|scope| Scope::from(scope.as_str())).collect()
}

/// Returns the name under which [`ConnectionNotes`] stores an end reason.
const fn end_name(end: EndReason) -> &'static str {
    match end {
        EndReason::ClientDisconnected => "client",
        EndReason::InstallationDisconnected => "installation",
        EndReason::GrantRevoked => "grant",
        EndReason::KeyLost => "key-lost",
    }
}

fn parse_end(name: &str) -> Option<EndReason> {
    [
        EndReason::ClientDisconnected,
        EndReason::InstallationDisconnected,
        EndReason::GrantRevoked,
        EndReason::KeyLost,
    ]
    .into_iter()
    .find(|end| end_name(*end) == name)
}
