//! Where a feed was left, and for whom.

use std::fmt;

use dpop_bound::UnixTime;
use exchange_api::{
    scopes::Scope,
    types::{Cursor, InstallationId},
};

use super::{Area, commit::OwnerNote};
use crate::{
    connection::Connection,
    whose::{Belongs, Whose},
};

/// Where to read on. Cursors are opaque: they are sent back as they came, and neither read nor ordered (CON-07).
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Position {
    /// Nothing is known yet: a snapshot begins.
    #[default]
    Start,
    /// In a snapshot, which goes on here, also after the program was started anew.
    Snapshot(Cursor),
    /// In the feed: everything up to here is in the replica.
    Feed(Cursor),
}

impl Position {
    /// The cursor of the next page.
    #[must_use]
    pub const fn cursor(&self) -> Option<&Cursor> {
        match self {
            Self::Start => None,
            Self::Snapshot(cursor) | Self::Feed(cursor) => Some(cursor),
        }
    }

    /// Whether a snapshot was read to its end, so that what is not in the replica is not at the exchange either.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        matches!(self, Self::Feed(_))
    }
}

/// Without the cursor: no use to a reader of logs, and of use to nobody else.
impl fmt::Debug for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "Start",
            Self::Snapshot(_) => "Snapshot",
            Self::Feed(_) => "Feed",
        })
    }
}

/// Whose entries they are and how much they show: a position is worth nothing to anybody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reader {
    /// This installation, when the exchange could tell it (SVC-03).
    pub installation: Option<InstallationId>,
    /// The version of the interface, a later one of which may show more of every entry.
    pub version: Option<Box<str>>,
    /// Pools come with what each holder has (OST-08).
    pub details: bool,
}

impl Reader {
    /// What a token can do now (SVC-01).
    #[must_use]
    pub fn of(connection: &Connection) -> Self {
        Self {
            installation: connection.installation_id().cloned(),
            version: Some(connection.document().api_version.as_str().into()),
            details: connection.can(&Scope::ExchangeOrgstockDetails),
        }
    }

    /// Whose it reads.
    fn whose(&self) -> Whose {
        let installation = self.installation.as_ref().map(|id| id.as_str().into());
        Whose { connection: None, installation }
    }

    /// The same as far as an area shows it: only pools have details.
    #[must_use]
    pub(super) fn for_area(&self, area: Area) -> Self {
        Self { details: self.details && area == Area::OrgStock, ..self.clone() }
    }
}

/// What is kept of an area beside its entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Kept {
    /// Commits so far: who commits says which one it read, and another's is never overwritten.
    pub sequence: u64,
    /// The snapshot that entries were last seen in or after: those of an earlier one go when it ends.
    pub generation: u64,
    /// Where to read on.
    pub position: Position,
    /// Whose entries they are.
    pub reader: Reader,
    /// When a page last reached the end: how old what is shown may be.
    pub as_of: Option<UnixTime>,
    /// When the last page was read, from which the cursor counts its 90 days (FED-08).
    pub read_at: Option<UnixTime>,
    /// When the oldest of what was not confirmed since was read: from which copies of the organisation's data count
    /// their 7 days (OST-14).
    pub since: Option<UnixTime>,
}

impl Kept {
    /// What is kept of an area of which everything is forgotten. The counts go on, so that no commit that was decided before
    /// can be applied.
    #[must_use]
    pub fn forgotten(&self, owner: OwnerNote) -> Self {
        let installation = match owner {
            OwnerNote::Stays => self.reader.installation.clone(),
            OwnerNote::Goes => None,
        };
        let reader = Reader { installation, ..Reader::default() };
        Self { sequence: self.sequence + 1, generation: self.generation, reader, ..Self::default() }
    }

    /// What they are to this reader.
    pub(crate) fn belongs_to(&self, reader: &Reader) -> Belongs {
        if self.reader.installation.is_none() && self.position == Position::Start {
            return Belongs::Nobodys;
        }
        self.reader.whose().belongs_to(&reader.whose())
    }
}
