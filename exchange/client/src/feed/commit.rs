//! What one page changes in a store, all of it or nothing.

use std::fmt;

use super::{Area, Change, Kept, Reader};

/// One change of an area, in the order in which it is applied: `clear`, `strip`, `upserts`, `removals`, `units`,
/// `sweep`, and then `kept` is in the place of what was.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Commit {
    /// The area.
    pub area: Area,
    /// [`Kept::sequence`] as it was read: if it is another by now nothing is done.
    pub expects: u64,
    /// All entries go, and with them what was agreed on and what is known of removals.
    pub clear: bool,
    /// The details of all entries go (OST-10).
    pub strip: bool,
    /// Put in by key, in the place of what was there (FED-06), as of the generation of `kept`. What is known of
    /// their removal goes.
    pub upserts: Vec<Row>,
    /// Taken out by key, and kept in mind; of one that is not there too.
    pub removals: Vec<Removal>,
    /// Entries of every other unit go (OST-05), also those that this commit puts in.
    pub units: Option<Vec<Box<str>>>,
    /// Entries of an earlier generation than that of `kept` go (FED-09).
    pub sweep: bool,
    /// What is kept from now on.
    pub kept: Kept,
}

impl Commit {
    /// One that changes nothing but what is kept beside the entries.
    #[must_use]
    pub fn of(area: Area, expects: u64, kept: Kept) -> Self {
        let (upserts, removals) = (Vec::new(), Vec::new());
        Self { area, expects, clear: false, strip: false, upserts, removals, units: None, sweep: false, kept }
    }

    /// One that takes the details away which were kept before the scope for them went (OST-10).
    pub(crate) fn without_details(area: Area, before: &Kept) -> Self {
        let reader = Reader { details: false, ..before.reader.clone() };
        let kept = Kept { sequence: before.sequence + 1, reader, ..before.clone() };
        Self { strip: true, ..Self::of(area, before.sequence, kept) }
    }
}

/// Numbers alone.
impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { area, expects, clear, strip, upserts, removals, units, sweep, kept } = self;
        let mut commit = f.debug_struct("Commit");
        commit.field("area", area).field("expects", expects).field("clear", clear).field("strip", strip);
        commit.field("upserts", &upserts.len()).field("removals", &removals.len());
        commit.field("units", &units.as_ref().map(Vec::len)).field("sweep", sweep);
        commit.field("position", &kept.position).finish()
    }
}

/// What became of a [`Commit`].
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// It is done, and durable.
    Done(Tally),
    /// Somebody else committed before: nothing is done, and this is what is kept.
    Superseded(Kept),
}

/// What a commit did beyond what it names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// The keys that went by `clear`, `units` and `sweep`, and are not there after it.
    pub gone: Vec<Box<str>>,
    /// The keys that lost details by `strip`.
    pub stripped: Vec<Box<str>>,
}

impl Tally {
    /// Of these keys.
    #[must_use]
    pub const fn new(gone: Vec<Box<str>>, stripped: Vec<Box<str>>) -> Self {
        Self { gone, stripped }
    }
}

/// An entry as a store has it.
#[derive(Clone, PartialEq, Eq)]
pub struct Row {
    /// Under which it is found. Opaque.
    pub key: Box<str>,
    /// The unit that it belongs to, in pools.
    pub unit: Option<Box<str>>,
    /// The entry, a JSON object, without its details.
    pub body: Box<[u8]>,
    /// What came by `exchange.orgstock.details` alone.
    pub details: Option<Box<[u8]>>,
}

/// Without what it holds.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("key", &self.key).field("bytes", &self.body.len()).finish_non_exhaustive()
    }
}

/// A removal that is kept in mind until the entry comes back or its tombstone is gone from the exchange too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removal {
    /// What is gone.
    pub key: Box<str>,
    /// This installation did it (TYP-16): to add the entry anew nobody has to be asked.
    pub own: bool,
}

impl Removal {
    pub(crate) fn of(change: &Change) -> Self {
        Self { key: change.key.clone(), own: change.own }
    }
}

/// What becomes of the note whose an area is ([`Reader::installation`](crate::feed::Reader)), when it is forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnerNote {
    /// It stays: what was kept was too old, or is not to be read any more.
    Stays,
    /// It goes: whoever it was disconnected, or somebody else signed in. Who still reads for them finds that out by it.
    Goes,
}
