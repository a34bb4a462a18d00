//! Measures signed reads: the throughput of one core, compared with the rate of its signature verifications,
//! and the latency at half of that throughput.

use std::time::Duration;

use crate::place::Place;
use crate::report::{Goal, Report};
use crate::server::Server;
use crate::signed::{Signer, Target};
use crate::{Options, Outcome, drive, limit, machine, within};

/// The number of connections of the closed generator.
const CONNECTIONS: usize = 32;
/// The number of connections of the open generator.
const IDLE: usize = 256;
/// The number of requests for warming up.
const WARM: usize = 6000;
/// The maximum duration of a batch of signed requests. It is short because proofs are valid for thirty
/// seconds.
const ROUND: Duration = Duration::from_secs(8);
/// The duration of each of the two measurements of verification.
const ALONE: Duration = Duration::from_secs(1);
/// The goal for the throughput, relative to the rate of verifications.
const SHARE: f64 = 0.75;

/// Prepares a folder and measures one kind of request on it.
pub(crate) async fn run(report: &mut Report, target: &Target, options: &Options) -> Outcome<()> {
    let place = Place::planted(0).await?;
    on(report, &place, target, options).await
}

/// Measures one kind of request on a prepared folder.
pub(crate) async fn on(
    report: &mut Report,
    place: &Place,
    target: &Target,
    options: &Options,
) -> Outcome<()> {
    let server = Server::serve(&place.configuration(|_| {})?, place.address())?;
    let signer = Signer::new(place).await?;
    let alone = limit::one_verification(ALONE)?;

    let wires = drive::connect(place.address(), CONNECTIONS).await?;
    let warm = signer.sign_many(target, WARM)?;
    let (warm, mut wires) = drive::closed(wires, warm, ROUND, 200).await?;
    let mut rate = per_second(warm.sound()?.count_of());
    let mut all: Option<drive::Driven> = None;
    let mut processor = Duration::ZERO;
    let mut left = options.length();
    while !left.is_zero() {
        let span = left.min(ROUND);
        left -= span;
        // More requests than the service can handle, so that the time limit ends the run.
        let requests = signer.sign_many(target, count_in(span, rate * 1.3))?;
        let before = machine::processor_time(server.process());
        let (driven, back) = drive::closed(wires, requests, span, 200).await?;
        let after = machine::processor_time(server.process());
        let driven = driven.sound()?;
        processor += match (before, after) {
            (Some(before), Some(after)) => after.saturating_sub(before),
            _ => driven.took,
        };
        rate = per_second(driven.count_of());
        wires = back;
        match &mut all {
            Some(all) => all.add(&driven)?,
            None => all = Some(driven),
        }
    }
    let driven = all.ok_or("there was no time to measure in")?;
    let alone = (alone + limit::one_verification(ALONE)?) / 2;
    drop(wires);

    let (count, _) = driven.count_of();
    let each = processor.as_secs_f64() / f64::from(count.max(1));
    report.tell("answered per second, 32 connections", per_second(driven.count_of()), "1/s");
    report.tell("processor time of a request", each * 1e6, "µs");
    report.tell("signed requests per second and core", 1.0 / each, "1/s");
    report.tell("verifications per second and core, nothing else", 1.0 / alone.as_secs_f64(), "1/s");
    let share = alone.as_secs_f64() / each;
    report.judge("share of what verification alone allows", share, "", Goal::AtLeast(SHARE));
    #[allow(clippy::cast_precision_loss, reason = "the number of bytes is far below 2^52")]
    report.tell("bytes of an answer", driven.bytes as f64, "B");
    report.latencies("all connections busy", &driven.latencies);

    let half = rate / 2.0;
    let span = options.length().min(ROUND) / 2;
    let requests = signer.sign_many(target, count_in(span, half))?;
    let wires = drive::connect(place.address(), IDLE).await?;
    let every = Duration::from_secs_f64(1.0 / half);
    let (driven, _) = drive::open(wires, requests, every, 200).await?;
    report.latencies("half of that, open", &driven.sound()?.latencies);

    drop(server);
    if let Some(own) = within::one_request(place, target).await? {
        report.tell("processor time of a request, without connections", own.as_secs_f64() * 1e6, "µs");
        let alone = limit::one_verification(ALONE)?.as_secs_f64();
        report.tell(
            "share of what verification alone allows, without connections",
            alone / own.as_secs_f64(),
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
