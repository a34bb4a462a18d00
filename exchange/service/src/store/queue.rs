//! The handle of a store, with functions for reads ([`Store::read`], [`Store::read_inline`],
//! [`Store::query_inline`]), for writes ([`Store::write`], [`Store::write_ahead`]) and for closing
//! ([`Store::close`]).

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
        let job = WriteJob { work: Some(work), result: None, result_sender: sender, wait };
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
        self.result = self.work.take().map(|work| catch_panics(work, connection));
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

#[cfg(test)]
mod tests {
    use dpop_bound::SystemRandom;
    use rusqlite::params;

    use super::*;
    use crate::store::{BackupError, epoch, restore_backup, restored_at, write_backup};
    use crate::time::Moment;

    const NOW: Moment = Moment::from_millis(1_790_000_000_250);

    /// Counts the settings, without the one that a restore adds.
    async fn count(store: &Store) -> i64 {
        store
            .read(|connection| {
                let sql = "SELECT count(*) FROM setting WHERE name <> 'restored-at'";
                Ok::<i64, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
            })
            .await
            .expect("the read succeeds")
    }

    async fn set(store: &Store, name: &'static str, keep: bool) -> Result<(), StoreError> {
        store
            .write(move |connection| {
                connection.execute("INSERT INTO setting (name, value) VALUES (?1, 'x')", params![name])?;
                if keep { Ok(()) } else { Err(StoreError::Corrupt("injected failure")) }
            })
            .await
    }

    /// A failed write has no effect, and the other writes of its group are kept.
    #[tokio::test]
    async fn failed_write_does_not_affect_its_group() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
            let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
            let (first, second, third) =
                tokio::join!(set(&store, "a", true), set(&store, "b", false), set(&store, "c", true));
            assert!(first.is_ok() && third.is_ok());
            assert!(matches!(second, Err(StoreError::Corrupt(_))));
            assert_eq!(count(&store).await, 2);
            assert!(
                matches!(set(&store, "d", false).await, Err(StoreError::Corrupt(_))),
                "a single write that fails has no effect"
            );
            assert_eq!(count(&store).await, 2);
        }
    }

    /// A group with one write has no savepoint, which would copy each page that the write changes.
    #[tokio::test]
    async fn single_write_has_no_savepoint() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).expect("the store opens");
        let released = store.write(|connection| {
            let released = connection.execute_batch("RELEASE job");
            Ok::<_, StoreError>(released.is_ok())
        });
        assert!(!released.await.expect("the write succeeds"));
    }

    /// The durability is set before the transaction begins: to the disk if the group contains an ordinary
    /// write, and to the operating system if it contains only writes ahead.
    #[tokio::test]
    async fn ordinary_write_syncs_and_write_ahead_does_not() {
        fn waits(connection: &Connection) -> Result<i64, StoreError> {
            Ok(connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?)
        }
        const NORMAL: i64 = 1;
        const FULL: i64 = 2;
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
            .expect("the store opens");
        for _ in 0..2 {
            assert_eq!(store.write_ahead(waits).await.expect("the write succeeds"), NORMAL);
            assert_eq!(store.write(waits).await.expect("the write succeeds"), FULL);
        }
        // While the writer is blocked, the following writes are queued and form one group.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let blocked = store.write_ahead(move |_| {
            let _ = wait.recv();
            Ok::<(), StoreError>(())
        });
        let together = async {
            let both = async { tokio::join!(store.write_ahead(waits), store.write(waits)) };
            let release = async { drop(go) };
            tokio::join!(both, release).0
        };
        let (blocked, (ahead, waited)) = tokio::join!(blocked, together);
        blocked.expect("the write succeeds");
        assert_eq!((ahead.expect("the write succeeds"), waited.expect("the write succeeds")), (FULL, FULL));
    }

    /// If a closure panics, only its own write fails and is rolled back. The store continues to run.
    #[tokio::test]
    async fn panic_fails_only_its_own_write() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
            let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
            let panicked: Result<(), StoreError> = store
                .write(|connection| {
                    connection.execute("INSERT INTO setting (name, value) VALUES ('p', 'x')", [])?;
                    panic!("on purpose")
                })
                .await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            let panicked: Result<(), StoreError> = store.read(|_| panic!("on purpose")).await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            let panicked: Result<(), StoreError> = store.read_inline(|_| panic!("on purpose")).await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            set(&store, "a", true).await.expect("the write succeeds");
            assert_eq!(count(&store).await, 1);
        }
    }

    /// An inline read sees the latest commit, sees one snapshot in all of its statements, and cannot write.
    #[tokio::test]
    async fn inline_read_is_one_snapshot_and_read_only() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
            .expect("the store opens");
        set(&store, "a", true).await.expect("the write succeeds");
        let other =
            Connection::open(folder.path().join(DATABASE_FILE)).expect("a second connection can be opened");
        let counted = store.read_inline(move |connection| {
            let count =
                || connection.query_row("SELECT count(*) FROM setting", [], |row| row.get::<_, i64>(0));
            let before = count()?;
            other.execute("INSERT INTO setting (name, value) VALUES ('b', 'x')", [])?;
            Ok::<_, StoreError>((before, count()?))
        });
        assert_eq!(counted.await.expect("the read succeeds"), (1, 1));
        let count = "SELECT count(*) FROM setting";
        let counted = store.read_inline(move |connection| {
            Ok::<i64, StoreError>(connection.query_row(count, [], |row| row.get(0))?)
        });
        assert_eq!(counted.await.expect("the read succeeds"), 2);
        let written: Result<usize, StoreError> =
            store.read_inline(|connection| Ok(connection.execute("DELETE FROM setting", [])?)).await;
        assert!(written.is_err());
    }

    /// A statement is not planned again for another limit or start key.
    #[tokio::test]
    async fn statements_are_prepared_once() {
        fn plans(connection: &Connection) -> Result<i32, StoreError> {
            let sql = "SELECT name FROM setting WHERE name > ?1 ORDER BY name LIMIT ?2";
            let mut rows = connection.prepare_cached(sql)?;
            for (behind, limit) in [("a", 1), ("b", 2), ("c", 500)] {
                let found = rows.query_map(params![behind, limit], |row| row.get::<_, String>(0))?;
                assert!(found.collect::<Result<Vec<_>, _>>()?.is_empty());
            }
            Ok(rows.get_status(rusqlite::StatementStatus::RePrepare))
        }
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().join("store"))] {
            let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
            let planned = (store.read(plans).await, store.read_inline(plans).await, store.write(plans).await);
            assert!(matches!(planned, (Ok(0), Ok(0), Ok(0))), "{planned:?}");
        }
    }

    /// On a full disk, writes fail and reads continue. Writes succeed again once there is space.
    #[tokio::test]
    async fn full_disk_allows_reads() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
            .expect("the store opens");
        set(&store, "before", true).await.expect("the write succeeds");
        let bound = |pages: i64| {
            let store = store.clone();
            async move {
                let sql = format!("PRAGMA max_page_count = {pages}");
                store
                    .write(move |connection| {
                        Ok::<i64, StoreError>(connection.query_row(&sql, [], |row| row.get(0))?)
                    })
                    .await
                    .expect("the page limit can be set")
            }
        };
        let pages = bound(1).await;
        let large = || {
            store.write(|connection| {
                connection
                    .execute("INSERT INTO secret (name, value) VALUES ('large', zeroblob(10000000))", [])?;
                Ok::<(), StoreError>(())
            })
        };
        assert!(matches!(large().await, Err(StoreError::Full)), "{pages} pages");
        assert_eq!(count(&store).await, 1, "reads continue");
        bound(1_000_000).await;
        large().await.expect("the write succeeds once there is space");
    }

    /// A store that a newer service wrote is not changed, and the error contains the next step.
    #[tokio::test]
    async fn newer_store_is_rejected() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
        let store = Store::open(&options).expect("the store opens");
        let newer = store.write(|connection| {
            connection.execute("INSERT INTO migration (number, checksum) VALUES (99, x'00')", [])?;
            Ok::<(), StoreError>(())
        });
        newer.await.expect("the write succeeds");
        let refused = Store::open(&options).expect_err("an error is returned");
        assert!(matches!(refused, OpenError::Newer { found: 99, known: 6 }));
        assert!(refused.to_string().contains("version that wrote the store"));
    }

    /// FED-08: a restored store has all data of the backup and another epoch. Nothing is overwritten.
    #[tokio::test]
    async fn restored_backup_is_complete_with_a_new_epoch() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let file = folder.path().join("backup.db");
        let store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
        set(&store, "kept", true).await.expect("the write succeeds");
        let epoch = |store: &Store| {
            let store = store.clone();
            async move {
                store
                    .write(|connection| epoch::ensure_epoch(connection, &SystemRandom))
                    .await
                    .expect("the epoch exists")
            }
        };
        let before = epoch(&store).await;
        write_backup(&first, &file).expect("the backup is written");
        assert!(matches!(write_backup(&first, &file), Err(BackupError::Exists(_))));
        set(&store, "later", true).await.expect("the write succeeds");

        restore_backup(&file, &second, &SystemRandom, NOW).expect("the backup is restored");
        assert!(matches!(restore_backup(&file, &second, &SystemRandom, NOW), Err(BackupError::Exists(_))));
        let restored =
            Store::open(&StoreOptions::new(StoreLocation::Folder(second))).expect("the store opens");
        let when = async |store: &Store| store.read(restored_at).await.expect("the read succeeds");
        assert_eq!((when(&store).await, when(&restored).await), (None, Some(NOW)));
        assert_eq!(count(&restored).await, 1);
        assert_ne!(epoch(&restored).await, before);
    }

    /// Closing completes queued work, refuses new work, and leaves one file with all data.
    #[tokio::test]
    async fn closed_store_is_one_file() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        for place in [StoreLocation::Memory, StoreLocation::Folder(folder.path().to_owned())] {
            let store = Store::open(&StoreOptions::new(place)).expect("the store opens");
            set(&store, "before", true).await.expect("the write succeeds");
            let looked = store.read_inline(|_| Ok::<_, StoreError>(()));
            looked.await.expect("the read succeeds");
            // Both writes are queued when the store is closed.
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let blocked = store.write(move |_| {
                let _ = wait.recv();
                Ok::<(), StoreError>(())
            });
            let closing = async {
                drop(go);
                store.close().await;
            };
            let (blocked, waiting, ()) = tokio::join!(blocked, set(&store, "waiting", true), closing);
            assert!(blocked.is_ok() && waiting.is_ok());
            assert!(matches!(set(&store, "after", true).await, Err(StoreError::Closed)));
            let read: Result<(), StoreError> = store.read(|_| Ok(())).await;
            let looked: Result<(), StoreError> = store.read_inline(|_| Ok(())).await;
            assert!(matches!((read, looked), (Err(StoreError::Closed), Err(StoreError::Closed))));
            store.clone().close().await;
        }
        let left = std::fs::read_dir(folder.path()).expect("the folder is readable");
        let left: Vec<_> = left.map(|file| file.expect("the entry is readable").file_name()).collect();
        assert_eq!(left, [DATABASE_FILE]);
        let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
        assert_eq!(count(&Store::open(&options).expect("the store opens")).await, 2);
    }

    /// A read that does not end cannot delay the shutdown without limit.
    #[tokio::test]
    async fn shutdown_does_not_wait_without_bound() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned())))
            .expect("the store opens");
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let read = store.read(move |_| {
            let _ = wait.recv();
            Ok::<(), StoreError>(())
        });
        let stopping = async {
            assert!(!store.close_within(Duration::ZERO).await);
            drop(go);
            assert!(
                store.close_within(Duration::from_secs(60)).await,
                "the store closes once the read has ended"
            );
        };
        let (read, ()) = tokio::join!(read, stopping);
        read.expect("queued work is completed");
    }

    /// A restore is refused if the folder contains a log or journal, which SQLite would apply to the restored
    /// database.
    #[tokio::test]
    async fn restore_refuses_leftover_log_files() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let path = |name: &str| folder.path().join(name);
        let store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(path("first")))).expect("the store opens");
        set(&store, "kept", true).await.expect("the write succeeds");
        let file = path("backup.db");
        write_backup(&path("first"), &file).expect("the backup is written");
        set(&store, "later", true).await.expect("the write succeeds");
        // A killed service leaves these files behind.
        std::fs::create_dir(path("second")).expect("the folder is created");
        for name in ["exchange.db-wal", "exchange.db-shm", "exchange.db-journal"] {
            let left = path("second").join(name);
            match name {
                "exchange.db-journal" => std::fs::write(&left, "").expect("the file is written"),
                name => drop(std::fs::copy(path("first").join(name), &left).expect("the file is copied")),
            }
            let refused =
                restore_backup(&file, &path("second"), &SystemRandom, NOW).expect_err("an error is returned");
            assert!(matches!(&refused, BackupError::Exists(found) if *found == left), "{refused}");
            let beside = std::fs::read_dir(path("second")).expect("the folder is readable").count();
            assert_eq!(beside, 1, "no further file is created");
            std::fs::remove_file(left).expect("the file is removed");
        }
        restore_backup(&file, &path("second"), &SystemRandom, NOW).expect("the backup is restored");
        let restored =
            Store::open(&StoreOptions::new(StoreLocation::Folder(path("second")))).expect("the store opens");
        assert_eq!(count(&restored).await, 1);
    }

    /// Changes in the log of the source are restored, for example from a copy of a data folder.
    #[tokio::test]
    async fn changes_in_the_log_are_restored() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let path = |name: &str| folder.path().join(name);
        let store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(path("first")))).expect("the store opens");
        set(&store, "kept", true).await.expect("the write succeeds");
        std::fs::create_dir(path("copy")).expect("the folder is created");
        for name in ["exchange.db", "exchange.db-wal"] {
            std::fs::copy(path("first").join(name), path("copy").join(name)).expect("the file is copied");
        }
        restore_backup(&path("copy").join("exchange.db"), &path("second"), &SystemRandom, NOW)
            .expect("the backup is restored");
        let restored =
            Store::open(&StoreOptions::new(StoreLocation::Folder(path("second")))).expect("the store opens");
        assert_eq!(count(&restored).await, 1);
    }

    /// A path that is not UTF-8 is rejected, and no file is created.
    #[cfg(unix)]
    #[tokio::test]
    async fn non_utf8_paths_are_rejected() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let first = folder.path().join("first");
        let _store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
        let to = folder.path().join(std::ffi::OsStr::from_bytes(b"backup-\xff.db"));
        let refused = write_backup(&first, &to).expect_err("an error is returned");
        assert!(matches!(refused, BackupError::Io { .. }), "{refused}");
        assert!(refused.to_string().contains("UTF-8"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder is readable").count(), 1);
    }

    /// A backup only reads the store, even one of a newer version. It does not create a missing store.
    #[tokio::test]
    async fn backup_is_read_only() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let (first, file) = (folder.path().join("first"), folder.path().join("backup.db"));
        let store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
        let newer = store.write(|connection| {
            connection.execute_batch(
                "INSERT INTO migration (number, checksum) VALUES (99, x'00'); \
                 CREATE TABLE of_the_future (id INTEGER PRIMARY KEY) STRICT",
            )?;
            Ok::<(), StoreError>(())
        });
        newer.await.expect("the write succeeds");
        let log = || std::fs::read(first.join("exchange.db-wal")).expect("the log is readable");
        let before = log();
        write_backup(&first, &file).expect("the backup is written");
        assert!(log() == before, "the backup does not write to the store");
        set(&store, "later", true).await.expect("writes still succeed");
        let restored = restore_backup(&file, &folder.path().join("second"), &SystemRandom, NOW)
            .expect_err("an error is returned");
        assert!(matches!(restored, BackupError::Version(OpenError::Newer { found: 99, .. })), "{restored}");
        let empty = folder.path().join("empty");
        let missing =
            write_backup(&empty, &folder.path().join("other.db")).expect_err("an error is returned");
        assert!(matches!(missing, BackupError::Missing(_)) && !empty.exists(), "{missing}");
        assert!(!folder.path().join("other.db").exists());
    }

    /// Only the owner can read the folder, the database with its log, a backup and a restored store.
    #[cfg(unix)]
    #[tokio::test]
    async fn store_files_are_private_to_the_owner() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let (first, second) = (folder.path().join("a/first"), folder.path().join("second"));
        let file = folder.path().join("backup.db");
        let store =
            Store::open(&StoreOptions::new(StoreLocation::Folder(first.clone()))).expect("the store opens");
        set(&store, "a", true).await.expect("the write succeeds");
        write_backup(&first, &file).expect("the backup is written");
        restore_backup(&file, &second, &SystemRandom, NOW).expect("the backup is restored");
        let mode = |path: &std::path::Path| {
            std::fs::metadata(path).expect("the path exists").permissions().mode() & 0o777
        };
        for path in [&first, &second] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        let files = ["exchange.db", "exchange.db-wal", "exchange.db-shm"].map(|name| first.join(name));
        for path in files.iter().chain([&file, &second.join("exchange.db")]) {
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
    }

    #[test]
    fn invalid_backup_is_rejected() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let file = folder.path().join("letter.txt");
        std::fs::write(&file, "dear reader, this is no database at all, however long it may be")
            .expect("the file is written");
        let target = folder.path().join("store");
        let refused = restore_backup(&file, &target, &SystemRandom, NOW).expect_err("an error is returned");
        assert!(matches!(refused, BackupError::Corrupt { .. }), "{refused}");
        assert!(!target.exists());
    }

    /// Committed data is present when the folder is opened again.
    #[tokio::test]
    async fn committed_data_persists_in_the_folder() {
        let folder = tempfile::tempdir().expect("the temporary folder is created");
        let options = StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()));
        set(&Store::open(&options).expect("the store opens"), "a", true).await.expect("the write succeeds");
        assert_eq!(count(&Store::open(&options).expect("the store opens")).await, 1);
    }
}
