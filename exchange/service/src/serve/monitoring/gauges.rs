//! Gauges that are read when `/metrics` is requested: the store, its queues, connections, caches and budgets.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use metrics::gauge;
use rusqlite::Connection;

use crate::config::Config;
use crate::gateway::Gateway;
use crate::serve::{RequestDispatcher, Server};
use crate::store::{Store, StoreError, query_count};

/// The sources of gauges. Clones share them.
#[derive(Clone)]
pub struct GaugeSource {
    store: Store,
    folder: PathBuf,
    gateway: Option<Gateway>,
    connections: (Arc<AtomicUsize>, usize),
    /// The maximum sizes of stored responses and of drafts, in bytes.
    budgets: [(&'static str, u64); 2],
}

impl std::fmt::Debug for GaugeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GaugeSource").finish_non_exhaustive()
    }
}

impl GaugeSource {
    /// Creates the source for a server, its dispatcher and its store.
    #[must_use]
    pub fn new(store: Store, config: &Config, dispatcher: &RequestDispatcher, server: &Server) -> Self {
        Self {
            store,
            folder: config.serve.data.clone(),
            gateway: dispatcher.gateway().cloned(),
            connections: server.connection_usage(),
            budgets: [("responses", config.limits.kept_bytes), ("drafts", config.drafts.bytes)],
        }
    }

    pub(super) async fn collect(&self) {
        gauge!("exchange_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1);
        for (queue, (length, capacity)) in
            [("write", self.store.write_queue()), ("read", self.store.read_queue())]
        {
            gauge!("exchange_store_queue_length", "queue" => queue).set(length as f64);
            gauge!("exchange_store_queue_capacity", "queue" => queue).set(capacity as f64);
        }
        for (file, name) in [("database", "exchange.db"), ("log", "exchange.db-wal")] {
            let bytes = std::fs::metadata(self.folder.join(name)).map_or(0, |file| file.len());
            gauge!("exchange_store_bytes", "file" => file).set(bytes as f64);
        }
        if let Some(bytes) = free_bytes(&self.folder) {
            gauge!("exchange_store_free_bytes").set(bytes as f64);
        }
        let (open, maximum) = &self.connections;
        gauge!("exchange_connections").set(open.load(Ordering::Relaxed) as f64);
        gauge!("exchange_connections_limit").set(*maximum as f64);
        for (name, used, limit) in self.gateway.iter().flat_map(Gateway::usage) {
            set_usage(name, used, limit);
        }
        // A store that cannot be read is reported by `/readyz`, and its gauges keep their last values.
        if let Ok([responses, drafts]) = self.store.read(read_budgets).await {
            for ((name, limit), used) in self.budgets.into_iter().zip([responses, drafts]) {
                set_usage(name, used, limit);
            }
        }
    }
}

fn set_usage(name: &'static str, used: u64, limit: u64) {
    gauge!("exchange_usage", "resource" => name).set(used as f64);
    gauge!("exchange_usage_limit", "resource" => name).set(limit as f64);
}

/// Reads the number of bytes of stored responses and of drafts.
fn read_budgets(connection: &Connection) -> Result<[u64; 2], StoreError> {
    let responses = "SELECT coalesce(sum(bytes), 0) FROM kept_bytes WHERE client = '' AND member = ''";
    let drafts = "SELECT coalesce(sum(size), 0) FROM draft";
    Ok([query_count(connection, responses, [])?, query_count(connection, drafts, [])?])
}

/// Returns the free space of the file system of the folder, as available to this process.
#[cfg(target_os = "linux")]
fn free_bytes(folder: &Path) -> Option<u64> {
    let status = rustix::fs::statvfs(folder).ok()?;
    Some(status.f_bavail.saturating_mul(status.f_frsize))
}

#[cfg(not(target_os = "linux"))]
fn free_bytes(_: &Path) -> Option<u64> {
    None
}
