//! Synchronization of a replica: reads the feeds when they are due, and reports the results.
//!
//! [`SyncSchedule`] decides when to read (LIM-16, LIM-17), and [`Feed`] decides what to read. [`ReplicaSync`]
//! performs the I/O: it calls the exchange, commits pages, waits and publishes events. An error in one area
//! does not affect the others, unless it applies to the whole session.

mod capabilities;
mod outbox_events;
mod schedule;
mod status;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use dpop_bound::UnixTime;
use exchange_api::{
    Client, Error as CallError,
    call_views::FeedRead,
    runtime::transport::TransportFault,
    scopes::Scope,
    types::{Blueprint, OrgStockLot, Ship, StockLot},
};
use tokio::sync::{Mutex, Notify, broadcast, watch};
use tracing::Instrument as _;

use capabilities::CapabilityCheck;
pub use schedule::{ErrorScope, MIN_SYNC_INTERVAL, ScheduledAction, SyncSchedule};
pub use status::{AreaActivity, AreaStatus, SyncStatus};

use crate::{
    connection::Connection,
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::Exchange,
    feed::{
        Area, AreaState, Collection, Feed, FeedAction, FeedEntry, FeedInput, FeedPhase, FeedReader, PageEvent,
    },
    ownership::{Ownership, OwnershipMatch},
    rate_limiter::CallInitiator,
    replica::{
        AreaCommit, CommitOutcome, ForgottenCollection, OwnerNote, Replica, ReplicaStore, run_store_task,
    },
    transport::{RetryPolicy, SendConditions},
};

/// The number of entries on a page. Each page is one commit.
const PAGE_SIZE: i64 = 500;

/// The maximum number of attempts to take over a replica while another program writes to it. That program
/// stops at its next commit.
const MAX_TAKEOVERS: u32 = 8;

/// The minimum wait of a timer.
const MIN_TIMER_WAIT: Duration = Duration::from_millis(1);

/// The number of events that are buffered for a slow receiver. The receiver is notified of events that it
/// missed.
const EVENT_CAPACITY: usize = 256;

/// A synchronization that keeps a replica equal to the exchange. Clones share it.
///
/// ```no_run
/// # use exchange_client::{Error, Exchange, Replica};
/// # async fn example(exchange: Exchange) -> Result<(), Error> {
/// let replica = Replica::in_memory();
/// let sync = exchange.sync(&replica);
/// sync.begin_session(&exchange.connection().await?).await?;
/// sync.sync_once().await?;
/// for ship in replica.ships() {
///     println!("{}", ship?.ship_type.name);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ReplicaSync(Arc<SyncInner>);

struct SyncInner {
    api: Client,
    replica: Replica,
    environment: Environment,
    /// The exchange whose session signs the requests, if known.
    exchange: Option<Exchange>,
    schedule: std::sync::Mutex<SyncSchedule>,
    /// Invariant: this is locked after `schedule` if both are held.
    session: std::sync::Mutex<SyncSession>,
    /// Locked while a session begins.
    session_lock: Mutex<()>,
    /// The stored collections that the current token may not read and that have to be deleted.
    lost_collections: std::sync::Mutex<Vec<Collection>>,
    /// The number of times that the owner of the replica was recorded.
    owner_notes: AtomicU64,
    /// The value of `owner_notes` at the last confirmation that the connection still exists.
    confirmed_notes: AtomicU64,
    /// The state machines of the feeds. The lock ensures that only one area is read at a time, because all
    /// areas share the limits of the exchange.
    feeds: Mutex<AreaFeeds>,
    wakeup: Notify,
    status: watch::Sender<SyncStatus>,
    events: broadcast::Sender<PageEvent>,
}

/// The session to which rounds belong.
#[derive(Clone, Debug, Default)]
struct SyncSession {
    /// The ordinal number of the session.
    number: u64,
    reader: FeedReader,
    owner: Ownership,
    /// The areas that the token may read.
    areas: Vec<Area>,
    /// True if the token may read demand.
    demand: bool,
    capability_check: CapabilityCheck,
}

#[derive(Default)]
struct AreaFeeds {
    blueprints: Feed<Blueprint>,
    stock: Feed<StockLot>,
    ships: Feed<Ship>,
    org_stock: Feed<OrgStockLot>,
}

impl Exchange {
    /// Creates the synchronization of a replica. It reads only for the connection that was last passed to
    /// [`ReplicaSync::begin_session`](crate::sync::ReplicaSync::begin_session), even if another member signs
    /// in.
    #[must_use]
    pub fn sync(&self, replica: &Replica) -> ReplicaSync {
        let (api, environment) = (self.api().clone(), self.environment().clone());
        ReplicaSync::with_exchange(MIN_SYNC_INTERVAL, api, replica.clone(), environment, Some(self.clone()))
    }
}

impl ReplicaSync {
    /// Creates a synchronization that uses an API client. Nothing is read before
    /// [`begin_session`](Self::begin_session) is called.
    ///
    /// The caller must guarantee that the client reads only for the member of the session, because this type
    /// does not check the signed-in member. [`Exchange::sync`] creates a synchronization that does.
    #[must_use]
    pub fn new(api: Client, replica: Replica, environment: Environment) -> Self {
        Self::with_interval(MIN_SYNC_INTERVAL, api, replica, environment)
    }

    /// Creates the same synchronization as [`new`](Self::new), with a custom interval between timed rounds of
    /// at least 5 minutes (LIM-17).
    #[must_use]
    pub fn with_interval(
        interval: Duration,
        api: Client,
        replica: Replica,
        environment: Environment,
    ) -> Self {
        Self::with_exchange(interval, api, replica, environment, None)
    }

    fn with_exchange(
        interval: Duration,
        api: Client,
        replica: Replica,
        environment: Environment,
        exchange: Option<Exchange>,
    ) -> Self {
        let replica = replica.with_clocks(&environment);
        Self(Arc::new(SyncInner {
            api,
            replica,
            environment,
            exchange,
            schedule: std::sync::Mutex::new(SyncSchedule::new(interval)),
            session: std::sync::Mutex::default(),
            session_lock: Mutex::default(),
            lost_collections: std::sync::Mutex::default(),
            owner_notes: AtomicU64::new(0),
            confirmed_notes: AtomicU64::new(0),
            feeds: Mutex::default(),
            wakeup: Notify::new(),
            status: watch::Sender::default(),
            events: broadcast::Sender::new(EVENT_CAPACITY),
        }))
    }

    /// Returns the replica.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.0.replica
    }

    /// Returns a receiver for the current status and its changes.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<SyncStatus> {
        self.0.status.subscribe()
    }

    /// Subscribes to the changes of each page, which are published after the page's commit.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<PageEvent> {
        self.0.events.subscribe()
    }

    /// Begins a session with a connection.
    ///
    /// Each area that the token can read becomes due (LIM-17). Data of the organization is deleted if it is
    /// too old or if the token may not read it. If the replica contains data of another installation,
    /// everything is deleted, because the data may belong to another member and must not be shown. Call this
    /// after each sign-in, at each start and whenever the capabilities change, before data of the replica is
    /// shown. While [`run`](Self::run) is polled, a synchronization created by [`Exchange::sync`] detects
    /// changed capabilities itself.
    ///
    /// The replica then belongs to this connection. Rounds for an earlier connection stop, even in other
    /// processes.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store fails: outdated data may remain, so call this again.
    /// Returns [`ErrorKind::Busy`] if the exchange cannot identify the installation at the moment (SVC-03),
    /// so that the stored data may belong to another one: nothing is deleted or read, and nothing may be
    /// shown. Returns [`ErrorKind::SignInNeeded`] if the connection no longer exists, because it was
    /// disconnected or replaced since it was read.
    pub async fn begin_session(&self, connection: &Connection) -> Result<Vec<ForgottenCollection>, Error> {
        let _alone = self.0.session_lock.lock().await;
        self.begin_session_locked(connection).await
    }

    async fn begin_session_locked(&self, connection: &Connection) -> Result<Vec<ForgottenCollection>, Error> {
        let at = self.monotonic_time();
        let session = SyncSession {
            number: 0,
            reader: FeedReader::from_connection(connection),
            owner: connection.ownership(),
            areas: Area::ALL.into_iter().filter(|area| connection.has_capability(&area.scope())).collect(),
            demand: connection.has_capability(&Scope::ExchangeDemandRead),
            capability_check: self.capability_check(at),
        };
        let mut deleted = self.take_over_replica(&session).await?;
        let reader = session.reader.clone();
        *lock(&self.0.lost_collections) = session.unreadable_collections();
        {
            let mut schedule = lock(&self.0.schedule);
            let mut now = lock(&self.0.session);
            schedule.begin_session(session.areas.iter().copied(), at);
            *now = SyncSession { number: now.number + 1, ..session };
        }
        self.0.wakeup.notify_one();
        self.strip_details(reader).await?;
        deleted.extend(self.forget_expired().await?);
        deleted.retain(|forgotten| forgotten.entries > 0);
        Ok(deleted)
    }

    /// Deletes stored details of holders if the scope for them was lost (OST-10). This is done before any
    /// page is read, so that a failing read does not delay it.
    async fn strip_details(&self, reader: FeedReader) -> Result<(), Error> {
        if reader.details {
            return Ok(());
        }
        let replica = self.0.replica.clone();
        let stripped = run_store_task(move || {
            let store = replica.store();
            for _ in 0..MAX_TAKEOVERS {
                let area_state = store.area_state(Area::OrgStock)?;
                if !area_state.reader.details {
                    return Ok(Vec::new());
                }
                if let CommitOutcome::Done(tally) =
                    store.commit(&AreaCommit::without_details(Area::OrgStock, &area_state))?
                {
                    return Ok(tally.stripped);
                }
            }
            Err(contention_error())
        });
        let changed = stripped.await?;
        if !changed.is_empty() {
            let event = PageEvent { changed, ..PageEvent::new(Area::OrgStock, FeedPhase::Feed) };
            // Sending fails if there is no receiver, which is not an error.
            let _ = self.0.events.send(event);
        }
        Ok(())
    }

    /// Assigns the replica to this session. Deletes all data if some of it belongs to another installation,
    /// and then records the owner in each area before entries are stored. From this record, a process that
    /// reads for another owner detects the change. Demand has no owner record, because it belongs to the
    /// owner of org stock.
    async fn take_over_replica(&self, session: &SyncSession) -> Result<Vec<ForgottenCollection>, Error> {
        let (inner, reader) = (Arc::clone(&self.0), session.reader.clone());
        let deleted = run_store_task(move || {
            let store = inner.replica.store();
            let mut deleted = Vec::new();
            for _ in 0..MAX_TAKEOVERS {
                if !is_owned_by(store, &reader)? {
                    deleted.extend(store.forget(&Collection::ALL, OwnerNote::Remove)?);
                }
                if note_owner(store, &reader, &inner.owner_notes)? {
                    return Ok(deleted);
                }
            }
            Err(contention_error())
        })
        .await?;
        self.check_connection_exists(session).await?;
        Ok(deleted)
    }

    /// Checks that the connection of a session still exists. Otherwise deletes the session's areas and fails,
    /// because a token may remain valid after a disconnection, but must not restore deleted data (CLI-06).
    /// The check follows the recording of the owner, because a disconnection deletes that record. It is
    /// repeated until it succeeds.
    async fn check_connection_exists(&self, session: &SyncSession) -> Result<(), Error> {
        let Some(exchange) = &self.0.exchange else { return Ok(()) };
        let note_count = self.0.owner_notes.load(Ordering::SeqCst);
        if self.0.confirmed_notes.load(Ordering::SeqCst) == note_count {
            return Ok(());
        }
        if exchange.tokens().is_current_connection(&session.owner).await? {
            self.0.confirmed_notes.fetch_max(note_count, Ordering::SeqCst);
            return Ok(());
        }
        let (replica, reader) = (self.0.replica.clone(), session.reader.clone());
        run_store_task(move || {
            let store = replica.store();
            for area in Area::ALL {
                if store.area_state(area)?.belongs_to(&reader) == OwnershipMatch::Same {
                    store.forget(&[Collection::Area(area)], OwnerNote::Remove)?;
                }
            }
            Ok(())
        })
        .await?;
        let message = "the connection no longer exists, so nothing is read for it";
        Err(Error::new(ErrorKind::SignInNeeded, message))
    }

    /// Returns the stored state of an area if the area still belongs to the session of the round. If another
    /// connection took the replica over, this round must not write to it, because its tokens may belong to
    /// another member.
    async fn load_area_state(&self, area: Area, session: &SyncSession) -> Result<AreaState, Error> {
        let read = async || {
            let replica = self.0.replica.clone();
            run_store_task(move || replica.store().area_state(area)).await
        };
        let mut area_state = read().await?;
        let has_name = session.reader.installation.is_some();
        if has_name && area_state.belongs_to(&session.reader) == OwnershipMatch::Unowned {
            // The owner record was deleted since the session began, by a disconnection or together with a
            // corrupt file.
            let (inner, reader) = (Arc::clone(&self.0), session.reader.clone());
            run_store_task(move || note_owner(inner.replica.store(), &reader, &inner.owner_notes)).await?;
            area_state = read().await?;
        }
        if area_state.belongs_to(&session.reader) == OwnershipMatch::Same {
            self.check_connection_exists(session).await?;
        }
        match area_state.belongs_to(&session.reader) {
            OwnershipMatch::Same => Ok(area_state),
            OwnershipMatch::Unowned | OwnershipMatch::Unknown
                if !has_name && area_state.reader.installation.is_none() =>
            {
                Ok(area_state)
            }
            OwnershipMatch::Unowned | OwnershipMatch::Other | OwnershipMatch::Unknown => {
                let message =
                    "another sign-in replaced this connection, and the replica belongs to the new one";
                Err(Error::new(ErrorKind::SignInNeeded, message))
            }
        }
    }

    /// Marks an area as changed by a write, so that its feed is read immediately (WRT-08, LIM-17).
    pub fn mark_changed(&self, area: Area) {
        lock(&self.0.schedule).mark_changed(area, self.monotonic_time());
        self.0.wakeup.notify_one();
    }

    /// Makes all areas due at the member's request. This includes stopped areas and ends back-offs, but the
    /// `Retry-After` times of the exchange still apply (CLI-02).
    pub fn request_sync(&self) {
        lock(&self.0.schedule).request_all(self.monotonic_time());
        self.0.wakeup.notify_one();
    }

    /// Reads each due area once, one after the other. It is meant for programs that run once. A program that
    /// keeps running calls [`run`](Self::run).
    ///
    /// # Errors
    /// Returns the first error. The other areas are read nevertheless, unless the error applies to the whole
    /// session, and [`status`](Self::status) contains all errors.
    pub async fn sync_once(&self) -> Result<(), Error> {
        let mut first = Ok(());
        for area in Area::ALL {
            if lock(&self.0.schedule).is_due(area, self.monotonic_time()) {
                let read = self.sync_area(area).await;
                let over = read
                    .as_ref()
                    .is_err_and(|error| ErrorScope::from_kind(error.kind()) == ErrorScope::Session);
                first = first.and(read);
                if over {
                    break;
                }
            }
        }
        first
    }

    /// Reads the feed of one area to its end now, for example after a write (WRT-08).
    ///
    /// # Errors
    /// Returns the errors that every call can return, [`ErrorKind::Storage`] if a page cannot be stored, and
    /// [`ErrorKind::Protocol`] if the feed is in a loop.
    pub async fn sync_area(&self, area: Area) -> Result<(), Error> {
        self.read_area(area, CallInitiator::Member).await
    }

    async fn read_area(&self, area: Area, initiator: CallInitiator) -> Result<(), Error> {
        // The call makes a single attempt. The schedule decides about retries, so that no area waits because
        // of an error in another area.
        let patience = RetryPolicy::new(1, Duration::from_secs(60), initiator);
        let mut feeds = self.0.feeds.lock().await;
        let session = {
            let mut schedule = lock(&self.0.schedule);
            schedule.mark_reading(area);
            lock(&self.0.session).clone()
        };
        let begun = RoundGuard { sync: self, area };
        let span = tracing::debug_span!("exchange.sync", area = area.name());
        let read = async {
            match area {
                Area::Blueprints => self.run_round(&mut feeds.blueprints, &session, patience).await,
                Area::Stock => self.run_round(&mut feeds.stock, &session, patience).await,
                Area::Ships => self.run_round(&mut feeds.ships, &session, patience).await,
                Area::OrgStock => self.run_round(&mut feeds.org_stock, &session, patience).await,
            }
        };
        let read = read.instrument(span).await;
        drop(begun);
        if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::ScopeMissing) {
            self.handle_lost_scope(area, &session).await;
        }
        self.record_result(area, &session, &read);
        read
    }

    /// Reads due areas and deletes expired data for as long as the future is polled. The future never
    /// completes. Errors are reported by [`status`](Self::status).
    ///
    /// A synchronization created by [`Exchange::sync`] also checks the access of the token every 5 minutes,
    /// and after each refresh that changed the scopes (SVC-07). If the access changed, it begins the
    /// [`session`](Self::begin_session) again, so that data is deleted when its capability is lost (OST-10,
    /// OST-14).
    pub async fn run(&self) {
        tokio::join!(self.run_reads(), self.run_expiry());
    }

    /// Deletes expired data on time, even while the read of a feed is in progress (OST-14).
    async fn run_expiry(&self) {
        loop {
            let replica = self.0.replica.clone();
            let next = match self.forget_expired().await {
                Ok(_) => run_store_task(move || replica.expires_at()).await,
                Err(error) => Err(error),
            };
            let wait = match next {
                Ok(Some(next)) => {
                    next.saturating_since(self.wall_time()).clamp(MIN_TIMER_WAIT, MIN_SYNC_INTERVAL)
                }
                Ok(None) => MIN_SYNC_INTERVAL,
                Err(error) => {
                    tracing::warn!(%error, "expired data could not be deleted yet");
                    MIN_SYNC_INTERVAL
                }
            };
            self.0.environment.sleep(wait).await;
        }
    }

    async fn run_reads(&self) {
        loop {
            self.refresh_capabilities().await;
            let next = lock(&self.0.schedule).next_action(self.monotonic_time());
            let wait = match next {
                ScheduledAction::Read(area, cause) => {
                    // The error is reported by `status`.
                    let _ = self.read_area(area, cause).await;
                    continue;
                }
                ScheduledAction::Wait(time) => time,
                ScheduledAction::Idle => MIN_SYNC_INTERVAL,
            };
            let until_check = self.next_capability_check().map(|at| at.saturating_sub(self.monotonic_time()));
            let wait = until_check.map_or(wait, |delay| wait.min(delay));
            tokio::select! {
                () = self.0.environment.sleep(wait) => {}
                () = self.0.wakeup.notified() => {}
            }
        }
    }

    async fn run_round<E: FeedEntry>(
        &self,
        feed: &mut Feed<E>,
        session: &SyncSession,
        patience: RetryPolicy,
    ) -> Result<(), Error> {
        self.set_activity(E::AREA, AreaActivity::Reading { phase: None, entries: 0 });
        let area_state = self.load_area_state(E::AREA, session).await?;
        let mut input = FeedInput::Begin { area_state, reader: session.reader.clone() };
        let mut limit = PAGE_SIZE;
        loop {
            let step = feed.handle_input(input)?;
            if let Some(event) = step.event {
                self.publish_page(event);
            }
            input = match step.action {
                FeedAction::Read(from) => {
                    let asked_at = self.0.environment.now().wall;
                    let cursor = from.cursor().map(ToString::to_string);
                    match self.fetch_page::<E>(cursor, &mut limit, session, patience).await {
                        Ok(page) => FeedInput::Page { page: Box::new(page), asked_at },
                        Err(error) if error.kind() == ErrorKind::CursorExpired => FeedInput::Expired,
                        Err(error) => return Err(error),
                    }
                }
                FeedAction::Commit(commit) => {
                    let replica = self.0.replica.clone();
                    match run_store_task(move || replica.store().commit(&commit)).await? {
                        CommitOutcome::Done(tally) => FeedInput::Committed(tally),
                        CommitOutcome::Superseded(_) => {
                            FeedInput::Superseded(self.load_area_state(E::AREA, session).await?)
                        }
                    }
                }
                FeedAction::Done => {
                    self.purge_removed(E::AREA).await;
                    return Ok(());
                }
                FeedAction::Stuck(reason) => {
                    let message = format!("the feed of {} loops: {reason}", E::AREA);
                    return Err(Error::new(ErrorKind::Protocol, message));
                }
                FeedAction::Ignore => {
                    let message =
                        format!("the feed of {} rejected the result of its read or commit", E::AREA);
                    return Err(Error::new(ErrorKind::Bug, message));
                }
            };
        }
    }

    /// Fetches the page at a cursor for the member of the session. If the page exceeds the size limit, it is
    /// requested again with a smaller limit of entries.
    async fn fetch_page<E: FeedEntry>(
        &self,
        cursor: Option<String>,
        limit: &mut i64,
        session: &SyncSession,
        patience: RetryPolicy,
    ) -> Result<E::Page, Error> {
        let terms = match &self.0.exchange {
            // The owner is unknown if the program read the connection itself and it has no installation id.
            Some(exchange) if session.owner != Ownership::default() => {
                exchange.identify_connection(patience).await;
                Some(SendConditions { owner: session.owner.clone(), proof_time: None })
            }
            _ => None,
        };
        loop {
            let page = E::first_page().with_cursor(cursor.clone()).with_limit(Some(*limit));
            let call = self.0.api.api_client().call(&page).with_extension(patience);
            let call = match &terms {
                Some(terms) => call.with_extension(terms.clone()),
                None => call,
            };
            match call.await {
                Err(CallError::Transport(error))
                    if error.fault() == TransportFault::TooLarge && *limit > 1 =>
                {
                    *limit /= 2;
                }
                answer => return Ok(answer?.into_body()),
            }
        }
    }

    /// Erases the bytes of organization data that a round deleted. A failure is retried by the timer.
    async fn purge_removed(&self, area: Area) {
        if area.is_organization_data() {
            let (replica, now) = (self.0.replica.clone(), self.wall_time());
            if let Err(error) = run_store_task(move || replica.store().purge_removed(now)).await {
                tracing::debug!(%error, "deleted data remains in the files until the next purge");
            }
        }
    }

    fn publish_page(&self, event: PageEvent) {
        let (area, phase, entries) = (event.area, event.phase, event.changed.len() as u64);
        let snapshot = phase == FeedPhase::Snapshot;
        let (removed, gone) = (event.removed.len(), event.gone.len());
        tracing::debug!(name: "exchange.page", snapshot, entries, removed, gone, complete = event.complete);
        self.0.status.send_modify(|status| {
            let before = match status.area_mut(area).activity {
                AreaActivity::Reading { phase: Some(before), entries } if before == phase => entries,
                _ => 0,
            };
            status.area_mut(area).activity =
                AreaActivity::Reading { phase: Some(phase), entries: before + entries };
        });
        // Sending fails if there is no receiver, which is not an error.
        let _ = self.0.events.send(event);
    }

    /// Records the result of a round, unless another session has begun since.
    fn record_result(&self, area: Area, session: &SyncSession, read: &Result<(), Error>) {
        let (now, fraction) = (self.0.environment.now(), self.0.environment.random_fraction());
        let doing = {
            let mut schedule = lock(&self.0.schedule);
            if lock(&self.0.session).number != session.number {
                return;
            }
            match read {
                Ok(()) => schedule.mark_done(area, now.monotonic),
                Err(error) => {
                    schedule.mark_failed(area, error.kind(), error.retry_after(), now.monotonic, fraction);
                }
            }
            let next = schedule.due_at(area).map(|due| now.wall + due.saturating_sub(now.monotonic));
            match (read, next) {
                (Ok(()), next) => AreaActivity::Waiting { until: next },
                (Err(_), Some(until)) => AreaActivity::BackingOff { until },
                (Err(_), None) => AreaActivity::Stopped,
            }
        };
        if let Err(error) = read {
            tracing::debug!(area = area.name(), %error, "the feed was not read to its end");
        }
        let error = read.as_ref().err().cloned();
        self.0.status.send_modify(|status| {
            let status = status.area_mut(area);
            status.activity = doing;
            if error.is_none() {
                status.read_at = Some(now.wall);
            }
            status.error = error;
        });
    }

    fn set_activity(&self, area: Area, doing: AreaActivity) {
        self.0.status.send_modify(|status| status.area_mut(area).activity = doing);
    }

    /// Deletes data that is too old or that the token may no longer read.
    async fn forget_expired(&self) -> Result<Vec<ForgottenCollection>, Error> {
        let (inner, now) = (Arc::clone(&self.0), self.wall_time());
        run_store_task(move || {
            let expired = inner.replica.expire(now);
            let lost = lock(&inner.lost_collections).clone();
            let mut deleted = Vec::new();
            if !lost.is_empty() {
                deleted = inner.replica.store().forget(&lost, OwnerNote::Keep)?;
                lock(&inner.lost_collections).retain(|collection| !lost.contains(collection));
            }
            let mut all = expired?;
            all.extend(deleted);
            Ok(all)
        })
        .await
    }

    fn wall_time(&self) -> UnixTime {
        self.0.environment.now().wall
    }

    fn monotonic_time(&self) -> Duration {
        self.0.environment.now().monotonic
    }
}

/// A round in progress. It may be dropped at any point: committed pages are kept, and the next round
/// continues after them.
struct RoundGuard<'a> {
    sync: &'a ReplicaSync,
    area: Area,
}

impl Drop for RoundGuard<'_> {
    fn drop(&mut self) {
        lock(&self.sync.0.schedule).mark_abandoned(self.area);
        self.sync.set_activity(self.area, AreaActivity::NotStarted);
    }
}

/// Returns true if no stored data belongs to another installation. Data of an unknown installation does not
/// count as owned.
fn is_owned_by(store: &dyn ReplicaStore, reader: &FeedReader) -> Result<bool, Error> {
    for area in Area::ALL {
        let area_state = store.area_state(area)?;
        let owner = area_state.reader.installation.as_ref();
        match area_state.belongs_to(reader) {
            OwnershipMatch::Same => {}
            OwnershipMatch::Unowned if area == Area::OrgStock && store.demand()?.is_some() => {
                return Ok(false);
            }
            OwnershipMatch::Unowned => {}
            OwnershipMatch::Unknown if owner.is_some() => {
                let message = "the exchange cannot identify this connection at the moment";
                return Err(Error::new(ErrorKind::Busy, message));
            }
            OwnershipMatch::Other | OwnershipMatch::Unknown => return Ok(false),
        }
    }
    Ok(true)
}

/// Records the owner in each area that has none. Returns false if another process writes at the same time.
/// `note_count` is incremented before the commit, so that the connection is checked afterwards.
fn note_owner(store: &dyn ReplicaStore, reader: &FeedReader, note_count: &AtomicU64) -> Result<bool, Error> {
    for area in Area::ALL {
        let mut area_state = store.area_state(area)?;
        match area_state.belongs_to(reader) {
            OwnershipMatch::Unowned if reader.installation.is_some() => {
                let expected_sequence = area_state.sequence;
                area_state.sequence += 1;
                area_state.reader.installation.clone_from(&reader.installation);
                note_count.fetch_add(1, Ordering::SeqCst);
                if let CommitOutcome::Superseded(_) =
                    store.commit(&AreaCommit::new(area, expected_sequence, area_state))?
                {
                    return Ok(false);
                }
            }
            OwnershipMatch::Unowned | OwnershipMatch::Same => {}
            OwnershipMatch::Other | OwnershipMatch::Unknown => return Ok(false),
        }
    }
    Ok(true)
}

fn contention_error() -> Error {
    Error::new(ErrorKind::Storage, "another program keeps writing to the replica")
}

// No operation under these locks can panic, so a poisoned lock guards consistent data.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Debug for ReplicaSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaSync").finish_non_exhaustive()
    }
}
