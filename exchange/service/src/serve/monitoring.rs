//! The monitoring endpoints: `/healthz`, `/readyz`, and `/metrics` for Prometheus.

mod descriptions;
mod gauges;
mod readiness;

use std::fmt;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use http::header;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

pub use gauges::GaugeSource;
pub use readiness::Readiness;

/// Returns a router with `/healthz`, which succeeds if the process responds, and `/readyz`, which succeeds if
/// the store can be read and written.
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
const BUCKET_BOUNDS: [f64; 13] =
    [0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The interval at which histograms are aggregated, even without scrapes.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

impl MetricsRecorder {
    /// Installs the recorder for the whole process, with a help text for each metric.
    ///
    /// # Errors
    /// Returns a [`BuildError`] if a recorder is already installed.
    pub fn install() -> Result<Self, BuildError> {
        let recorder = Self(prometheus_builder()?.install_recorder()?);
        descriptions::describe_all();
        metrics_process::Collector::default().describe();
        Ok(recorder)
    }

    /// Aggregates histograms periodically, without end.
    pub async fn run_upkeep(self) {
        loop {
            tokio::time::sleep(UPKEEP_INTERVAL).await;
            self.0.run_upkeep();
        }
    }

    /// Returns a router with `/metrics`. It must be served by a separate listener that is not public. Gauges are
    /// read from their sources for each request.
    pub fn into_router(self, gauges: GaugeSource) -> Router {
        let process = metrics_process::Collector::default();
        Router::new().route(
            "/metrics",
            get(move || {
                let (metrics, gauges, process) = (self.clone(), gauges.clone(), process.clone());
                async move {
                    process.collect();
                    gauges.collect().await;
                    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], metrics.0.render())
                }
            }),
        )
    }
}

fn prometheus_builder() -> Result<PrometheusBuilder, BuildError> {
    PrometheusBuilder::new().set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &BUCKET_BOUNDS)
}
