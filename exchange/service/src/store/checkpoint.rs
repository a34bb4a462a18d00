//! Checkpoints: a background thread writes the log back to the database, so that writes need not wait for
//! checkpoints. The writer restarts the log only if the log exceeds its size limit.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rusqlite::Connection;

use super::{BUSY_TIMEOUT, OpenError};

/// The maximum number of pages in the log (64 MiB). The writer restarts a longer log even if writes have to
/// wait.
const MAX_LOG_PAGES: i64 = 16_384;
/// The maximum time for which a restart of the log waits for readers. Most reads end sooner; a backup does
/// not.
const READER_TIMEOUT: Duration = Duration::from_millis(50);
/// The pause between background checkpoints. Pages that change repeatedly during the pause are written back
/// only once, and a checkpoint competes less often with writes for CPU and disk.
const CHECKPOINT_INTERVAL: Duration = Duration::from_secs(1);
/// The size to which the log file is truncated after a restart, in bytes. A smaller file is reused as it is,
/// because overwriting a file syncs faster than extending it.
const MAX_LOG_BYTES: i64 = 256 << 20;

/// The nice value of the checkpoint thread. On a busy core, the thread still gets about a tenth of the time,
/// so that the log cannot grow without limit.
#[cfg(target_os = "linux")]
const THREAD_NICENESS: i32 = 10;

/// The handle with which the writer controls the checkpoint thread.
pub(super) struct CheckpointControl {
    background: Option<CheckpointThread>,
    restart_requested: Arc<AtomicBool>,
}

struct CheckpointThread {
    wake: SyncSender<()>,
    /// The sender whose drop ends the pause of the thread. Nothing is sent through it.
    alive: Sender<()>,
    thread: JoinHandle<()>,
}

impl CheckpointControl {
    /// Creates a handle without a thread, for a store in memory.
    pub(super) fn disabled() -> Self {
        Self { background: None, restart_requested: Arc::default() }
    }

    /// Starts the checkpoint thread for the database at a path.
    ///
    /// # Errors
    /// Returns an error if the connection or the thread cannot be created.
    pub(super) fn start_thread(path: &Path) -> Result<Self, OpenError> {
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA busy_timeout = 1000;")?;
        let ((wake, woken), (alive, over)) = (sync_channel(1), channel());
        let restart_requested = Arc::new(AtomicBool::new(false));
        let requested = Arc::clone(&restart_requested);
        let thread = thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || run_checkpoints(&connection, &woken, &over, &requested))
            .map_err(OpenError::Thread)?;
        Ok(Self { background: Some(CheckpointThread { wake, alive, thread }), restart_requested })
    }

    /// Stops the checkpoint thread, then writes the whole log back and truncates the log file.
    ///
    /// If a reader uses the log for longer than the busy timeout, the rest remains in the log.
    pub(super) fn stop_thread(self, connection: &Connection) {
        let Some(CheckpointThread { wake, alive, thread }) = self.background else { return };
        drop((wake, alive));
        // A thread that panicked has also ended.
        let _ = thread.join();
        let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    /// Wakes the checkpoint thread after a commit, and restarts the log if the thread requested it. Runs on
    /// the writer's thread.
    pub(super) fn after_commit(&self, connection: &Connection) {
        let Some(CheckpointThread { wake, .. }) = &self.background else { return };
        if self.restart_requested.swap(false, Ordering::Relaxed) {
            restart_log(connection);
        }
        // If the channel is full, the thread is already awake.
        let _ = wake.try_send(());
    }
}

/// Disables automatic checkpoints on the writer's connection, and limits the size of the log file.
///
/// # Errors
/// Returns an error if the database fails.
pub(super) fn configure_writer(connection: &Connection) -> rusqlite::Result<()> {
    limit_log_file(connection, MAX_LOG_BYTES)
}

fn limit_log_file(connection: &Connection, bytes: i64) -> rusqlite::Result<()> {
    let settings = format!("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {bytes};");
    connection.execute_batch(&settings)
}

/// Makes the next write restart the log. If a reader uses the log, the attempt fails after a short time and
/// is repeated when the log has grown by its limit again.
fn restart_log(connection: &Connection) {
    let _ = connection.busy_timeout(READER_TIMEOUT);
    let _ = connection.execute_batch("PRAGMA wal_checkpoint(RESTART)");
    let _ = connection.busy_timeout(BUSY_TIMEOUT);
}

/// Lowers the priority of the thread. No write waits for a checkpoint, but on a machine with few cores, a
/// checkpoint at normal priority would delay writes.
fn lower_priority() {
    // On other systems, this would change the priority of the whole process. A failure only affects the
    // speed.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, THREAD_NICENESS);
}

fn run_checkpoints(
    connection: &Connection,
    woken: &Receiver<()>,
    over: &Receiver<()>,
    restart_requested: &AtomicBool,
) {
    lower_priority();
    let mut bound = LogBound(MAX_LOG_PAGES);
    while woken.recv().is_ok() {
        // A checkpoint that failed is repeated after the next commit.
        let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(1));
        if pages.is_ok_and(|pages| bound.is_passed(pages)) {
            restart_requested.store(true, Ordering::Relaxed);
        }
        if over.recv_timeout(CHECKPOINT_INTERVAL) == Err(RecvTimeoutError::Disconnected) {
            return;
        }
    }
}

/// The number of pages in the log above which a restart is requested.
struct LogBound(i64);

impl LogBound {
    /// Returns true if the log exceeds the limit, and raises the limit in that case. Resets the limit if the
    /// log is short again. A negative number means that another connection is running a checkpoint.
    fn is_passed(&mut self, pages: i64) -> bool {
        let is_passed = pages > self.0;
        if is_passed {
            self.0 = pages.saturating_add(MAX_LOG_PAGES);
        } else if (0..=MAX_LOG_PAGES).contains(&pages) {
            self.0 = MAX_LOG_PAGES;
        }
        is_passed
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::store::{Store, StoreError, StoreLocation, StoreOptions};

    /// A restart is requested once per 64 MiB of growth, and again after the log was restarted.
    #[test]
    fn blocked_restart_is_not_retried_at_every_commit() {
        let mut bound = LogBound(MAX_LOG_PAGES);
        let requested = [
            0,
            MAX_LOG_PAGES,
            MAX_LOG_PAGES + 1,
            MAX_LOG_PAGES + 1,
            2 * MAX_LOG_PAGES + 1,
            2 * MAX_LOG_PAGES + 2,
            -1,
        ];
        assert_eq!(
            requested.map(|pages| bound.is_passed(pages)),
            [false, false, true, false, false, true, false]
        );
        assert!(!bound.is_passed(3 * MAX_LOG_PAGES), "a failed checkpoint does not lower the limit");
        assert_eq!([7, MAX_LOG_PAGES + 1].map(|pages| bound.is_passed(pages)), [false, true]);
    }

    /// A long read does not block writes: the restart of the write-ahead log gives up soon, and the busy
    /// timeout is restored.
    #[test]
    fn long_read_does_not_block_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        writer.busy_timeout(BUSY_TIMEOUT).unwrap();
        let reader = Connection::open(&path).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM t").unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let before = Instant::now();
        restart_log(&writer);
        assert!(before.elapsed() < BUSY_TIMEOUT / 2);
        let patience: u32 = writer.query_row("PRAGMA busy_timeout", [], |row| row.get(0)).unwrap();
        assert_eq!(Duration::from_millis(patience.into()), BUSY_TIMEOUT);
    }

    /// A log file that grew during a long read is truncated at the restart. A short one keeps its size.
    #[test]
    fn file_of_a_long_log_is_truncated() {
        const LIMIT: u64 = 1 << 20;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (a)").unwrap();
        limit_log_file(&writer, 1 << 20).unwrap();
        let log = || std::fs::metadata(folder.path().join("store.db-wal")).unwrap().len();
        let lengths = |bytes: i64| {
            writer.execute("INSERT INTO t VALUES (zeroblob(?1))", [bytes]).unwrap();
            let before = log();
            restart_log(&writer);
            writer.execute_batch("DELETE FROM t").unwrap();
            (before, log())
        };
        let (before, after) = lengths(1 << 19);
        assert_eq!(before, after);
        let (before, after) = lengths(1 << 22);
        assert!(before > LIMIT && after == LIMIT, "{before} {after}");
    }

    /// `Store::open` configures the writer's connection for background checkpoints.
    #[tokio::test]
    async fn store_checkpoints_in_the_background() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()))).unwrap();
        let settings = store.write(|connection| {
            let one = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
            let all = (one("PRAGMA wal_autocheckpoint")?, one("PRAGMA journal_size_limit")?);
            Ok::<_, StoreError>(all)
        });
        assert_eq!(settings.await.unwrap(), (0, MAX_LOG_BYTES));
    }
}
