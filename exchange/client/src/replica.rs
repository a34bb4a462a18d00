//! The replica: a local copy of the exchange's collections that can be read without a network.
//!
//! Programs read from [`Replica`]. A [`ReplicaStore`] holds the data: [`MemoryReplica`] in this crate, or
//! SQLite files in `exchange-client-sqlite`. Only feed pages change the data; each page is one
//! [`AreaCommit`].
//!
//! Reads and commits may block on the disk. Reads are short and may be called anywhere. This crate runs its
//! own commits on tokio's blocking threads.

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
    feed::{Area, Collection, FeedEntry},
    retention::is_expired,
    session::LocalData,
    token_source::BoxFuture,
};

pub use crate::{
    feed::commit::{AreaCommit, CommitOutcome, CommitTally, OwnerNote, RemovalRecord, ReplicaRow},
    retention::MAX_ORGANISATION_AGE,
};
pub use memory::MemoryReplica;
pub use merge::{MergeAction, MergeConflict, ShipValues, merge_blueprint, merge_lot, merge_ship};
pub use ships::{AmbiguousShip, LocalShip, ShipMatchPlan};
pub use store::{DemandDocument, ForgottenCollection, ReplicaStore};

/// The lifetime of a cursor (FED-08). Each feed has to be read at least this often (FED-11).
pub const CURSOR_LIFETIME: Duration = Duration::from_secs(90 * 86_400);

/// The number of entries that [`EntryIter`] reads at once.
const CHUNK_SIZE: usize = 512;

/// Read access to a local copy of the exchange's collections. Clones share the copy.
///
/// Data of the organization is hidden as soon as it is 7 days old (OST-14), even before
/// [`expire`](Self::expire) deletes it. Its age is measured with the clocks of the
/// [`ReplicaSync`](crate::sync::ReplicaSync) that updates the replica, or with the clocks given to
/// [`with_clocks`](Self::with_clocks). Without clocks, data is returned until it is deleted.
#[derive(Clone)]
pub struct Replica {
    store: Arc<dyn ReplicaStore>,
    clocks: Arc<OnceLock<Environment>>,
}

/// Completeness and age of the local copy of an area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AreaFreshness {
    /// The time up to which all changes are included; `None` if the end of the feed was never reached.
    pub as_of: Option<UnixTime>,
    /// True if a snapshot was read completely and no new one is in progress. In this case, an entry that is
    /// missing here was also missing at the exchange at the time `as_of`.
    pub is_whole: bool,
    /// The deadline of the next read, after which the feed has to be read from the start (FED-11).
    pub due_by: Option<UnixTime>,
    /// The time at which the copy is deleted unless it is read again (OST-14); set only for org stock.
    pub expires_at: Option<UnixTime>,
}

impl AreaFreshness {
    /// Returns the age of the copy at `now`; `None` if the end of the feed was never reached.
    #[must_use]
    pub fn staleness(&self, now: UnixTime) -> Option<Duration> {
        self.as_of.map(|as_of| now.saturating_since(as_of))
    }
}

impl Replica {
    /// Creates a replica whose data is in this store.
    #[must_use]
    pub fn new(store: impl ReplicaStore) -> Self {
        Self { store: Arc::new(store), clocks: Arc::default() }
    }

    /// Sets the clocks that measure the age of the data, for all clones. Later calls have no effect.
    #[must_use]
    pub fn with_clocks(self, environment: &Environment) -> Self {
        let _ = self.clocks.set(environment.clone());
        self
    }

    /// Creates a replica in memory, which is lost when the program ends.
    #[must_use]
    pub fn in_memory() -> Self {
        Self::new(MemoryReplica::default())
    }

    /// Returns the underlying store.
    #[must_use]
    pub fn store(&self) -> &dyn ReplicaStore {
        &*self.store
    }

    /// Returns an iterator over the member's blueprints in the order of their keys.
    #[must_use]
    pub fn blueprints(&self) -> EntryIter<Blueprint> {
        self.entries()
    }

    /// Returns an iterator over the member's stock lots in the order of their keys.
    #[must_use]
    pub fn stock(&self) -> EntryIter<StockLot> {
        self.entries()
    }

    /// Returns an iterator over the member's ships in the order of their ids.
    #[must_use]
    pub fn ships(&self) -> EntryIter<Ship> {
        self.entries()
    }

    /// Returns an iterator over the lots of the pools that the member may read, in the order of their keys.
    /// They are internal data of the organization: show them only to this member (OST-14).
    #[must_use]
    pub fn org_stock(&self) -> EntryIter<OrgStockLot> {
        self.entries()
    }

    /// Returns an iterator over the entries of an area in the order of their keys.
    #[must_use]
    pub fn entries<E: FeedEntry>(&self) -> EntryIter<E> {
        EntryIter {
            replica: self.clone(),
            after: None,
            ahead: Vec::new().into_iter(),
            more: true,
            since: None,
            entry: PhantomData,
        }
    }

    /// Returns the blueprint with this key.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn blueprint(&self, key: &BlueprintKey) -> Result<Option<Blueprint>, Error> {
        self.entry(key.as_str())
    }

    /// Returns the member's lot with this key.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn lot(&self, key: &LotKey) -> Result<Option<StockLot>, Error> {
        self.entry(key.as_str())
    }

    /// Returns the ship with this id.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn ship(&self, id: &ShipId) -> Result<Option<Ship>, Error> {
        self.entry(id.as_str())
    }

    /// Returns the lot of a pool with this key.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn org_lot(&self, key: &OrgLotKey) -> Result<Option<OrgStockLot>, Error> {
        self.entry(key.as_str())
    }

    /// Returns the entry with this key.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn entry<E: FeedEntry>(&self, key: &str) -> Result<Option<E>, Error> {
        if self.is_too_old(self.organization_data_since(E::AREA)?) {
            return Ok(None);
        }
        self.store.entry(E::AREA, key)?.map(|row| E::from_row(&row)).transpose()
    }

    /// Returns the number of entries in the local copy of an area.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn count(&self, area: Area) -> Result<u64, Error> {
        if self.is_too_old(self.organization_data_since(area)?) {
            return Ok(0);
        }
        self.store.count(area)
    }

    /// Returns the recorded removal of an entry; `None` once its tombstone has expired or the entry has
    /// returned.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error> {
        self.store.removal(area, key)
    }

    /// Returns the completeness and age of the local copy of an area.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn freshness(&self, area: Area) -> Result<AreaFreshness, Error> {
        let area_state = self.store.area_state(area)?;
        let since = area_state.since.filter(|_| area.is_organization_data());
        Ok(AreaFreshness {
            as_of: area_state.as_of,
            is_whole: area_state.position.is_whole(),
            due_by: area_state.read_at.map(|read| read + CURSOR_LIFETIME),
            expires_at: since.map(|since| since + MAX_ORGANISATION_AGE),
        })
    }

    /// Returns the time by which a feed has to be read again, which is when the oldest cursor is 90 days old
    /// (FED-11). A program that runs rarely can schedule its next start by this time.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn due_by(&self) -> Result<Option<UnixTime>, Error> {
        let due = Area::ALL.into_iter().map(|area| Ok(self.freshness(area)?.due_by));
        Ok(due.collect::<Result<Vec<_>, Error>>()?.into_iter().flatten().min())
    }

    /// Returns the version of an entry that both sides had after the last merge. It is the baseline of
    /// [`merge_ship`] and the other merge functions.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn baseline<E: FeedEntry>(&self, key: &str) -> Result<Option<E>, Error> {
        self.store.baseline(E::AREA, key)?.map(|row| E::from_row(&row)).transpose()
    }

    /// Records that both sides have these entries after a merge, and that the entries in `gone` are absent on
    /// both sides. Does nothing for org stock, which has its own versions.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store fails. Nothing was recorded then.
    pub fn set_baseline<E: FeedEntry>(&self, entries: &[E], gone: &[&str]) -> Result<(), Error> {
        if E::AREA.is_organization_data() {
            return Ok(());
        }
        let rows = entries.iter().map(FeedEntry::to_row).collect::<Result<Vec<_>, _>>()?;
        self.store.set_baseline(E::AREA, &rows, gone)
    }

    /// Returns the stored demand and the time when it was read; `None` if there is none, or if it is at least
    /// 7 days old (DEM-10).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn demand(&self, now: UnixTime) -> Result<Option<(OrgDemand, UnixTime)>, Error> {
        let Some(document) =
            self.store.demand()?.filter(|document| !is_organization_data_expired(Some(document.at), now))
        else {
            return Ok(None);
        };
        let demand = OrgDemand::parse(&document.body);
        let demand =
            demand.map_err(|_| Error::new(ErrorKind::Storage, "corrupt stored demand: cannot be parsed"))?;
        Ok(Some((demand, document.at)))
    }

    /// Returns the cadence that determines when demand may be requested again. It counts from the last
    /// request of any process that shares this replica, whether or not the request succeeded (DEM-11).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn demand_cadence(&self) -> Result<DemandCadence, Error> {
        let requested_at = match self.store.demand_requested_at()? {
            None => self.store.demand()?.map(|document| document.at),
            requested_at => requested_at,
        };
        Ok(requested_at.map_or_else(DemandCadence::default, DemandCadence::from_last_read))
    }

    /// Records a request for demand. Call this before the request, because failed requests also count
    /// (DEM-11).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be written.
    pub fn note_demand_request(&self, now: UnixTime) -> Result<(), Error> {
        self.store.note_demand_request(now)
    }

    /// Replaces the stored demand with demand that was read for `connection`. Returns `false` if the replica
    /// does not belong to that connection (DEM-10). The replica is assigned to a connection by
    /// [`ReplicaSync::begin_session`](crate::sync::ReplicaSync::begin_session). The lines of withheld demand
    /// are not stored (DEM-07).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be written.
    pub fn store_demand(
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
            .map_err(|_| Error::new(ErrorKind::Storage, "the demand cannot be serialized"))?;
        self.store.store_demand(&DemandDocument { at: now, body: body.into() }, of)
    }

    /// Returns the time of the oldest unconfirmed data of an area; `None` if there is none, or if the area is
    /// not internal data of the organization.
    fn organization_data_since(&self, area: Area) -> Result<Option<UnixTime>, Error> {
        if !area.is_organization_data() {
            return Ok(None);
        }
        Ok(self.store.area_state(area)?.since)
    }

    /// Returns true if data from this time is too old to be shown.
    fn is_too_old(&self, since: Option<UnixTime>) -> bool {
        since.is_some()
            && self
                .clocks
                .get()
                .is_some_and(|environment| is_organization_data_expired(since, environment.now().wall))
    }

    /// Returns the time at which [`expire`](Self::expire) has to be called next for data of the organization.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store cannot be read.
    pub fn expires_at(&self) -> Result<Option<UnixTime>, Error> {
        let since = Collection::ORGANIZATION.map(|collection| self.kept_since(collection));
        let since = since.into_iter().collect::<Result<Vec<_>, Error>>()?;
        Ok(since.into_iter().flatten().min().map(|since| since + MAX_ORGANISATION_AGE))
    }

    fn kept_since(&self, collection: Collection) -> Result<Option<UnixTime>, Error> {
        match collection {
            Collection::Area(area) => self.organization_data_since(area),
            Collection::Demand => Ok(self.store.demand()?.map(|document| document.at)),
        }
    }

    /// Deletes data of the organization that is at least 7 days old, erases its bytes, and returns what was
    /// deleted (LIM-38, OST-14, DEM-10). Call this at the start of the program and on a timer, even without a
    /// network. [`ReplicaSync`](crate::sync::ReplicaSync) does this.
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store fails. The program then calls the method again later.
    pub fn expire(&self, now: UnixTime) -> Result<Vec<ForgottenCollection>, Error> {
        let mut expired = Vec::new();
        for collection in Collection::ORGANIZATION {
            if is_organization_data_expired(self.kept_since(collection)?, now) {
                expired.push(collection);
            }
        }
        if expired.is_empty() {
            self.store.purge_removed(now)?;
            return Ok(Vec::new());
        }
        self.store.forget(&expired, OwnerNote::Keep)
    }

    /// Deletes all data after a disconnection and returns what was deleted (CLI-06).
    ///
    /// # Errors
    /// Returns [`ErrorKind::Storage`] if the store fails. The program then calls the method again later.
    pub fn forget(&self) -> Result<Vec<ForgottenCollection>, Error> {
        self.store.forget(&Collection::ALL, OwnerNote::Remove)
    }
}

/// Deletes the replica's data when the member disconnects (CLI-06).
impl LocalData for Replica {
    fn name(&self) -> &str {
        "copies of blueprints, stock, ships, org stock and demand"
    }

    fn delete(&self) -> BoxFuture<'_, Result<(), Error>> {
        let replica = self.clone();
        Box::pin(async move {
            let deleted = run_store_task(move || replica.forget()).await?;
            for ForgottenCollection { collection, entries } in deleted {
                tracing::info!(%collection, entries, "deleted local data of the connection");
            }
            Ok(())
        })
    }
}

/// Runs blocking store work on a tokio thread. Work that has started is completed even if the future is
/// dropped.
pub(crate) async fn run_store_task<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Error::new(ErrorKind::Cancelled, "the program is shutting down")))
}

/// Returns true if the data is at least 7 days old, or if its time is implausible.
fn is_organization_data_expired(since: Option<UnixTime>, now: UnixTime) -> bool {
    since.is_some_and(|since| is_expired(since, now, MAX_ORGANISATION_AGE))
}

impl fmt::Debug for Replica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replica").finish_non_exhaustive()
    }
}

/// An iterator over the entries of an area in the order of their keys, which reads several hundred at a time.
///
/// Concurrent commits may or may not be visible, and no entry is returned twice. The iterator ends after an
/// error, and when data of the organization becomes 7 days old (OST-14).
#[derive(Clone, Debug)]
pub struct EntryIter<E> {
    replica: Replica,
    after: Option<Box<str>>,
    ahead: std::vec::IntoIter<ReplicaRow>,
    more: bool,
    /// The time of the oldest unconfirmed data in `ahead`, if it is internal data of the organization.
    since: Option<UnixTime>,
    entry: PhantomData<fn() -> E>,
}

impl<E: FeedEntry> EntryIter<E> {
    /// Reads the next chunk and the age of its data. The age is read first: a commit in between can only make
    /// the data younger.
    fn read_next_chunk(&mut self) -> Result<Vec<ReplicaRow>, Error> {
        self.since = self.replica.organization_data_since(E::AREA)?;
        self.replica.store.entries(E::AREA, self.after.as_deref(), CHUNK_SIZE)
    }
}

impl<E: FeedEntry> Iterator for EntryIter<E> {
    type Item = Result<E, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = match self.ahead.next() {
            Some(row) => row,
            None if !self.more => return None,
            None => {
                match self.read_next_chunk() {
                    Ok(rows) => {
                        self.more = rows.len() == CHUNK_SIZE;
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
        if self.replica.is_too_old(self.since) {
            (self.more, self.ahead) = (false, Vec::new().into_iter());
            return None;
        }
        let entry = E::from_row(&row);
        if entry.is_err() {
            (self.more, self.ahead) = (false, Vec::new().into_iter());
        }
        Some(entry)
    }
}
