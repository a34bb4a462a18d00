//! Measures the memory of ten thousand idle connections, and their effect on other requests.

use std::time::Duration;

use crate::place::Place;
use crate::report::{Report, millis};
use crate::server::Server;
use crate::signed::{DOCUMENT, Signer};
use crate::{Outcome, drive, machine};

/// The number of idle connections.
const RESTING: usize = 10_000;
/// The number of open files besides the idle connections.
const OTHERS: u64 = 200;
/// The number of other requests, and their interval.
const REQUESTS: usize = 2000;
const EVERY: Duration = Duration::from_millis(2);
/// The time after which memory is stable.
const SETTLE: Duration = Duration::from_secs(1);

/// Opens the connections, keeps them idle, and measures other requests.
pub(crate) async fn run(report: &mut Report) -> Outcome<()> {
    let place = Place::planted(0).await?;
    // The service inherits the limit.
    let files = machine::raise_open_files().unwrap_or(0);
    if files < RESTING as u64 + OTHERS {
        return Err(
            format!("{files} open files are allowed; {RESTING} connections need more: ulimit -Hn").into()
        );
    }
    // This is longer than the default idle timeout.
    let configuration = place.configuration(|config| config.serve.head_seconds = 600)?;
    let server = Server::serve(&configuration, place.address())?;
    let signer = Signer::new(&place).await?;
    let ask = async || {
        let wires = drive::connect(place.address(), 32).await?;
        let (driven, _) = drive::open(wires, signer.sign_many(&DOCUMENT, REQUESTS)?, EVERY, 200).await?;
        Outcome::Ok(driven.sound()?.latencies)
    };
    // The first round is not counted, because a new process is slower.
    ask().await?;
    let alone = ask().await?;
    report.latencies("500 requests a second, alone", &alone);
    let before = server.memory();
    let mut wires = drive::connect(place.address(), RESTING).await?;
    // Each connection is used once, as connections of clients are.
    for wire in &mut wires {
        let response = wire.call(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await?;
        if response.status != 200 {
            return Err(format!("{}: {}", response.status, response.complaint).into());
        }
    }
    tokio::time::sleep(SETTLE).await;
    if let (Some(before), Some(after)) = (before, server.memory()) {
        let each = after.own.saturating_sub(before.own) / RESTING as u64;
        #[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
        report.tell("memory of a resting connection", each as f64 / 1024.0, "KiB");
        report.tell("memory in all, 10,000 of them", crate::start::mebibytes(after.resident), "MiB");
    }
    let crowded = ask().await?;
    report.latencies("500 requests a second beside 10,000", &crowded);
    let p99 = |all: &hdrhistogram::Histogram<u64>| millis(all.value_at_quantile(0.99));
    report.tell("p99 beside them, to alone", p99(&crowded) / p99(&alone), "");
    drop(wires);
    Ok(())
}
