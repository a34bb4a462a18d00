//! What a session holds, and how it reads and writes what outlives it.

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
    refresh::{Flight, Pace},
    stored::{Access, Life, Refresh},
};
use crate::{
    credentials::{Entry, Vault},
    environment::Environment,
    error::{Error, ErrorKind},
    gates::{Gates, SavedGates},
    identity::Identity,
    keys::KeySource,
    lock::{EndedNote, Folder, Locked, Notes, SavedProofs, SavedWaits},
    oauth::{Provider, RefreshToken, TokenAnswer},
    place::Place,
    state::{End, SessionState},
    tokens::{Grant, Note, Proofs},
    transport::Road,
    whose::Whose,
};

pub(super) struct Inside {
    pub(super) place: Place,
    pub(super) identity: Identity,
    pub(super) environment: Environment,
    pub(super) vault: Vault,
    pub(super) keys: Arc<dyn KeySource>,
    pub(super) provider: Provider,
    folder: Option<Folder>,
    pub(super) state: watch::Sender<SessionState>,
    held: Mutex<Held>,
    /// Held by whoever reads and writes the store for more than one look.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The refresh that is under way.
    pub(super) flight: Mutex<Option<Flight>>,
    /// What the gateway asked to wait. What the provider asked is with the provider.
    pub(super) gateway: Gates,
    /// And what goes by it.
    pub(super) road: Road,
    /// How many things go on by themselves.
    pub(super) under_way: watch::Sender<usize>,
    /// Whether what was asked is to be written down, and nobody is at it.
    unwritten: AtomicBool,
    local: Mutex<Vec<Arc<dyn LocalData>>>,
}

/// What is known of the connection. Never locked across an `await`.
#[derive(Default)]
pub(super) struct Held {
    pub(super) keyed: Option<Keyed>,
    /// The connection's id.
    pub(super) connection: Option<Box<str>>,
    pub(super) access: Option<Access>,
    /// Tokens that the store did not take yet.
    pub(super) unsaved: Option<Unsaved>,
    pub(super) notes: Notes,
    pub(super) pace: Pace,
    /// How often the session was opened or resumed.
    opened: u32,
}

impl Held {
    /// What is noted of the connection that there is; where there is none, of the last one.
    pub(super) fn noted(&self) -> Option<&Notes> {
        let known = |connection: &str| self.notes.connection.as_deref() == Some(connection);
        self.connection.as_deref().is_none_or(known).then_some(&self.notes)
    }

    /// Whose the connection is that there is.
    pub(super) fn whose(&self) -> Option<Whose> {
        let connection = self.connection.clone()?;
        let installation = self.noted().and_then(|notes| notes.installation_id.as_deref());
        Some(Whose { connection: Some(connection), installation: installation.map(Into::into) })
    }

    /// What was granted to the connection that there is.
    fn scopes(&self) -> Arc<[Scope]> {
        match &self.access {
            Some(access) => Arc::clone(&access.scopes),
            None => self.noted().map_or_else(Arc::default, granted),
        }
    }

    /// What was granted to this connection, as far as that is known here: the one that there is may be of before.
    pub(super) fn scopes_of(&self, connection: &str) -> Arc<[Scope]> {
        if self.connection.as_deref() == Some(connection) {
            return self.scopes();
        }
        let noted = Some(&self.notes).filter(|notes| notes.connection.as_deref() == Some(connection));
        noted.map_or_else(Arc::default, granted)
    }

    /// Whether this grant is of what there is now: the connection, the key, and no earlier than it was resumed.
    pub(super) fn is_of_now(&self, grant: &Grant) -> bool {
        let jkt = self.keyed.as_ref().map(|keyed| &keyed.jkt);
        let connection = self.connection.as_deref();
        connection.is_some_and(|connection| grant.whose.is_connection(connection))
            && (jkt, self.opened) == (Some(&grant.jkt), grant.opened)
    }
}

/// The key of this installation, and what is known of each server with it: apart, so that a nonce of the gateway
/// never reaches the provider, also where both have one origin (DPP-17).
#[derive(Clone)]
pub(super) struct Keyed {
    pub(super) jkt: Box<str>,
    pub(super) gateway: Arc<Proofs>,
    pub(super) provider: Arc<Proofs>,
}

/// What came in the place of a refresh token that is spent.
#[derive(Clone)]
pub(super) struct Unsaved {
    pub(super) spent: RefreshToken,
    pub(super) refresh: Refresh,
    pub(super) access: Access,
}

/// Being the only one, in this process and among all of this installation.
pub(super) struct Alone {
    _turn: OwnedMutexGuard<()>,
    _locked: Option<Locked>,
}

impl Inside {
    pub(super) fn new(
        place: Place,
        identity: Identity,
        environment: Environment,
        vault: Vault,
        keys: Arc<dyn KeySource>,
        provider: Provider,
        folder: Option<Folder>,
    ) -> Self {
        let gateway = Gates::default();
        let road = Road::new(gateway.clone(), environment.now().monotonic);
        Self {
            place,
            identity,
            environment,
            vault,
            keys,
            provider,
            folder,
            state: watch::Sender::new(SessionState::SignedOut),
            held: Mutex::default(),
            turn: Arc::default(),
            flight: Mutex::default(),
            gateway,
            road,
            under_way: watch::Sender::new(0),
            unwritten: AtomicBool::new(false),
            local: Mutex::default(),
        }
    }

    pub(super) fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn keep(&self, data: Arc<dyn LocalData>) {
        self.local.lock().unwrap_or_else(PoisonError::into_inner).push(data);
    }

    pub(super) fn local(&self) -> Vec<Arc<dyn LocalData>> {
        self.local.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn scopes(&self) -> Arc<[Scope]> {
        self.held().scopes()
    }

    pub(super) fn set_state(&self, state: SessionState) {
        let changed = self.state.send_if_modified(|now| std::mem::replace(now, state) != state);
        if changed {
            tracing::info!(?state, "the session changed");
        }
    }

    /// Fails unless calls can be made.
    pub(super) fn is_active(&self) -> Result<(), Error> {
        let state = *self.state.borrow();
        match state {
            SessionState::Active => Ok(()),
            SessionState::SignedOut => Err(Error::new(ErrorKind::SignInNeeded, "nobody is signed in")),
            SessionState::Halted(halt) => Err(Error::new(ErrorKind::Halted(halt), halt.text())),
            SessionState::Ended(end) => Err(Error::new(ErrorKind::Ended(end), end.text())),
        }
    }

    /// Waits until nobody else is at it.
    pub(super) async fn alone(&self) -> Result<Alone, Error> {
        let turn = Arc::clone(&self.turn).lock_owned().await;
        let locked = match &self.folder {
            Some(folder) => Some(folder.lock(&self.environment).await?),
            None => None,
        };
        Ok(Alone { _turn: turn, _locked: locked })
    }

    /// Alone in this process at least, where the lock of all cannot be had.
    pub(super) async fn alone_at_any_rate(&self) -> Alone {
        match self.alone().await {
            Ok(alone) => alone,
            Err(error) => {
                tracing::warn!(%error, "goes on without the lock of the session");
                Alone { _turn: Arc::clone(&self.turn).lock_owned().await, _locked: None }
            }
        }
    }

    /// Takes the state from what is kept.
    pub(super) async fn open(&self) -> Result<(), Error> {
        let alone = self.alone().await?;
        self.read_notes().await?;
        let Some(refresh) = self.stored_refresh().await? else {
            self.drop_connection();
            let ended = self.held().notes.ended.clone();
            self.set_state(match ended.and_then(|ended| end_of(&ended.why)) {
                Some(end) => SessionState::Ended(end),
                None => SessionState::SignedOut,
            });
            return Ok(());
        };
        if self.finish(&alone, &refresh).await? {
            return Ok(());
        }
        if !self.has_key(&refresh.jkt).await? {
            self.set_state(SessionState::Ended(End::KeyLost));
            return Ok(());
        }
        let access = self.stored_access(&refresh).await?;
        {
            let mut held = self.held();
            held.pace = Pace::default();
            held.connection = Some(refresh.connection.clone());
            held.access = access;
            held.opened = held.opened.wrapping_add(1);
        }
        self.set_state(SessionState::Active);
        Ok(())
    }

    /// What earlier processes noted, and what they were asked to wait.
    pub(super) async fn read_notes(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let notes = folder.notes().await?;
        self.held().notes = notes;
        self.restore_waits().await
    }

    /// The refresh token in the store.
    pub(super) async fn stored_refresh(&self) -> Result<Option<Refresh>, Error> {
        let Some(bytes) = self.vault.read(Entry::RefreshToken).await? else { return Ok(None) };
        let refresh = Refresh::read(&bytes);
        if refresh.is_none() {
            tracing::warn!("the secret store holds a refresh token that was not written by this program");
        }
        Ok(refresh)
    }

    /// The access token in the store, when it belongs to this refresh token.
    pub(super) async fn stored_access(&self, refresh: &Refresh) -> Result<Option<Access>, Error> {
        let bytes = self.vault.read(Entry::AccessToken).await?;
        let access = bytes.and_then(|bytes| Access::read(&bytes, self.environment.now()));
        Ok(access.filter(|access| access.belongs_to(refresh)))
    }

    /// Whether the key of this name is at hand: loads it when another one is.
    pub(super) async fn has_key(&self, jkt: &str) -> Result<bool, Error> {
        if self.held().keyed.as_ref().is_some_and(|keyed| *keyed.jkt == *jkt) {
            return Ok(true);
        }
        let Some(key) = self.keys.load().await? else { return Ok(false) };
        let keyed = self.keyed(key).await;
        let is_it = *keyed.jkt == *jkt;
        self.held().keyed = Some(keyed);
        Ok(is_it)
    }

    /// Proofs by a key, with what was learnt of the servers before.
    pub(super) async fn keyed(&self, key: Arc<dyn ProofSigner>) -> Keyed {
        let jkt = key.public_key().thumbprint().to_string().into();
        let gateway = Arc::new(Proofs::new(Arc::clone(&key), self.environment.clone()));
        let provider = Arc::new(Proofs::new(key, self.environment.clone()));
        if let Some(folder) = &self.folder {
            match folder.proofs().await {
                Ok(saved) => {
                    let now = self.environment.now();
                    gateway.restore(saved.gateway, now);
                    provider.restore(saved.provider, now);
                }
                Err(error) => tracing::debug!(%error, "begins without nonces"),
            }
        }
        Keyed { jkt, gateway, provider }
    }

    pub(super) async fn save_proofs(&self) -> Result<(), Error> {
        let (Some(folder), Some(keyed)) = (&self.folder, self.held().keyed.clone()) else { return Ok(()) };
        let now = self.environment.now();
        let saved = SavedProofs { gateway: keyed.gateway.save(now), provider: keyed.provider.save(now) };
        folder.save_proofs(&saved).await
    }

    /// What an earlier process was told, or another one meanwhile.
    async fn restore_waits(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let (waits, now) = (folder.waits().await?, self.environment.now());
        self.take_waits(&waits);
        if waits.gateway.is_ahead(now.wall) || waits.provider.is_ahead(now.wall) {
            self.save_waits().await?;
        }
        Ok(())
    }

    fn take_waits(&self, waits: &SavedWaits) {
        let now = self.environment.now();
        self.gateway.restore(&waits.gateway, now);
        self.provider.gates().restore(&waits.provider, now);
    }

    /// Writes down what servers asked to wait, beside what other processes were told, and hears that.
    pub(super) async fn save_waits(&self) -> Result<(), Error> {
        let Some(folder) = &self.folder else { return Ok(()) };
        self.unwritten.store(false, Ordering::SeqCst);
        let now = self.environment.now();
        let (gateway, provider) = (self.gateway.save(now), self.provider.gates().save(now));
        if gateway == SavedGates::default() && provider == SavedGates::default() {
            return Ok(());
        }
        let change = move |there: SavedWaits| SavedWaits {
            gateway: there.gateway.and(gateway, now.wall),
            provider: there.provider.and(provider, now.wall),
        };
        let there = folder.change_waits(change).await?;
        self.take_waits(&there);
        Ok(())
    }

    /// From now on what a server asks is written down at once, since nobody knows how long this process lives; and what
    /// other processes are told is heard before a request leaves.
    pub(super) fn share_waits(self: &Arc<Self>) {
        if self.folder.is_none() {
            return;
        }
        for gates in [&self.gateway, self.provider.gates()] {
            let inside = Arc::downgrade(self);
            gates.hears_by(move || {
                let inside = inside.upgrade();
                Box::pin(async move {
                    let Some(inside) = inside else { return };
                    if let Err(error) = inside.restore_waits().await {
                        tracing::debug!(%error, "what other processes were told to wait is not known");
                    }
                })
            });
            let inside = Arc::downgrade(self);
            gates.whenever_asked(move || {
                let (Some(inside), Ok(_)) = (inside.upgrade(), Handle::try_current()) else { return };
                if !inside.unwritten.swap(true, Ordering::SeqCst) {
                    let writer = Arc::clone(&inside);
                    drop(inside.spawn(async move {
                        if let Err(error) = writer.save_waits().await {
                            tracing::warn!(%error, "the next process does not know how long to wait");
                        }
                    }));
                }
            });
        }
    }

    /// Forgets what servers asked of single members: whoever was signed in disconnected (CLI-06).
    async fn forget_members_waits(&self) -> Result<(), Error> {
        let change = |there: SavedWaits| SavedWaits { gateway: there.gateway.without_members(), ..there };
        // There first: what is read again from there would be here again.
        let forgotten = match &self.folder {
            Some(folder) => folder.change_waits(change).await.map(drop),
            None => Ok(()),
        };
        self.gateway.forget_members();
        forgotten
    }

    /// Notes what was said of a connection, for this process and for all. It is nobody's when this process has another
    /// connection by now, or any other process has.
    pub(super) async fn noted(&self, of: &Whose, note: Note<'_>) -> Result<(), Error> {
        let Some(connection) = of.connection.as_deref() else { return Ok(()) };
        let change = |notes: &mut Notes| {
            notes.belong_to(connection);
            match note {
                Note::Installation(id) => notes.installation_id = Some(id.to_owned()),
                Note::Label(label) => notes.label = Some(label.to_owned()),
            }
        };
        {
            let mut held = self.held();
            if held.connection.as_deref() != Some(connection) {
                return Ok(());
            }
            let before = held.notes.clone();
            change(&mut held.notes);
            if held.notes == before {
                return Ok(());
            }
        }
        if let Note::Installation(id) = note {
            self.gateway.named(connection, id);
        }
        let alone = self.alone().await?;
        if self.is_kept(of).await? && self.held().connection.as_deref() == Some(connection) {
            self.renote(&alone, change).await?;
        }
        Ok(())
    }

    /// Whether this connection is still the one in the store, which all processes share. Of one without an id nobody
    /// can tell, and it counts as kept.
    pub(super) async fn is_kept(&self, of: &Whose) -> Result<bool, Error> {
        if of.connection.is_none() {
            return Ok(true);
        }
        Ok(self.stored_refresh().await?.is_some_and(|stored| of.is_connection(&stored.connection)))
    }

    /// The same, alone already: what others noted meanwhile stays.
    pub(super) async fn renote(&self, _: &Alone, change: impl Fn(&mut Notes) + Send) -> Result<(), Error> {
        change(&mut self.held().notes);
        let Some(folder) = &self.folder else { return Ok(()) };
        let before = folder.notes().await?;
        let mut notes = before.clone();
        change(&mut notes);
        let written = if notes == before { Ok(()) } else { folder.note(&notes).await };
        self.held().notes = notes;
        written
    }

    /// What the exchange calls this installation, as any process noted it.
    pub(super) async fn noted_name(&self) -> Result<Option<String>, Error> {
        match &self.folder {
            Some(folder) => Ok(folder.notes().await?.installation_id),
            None => Ok(self.held().notes.installation_id.clone()),
        }
    }

    /// Takes over what another process noted of a connection whose name this one does not know yet.
    pub(super) async fn read_notes_of(&self, connection: &str) {
        let is_known = {
            let notes = &self.held().notes;
            notes.connection.as_deref() == Some(connection) && notes.installation_id.is_some()
        };
        let Some(folder) = self.folder.as_ref().filter(|_| !is_known) else { return };
        match folder.notes().await {
            Ok(notes) => self.held().notes = notes,
            Err(error) => tracing::debug!(%error, "what is noted of the connection cannot be read"),
        }
    }

    /// Which connection is over, and why, as any process noted it.
    pub(super) async fn noted_end(&self) -> Option<(String, End)> {
        let ended = self.folder.as_ref()?.notes().await.ok()?.ended?;
        let end = end_of(&ended.why)?;
        Some((ended.connection, end))
    }

    /// Which connection there is, or was last, as far as it can be told without the secret store, too.
    pub(super) async fn known_connection(&self) -> Option<String> {
        let held = self.held().connection.as_deref().map(str::to_owned);
        let stored = match held {
            Some(held) => Some(held),
            None => self.stored_refresh().await.ok().flatten().map(|refresh| refresh.connection.to_string()),
        };
        let notes = match &self.folder {
            Some(folder) if stored.is_none() => folder.notes().await.ok()?,
            _ => return stored,
        };
        notes.connection.or_else(|| notes.ended.map(|ended| ended.connection))
    }

    /// Deletes the notes, but for those of connections of which something is `left`: this one, and others of before.
    pub(super) async fn forget_notes(&self, _: &Alone, left: Option<String>) -> Result<(), Error> {
        let there = self.written_notes().await.unwrap_or_else(|_| self.held().notes.clone());
        let mut notes = Notes { left: there.left, ..Notes::default() };
        // Whoever logs out again leaves the same.
        notes.left.extend(left.filter(|left| !notes.left.contains(left)));
        self.held().notes = notes.clone();
        let waits = self.forget_members_waits().await;
        let forgotten = match &self.folder {
            // In the place of what was there, so that no crash in between makes the connection one again.
            Some(folder) if !notes.left.is_empty() => {
                folder.note(&notes).await.and(folder.save_proofs(&SavedProofs::default()).await)
            }
            Some(folder) => folder.forget().await,
            None => Ok(()),
        };
        forgotten.and(waits)
    }

    /// What is noted, also by other processes.
    async fn written_notes(&self) -> Result<Notes, Error> {
        match &self.folder {
            Some(folder) => folder.notes().await,
            None => Ok(self.held().notes.clone()),
        }
    }

    /// Whether the connection of this token is over: whoever noted that could not delete everything, and it is done now.
    pub(super) async fn finish(&self, alone: &Alone, refresh: &Refresh) -> Result<bool, Error> {
        let notes = self.written_notes().await?;
        if notes.left.iter().any(|left| **left == *refresh.connection) {
            self.finish_disconnecting(alone, refresh).await;
            return Ok(true);
        }
        let Some(ended) = notes.ended.filter(|ended| *ended.connection == *refresh.connection) else {
            return Ok(false);
        };
        self.end(alone, end_of(&ended.why).unwrap_or(End::Grant), &refresh.jkt).await;
        Ok(true)
    }

    /// IDP-24: deletes what a member's logout could not get at.
    async fn finish_disconnecting(&self, alone: &Alone, refresh: &Refresh) {
        self.drop_connection();
        self.set_state(SessionState::SignedOut);
        let deleted = self.delete_all_tokens().await.and(self.delete_key(&refresh.jkt).await);
        let done = match deleted {
            Ok(()) => {
                self.renote(alone, |notes| notes.left.retain(|left| **left != *refresh.connection)).await
            }
            Err(error) => Err(error),
        };
        if let Err(error) = done {
            tracing::warn!(%error, "not everything of the ended connection is deleted; the next start tries again");
        }
    }

    /// What to sign with, once there is a token and the key that it is bound to.
    pub(super) fn grant(&self) -> Option<Grant> {
        let held = self.held();
        let (access, keyed) = (held.access.as_ref()?, held.keyed.as_ref()?);
        if access.jkt != keyed.jkt {
            return None;
        }
        Some(Grant {
            token: Arc::clone(&access.token),
            proofs: Arc::clone(&keyed.gateway),
            whose: held.whose()?,
            jkt: keyed.jkt.clone(),
            opened: held.opened,
        })
    }

    /// Tokens of an answer, for a connection.
    pub(super) fn accepted(
        &self,
        connection: &str,
        jkt: &str,
        answer: &TokenAnswer,
        asked: Arc<[Scope]>,
    ) -> Access {
        let life = Life::begin(self.environment.now(), answer.expires_in, self.environment.fraction());
        Access {
            connection: connection.into(),
            jkt: jkt.into(),
            token: Arc::<AccessToken>::clone(&answer.access),
            scopes: answer.scopes.clone().map_or(asked, Into::into),
            life,
        }
    }

    /// Keeps tokens: the refresh token first and for good, then the rest, without which there is one refresh
    /// more.
    pub(super) async fn adopt(
        &self,
        alone: &Alone,
        refresh: &Refresh,
        access: Access,
    ) -> Result<Grant, Error> {
        self.vault.write(Entry::RefreshToken, &refresh.to_bytes()).await?;
        self.adopted(alone, refresh, access).await
    }

    /// Keeps the rest, and uses them.
    pub(super) async fn adopted(
        &self,
        alone: &Alone,
        refresh: &Refresh,
        access: Access,
    ) -> Result<Grant, Error> {
        if let Err(error) = self.vault.write(Entry::AccessToken, &access.to_bytes()).await {
            tracing::warn!(%error, "other processes cannot share the access token");
        }
        let scopes: Vec<String> = access.scopes.iter().map(ToString::to_string).collect();
        let noted = self.renote(alone, |notes| {
            notes.belong_to(&refresh.connection);
            notes.scopes.clone_from(&scopes);
            notes.ended = None;
        });
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the session's notes are not written");
        }
        if let Err(error) = self.save_proofs().await {
            tracing::warn!(%error, "nonces are not written down");
        }
        self.take(refresh, access)
    }

    /// Uses tokens that are kept.
    pub(super) fn take(&self, refresh: &Refresh, access: Access) -> Result<Grant, Error> {
        {
            let mut held = self.held();
            held.connection = Some(refresh.connection.clone());
            held.access = Some(access);
            held.unsaved = None;
            held.pace.succeeded();
        }
        self.grant().ok_or_else(|| Error::new(ErrorKind::Bug, "there is a token and no key"))
    }

    /// The connection is over: deletes what its end asks for (ERR-12, ERR-13, ERR-47), and notes it, so that the
    /// next process finishes what this one could not. Of keys none goes but the one that was refused.
    pub(super) async fn end(&self, alone: &Alone, end: End, jkt: &str) {
        let connection = self.held().connection.clone();
        let connection = match connection {
            Some(connection) => Some(connection),
            None => self.stored_refresh().await.ok().flatten().map(|refresh| refresh.connection),
        };
        self.set_state(SessionState::Ended(end));
        self.drop_connection();
        let ended = connection
            .map(|connection| EndedNote { connection: connection.into(), why: name_of(end).to_owned() });
        let noted = self.renote(alone, |notes| {
            notes.scopes.clear();
            notes.ended.clone_from(&ended);
            if end == End::Installation {
                notes.installation_id = None;
            }
        });
        let mut done = vec![noted.await];
        done.push(self.delete_tokens().await);
        if end == End::Installation {
            done.push(self.delete_key(jkt).await);
        }
        for error in done.into_iter().filter_map(Result::err) {
            tracing::warn!(%error, "not everything of the ended connection is deleted; the next start tries again");
        }
    }

    /// The access token goes first: what is left of a deletion in halves can be found by the next. Where it does
    /// not go, the refresh token, which holds far longer, goes all the same.
    pub(super) async fn delete_tokens(&self) -> Result<(), Error> {
        let access = self.vault.delete(Entry::AccessToken).await;
        access.and(self.vault.delete(Entry::RefreshToken).await)
    }

    /// The same, and all that stands under names of before, which only a disconnection looks at.
    pub(super) async fn delete_all_tokens(&self) -> Result<(), Error> {
        self.delete_tokens().await?;
        let earlier = self.vault.before_gateways();
        for entry in [Entry::AccessToken, Entry::RefreshToken, Entry::DpopKey] {
            earlier.delete(entry).await?;
        }
        Ok(())
    }

    /// Deletes the key of this name: not one that was made after it.
    async fn delete_key(&self, jkt: &str) -> Result<(), Error> {
        let _ = self.held().keyed.take_if(|keyed| *keyed.jkt == *jkt);
        match self.keys.load().await {
            Ok(Some(key)) if key.public_key().thumbprint().to_string() == jkt => self.keys.delete().await,
            Ok(_) => Ok(()),
            // What nobody can read is nobody's key, and whoever signs in next could not make another beside it.
            Err(error) => match self.keys.delete_unreadable().await? {
                true => Ok(()),
                false => Err(error),
            },
        }
    }

    pub(super) fn drop_connection(&self) {
        let mut held = self.held();
        held.connection = None;
        held.access = None;
        held.unsaved = None;
        held.pace = Pace::default();
    }
}

/// The capabilities that are noted.
fn granted(notes: &Notes) -> Arc<[Scope]> {
    notes.scopes.iter().map(|scope| Scope::from(scope.as_str())).collect()
}

/// How an end is noted.
const fn name_of(end: End) -> &'static str {
    match end {
        End::Client => "client",
        End::Installation => "installation",
        End::Grant => "grant",
        End::KeyLost => "key-lost",
    }
}

fn end_of(name: &str) -> Option<End> {
    [End::Client, End::Installation, End::Grant, End::KeyLost].into_iter().find(|end| name_of(*end) == name)
}
