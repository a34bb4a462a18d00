//! Measures change sets of 1, 100 and 500 ops one after another, with an empty journal and with one of a
//! million rows.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;

use crate::data_folder::{DataFolder, MEMBERS, record};
use crate::report::{Goal, Report};
use crate::server::Server;
use crate::signed_requests::{Signer, Target};
use crate::{Options, Outcome, load_generators};

/// The number of rows in the long journal.
const ROWS: u32 = 1_000_000;
const SIZES: [usize; 3] = [1, 100, 500];
/// The number of change sets that add entries, before the same number of change sets removes them.
const BLOCKS: usize = 4;
/// The number of change sets for warming up.
const WARM_UP_SETS: usize = 64;
/// The maximum number of change sets per size, and the maximum time. It is short because proofs are valid for
/// thirty seconds.
const SETS: usize = 3000;
const MAX_DURATION: Duration = Duration::from_secs(12);
/// The goal for the 99th percentile of change sets with 500 ops, in milliseconds.
const MAX_P99_MILLIS: f64 = 15.0;
/// The maximum factor by which a long journal may slow a change set down.
const MAX_SLOWDOWN: f64 = 1.2;

/// Measures writes with both journals and compares them.
pub(crate) async fn run(report: &mut Report, options: &Options) -> Outcome<()> {
    let empty = on(report, 0, options).await?;
    let long = on(report, ROWS, options).await?;
    for ((size, empty), long) in SIZES.into_iter().zip(empty).zip(long) {
        for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
            let of = |all: &Histogram<u64>| crate::report::millis(all.value_at_quantile(quantile));
            let what = format!("{size} ops, long journal to empty, {name}");
            report.record_with_goal(what, of(&long) / of(&empty), "", Goal::AtMost(MAX_SLOWDOWN));
        }
    }
    Ok(())
}

async fn on(report: &mut Report, rows: u32, options: &Options) -> Outcome<Vec<Histogram<u64>>> {
    let data_folder = DataFolder::prepare(rows).await?;
    let name = if rows == 0 { "empty journal" } else { "a million rows" };
    report.record(format!("{name}: fsync of 4 KiB, p50"), disk(data_folder.data())?, "ms");
    let server = Server::serve(&data_folder.configuration(|_| {})?, data_folder.address())?;
    let signer = Signer::new(&data_folder).await?;
    let mut connections = load_generators::connect(data_folder.address(), 1).await?;
    let mut all = Vec::new();
    for size in SIZES {
        let targets = targets(size)?;
        let sign = |from: usize, count: usize| {
            let one = |number: usize| {
                let member = number % MEMBERS as usize;
                let step = number / MEMBERS as usize;
                let key = format!("load-{size}-{number}");
                signer.sign(member, &targets[step % targets.len()], Some(&key))
            };
            (from..from + count).map(one).collect::<Outcome<Vec<_>>>()
        };
        let (warm, back) =
            load_generators::closed(connections, sign(0, WARM_UP_SETS)?, MAX_DURATION, 200).await?;
        warm.ensure_expected()?;
        let (driven, back) =
            load_generators::closed(back, sign(WARM_UP_SETS, SETS)?, options.length().min(MAX_DURATION), 200)
                .await?;
        connections = back;
        let driven = driven.ensure_expected()?;
        let what = format!("{name}, {size} ops");
        #[allow(clippy::cast_precision_loss, reason = "the count is far below 2^52")]
        report.record(format!("{what}, sets"), driven.count() as f64, "");
        report.latencies(&what, &driven.latencies);
        if size == SIZES[2] {
            let p99 = crate::report::millis(driven.latencies.value_at_quantile(0.99));
            report.record_with_goal(
                format!("{what}, p99 and its goal"),
                p99,
                "ms",
                Goal::AtMost(MAX_P99_MILLIS),
            );
        }
        all.push(driven.latencies);
    }
    drop(server);
    Ok(all)
}

/// Builds the change sets of a member: blocks of entries are added, and then removed.
fn targets(size: usize) -> Outcome<Vec<Target>> {
    let mut targets = Vec::new();
    for op in ["add", "remove"] {
        for block in 0..BLOCKS {
            let mut body = String::from(r#"{"ops":["#);
            for number in block * size..(block + 1) * size {
                let comma = if number == block * size { "" } else { "," };
                let record = record(number);
                write!(
                    body,
                    r#"{comma}{{"op":"{op}","opId":"op-{number}","ref":{{"scRecord":"{record}"}}}}"#
                )?;
            }
            body.push_str("]}");
            targets.push(Target::changes("/exchange/v1/me/blueprints/changes", Arc::from(body.into_bytes())));
        }
    }
    Ok(targets)
}

/// Measures the duration of an fsync, for which every acknowledged write waits.
fn disk(folder: &Path) -> Outcome<f64> {
    let path = folder.join("forced");
    let mut file = std::fs::File::create(&path)?;
    let mut took = load_generators::histogram()?;
    for _ in 0..200 {
        let began = Instant::now();
        file.write_all(&[0; 4096])?;
        file.sync_data()?;
        took.record(u64::try_from(began.elapsed().as_micros())?.max(1))?;
    }
    std::fs::remove_file(path)?;
    Ok(crate::report::millis(took.value_at_quantile(0.5)))
}
