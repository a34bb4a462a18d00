//! Synchronisation: when which feed is read, and what became of it.
//!
//! [`Schedule`] decides when (LIM-16, LIM-17) and [`Feed`] what; [`Sync`] is the thin rest: it calls the exchange,
//! commits, waits, and tells. One area's trouble is that area's alone; only what is about the whole session
//! stops all of them.

mod join;
mod look;
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

use look::Looked;
pub use schedule::{EVERY, Next, Schedule, Trouble};
pub use status::{AreaStatus, Doing, SyncStatus};

use crate::{
    connection::Connection,
    environment::Environment,
    error::{Error, ErrorKind},
    exchange::Exchange,
    feed::{Action, Area, Collection, Entry, Feed, Input, Kept, PageEvent, Phase, Reader},
    pace::Asked,
    replica::{Commit, Forgotten, Outcome, OwnerNote, Replica, ReplicaStore, blocking},
    transport::{Patience, Terms},
    whose::{Belongs, Whose},
};

/// So many entries are on a page: one commit each.
const PAGE: i64 = 500;

/// So often a replica is taken over that another program writes to at that moment: it stops at its next commit.
const TAKEOVERS: u32 = 8;

/// The least that a timer waits.
const TICK: Duration = Duration::from_millis(1);

/// So many events wait for one who listens slowly, who is told when some were missed.
const EVENTS: usize = 256;

/// Keeps a replica equal to the exchange. Cloning shares it.
///
/// ```no_run
/// # use exchange_client::{Error, Exchange, Replica};
/// # async fn example(exchange: Exchange) -> Result<(), Error> {
/// let replica = Replica::in_memory();
/// let sync = exchange.sync(&replica);
/// sync.session(&exchange.connection().await?).await?;
/// sync.once().await?;
/// for ship in replica.ships() {
///     println!("{}", ship?.ship_type.name);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Sync(Arc<Inner>);

struct Inner {
    api: Client,
    replica: Replica,
    environment: Environment,
    /// Whose session signs, where it is known that one does.
    exchange: Option<Exchange>,
    schedule: std::sync::Mutex<Schedule>,
    /// Never locked before the schedule, where both are.
    session: std::sync::Mutex<Session>,
    /// Held by whoever begins one.
    sessions: Mutex<()>,
    /// What this token does not let anybody read, and is still kept.
    lost: std::sync::Mutex<Vec<Collection>>,
    /// How often it was noted whose the replica is.
    noted: AtomicU64,
    /// After how many of those times the connection was found to be kept still.
    confirmed: AtomicU64,
    /// One reads at a time: all areas share what the exchange allows.
    feeds: Mutex<Feeds>,
    woken: Notify,
    status: watch::Sender<SyncStatus>,
    events: broadcast::Sender<PageEvent>,
}

/// For whom is read. A round is of the session that it began in.
#[derive(Clone, Debug, Default)]
struct Session {
    /// How many there were.
    number: u64,
    reader: Reader,
    whose: Whose,
    /// The areas that can be read.
    areas: Vec<Area>,
    /// Whether demand can.
    demand: bool,
    looked: Looked,
}

#[derive(Default)]
struct Feeds {
    blueprints: Feed<Blueprint>,
    stock: Feed<StockLot>,
    ships: Feed<Ship>,
    org_stock: Feed<OrgStockLot>,
}

impl Exchange {
    /// Keeps this replica equal to the exchange. It reads for nobody but the connection that
    /// [`Sync::session`](crate::sync::Sync::session) was told of last, whoever signs in meanwhile.
    #[must_use]
    pub fn sync(&self, replica: &Replica) -> Sync {
        let (api, environment) = (self.api().clone(), self.environment().clone());
        Sync::over(EVERY, api, replica.clone(), environment, Some(self.clone()))
    }
}

impl Sync {
    /// Of this replica, by this client. Nothing is read before [`session`](Self::session) said what the token can do.
    ///
    /// Whoever makes one so answers for it that the client never reads for anybody else than the session says: it does
    /// not ask who is signed in. [`Exchange::sync`] gives one that does.
    #[must_use]
    pub fn new(api: Client, replica: Replica, environment: Environment) -> Self {
        Self::every(EVERY, api, replica, environment)
    }

    /// The same with another time between timed synchronisations, which is never less than 5 minutes (LIM-17).
    #[must_use]
    pub fn every(every: Duration, api: Client, replica: Replica, environment: Environment) -> Self {
        Self::over(every, api, replica, environment, None)
    }

    fn over(
        every: Duration,
        api: Client,
        replica: Replica,
        environment: Environment,
        exchange: Option<Exchange>,
    ) -> Self {
        let replica = replica.with_clocks(&environment);
        Self(Arc::new(Inner {
            api,
            replica,
            environment,
            exchange,
            schedule: std::sync::Mutex::new(Schedule::new(every)),
            session: std::sync::Mutex::default(),
            sessions: Mutex::default(),
            lost: std::sync::Mutex::default(),
            noted: AtomicU64::new(0),
            confirmed: AtomicU64::new(0),
            feeds: Mutex::default(),
            woken: Notify::new(),
            status: watch::Sender::default(),
            events: broadcast::Sender::new(EVENTS),
        }))
    }

    /// What is kept equal.
    #[must_use]
    pub fn replica(&self) -> &Replica {
        &self.0.replica
    }

    /// What is going on, and every change of it.
    #[must_use]
    pub fn status(&self) -> watch::Receiver<SyncStatus> {
        self.0.status.subscribe()
    }

    /// What each page brings, from now on, after it is committed.
    #[must_use]
    pub fn events(&self) -> broadcast::Receiver<PageEvent> {
        self.0.events.subscribe()
    }

    /// A session begins: every area that its token can read is due at once (LIM-17), and what is of the organisation
    /// and too old, or not to be read with this token at all, is forgotten. So is everything that is another
    /// installation's: it may be another member's, and is not shown for one moment more. To be called after every
    /// sign-in, at every start and whenever the capabilities are others, before anything of the replica is shown. While
    /// [`run`](Self::run) is polled it looks itself whether they are, where [`Exchange::sync`] made this.
    ///
    /// From now on the replica is this connection's: whoever still reads for one of before stops, here and in other
    /// processes.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`]: what is too old may be there still; call it again. [`ErrorKind::Busy`]: the exchange
    /// cannot tell at the moment which installation this is (SVC-03), and what is kept may be another's: nothing is
    /// forgotten, nothing read, and nothing is to be shown before it can. [`ErrorKind::SignInNeeded`]: this connection is
    /// not kept any more, as somebody disconnected or signed in anew since it was read.
    pub async fn session(&self, connection: &Connection) -> Result<Vec<Forgotten>, Error> {
        let _alone = self.0.sessions.lock().await;
        self.begin(connection).await
    }

    async fn begin(&self, connection: &Connection) -> Result<Vec<Forgotten>, Error> {
        let at = self.monotonic();
        let session = Session {
            number: 0,
            reader: Reader::of(connection),
            whose: connection.whose(),
            areas: Area::ALL.into_iter().filter(|area| connection.can(&area.scope())).collect(),
            demand: connection.can(&Scope::ExchangeDemandRead),
            looked: self.looked(at),
        };
        let mut told = self.take_over(&session).await?;
        let reader = session.reader.clone();
        *locked(&self.0.lost) = session.lost();
        {
            let mut schedule = locked(&self.0.schedule);
            let mut now = locked(&self.0.session);
            schedule.session(session.areas.iter().copied(), at);
            *now = Session { number: now.number + 1, ..session };
        }
        self.0.woken.notify_one();
        self.strip(reader).await?;
        told.extend(self.expire().await?);
        told.retain(|forgotten| forgotten.entries > 0);
        Ok(told)
    }

    /// What is kept of holders goes with the scope for it (OST-10), before any page is read: what keeps pages from coming
    /// would keep it here.
    async fn strip(&self, reader: Reader) -> Result<(), Error> {
        if reader.details {
            return Ok(());
        }
        let replica = self.0.replica.clone();
        let stripped = blocking(move || {
            let store = replica.store();
            for _ in 0..TAKEOVERS {
                let kept = store.kept(Area::OrgStock)?;
                if !kept.reader.details {
                    return Ok(Vec::new());
                }
                if let Outcome::Done(tally) = store.commit(&Commit::without_details(Area::OrgStock, &kept))? {
                    return Ok(tally.stripped);
                }
            }
            Err(keeps_writing())
        });
        let changed = stripped.await?;
        if !changed.is_empty() {
            let event = PageEvent { changed, ..PageEvent::of(Area::OrgStock, Phase::Feed) };
            // Nobody has to listen.
            let _ = self.0.events.send(event);
        }
        Ok(())
    }

    /// Makes the replica this session's: forgets everything, if anything that is kept is not, and notes whose it is in
    /// every area before there are entries, which is how who reads for another finds out. Demand says nothing of that
    /// itself: it is whose org stock is.
    async fn take_over(&self, session: &Session) -> Result<Vec<Forgotten>, Error> {
        let (inner, reader) = (Arc::clone(&self.0), session.reader.clone());
        let told = blocking(move || {
            let store = inner.replica.store();
            let mut told = Vec::new();
            for _ in 0..TAKEOVERS {
                if !is_own(store, &reader)? {
                    told.extend(store.forget(&Collection::ALL, OwnerNote::Goes)?);
                }
                if note_owner(store, &reader, &inner.noted)? {
                    return Ok(told);
                }
            }
            Err(keeps_writing())
        })
        .await?;
        self.is_still_kept(session).await?;
        Ok(told)
    }

    /// Fails where the connection of a session is not kept any more, and takes back that the replica is its: what a
    /// disconnection deleted does not come back by a token that holds for a while (CLI-06). To be asked after that was
    /// noted: who disconnects afterwards deletes it; and until there is an answer, whatever kept it from coming.
    async fn is_still_kept(&self, session: &Session) -> Result<(), Error> {
        let Some(exchange) = &self.0.exchange else { return Ok(()) };
        let noted = self.0.noted.load(Ordering::SeqCst);
        if self.0.confirmed.load(Ordering::SeqCst) == noted {
            return Ok(());
        }
        if exchange.tokens().is_kept(&session.whose).await? {
            self.0.confirmed.fetch_max(noted, Ordering::SeqCst);
            return Ok(());
        }
        let (replica, reader) = (self.0.replica.clone(), session.reader.clone());
        blocking(move || {
            let store = replica.store();
            for area in Area::ALL {
                if store.kept(area)?.belongs_to(&reader) == Belongs::Own {
                    store.forget(&[Collection::Area(area)], OwnerNote::Goes)?;
                }
            }
            Ok(())
        })
        .await?;
        let what = "this connection is not kept any more, and nothing is read for it";
        Err(Error::new(ErrorKind::SignInNeeded, what))
    }

    /// What is kept of an area, where it is still of the session that a round began in. A replica that another connection
    /// took over is not read into: its tokens may be another member's.
    async fn kept(&self, area: Area, session: &Session) -> Result<Kept, Error> {
        let read = async || {
            let replica = self.0.replica.clone();
            blocking(move || replica.store().kept(area)).await
        };
        let mut kept = read().await?;
        let has_name = session.reader.installation.is_some();
        if has_name && kept.belongs_to(&session.reader) == Belongs::Nobodys {
            // Whose it was is gone since the session began, by a disconnection or with a damaged file.
            let (inner, reader) = (Arc::clone(&self.0), session.reader.clone());
            blocking(move || note_owner(inner.replica.store(), &reader, &inner.noted)).await?;
            kept = read().await?;
        }
        if kept.belongs_to(&session.reader) == Belongs::Own {
            self.is_still_kept(session).await?;
        }
        match kept.belongs_to(&session.reader) {
            Belongs::Own => Ok(kept),
            Belongs::Nobodys | Belongs::Unknown if !has_name && kept.reader.installation.is_none() => {
                Ok(kept)
            }
            Belongs::Nobodys | Belongs::Anothers | Belongs::Unknown => {
                let what = "somebody signed in anew meanwhile, and what is kept is of that connection";
                Err(Error::new(ErrorKind::SignInNeeded, what))
            }
        }
    }

    /// Something was sent to this area: its feed is read at once, for the new position too (WRT-08, LIM-17).
    pub fn changed(&self, area: Area) {
        locked(&self.0.schedule).changed(area, self.monotonic());
        self.0.woken.notify_one();
    }

    /// The member wants everything read now: areas that stopped too, and without waiting for a back-off, but never
    /// earlier than the exchange asked (CLI-02).
    pub fn ask(&self) {
        locked(&self.0.schedule).asked(self.monotonic());
        self.0.woken.notify_one();
    }

    /// Reads every area that is due until it is not, one after the other, and no area twice. For a program that runs
    /// once; one that stays calls [`run`](Self::run).
    ///
    /// # Errors
    /// The first trouble there was; the other areas were read nevertheless. [`status`](Self::status) has all of them.
    pub async fn once(&self) -> Result<(), Error> {
        let mut first = Ok(());
        for area in Area::ALL {
            if locked(&self.0.schedule).is_due(area, self.monotonic()) {
                let read = self.area(area).await;
                let over = read.as_ref().is_err_and(|error| Trouble::of(error.kind()) == Trouble::Session);
                first = first.and(read);
                if over {
                    break;
                }
            }
        }
        first
    }

    /// Reads one area's feed to its end now, as after a push (WRT-08).
    ///
    /// # Errors
    /// As every call; [`ErrorKind::Storage`] when it cannot be kept; [`ErrorKind::Protocol`] when the feed turns in
    /// circles.
    pub async fn area(&self, area: Area) -> Result<(), Error> {
        self.read(area, Asked::ByMember).await
    }

    async fn read(&self, area: Area, asked: Asked) -> Result<(), Error> {
        // Once: when it is tried again is decided here, so that no area waits for another's trouble.
        let patience = Patience::new(1, Duration::from_secs(60), asked);
        let mut feeds = self.0.feeds.lock().await;
        let session = {
            let mut schedule = locked(&self.0.schedule);
            schedule.begins(area);
            locked(&self.0.session).clone()
        };
        let begun = Begun { sync: self, area };
        let span = tracing::debug_span!("exchange.sync", area = area.name());
        let read = async {
            match area {
                Area::Blueprints => self.round(&mut feeds.blueprints, &session, patience).await,
                Area::Stock => self.round(&mut feeds.stock, &session, patience).await,
                Area::Ships => self.round(&mut feeds.ships, &session, patience).await,
                Area::OrgStock => self.round(&mut feeds.org_stock, &session, patience).await,
            }
        };
        let read = read.instrument(span).await;
        drop(begun);
        if read.as_ref().is_err_and(|error| error.kind() == ErrorKind::ScopeMissing) {
            self.lost(area, &session).await;
        }
        self.ended(area, &session, &read);
        read
    }

    /// Reads what is due, when it is due, and forgets what is too old, for as long as it is polled. It never ends of
    /// its own accord; trouble is in [`status`](Self::status).
    ///
    /// Every 5 minutes, and whenever a refresh brought a token for something else, it looks what the token can read
    /// (SVC-07), where [`Exchange::sync`] made this; if that is something else than before, it begins the
    /// [`session`](Self::session) anew. So what a capability showed goes with it (OST-10, OST-14).
    pub async fn run(&self) {
        tokio::join!(self.read_when_due(), self.keep_expiring());
    }

    /// Also while a feed is read that has no end, and at the moment itself (OST-14).
    async fn keep_expiring(&self) {
        loop {
            let replica = self.0.replica.clone();
            let next = match self.expire().await {
                Ok(_) => blocking(move || replica.expires_at()).await,
                Err(error) => Err(error),
            };
            let wait = match next {
                Ok(Some(next)) => next.saturating_since(self.now()).clamp(TICK, EVERY),
                Ok(None) => EVERY,
                Err(error) => {
                    tracing::warn!(%error, "what is too old could not be forgotten yet");
                    EVERY
                }
            };
            self.0.environment.sleep(wait).await;
        }
    }

    async fn read_when_due(&self) {
        loop {
            self.look().await;
            let next = locked(&self.0.schedule).next(self.monotonic());
            let wait = match next {
                Next::Read(area, asked) => {
                    // Told by `status`.
                    let _ = self.read(area, asked).await;
                    continue;
                }
                Next::Wait(time) => time,
                Next::Nothing => EVERY,
            };
            let looks = self.looks_at().map(|at| at.saturating_sub(self.monotonic()));
            let wait = looks.map_or(wait, |looks| wait.min(looks));
            tokio::select! {
                () = self.0.environment.sleep(wait) => {}
                () = self.0.woken.notified() => {}
            }
        }
    }

    async fn round<E: Entry>(
        &self,
        feed: &mut Feed<E>,
        session: &Session,
        patience: Patience,
    ) -> Result<(), Error> {
        self.doing(E::AREA, Doing::Reading { phase: None, entries: 0 });
        let kept = self.kept(E::AREA, session).await?;
        let mut input = Input::Go { kept, reader: session.reader.clone() };
        let mut limit = PAGE;
        loop {
            let step = feed.handle(input)?;
            if let Some(event) = step.event {
                self.tell(event);
            }
            input = match step.action {
                Action::Read(from) => {
                    let asked_at = self.0.environment.now().wall;
                    let cursor = from.cursor().map(ToString::to_string);
                    match self.page::<E>(cursor, &mut limit, session, patience).await {
                        Ok(page) => Input::Page { page: Box::new(page), asked_at },
                        Err(error) if error.kind() == ErrorKind::CursorExpired => Input::Expired,
                        Err(error) => return Err(error),
                    }
                }
                Action::Commit(commit) => {
                    let replica = self.0.replica.clone();
                    match blocking(move || replica.store().commit(&commit)).await? {
                        Outcome::Done(tally) => Input::Committed(tally),
                        Outcome::Superseded(_) => Input::Superseded(self.kept(E::AREA, session).await?),
                    }
                }
                Action::Done => {
                    self.settle(E::AREA).await;
                    return Ok(());
                }
                Action::Stuck(why) => {
                    let what = format!("the feed of {} turns in circles: {why}", E::AREA);
                    return Err(Error::new(ErrorKind::Protocol, what));
                }
                Action::Ignore => return Err(Error::new(ErrorKind::Bug, "a feed ignored its own answer")),
            };
        }
    }

    /// The page behind a cursor, for the session's member alone. One that is more than is taken into memory is asked for in
    /// parts.
    async fn page<E: Entry>(
        &self,
        cursor: Option<String>,
        limit: &mut i64,
        session: &Session,
        patience: Patience,
    ) -> Result<E::Page, Error> {
        let terms = match &self.0.exchange {
            // Of a connection that was read by hand and has no name nobody can tell whose it is.
            Some(exchange) if session.whose != Whose::default() => {
                exchange.recognise(patience).await;
                Some(Terms { whose: session.whose.clone(), signed_at: None })
            }
            _ => None,
        };
        loop {
            let page = E::first_page().with_cursor(cursor.clone()).with_limit(Some(*limit));
            let call = self.0.api.core().call(&page).with(patience);
            let call = match &terms {
                Some(terms) => call.with(terms.clone()),
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

    /// What a round took away from the organisation's data goes from the files with it; what cannot yet, by timer.
    async fn settle(&self, area: Area) {
        if area.is_of_organisation() {
            let (replica, now) = (self.0.replica.clone(), self.now());
            if let Err(error) = blocking(move || replica.store().settle(now)).await {
                tracing::debug!(%error, "what went is in the files a little longer");
            }
        }
    }

    fn tell(&self, event: PageEvent) {
        let (area, phase, entries) = (event.area, event.phase, event.changed.len() as u64);
        let snapshot = phase == Phase::Snapshot;
        let (removed, gone) = (event.removed.len(), event.gone.len());
        tracing::debug!(name: "exchange.page", snapshot, entries, removed, gone, complete = event.complete);
        self.0.status.send_modify(|status| {
            let before = match status.of_mut(area).doing {
                Doing::Reading { phase: Some(before), entries } if before == phase => entries,
                _ => 0,
            };
            status.of_mut(area).doing = Doing::Reading { phase: Some(phase), entries: before + entries };
        });
        // Nobody has to listen.
        let _ = self.0.events.send(event);
    }

    /// What became of a round; nothing where another session began meanwhile, of which it says nothing.
    fn ended(&self, area: Area, session: &Session, read: &Result<(), Error>) {
        let (now, fraction) = (self.0.environment.now(), self.0.environment.fraction());
        let doing = {
            let mut schedule = locked(&self.0.schedule);
            if locked(&self.0.session).number != session.number {
                return;
            }
            match read {
                Ok(()) => schedule.done(area, now.monotonic),
                Err(error) => {
                    schedule.failed(area, error.kind(), error.retry_after(), now.monotonic, fraction);
                }
            }
            let next = schedule.due(area).map(|due| now.wall + due.saturating_sub(now.monotonic));
            match (read, next) {
                (Ok(()), next) => Doing::Waiting { until: next },
                (Err(_), Some(until)) => Doing::BackingOff { until },
                (Err(_), None) => Doing::Stopped,
            }
        };
        if let Err(error) = read {
            tracing::debug!(area = area.name(), %error, "the feed was not read to its end");
        }
        let error = read.as_ref().err().cloned();
        self.0.status.send_modify(|status| {
            let status = status.of_mut(area);
            status.doing = doing;
            if error.is_none() {
                status.read_at = Some(now.wall);
            }
            status.error = error;
        });
    }

    fn doing(&self, area: Area, doing: Doing) {
        self.0.status.send_modify(|status| status.of_mut(area).doing = doing);
    }

    /// Forgets what is too old, and what is not to be read any more.
    async fn expire(&self) -> Result<Vec<Forgotten>, Error> {
        let (inner, now) = (Arc::clone(&self.0), self.now());
        blocking(move || {
            let expired = inner.replica.expire(now);
            let lost = locked(&inner.lost).clone();
            let mut told = Vec::new();
            if !lost.is_empty() {
                told = inner.replica.store().forget(&lost, OwnerNote::Stays)?;
                locked(&inner.lost).retain(|collection| !lost.contains(collection));
            }
            let mut all = expired?;
            all.extend(told);
            Ok(all)
        })
        .await
    }

    fn now(&self) -> UnixTime {
        self.0.environment.now().wall
    }

    fn monotonic(&self) -> Duration {
        self.0.environment.now().monotonic
    }
}

/// A round that may be given up at any point: what is committed is, and it begins again where that was.
struct Begun<'a> {
    sync: &'a Sync,
    area: Area,
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        locked(&self.sync.0.schedule).abandoned(self.area);
        self.sync.doing(self.area, Doing::Nothing);
    }
}

/// Whether nothing that is kept is another's. What was read when nobody could tell for whom is nobody's to keep.
fn is_own(store: &dyn ReplicaStore, reader: &Reader) -> Result<bool, Error> {
    for area in Area::ALL {
        let kept = store.kept(area)?;
        let owner = kept.reader.installation.as_ref();
        match kept.belongs_to(reader) {
            Belongs::Own => {}
            Belongs::Nobodys if area == Area::OrgStock && store.demand()?.is_some() => return Ok(false),
            Belongs::Nobodys => {}
            Belongs::Unknown if owner.is_some() => {
                let what = "the exchange cannot tell at the moment whose connection this is";
                return Err(Error::new(ErrorKind::Busy, what));
            }
            Belongs::Anothers | Belongs::Unknown => return Ok(false),
        }
    }
    Ok(true)
}

/// Notes in every area whose it is, unless somebody writes meanwhile; says whether they all are. It is counted before it is
/// done: from then on it is to be asked whether that connection is still kept.
fn note_owner(store: &dyn ReplicaStore, reader: &Reader, noted: &AtomicU64) -> Result<bool, Error> {
    for area in Area::ALL {
        let mut kept = store.kept(area)?;
        match kept.belongs_to(reader) {
            Belongs::Nobodys if reader.installation.is_some() => {
                let expects = kept.sequence;
                kept.sequence += 1;
                kept.reader.installation.clone_from(&reader.installation);
                noted.fetch_add(1, Ordering::SeqCst);
                if let Outcome::Superseded(_) = store.commit(&Commit::of(area, expects, kept))? {
                    return Ok(false);
                }
            }
            Belongs::Nobodys | Belongs::Own => {}
            Belongs::Anothers | Belongs::Unknown => return Ok(false),
        }
    }
    Ok(true)
}

fn keeps_writing() -> Error {
    Error::new(ErrorKind::Storage, "another program keeps writing to the replica")
}

/// Nothing that is done under these locks can panic.
fn locked<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl fmt::Debug for Sync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sync").finish_non_exhaustive()
    }
}
