//! The stored state of a feed: its position, and the reader for which it is valid.

use std::fmt;

use dpop_bound::UnixTime;
use exchange_api::{
    scopes::Scope,
    types::{Cursor, InstallationId},
};

use super::{Area, commit::OwnerNote};
use crate::{
    connection::Connection,
    ownership::{Ownership, OwnershipMatch},
};

/// The position at which reading continues. Cursors are opaque: they are sent back unchanged and never
/// compared (CON-07).
#[derive(Clone, PartialEq, Eq, Default)]
pub enum FeedPosition {
    /// There is no position yet: reading begins with a snapshot.
    #[default]
    Start,
    /// The position is inside a snapshot, which continues at this cursor even after a restart.
    Snapshot(Cursor),
    /// The position is in the feed: the replica contains all changes before this cursor.
    Feed(Cursor),
}

impl FeedPosition {
    /// Returns the cursor of the next page.
    #[must_use]
    pub const fn cursor(&self) -> Option<&Cursor> {
        match self {
            Self::Start => None,
            Self::Snapshot(cursor) | Self::Feed(cursor) => Some(cursor),
        }
    }

    /// Returns true if a snapshot was read completely. An entry that is missing here is then missing at the
    /// exchange as well.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Feed(_))
    }
}

/// Does not print the cursor, which is of no use in logs.
impl fmt::Debug for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "Start",
            Self::Snapshot(_) => "Snapshot",
            Self::Feed(_) => "Feed",
        })
    }
}

/// The installation that read the entries, and its access. A position is valid only for the same reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedReader {
    /// The installation, if the exchange returned its id (SVC-03).
    pub installation: Option<InstallationId>,
    /// The API version. A later version may return more fields of each entry.
    pub version: Option<Box<str>>,
    /// True if pools include the stock of each holder (OST-08).
    pub details: bool,
}

impl FeedReader {
    /// Returns the reader with the current access of a connection (SVC-01).
    #[must_use]
    pub fn from_connection(connection: &Connection) -> Self {
        Self {
            installation: connection.installation_id().cloned(),
            version: Some(connection.document().api_version.as_str().into()),
            details: connection.has_capability(&Scope::ExchangeOrgstockDetails),
        }
    }

    /// Returns the ownership of data that this reader reads.
    fn ownership(&self) -> Ownership {
        let installation = self.installation.as_ref().map(|id| id.as_str().into());
        Ownership { connection: None, installation }
    }

    /// Returns a copy of this reader for one area. `details` is false unless the area is org stock, because
    /// no other area has details.
    #[must_use]
    pub(super) fn for_area(&self, area: Area) -> Self {
        Self { details: self.details && area == Area::OrgStock, ..self.clone() }
    }
}

/// The stored state of an area apart from its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AreaState {
    /// The number of commits so far. A commit contains the sequence that it is based on, so concurrent
    /// commits do not overwrite each other.
    pub sequence: u64,
    /// The number of snapshots so far. Entries of an older generation are removed when a snapshot ends.
    pub generation: u64,
    /// The position at which reading continues.
    pub position: FeedPosition,
    /// The reader that read the entries.
    pub reader: FeedReader,
    /// The request time of the last page that reached the end, which determines the age of the copy.
    pub as_of: Option<UnixTime>,
    /// The request time of the last page. The cursor of that page is valid for 90 days from then on (FED-08).
    pub read_at: Option<UnixTime>,
    /// The time of the oldest data that was not confirmed since. Copies of the organization's data expire 7
    /// days after this time (OST-14).
    pub since: Option<UnixTime>,
}

impl AreaState {
    /// Returns the state after all entries were deleted. Its sequence is higher, so that commits prepared
    /// before the deletion are rejected.
    #[must_use]
    pub fn after_forgetting(&self, owner: OwnerNote) -> Self {
        let installation = match owner {
            OwnerNote::Keep => self.reader.installation.clone(),
            OwnerNote::Remove => None,
        };
        let reader = FeedReader { installation, ..FeedReader::default() };
        Self { sequence: self.sequence + 1, generation: self.generation, reader, ..Self::default() }
    }

    /// Compares the owner of the stored data with a reader.
    pub(crate) fn belongs_to(&self, reader: &FeedReader) -> OwnershipMatch {
        if self.reader.installation.is_none() && self.position == FeedPosition::Start {
            return OwnershipMatch::Unowned;
        }
        self.reader.ownership().compare_with(&reader.ownership())
    }
}
