//! Measures the time and memory for storing a snapshot, from the bytes of its pages to the disk:
//! `cargo bench -p exchange-client-sqlite --bench replica`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a panic ends the benchmark, and it prints its results"
)]

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use exchange_client::{
    Area, UnixTime,
    api::{Contract, types::StockLot},
    feed::{Feed, FeedAction, FeedInput, FeedReader},
    replica::{CommitOutcome, ReplicaStore},
};
use exchange_client_sqlite::SqliteReplica;

const PAGE: usize = 500;

fn main() {
    // `cargo test --benches` runs the benchmark with this argument.
    let small = std::env::args().any(|argument| argument == "--test");
    let rounds = if small { 1 } else { 5 };
    let (few, many) = if small { (1_000, 2_000) } else { (20_000, 200_000) };
    let mut times: Vec<_> = (0..rounds).map(|_| in_folder(|folder| snapshot(folder, few))).collect();
    times.sort_unstable_by_key(|(all, _)| *all);
    let (all, commits) = times[times.len() / 2];
    let sync = in_folder(fsync);
    println!(
        "{few} rows in pages of {PAGE}: {all:.2?}, of which commits {commits:.2?}; one fsync here: {sync:.2?}"
    );
    in_folder(|folder| {
        let before = peak();
        let (all, _) = snapshot(folder, many);
        println!("{many} rows: {all:.2?}; memory at its peak {before} MiB before, {} MiB after", peak());
        let store = SqliteReplica::open(folder).unwrap();
        let start = Instant::now();
        let replica = exchange_client::Replica::new(store);
        let read = replica.stock().map(Result::unwrap).filter(|lot| lot.stolen).count();
        println!("reading them typed: {:.2?} ({read} stolen); memory {} MiB", start.elapsed(), peak());
        let start = Instant::now();
        replica.forget().unwrap();
        println!("forgetting them: {:.2?}", start.elapsed());
    });
}

fn in_folder<T>(run: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path())
}

/// Stores a snapshot of `rows` entries from the bytes of its pages. Returns the total time, and the time of
/// the commits.
fn snapshot(folder: &Path, rows: usize) -> (Duration, Duration) {
    let store = SqliteReplica::open(folder).unwrap();
    let mut feed = Feed::<StockLot>::new();
    let (mut read, mut all, mut commits) = (0, Duration::ZERO, Duration::ZERO);
    let mut input = FeedInput::Begin {
        area_state: store.area_state(Area::Stock).unwrap(),
        reader: FeedReader::default(),
    };
    loop {
        let start = Instant::now();
        let step = feed.handle_input(input).unwrap();
        all += start.elapsed();
        input = match step.action {
            FeedAction::Read(_) => {
                let text = page(read, rows);
                read += PAGE;
                let start = Instant::now();
                let page = Box::new(Contract::parse(text.as_bytes()).unwrap());
                all += start.elapsed();
                FeedInput::Page { page, asked_at: UnixTime::from_secs(1_000) }
            }
            FeedAction::Commit(commit) => {
                let start = Instant::now();
                let done = store.commit(&commit).unwrap();
                commits += start.elapsed();
                all += start.elapsed();
                match done {
                    CommitOutcome::Done(tally) => FeedInput::Committed(tally),
                    CommitOutcome::Superseded(_) => panic!("there is no other writer"),
                }
            }
            FeedAction::Done => break,
            action => panic!("{action:?}"),
        };
    }
    assert_eq!(store.count(Area::Stock).unwrap(), rows as u64);
    (all, commits)
}

/// Returns a page in its wire format, with realistic lots.
fn page(from: usize, rows: usize) -> String {
    let mut page = String::from(r#"{"items":["#);
    for at in from..(from + PAGE).min(rows) {
        let comma = if at == from { "" } else { "," };
        let _ = write!(
            page,
            r#"{comma}{{"material":{{"bt":"3f6b7a52-0000-4000-8000-{at:012}","name":"Agricium (Raw) {at}"}},"materialKind":{{"type":"RAW","commodity":true,"mineral":true,"harvestable":false,"raw":true,"refined":false,"buyable":false,"sellable":true}},"location":{{"name":"Sandbox City Hangar","uex":{{"kind":"CITY","id":990001}}}},"quality":640,"stolen":{},"quantity":{{"amount":{at}.125,"unit":"SCU"}},"key":"lot-{:016x}"}}"#,
            at % 7 == 0,
            (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15),
        );
    }
    let more = from + PAGE < rows;
    let _ = write!(page, r#"],"removed":[],"nextCursor":"cursor-{from}","hasMore":{more}}}"#);
    page
}

fn fsync(folder: &Path) -> Duration {
    use std::io::Write as _;
    let mut file = fs::File::create(folder.join("x")).unwrap();
    let mut times: Vec<_> = (0..21)
        .map(|_| {
            let start = Instant::now();
            file.write_all(&[7; 4_096]).unwrap();
            file.sync_data().unwrap();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[10]
}

/// Returns the peak memory of this process in MiB, or 0 if the system does not report it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
}
