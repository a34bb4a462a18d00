//! [`ReplicaStore`], the storage interface of a replica.

use std::fmt;

use dpop_bound::UnixTime;
use exchange_api::types::InstallationId;

use super::{AreaCommit, CommitOutcome, OwnerNote, RemovalRecord, ReplicaRow};
use crate::{
    error::Error,
    feed::{Area, AreaState, Collection},
};

/// Storage for a replica.
///
/// Each method is one transaction: it is applied completely or not at all, even if the program is killed
/// during the call, and it is durable when the method returns. Several threads use a store at the same time
/// and, if it consists of files, several processes. Methods may block on the disk.
///
/// Each method fails only with [`ErrorKind::Storage`](crate::ErrorKind::Storage), and then has changed
/// nothing, except in the second error case of [`forget`](Self::forget).
///
/// `exchange_client::replica::check` (feature `testkit`) tests an implementation of this trait.
pub trait ReplicaStore: Send + Sync + 'static {
    /// Returns the position and metadata of an area, or the default if nothing was committed.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn area_state(&self, area: Area) -> Result<AreaState, Error>;

    /// Applies the changes of one page.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written, for example because the disk is full. The call may be
    /// repeated.
    fn commit(&self, commit: &AreaCommit) -> Result<CommitOutcome, Error>;

    /// Returns the entry with this key.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn entry(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error>;

    /// Returns at most `limit` entries with keys greater than `after`, in byte order of their keys.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn entries(&self, area: Area, after: Option<&str>, limit: usize) -> Result<Vec<ReplicaRow>, Error>;

    /// Returns the number of entries.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn count(&self, area: Area) -> Result<u64, Error>;

    /// Returns a recorded removal. A removal is kept until the entry returns, or until the feed is read at
    /// least 90 days later.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error>;

    /// Records these entries as the baseline of both sides, and deletes the baseline of the keys in `gone`.
    /// It is not called for areas of the organization, whose data must not be copied a second time.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn set_baseline(&self, area: Area, entries: &[ReplicaRow], gone: &[&str]) -> Result<(), Error>;

    /// Returns the baseline of an entry.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn baseline(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error>;

    /// Returns the stored demand.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn demand(&self) -> Result<Option<DemandDocument>, Error>;

    /// Replaces the stored demand. Returns `false` and stores nothing unless org stock belongs to this
    /// installation, because demand has the same owner as org stock (DEM-10).
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn store_demand(&self, demand: &DemandDocument, reader: &InstallationId) -> Result<bool, Error>;

    /// Returns the time of the last request for demand by any process, whether or not it succeeded.
    ///
    /// # Errors
    /// Returns an error if the store cannot be read.
    fn demand_requested_at(&self) -> Result<Option<UnixTime>, Error>;

    /// Records a request for demand (DEM-11). The time is deleted together with the demand.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written.
    fn note_demand_request(&self, at: UnixTime) -> Result<(), Error>;

    /// Deletes these collections completely, erases their bytes from all files, and returns the number of
    /// deleted entries of each. Their feeds start again. `owner` determines whether the owner of an area is
    /// kept.
    ///
    /// # Errors
    /// Returns an error if the store cannot be written, or if another process still reads the old bytes. In
    /// the second case, [`purge_removed`](Self::purge_removed) is called again later.
    fn forget(&self, collections: &[Collection], owner: OwnerNote)
    -> Result<Vec<ForgottenCollection>, Error>;

    /// Erases the bytes of deleted data from all files. This includes data that an earlier
    /// [`forget`](Self::forget) could not erase, data that an [`AreaCommit`] stripped or deleted with a unit
    /// (OST-05, OST-10), and data that other pages deleted at least a day ago.
    ///
    /// # Errors
    /// Returns an error if the bytes cannot be erased now. The call has to be repeated.
    fn purge_removed(&self, now: UnixTime) -> Result<(), Error> {
        let _ = now;
        Ok(())
    }
}

/// A deleted collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForgottenCollection {
    /// The collection that was deleted.
    pub collection: Collection,
    /// The number of deleted entries; 1 or 0 for demand.
    pub entries: u64,
}

/// A demand document, stored as a whole.
#[derive(Clone, PartialEq, Eq)]
pub struct DemandDocument {
    /// The time at which it was read.
    pub at: UnixTime,
    /// The JSON document.
    pub body: Box<[u8]>,
}

/// Does not print the content.
impl fmt::Debug for DemandDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DemandDocument").field("at", &self.at).finish_non_exhaustive()
    }
}
