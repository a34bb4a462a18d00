//! The readiness of a process: whether load balancers should send requests to it.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Mutex;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use crate::environment::Environment;
use crate::registry;
use crate::store::{Store, StoreError};

/// The period for which the result of a write probe is used for further requests, so that requests from the
/// network cannot cause many writes.
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
/// The time after which the writer counts as stuck. It is longer than the time for which the writer waits for
/// another process.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

/// The readiness of this process. Clones share the state.
#[derive(Clone)]
pub struct Readiness {
    store: Store,
    environment: Environment,
    stopping: Arc<AtomicBool>,
    write_probe: Arc<Mutex<WriteProbe>>,
    timeout: Duration,
}

/// The last write probe. A probe that has not ended is not repeated, so that a stuck writer's queue does not
/// fill with probes.
#[derive(Default)]
struct WriteProbe {
    last: Option<(Instant, Result<(), &'static str>)>,
    running: Option<JoinHandle<Result<(), StoreError>>>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("stopping", &self.stopping).finish_non_exhaustive()
    }
}

impl Readiness {
    /// Creates a readiness check that reads and writes the given store.
    #[must_use]
    pub fn new(store: Store, environment: Environment) -> Self {
        let write_probe = Arc::default();
        Self { store, environment, stopping: Arc::default(), write_probe, timeout: PROBE_TIMEOUT }
    }

    /// Makes `/readyz` report that the process is stopping.
    pub fn mark_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(super) async fn probe_status(&self) -> (StatusCode, &'static str) {
        if self.stopping.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        if self.store.read(registry::check_readable).await.is_err() {
            return (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read\n");
        }
        match self.probe_write().await {
            Ok(()) => (StatusCode::OK, "ready\n"),
            Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, reason),
        }
    }

    /// Checks that a small write succeeds in time. Concurrent requests share one probe.
    async fn probe_write(&self) -> Result<(), &'static str> {
        let mut probe = self.write_probe.lock().await;
        if let Some((at, result)) = probe.last
            && at.elapsed() < PROBE_INTERVAL
        {
            return result;
        }
        let mut running = probe.running.take().unwrap_or_else(|| {
            let (store, now) = (self.store.clone(), self.environment.now());
            tokio::spawn(async move { store.probe_write(now).await })
        });
        let result = match timeout(self.timeout, &mut running).await {
            Err(_) => {
                probe.running = Some(running);
                Err("the writer of the store is stuck\n")
            }
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(StoreError::Full))) => Err("the disk is full\n"),
            Ok(_) => Err("the store cannot be written\n"),
        };
        probe.last = Some((Instant::now(), result));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{StoreLocation, StoreOptions};

    fn readiness(store: &Store) -> Readiness {
        Readiness::new(store.clone(), Environment::system())
    }

    /// A full disk is reported, although the store can still be read.
    #[tokio::test]
    async fn full_disk_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()))).unwrap();
        assert_eq!(readiness(&store).probe_status().await, (StatusCode::OK, "ready\n"));
        // The limit stands for the size of the disk. Rows beside that of the probe fill the existing pages.
        let bound = store.write(|connection| {
            connection.query_row("PRAGMA max_page_count = 1", [], |_| Ok(()))?;
            connection.execute("DELETE FROM setting WHERE name = 'write-probe'", [])?;
            Ok::<_, StoreError>(())
        });
        bound.await.unwrap();
        let fill = async |number: u32| {
            let insert = move |connection: &rusqlite::Connection| {
                let sql = "INSERT INTO setting (name, value) VALUES (?1, 'x')";
                connection.execute(sql, [format!("write-prob{number:04}")])?;
                Ok::<_, StoreError>(())
            };
            store.write_ahead(insert).await
        };
        let mut number = 0;
        while fill(number).await.is_ok() {
            number += 1;
        }
        let (status, reason) = readiness(&store).probe_status().await;
        assert_eq!((status, reason), (StatusCode::SERVICE_UNAVAILABLE, "the disk is full\n"));
        store.read(registry::check_readable).await.unwrap();
    }

    /// A stuck writer is reported, and gets no further probes. Once it continues, the process is ready again.
    #[tokio::test]
    async fn stuck_writer_is_not_ready() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreOptions::new(StoreLocation::Folder(folder.path().to_owned()))).unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let blocked = tokio::spawn({
            let store = store.clone();
            async move {
                let work = move |_: &rusqlite::Connection| {
                    let _ = wait.recv();
                    Ok::<(), StoreError>(())
                };
                store.write(work).await
            }
        });
        tokio::task::yield_now().await;
        let mut readiness = readiness(&store);
        readiness.timeout = Duration::ZERO;
        let stuck = (StatusCode::SERVICE_UNAVAILABLE, "the writer of the store is stuck\n");
        for _ in 0..3 {
            assert_eq!(readiness.probe_status().await, stuck);
            readiness.write_probe.lock().await.last = None;
        }
        assert!(store.write_queue().0 <= 2, "a probe is not repeated: {:?}", store.write_queue());
        drop(go);
        blocked.await.unwrap().unwrap();
        readiness.timeout = Duration::from_secs(60);
        assert_eq!(readiness.probe_status().await, (StatusCode::OK, "ready\n"));
    }
}
