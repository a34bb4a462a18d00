//! The handle of a store, with functions for reads ([`Store::read`], [`Store::read_inline`],
//! [`Store::query_inline`]), for writes ([`Store::write`], [`Store::write_ahead`]) and for closing
//! ([`Store::close`]).

#[cfg(test)]
mod tests;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::backup::DATABASE_FILE;
use super::checkpoint::{self, CheckpointControl};
use super::readers::{InlineReaders, ReadJob};
use super::writer::{Durability, WriterJob};
use crate::time::Moment;

use super::{BUSY_TIMEOUT, OpenError, StoreError, migrate, plan_once, private, readers, writer};

/// The location of the data of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreLocation {
    /// The data is in memory and is lost when the process ends.
    Memory,
    /// The data is in this folder, which is created if necessary.
    Folder(PathBuf),
}

/// The options with which [`Store::open`] opens a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The location of the store.
    pub place: StoreLocation,
    /// The number of reader threads; 2 by default.
    pub readers: usize,
    /// The capacity of each queue; 1024 by default. When a queue is full, calls return [`StoreError::Busy`].
    pub queue: usize,
}

impl StoreOptions {
    /// Creates options for a location, with default values.
    #[must_use]
    pub fn new(place: StoreLocation) -> Self {
        Self { place, readers: 2, queue: 1024 }
    }
}

/// A handle of a store. Clones share one store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<StoreInner>,
}

struct StoreInner {
    writes: WorkQueue<Box<dyn WriterJob>>,
    /// The queue and the connections for reads; `None` for a store in memory.
    reads: Option<(WorkQueue<ReadJob>, InlineReaders)>,
    /// The threads of the store; `None` after they were joined.
    threads: Mutex<Option<StoreThreads>>,
}

struct StoreThreads {
    readers: Vec<JoinHandle<()>>,
    writer: JoinHandle<()>,
}

/// A bounded queue to a thread. It can be used until the store is closed.
struct WorkQueue<T>(ArcSwapOption<mpsc::Sender<T>>);

impl<T> WorkQueue<T> {
    fn new(sender: mpsc::Sender<T>) -> Self {
        Self(ArcSwapOption::from_pointee(sender))
    }

    fn try_enqueue(&self, work: T) -> Result<(), StoreError> {
        match &*self.0.load() {
            Some(sender) => sender.try_send(work).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => StoreError::Busy,
                mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
            }),
            None => Err(StoreError::Closed),
        }
    }

    /// Returns the number of queued items, and the capacity. Returns zeros after the queue was closed.
    fn usage(&self) -> (usize, usize) {
        let queue = self.0.load();
        queue.as_ref().map_or((0, 0), |queue| {
            let capacity = queue.max_capacity();
            (capacity.saturating_sub(queue.capacity()), capacity)
        })
    }

    /// Closes the queue. Work that is already queued is still done.
    fn close(&self) {
        self.0.store(None);
    }
}

impl StoreInner {
    fn close(&self) {
        if let Some((reads, at_hand)) = &self.reads {
            reads.close();
            at_hand.close();
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(StoreThreads { readers, writer }) = threads.take() {
            // A thread that panicked has also ended.
            readers.into_iter().for_each(|reader| drop(reader.join()));
            // The writer ends last, because removing the log on close requires write access.
            self.writes.close();
            let _ = writer.join();
        }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("readers", &self.inner.reads.is_some()).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store, migrates it to the version of this service, and starts its threads.
    ///
    /// # Errors
    /// See [`OpenError`]. If a migration fails, an existing store is unchanged.
    pub fn open(options: &StoreOptions) -> Result<Self, OpenError> {
        Self::open_at(options).map_err(|error| match (&options.place, error) {
            (StoreLocation::Folder(folder), OpenError::Database(error)) => {
                OpenError::File { path: folder.join(DATABASE_FILE), error }
            }
            (_, error) => error,
        })
    }

    fn open_at(options: &StoreOptions) -> Result<Self, OpenError> {
        let (mut connection, path) = match &options.place {
            StoreLocation::Memory => (Connection::open_in_memory()?, None),
            StoreLocation::Folder(folder) => {
                let path = folder.join(DATABASE_FILE);
                // SQLite creates the log with the same permissions as the database file.
                private::create_folder(folder)
                    .and_then(|()| private::ensure_file(&path))
                    .map_err(|error| OpenError::Folder { path: folder.clone(), error })?;
                (Connection::open(&path)?, Some(path))
            }
        };
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
             PRAGMA temp_store = MEMORY;",
        )?;
        checkpoint::configure_writer(&connection)?;
        // A large change set modifies some hundred pages, and the next one modifies most of them again.
        connection.execute_batch("PRAGMA cache_size = -8192")?;
        connection.set_prepared_statement_cache_capacity(256);
        plan_once(&connection)?;
        migrate::run_migrations(&mut connection)?;
        let checkpoints = match &path {
            Some(path) => CheckpointControl::start_thread(path)?,
            None => CheckpointControl::disabled(),
        };
        let (writes, queue) = mpsc::channel(options.queue);
        let writer = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || writer::run_writer(&connection, queue, checkpoints))
            .map_err(OpenError::Thread)?;
        let (reads, readers) = match path {
            Some(path) => {
                let (sender, readers) = readers::start_readers(&path, options.readers.max(1), options.queue)?;
                (Some((WorkQueue::new(sender), InlineReaders::new(path))), readers)
            }
            None => (None, Vec::new()),
        };
        let threads = Mutex::new(Some(StoreThreads { readers, writer }));
        Ok(Self { inner: Arc::new(StoreInner { writes: WorkQueue::new(writes), reads, threads }) })
    }

    /// Returns the number of queued writes and their maximum.
    #[must_use]
    pub fn write_queue(&self) -> (usize, usize) {
        self.inner.writes.usage()
    }

    /// Returns the number of queued reads and their maximum. A store in memory has no queue for reads.
    #[must_use]
    pub fn read_queue(&self) -> (usize, usize) {
        self.inner.reads.as_ref().map_or((0, 0), |(reads, _)| reads.usage())
    }

    /// Writes a small value to check that the store can be written. The commit waits for the disk.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails.
    pub(crate) async fn probe_write(&self, now: Moment) -> Result<(), StoreError> {
        let work = move |connection: &Connection| {
            let sql = "INSERT INTO setting (name, value) VALUES ('write-probe', ?1) \
                       ON CONFLICT (name) DO UPDATE SET value = excluded.value";
            connection.prepare_cached(sql)?.execute([now.as_millis().to_string()])?;
            Ok(())
        };
        self.write(work).await
    }

    /// Closes the store for all handles. Queued work is completed; later calls return [`StoreError::Closed`].
    /// Then the log is written back, so that the folder contains only the database file, unless another
    /// process has it open. If a store is not closed, no data is lost: the next [`open`](Self::open) reads
    /// the log.
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        // If the task panics, it has closed as much as possible.
        let _ = tokio::task::spawn_blocking(move || inner.close()).await;
    }

    /// Closes the store and waits at most `limit` until this is done. Returns false if reads or writes are
    /// still running. In that case, the log remains next to the database file, and no data is lost.
    pub async fn close_within(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.close()).await.is_ok()
    }

    /// Runs a write in a transaction. Returns after the transaction was committed and synced to disk. If the
    /// closure returns an error, its changes are rolled back.
    ///
    /// # Errors
    /// Returns the error of the closure or of the store. In either case, the write has no effect.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.enqueue_write(work, Durability::Disk).await
    }

    /// Runs a write without waiting for the disk. Use it only for a write that has no effect for the user
    /// until a later write follows. The commit survives a crash of the process. After a power failure, it can
    /// be lost together with all commits after it. The next [`write`](Self::write) makes it durable.
    ///
    /// # Errors
    /// Returns the same errors as [`write`](Self::write).
    pub async fn write_ahead<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.enqueue_write(work, Durability::System).await
    }

    async fn enqueue_write<T, E, F>(&self, work: F, wait: Durability) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let span = tracing::Span::current();
        let job = WriteJob { work: Some(work), result: None, result_sender: sender, wait, span };
        self.inner.writes.try_enqueue(Box::new(job))?;
        receiver.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Runs a read over one snapshot, on a reader thread.
    ///
    /// # Errors
    /// Returns the error of the closure or of the store.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let Some((reads, _)) = &self.inner.reads else { return self.write(work).await };
        let (sender, receiver) = oneshot::channel();
        let read: ReadJob = Box::new(move |connection| {
            // The receiver is gone if the caller has dropped the future.
            let _ = sender
                .send(connection.map_err(E::from).and_then(|connection| catch_panics(work, connection)));
        });
        reads.try_enqueue(read)?;
        receiver.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Runs a read over one snapshot on the caller's thread. The read must fetch only a few rows, by their
    /// keys. For such a read, waking another thread would take longer than the read itself.
    ///
    /// # Errors
    /// Returns the error of the closure or of the store.
    pub async fn read_inline<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        match &self.inner.reads {
            Some((_, at_hand)) => at_hand.read_snapshot(|connection| catch_panics(work, connection?)),
            None => self.write(work).await,
        }
    }

    /// Runs a single statement on the caller's thread. A single statement sees one snapshot even without a
    /// transaction, and this saves the cost of one.
    ///
    /// # Errors
    /// Returns the error of the closure or of the store.
    pub async fn query_inline<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        match &self.inner.reads {
            Some((_, at_hand)) => at_hand.with_connection(|connection| catch_panics(work, connection?)),
            None => self.write(work).await,
        }
    }
}

/// Runs a closure and converts a panic into an error, so that the thread continues to run.
fn catch_panics<T, E: From<StoreError>>(
    work: impl FnOnce(&Connection) -> Result<T, E>,
    connection: &Connection,
) -> Result<T, E> {
    // The savepoint or the transaction of the closure is rolled back, so that no partial state remains.
    let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
    outcome.unwrap_or_else(|_| Err(StoreError::Panicked.into()))
}

struct WriteJob<F, T, E> {
    work: Option<F>,
    result: Option<Result<T, E>>,
    result_sender: oneshot::Sender<Result<T, E>>,
    wait: Durability,
    /// The span of the caller, so that events in the write have the id of the request.
    span: tracing::Span,
}

impl<F, T, E> WriterJob for WriteJob<F, T, E>
where
    T: Send,
    E: From<StoreError> + Send,
    F: FnOnce(&Connection) -> Result<T, E> + Send,
{
    fn durability(&self) -> Durability {
        self.wait
    }

    fn run(&mut self, connection: &Connection) -> bool {
        let work = self.work.take();
        self.result = self.span.in_scope(|| work.map(|work| catch_panics(work, connection)));
        matches!(self.result, Some(Ok(_)))
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, result_sender, .. } = *self;
        let result = match (result, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => Err(StoreError::Closed.into()),
        };
        // The receiver is gone if the caller has dropped the future.
        let _ = result_sender.send(result);
    }
}
