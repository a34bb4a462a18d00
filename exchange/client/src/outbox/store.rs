//! The storage interface of the outbox and its in-memory implementation.

use std::{
    collections::BTreeMap,
    fmt,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use crate::{changes::Lane, error::Error, token_source::BoxFuture};

/// The future that store methods return. It fails only with
/// [`ErrorKind::Storage`](crate::ErrorKind::Storage).
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// An entry to be added to a store.
#[derive(Clone, PartialEq)]
pub struct NewEntryRow {
    /// The installation that the changes belong to.
    pub owner: String,
    /// The area that the change set changes.
    pub lane: Lane,
    /// All other fields, as JSON.
    pub head: String,
    /// The request body, byte for byte.
    pub body: Bytes,
}

/// An entry in the form in which a store holds it. A store interprets number, revision, owner, lane and
/// `done`. The other fields are opaque to it.
#[derive(Clone, PartialEq)]
pub struct EntryRow {
    /// The number, which the store assigns; greater than all earlier numbers.
    pub number: u64,
    /// The number of times that the row was changed, starting at 0.
    pub revision: u64,
    /// The installation that the changes belong to.
    pub owner: String,
    /// The area that the change set changes.
    pub lane: Lane,
    /// True if the change set is decided and needs no further action.
    pub done: bool,
    /// All other fields, as JSON.
    pub head: String,
    /// The request body, byte for byte.
    pub body: Bytes,
    /// The response body.
    pub result: Option<Bytes>,
}

/// Storage for outbox entries.
///
/// A completed call is durable: it survives a crash and is never applied partially. Several processes may use
/// one store at the same time. Dropping a future discards its result but does not undo the call.
///
/// Every failure is [`ErrorKind::Storage`](crate::ErrorKind::Storage).
pub trait OutboxStore: Send + Sync {
    /// Adds all rows or none, and returns their numbers in the same order.
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>>;

    /// Replaces a row if its stored revision is `row.revision`, and increments the revision. Returns `false`
    /// and changes nothing if the revision differs or the row does not exist.
    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool>;

    /// Removes a row if it has this revision. Returns `false` if the revision differs or the row does not
    /// exist.
    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool>;

    /// Erases the bytes of removed rows from all files of the store. Fails while another process still reads
    /// them; the outbox then calls the method again later.
    fn purge_removed(&self) -> StoreFuture<'_, ()>;

    /// Returns the row with this number.
    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>>;

    /// Returns the row with the lowest number among the rows of this owner and lane with `done == false`.
    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>>;

    /// Returns all rows of an owner in order of their numbers.
    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>>;
}

impl<T: OutboxStore + ?Sized> OutboxStore for Arc<T> {
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        (**self).append(rows)
    }

    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        (**self).replace(row)
    }

    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        (**self).remove(number, revision)
    }

    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        (**self).purge_removed()
    }

    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        (**self).get_row(number)
    }

    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        (**self).first_pending(owner, lane)
    }

    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        (**self).list_rows(owner)
    }
}

/// A store in memory, for tests and for programs that need no persistence. Clones share their rows.
#[derive(Clone, Default)]
pub struct MemoryOutbox(Arc<Mutex<MemoryRows>>);

#[derive(Default)]
struct MemoryRows {
    last: u64,
    rows: BTreeMap<u64, EntryRow>,
}

impl MemoryOutbox {
    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, MemoryRows> {
        // Each change is a single assignment, so the data is consistent even if the lock is poisoned.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ready_future<'a, T: Send + 'a>(value: T) -> StoreFuture<'a, T> {
        Box::pin(ready(Ok(value)))
    }
}

impl OutboxStore for MemoryOutbox {
    fn append(&self, new: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        let mut rows = self.rows();
        let mut numbers = Vec::new();
        for NewEntryRow { owner, lane, head, body } in new {
            rows.last += 1;
            let number = rows.last;
            let row = EntryRow { number, revision: 0, owner, lane, done: false, head, body, result: None };
            rows.rows.insert(number, row);
            numbers.push(number);
        }
        Self::ready_future(numbers)
    }

    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        let mut rows = self.rows();
        let current = rows.rows.get_mut(&row.number).filter(|stored| stored.revision == row.revision);
        let replaced =
            current.map(|stored| *stored = EntryRow { revision: row.revision + 1, ..row }).is_some();
        Self::ready_future(replaced)
    }

    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        let mut rows = self.rows();
        let is_there = rows.rows.get(&number).is_some_and(|rows| rows.revision == revision);
        Self::ready_future(is_there && rows.rows.remove(&number).is_some())
    }

    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        Self::ready_future(())
    }

    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        Self::ready_future(self.rows().rows.get(&number).cloned())
    }

    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        let rows = self.rows();
        let first = rows.rows.values().find(|row| row.owner == owner && row.lane == lane && !row.done);
        Self::ready_future(first.cloned())
    }

    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        let rows = self.rows();
        Self::ready_future(rows.rows.values().filter(|row| row.owner == owner).cloned().collect())
    }
}

/// Prints the number of rows.
impl fmt::Debug for MemoryOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOutbox").field("rows", &self.rows().rows.len()).finish()
    }
}

/// Does not print the content.
impl fmt::Debug for EntryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EntryRow")
            .field("number", &self.number)
            .field("revision", &self.revision)
            .field("lane", &self.lane)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

/// Prints only the area.
impl fmt::Debug for NewEntryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEntryRow").field("lane", &self.lane).finish_non_exhaustive()
    }
}
