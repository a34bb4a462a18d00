//! Measures valid requests during a flood of forged proofs.
//!
//! The limits per address have their default values. Valid requests come from a thousand addresses. The flood
//! comes either from one address, which exceeds its limit after a second, or from so many addresses that none
//! exceeds it.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::config::LimitsConfig;
use crate::place::Place;
use crate::report::{Goal, Report, millis};
use crate::server::Server;
use crate::signed::{DOCUMENT, Signer};
use crate::wire::Wire;
use crate::{Options, Outcome, drive};

/// The first address and the number of addresses of valid callers, and the interval of their requests.
const HONEST: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 1, 0, 1), 1000);
const EVERY: Duration = Duration::from_millis(2);
/// The first source address and the number of addresses of the flood.
const ONE: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 2, 0, 1), 1);
const MANY: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 3, 0, 1), 3000);
/// The interval between requests of the flood: ten for each valid request.
const FLOOD: Duration = Duration::from_micros(200);
/// The maximum duration of a measurement. It is short because proofs are valid for thirty seconds.
const LONGEST: Duration = Duration::from_secs(8);
/// The maximum factor by which valid requests may slow down.
const TIMES: f64 = 3.0;

/// Measures valid requests without a flood, and with a flood of either kind.
pub(crate) async fn run(report: &mut Report, options: &Options) -> Outcome<()> {
    let place = Place::planted(0).await?;
    let usual = LimitsConfig::default();
    let configuration = place.configuration(|config| config.limits.per_address = usual.per_address)?;
    let server = Server::serve(&configuration, place.address())?;
    let signer = Signer::new(&place).await?;
    let length = options.length().min(LONGEST);
    let honest = async |length: Duration| {
        let wires = drive::connect_from(HONEST.0, place.address(), HONEST.1).await?;
        let count = length.as_micros() / EVERY.as_micros();
        let requests = signer.sign_many(&DOCUMENT, usize::try_from(count)?)?;
        let (driven, _) = drive::open(wires, requests, EVERY, 200).await?;
        driven.sound()
    };
    honest(Duration::from_secs(1)).await?;
    let alone = honest(length).await?;
    report.latencies("500 honest requests a second, alone", &alone.latencies);
    for (what, (first, addresses), expected) in
        [("5,000 bad proofs a second, one address", ONE, 429), ("the same from 3,000 addresses", MANY, 401)]
    {
        let per_address = if addresses == 1 { 64 } else { 1 };
        let mut wires: Vec<Wire> = Vec::new();
        for _ in 0..per_address {
            wires.extend(drive::connect_from(first, place.address(), addresses).await?);
        }
        let bad: Vec<_> = signer.sign_many(&DOCUMENT, 64)?.iter().map(|good| good.spoiled()).collect();
        let count = (length + Duration::from_secs(1)).as_micros() / FLOOD.as_micros();
        let bad = bad.into_iter().cycle().take(usize::try_from(count)?).collect();
        let flood = tokio::spawn(drive::open(wires, bad, FLOOD, expected));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let beside = honest(length).await?;
        let (flood, _) = flood.await??;
        report.latencies(&format!("honest, beside {what}"), &beside.latencies);
        let p99 = |driven: &drive::Driven| millis(driven.latencies.value_at_quantile(0.99));
        let times = p99(&beside) / p99(&alone);
        report.judge(format!("{what}: honest p99, to alone"), times, "", Goal::AtMost(TIMES));
        #[allow(clippy::cast_precision_loss, reason = "the counts are far below 2^52")]
        let share = 1.0 - flood.unexpected as f64 / flood.count().max(1) as f64;
        report.tell(format!("{what}: answered {expected}"), share * 100.0, "%");
    }
    drop(server);
    Ok(())
}
