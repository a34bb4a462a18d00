//! The store as everybody sees it: [`Store::read`] and [`Store::look`], [`Store::write`] and
//! [`Store::write_ahead`], and its end by [`Store::close`].

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::backup::FILE;
use super::checkpoint::{self, Checkpoints};
use super::readers::{AtHand, Read};
use super::writer::{Job, Wait};
use super::{OpenError, PATIENCE, StoreError, migrate, plan_once, private, readers, writer};

/// Where a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory, gone with the process.
    Memory,
    /// In a folder, which is made when it is not there.
    Folder(PathBuf),
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where.
    pub place: Place,
    /// How many readers there are beside the writer. Default 2.
    pub readers: usize,
    /// How much may wait before [`StoreError::Busy`]. Default 1024.
    pub queue: usize,
}

impl Options {
    /// At a place, the rest as it is by default.
    #[must_use]
    pub fn new(place: Place) -> Self {
        Self { place, readers: 2, queue: 1024 }
    }
}

/// All data of the service. A handle: clones are the same store.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    writes: Queue<Box<dyn Job>>,
    /// None in memory.
    reads: Option<(Queue<Read>, AtHand)>,
    /// None once somebody waits for them.
    threads: Mutex<Option<Threads>>,
}

struct Threads {
    readers: Vec<JoinHandle<()>>,
    writer: JoinHandle<()>,
}

/// Where work waits for a thread, until the store is closed.
struct Queue<T>(ArcSwapOption<mpsc::Sender<T>>);

impl<T> Queue<T> {
    fn new(sender: mpsc::Sender<T>) -> Self {
        Self(ArcSwapOption::from_pointee(sender))
    }

    fn put(&self, work: T) -> Result<(), StoreError> {
        match &*self.0.load() {
            Some(sender) => sender.try_send(work).map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => StoreError::Busy,
                mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
            }),
            None => Err(StoreError::Closed),
        }
    }

    /// What waits already is still done.
    fn close(&self) {
        self.0.store(None);
    }
}

impl Inner {
    fn close(&self) {
        if let Some((reads, at_hand)) = &self.reads {
            reads.close();
            at_hand.close();
        }
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Threads { readers, writer }) = threads.take() {
            // One that panicked has ended, too.
            readers.into_iter().for_each(|reader| drop(reader.join()));
            // The last one that has the database open takes its log away, and it has to be one that may write.
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
    /// Opens it, brings it to this service's version, and starts its threads.
    ///
    /// # Errors
    /// See [`OpenError`]; what is there stays untouched then.
    pub fn open(options: &Options) -> Result<Self, OpenError> {
        let (mut connection, path) = match &options.place {
            Place::Memory => (Connection::open_in_memory()?, None),
            Place::Folder(folder) => {
                let path = folder.join(FILE);
                // The log beside it is made with the permissions of the file.
                private::folder(folder)
                    .and_then(|()| private::file_at_hand(&path))
                    .map_err(|error| OpenError::Folder { path: folder.clone(), error })?;
                (Connection::open(&path)?, Some(path))
            }
        };
        connection.busy_timeout(PATIENCE)?;
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
             PRAGMA temp_store = MEMORY;",
        )?;
        checkpoint::prepare(&connection)?;
        // A large set changes some hundred pages, and the next one most of them again.
        connection.execute_batch("PRAGMA cache_size = -8192")?;
        connection.set_prepared_statement_cache_capacity(256);
        plan_once(&connection)?;
        migrate::migrate(&mut connection)?;
        let checkpoints = match &path {
            Some(path) => Checkpoints::start(path)?,
            None => Checkpoints::none(),
        };
        let (writes, queue) = mpsc::channel(options.queue);
        let writer = std::thread::Builder::new()
            .name("writer".to_owned())
            .spawn(move || writer::work(&connection, queue, checkpoints))
            .map_err(OpenError::Thread)?;
        let (reads, readers) = match path {
            Some(path) => {
                let (sender, readers) = readers::start(&path, options.readers.max(1), options.queue)?;
                (Some((Queue::new(sender), AtHand::new(path))), readers)
            }
            None => (None, Vec::new()),
        };
        let threads = Mutex::new(Some(Threads { readers, writer }));
        Ok(Self { inner: Arc::new(Inner { writes: Queue::new(writes), reads, threads }) })
    }

    /// Closes it for whoever has it. What was asked for before is done and answered, whatever comes later is
    /// [`StoreError::Closed`]. Then all of the log is written back: a folder is left with the database's file alone,
    /// unless another process has it open. Without it nothing is lost, and the next [`open`](Self::open) reads the log.
    pub async fn close(&self) {
        let inner = Arc::clone(&self.inner);
        // Whoever panicked in it has closed what could be closed.
        let _ = tokio::task::spawn_blocking(move || inner.close()).await;
    }

    /// The same, waited for no longer than this; says whether it came to its end. Where it did not, whoever reads or
    /// writes still does, and the log stays beside the file: nothing is lost.
    pub async fn close_within(&self, most: Duration) -> bool {
        tokio::time::timeout(most, self.close()).await.is_ok()
    }

    /// Runs a write in a transaction, and answers once it is committed and the disk has it. An error undoes
    /// what it did.
    ///
    /// # Errors
    /// The closure's own, or the store's: then nothing of it is there.
    pub async fn write<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.queued(work, Wait::ForDisk).await
    }

    /// The same without waiting for the disk: the end of the process loses nothing of it, a loss of power may
    /// lose the last of such writes, together with whatever came after them. The next [`write`](Self::write)
    /// makes it as lasting as itself. For what means nothing without a write that follows.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn write_ahead<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.queued(work, Wait::ForSystem).await
    }

    async fn queued<T, E, F>(&self, work: F, wait: Wait) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job = Write { work: Some(work), result: None, answer, wait };
        self.inner.writes.put(Box::new(job))?;
        answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Runs a read over one snapshot.
    ///
    /// # Errors
    /// The closure's own, or the store's.
    pub async fn read<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let Some((reads, _)) = &self.inner.reads else { return self.write(work).await };
        let (answer, answered) = oneshot::channel();
        let read: Read = Box::new(move |connection| {
            // Whoever asked may be gone by now.
            let _ = answer.send(connection.map_err(E::from).and_then(|connection| careful(work, connection)));
        });
        reads.put(read)?;
        answered.await.unwrap_or_else(|_| Err(StoreError::Closed.into()))
    }

    /// Runs a read over one snapshot in place, on the caller's thread: for a few rows by their keys, which are
    /// read in less time than it takes to wake another thread.
    ///
    /// # Errors
    /// The closure's own, or the store's.
    pub async fn look<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        match &self.inner.reads {
            Some((_, at_hand)) => at_hand.read(|connection| careful(work, connection?)),
            None => self.write(work).await,
        }
    }

    /// Runs one statement in place, which is a snapshot by itself: what begins and ends one would cost as much as many
    /// a statement.
    ///
    /// # Errors
    /// The closure's own, or the store's.
    pub async fn ask<T, E, F>(&self, work: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        match &self.inner.reads {
            Some((_, at_hand)) => at_hand.with(|connection| careful(work, connection?)),
            None => self.write(work).await,
        }
    }
}

/// Runs a closure; a panic is an error, and the thread goes on.
fn careful<T, E: From<StoreError>>(
    work: impl FnOnce(&Connection) -> Result<T, E>,
    connection: &Connection,
) -> Result<T, E> {
    // What it left behind in the connection is undone with its savepoint or transaction.
    let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
    outcome.unwrap_or_else(|_| Err(StoreError::Panicked.into()))
}

struct Write<F, T, E> {
    work: Option<F>,
    result: Option<Result<T, E>>,
    answer: oneshot::Sender<Result<T, E>>,
    wait: Wait,
}

impl<F, T, E> Job for Write<F, T, E>
where
    T: Send,
    E: From<StoreError> + Send,
    F: FnOnce(&Connection) -> Result<T, E> + Send,
{
    fn wait(&self) -> Wait {
        self.wait
    }

    fn run(&mut self, connection: &Connection) -> bool {
        self.result = self.work.take().map(|work| careful(work, connection));
        matches!(self.result, Some(Ok(_)))
    }

    fn finish(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, answer, .. } = *self;
        let result = match (result, committed) {
            (Some(Err(error)), _) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => Err(StoreError::Closed.into()),
        };
        // Whoever asked may be gone by now.
        let _ = answer.send(result);
    }
}

#[cfg(test)]
mod tests {
    use dpop_bound::SystemRandom;
    use rusqlite::params;

    use super::*;
    use crate::store::{BackupError, backup, epoch, restore, restored_at};
    use crate::time::Moment;

    const NOW: Moment = Moment::from_millis(1_790_000_000_250);

    /// How many settings there are beside the one that a restore makes.
    async fn count(store: &Store) -> i64 {
        store
            .read(|connection| {
                let sql = "SELECT count(*) FROM setting WHERE name <> 'restored-at'";
                Ok::<i64, StoreError>(connection.query_row(sql, [], |row| row.get(0))?)
            })
            .await
            .expect("a read")
    }

    async fn set(store: &Store, name: &'static str, keep: bool) -> Result<(), StoreError> {
        store
            .write(move |connection| {
                connection.execute("INSERT INTO setting (name, value) VALUES (?1, 'x')", params![name])?;
                if keep { Ok(()) } else { Err(StoreError::Corrupt("told to fail")) }
            })
            .await
    }

    /// A write that fails leaves nothing, and those of the same group are kept.
    #[tokio::test]
    async fn each_write_is_kept_or_undone_by_itself() {
        let folder = tempfile::tempdir().expect("a folder");
        for place in [Place::Memory, Place::Folder(folder.path().join("store"))] {
            let store = Store::open(&Options::new(place)).expect("a store");
            let (first, second, third) =
                tokio::join!(set(&store, "a", true), set(&store, "b", false), set(&store, "c", true));
            assert!(first.is_ok() && third.is_ok());
            assert!(matches!(second, Err(StoreError::Corrupt(_))));
            assert_eq!(count(&store).await, 2);
            assert!(matches!(set(&store, "d", false).await, Err(StoreError::Corrupt(_))), "nor one alone");
            assert_eq!(count(&store).await, 2);
        }
    }

    /// A write that is alone in its group has no savepoint, which would cost it a copy of each page that it writes.
    #[tokio::test]
    async fn a_write_alone_has_no_savepoint() {
        let store = Store::open(&Options::new(Place::Memory)).expect("a store");
        let released = store.write(|connection| {
            let released = connection.execute_batch("RELEASE job");
            Ok::<_, StoreError>(released.is_ok())
        });
        assert!(!released.await.expect("a write"));
    }

    /// What a commit waits for is set before its transaction begins: the disk for a write, and for a group that
    /// has one; the system alone for what is written ahead.
    #[tokio::test]
    async fn a_write_waits_for_the_disk_and_what_is_ahead_of_it_does_not() {
        fn waits(connection: &Connection) -> Result<i64, StoreError> {
            Ok(connection.query_row("PRAGMA synchronous", [], |row| row.get(0))?)
        }
        const NORMAL: i64 = 1;
        const FULL: i64 = 2;
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).expect("a store");
        for _ in 0..2 {
            assert_eq!(store.write_ahead(waits).await.expect("a write"), NORMAL);
            assert_eq!(store.write(waits).await.expect("a write"), FULL);
        }
        // While the writer is held up, the rest comes together as one group.
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let held = store.write_ahead(move |_| {
            let _ = wait.recv();
            Ok::<(), StoreError>(())
        });
        let together = async {
            let both = async { tokio::join!(store.write_ahead(waits), store.write(waits)) };
            let release = async { drop(go) };
            tokio::join!(both, release).0
        };
        let (held, (ahead, waited)) = tokio::join!(held, together);
        held.expect("a write");
        assert_eq!((ahead.expect("a write"), waited.expect("a write")), (FULL, FULL));
    }

    /// A closure that panics fails alone: its write is undone, and the store goes on.
    #[tokio::test]
    async fn a_panic_is_one_failure() {
        let folder = tempfile::tempdir().expect("a folder");
        for place in [Place::Memory, Place::Folder(folder.path().join("store"))] {
            let store = Store::open(&Options::new(place)).expect("a store");
            let panicked: Result<(), StoreError> = store
                .write(|connection| {
                    connection.execute("INSERT INTO setting (name, value) VALUES ('p', 'x')", [])?;
                    panic!("on purpose")
                })
                .await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            let panicked: Result<(), StoreError> = store.read(|_| panic!("on purpose")).await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            let panicked: Result<(), StoreError> = store.look(|_| panic!("on purpose")).await;
            assert!(matches!(panicked, Err(StoreError::Panicked)));
            set(&store, "a", true).await.expect("a write");
            assert_eq!(count(&store).await, 1);
        }
    }

    /// What is read in place is what was written last, one moment for all of a read, and nothing but read.
    #[tokio::test]
    async fn a_look_sees_one_moment_and_writes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).expect("a store");
        set(&store, "a", true).await.expect("a write");
        let other = Connection::open(folder.path().join(FILE)).expect("another process");
        let counted = store.look(move |connection| {
            let count =
                || connection.query_row("SELECT count(*) FROM setting", [], |row| row.get::<_, i64>(0));
            let before = count()?;
            other.execute("INSERT INTO setting (name, value) VALUES ('b', 'x')", [])?;
            Ok::<_, StoreError>((before, count()?))
        });
        assert_eq!(counted.await.expect("a read"), (1, 1));
        let count = "SELECT count(*) FROM setting";
        let counted = store.look(move |connection| {
            Ok::<i64, StoreError>(connection.query_row(count, [], |row| row.get(0))?)
        });
        assert_eq!(counted.await.expect("a read"), 2);
        let written: Result<usize, StoreError> =
            store.look(|connection| Ok(connection.execute("DELETE FROM setting", [])?)).await;
        assert!(written.is_err());
    }

    /// A statement that is asked for another limit, or from another key on, is not planned anew.
    #[tokio::test]
    async fn statements_are_planned_once() {
        fn plans(connection: &Connection) -> Result<i32, StoreError> {
            let sql = "SELECT name FROM setting WHERE name > ?1 ORDER BY name LIMIT ?2";
            let mut rows = connection.prepare_cached(sql)?;
            for (behind, most) in [("a", 1), ("b", 2), ("c", 500)] {
                let found = rows.query_map(params![behind, most], |row| row.get::<_, String>(0))?;
                assert!(found.collect::<Result<Vec<_>, _>>()?.is_empty());
            }
            Ok(rows.get_status(rusqlite::StatementStatus::RePrepare))
        }
        let folder = tempfile::tempdir().expect("a folder");
        for place in [Place::Memory, Place::Folder(folder.path().join("store"))] {
            let store = Store::open(&Options::new(place)).expect("a store");
            let planned = (store.read(plans).await, store.look(plans).await, store.write(plans).await);
            assert!(matches!(planned, (Ok(0), Ok(0), Ok(0))), "{planned:?}");
        }
    }

    /// A disk without room refuses writes, keeps reads, and takes writes again when there is room.
    #[tokio::test]
    async fn a_full_disk_keeps_reads() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).expect("a store");
        set(&store, "before", true).await.expect("a write");
        let bound = |pages: i64| {
            let store = store.clone();
            async move {
                let sql = format!("PRAGMA max_page_count = {pages}");
                store
                    .write(move |connection| {
                        Ok::<i64, StoreError>(connection.query_row(&sql, [], |row| row.get(0))?)
                    })
                    .await
                    .expect("a bound")
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
        assert_eq!(count(&store).await, 1, "reads go on");
        bound(1_000_000).await;
        large().await.expect("a write, now that there is room");
    }

    /// A store that a newer service wrote is left alone, and the error says what to do.
    #[tokio::test]
    async fn a_newer_store_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new(Place::Folder(folder.path().to_owned()));
        let store = Store::open(&options).expect("a store");
        let newer = store.write(|connection| {
            connection.execute("INSERT INTO migration (number, checksum) VALUES (99, x'00')", [])?;
            Ok::<(), StoreError>(())
        });
        newer.await.expect("a write");
        let refused = Store::open(&options).expect_err("a refusal");
        assert!(matches!(refused, OpenError::Newer { found: 99, known: 5 }));
        assert!(refused.to_string().contains("start a service at least as new"));
    }

    /// FED-08: a restored store has all data and another epoch; nothing is ever overwritten.
    #[tokio::test]
    async fn a_backup_is_whole_and_begins_another_epoch() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        let file = folder.path().join("backup.db");
        let store = Store::open(&Options::new(Place::Folder(first.clone()))).expect("a store");
        set(&store, "kept", true).await.expect("a write");
        let epoch = |store: &Store| {
            let store = store.clone();
            async move { store.write(|connection| epoch::settle(connection, &SystemRandom)).await.expect("one") }
        };
        let before = epoch(&store).await;
        backup(&first, &file).expect("a backup");
        assert!(matches!(backup(&first, &file), Err(BackupError::Exists(_))));
        set(&store, "later", true).await.expect("a write");

        restore(&file, &second, &SystemRandom, NOW).expect("restored");
        assert!(matches!(restore(&file, &second, &SystemRandom, NOW), Err(BackupError::Exists(_))));
        let restored = Store::open(&Options::new(Place::Folder(second))).expect("a store");
        let when = async |store: &Store| store.read(restored_at).await.expect("a read");
        assert_eq!((when(&store).await, when(&restored).await), (None, Some(NOW)));
        assert_eq!(count(&restored).await, 1);
        assert_ne!(epoch(&restored).await, before);
    }

    /// A store that is closed does what waits, takes nothing more, and leaves one file, which has all of it.
    #[tokio::test]
    async fn what_is_closed_is_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        for place in [Place::Memory, Place::Folder(folder.path().to_owned())] {
            let store = Store::open(&Options::new(place)).expect("a store");
            set(&store, "before", true).await.expect("a write");
            let looked = store.look(|_| Ok::<_, StoreError>(()));
            looked.await.expect("a read");
            // Both wait for the writer when the store is closed.
            let (go, wait) = std::sync::mpsc::channel::<()>();
            let held = store.write(move |_| {
                let _ = wait.recv();
                Ok::<(), StoreError>(())
            });
            let closing = async {
                drop(go);
                store.close().await;
            };
            let (held, waiting, ()) = tokio::join!(held, set(&store, "waiting", true), closing);
            assert!(held.is_ok() && waiting.is_ok());
            assert!(matches!(set(&store, "after", true).await, Err(StoreError::Closed)));
            let read: Result<(), StoreError> = store.read(|_| Ok(())).await;
            let looked: Result<(), StoreError> = store.look(|_| Ok(())).await;
            assert!(matches!((read, looked), (Err(StoreError::Closed), Err(StoreError::Closed))));
            store.clone().close().await;
        }
        let left = std::fs::read_dir(folder.path()).expect("a folder");
        let left: Vec<_> = left.map(|file| file.expect("a file").file_name()).collect();
        assert_eq!(left, [FILE]);
        let options = Options::new(Place::Folder(folder.path().to_owned()));
        assert_eq!(count(&Store::open(&options).expect("a store")).await, 2);
    }

    /// Whoever reads without an end keeps nobody from stopping.
    #[tokio::test]
    async fn the_end_is_not_waited_for_without_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).expect("a store");
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let read = store.read(move |_| {
            let _ = wait.recv();
            Ok::<(), StoreError>(())
        });
        let stopping = async {
            assert!(!store.close_within(Duration::ZERO).await);
            drop(go);
            assert!(store.close_within(Duration::from_secs(60)).await, "once nobody reads any more");
        };
        let (read, ()) = tokio::join!(read, stopping);
        read.expect("what was asked for before is answered");
    }

    /// A log, or whatever else another database left, would be played into the one that is restored beside it.
    #[tokio::test]
    async fn nothing_is_restored_beside_what_another_store_left() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let store = Store::open(&Options::new(Place::Folder(path("first")))).expect("a store");
        set(&store, "kept", true).await.expect("a write");
        let file = path("backup.db");
        backup(&path("first"), &file).expect("a backup");
        set(&store, "later", true).await.expect("a write");
        // As a service that was killed leaves them.
        std::fs::create_dir(path("second")).expect("a folder");
        for name in ["exchange.db-wal", "exchange.db-shm", "exchange.db-journal"] {
            let left = path("second").join(name);
            match name {
                "exchange.db-journal" => std::fs::write(&left, "").expect("a file"),
                name => drop(std::fs::copy(path("first").join(name), &left).expect("a copy")),
            }
            let refused = restore(&file, &path("second"), &SystemRandom, NOW).expect_err("a refusal");
            assert!(matches!(&refused, BackupError::Exists(found) if *found == left), "{refused}");
            let beside = std::fs::read_dir(path("second")).expect("a folder").count();
            assert_eq!(beside, 1, "nothing is begun");
            std::fs::remove_file(left).expect("a file");
        }
        restore(&file, &path("second"), &SystemRandom, NOW).expect("restored");
        let restored = Store::open(&Options::new(Place::Folder(path("second")))).expect("a store");
        assert_eq!(count(&restored).await, 1);
    }

    /// What lies in the log of what is restored is restored, too: a store's folder that was copied, say.
    #[tokio::test]
    async fn what_lies_in_a_log_is_restored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let store = Store::open(&Options::new(Place::Folder(path("first")))).expect("a store");
        set(&store, "kept", true).await.expect("a write");
        std::fs::create_dir(path("copy")).expect("a folder");
        for name in ["exchange.db", "exchange.db-wal"] {
            std::fs::copy(path("first").join(name), path("copy").join(name)).expect("a copy");
        }
        restore(&path("copy").join("exchange.db"), &path("second"), &SystemRandom, NOW).expect("restored");
        let restored = Store::open(&Options::new(Place::Folder(path("second")))).expect("a store");
        assert_eq!(count(&restored).await, 1);
    }

    /// A name that the database cannot be told is refused, and no other file is made in its place.
    #[cfg(unix)]
    #[tokio::test]
    async fn names_that_are_no_text_are_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let first = folder.path().join("first");
        let _store = Store::open(&Options::new(Place::Folder(first.clone()))).expect("a store");
        let to = folder.path().join(std::ffi::OsStr::from_bytes(b"backup-\xff.db"));
        let refused = backup(&first, &to).expect_err("a refusal");
        assert!(matches!(refused, BackupError::Io { .. }), "{refused}");
        assert!(refused.to_string().contains("UTF-8"), "{refused}");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }

    /// A backup only reads: also beside a service of a newer version, whose store it leaves as it is; and where
    /// there is no store it makes none.
    #[tokio::test]
    async fn a_backup_changes_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let (first, file) = (folder.path().join("first"), folder.path().join("backup.db"));
        let store = Store::open(&Options::new(Place::Folder(first.clone()))).expect("a store");
        let newer = store.write(|connection| {
            connection.execute_batch(
                "INSERT INTO migration (number, checksum) VALUES (99, x'00'); \
                 CREATE TABLE of_the_future (id INTEGER PRIMARY KEY) STRICT",
            )?;
            Ok::<(), StoreError>(())
        });
        newer.await.expect("a write");
        let log = || std::fs::read(first.join("exchange.db-wal")).expect("a log");
        let before = log();
        backup(&first, &file).expect("a backup");
        assert!(log() == before, "nothing is written to the store");
        set(&store, "later", true).await.expect("a write, as before");
        let restored =
            restore(&file, &folder.path().join("second"), &SystemRandom, NOW).expect_err("a refusal");
        assert!(matches!(restored, BackupError::Version(OpenError::Newer { found: 99, .. })), "{restored}");
        let empty = folder.path().join("empty");
        let missing = backup(&empty, &folder.path().join("other.db")).expect_err("a refusal");
        assert!(matches!(missing, BackupError::Missing(_)) && !empty.exists(), "{missing}");
        assert!(!folder.path().join("other.db").exists());
    }

    /// What signs tokens is its owner's alone to read: the folder, the database with its log, a backup, and what is
    /// restored of it.
    #[cfg(unix)]
    #[tokio::test]
    async fn nobody_else_reads_a_store() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let (first, second) = (folder.path().join("a/first"), folder.path().join("second"));
        let file = folder.path().join("backup.db");
        let store = Store::open(&Options::new(Place::Folder(first.clone()))).expect("a store");
        set(&store, "a", true).await.expect("a write");
        backup(&first, &file).expect("a backup");
        restore(&file, &second, &SystemRandom, NOW).expect("restored");
        let mode =
            |path: &std::path::Path| std::fs::metadata(path).expect("a path").permissions().mode() & 0o777;
        for path in [&first, &second] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        let files = ["exchange.db", "exchange.db-wal", "exchange.db-shm"].map(|name| first.join(name));
        for path in files.iter().chain([&file, &second.join("exchange.db")]) {
            assert_eq!(mode(path), 0o600, "{}", path.display());
        }
    }

    #[test]
    fn what_is_no_backup_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("letter.txt");
        std::fs::write(&file, "dear reader, this is no database at all, however long it may be")
            .expect("a file");
        let target = folder.path().join("store");
        let refused = restore(&file, &target, &SystemRandom, NOW).expect_err("a refusal");
        assert!(matches!(refused, BackupError::Damaged { .. }), "{refused}");
        assert!(!target.exists());
    }

    /// What was written is there when the folder is opened again.
    #[tokio::test]
    async fn a_folder_keeps_what_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new(Place::Folder(folder.path().to_owned()));
        set(&Store::open(&options).expect("a store"), "a", true).await.expect("a write");
        assert_eq!(count(&Store::open(&options).expect("a store")).await, 1);
    }
}
