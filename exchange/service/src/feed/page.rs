//! Reads a collection in pages: first a snapshot in the order of keys, then the changes since then in the
//! order of their numbers.
//!
//! ```text
//! no cursor ──► snapshot page ──► … ──► last snapshot page ──► feed page ──► feed page ──► …
//!               records heads            cursor: those heads    cursor: last change read
//! ```
//!
//! The first page records the head of every stream before it reads any entry, and the cursor of the last
//! snapshot page contains the recorded numbers. Every change during the snapshot has a higher number and is
//! therefore delivered in the feed, whether its entry is before or after the reading position (FED-06).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use rusqlite::Connection;

use super::cursor::{
    CursorScope, CursorSeal, OpenedCursor, PositionVector, StoredVector, StreamPosition, find_vector,
    store_vector,
};
use super::stream::{FeedEntry, FeedStream, KeyRemoval, StreamHead, load_entries_after, load_head};
use crate::ids::{InstallationId, MemberId};
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// A stream of a collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamSource {
    /// The stream to read.
    pub stream: FeedStream,
    /// The variant in which the entries are delivered to this reader; less than 128. If the cursor contains
    /// another variant, the whole stream is delivered again (OST-09).
    pub variant: u8,
}

/// A collection that can be read in pages: the entries of one area that a member may read.
///
/// Invariant: the latest change of every existing key is in one of the streams. If a reader's cursor does not
/// contain a stream, the stream can therefore be delivered from its start (OST-06).
pub trait PagedCollection {
    /// The type of an entry on a page.
    type Item;

    /// The name of the resource. A cursor is valid only for the resource for which it was issued.
    const RESOURCE: &'static str;

    /// Returns the member who reads the collection.
    fn reader(&self) -> &MemberId;

    /// Lists the streams that the member may read at present.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    fn list_sources(&self, connection: &Connection) -> Result<Vec<StreamSource>, StoreError>;

    /// Reads up to `limit` entries whose position is after `behind`, sorted by position, each with its
    /// position. The position of an entry never changes.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    fn read_snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Self::Item)>, StoreError>;

    /// Loads the current entries with these keys. Keys without an entry are omitted.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Self::Item>, StoreError>;

    /// Returns true if tombstones may show this installation to the reader (TYP-15).
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    fn shows_installation(&self, _: &Connection, _: &InstallationId) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Converts a stored key into the key that tombstones show.
    fn shown_key(&self, key: String) -> String {
        key
    }
}

/// A page of a collection (TYP-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionPage<T> {
    /// The entries that exist.
    pub items: Vec<T>,
    /// The entries that were removed; empty while the snapshot is read.
    pub removed: Vec<RemovedEntry>,
    /// The cursor of the next page.
    pub next_cursor: String,
    /// Whether the next page already has content.
    pub has_more: bool,
}

/// A removed entry on a feed page. The tombstone is built from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedEntry {
    /// The key of the removed entry.
    pub key: String,
    /// The time and author of the removal.
    pub removal: KeyRemoval,
    /// Whether the tombstone shows the installation that removed the entry.
    pub shows_installation: bool,
}

/// The reason a page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// The cursor is too old, or is not valid for this reader (FED-08).
    #[error("the cursor has expired")]
    Expired,
    /// The store failed while the page was read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for PageError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

/// The minimum interval between two updates of the time at which a stored vector was last used.
const REFRESH_INTERVAL: Duration = Duration::from_secs(86_400);

/// A page whose cursor may depend on a vector that is not stored yet.
#[derive(Debug)]
#[must_use = "the cursor is invalid until `store_cursor` has stored its vector"]
pub struct PendingPage<T> {
    page: CollectionPage<T>,
    stored_vector: Option<StoredVector>,
}

impl<T> PendingPage<T> {
    /// Stores the vector of the cursor if necessary, and returns the page.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails.
    pub async fn store_cursor(self, store: &Store, now: Moment) -> Result<CollectionPage<T>, StoreError> {
        if let Some(vector) = self.stored_vector {
            store.write(move |connection| store_vector(connection, &vector, now)).await?;
        }
        Ok(self.page)
    }
}

/// Reads a page: the first page of the snapshot without a cursor, otherwise the page at the position of the
/// cursor. All reads through the connection must see the same snapshot, as in [`Store::read`].
///
/// # Errors
/// Returns [`PageError::Expired`] if the cursor is too old or is not valid for this collection and member, or
/// an error if the store fails.
pub fn read_page<C: PagedCollection>(
    connection: &Connection,
    collection: &C,
    cursor: Option<&str>,
    limit: usize,
    now: Moment,
) -> Result<PendingPage<C::Item>, PageError> {
    let seal = CursorSeal::load_seal(connection)?;
    let holder = CursorScope { resource: C::RESOURCE, member: collection.reader() };
    let sources = collection.list_sources(connection)?;
    let (vector, mut stored) = match cursor {
        None => (initial_vector(connection, &sources)?, None),
        Some(cursor) => match seal.open_cursor(holder, cursor, now).ok_or(PageError::Expired)? {
            OpenedCursor::Inline(vector) => (vector, None),
            OpenedCursor::Stored(hash) => {
                let (vector, used) = find_vector(connection, &hash)?.ok_or(PageError::Expired)?;
                let read =
                    PositionVector::decode(&vector).ok_or(StoreError::Corrupt("invalid cursor vector"))?;
                let again = now.since(used) > REFRESH_INTERVAL;
                (read, again.then_some(StoredVector { hash, vector }))
            }
        },
    };
    let heads =
        sources.iter().map(|source| load_head(connection, &source.stream)).collect::<Result<_, _>>()?;
    let steps = plan_steps(sources, heads, &vector.positions)?;
    let walked = match (&vector.place, cursor) {
        (None, Some(_)) => feed_page(connection, collection, steps, limit)?,
        (place, _) => {
            // A stream that appeared or changed its variant during the snapshot is delivered from its start
            // after the snapshot, even if it has changed back to its earlier variant (OST-06, OST-09).
            let positions = steps.into_iter().map(|step| step.from).collect();
            snapshot_page(connection, collection, positions, place.as_deref(), limit)?
        }
    };
    let (next, next_kept) = seal.issue_cursor(holder, now, &walked.vector);
    stored = next_kept.or(stored);
    let WalkResult { items, removed, has_more: more, .. } = walked;
    Ok(PendingPage {
        page: CollectionPage { items, removed, next_cursor: next, has_more: more },
        stored_vector: stored,
    })
}

/// The content of a page and the position after it.
struct WalkResult<T> {
    items: Vec<T>,
    removed: Vec<RemovedEntry>,
    vector: PositionVector,
    has_more: bool,
}

/// Returns a vector with the current heads of all streams.
fn initial_vector(connection: &Connection, sources: &[StreamSource]) -> Result<PositionVector, StoreError> {
    let position = |source: &StreamSource| {
        let StreamHead { seq, .. } = load_head(connection, &source.stream)?;
        Ok(StreamPosition { tag: source.stream.stream_tag(), variant: source.variant, joining: false, seq })
    };
    let positions = sources.iter().map(position).collect::<Result<_, StoreError>>()?;
    Ok(PositionVector { positions, place: None })
}

/// A stream, its head, and the position from which it is read.
struct StreamStep {
    stream: FeedStream,
    head: StreamHead,
    from: StreamPosition,
}

/// Determines the position from which each stream is read. This is the position in the cursor, or the start
/// if the cursor does not contain the stream or contains it with another variant. Streams that the member may
/// no longer read are dropped.
///
/// # Errors
/// Returns [`PageError::Expired`] if the cursor contains a number that was never assigned, or if tombstones
/// after a position in the cursor may be missing.
fn plan_steps(
    sources: Vec<StreamSource>,
    heads: Vec<StreamHead>,
    positions: &[StreamPosition],
) -> Result<Vec<StreamStep>, PageError> {
    let known: HashMap<_, _> = positions.iter().map(|position| (position.tag, *position)).collect();
    let step = |(StreamSource { stream, variant }, head): (StreamSource, StreamHead)| {
        let tag = stream.stream_tag();
        let from_start = StreamPosition { tag, variant, joining: true, seq: 0 };
        let from = match known.get(&tag) {
            // The number was never assigned, or tombstones after it may be missing.
            Some(at) if at.seq > head.seq || (at.seq < head.floor && !at.joining) => {
                return Err(PageError::Expired);
            }
            Some(at) if at.variant == variant => *at,
            _ => from_start,
        };
        Ok(StreamStep { stream, head, from })
    };
    sources.into_iter().zip(heads).map(step).collect()
}

fn snapshot_page<C: PagedCollection>(
    connection: &Connection,
    collection: &C,
    positions: Vec<StreamPosition>,
    behind: Option<&str>,
    limit: usize,
) -> Result<WalkResult<C::Item>, PageError> {
    let mut found = collection.read_snapshot(connection, behind, limit.saturating_add(1))?;
    let more = found.len() > limit;
    found.truncate(limit);
    let place = found.last().map(|(place, _)| place.clone()).filter(|_| more);
    let items = found.into_iter().map(|(_, item)| item).collect();
    Ok(WalkResult { items, removed: Vec::new(), vector: PositionVector { positions, place }, has_more: more })
}

fn feed_page<C: PagedCollection>(
    connection: &Connection,
    collection: &C,
    steps: Vec<StreamStep>,
    limit: usize,
) -> Result<WalkResult<C::Item>, PageError> {
    // A key that occurs in several streams is listed once per page (FED-04).
    let mut changed: Vec<FeedEntry> = Vec::new();
    let mut keys: BTreeSet<String> = BTreeSet::new();
    let mut positions = Vec::with_capacity(steps.len());
    let mut more = false;
    for StreamStep { stream, head, from } in steps {
        let mut at = StreamPosition { seq: head.seq, joining: false, ..from };
        if from.seq < head.seq {
            let room = limit - keys.len();
            let mut entries = load_entries_after(connection, &stream, from.seq, room.saturating_add(1))?;
            if entries.len() > room {
                entries.truncate(room);
                let seq = entries.last().map_or(from.seq, |entry| entry.seq);
                at = StreamPosition { seq, joining: from.joining, ..from };
                more = true;
            }
            for entry in entries {
                keys.insert(entry.key.clone());
                changed.push(entry);
            }
        }
        positions.push(at);
    }
    let mut current = collection.load_current(connection, &keys)?;
    // Entries are listed in the order in which the streams contain their changes.
    let mut items = Vec::new();
    let mut gone: Vec<FeedEntry> = Vec::new();
    let mut place_of: HashMap<String, usize> = HashMap::new();
    for entry in changed {
        if let Some(item) = current.remove(&entry.key) {
            keys.remove(&entry.key);
            items.push(item);
        } else if keys.contains(&entry.key) {
            let place = *place_of.entry(entry.key.clone()).or_insert(gone.len());
            match gone.get_mut(place) {
                // If several streams contain a removal, the latest one determines time and author.
                Some(listed) if (entry.gone, entry.removal.at) > (listed.gone, listed.removal.at) => {
                    *listed = entry
                }
                Some(_) => {}
                None => gone.push(entry),
            }
        }
    }
    let tombstone = |FeedEntry { key, removal, .. }: FeedEntry| {
        let tells_installation = match removal.by.client_installation() {
            Some((_, installation)) => collection.shows_installation(connection, installation)?,
            None => false,
        };
        Ok(RemovedEntry { key: collection.shown_key(key), removal, shows_installation: tells_installation })
    };
    let removed = gone.into_iter().map(tombstone).collect::<Result<_, StoreError>>()?;
    Ok(WalkResult { items, removed, vector: PositionVector { positions, place: None }, has_more: more })
}
