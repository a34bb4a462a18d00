//! Checkpoints: the log is written back beside the writer, so that no write waits for it; only a log
//! that outgrows its bound is cut by the writer itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::OpenError;

/// A log of more bytes than this is cut by the writer, whoever waits.
const LONGEST_LOG: u64 = 64 << 20;
/// How long the background checkpoint rests, so that a busy writer is not checkpointed without end.
const REST: Duration = Duration::from_millis(50);

/// The writer's side of it.
pub(super) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    cut: Arc<AtomicBool>,
}

impl Checkpoints {
    /// For a store that has no log.
    pub(super) fn none() -> Self {
        Self { wake: None, cut: Arc::default() }
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
        let cut = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&cut);
        thread::Builder::new()
            .name("checkpoint".to_owned())
            .spawn(move || run(&connection, &PathBuf::from(log), &woken, &told))
            .map_err(OpenError::Thread)?;
        Ok(Self { wake: Some(wake), cut })
    }

    /// Told after every commit, on the writer's thread.
    pub(super) fn committed(&self, connection: &Connection) {
        let Some(wake) = &self.wake else { return };
        if self.cut.swap(false, Ordering::Relaxed) {
            // A reader that holds the log keeps it; the next commit tries again.
            let _ = connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        }
        // Full means that it is awake already.
        let _ = wake.try_send(());
    }
}

/// Ends with the writer.
fn run(connection: &Connection, log: &Path, woken: &Receiver<()>, cut: &AtomicBool) {
    while woken.recv().is_ok() {
        // It is tried again after the next commit.
        let _ = connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)");
        if fs::metadata(log).is_ok_and(|log| log.len() > LONGEST_LOG) {
            cut.store(true, Ordering::Relaxed);
        }
        thread::sleep(REST);
    }
}
