//! Measures the time to the first response, the memory of an idle process, and the size of the binary.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use crate::data_folder::DataFolder;
use crate::report::{Goal, Report, millis};
use crate::server::{BINARY, Server};
use crate::{Outcome, load_generators};

/// The number of starts of each kind.
const STARTS: usize = 25;
/// The idle time before the memory is measured.
const REST: Duration = Duration::from_secs(2);
/// The goal for the start time, in milliseconds.
const START: f64 = 50.0;
/// The goal for the memory of an idle service, in MiB.
const MEBIBYTES: f64 = 20.0;

/// Starts the service repeatedly and reports the results.
pub(crate) async fn run(report: &mut Report) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    let configuration = data_folder.configuration(|_| {})?;
    several(report, "serve", || Server::serve(&configuration, data_folder.address())).await?;
    let address: SocketAddr = data_folder.address();
    several(report, "sandbox on its folder", || Server::sandbox(data_folder.data(), address)).await?;
    let (all, stripped) = size()?;
    report.record("the binary with line tables", mebibytes(all), "MiB");
    match stripped {
        Some(stripped) => report.record("the binary, stripped", mebibytes(stripped), "MiB"),
        None => report.record("the binary, stripped (there is no `strip` here)", f64::NAN, "MiB"),
    }
    Ok(())
}

async fn several(report: &mut Report, what: &str, start: impl Fn() -> Outcome<Server>) -> Outcome<()> {
    let mut took = load_generators::histogram()?;
    for _ in 0..STARTS {
        let server = start()?;
        took.record(u64::try_from(server.started_in.as_micros())?)?;
    }
    let p50 = millis(took.value_at_quantile(0.5));
    report.record_with_goal(format!("{what}, start to first response, p50"), p50, "ms", Goal::AtMost(START));
    report.record(format!("{what}, start to first response, max"), millis(took.max()), "ms");
    let server = start()?;
    tokio::time::sleep(REST).await;
    if let Some(memory) = server.memory() {
        let resident = mebibytes(memory.resident);
        report.record_with_goal(format!("{what}, idle memory"), resident, "MiB", Goal::AtMost(MEBIBYTES));
        report.record(
            format!("{what}, idle memory that is not file-backed"),
            mebibytes(memory.anonymous),
            "MiB",
        );
    }
    Ok(())
}

/// Returns the size of the binary in bytes, before and after stripping.
fn size() -> Outcome<(u64, Option<u64>)> {
    let folder = tempfile::tempdir()?;
    let stripped = folder.path().join("stripped");
    let done = Command::new("strip").arg("-o").arg(&stripped).arg(BINARY).status();
    let stripped = done.ok().filter(std::process::ExitStatus::success).map(|_| std::fs::metadata(&stripped));
    Ok((std::fs::metadata(BINARY)?.len(), stripped.transpose()?.map(|file| file.len())))
}

#[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
pub(crate) fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
