//! How long a snapshot takes from the bytes of its pages to the disk, and how much memory:
//! `cargo bench -p exchange-client-sqlite --bench replica`.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    missing_docs,
    reason = "a bench that tells what it saw"
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
    feed::{Action, Feed, Input, Reader},
    replica::{Outcome, ReplicaStore},
};
use exchange_client_sqlite::SqliteReplica;

const PAGE: usize = 500;

fn main() {
    // As `cargo test --benches` calls it.
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
        let begun = Instant::now();
        let replica = exchange_client::Replica::new(store);
        let read = replica.stock().map(Result::unwrap).filter(|lot| lot.stolen).count();
        println!("reading them typed: {:.2?} ({read} stolen); memory {} MiB", begun.elapsed(), peak());
        let begun = Instant::now();
        replica.forget().unwrap();
        println!("forgetting them: {:.2?}", begun.elapsed());
    });
}

fn in_folder<T>(run: impl FnOnce(&Path) -> T) -> T {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path())
}

/// Reads a snapshot of so many rows from its pages' bytes; how long it took, and how long the commits alone.
fn snapshot(folder: &Path, rows: usize) -> (Duration, Duration) {
    let store = SqliteReplica::open(folder).unwrap();
    let mut feed = Feed::<StockLot>::new();
    let (mut read, mut all, mut commits) = (0, Duration::ZERO, Duration::ZERO);
    let mut input = Input::Go { kept: store.kept(Area::Stock).unwrap(), reader: Reader::default() };
    loop {
        let begun = Instant::now();
        let step = feed.handle(input).unwrap();
        all += begun.elapsed();
        input = match step.action {
            Action::Read(_) => {
                let text = page(read, rows);
                read += PAGE;
                let begun = Instant::now();
                let page = Box::new(Contract::parse(text.as_bytes()).unwrap());
                all += begun.elapsed();
                Input::Page { page, asked_at: UnixTime::from_secs(1_000) }
            }
            Action::Commit(commit) => {
                let begun = Instant::now();
                let done = store.commit(&commit).unwrap();
                commits += begun.elapsed();
                all += begun.elapsed();
                match done {
                    Outcome::Done(tally) => Input::Committed(tally),
                    Outcome::Superseded(_) => panic!("nobody else commits"),
                }
            }
            Action::Done => break,
            action => panic!("{action:?}"),
        };
    }
    assert_eq!(store.count(Area::Stock).unwrap(), rows as u64);
    (all, commits)
}

/// A page as it is on the wire, with lots such as there are.
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
            let begun = Instant::now();
            file.write_all(&[7; 4_096]).unwrap();
            file.sync_data().unwrap();
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    times[10]
}

/// The most memory that this process had, in MiB, where the system tells it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or_default() / 1024
}
