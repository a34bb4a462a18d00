//! Checkpoints: the log is written back beside the writer, so that no write waits for it; only a log
//! that outgrows its bound is begun anew by the writer itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::OpenError;

/// A log of more pages than this, 64 MiB, is begun anew by the writer, whoever waits.
const LONGEST_LOG: i64 = 16_384;
/// A file of more bytes than this is cut then: some reader held on to it for long. Any other is written over, which
/// is forced to the disk in less time than a file that grows.
const LONGEST_FILE: u64 = 128 << 20;
/// How long the background checkpoint rests: pages that are written again and again meanwhile are written back once.
const REST: Duration = Duration::from_millis(250);

/// The writer's side of it.
pub(super) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    anew: Arc<AtomicBool>,
    log: PathBuf,
}

impl Checkpoints {
    /// For a store that has no log.
    pub(super) fn none() -> Self {
        Self { wake: None, anew: Arc::default(), log: PathBuf::new() }
    }

    /// Starts the background thread over the database at a path.
    ///
    /// # Errors
    /// When a connection or a thread cannot be had.
    pub(super) fn start(path: &Path) -> Result<Self, OpenError> {
        let connection = Connection::open(path)?;
        connection.execute_batch("PRAGMA busy_timeout = 1000;")?;
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let (wake, woken) = sync_channel(1);
        let log = PathBuf::from(log);
        let anew = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&anew);
        thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || run(&connection, &woken, &told))
            .map_err(OpenError::Thread)?;
        Ok(Self { wake: Some(wake), anew, log })
    }

    /// Told after every commit, on the writer's thread.
    pub(super) fn committed(&self, connection: &Connection) {
        let Some(wake) = &self.wake else { return };
        if self.anew.swap(false, Ordering::Relaxed) {
            let is_long = fs::metadata(&self.log).is_ok_and(|log| log.len() > LONGEST_FILE);
            // A reader that holds the log keeps it; it is tried again after a later commit.
            let _ = connection.execute_batch(if is_long {
                "PRAGMA wal_checkpoint(TRUNCATE)"
            } else {
                "PRAGMA wal_checkpoint(RESTART)"
            });
        }
        // Full means that it is awake already.
        let _ = wake.try_send(());
    }
}

/// Ends with the writer.
fn run(connection: &Connection, woken: &Receiver<()>, anew: &AtomicBool) {
    while woken.recv().is_ok() {
        // One that fails is tried again after the next commit.
        let pages = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| row.get::<_, i64>(1));
        if pages.is_ok_and(|pages| pages > LONGEST_LOG) {
            anew.store(true, Ordering::Relaxed);
        }
        thread::sleep(REST);
    }
}
