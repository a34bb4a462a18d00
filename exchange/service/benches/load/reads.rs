//! Measures signed reads: the throughput of one core, compared with the rate of its signature verifications,
//! and the latency at half of that throughput.

use std::time::Duration;

use crate::data_folder::DataFolder;
use crate::report::{Goal, Report};
use crate::server::Server;
use crate::signed_requests::{Signer, Target};
use crate::{Options, Outcome, in_process, load_generators, machine, verification_limit};

/// The number of connections of the closed generator.
const CONNECTIONS: usize = 32;
/// The number of connections of the open generator.
const IDLE: usize = 256;
/// The number of requests for warming up.
const WARM_UP_REQUESTS: usize = 6000;
/// The maximum duration of a batch of signed requests. It is short because proofs are valid for thirty
/// seconds.
const ROUND: Duration = Duration::from_secs(8);
/// The duration of each of the two measurements of verification.
const ALONE: Duration = Duration::from_secs(1);
/// The goal for the throughput, relative to the rate of verifications.
const MIN_RATE_SHARE: f64 = 0.75;

/// Prepares a folder and measures one kind of request on it.
pub(crate) async fn run(report: &mut Report, target: &Target, options: &Options) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    on(report, &data_folder, target, options).await
}

/// Measures one kind of request on a prepared folder.
pub(crate) async fn on(
    report: &mut Report,
    data_folder: &DataFolder,
    target: &Target,
    options: &Options,
) -> Outcome<()> {
    let server = Server::serve(&data_folder.configuration(|_| {})?, data_folder.address())?;
    let signer = Signer::new(data_folder).await?;
    let baseline = verification_limit::one_verification(ALONE)?;

    let connections = load_generators::connect(data_folder.address(), CONNECTIONS).await?;
    let warm = signer.sign_many(target, WARM_UP_REQUESTS)?;
    let (warm, mut connections) = load_generators::closed(connections, warm, ROUND, 200).await?;
    let mut rate = per_second(warm.ensure_expected()?.count_of());
    let mut all: Option<load_generators::LoadResult> = None;
    let mut processor = Duration::ZERO;
    let mut left = options.length();
    while !left.is_zero() {
        let span = left.min(ROUND);
        left -= span;
        // More requests than the service can handle, so that the time limit ends the run.
        let requests = signer.sign_many(target, count_in(span, rate * 1.3))?;
        let before = machine::processor_time(server.process());
        let (driven, back) = load_generators::closed(connections, requests, span, 200).await?;
        let after = machine::processor_time(server.process());
        let driven = driven.ensure_expected()?;
        processor += match (before, after) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => driven.took,
        };
        rate = per_second(driven.count_of());
        connections = back;
        match &mut all {
            Some(all) => all.add(&driven)?,
            None => all = Some(driven),
        }
    }
    let driven = all.ok_or("there was no time to measure in")?;
    let baseline = (baseline + verification_limit::one_verification(ALONE)?) / 2;
    drop(connections);

    let (count, _) = driven.count_of();
    let each = processor.as_secs_f64() / f64::from(count.max(1));
    report.record("responses per second, 32 connections", per_second(driven.count_of()), "1/s");
    report.record("CPU time of a request", each * 1e6, "µs");
    report.record("signed requests per second and core", 1.0 / each, "1/s");
    report.record("signature verifications per second and core", 1.0 / baseline.as_secs_f64(), "1/s");
    let share = baseline.as_secs_f64() / each;
    report.record_with_goal(
        "share of the rate that verification allows",
        share,
        "",
        Goal::AtLeast(MIN_RATE_SHARE),
    );
    #[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
    report.record("size of a response", driven.bytes as f64, "B");
    report.latencies("all connections busy", &driven.latencies);

    let half = rate / 2.0;
    let span = options.length().min(ROUND) / 2;
    let requests = signer.sign_many(target, count_in(span, half))?;
    let connections = load_generators::connect(data_folder.address(), IDLE).await?;
    let interval = Duration::from_secs_f64(1.0 / half);
    let (driven, _) = load_generators::open(connections, requests, interval, 200).await?;
    report.latencies("half of that rate, open generator", &driven.ensure_expected()?.latencies);

    drop(server);
    if let Some(cpu_time) = in_process::one_request(data_folder, target).await? {
        report.record("CPU time of a request, without connections", cpu_time.as_secs_f64() * 1e6, "µs");
        let baseline = verification_limit::one_verification(ALONE)?.as_secs_f64();
        report.record(
            "share of what verification alone allows, without connections",
            baseline / cpu_time.as_secs_f64(),
            "",
        );
    }
    Ok(())
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive number of requests")]
fn count_in(span: Duration, rate: f64) -> usize {
    (span.as_secs_f64() * rate) as usize
}

fn per_second((count, took): (u32, Duration)) -> f64 {
    f64::from(count) / took.as_secs_f64().max(1e-6)
}
