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
/// during the call, and is durable when it returns. Stores are used by several threads and, if they are
/// files, by several processes. Methods may block on the disk.
///
/// Each method fails only with [`ErrorKind::Storage`](crate::ErrorKind::Storage), and then changed nothing.
///
/// `exchange_client::replica::check` (feature `testkit`) tests an implementation.
pub trait ReplicaStore: Send + Sync + 'static {
    /// Returns the position and metadata of an area; the default if nothing was committed.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn area_state(&self, area: Area) -> Result<AreaState, Error>;

    /// Applies a page.
    ///
    /// # Errors
    /// If the store cannot be written, for example on a full disk; the call may be repeated.
    fn commit(&self, commit: &AreaCommit) -> Result<CommitOutcome, Error>;

    /// Returns the entry with this key.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn entry(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error>;

    /// Returns at most `most` entries with keys greater than `after`, in byte order of their keys.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn entries(&self, area: Area, after: Option<&str>, most: usize) -> Result<Vec<ReplicaRow>, Error>;

    /// Returns the number of entries.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn count(&self, area: Area) -> Result<u64, Error>;

    /// Returns a recorded removal. Removals are kept for at least 90 days of feed reads, unless the entry
    /// returns.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error>;

    /// Records these entries as the baseline of both sides, and deletes the baseline of the keys in `gone`.
    /// Not called for areas of the organization, which must not be copied a second time.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn set_baseline(&self, area: Area, entries: &[ReplicaRow], gone: &[&str]) -> Result<(), Error>;

    /// Returns the baseline of an entry.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn baseline(&self, area: Area, key: &str) -> Result<Option<ReplicaRow>, Error>;

    /// Returns the stored demand.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn demand(&self) -> Result<Option<DemandDocument>, Error>;

    /// Replaces the stored demand. Returns `false` and stores nothing unless org stock belongs to this
    /// installation, because demand has the same owner as org stock (DEM-10).
    ///
    /// # Errors
    /// If the store cannot be written.
    fn store_demand(&self, demand: &DemandDocument, of: &InstallationId) -> Result<bool, Error>;

    /// Returns the time of the last request for demand by any process, successful or not.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn demand_requested_at(&self) -> Result<Option<UnixTime>, Error>;

    /// Records a request for demand (DEM-11). The time is deleted together with the demand.
    ///
    /// # Errors
    /// If the store cannot be written.
    fn note_demand_request(&self, at: UnixTime) -> Result<(), Error>;

    /// Deletes these collections completely, erases their bytes from all files, and returns the number of
    /// deleted entries of each. Their feeds start again. `owner` selects whether the owner of the area stays
    /// recorded.
    ///
    /// # Errors
    /// If the store cannot be written, or another process still reads the old bytes; then
    /// [`purge_removed`](Self::purge_removed) is called again.
    fn forget(&self, collections: &[Collection], owner: OwnerNote)
    -> Result<Vec<ForgottenCollection>, Error>;

    /// Erases the bytes of deleted data from all files: those that an earlier [`forget`](Self::forget) could
    /// not erase, those that an [`AreaCommit`] stripped or deleted with a unit (OST-05, OST-10), and those
    /// that other pages deleted at least a day ago.
    ///
    /// # Errors
    /// If the bytes cannot be erased now; the call has to be repeated.
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
    /// Number of deleted entries; 1 or 0 for demand.
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

/// Omits the content.
impl fmt::Debug for DemandDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("at", &self.at).finish_non_exhaustive()
    }
}
