//! What a place for a replica has to be able to do.

use std::fmt;

use dpop_bound::UnixTime;
use exchange_api::types::InstallationId;

use super::{Commit, Outcome, OwnerNote, Removal, Row};
use crate::{
    error::Error,
    feed::{Area, Collection, Kept},
};

/// A place for a replica. Every method is one transaction: it happens whole or not at all, also when the program is
/// killed in it, and what it changed is durable when it returns. Several threads, and where it is in files several
/// processes, use it at once. Methods may wait for the disk.
///
/// Every method fails with [`ErrorKind::Storage`](crate::ErrorKind::Storage) alone, and then changed nothing.
///
/// What an implementation must do is a test of its own: `exchange_client::replica::check`, with the feature `testkit`.
pub trait ReplicaStore: Send + Sync + 'static {
    /// What is kept of an area beside its entries; the default of an area that nothing was committed to.
    ///
    /// # Errors
    /// When it cannot be read.
    fn kept(&self, area: Area) -> Result<Kept, Error>;

    /// Applies a page.
    ///
    /// # Errors
    /// When it cannot be written, as on a full disk; it may be tried again.
    fn commit(&self, commit: &Commit) -> Result<Outcome, Error>;

    /// An entry.
    ///
    /// # Errors
    /// When it cannot be read.
    fn entry(&self, area: Area, key: &str) -> Result<Option<Row>, Error>;

    /// At most `most` entries in the order of the bytes of their keys, those after a key.
    ///
    /// # Errors
    /// When they cannot be read.
    fn entries(&self, area: Area, after: Option<&str>, most: usize) -> Result<Vec<Row>, Error>;

    /// How many entries there are.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn count(&self, area: Area) -> Result<u64, Error>;

    /// What is kept in mind of a removal: for 90 days of reading the feed at least, unless the entry came back.
    ///
    /// # Errors
    /// When it cannot be read.
    fn removal(&self, area: Area, key: &str) -> Result<Option<Removal>, Error>;

    /// Notes that both sides agree on these entries, and on the absence of those with the keys in `gone`. It is not
    /// called for areas of the organisation, of which no second copy is kept.
    ///
    /// # Errors
    /// When it cannot be written.
    fn agree(&self, area: Area, entries: &[Row], gone: &[&str]) -> Result<(), Error>;

    /// The entry that both sides agreed on last.
    ///
    /// # Errors
    /// When it cannot be read.
    fn agreed(&self, area: Area, key: &str) -> Result<Option<Row>, Error>;

    /// The demand that is kept.
    ///
    /// # Errors
    /// When it cannot be read.
    fn demand(&self) -> Result<Option<Document>, Error>;

    /// Keeps the demand, in the place of what was kept of it, and says whether it did: not when org stock is noted as any
    /// other's than this installation's, or as nobody's, since what is kept of demand is whose that is (DEM-10).
    ///
    /// # Errors
    /// When it cannot be written.
    fn keep_demand(&self, demand: &Document, of: &InstallationId) -> Result<bool, Error>;

    /// When demand was asked for last, by whichever process and whatever came of it; nothing when it never was.
    ///
    /// # Errors
    /// When it cannot be read.
    fn demand_asked_at(&self) -> Result<Option<UnixTime>, Error>;

    /// Notes that demand is asked for now (DEM-11). It is forgotten with the demand.
    ///
    /// # Errors
    /// When it cannot be written.
    fn note_demand_asked(&self, at: UnixTime) -> Result<(), Error>;

    /// Forgets these, everything that was kept of them, so that their bytes are in no file of the store any more;
    /// a feed starts from nothing. Says of each what it had. Whose an area is stays noted or goes with the rest.
    ///
    /// # Errors
    /// When it cannot be done, or another process still reads the old bytes: then [`settle`](Self::settle) is called
    /// again.
    fn forget(&self, collections: &[Collection], owner: OwnerNote) -> Result<Vec<Forgotten>, Error>;

    /// Sees to it that the bytes of what is not kept any more are gone: what an earlier [`forget`](Self::forget) could
    /// not do, what a [`Commit`] stripped or took with a unit (OST-05, OST-10), and what other pages removed a day ago
    /// and more.
    ///
    /// # Errors
    /// When that cannot be done now: it is to be called again.
    fn settle(&self, now: UnixTime) -> Result<(), Error> {
        let _ = now;
        Ok(())
    }
}

/// What was forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Forgotten {
    /// Of what.
    pub collection: Collection,
    /// How many entries it had; of demand 1 or 0.
    pub entries: u64,
}

/// A document that is kept whole.
#[derive(Clone, PartialEq, Eq)]
pub struct Document {
    /// When it was read.
    pub at: UnixTime,
    /// Its text.
    pub body: Box<[u8]>,
}

/// Without what it holds.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document").field("at", &self.at).finish_non_exhaustive()
    }
}
