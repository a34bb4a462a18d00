//! Pages of a collection: first a snapshot in pages by key, then the changes since, in order.
//!
//! ```text
//! no cursor ──► snapshot page ──► … ──► last snapshot page ──► feed page ──► feed page ──► …
//!               records heads            cursor: those heads    cursor: last change read
//! ```
//!
//! The first page records the head of every stream before it reads entries, and the cursor of the last
//! snapshot page contains those numbers. Every change during the snapshot has a higher number and follows in
//! the feed, whether its entry precedes or follows the reading position (FED-06).

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
    /// The variant in which this reader sees the entries, below 128. If it differs from the cursor's, the
    /// whole stream is delivered again (OST-09).
    pub variant: u8,
}

/// A collection that is read in pages: a member's entries of one area.
///
/// Invariant: the latest change of every existing key is in one of the streams. A stream can therefore be
/// delivered from its start to a reader with a cursor that does not contain it (OST-06).
pub trait PagedCollection {
    /// An entry as a page contains it.
    type Item;

    /// The resource name, which makes cursors invalid for other collections.
    const RESOURCE: &'static str;

    /// Returns the member who reads.
    fn reader(&self) -> &MemberId;

    /// Lists the streams that the member may read now.
    ///
    /// # Errors
    /// Returns the database's error.
    fn list_sources(&self, connection: &Connection) -> Result<Vec<StreamSource>, StoreError>;

    /// Reads up to `limit` entries after a place, in the order of places, each with its place. The place of an
    /// entry never changes.
    ///
    /// # Errors
    /// Returns the database's error.
    fn read_snapshot(
        &self,
        connection: &Connection,
        behind: Option<&str>,
        limit: usize,
    ) -> Result<Vec<(String, Self::Item)>, StoreError>;

    /// Loads the current state of the keys that exist.
    ///
    /// # Errors
    /// Returns the database's error.
    fn load_current(
        &self,
        connection: &Connection,
        keys: &BTreeSet<String>,
    ) -> Result<HashMap<String, Self::Item>, StoreError>;

    /// Reports whether tombstones show this installation to the reader (TYP-15).
    ///
    /// # Errors
    /// Returns the database's error.
    fn shows_installation(&self, _: &Connection, _: &InstallationId) -> Result<bool, StoreError> {
        Ok(true)
    }

    /// Converts a key into the form that tombstones show.
    fn shown_key(&self, key: String) -> String {
        key
    }
}

/// A page of a collection (TYP-13).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectionPage<T> {
    /// Entries that exist.
    pub items: Vec<T>,
    /// Entries that were removed; empty in a snapshot.
    pub removed: Vec<RemovedEntry>,
    /// The cursor of the next page.
    pub next_cursor: String,
    /// Whether the next page has content already.
    pub has_more: bool,
}

/// A removed entry of a feed page, from which the tombstone is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedEntry {
    /// The key of the removed entry.
    pub key: String,
    /// The time and author of the removal.
    pub removal: KeyRemoval,
    /// Whether the tombstone shows the author's installation to this reader.
    pub shows_installation: bool,
}

/// The error of reading a page of a collection.
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

/// Minimum interval between updates of a stored vector's last use.
const REFRESH_INTERVAL: Duration = Duration::from_secs(86_400);

/// A page with a vector that must be stored before its cursor is handed out.
#[derive(Debug)]
#[must_use = "the cursor is invalid until `store_cursor` has stored its vector"]
pub struct PendingPage<T> {
    page: CollectionPage<T>,
    stored_vector: Option<StoredVector>,
}

impl<T> PendingPage<T> {
    /// Stores the cursor's vector if necessary, and returns the page.
    ///
    /// # Errors
    /// Returns the [`StoreError`] of the write.
    pub async fn store_cursor(self, store: &Store, now: Moment) -> Result<CollectionPage<T>, StoreError> {
        if let Some(kept) = self.stored_vector {
            store.write(move |connection| store_vector(connection, &kept, now)).await?;
        }
        Ok(self.page)
    }
}

/// Reads a page: of the snapshot without a cursor, else from the cursor's position. The connection must show
/// one snapshot, as that of [`Store::read`] does.
///
/// # Errors
/// [`PageError::Expired`] if the cursor is too old or not valid for this collection and member, or the
/// store's error.
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
    let (vector, mut kept) = match cursor {
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
            // afterwards, even if it has its former variant again (OST-06, OST-09).
            let positions = steps.into_iter().map(|step| step.from).collect();
            snapshot_page(connection, collection, positions, place.as_deref(), limit)?
        }
    };
    let (next, next_kept) = seal.issue_cursor(holder, now, &walked.vector);
    kept = next_kept.or(kept);
    let WalkResult { items, removed, has_more: more, .. } = walked;
    Ok(PendingPage {
        page: CollectionPage { items, removed, next_cursor: next, has_more: more },
        stored_vector: kept,
    })
}

/// The content of a page, with the position after it.
struct WalkResult<T> {
    items: Vec<T>,
    removed: Vec<RemovedEntry>,
    vector: PositionVector,
    has_more: bool,
}

/// Returns the current heads of all streams.
fn initial_vector(connection: &Connection, sources: &[StreamSource]) -> Result<PositionVector, StoreError> {
    let position = |source: &StreamSource| {
        let StreamHead { seq, .. } = load_head(connection, &source.stream)?;
        Ok(StreamPosition { tag: source.stream.stream_tag(), variant: source.variant, joining: false, seq })
    };
    let positions = sources.iter().map(position).collect::<Result<_, StoreError>>()?;
    Ok(PositionVector { positions, place: None })
}

/// A stream with the position from which it is read.
struct StreamStep {
    stream: FeedStream,
    head: StreamHead,
    from: StreamPosition,
}

/// Determines the position from which each stream is read: the cursor's, or the start if the cursor does not
/// contain the stream or contains it with another variant. Streams that the member may no longer read are
/// dropped.
///
/// # Errors
/// [`PageError::Expired`] if numbers were never assigned or tombstones may be missing.
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
            // The number was never assigned, or tombstones may be missing.
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
    // A key that several streams contain is on the page once (FED-04).
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
    // In the order in which the streams contain them.
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
                // The latest removal of several streams determines the author.
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
