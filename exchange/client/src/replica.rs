//! The replica: what the exchange has, kept here, so that reading it needs no network.
//!
//! [`Replica`] is what a program reads from; a [`ReplicaStore`] is where it lies: [`MemoryReplica`] in this crate,
//! SQLite files in `exchange-client-sqlite`. Only pages of feeds change it, one [`Commit`] each.
//!
//! Reads and commits wait for the disk where there is one. Reads are short and may stand anywhere; this crate's own
//! commits run on tokio's threads for blocking work.

#[cfg(any(test, feature = "testkit"))]
pub mod check;
mod memory;
mod merge;
mod ships;
mod store;
#[cfg(test)]
mod tests;

use std::{
    fmt,
    marker::PhantomData,
    sync::{Arc, OnceLock},
    time::Duration,
};

use dpop_bound::UnixTime;
use exchange_api::{
    Contract,
    types::{Blueprint, BlueprintKey, LotKey, OrgDemand, OrgLotKey, OrgStockLot, Ship, ShipId, StockLot},
};

use crate::{
    connection::Connection,
    demand::DemandCadence,
    environment::Environment,
    error::{Error, ErrorKind},
    feed::{Area, Collection, Entry},
    retention::is_over,
    session::LocalData,
    tokens::Later,
};

pub use crate::{
    feed::commit::{Commit, Outcome, OwnerNote, Removal, Row, Tally},
    retention::ORGANISATION_FOR,
};
pub use memory::MemoryReplica;
pub use merge::{Merge, Question, ShipValues, merge_blueprint, merge_lot, merge_ship};
pub use ships::{FirstShips, LocalShip, Unsure};
pub use store::{Document, Forgotten, ReplicaStore};

/// How long a cursor lasts (FED-08): each feed is read at least as often (FED-11).
pub const CURSOR_FOR: Duration = Duration::from_secs(90 * 86_400);

/// So many entries are read at once by [`Entries`].
const AT_ONCE: usize = 512;

/// What a program reads. Cloning shares it.
///
/// What is of the organisation is not shown any more from the moment on in which it is 7 days old (OST-14), also before
/// anybody [forgot](Self::expire) it: by the clocks of the [`Sync`](crate::sync::Sync) that keeps it, or those that it was
/// [given](Self::with_clocks). One that has neither shows what was not forgotten yet.
#[derive(Clone)]
pub struct Replica {
    store: Arc<dyn ReplicaStore>,
    clocks: Arc<OnceLock<Environment>>,
}

/// How much of an area is here, and how old it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Freshness {
    /// The time that it shows: everything until then is in it. `None` before a snapshot was read to its end.
    pub as_of: Option<UnixTime>,
    /// A snapshot was read to its end, and none is being read anew: what is not in it is not at the exchange either,
    /// as of then.
    pub is_whole: bool,
    /// By when it has to be read again, for else it is read from the start (FED-11).
    pub due_by: Option<UnixTime>,
    /// When it has to be forgotten unless it is read again before (OST-14). Org stock alone.
    pub expires_at: Option<UnixTime>,
}

impl Freshness {
    /// How old what is shown may be; `None` when it was never whole.
    #[must_use]
    pub fn staleness(&self, now: UnixTime) -> Option<Duration> {
        self.as_of.map(|as_of| now.saturating_since(as_of))
    }
}

impl Replica {
    /// What lies in this store.
    #[must_use]
    pub fn new(store: impl ReplicaStore) -> Self {
        Self { store: Arc::new(store), clocks: Arc::default() }
    }

    /// By whose clocks what it has grows old. The first that are given count, for all clones.
    #[must_use]
    pub fn with_clocks(self, environment: &Environment) -> Self {
        let _ = self.clocks.set(environment.clone());
        self
    }

    /// What lies in memory, and goes with the program.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(MemoryReplica::default())
    }

    /// Where it lies.
    #[must_use]
    pub fn store(&self) -> &dyn ReplicaStore {
        &*self.store
    }

    /// The member's blueprints, by key.
    #[must_use]
    pub fn blueprints(&self) -> Entries<Blueprint> {
        self.entries()
    }

    /// The member's lots, by key.
    #[must_use]
    pub fn stock(&self) -> Entries<StockLot> {
        self.entries()
    }

    /// The member's ships, by id.
    #[must_use]
    pub fn ships(&self) -> Entries<Ship> {
        self.entries()
    }

    /// The lots of the pools that the member reads, by key. Internal data of the organisation: shown to this member
    /// and passed on to nobody (OST-14).
    #[must_use]
    pub fn org_stock(&self) -> Entries<OrgStockLot> {
        self.entries()
    }

    /// The entries of an area, by key.
    #[must_use]
    pub fn entries<E: Entry>(&self) -> Entries<E> {
        Entries {
            replica: self.clone(),
            after: None,
            ahead: Vec::new().into_iter(),
            more: true,
            since: None,
            entry: PhantomData,
        }
    }

    /// A blueprint.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn blueprint(&self, key: &BlueprintKey) -> Result<Option<Blueprint>, Error> {
        self.entry(key.as_str())
    }

    /// A lot.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn lot(&self, key: &LotKey) -> Result<Option<StockLot>, Error> {
        self.entry(key.as_str())
    }

    /// A ship.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn ship(&self, id: &ShipId) -> Result<Option<Ship>, Error> {
        self.entry(id.as_str())
    }

    /// A lot of a pool.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn org_lot(&self, key: &OrgLotKey) -> Result<Option<OrgStockLot>, Error> {
        self.entry(key.as_str())
    }

    /// The entry of a key.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn entry<E: Entry>(&self, key: &str) -> Result<Option<E>, Error> {
        if self.is_over(self.since(E::AREA)?) {
            return Ok(None);
        }
        self.store.entry(E::AREA, key)?.map(|row| E::of_row(&row)).transpose()
    }

    /// How many entries an area has here.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn count(&self, area: Area) -> Result<u64, Error> {
        if self.is_over(self.since(area)?) {
            return Ok(0);
        }
        self.store.count(area)
    }

    /// How the feed told that an entry went, as long as its tombstone lasts and the entry did not come back.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn removal(&self, area: Area, key: &str) -> Result<Option<Removal>, Error> {
        self.store.removal(area, key)
    }

    /// How much of an area is here, and how old it may be.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn freshness(&self, area: Area) -> Result<Freshness, Error> {
        let kept = self.store.kept(area)?;
        let since = kept.since.filter(|_| area.is_of_organisation());
        Ok(Freshness {
            as_of: kept.as_of,
            is_whole: kept.position.is_whole(),
            due_by: kept.read_at.map(|read| read + CURSOR_FOR),
            expires_at: since.map(|since| since + ORGANISATION_FOR),
        })
    }

    /// By when some feed has to be read again at the latest: then the oldest cursor is 90 days old (FED-11). A
    /// program that seldom runs asks this before it ends, and wakes by then.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn due_by(&self) -> Result<Option<UnixTime>, Error> {
        let due = Area::ALL.into_iter().map(|area| Ok(self.freshness(area)?.due_by));
        Ok(due.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().min())
    }

    /// What both sides agreed on when an entry was last merged: the baseline of [`merge_ship`] and the others.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn agreed<E: Entry>(&self, key: &str) -> Result<Option<E>, Error> {
        self.store.agreed(E::AREA, key)?.map(|row| E::of_row(&row)).transpose()
    }

    /// Notes that both sides agree on these entries, and on the absence of those with the keys in `gone`: as they were
    /// merged, whatever the feed brought meanwhile. Nothing is noted of org stock, which has versions of its own.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`]: then nothing is noted.
    pub fn agree<E: Entry>(&self, entries: &[E], gone: &[&str]) -> Result<(), Error> {
        if E::AREA.is_of_organisation() {
            return Ok(());
        }
        let rows = entries.iter().map(Entry::to_row).collect::<Result<Vec<_>, _>>()?;
        self.store.agree(E::AREA, &rows, gone)
    }

    /// The demand that was read last, and when; `None` when there is none, or it is older than 7 days (DEM-10).
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn demand(&self, now: UnixTime) -> Result<Option<(OrgDemand, UnixTime)>, Error> {
        let Some(document) = self.store.demand()?.filter(|document| !is_expired(Some(document.at), now))
        else {
            return Ok(None);
        };
        let demand = OrgDemand::parse(&document.body);
        let demand =
            demand.map_err(|_| Error::new(ErrorKind::Storage, "the demand that is kept cannot be read"))?;
        Ok(Some((demand, document.at)))
    }

    /// When demand may be asked for again: as of when any process that shares this did last, also where nothing came of it
    /// (DEM-11).
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn demand_cadence(&self) -> Result<DemandCadence, Error> {
        let asked = match self.store.demand_asked_at()? {
            None => self.store.demand()?.map(|document| document.at),
            asked => asked,
        };
        Ok(asked.map_or_else(DemandCadence::default, DemandCadence::since))
    }

    /// Notes that demand is asked for now: to be called before it is, for a failure counts too (DEM-11).
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn note_demand_asked(&self, now: UnixTime) -> Result<(), Error> {
        self.store.note_demand_asked(now)
    }

    /// Keeps the demand that was read for a connection, in the place of what was kept of it, and says whether it did: not
    /// when the replica is not that connection's, which [`Sync::session`](crate::sync::Sync::session) makes it, or is not
    /// any more (DEM-10). One that is withheld has no lines, whatever it holds (DEM-07).
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn keep_demand(
        &self,
        demand: &OrgDemand,
        connection: &Connection,
        now: UnixTime,
    ) -> Result<bool, Error> {
        let Some(of) = connection.installation_id() else { return Ok(false) };
        let withheld;
        let demand = match &demand.reason {
            None => demand,
            Some(_) => {
                withheld = OrgDemand { materials: Vec::new(), items: Vec::new(), ..demand.clone() };
                &withheld
            }
        };
        let body = serde_json::to_vec(demand)
            .map_err(|_| Error::new(ErrorKind::Storage, "the demand cannot be written"))?;
        self.store.keep_demand(&Document { at: now, body: body.into() }, of)
    }

    /// Since when what is kept of an area is, where that is the organisation's.
    fn since(&self, area: Area) -> Result<Option<UnixTime>, Error> {
        if !area.is_of_organisation() {
            return Ok(None);
        }
        Ok(self.store.kept(area)?.since)
    }

    /// Whether what is kept since then is too old to be shown.
    fn is_over(&self, since: Option<UnixTime>) -> bool {
        since.is_some()
            && self.clocks.get().is_some_and(|environment| is_expired(since, environment.now().wall))
    }

    /// When something of the organisation has to be forgotten next: [`expire`](Self::expire) is to be called then.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`].
    pub fn expires_at(&self) -> Result<Option<UnixTime>, Error> {
        let since = Collection::OF_ORGANISATION.map(|collection| self.kept_since(collection));
        let since = since.into_iter().collect::<Result<Vec<_>, Error>>()?;
        Ok(since.into_iter().flatten().min().map(|since| since + ORGANISATION_FOR))
    }

    fn kept_since(&self, collection: Collection) -> Result<Option<UnixTime>, Error> {
        match collection {
            Collection::Area(area) => self.since(area),
            Collection::Demand => Ok(self.store.demand()?.map(|document| document.at)),
        }
    }

    /// Forgets what is of the organisation and older than 7 days, its bytes too, and says what that was (LIM-38,
    /// OST-14, DEM-10). To be called at start and by timer, also while there is no network; [`Sync`](crate::sync::Sync) does.
    ///
    /// # Errors
    /// [`ErrorKind::Storage`]: then it is to be called again.
    pub fn expire(&self, now: UnixTime) -> Result<Vec<Forgotten>, Error> {
        let mut expired = Vec::new();
        for collection in Collection::OF_ORGANISATION {
            if is_expired(self.kept_since(collection)?, now) {
                expired.push(collection);
            }
        }
        if expired.is_empty() {
            self.store.settle(now)?;
            return Ok(Vec::new());
        }
        self.store.forget(&expired, OwnerNote::Stays)
    }

    /// Forgets all of it, and says what that was: the member disconnected (CLI-06).
    ///
    /// # Errors
    /// [`ErrorKind::Storage`]: then it is to be called again.
    pub fn forget(&self) -> Result<Vec<Forgotten>, Error> {
        self.store.forget(&Collection::ALL, OwnerNote::Goes)
    }
}

/// The member disconnected: what is here goes with the connection (CLI-06).
impl LocalData for Replica {
    fn name(&self) -> &str {
        "copies of blueprints, stock, ships, org stock and demand"
    }

    fn delete(&self) -> Later<'_, Result<(), Error>> {
        let replica = self.clone();
        Box::pin(async move {
            let told = blocking(move || replica.forget()).await?;
            for Forgotten { collection, entries } in told {
                tracing::info!(%collection, entries, "deleted what was kept of the connection");
            }
            Ok(())
        })
    }
}

/// Runs what may wait for the disk apart from the executor. Once begun it is done, even if nobody waits any more.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Cancelled, "the program ends")))
}

/// What came at a time that nobody can tell is taken for old.
fn is_expired(since: Option<UnixTime>, now: UnixTime) -> bool {
    since.is_some_and(|since| is_over(since, now, ORGANISATION_FOR))
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").finish_non_exhaustive()
    }
}

/// The entries of an area, by key, read from the store some hundred at a time. What is committed meanwhile is seen
/// or not; no entry is seen twice. After an error it ends, and what is the organisation's when it is 7 days old (OST-14).
#[derive(Clone, Debug)]
pub struct Entries<E> {
    replica: Replica,
    after: Option<Box<str>>,
    ahead: std::vec::IntoIter<Row>,
    more: bool,
    /// Since when those ahead are kept, where they are the organisation's.
    since: Option<UnixTime>,
    entry: PhantomData<fn() -> E>,
}

impl<E: Entry> Entries<E> {
    /// The next ones, and since when they are kept. That is read first: what is committed in between is younger.
    fn read_on(&mut self) -> Result<Vec<Row>, Error> {
        self.since = self.replica.since(E::AREA)?;
        self.replica.store.entries(E::AREA, self.after.as_deref(), AT_ONCE)
    }
}

impl<E: Entry> Iterator for Entries<E> {
    type Item = Result<E, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.ahead.next() {
            Some(row) => row,
            None if !self.more => return None,
            None => {
                match self.read_on() {
                    Ok(rows) => {
                        self.more = rows.len() == AT_ONCE;
                        self.after = rows.last().map(|row| row.key.clone());
                        self.ahead = rows.into_iter();
                    }
                    Err(error) => {
                        self.more = false;
                        return Some(Err(error));
                    }
                }
                self.ahead.next()?
            }
        };
        if self.replica.is_over(self.since) {
            (self.more, self.ahead) = (false, Vec::new().into_iter());
            return None;
        }
        let entry = E::of_row(&row);
        if entry.is_err() {
            (self.more, self.ahead) = (false, Vec::new().into_iter());
        }
        Some(entry)
    }
}
