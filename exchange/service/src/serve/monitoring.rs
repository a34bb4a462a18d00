//! The monitoring endpoints: `/healthz`, `/readyz`, and `/metrics` for Prometheus.

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

/// The readiness of this process: whether load balancers should send requests to it.
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
    /// Creates a readiness check that reads the given store.
    #[must_use]
    pub fn new(store: Store) -> Self {
        Self { store, stopping: Arc::default() }
    }

    /// Makes `/readyz` report that the process is stopping.
    pub fn mark_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    async fn probe_status(&self) -> (StatusCode, &'static str) {
        if self.stopping.load(Ordering::Relaxed) {
            return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
        }
        match self.store.read(registry::check_readable).await {
            Ok(_) => (StatusCode::OK, "ready\n"),
            Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "the store cannot be read\n"),
        }
    }
}

/// Returns a router with `/healthz`, which succeeds if the process responds, and `/readyz`, which succeeds if
/// the store can be read.
///
/// A gateway is ready even if its backend is unreachable: sign-in, token refresh, web pages and the files of
/// the contract work without the backend, and the backend has its own endpoints.
pub fn health_router(readiness: Readiness) -> Router {
    Router::new().route("/healthz", get(async || "ok\n")).route(
        "/readyz",
        get(move || {
            let readiness = readiness.clone();
            async move { readiness.probe_status().await }
        }),
    )
}

/// The recorder of the metrics of this process.
#[derive(Clone)]
pub struct MetricsRecorder(PrometheusHandle);

impl fmt::Debug for MetricsRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsRecorder")
    }
}

/// The upper bounds of the buckets of duration histograms, in seconds.
const BUCKET_BOUNDS: [f64; 11] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The interval at which histograms are aggregated, even without scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

impl MetricsRecorder {
    /// Installs the recorder for the whole process.
    ///
    /// # Errors
    /// Returns a [`BuildError`] if a recorder is already installed.
    pub fn install() -> Result<Self, BuildError> {
        Ok(Self(prometheus_builder()?.install_recorder()?))
    }

    /// Aggregates histograms periodically, without end.
    pub async fn run_upkeep(self) {
        loop {
            tokio::time::sleep(UPKEEP_INTERVAL).await;
            self.0.run_upkeep();
        }
    }

    /// Returns a router with `/metrics`. It must be served by a separate listener that is not public.
    pub fn into_router(self) -> Router {
        Router::new().route(
            "/metrics",
            get(move || {
                let metrics = self.clone();
                async move { ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.0.render()) }
            }),
        )
    }
}

fn prometheus_builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKET_BOUNDS)
}
