//! The changes that one page makes to a store, applied atomically.

use std::fmt;

use super::{Area, AreaState, FeedReader, FeedRemoval};

/// One atomic change of an area. A store applies the parts in this order: `clear`, `strip`, `upserts`,
/// `removals`, `units`, `sweep`. Then `area_state` replaces the stored state.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct AreaCommit {
    /// The area to change.
    pub area: Area,
    /// The expected [`AreaState::sequence`]. The store rejects the commit if the stored sequence differs.
    pub expected_sequence: u64,
    /// True to delete all entries, baselines and recorded removals.
    pub clear: bool,
    /// True to delete the details of all entries (OST-10).
    pub strip: bool,
    /// Entries to insert or replace by key (FED-06). They get the generation of `area_state`, and the removal
    /// records of their keys are deleted.
    pub upserts: Vec<ReplicaRow>,
    /// Removals to apply: the entry is deleted by key if it is stored, and the removal is recorded in any
    /// case.
    pub removals: Vec<RemovalRecord>,
    /// If set, the entries of all other units are deleted (OST-05), including those that this commit
    /// inserted.
    pub units: Option<Vec<Box<str>>>,
    /// True to delete the entries with an older generation than that of `area_state` (FED-09).
    pub sweep: bool,
    /// The new state of the area.
    pub area_state: AreaState,
}

impl AreaCommit {
    /// Creates a commit that changes only the state of the area.
    #[must_use]
    pub fn new(area: Area, expected_sequence: u64, area_state: AreaState) -> Self {
        let (upserts, removals) = (Vec::new(), Vec::new());
        Self {
            area,
            expected_sequence,
            clear: false,
            strip: false,
            upserts,
            removals,
            units: None,
            sweep: false,
            area_state,
        }
    }

    /// Creates a commit that deletes the stored details after their scope was lost (OST-10).
    pub(crate) fn without_details(area: Area, before: &AreaState) -> Self {
        let reader = FeedReader { details: false, ..before.reader.clone() };
        let area_state = AreaState { sequence: before.sequence + 1, reader, ..before.clone() };
        Self { strip: true, ..Self::new(area, before.sequence, area_state) }
    }
}

/// Prints counts instead of entries.
impl fmt::Debug for AreaCommit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { area, expected_sequence, clear, strip, upserts, removals, units, sweep, area_state } =
            self;
        let mut commit = f.debug_struct("AreaCommit");
        commit
            .field("area", area)
            .field("expected_sequence", expected_sequence)
            .field("clear", clear)
            .field("strip", strip);
        commit.field("upserts", &upserts.len()).field("removals", &removals.len());
        commit.field("units", &units.as_ref().map(Vec::len)).field("sweep", sweep);
        commit.field("position", &area_state.position).finish()
    }
}

/// The result of an [`AreaCommit`].
#[derive(Clone, Debug, PartialEq)]
pub enum CommitOutcome {
    /// The commit is applied and durable.
    Done(CommitTally),
    /// Another process committed first: nothing was changed. The value is the stored state.
    Superseded(AreaState),
}

/// The effects of a commit that its fields do not show, because they depend on the stored entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitTally {
    /// Keys that `clear`, `units` and `sweep` removed and that were not inserted again.
    pub gone: Vec<Box<str>>,
    /// Keys of the entries whose details `strip` deleted.
    pub stripped: Vec<Box<str>>,
}

impl CommitTally {
    /// Creates a tally from removed and stripped keys.
    #[must_use]
    pub const fn new(gone: Vec<Box<str>>, stripped: Vec<Box<str>>) -> Self {
        Self { gone, stripped }
    }
}

/// An entry in the form in which a store holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct ReplicaRow {
    /// The opaque key of the entry.
    pub key: Box<str>,
    /// The unit that the entry belongs to; set only for entries of pools.
    pub unit: Option<Box<str>>,
    /// The entry without its details, as a JSON object.
    pub body: Box<[u8]>,
    /// The part that requires the scope `exchange.orgstock.details`, as JSON.
    pub details: Option<Box<[u8]>>,
}

/// Does not print the content.
impl fmt::Debug for ReplicaRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplicaRow")
            .field("key", &self.key)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// A recorded removal. It is kept until the entry returns, or until the exchange has deleted its tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovalRecord {
    /// The key of the removed entry.
    pub key: Box<str>,
    /// True if this installation removed the entry (TYP-16), so that the member need not be asked before it
    /// is added again.
    pub is_own: bool,
}

impl RemovalRecord {
    pub(crate) fn from_feed(change: &FeedRemoval) -> Self {
        Self { key: change.key.clone(), is_own: change.is_own }
    }
}

/// The treatment of an area's recorded owner ([`FeedReader::installation`](crate::feed::FeedReader)) when the
/// area's data is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerNote {
    /// Keep the owner, because only the data was too old or may no longer be read.
    Keep,
    /// Delete the owner, after a disconnection or after another member signed in. Processes that still read
    /// for the owner detect this.
    Remove,
}
