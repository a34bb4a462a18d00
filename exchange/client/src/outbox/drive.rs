//! Sends what is due: the thin loop around [`decide`](super::decide).

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
    runtime::client::Core,
    types::{ChangeResult, Problem},
};
use tokio::sync::{Mutex, MutexGuard, Notify, broadcast};

use super::{
    Policy,
    decide::{Now, Turn, as_millis, is_stale},
    entry::{Entry, EntryNumber, State, damaged, decided_at},
    event::{OutboxEvent, Written},
    store::OutboxStore,
};
use crate::{
    changes::Lane,
    drafts::idempotency_key,
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::Exchange,
    feed::Area,
    pace::Asked,
    transport::{Patience, Terms},
    whose::Whose,
};

/// How many events wait for who listens slowly.
const EVENTS: usize = 256;

/// For how long sets are made smaller after `RELAY_BUSY`.
const BUSY: Duration = Duration::from_secs(3600);

/// How often what is kept too long is looked for.
const SWEEP: Duration = Duration::from_secs(3600);

/// The outbox waits by itself, over restarts too: a call of its own ends with the first answer.
const ONCE: Patience = Patience::new(1, Duration::from_secs(120), Asked::ByProgram);

/// An outbox of one member's changes, over a store that several processes may share. Cloning shares it.
///
/// Every future of it can be dropped at any time: what was kept stays kept, and what was on its way is sent
/// again under its own key.
#[derive(Clone)]
pub struct Outbox(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) core: Core,
    pub(super) store: Arc<dyn OutboxStore>,
    pub(super) environment: Environment,
    pub(super) policy: Policy,
    pub(super) owner: String,
    /// Whose session signs, where it is known that one does.
    exchange: Option<Exchange>,
    /// This process, in leases.
    pub(super) holder: String,
    events: broadcast::Sender<OutboxEvent>,
    lanes: [OneLane; Lane::ALL.len()],
    /// Sets are made smaller until then, by the monotonic clock.
    busy: AtomicU64,
    /// What is kept too long is looked for then.
    sweep: AtomicU64,
    /// When this process sent what may still be on its way, by the monotonic clock.
    sent: std::sync::Mutex<HashMap<u64, Duration>>,
}

#[derive(Default)]
struct OneLane {
    /// Held by who sends.
    sending: Mutex<()>,
    /// There may be something to send.
    woken: Notify,
    /// Nothing is sent before then, by the monotonic clock: the day's quota has no room for it.
    quota: AtomicU64,
}

impl Outbox {
    /// An outbox that sends with this client's [`core`](exchange_api::Client::core). `owner` says whose changes
    /// they are, with nothing in it that has to be kept secret: the installation id of the service document.
    /// What others left in the store is neither sent nor shown. While it is not known whose they are there is no outbox.
    ///
    /// Whoever makes one so answers for it that the core never sends for anybody else: it does not ask who is signed
    /// in, nor what the exchange's clock shows, so that the age of keys is as right as this machine's clock is.
    /// [`Exchange::outbox`] gives one that does both.
    ///
    /// # Errors
    /// `Invalid` for an empty owner, `Bug` when there are no random numbers to be had.
    pub fn new(
        core: &Core,
        store: impl OutboxStore + 'static,
        environment: Environment,
        owner: impl Into<String>,
        policy: Policy,
    ) -> Result<Self, Error> {
        Self::over(core, store, environment, owner, policy, None)
    }

    pub(super) fn over(
        core: &Core,
        store: impl OutboxStore + 'static,
        environment: Environment,
        owner: impl Into<String>,
        policy: Policy,
        exchange: Option<Exchange>,
    ) -> Result<Self, Error> {
        let owner = owner.into();
        if owner.is_empty() {
            return Err(Error::new(ErrorKind::Invalid, "an outbox is somebody's, and nobody is known"));
        }
        let holder = environment.token()?;
        Ok(Self(Arc::new(Inner {
            core: core.clone(),
            store: Arc::new(store),
            environment,
            policy,
            owner,
            exchange,
            holder,
            events: broadcast::Sender::new(EVENTS),
            lanes: Default::default(),
            busy: AtomicU64::new(0),
            sweep: AtomicU64::new(0),
            sent: std::sync::Mutex::default(),
        })))
    }

    /// What happens from now on. Who listens too slowly loses the oldest events, and nothing else:
    /// [`Outbox::entries`] has the truth.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<OutboxEvent> {
        self.0.events.subscribe()
    }

    /// Sends whatever is due, for as long as it is polled: as soon as it is enqueued, and again when it was
    /// asked to wait. Dropping it ends it.
    pub async fn run(&self) {
        let [blueprints, stock, ships, org_stock] = Lane::ALL.map(|lane| self.0.keep_going(lane));
        tokio::join!(blueprints, stock, ships, org_stock);
    }

    /// Sends what is due now, and says what became of it: until every area has nothing left, has to wait, or
    /// needs somebody's word.
    ///
    /// A store that fails in an area is [`OutboxEvent::Stuck`]; what is due in others is sent all the same.
    ///
    /// # Errors
    /// `Storage` when the store failed and there is nothing else to be told.
    pub async fn flush(&self) -> Result<Vec<OutboxEvent>, Error> {
        let [blueprints, stock, ships, org_stock] = Lane::ALL.map(|lane| self.0.drain(lane));
        let lanes = tokio::join!(blueprints, stock, ships, org_stock);
        let (mut told, mut stuck) = (Vec::new(), Vec::new());
        for (events, left) in [lanes.0, lanes.1, lanes.2, lanes.3] {
            told.extend(events);
            stuck.extend(left.err());
        }
        if told.is_empty() && !stuck.is_empty() {
            return Err(stuck.swap_remove(0));
        }
        told.extend(stuck.into_iter().map(|error| OutboxEvent::Stuck { error }));
        Ok(told)
    }
}

impl Inner {
    pub(super) fn now(&self) -> u64 {
        as_millis(self.environment.now().wall.since_epoch())
    }

    fn monotonic(&self) -> u64 {
        as_millis(self.environment.now().monotonic)
    }

    fn clocks(&self) -> Now {
        let wall = self.now();
        let gateway = self.exchange.as_ref().map(|exchange| as_millis(exchange.gateway_time().since_epoch()));
        Now { wall, gateway: gateway.unwrap_or(wall) }
    }

    /// A key that nobody guesses (GW-12).
    pub(super) fn key(&self) -> Result<String, Error> {
        idempotency_key(&self.environment)
    }

    pub(super) fn wake(&self, lane: Lane) {
        self.lanes[lane as usize].woken.notify_one();
    }

    /// Keeps this process from sending anything of an area; nothing when it is just doing so.
    pub(super) fn idle(&self, lane: Lane) -> Option<MutexGuard<'_, ()>> {
        self.lanes[lane as usize].sending.try_lock().ok()
    }

    /// The same, once this process is done with what it is sending.
    pub(super) async fn alone(&self, lane: Lane) -> MutexGuard<'_, ()> {
        self.lanes[lane as usize].sending.lock().await
    }

    /// The most ops of a set that is cut now, where so many are usual.
    pub(super) fn most_ops(&self, usual: usize) -> usize {
        match self.busy.load(Ordering::Relaxed) > self.monotonic() {
            true => usual.min(self.policy.most_ops_when_busy),
            false => usual,
        }
    }

    async fn keep_going(&self, lane: Lane) {
        let mut failures = 0;
        loop {
            let wait = match self.drain(lane).await.1 {
                Ok(left) => {
                    failures = 0;
                    left.map_or(self.policy.look, |left| left.min(self.policy.look))
                }
                Err(error) => {
                    failures += 1;
                    self.tell(OutboxEvent::Stuck { error });
                    self.policy.backoff.after(failures, None, self.environment.fraction())
                }
            };
            tokio::select! {
                () = self.lanes[lane as usize].woken.notified() => {}
                () = self.environment.sleep(wait) => {}
            }
        }
    }

    /// Sends an area's entries one after another, until there is nothing to be sent now: says when there is
    /// again.
    pub(super) async fn drain(&self, lane: Lane) -> (Vec<OutboxEvent>, Result<Option<Duration>, Error>) {
        let mut told = Vec::new();
        let _alone = self.alone(lane).await;
        let left = self.send_all(lane, &mut told).await;
        let swept = self.sweep().await;
        (told, left.and_then(|left| swept.map(|()| left)))
    }

    /// Forgets what is not to be kept any longer, when it is time to look for that.
    async fn sweep(&self) -> Result<(), Error> {
        let now = self.now();
        let due = self.sweep.load(Ordering::Relaxed);
        // A clock that was set back is no reason to wait longer.
        if due > now && due - now <= as_millis(SWEEP) {
            return Ok(());
        }
        forget_expired(&*self.store, &self.owner, now, &self.policy).await?;
        self.sweep.store(now.saturating_add(as_millis(SWEEP)), Ordering::Relaxed);
        self.settle().await;
        Ok(())
    }

    /// What was removed goes from the files too, or an hour later: another process may be reading it.
    pub(super) async fn settle(&self) {
        if let Err(error) = self.store.settle().await {
            tracing::debug!(%error, "what was removed from the outbox is in its file a little longer");
        }
    }

    async fn send_all(&self, lane: Lane, told: &mut Vec<OutboxEvent>) -> Result<Option<Duration>, Error> {
        loop {
            let Some(row) = self.store.first(&self.owner, lane).await? else { return Ok(None) };
            let mut entry = Entry::of(row)?;
            let clocks = self.clocks();
            if entry.set_back(clocks, &self.policy) && !self.keep(&mut entry).await? {
                continue;
            }
            match entry.turn(&self.holder, clocks, self.sent_ago(&entry), &self.policy) {
                Turn::Wedged => return Ok(None),
                Turn::Wait(left) => return Ok(Some(left)),
                Turn::Compare => {
                    entry.expire();
                    if self.keep(&mut entry).await? {
                        let event = OutboxEvent::CompareAfterPull { entry: entry.number(), lane };
                        self.record(told, event);
                    }
                }
                Turn::Send => {
                    let quota = self.quota_left(lane);
                    if !quota.is_zero() {
                        return Ok(Some(quota));
                    }
                    self.recognise().await;
                    entry.begin(&self.holder, self.clocks(), &self.policy);
                    // Another process was faster otherwise: look again.
                    if self.keep(&mut entry).await?
                        && let Some((event, _)) = self.send(entry).await?
                    {
                        self.record(told, event);
                    }
                }
            }
        }
    }

    /// Sends a held entry for its link, while nothing else of its area is sent, and says what came of it, and where the
    /// entry stands then; nothing when another process changed it meanwhile.
    pub(super) async fn ask_for_link(&self, mut entry: Entry) -> Result<Option<(OutboxEvent, State)>, Error> {
        self.recognise().await;
        let clocks = self.clocks();
        // A wait that begins anew does so once, however often it is asked for.
        if entry.set_back(clocks, &self.policy) && !self.keep(&mut entry).await? {
            return Ok(None);
        }
        let held = match (entry.asked_to_wait(clocks.wall), self.quota_left(entry.lane)) {
            (Some(wait), _) => Some((ErrorKind::Busy, wait)),
            (None, Duration::ZERO) => None,
            (None, wait) => Some((ErrorKind::QuotaExceeded, wait)),
        };
        if let Some((kind, wait)) = held {
            return Err(Error::held(
                kind,
                "the exchange asked to wait before the change is sent again",
                None,
                wait,
            ));
        }
        entry.begin(&self.holder, clocks, &self.policy);
        if !self.keep(&mut entry).await? {
            return Ok(None);
        }
        self.send(entry).await
    }

    /// Sends an entry and keeps what became of it, which it tells with where the entry stands; nothing when another process
    /// took it over.
    async fn send(&self, mut entry: Entry) -> Result<Option<(OutboxEvent, State)>, Error> {
        let on_its_way = OnItsWay::begin(self, &entry);
        let answer = match (self.policy.over_quota(entry.lane, entry.ops), entry.lane) {
            // It would be refused on each day anew.
            (Some(error), _) => Ok(Some(Err(error))),
            (None, Lane::Blueprints) => self.call::<BlueprintsWriteCall>(&mut entry).await,
            (None, Lane::Stock) => self.call::<StockWriteCall>(&mut entry).await,
            (None, Lane::Ships) => self.call::<ShipsWriteCall>(&mut entry).await,
            (None, Lane::OrgStock) => self.call::<OrgStockWriteCall>(&mut entry).await,
        };
        drop(on_its_way);
        let Some(answer) = answer? else { return Ok(None) };
        let event = match answer {
            Ok((result, replayed)) => {
                entry.decided(result, replayed, self.now());
                let lane = entry.lane;
                // It is decided, whatever this version can read of it: sending it once more would say no more.
                let written = Written::of(&entry).unwrap_or_else(|error| {
                    tracing::warn!(%error, entry = entry.number, "what became of a change cannot be told");
                    None
                });
                OutboxEvent::Decided { entry: entry.number(), lane, written, replayed }
            }
            Err(error) => {
                let now = self.now();
                entry.failed(&error, now, self.environment.fraction(), &self.policy);
                self.learn(&error, entry.lane, entry.not_before.map_or(0, |at| at.saturating_sub(now)));
                let event = OutboxEvent::of_failure(&entry, &error, now);
                entry.hold_on();
                event
            }
        };
        tracing::debug!(area = %entry.lane, entry = entry.number, state = ?entry.state, "outbox");
        Ok(self.keep(&mut entry).await?.then_some((event, entry.state)))
    }

    /// How long ago this process sent an entry, if that was lately.
    pub(super) fn sent_ago(&self, entry: &Entry) -> Option<Duration> {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let at = sent.get(&entry.number)?;
        Some(self.environment.now().monotonic.saturating_sub(*at))
    }

    fn note_sent(&self, number: u64) {
        let now = self.environment.now().monotonic;
        let mut sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        sent.retain(|_, at| now.saturating_sub(*at) < self.policy.quiet);
        sent.insert(number, now);
    }

    /// One sending, during which the entry stays this process's. Nothing when it did not.
    async fn call<C>(&self, entry: &mut Entry) -> Result<Option<Answered>, Error>
    where
        C: Call<Success = ChangeResult, Refusal = Problem>,
    {
        let stored = entry.stored()?;
        let mut call = self.core.repeat::<C>(&stored).with(ONCE);
        if let Some(terms) = self.terms(entry.key_holds(&self.policy)) {
            call = call.with(terms);
        }
        let mut call = pin!(call);
        let answer = loop {
            tokio::select! {
                biased;
                answer = &mut call => break answer,
                () = self.environment.sleep(self.policy.lease / 3) => {
                    entry.extend(&self.holder, self.now(), &self.policy);
                    if !self.keep(entry).await? {
                        return Ok(None);
                    }
                }
            }
        };
        Ok(Some(match answer {
            Ok(answer) => {
                let replayed = answer.header("idempotency-replayed") == Some("true");
                let result = serde_json::to_vec(&answer.body).map_err(|_| damaged())?;
                Ok((result.into(), replayed))
            }
            Err(error) => Err(error.into()),
        }))
    }

    /// Sees to it that it is known who is signed in, without which nothing is sent for anybody.
    async fn recognise(&self) {
        if let Some(exchange) = &self.exchange {
            exchange.recognise(ONCE).await;
        }
    }

    /// Under what a set of this outbox may be sent.
    pub(super) fn terms(&self, signed_at: Option<RangeInclusive<UnixTime>>) -> Option<Terms> {
        let _ = self.exchange.as_ref()?;
        Some(Terms { whose: Whose::of_installation(&self.owner), signed_at })
    }

    /// Keeps an entry, unless another process did meanwhile.
    pub(super) async fn keep(&self, entry: &mut Entry) -> Result<bool, Error> {
        let kept = self.store.replace(entry.row()?).await?;
        entry.revision += u64::from(kept);
        Ok(kept)
    }

    /// For how long nothing of an area is written, as the day's quota has no room for it.
    fn quota_left(&self, lane: Lane) -> Duration {
        let until = self.lanes[lane as usize].quota.load(Ordering::Relaxed);
        Duration::from_millis(until.saturating_sub(self.monotonic()))
    }

    /// What the refusal of an area's entry, which waits for so long now, says about other entries.
    fn learn(&self, error: &Error, lane: Lane, wait: u64) {
        let now = self.monotonic();
        if error.kind() == ErrorKind::QuotaExceeded {
            // Org stock counts by its ops (OST-18): where a set of it has no room, those of other areas may have.
            let concerned: &[Lane] = if lane == Lane::OrgStock { &[Lane::OrgStock] } else { &Lane::ALL };
            for lane in concerned {
                self.lanes[*lane as usize].quota.fetch_max(now.saturating_add(wait), Ordering::Relaxed);
            }
        }
        if error.code() == Some(&Code::RelayBusy) {
            self.busy.store(now.saturating_add(as_millis(BUSY)), Ordering::Relaxed);
        }
    }

    fn record(&self, told: &mut Vec<OutboxEvent>, event: OutboxEvent) {
        told.push(event.clone());
        self.tell(event);
    }

    pub(super) fn tell(&self, event: OutboxEvent) {
        // Nobody has to listen.
        let _ = self.events.send(event);
    }
}

/// Forgets what was decided about stock of the organisation so long ago that it is kept no longer; says which that was. Of
/// one that this version cannot read its age decides too, and where that cannot be told it is old.
pub(super) async fn forget_expired(
    store: &dyn OutboxStore,
    owner: &str,
    now: u64,
    policy: &Policy,
) -> Result<Vec<EntryNumber>, Error> {
    let mut forgotten = Vec::new();
    for row in store.rows(owner).await? {
        let is_of_organisation = row.done && Area::from(row.lane).is_of_organisation();
        if is_of_organisation
            && is_stale(decided_at(&row.head), now, policy)
            && store.remove(row.number, row.revision).await?
        {
            forgotten.push(EntryNumber(row.number));
        }
    }
    Ok(forgotten)
}

/// An entry that this process is sending: noted when it begins, and when it ends,
/// also by being dropped: in between a request may leave at any moment.
struct OnItsWay<'a> {
    inner: &'a Inner,
    number: u64,
}

impl<'a> OnItsWay<'a> {
    fn begin(inner: &'a Inner, entry: &Entry) -> Self {
        inner.note_sent(entry.number);
        Self { inner, number: entry.number }
    }
}

impl Drop for OnItsWay<'_> {
    fn drop(&mut self) {
        self.inner.note_sent(self.number);
    }
}

/// The bytes of the answer, and whether it is a repetition.
type Answered = Result<(Bytes, bool), Error>;

/// Whose it is not, nor what it holds.
impl fmt::Debug for Outbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outbox").field("policy", &self.0.policy).finish_non_exhaustive()
    }
}
