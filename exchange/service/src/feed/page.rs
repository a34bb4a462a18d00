//! Pages: a snapshot in pages by key, then what changed since, in order.
//!
//! ```text
//! no cursor ──► snapshot page ──► … ──► last snapshot page ──► feed page ──► feed page ──► …
//!               heads written down        cursor: those heads    cursor: how far it got
//! ```
//!
//! The first page writes down where every stream is before anything is read, and the last snapshot
//! page hands those numbers out: whatever changed meanwhile has a higher one and follows in the feed,
//! whether it stood before or behind the reading position (FED-06).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rusqlite::Connection;

use super::cursor::{Holder, Kept, Opened, Position, Seal, Vector, find_kept, keep};
use super::stream::{Entry, Head, Removal, Stream, after, head};
use crate::ids::{InstallationId, MemberId};
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// A stream that a collection is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The stream.
    pub stream: Stream,
    /// As what its entries are shown to this reader, below 128. A reader for whom it differs from the
    /// cursor's is given the whole stream anew (OST-09).
    pub variant: u8,
}

/// What is read in pages: a member's entries of one area.
///
/// Every key that is there has its latest change in one of the streams, so that a stream can be
/// delivered from its beginning to a reader whose cursor does not know it (OST-06).
pub trait Collection {
    /// One entry as a page shows it.
    type Item;

    /// What a cursor is for, and no other collection's.
    const RESOURCE: &'static str;

    /// Who reads.
    fn member(&self) -> &MemberId;

    /// The streams, as the member may read them now.
    ///
    /// # Errors
    /// What the database says.
    fn sources(&self, connection: &Connection) -> Result<Vec<Source>, StoreError>;

    /// The next entries behind a place, in the order of places, at most so many, each with its own.
    /// An entry's place never changes.
    ///
    /// # Errors
    /// What the database says.
    fn snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        most: usize,
    ) -> Result<Vec<(String, Self::Item)>, StoreError>;

    /// Those of the keys that are there, as they are now.
    ///
    /// # Errors
    /// What the database says.
    fn current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Self::Item>, StoreError>;

    /// Whether a tombstone says on which installation somebody removed the entry (TYP-15).
    ///
    /// # Errors
    /// What the database says.
    fn tells_installation(&self, _: &Connection, _: &InstallationId) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// What a tombstone calls a key.
    fn shown_key(&self, key: String) -> String {
        key
    }
}

/// One page (TYP-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Entries that are there.
    pub items: Vec<T>,
    /// Entries that are gone; empty in a snapshot.
    pub removed: Vec<Removed>,
    /// Where to go on.
    pub next: String,
    /// Whether more waits there.
    pub more: bool,
}

/// A tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// What is gone.
    pub key: String,
    /// When it went, and who removed it.
    pub removal: Removal,
    /// Whether this reader is told on which installation.
    pub tells_installation: bool,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The cursor is too old, or was not issued here (FED-08).
    #[error("the cursor has expired")]
    Expired,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for PageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// A cursor that is used says so at most this often.
const USED: Duration = Duration::from_secs(86_400);

/// A page, and what has to be kept before its cursor may go out.
#[derive(Debug)]
#[must_use = "the cursor leads to nothing before it is settled"]
pub struct Paged<T> {
    page: Page<T>,
    kept: Option<Kept>,
}

impl<T> Paged<T> {
    /// The page, once everything that its cursor leads to is kept.
    ///
    /// # Errors
    /// What the store says.
    pub async fn settle(self, store: &Store, now: Moment) -> Result<Page<T>, StoreError> {
        if let Some(kept) = self.kept {
            store.write(move |connection| keep(connection, &kept, now)).await?;
        }
        Ok(self.page)
    }
}

/// Reads a page: of the snapshot without a cursor, else where the cursor leads. The connection has to
/// show one snapshot, as that of [`Store::read`] does.
///
/// # Errors
/// [`PageError::Expired`] for whatever is no cursor of this collection and member, or is too old.
pub fn page<C: Collection>(
    connection: &Connection,
    collection: &C,
    cursor: Option<&str>,
    most: usize,
    now: Moment,
) -> Result<Paged<C::Item>, PageError> {
    let seal = Seal::read(connection)?;
    let holder = Holder { resource: C::RESOURCE, member: collection.member() };
    let sources = collection.sources(connection)?;
    let (vector, mut kept) = match cursor {
        None => (beginning(connection, &sources)?, None),
        Some(cursor) => match seal.open(holder, cursor, now).ok_or(PageError::Expired)? {
            Opened::Inline(vector) => (vector, None),
            Opened::Kept(hash) => {
                let (vector, used) = find_kept(connection, &hash)?.ok_or(PageError::Expired)?;
                let read = Vector::read(&vector).ok_or(StoreError::Corrupt("a kept vector"))?;
                let again = now.since(used) > USED;
                (read, again.then_some(Kept { hash, vector }))
            }
        },
    };
    let heads = sources.iter().map(|source| head(connection, &source.stream)).collect::<Result<_, _>>()?;
    let steps = settle(sources, heads, &vector.positions)?;
    let walked = match (&vector.place, cursor) {
        (None, Some(_)) => feed(connection, collection, steps, most)?,
        (place, _) => {
            // What became another stream meanwhile, or was none for a while, follows from its beginning, be it again
            // what it was by then (OST-06, OST-09).
            let positions = steps.into_iter().map(|step| step.from).collect();
            snapshot(connection, collection, positions, place.as_deref(), most)?
        }
    };
    let (next, next_kept) = seal.issue(holder, now, &walked.vector);
    kept = next_kept.or(kept);
    let Walked { items, removed, more, .. } = walked;
    Ok(Paged { page: Page { items, removed, next, more }, kept })
}

/// Where a walk over a collection got.
struct Walked<T> {
    items: Vec<T>,
    removed: Vec<Removed>,
    vector: Vector,
    more: bool,
}

/// Where every stream is now.
fn beginning(connection: &Connection, sources: &[Source]) -> Result<Vector, StoreError> {
    let position = |source: &Source| {
        let Head { seq, .. } = head(connection, &source.stream)?;
        Ok(Position { tag: source.stream.tag(), variant: source.variant, joining: false, seq })
    };
    let positions = sources.iter().map(position).collect::<Result<_, StoreError>>()?;
    Ok(Vector { positions, place: None })
}

/// A stream, and from where to read it.
struct Step {
    stream: Stream,
    head: Head,
    from: Position,
}

/// From where to read each stream: from the cursor's position, or from the beginning where the cursor
/// does not know it, or knows it as something else. What the cursor knows and the member may no longer
/// read is dropped.
fn settle(sources: Vec<Source>, heads: Vec<Head>, positions: &[Position]) -> Result<Vec<Step>, PageError> {
    let known: HashMap<_, _> = positions.iter().map(|position| (position.tag, *position)).collect();
    let step = |(Source { stream, variant }, head): (Source, Head)| {
        let tag = stream.tag();
        let anew = Position { tag, variant, joining: true, seq: 0 };
        let from = match known.get(&tag) {
            // Numbers that were never given out, or tombstones that may be missing.
            Some(at) if at.seq > head.seq || (at.seq < head.floor && !at.joining) => {
                return Err(PageError::Expired);
            }
            Some(at) if at.variant == variant => *at,
            _ => anew,
        };
        Ok(Step { stream, head, from })
    };
    sources.into_iter().zip(heads).map(step).collect()
}

fn snapshot<C: Collection>(
    connection: &Connection,
    collection: &C,
    positions: Vec<Position>,
    behind: Option<&str>,
    most: usize,
) -> Result<Walked<C::Item>, PageError> {
    let mut found = collection.snapshot(connection, behind, most.saturating_add(1))?;
    let more = found.len() > most;
    found.truncate(most);
    let place = found.last().map(|(place, _)| place.clone()).filter(|_| more);
    let items = found.into_iter().map(|(_, item)| item).collect();
    Ok(Walked { items, removed: Vec::new(), vector: Vector { positions, place }, more })
}

fn feed<C: Collection>(
    connection: &Connection,
    collection: &C,
    steps: Vec<Step>,
    most: usize,
) -> Result<Walked<C::Item>, PageError> {
    // A key that several streams tell of is on a page once (FED-04).
    let mut changed: Vec<Entry> = Vec::new();
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut positions = Vec::with_capacity(steps.len());
    let mut more = false;
    for Step { stream, head, from } in steps {
        let mut at = Position { seq: head.seq, joining: false, ..from };
        if from.seq < head.seq {
            let room = most - keys.len();
            let mut entries = after(connection, &stream, from.seq, room.saturating_add(1))?;
            if entries.len() > room {
                entries.truncate(room);
                let seq = entries.last().map_or(from.seq, |entry| entry.seq);
                at = Position { seq, joining: from.joining, ..from };
                more = true;
            }
            for entry in entries {
                keys.insert(entry.key.clone());
                changed.push(entry);
            }
        }
        positions.push(at);
    }
    let mut current = collection.current(connection, &keys)?;
    // In the order in which the streams tell of them.
    let mut items = Vec::new();
    let mut gone: Vec<Entry> = Vec::new();
    let mut place_of: HashMap<String, usize> = HashMap::new();
    for entry in changed {
        if let Some(item) = current.remove(&entry.key) {
            keys.remove(&entry.key);
            items.push(item);
        } else if keys.contains(&entry.key) {
            let place = *place_of.entry(entry.key.clone()).or_insert(gone.len());
            match gone.get_mut(place) {
                // Of several streams, the one that lost it last tells by whom.
                Some(told) if (entry.gone, entry.removal.at) > (told.gone, told.removal.at) => *told = entry,
                Some(_) => {}
                None => gone.push(entry),
            }
        }
    }
    let tombstone = |Entry { key, removal, .. }: Entry| {
        let tells_installation = match removal.by.connected() {
            Some((_, installation)) => collection.tells_installation(connection, installation)?,
            None => false,
        };
        Ok(Removed { key: collection.shown_key(key), removal, tells_installation })
    };
    let removed = gone.into_iter().map(tombstone).collect::<Result<_, StoreError>>()?;
    Ok(Walked { items, removed, vector: Vector { positions, place: None }, more })
}
