//! Where entries are kept.

use std::{
    collections::BTreeMap,
    fmt,
    future::ready,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;

use crate::{changes::Lane, error::Error, tokens::Later};

/// What a store gives: a future that fails with `Storage`.
pub type Keeping<'a, T> = Later<'a, Result<T, Error>>;

/// An entry that no store has yet.
#[derive(Clone, PartialEq)]
pub struct NewRow {
    /// Whose it is.
    pub owner: String,
    /// The area.
    pub lane: Lane,
    /// Everything but the bytes, as JSON.
    pub head: String,
    /// The body of the request, byte for byte.
    pub body: Bytes,
}

/// An entry as a store keeps it. A store looks at number, revision, owner, lane and `done`; the rest is the
/// outbox's own.
#[derive(Clone, PartialEq)]
pub struct Row {
    /// Given by the store, greater than any it gave before.
    pub number: u64,
    /// Counts the changes of the row, from 0.
    pub revision: u64,
    /// Whose it is.
    pub owner: String,
    /// The area.
    pub lane: Lane,
    /// Whether it is decided: nothing is to be done about it any more.
    pub done: bool,
    /// Everything but the bytes, as JSON.
    pub head: String,
    /// The body of the request, byte for byte.
    pub body: Bytes,
    /// The body of the answer.
    pub result: Option<Bytes>,
}

/// Keeps entries. What it says is done is done for good: durable before it returns, also over a crash, and never
/// in part. Several processes may use one store at once. Dropping a future gives the answer up, not the deed.
///
/// Every failure is [`ErrorKind::Storage`](crate::ErrorKind::Storage).
pub trait OutboxStore: Send + Sync {
    /// Adds rows, all or none, and gives their numbers in the same order.
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>>;

    /// Puts a row in the place of its last revision and counts it up; `false`, and nothing, when that is not
    /// `row.revision` any more or there is no such row.
    fn replace(&self, row: Row) -> Keeping<'_, bool>;

    /// Removes a row of this revision; `false`, and nothing, when it is another or none.
    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool>;

    /// Sees to it that no byte of what was removed is in any file of the store any more. It fails while another
    /// process still reads them, and is called again.
    fn settle(&self) -> Keeping<'_, ()>;

    /// A row by its number.
    fn row(&self, number: u64) -> Keeping<'_, Option<Row>>;

    /// The first row of an owner's area that is not done.
    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>>;

    /// All rows of an owner, by their numbers.
    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>>;
}

impl<T: OutboxStore + ?Sized> OutboxStore for Arc<T> {
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        (**self).append(rows)
    }

    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        (**self).replace(row)
    }

    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        (**self).remove(number, revision)
    }

    fn settle(&self) -> Keeping<'_, ()> {
        (**self).settle()
    }

    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        (**self).row(number)
    }

    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        (**self).first(owner, lane)
    }

    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        (**self).rows(owner)
    }
}

/// A store that ends with the process: for tests, and for programs that ask for no more. Cloning shares it.
#[derive(Clone, Default)]
pub struct MemoryOutbox(Arc<Mutex<Rows>>);

#[derive(Default)]
struct Rows {
    last: u64,
    rows: BTreeMap<u64, Row>,
}

impl MemoryOutbox {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        // Every change is one assignment: a lock that is poisoned holds nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep<'a, T: Send + 'a>(value: T) -> Keeping<'a, T> {
        Box::pin(ready(Ok(value)))
    }
}

impl OutboxStore for MemoryOutbox {
    fn append(&self, new: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        let mut kept = self.rows();
        let mut numbers = Vec::new();
        for NewRow { owner, lane, head, body } in new {
            kept.last += 1;
            let number = kept.last;
            let row = Row { number, revision: 0, owner, lane, done: false, head, body, result: None };
            kept.rows.insert(number, row);
            numbers.push(number);
        }
        Self::keep(numbers)
    }

    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        let mut kept = self.rows();
        let current = kept.rows.get_mut(&row.number).filter(|kept| kept.revision == row.revision);
        let replaced = current.map(|kept| *kept = Row { revision: row.revision + 1, ..row }).is_some();
        Self::keep(replaced)
    }

    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        let mut kept = self.rows();
        let is_there = kept.rows.get(&number).is_some_and(|kept| kept.revision == revision);
        Self::keep(is_there && kept.rows.remove(&number).is_some())
    }

    fn settle(&self) -> Keeping<'_, ()> {
        Self::keep(())
    }

    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        Self::keep(self.rows().rows.get(&number).cloned())
    }

    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        let kept = self.rows();
        let first = kept.rows.values().find(|row| row.owner == owner && row.lane == lane && !row.done);
        Self::keep(first.cloned())
    }

    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        let kept = self.rows();
        Self::keep(kept.rows.values().filter(|row| row.owner == owner).cloned().collect())
    }
}

/// How many it has.
impl fmt::Debug for MemoryOutbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryOutbox").field("rows", &self.rows().rows.len()).finish()
    }
}

/// Without what they say.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("number", &self.number)
            .field("revision", &self.revision)
            .field("lane", &self.lane)
            .field("done", &self.done)
            .finish_non_exhaustive()
    }
}

/// The area alone.
impl fmt::Debug for NewRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewRow").field("lane", &self.lane).finish_non_exhaustive()
    }
}
