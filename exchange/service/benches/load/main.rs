//! Load tests: throughput, latency and memory of the service as it is deployed.
//!
//! The service's binary runs in a process with one worker thread on one core. Requests are signed in advance
//! and sent over HTTP/1.1 connections from another core. `--help` lists the options.
//!
//! ```text
//! data_folder: signed-in members and data ───────────────► server: the process on this folder
//!      │                                                                  ▲
//!      └──► signed_requests ──► load_generators ──► http_connection ──────┘ ──► report
//! ```

#![allow(clippy::print_stdout, reason = "the benchmark prints its results")]

mod data_folder;
mod flood;
mod http_connection;
mod idle;
mod in_process;
mod load_generators;
mod machine;
mod reads;
mod report;
mod server;
mod signed_requests;
mod start;
mod stocks;
mod verification_limit;
mod writes;

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use exchange_service::config;

use crate::report::{Figure, Report};

/// The result of a fallible step; any error ends the run.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Measures the service under signed requests.
#[derive(Debug, Parser)]
#[command(
    name = "cargo bench -p exchange-service --bench load --",
    max_term_width = 100,
    after_help = "Examples:\n\n    \
        cargo bench -p exchange-service --bench load\n    \
        cargo bench -p exchange-service --bench load -- document page --seconds 20\n    \
        cargo bench -p exchange-service --bench load -- writes --json\n\n\
        The service runs on core 0 and requests come from core 1, so two idle cores are needed; a machine\n\
        that does other work gives latencies of that work. `processor time of a request` and the shares\n\
        made of it suffer least. Limits are raised by configuration alone. Everything lies in a folder\n\
        below target/, which is removed at the end; the long journal takes some hundred megabytes.\n\n\
        Exit codes: 0 measured, whether or not goals were met; 1 something failed."
)]
struct Options {
    /// What to measure; everything by default.
    #[arg(value_enum)]
    scenarios: Vec<Scenario>,
    /// Duration of each measurement.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Print one JSON document at the end instead of lines.
    #[arg(long)]
    json: bool,
    /// The flag that cargo passes to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// The service document: the smallest signed request.
    Document,
    /// A page of 100 blueprints.
    Page,
    /// Change sets of 1, 100 and 500 ops, on an empty journal and on one of a million rows.
    Writes,
    /// A page of 20 lots, and change sets of 500 ops over 500 lots.
    Stock,
    /// A pool of 5,000 lots with 40 readers, and change sets of 500 ops on it.
    OrgStock,
    /// Memory during a read of 200,000 rows.
    Rows,
    /// Time to the first response, memory at rest, size of the binary.
    Start,
    /// Ten thousand idle connections.
    Idle,
    /// Valid requests during a flood of forged proofs.
    Flood,
}

impl Scenario {
    const fn name(self) -> &'static str {
        match self {
            Self::Document => "document",
            Self::Page => "page",
            Self::Writes => "writes",
            Self::Stock => "stock",
            Self::OrgStock => "org-stock",
            Self::Rows => "rows",
            Self::Start => "start",
            Self::Idle => "idle",
            Self::Flood => "flood",
        }
    }
}

impl Options {
    const fn length(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    match measure(&options) {
        Ok(figures) if options.json => match serde_json::to_string_pretty(&figures) {
            Ok(text) => println!("{text}"),
            Err(error) => return fail(&error),
        },
        Ok(_) => {}
        Err(error) => return fail(&*error),
    }
    ExitCode::SUCCESS
}

#[allow(clippy::print_stderr, reason = "errors are printed to stderr")]
fn fail(error: &dyn Error) -> ExitCode {
    eprintln!("error: {error}");
    ExitCode::FAILURE
}

fn measure(options: &Options) -> Outcome<Vec<Figure>> {
    let all = Scenario::value_variants();
    let scenarios = if options.scenarios.is_empty() { all } else { &options.scenarios };
    if !machine::pin(machine::CALLERS) && !options.json {
        println!("Nothing can be pinned to a core here: service and callers share what there is.");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut figures = Vec::new();
    for scenario in scenarios {
        let mut report = Report::new(scenario.name(), options.json);
        runtime.block_on(run(*scenario, &mut report, options))?;
        figures.extend(report.into_figures());
    }
    Ok(figures)
}

async fn run(scenario: Scenario, report: &mut Report, options: &Options) -> Outcome<()> {
    match scenario {
        Scenario::Document => reads::run(report, &signed_requests::DOCUMENT, options).await,
        Scenario::Page => reads::run(report, &signed_requests::PAGE, options).await,
        Scenario::Writes => writes::run(report, options).await,
        Scenario::Stock => stocks::stock(report, options).await,
        Scenario::OrgStock => stocks::org_stock(report, options).await,
        Scenario::Rows => stocks::rows(report).await,
        Scenario::Start => start::run(report).await,
        Scenario::Idle => idle::run(report).await,
        Scenario::Flood => flood::run(report, options).await,
    }
}
