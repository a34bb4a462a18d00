//! The sender of due entries: the I/O around the [`state_machine`](super::state_machine).

use std::{
    collections::HashMap,
    fmt,
    ops::RangeInclusive,
    pin::pin,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use dpop_bound::UnixTime;
use exchange_api::{
    calls::{BlueprintsWriteCall, OrgStockWriteCall, ShipsWriteCall, StockWriteCall},
    client::Call,
    codes::Code,
    runtime::client::ApiClient,
    types::{ChangeResult, Problem},
};
use tokio::sync::{Mutex, MutexGuard, Notify, broadcast};

use super::{
    OutboxPolicy,
    entry::{EntryNumber, EntryState, OutboxEntry, parse_decided_at, unreadable_entry},
    event::{OutboxEvent, WriteOutcome},
    state_machine::{ClockReadings, SendDecision, is_retention_over, to_millis},
    store::OutboxStore,
};
use crate::{
    changes::{Lane, WriteResponse},
    drafts::idempotency_key,
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::Exchange,
    feed::Area,
    ownership::Ownership,
    rate_limiter::CallInitiator,
    transport::{RetryPolicy, SendConditions},
};

/// The number of events that are buffered for a slow receiver.
const EVENT_CAPACITY: usize = 256;

/// The time after `RELAY_BUSY` in which new change sets are smaller.
const BUSY_DURATION: Duration = Duration::from_secs(3600);

/// The interval between checks for decided change sets that have to be deleted because their retention period
/// has expired.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

// The outbox schedules its own retries, which survive restarts, so a call ends with the first response.
const SINGLE_ATTEMPT: RetryPolicy = RetryPolicy::new(1, Duration::from_secs(120), CallInitiator::Program);

/// An outbox for the changes of one member, with a store that several processes may share. Clones share the
/// outbox.
///
/// Each of its futures can be dropped at any time: stored entries stay stored, and a request in flight is
/// sent again under its own key.
#[derive(Clone)]
pub struct Outbox(pub(super) Arc<OutboxInner>);

pub(super) struct OutboxInner {
    pub(super) core: ApiClient,
    pub(super) store: Arc<dyn OutboxStore>,
    pub(super) environment: Environment,
    pub(super) policy: OutboxPolicy,
    pub(super) owner: String,
    /// The exchange whose session signs the requests, if known.
    exchange: Option<Exchange>,
    /// The id of this process in leases.
    pub(super) holder: String,
    events: broadcast::Sender<OutboxEvent>,
    lanes: [LaneState; Lane::ALL.len()],
    /// The end of the period with smaller change sets, in milliseconds of the monotonic clock.
    busy_until: AtomicU64,
    /// The time of the next retention check, in milliseconds of the wall clock.
    next_sweep: AtomicU64,
    /// The times when this process sent requests that may still be in flight, by the monotonic clock.
    sent: std::sync::Mutex<HashMap<u64, Duration>>,
}

#[derive(Default)]
struct LaneState {
    /// Locked while an entry of the area is sent.
    sending: Mutex<()>,
    /// Notified when there may be an entry to send.
    wakeup: Notify,
    /// The end of the pause after the daily quota was exhausted, in milliseconds of the monotonic clock.
    quota_until: AtomicU64,
}

impl Outbox {
    /// Creates an outbox that sends with this client's [`api_client`](exchange_api::Client::api_client).
    ///
    /// `owner` identifies the member's installation. It is the installation id of the service document, which
    /// is not secret. Entries of other owners in the store are neither sent nor returned. An outbox cannot be
    /// created while the installation is unknown.
    ///
    /// The caller must guarantee that `core` signs only for this owner. This constructor checks neither the
    /// signed-in member nor the clock of the exchange, so the age of keys is only as accurate as this
    /// machine's clock. [`Exchange::outbox`] creates an outbox that checks both.
    ///
    /// # Errors
    /// Returns `Invalid` for an empty owner, and `Bug` if the random number generator fails.
    pub fn new(
        core: &ApiClient,
        store: impl OutboxStore + 'static,
        environment: Environment,
        owner: impl Into<String>,
        policy: OutboxPolicy,
    ) -> Result<Self, Error> {
        Self::with_exchange(core, store, environment, owner, policy, None)
    }

    pub(super) fn with_exchange(
        core: &ApiClient,
        store: impl OutboxStore + 'static,
        environment: Environment,
        owner: impl Into<String>,
        policy: OutboxPolicy,
        exchange: Option<Exchange>,
    ) -> Result<Self, Error> {
        let owner = owner.into();
        if owner.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "the owner of an outbox must not be empty"));
        }
        let holder = environment.random_token()?;
        Ok(Self(Arc::new(OutboxInner {
            core: core.clone(),
            store: Arc::new(store),
            environment,
            policy,
            owner,
            exchange,
            holder,
            events: broadcast::Sender::new(EVENT_CAPACITY),
            lanes: Default::default(),
            busy_until: AtomicU64::new(0),
            next_sweep: AtomicU64::new(0),
            sent: std::sync::Mutex::default(),
        })))
    }

    /// Subscribes to events from now on. A slow receiver loses the oldest events, but [`Outbox::entries`]
    /// always has the authoritative state.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<OutboxEvent> {
        self.0.events.subscribe()
    }

    /// Sends due entries for as long as the future is polled. New entries are sent immediately, others after
    /// their wait. Drop the future to stop sending.
    pub async fn run(&self) {
        let [blueprints, stock, ships, org_stock] = Lane::ALL.map(|lane| self.0.run_lane(lane));
        tokio::join!(blueprints, stock, ships, org_stock);
    }

    /// Sends all due entries now and returns their events. The future completes when each area is empty, has
    /// to wait, or needs an action of the program.
    ///
    /// If the store fails in one area, the result contains [`OutboxEvent::StoreError`], and other areas are
    /// still sent.
    ///
    /// # Errors
    /// Returns `Storage` if the store failed and there are no other events.
    pub async fn flush(&self) -> Result<Vec<OutboxEvent>, Error> {
        let [blueprints, stock, ships, org_stock] = Lane::ALL.map(|lane| self.0.drain_lane(lane));
        let lanes = tokio::join!(blueprints, stock, ships, org_stock);
        let (mut events, mut stuck) = (Vec::new(), Vec::new());
        for (lane_events, left) in [lanes.0, lanes.1, lanes.2, lanes.3] {
            events.extend(lane_events);
            stuck.extend(left.err());
        }
        if events.is_empty() && !stuck.is_empty() {
            return Err(stuck.swap_remove(0));
        }
        events.extend(stuck.into_iter().map(|error| OutboxEvent::StoreError { error }));
        Ok(events)
    }
}

impl OutboxInner {
    pub(super) fn wall_millis(&self) -> u64 {
        to_millis(self.environment.now().wall.since_epoch())
    }

    fn monotonic_millis(&self) -> u64 {
        to_millis(self.environment.now().monotonic)
    }

    fn clock_readings(&self) -> ClockReadings {
        let wall = self.wall_millis();
        let gateway = self.exchange.as_ref().map(|exchange| to_millis(exchange.gateway_time().since_epoch()));
        ClockReadings { wall, gateway: gateway.unwrap_or(wall) }
    }

    /// Generates an idempotency key that cannot be guessed (GW-12).
    pub(super) fn generate_key(&self) -> Result<String, Error> {
        idempotency_key(&self.environment)
    }

    pub(super) fn wake_lane(&self, lane: Lane) {
        self.lanes[lane as usize].wakeup.notify_one();
    }

    /// Prevents this process from sending in an area; `None` if it is sending in the area right now.
    pub(super) fn try_lock_lane(&self, lane: Lane) -> Option<MutexGuard<'_, ()>> {
        self.lanes[lane as usize].sending.try_lock().ok()
    }

    /// Waits until this process has finished sending in an area, and then prevents it from sending.
    pub(super) async fn lock_lane(&self, lane: Lane) -> MutexGuard<'_, ()> {
        self.lanes[lane as usize].sending.lock().await
    }

    /// Returns the current maximum number of ops of a change set; `usual` is the maximum without
    /// `RELAY_BUSY`.
    pub(super) fn current_max_ops(&self, usual: usize) -> usize {
        match self.busy_until.load(Ordering::Relaxed) > self.monotonic_millis() {
            true => usual.min(self.policy.max_ops_when_busy),
            false => usual,
        }
    }

    async fn run_lane(&self, lane: Lane) {
        let mut failures = 0;
        loop {
            let wait = match self.drain_lane(lane).await.1 {
                Ok(left) => {
                    failures = 0;
                    left.map_or(self.policy.poll_interval, |left| left.min(self.policy.poll_interval))
                }
                Err(error) => {
                    failures += 1;
                    self.publish_event(OutboxEvent::StoreError { error });
                    self.policy.backoff.delay_after(failures, None, self.environment.random_fraction())
                }
            };
            tokio::select! {
                () = self.lanes[lane as usize].wakeup.notified() => {}
                () = self.environment.sleep(wait) => {}
            }
        }
    }

    /// Sends the entries of an area in order until none can be sent now. Returns the events, and the time
    /// until the next attempt.
    pub(super) async fn drain_lane(&self, lane: Lane) -> (Vec<OutboxEvent>, Result<Option<Duration>, Error>) {
        let mut events = Vec::new();
        let _lane_guard = self.lock_lane(lane).await;
        let left = self.send_all(lane, &mut events).await;
        let swept = self.sweep_expired().await;
        (events, left.and_then(|left| swept.map(|()| left)))
    }

    /// Removes decided entries whose retention period has expired, at most once per interval.
    async fn sweep_expired(&self) -> Result<(), Error> {
        let now = self.wall_millis();
        let due = self.next_sweep.load(Ordering::Relaxed);
        // If the next check is further away than the interval, the clock was set back.
        if due > now && due - now <= to_millis(SWEEP_INTERVAL) {
            return Ok(());
        }
        forget_expired(&*self.store, &self.owner, now, &self.policy).await?;
        self.next_sweep.store(now.saturating_add(to_millis(SWEEP_INTERVAL)), Ordering::Relaxed);
        self.purge_removed().await;
        Ok(())
    }

    /// Erases removed rows from the files. A failure is retried an hour later, because another process may be
    /// reading the rows.
    pub(super) async fn purge_removed(&self) {
        if let Err(error) = self.store.purge_removed().await {
            tracing::debug!(%error, "removed outbox entries remain in the file until the next purge");
        }
    }

    async fn send_all(&self, lane: Lane, events: &mut Vec<OutboxEvent>) -> Result<Option<Duration>, Error> {
        loop {
            let Some(row) = self.store.first_pending(&self.owner, lane).await? else { return Ok(None) };
            let mut entry = OutboxEntry::from_row(row)?;
            let clocks = self.clock_readings();
            if entry.correct_for_clock(clocks, &self.policy) && !self.store_entry(&mut entry).await? {
                continue;
            }
            match entry.decide_send(&self.holder, clocks, self.sent_ago(&entry), &self.policy) {
                SendDecision::Blocked => return Ok(None),
                SendDecision::Wait(left) => return Ok(Some(left)),
                SendDecision::Compare => {
                    entry.mark_unknown();
                    if self.store_entry(&mut entry).await? {
                        let event = OutboxEvent::CompareAfterPull { entry: entry.number(), lane };
                        self.record_event(events, event);
                    }
                }
                SendDecision::Send => {
                    let quota = self.quota_left(lane);
                    if !quota.is_zero() {
                        return Ok(Some(quota));
                    }
                    self.recognize_connection().await;
                    entry.begin_sending(&self.holder, self.clock_readings(), &self.policy);
                    // If another process changed the entry first, the loop starts again.
                    if self.store_entry(&mut entry).await?
                        && let Some((event, _)) = self.send_entry(entry).await?
                    {
                        self.record_event(events, event);
                    }
                }
            }
        }
    }

    /// Sends a held entry again to obtain its link, while no other entry of its area is sent. Returns the
    /// event and the new state, or `None` if another process changed the entry.
    pub(super) async fn request_link(
        &self,
        mut entry: OutboxEntry,
    ) -> Result<Option<(OutboxEvent, EntryState)>, Error> {
        self.recognize_connection().await;
        let clocks = self.clock_readings();
        // A wait that starts again after a clock change does so only once, however often a link is requested.
        if entry.correct_for_clock(clocks, &self.policy) && !self.store_entry(&mut entry).await? {
            return Ok(None);
        }
        let required_wait = match (entry.requested_wait(clocks.wall), self.quota_left(entry.lane)) {
            (Some(wait), _) => Some((ErrorKind::Busy, wait)),
            (None, Duration::ZERO) => None,
            (None, wait) => Some((ErrorKind::QuotaExceeded, wait)),
        };
        if let Some((kind, wait)) = required_wait {
            return Err(Error::not_sent_yet(
                kind,
                "the exchange requires a wait before the change is sent again",
                None,
                wait,
            ));
        }
        entry.begin_sending(&self.holder, clocks, &self.policy);
        if !self.store_entry(&mut entry).await? {
            return Ok(None);
        }
        self.send_entry(entry).await
    }

    /// Sends an entry and stores its outcome. Returns the event and the new state, or `None` if another
    /// process took the entry over.
    async fn send_entry(&self, mut entry: OutboxEntry) -> Result<Option<(OutboxEvent, EntryState)>, Error> {
        let in_flight = InFlightGuard::start(self, &entry);
        let response = match (self.policy.quota_error(entry.lane, entry.ops), entry.lane) {
            // The exchange would refuse this change set on every day, so it is not sent.
            (Some(error), _) => Ok(Some(Err(error))),
            (None, Lane::Blueprints) => self.send_request::<BlueprintsWriteCall>(&mut entry).await,
            (None, Lane::Stock) => self.send_request::<StockWriteCall>(&mut entry).await,
            (None, Lane::Ships) => self.send_request::<ShipsWriteCall>(&mut entry).await,
            (None, Lane::OrgStock) => self.send_request::<OrgStockWriteCall>(&mut entry).await,
        };
        drop(in_flight);
        let Some(response) = response? else { return Ok(None) };
        let event = match response {
            Ok((result, replayed)) => {
                entry.mark_decided(result, replayed, self.wall_millis());
                let lane = entry.lane;
                // The change set is decided even if this version cannot parse the response. Sending it again
                // would not help.
                let written = WriteOutcome::from_entry(&entry).unwrap_or_else(|error| {
                    tracing::warn!(%error, entry = entry.number, "cannot parse the stored outcome of a change set");
                    None
                });
                OutboxEvent::Decided { entry: entry.number(), lane, written, replayed }
            }
            Err(error) => {
                let now = self.wall_millis();
                entry.apply_failure(&error, now, self.environment.random_fraction(), &self.policy);
                self.note_error(&error, entry.lane, entry.not_before.map_or(0, |at| at.saturating_sub(now)));
                let event = OutboxEvent::from_failure(&entry, &error, now);
                entry.restore_hold();
                event
            }
        };
        tracing::debug!(area = %entry.lane, entry = entry.number, state = ?entry.state, "outbox");
        Ok(self.store_entry(&mut entry).await?.then_some((event, entry.state)))
    }

    /// Returns the time since this process sent an entry, if it did so recently.
    pub(super) fn sent_ago(&self, entry: &OutboxEntry) -> Option<Duration> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let at = sent.get(&entry.number)?;
        Some(self.environment.now().monotonic.saturating_sub(*at))
    }

    fn note_sent(&self, number: u64) {
        let now = self.environment.now().monotonic;
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, at| now.saturating_sub(*at) < self.policy.quiet_period);
        sent.insert(number, now);
    }

    /// Sends one request and renews the lease until the response arrives. Returns `None` if the lease was
    /// lost.
    async fn send_request<C>(&self, entry: &mut OutboxEntry) -> Result<Option<SendResult>, Error>
    where
        C: Call<Success = ChangeResult, ErrorBody = Problem>,
    {
        let stored = entry.stored_request()?;
        let mut call = self.core.send_stored::<C>(&stored).with_extension(SINGLE_ATTEMPT);
        if let Some(terms) = self.conditions(entry.key_validity(&self.policy)) {
            call = call.with_extension(terms);
        }
        let mut call = pin!(call);
        let response = loop {
            tokio::select! {
                biased;
                response = &mut call => break response,
                () = self.environment.sleep(self.policy.lease_duration / 3) => {
                    entry.extend_lease(&self.holder, self.wall_millis(), &self.policy);
                    if !self.store_entry(entry).await? {
                        return Ok(None);
                    }
                }
            }
        };
        Ok(Some(match WriteResponse::from_call(response) {
            Ok(WriteResponse { result, replayed }) => {
                let result = serde_json::to_vec(&result).map_err(|_| unreadable_entry())?;
                Ok((result.into(), replayed))
            }
            Err(error) => Err(error),
        }))
    }

    /// Determines the installation that is signed in, if it is unknown. Entries are not sent before it is
    /// known.
    async fn recognize_connection(&self) {
        if let Some(exchange) = &self.exchange {
            exchange.identify_connection(SINGLE_ATTEMPT).await;
        }
    }

    /// Returns the conditions under which a change set of this outbox may be sent.
    pub(super) fn conditions(&self, signed_at: Option<RangeInclusive<UnixTime>>) -> Option<SendConditions> {
        let _ = self.exchange.as_ref()?;
        Some(SendConditions { owner: Ownership::for_installation(&self.owner), proof_time: signed_at })
    }

    /// Stores an entry. Returns `false` if another process changed it.
    pub(super) async fn store_entry(&self, entry: &mut OutboxEntry) -> Result<bool, Error> {
        let replaced = self.store.replace(entry.to_row()?).await?;
        entry.revision += u64::from(replaced);
        Ok(replaced)
    }

    /// Returns the remaining time of the pause of an area after the daily quota was exhausted.
    fn quota_left(&self, lane: Lane) -> Duration {
        let until = self.lanes[lane as usize].quota_until.load(Ordering::Relaxed);
        Duration::from_millis(until.saturating_sub(self.monotonic_millis()))
    }

    /// Applies the consequences that an error response has for other entries. `wait` is the wait of the
    /// refused entry in milliseconds.
    fn note_error(&self, error: &Error, lane: Lane, wait: u64) {
        let now = self.monotonic_millis();
        if error.kind() == ErrorKind::QuotaExceeded {
            // Each op of org stock counts (OST-18), so change sets of other areas may still fit into the
            // quota.
            let concerned: &[Lane] = if lane == Lane::OrgStock { &[Lane::OrgStock] } else { &Lane::ALL };
            for lane in concerned {
                self.lanes[*lane as usize].quota_until.fetch_max(now.saturating_add(wait), Ordering::Relaxed);
            }
        }
        if error.code() == Some(&Code::RelayBusy) {
            self.busy_until.store(now.saturating_add(to_millis(BUSY_DURATION)), Ordering::Relaxed);
        }
    }

    fn record_event(&self, events: &mut Vec<OutboxEvent>, event: OutboxEvent) {
        events.push(event.clone());
        self.publish_event(event);
    }

    pub(super) fn publish_event(&self, event: OutboxEvent) {
        // Sending fails if there is no receiver, which is not an error.
        let _ = self.events.send(event);
    }
}

/// Removes decided entries of org stock whose retention period has expired, and returns their numbers. An
/// entry that this version cannot parse is removed by its age, or immediately if its age cannot be
/// determined.
pub(super) async fn forget_expired(
    store: &dyn OutboxStore,
    owner: &str,
    now: u64,
    policy: &OutboxPolicy,
) -> Result<Vec<EntryNumber>, Error> {
    let mut forgotten = Vec::new();
    for row in store.list_rows(owner).await? {
        let is_of_organisation = row.done && Area::from(row.lane).is_organization_data();
        if is_of_organisation
            && is_retention_over(parse_decided_at(&row.head), now, policy)
            && store.remove(row.number, row.revision).await?
        {
            forgotten.push(EntryNumber(row.number));
        }
    }
    Ok(forgotten)
}

/// Records the time at the start and at the end of a request, also if the request is canceled by dropping it.
/// The request may be sent at any moment between these times.
struct InFlightGuard<'a> {
    inner: &'a OutboxInner,
    number: u64,
}

impl<'a> InFlightGuard<'a> {
    fn start(inner: &'a OutboxInner, entry: &OutboxEntry) -> Self {
        inner.note_sent(entry.number);
        Self { inner, number: entry.number }
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.inner.note_sent(self.number);
    }
}

/// The response body, and true if the response is a replay.
type SendResult = Result<(Bytes, bool), Error>;

/// Does not print the owner and the entries.
impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("policy", &self.0.policy).finish_non_exhaustive()
    }
}
