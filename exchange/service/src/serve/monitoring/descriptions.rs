//! The names, kinds and help texts of all metrics of this crate. `metrics-process` adds those of the process.

use metrics::{describe_counter, describe_gauge, describe_histogram};

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}

use MetricKind::{Counter, Gauge, Histogram};

/// All metrics with their help texts.
const METRICS: [(MetricKind, &str, &str); 22] = [
    (Counter, "exchange_requests_total", "Requests to the gateway, by operation, status and error code."),
    (Histogram, "exchange_request_seconds", "Durations of requests to the gateway, by operation."),
    (
        Counter,
        "exchange_endpoint_requests_total",
        "Requests to the identity provider and the web pages, by endpoint, method, status and error.",
    ),
    (
        Histogram,
        "exchange_endpoint_request_seconds",
        "Durations of requests to the identity provider and the web pages, by endpoint.",
    ),
    (Counter, "exchange_sign_ins_total", "Attempts to sign in on the web pages, by outcome."),
    (
        Counter,
        "exchange_new_installations_total",
        "Installations that called the exchange for the first time.",
    ),
    (
        Counter,
        "exchange_unusual_installations_total",
        "New installations above `limits.new-installations` of one member within 24 hours.",
    ),
    (Histogram, "exchange_store_commit_seconds", "Durations of transactions of the writer, with the commit."),
    (
        Counter,
        "exchange_store_writes_total",
        "Writes that the writer has run. A transaction has one or more.",
    ),
    (Counter, "exchange_store_failures_total", "Transactions of the writer that failed, by reason."),
    (Gauge, "exchange_store_queue_length", "Work that waits for the writer or a reader, by queue."),
    (
        Gauge,
        "exchange_store_queue_capacity",
        "The maximum length of each queue. A full queue refuses requests.",
    ),
    (Gauge, "exchange_store_bytes", "The size of the database and of its write-ahead log, in bytes."),
    (Gauge, "exchange_store_free_bytes", "The free space of the file system with the data folder, in bytes."),
    (Gauge, "exchange_connections", "Open connections to the listener of the service."),
    (Gauge, "exchange_connections_limit", "The maximum number of open connections."),
    (Gauge, "exchange_usage", "The part of a bounded cache or budget that is in use, by resource."),
    (Gauge, "exchange_usage_limit", "The size of a bounded cache or budget, by resource."),
    (Gauge, "exchange_upkeep_leading", "1 if this process runs the upkeep, 0 if another process does."),
    (Counter, "exchange_upkeep_removed_total", "Rows that the upkeep has deleted or ended, by task."),
    (Counter, "exchange_upkeep_failures_total", "Runs of an upkeep task that failed, by task."),
    (
        Gauge,
        "exchange_upkeep_ended_seconds",
        "The time at which an upkeep task was last completed, in seconds since the Unix epoch.",
    ),
];

/// Describes all metrics to the installed recorder.
pub(super) fn describe_all() {
    describe_gauge!("exchange_build_info", "The version of the service, as a label of the value 1.");
    for (kind, name, help) in METRICS {
        match kind {
            Counter => describe_counter!(name, help),
            Gauge => describe_gauge!(name, help),
            Histogram => describe_histogram!(name, help),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// Collects the names of metrics in macros of the source files below a folder.
    fn used_names(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                used_names(&path, names);
            } else if !path.ends_with("descriptions.rs") {
                let text = fs::read_to_string(&path).unwrap_or_default();
                for kind in ["counter!(", "gauge!(", "histogram!("] {
                    for call in text.split(kind).skip(1) {
                        let name =
                            call.trim_start().strip_prefix('"').and_then(|name| name.split('"').next());
                        names.extend(name.filter(|name| name.starts_with("exchange_")).map(str::to_owned));
                    }
                }
            }
        }
    }

    /// Each metric in the source code has a help text and is in `docs/operations.md`, and no other.
    #[test]
    fn every_metric_is_described_and_documented() {
        let mut used = BTreeSet::new();
        used_names(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut used);
        let described: BTreeSet<_> = METRICS
            .iter()
            .map(|(_, name, _)| (*name).to_owned())
            .chain(["exchange_build_info".to_owned()])
            .collect();
        assert_eq!(used, described);
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.md");
        let page = fs::read_to_string(page).unwrap();
        for (_, name, help) in METRICS {
            assert!(page.contains(&format!("| `{name}` |")), "{name}");
            assert!(help.ends_with('.') && help.len() > 20, "{name}: {help}");
        }
    }

    /// The alert rules and the dashboard use only metrics that exist.
    #[test]
    fn deployment_files_use_existing_metrics() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy");
        for file in ["alerts.yml", "alerts.test.yml", "dashboard.json"] {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            let used: BTreeSet<_> = words
                .filter(|word| word.starts_with("exchange_"))
                .map(|word| word.trim_end_matches("_bucket"))
                .filter(|word| *word != "exchange_build_info")
                .collect();
            assert!(used.len() >= 4, "{file}");
            for name in used {
                assert!(METRICS.iter().any(|(_, known, _)| *known == name), "{file}: {name}");
            }
        }
        let dashboard = fs::read_to_string(folder.join("dashboard.json")).unwrap();
        let dashboard: serde_json::Value = dashboard.parse().unwrap();
        assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
    }
}
