//! The stored state of a feed: its position and the reader that it belongs to.

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

/// The position from which to read on. Cursors are opaque: they are sent back unchanged and never compared
/// (CON-07).
#[derive(Clone, PartialEq, Eq, Default)]
pub enum FeedPosition {
    /// No position yet: a snapshot begins.
    #[default]
    Start,
    /// Inside a snapshot, which continues at this cursor even after a restart.
    Snapshot(Cursor),
    /// Inside the feed: the replica contains all changes before this cursor.
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

    /// Returns true if a snapshot was read to its end, so that entries missing here are missing at the
    /// exchange.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Feed(_))
    }
}

/// Omits the cursor, which is of no use in logs.
impl fmt::Debug for FeedPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "Start",
            Self::Snapshot(_) => "Snapshot",
            Self::Feed(_) => "Feed",
        })
    }
}

/// The installation and the access that entries were read with. A position is only valid for the same reader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FeedReader {
    /// The installation, if the exchange could name it (SVC-03).
    pub installation: Option<InstallationId>,
    /// The API version; a later one may return more fields of each entry.
    pub version: Option<Box<str>>,
    /// True if pools include the stock of each holder (OST-08).
    pub details: bool,
}

impl FeedReader {
    /// Returns the current access of a connection (SVC-01).
    #[must_use]
    pub fn from_connection(connection: &Connection) -> Self {
        Self {
            installation: connection.installation_id().cloned(),
            version: Some(connection.document().api_version.as_str().into()),
            details: connection.has_capability(&Scope::ExchangeOrgstockDetails),
        }
    }

    /// Returns the ownership of data read by this reader.
    fn whose(&self) -> Ownership {
        let installation = self.installation.as_ref().map(|id| id.as_str().into());
        Ownership { connection: None, installation }
    }

    /// Restricts the reader to the access that matters for an area: only pools have details.
    #[must_use]
    pub(super) fn for_area(&self, area: Area) -> Self {
        Self { details: self.details && area == Area::OrgStock, ..self.clone() }
    }
}

/// The stored state of an area apart from its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AreaState {
    /// Number of commits so far. A commit names the sequence that it read, so concurrent commits are not
    /// overwritten.
    pub sequence: u64,
    /// Number of snapshots so far. Entries of an older generation are removed when a snapshot ends.
    pub generation: u64,
    /// The position from which to read on.
    pub position: FeedPosition,
    /// The reader of the entries.
    pub reader: FeedReader,
    /// Request time of the last page that reached the end: the age of the copy.
    pub as_of: Option<UnixTime>,
    /// Request time of the last page; the 90 days of its cursor start then (FED-08).
    pub read_at: Option<UnixTime>,
    /// Time of the oldest data that was not confirmed since; the 7 days for copies of the organization's data
    /// start then (OST-14).
    pub since: Option<UnixTime>,
}

impl AreaState {
    /// Returns the state after all entries were deleted. The sequence increases, so that earlier prepared
    /// commits are rejected.
    #[must_use]
    pub fn after_forgetting(&self, owner: OwnerNote) -> Self {
        let installation = match owner {
            OwnerNote::Keep => self.reader.installation.clone(),
            OwnerNote::Remove => None,
        };
        let reader = FeedReader { installation, ..FeedReader::default() };
        Self { sequence: self.sequence + 1, generation: self.generation, reader, ..Self::default() }
    }

    /// Compares the owner of the data with a reader.
    pub(crate) fn belongs_to(&self, reader: &FeedReader) -> OwnershipMatch {
        if self.reader.installation.is_none() && self.position == FeedPosition::Start {
            return OwnershipMatch::Unowned;
        }
        self.reader.whose().compare_with(&reader.whose())
    }
}
