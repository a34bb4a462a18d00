//! Checkpoints: the log is written back beside the writer, so that no write waits for it; only a log
//! that outgrows its bound is begun anew by the writer itself.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::{OpenError, PATIENCE};

/// A log of more pages than this, 64 MiB, is begun anew by the writer, whoever waits.
const LONGEST_LOG: i64 = 16_384;
/// How long the writer then waits for readers that hold on to the log: most are done sooner, and a backup is not.
const FOR_READERS: Duration = Duration::from_millis(50);
/// How long the background checkpoint rests: pages that are written again and again meanwhile are written back once,
/// and fewer writes meet it while it has processor and disk.
const REST: Duration = Duration::from_secs(1);
/// Whatever of the log's file is longer than this once the log is begun anew, since some reader held on to it for long,
/// is cut. Any other file is written over, which is forced to the disk in less time than one that grows.
const LONGEST_FILE: i64 = 256 << 20;

/// How far the background checkpoint stands back: it has a tenth of a core that somebody else wants all of, so that it is
/// never left so far behind that the log grows and grows.
#[cfg(target_os = "linux")]
const STANDS_BACK: i32 = 10;

/// The writer's side of it.
pub(super) struct Checkpoints {
    background: Option<Background>,
    anew: Arc<AtomicBool>,
}

struct Background {
    wake: SyncSender<()>,
    /// Nothing is sent: once it is dropped, the thread rests no longer.
    alive: Sender<()>,
    thread: JoinHandle<()>,
}

impl Checkpoints {
    /// For a store that has no log.
    pub(super) fn none() -> Self {
        Self { background: None, anew: Arc::default() }
    }

    /// Starts the background thread over the database at a path.
    ///
    /// # Errors
    /// When a connection or a thread cannot be had.
    pub(super) fn start(path: &Path) -> Result<Self, OpenError> {
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA busy_timeout = 1000;")?;
        let ((wake, woken), (alive, over)) = (sync_channel(1), channel());
        let anew = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&anew);
        let thread = thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || run(&connection, &woken, &over, &told))
            .map_err(OpenError::Thread)?;
        Ok(Self { background: Some(Background { wake, alive, thread }), anew })
    }

    /// Ends the background thread, and then has all of the log written back and its file emptied.
    ///
    /// What cannot be written back, since somebody else reads for longer than the writer waits, stays in the log.
    pub(super) fn end(self, connection: &Connection) {
        let Some(Background { wake, alive, thread }) = self.background else { return };
        drop((wake, alive));
        // One that panicked has ended, too.
        let _ = thread.join();
        let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Told after every commit, on the writer's thread.
    pub(super) fn committed(&self, connection: &Connection) {
        let Some(Background { wake, .. }) = &self.background else { return };
        if self.anew.swap(false, Ordering::Relaxed) {
            begin_anew(connection);
        }
        // Full means that it is awake already.
        let _ = wake.try_send(());
    }
}

/// Tells the writer's connection to leave the log to the background, and when to cut its file.
///
/// # Errors
/// What the database says.
pub(super) fn prepare(connection: &Connection) -> rusqlite::Result<()> {
    cut_at(connection, LONGEST_FILE)
}

fn cut_at(connection: &Connection, bytes: i64) -> rusqlite::Result<()> {
    let settings = format!("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {bytes};");
    connection.execute_batch(&settings)
}

/// Has the next write begin the log anew. A reader that holds on to it keeps it: it is tried again once the log has
/// grown by as much, and meanwhile nobody waits for that reader.
fn begin_anew(connection: &Connection) {
    let _ = connection.busy_timeout(FOR_READERS);
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(RESTART)");
    let _ = connection.busy_timeout(PATIENCE);
}

/// Lets other threads go first. Nobody waits for a log to be written back, and on a machine of few cores a write
/// that meets it would: one in as many as come in a second.
fn stand_back() {
    // Elsewhere it would be the whole process that stands back. One that cannot is only in the way.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, STANDS_BACK);
}

/// Ends with the writer.
fn run(connection: &Connection, woken: &Receiver<()>, over: &Receiver<()>, anew: &AtomicBool) {
    stand_back();
    let mut bound = Bound(LONGEST_LOG);
    while woken.recv().is_ok() {
        // One that fails is tried again after the next commit.
        let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(1));
        if pages.is_ok_and(|pages| bound.is_passed(pages)) {
            anew.store(true, Ordering::Relaxed);
        }
        if over.recv_timeout(REST) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// How many pages of the log are passed before the writer is asked to begin it anew.
struct Bound(i64);

impl Bound {
    /// Each bound is passed once; one below zero is of a log that somebody else is writing back.
    fn is_passed(&mut self, pages: i64) -> bool {
        let is_passed = pages > self.0;
        if is_passed {
            self.0 = pages.saturating_add(LONGEST_LOG);
        } else if (0..=LONGEST_LOG).contains(&pages) {
            self.0 = LONGEST_LOG;
        }
        is_passed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::store::{Options, Place, Store, StoreError};

    /// The writer is asked once for each 64 MiB by which the log grows, and anew once it was begun anew.
    #[test]
    fn a_log_that_somebody_holds_is_not_tried_at_every_commit() {
        let mut bound = Bound(LONGEST_LOG);
        let asked =
            [0, LONGEST_LOG, LONGEST_LOG + 1, LONGEST_LOG + 1, 2 * LONGEST_LOG + 1, 2 * LONGEST_LOG + 2, -1];
        assert_eq!(
            asked.map(|pages| bound.is_passed(pages)),
            [false, false, true, false, false, true, false]
        );
        assert!(!bound.is_passed(3 * LONGEST_LOG), "one that could not be looked at says nothing");
        assert_eq!([7, LONGEST_LOG + 1].map(|pages| bound.is_passed(pages)), [false, true]);
    }

    /// Who reads for long holds up no write: the writer gives up soon, and waits for other writers as before.
    #[test]
    fn a_long_read_holds_nobody_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        writer.busy_timeout(PATIENCE).unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let before = Instant::now();
        begin_anew(&writer);
        assert!(before.elapsed() < PATIENCE / 2);
        let patience: u32 = writer.query_row("PRAGMA busy_timeout", [], |row| row.get(0)).unwrap();
        assert_eq!(Duration::from_millis(patience.into()), PATIENCE);
    }

    /// A log that grew while somebody read is cut when it is begun anew, and a short one stays as long as it is.
    #[test]
    fn the_file_of_a_long_log_is_cut() {
        const LONGEST: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        cut_at(&writer, 1 << 20).unwrap();
        let log = || std::fs::metadata(folder.path().join("store.db-wal")).unwrap().len();
        let lengths = |bytes: i64| {
            writer.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes]).unwrap();
            let before = log();
            begin_anew(&writer);
            writer.execute_batch("DELETE FROM t").unwrap();
            (before, log())
        };
        let (before, after) = lengths(1 << 19);
        assert_eq!(before, after);
        let (before, after) = lengths(1 << 22);
        assert!(before > LONGEST && after == LONGEST, "{before} {after}");
    }

    /// The writer of a store is told so.
    #[tokio::test]
    async fn a_store_leaves_its_log_to_the_background() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&Options::new(Place::Folder(folder.path().to_owned()))).unwrap();
        let settings = store.write(|connection| {
            let one = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            let all = (one("PRAGMA wal_autocheckpoint")?, one("PRAGMA journal_size_limit")?);
            Ok::<_, StoreError>(all)
        });
        assert_eq!(settings.await.unwrap(), (0, LONGEST_FILE));
    }
}
