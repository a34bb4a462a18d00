//! How the service is: `/healthz`, `/readyz`, and `/metrics` for Prometheus.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use http::{StatusCode, header};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::registry;
use crate::store::Store;

/// Whether requests should be sent here.
#[derive(Clone)]
pub struct Readiness {
    store: Store,
    stopping: Arc<AtomicBool>,
}

impl fmt::Debug for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Readiness").field("stopping", &self.stopping).finish_non_exhaustive()
    }
}

impl Readiness {
    /// Ready as long as this store can be read.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, stopping: Arc::default() }
    }

    /// From now on requests should go elsewhere.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    async fn status(&self) -> (StatusCode, &'static str) {
        if self.stopping.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        match self.store.read(registry::is_readable).await {
            Ok(_) => (StatusCode::OK, "ready\n"),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read\n"),
        }
    }
}

/// `/healthz` (the process answers) and `/readyz` (it can do its work): for any listener.
///
/// A gateway whose backend cannot be reached is ready: sign-in, refresh, pages and the contract go on without it, and
/// the backend says itself how it is.
pub fn health(readiness: Readiness) -> Router {
    Router::new().route("/healthz", get(async || "ok\n")).route(
        "/readyz",
        get(move || {
            let readiness = readiness.clone();
            async move { readiness.status().await }
        }),
    )
}

/// The counters of this process.
#[derive(Clone)]
pub struct Metrics(PrometheusHandle);

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

/// Bounds of the durations, in seconds.
const BOUNDS: [f64; 11] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// How often what was recorded is added up, whether or not anybody asks.
const ADDED_UP: Duration = Duration::from_secs(5);

impl Metrics {
    /// Counts for the whole process from now on.
    ///
    /// # Errors
    /// When somebody counts already.
    pub fn install() -> Result<Self, BuildError> {
        Ok(Self(builder()?.install_recorder()?))
    }

    /// Adds up what was recorded, for as long as it is awaited.
    pub async fn add_up(self) {
        loop {
            tokio::time::sleep(ADDED_UP).await;
            self.0.run_upkeep();
        }
    }

    /// `/metrics`: for a listener of its own, which only those can reach who may know.
    pub fn router(self) -> Router {
        Router::new().route(
            "/metrics",
            get(move || {
                let metrics = self.clone();
                async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.0.render()) }
            }),
        )
    }
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BOUNDS)
}
