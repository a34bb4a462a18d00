//! Measures the memory of ten thousand idle connections, and their effect on other requests.

use std::time::Duration;

use crate::data_folder::DataFolder;
use crate::report::{Report, millis};
use crate::server::Server;
use crate::signed_requests::{DOCUMENT, Signer};
use crate::{Outcome, load_generators, machine};

/// The number of idle connections.
const IDLE_CONNECTIONS: usize = 10_000;
/// The number of open files besides the idle connections.
const OTHERS: u64 = 200;
/// The number of other requests, and their interval.
const REQUESTS: usize = 2000;
const REQUEST_INTERVAL: Duration = Duration::from_millis(2);
/// The time after which memory is stable.
const SETTLE: Duration = Duration::from_secs(1);

/// Opens the connections, keeps them idle, and measures other requests.
pub(crate) async fn run(report: &mut Report) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    // The service inherits the limit.
    let files = machine::raise_open_files().unwrap_or(0);
    if files < IDLE_CONNECTIONS as u64 + OTHERS {
        return Err(format!(
            "{files} open files are allowed; {IDLE_CONNECTIONS} connections need more: ulimit -Hn"
        )
        .into());
    }
    // This is longer than the default idle timeout.
    let configuration = data_folder.configuration(|config| config.serve.head_seconds = 600)?;
    let server = Server::serve(&configuration, data_folder.address())?;
    let signer = Signer::new(&data_folder).await?;
    let ask = async || {
        let connections = load_generators::connect(data_folder.address(), 32).await?;
        let (driven, _) =
            load_generators::open(connections, signer.sign_many(&DOCUMENT, REQUESTS)?, REQUEST_INTERVAL, 200)
                .await?;
        Outcome::Ok(driven.ensure_expected()?.latencies)
    };
    // The first round is not counted, because a new process is slower.
    ask().await?;
    let baseline = ask().await?;
    report.latencies("500 requests a second, without idle connections", &baseline);
    let before = server.memory();
    let mut connections = load_generators::connect(data_folder.address(), IDLE_CONNECTIONS).await?;
    // Each connection is used once, as connections of clients are.
    for http_connection in &mut connections {
        let response = http_connection.call(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        if response.status != 200 {
            return Err(format!("{}: {}", response.status, response.error_excerpt).into());
        }
    }
    tokio::time::sleep(SETTLE).await;
    if let (Some(before), Some(after)) = (before, server.memory()) {
        let each = after.anonymous.saturating_sub(before.anonymous) / IDLE_CONNECTIONS as u64;
        #[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
        report.record("memory of an idle connection", each as f64 / 1024.0, "KiB");
        report.record(
            "memory of the service, 10,000 idle connections",
            crate::start::mebibytes(after.resident),
            "MiB",
        );
    }
    let with_idle = ask().await?;
    report.latencies("500 requests a second, 10,000 idle connections", &with_idle);
    let p99 = |all: &hdrhistogram::Histogram<u64>| millis(all.value_at_quantile(0.99));
    report.record("ratio of p99 with idle connections to without", p99(&with_idle) / p99(&baseline), "");
    drop(connections);
    Ok(())
}
