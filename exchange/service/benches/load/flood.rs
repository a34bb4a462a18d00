//! Measures valid requests during a flood of forged proofs.
//!
//! The limits per address have their default values. Valid requests come from a thousand addresses. The flood
//! comes either from one address, which exceeds its limit after a second, or from so many addresses that none
//! exceeds it.

use std::net::Ipv4Addr;
use std::time::Duration;

use crate::config::LimitsConfig;
use crate::data_folder::DataFolder;
use crate::http_connection::HttpConnection;
use crate::report::{Goal, Report, millis};
use crate::server::Server;
use crate::signed_requests::{DOCUMENT, Signer};
use crate::{Options, Outcome, load_generators};

/// The first address and the number of addresses of valid callers, and the interval of their requests.
const VALID_SOURCES: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 1, 0, 1), 1000);
const VALID_INTERVAL: Duration = Duration::from_millis(2);
/// The first source address and the number of addresses of the flood.
const ONE: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 2, 0, 1), 1);
const FLOOD_SOURCES: (Ipv4Addr, u32) = (Ipv4Addr::new(127, 3, 0, 1), 3000);
/// The interval between requests of the flood: ten for each valid request.
const FLOOD_INTERVAL: Duration = Duration::from_micros(200);
/// The maximum duration of a measurement. It is short because proofs are valid for thirty seconds.
const MAX_DURATION: Duration = Duration::from_secs(8);
/// The maximum factor by which valid requests may slow down.
const MAX_SLOWDOWN: f64 = 3.0;

/// Measures valid requests without a flood, and with a flood of either kind.
pub(crate) async fn run(report: &mut Report, options: &Options) -> Outcome<()> {
    let data_folder = DataFolder::prepare(0).await?;
    let usual = LimitsConfig::default();
    let configuration = data_folder.configuration(|config| config.limits.per_address = usual.per_address)?;
    let server = Server::serve(&configuration, data_folder.address())?;
    let signer = Signer::new(&data_folder).await?;
    let length = options.length().min(MAX_DURATION);
    let honest = async |length: Duration| {
        let connections =
            load_generators::connect_from(VALID_SOURCES.0, data_folder.address(), VALID_SOURCES.1).await?;
        let count = length.as_micros() / VALID_INTERVAL.as_micros();
        let requests = signer.sign_many(&DOCUMENT, usize::try_from(count)?)?;
        let (driven, _) = load_generators::open(connections, requests, VALID_INTERVAL, 200).await?;
        driven.ensure_expected()
    };
    honest(Duration::from_secs(1)).await?;
    let baseline = honest(length).await?;
    report.latencies("500 valid requests a second, without a flood", &baseline.latencies);
    for (what, (first, addresses), expected) in [
        ("5,000 bad proofs a second, one address", ONE, 429),
        ("the same from 3,000 addresses", FLOOD_SOURCES, 401),
    ] {
        let per_address = if addresses == 1 { 64 } else { 1 };
        let mut connections: Vec<HttpConnection> = Vec::new();
        for _ in 0..per_address {
            connections.extend(load_generators::connect_from(first, data_folder.address(), addresses).await?);
        }
        let bad: Vec<_> =
            signer.sign_many(&DOCUMENT, 64)?.iter().map(|good| good.with_invalid_signature()).collect();
        let count = (length + Duration::from_secs(1)).as_micros() / FLOOD_INTERVAL.as_micros();
        let bad = bad.into_iter().cycle().take(usize::try_from(count)?).collect();
        let flood = tokio::spawn(load_generators::open(connections, bad, FLOOD_INTERVAL, expected));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let with_load = honest(length).await?;
        let (flood, _) = flood.await??;
        report.latencies(&format!("valid requests, with {what}"), &with_load.latencies);
        let p99 = |driven: &load_generators::LoadResult| millis(driven.latencies.value_at_quantile(0.99));
        let times = p99(&with_load) / p99(&baseline);
        report.record_with_goal(
            format!("{what}: ratio of valid p99 to that without"),
            times,
            "",
            Goal::AtMost(MAX_SLOWDOWN),
        );
        #[allow(clippy::cast_precision_loss, reason = "the counts are far below 2^52")]
        let share = 1.0 - flood.unexpected as f64 / flood.count().max(1) as f64;
        report.record(format!("{what}: share of responses with {expected}"), share * 100.0, "%");
    }
    drop(server);
    Ok(())
}
