//! Tests of the outbox store with killed processes, full disks, newer files and concurrent processes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use exchange_client::{
    BlueprintChanges, Environment, ErrorKind, MemoryOutbox, Outbox,
    api::{
        Client, Transport,
        runtime::{operation::Operation, transport::ResponseFuture},
    },
    changes::known::KnownItem,
    outbox::{EntryState, OutboxPolicy},
};

use super::*;

/// The environment variable with the folder of the child process.
const CHILD: &str = "EXCHANGE_OUTBOX_TEST_FOLDER";

fn new_row(owner: &str, lane: Lane, body: &str) -> NewEntryRow {
    NewEntryRow { owner: owner.to_owned(), lane, head: "{}".to_owned(), body: body.to_owned().into() }
}

/// SplitMix64, a pseudorandom generator.
struct SplitMix64(u64);

impl SplitMix64 {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// OST-14: entries of owners who are not signed in are found as well.
#[tokio::test]
async fn owners_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteOutbox::open(folder.path()).unwrap();
    assert_eq!(store.owners().await.unwrap(), [""; 0]);
    for owner in ["me", "before", "me"] {
        store.append(vec![new_row(owner, Lane::Stock, "b")]).await.unwrap();
    }
    assert_eq!(store.owners().await.unwrap(), ["before", "me"]);
}

/// Both stores behave in the same way for random calls, even after the file is reopened.
#[tokio::test]
async fn behaves_like_the_memory_store() {
    let folder = tempfile::tempdir().unwrap();
    let (memory, mut file) = (MemoryOutbox::new(), SqliteOutbox::open(folder.path()).unwrap());
    let mut random = SplitMix64(1);
    let owners = ["me", "somebody else"];
    for step in 0..400 {
        let owner = owners[random.roll(2) as usize];
        let lane = Lane::ALL[random.roll(4) as usize];
        let number = random.roll(40);
        match random.roll(6) {
            0 => {
                let rows: Vec<_> =
                    (0..random.roll(4)).map(|at| new_row(owner, lane, &format!("{step}.{at}"))).collect();
                assert_eq!(memory.append(rows.clone()).await.unwrap(), file.append(rows).await.unwrap());
            }
            1 | 2 => {
                if let Some(mut row) = memory.get_row(number).await.unwrap() {
                    // Some of the calls use an outdated revision.
                    row.revision = row.revision.saturating_sub(random.roll(2));
                    row.done = random.roll(2) == 0;
                    row.head = format!("{{\"step\": {step}}}");
                    row.result = (random.roll(2) == 0).then(|| format!("result {step}").into());
                    assert_eq!(memory.replace(row.clone()).await.unwrap(), file.replace(row).await.unwrap());
                }
            }
            3 => {
                let revision = random.roll(3);
                let removed = memory.remove(number, revision).await.unwrap();
                assert_eq!(removed, file.remove(number, revision).await.unwrap());
            }
            4 => assert_eq!(
                memory.first_pending(owner, lane).await.unwrap(),
                file.first_pending(owner, lane).await.unwrap()
            ),
            _ => file = SqliteOutbox::open(folder.path()).unwrap(),
        }
        assert_eq!(memory.get_row(number).await.unwrap(), file.get_row(number).await.unwrap());
    }
    for owner in owners {
        assert!(!memory.list_rows(owner).await.unwrap().is_empty());
        assert_eq!(memory.list_rows(owner).await.unwrap(), file.list_rows(owner).await.unwrap());
    }
}

/// If two calls replace the same revision, only one of them succeeds.
#[tokio::test]
async fn concurrent_replace_succeeds_once() {
    let folder = tempfile::tempdir().unwrap();
    let stores = [(); 2].map(|()| SqliteOutbox::open(folder.path()).unwrap());
    let number = stores[0].append(vec![new_row("me", Lane::Stock, "")]).await.unwrap()[0];
    for _ in 0..50 {
        let row = stores[0].get_row(number).await.unwrap().unwrap();
        let (one, two) = tokio::join!(stores[0].replace(row.clone()), stores[1].replace(row));
        assert_ne!(one.unwrap(), two.unwrap());
    }
    assert_eq!(stores[1].get_row(number).await.unwrap().unwrap().revision, 50);
}

/// On a full disk, new change sets are rejected completely and the stored ones are kept.
#[tokio::test]
async fn full_disk_rejects_whole_sets() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteOutbox::open(folder.path()).unwrap();
    store.append(vec![new_row("me", Lane::Stock, "kept")]).await.unwrap();
    let limit = |pages: u32| {
        let limit = format!("PRAGMA max_page_count = {pages}");
        store.0.write(|transaction| transaction.query_row(&limit, [], |row| row.get::<_, i64>(0))).unwrap()
    };
    limit(1);
    let long = "x".repeat(20_000);
    let rows = || vec![new_row("me", Lane::Stock, "half"), new_row("me", Lane::Stock, &long)];
    let error = store.append(rows()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Storage);
    assert!(error.to_string().contains("the disk is full"), "{error}");
    assert_eq!(store.list_rows("me").await.unwrap().len(), 1);
    limit(100_000);
    assert_eq!(store.append(rows()).await.unwrap().len(), 2);
}

/// A newer or corrupt file is neither read partially nor replaced.
#[tokio::test]
async fn newer_and_corrupt_files_are_left_unchanged() {
    for newer in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("outbox.db");
        let store = SqliteOutbox::open(folder.path()).unwrap();
        store.append(vec![new_row("me", Lane::Stock, "kept")]).await.unwrap();
        store.0.erase_remnants(0).unwrap();
        drop(store);
        if newer {
            Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        } else {
            fs::write(&path, vec![b'x'; 9_000]).unwrap();
        }
        let before = fs::read(&path).unwrap();
        let error = SqliteOutbox::open(folder.path()).unwrap_err();
        let why = if newer { "newer version" } else { "corrupt" };
        assert!(error.kind() == ErrorKind::Storage && error.to_string().contains(why), "{error}");
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// Removed entries are erased from all files, because change sets of org stock contain internal data.
#[tokio::test]
async fn removed_entries_are_erased() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteOutbox::open(folder.path()).unwrap();
    let number = store.append(vec![new_row("me", Lane::OrgStock, &"geheim".repeat(500))]).await.unwrap()[0];
    let found = || {
        let files = fs::read_dir(folder.path()).unwrap().map(|file| fs::read(file.unwrap().path()).unwrap());
        files.filter(|bytes| bytes.windows(6).any(|part| part == b"geheim")).count()
    };
    assert!(found() > 0);
    assert!(store.remove(number, 0).await.unwrap());
    store.purge_removed().await.unwrap();
    assert_eq!(found(), 0);
}

/// CLI-06: the entries of a previous installation are deleted and erased as well.
#[tokio::test]
async fn disconnecting_deletes_entries_of_all_owners() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteOutbox::open(folder.path()).unwrap();
    for owner in ["me", "another"] {
        store.append(vec![new_row(owner, Lane::OrgStock, "geheim")]).await.unwrap();
    }
    assert_eq!(store.count_undecided().await.unwrap(), 2);
    LocalData::delete(&store).await.unwrap();
    assert_eq!(store.count_undecided().await.unwrap(), 0);
    for file in fs::read_dir(folder.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(6).any(|part| part == b"geheim"));
    }
}

/// A model of the exchange that stores applied writes durably in a file. Each line contains a key and the
/// change that was applied under it.
struct FileExchange(PathBuf);

impl Transport for FileExchange {
    fn send<'a>(&'a self, _: &'static Operation, request: http::Request<bytes::Bytes>) -> ResponseFuture<'a> {
        let key = request.headers()["idempotency-key"].to_str().unwrap();
        let json: serde_json::Value = serde_json::from_slice(request.body()).unwrap();
        let line = format!("{key} {}\n", json["ops"][0]["ref"]["bt"].as_str().unwrap());
        if !fs::read_to_string(&self.0).unwrap_or_default().contains(key) {
            let mut file = fs::OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
            file.write_all(line.as_bytes()).unwrap();
        }
        let body = r#"{"dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []}"#;
        let response = http::Response::builder().header("content-type", "application/json");
        let response = response.body(bytes::Bytes::from_static(body.as_bytes())).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

fn outbox(folder: &Path) -> Outbox {
    let client = Client::new("https://gateway.test", FileExchange(folder.join("carried-out")));
    let store = SqliteOutbox::open(folder).unwrap();
    // The lease is zero, so that a killed process is considered dead immediately.
    let mut policy = OutboxPolicy::default();
    policy.lease_duration = std::time::Duration::ZERO;
    Outbox::new(client.api_client(), store, Environment::system(), "me", policy).unwrap()
}

/// Enqueues and sends change sets until the process is killed, and prints the entries that it stored.
async fn until_killed(folder: &Path) {
    let outbox = outbox(folder);
    let begun = outbox.entries().await.unwrap().len();
    for number in begun.. {
        let product = format!("bp-{number}");
        let known = KnownItem { bt: Some(product.parse().unwrap()), ..KnownItem::default() };
        let mut changes = BlueprintChanges::new();
        changes.add(known.item_ref().unwrap()).unwrap();
        outbox.enqueue(changes).await.unwrap();
        println!("kept {product}");
        outbox.flush().await.unwrap();
    }
}

/// GW-12: if a process is killed at any moment, no stored entry is lost and no change is applied twice.
#[tokio::test]
async fn killed_process_loses_nothing() {
    if let Some(folder) = std::env::var_os(CHILD) {
        return until_killed(Path::new(&folder)).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut reported_products = Vec::new();
    for lines in 1..=8 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["outbox::tests::killed_process_loses_nothing", "--exact", "--nocapture"])
            .env(CHILD, folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let reported = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let reported = reported.filter_map(|line| Some(line.split_once("kept ")?.1.to_owned()));
        reported_products.extend(reported.take(lines));
        child.kill().unwrap();
        child.wait().unwrap();
    }
    let outbox = outbox(folder.path());
    outbox.flush().await.unwrap();
    let entries = outbox.entries().await.unwrap();
    assert!(entries.iter().all(|entry| entry.state() == EntryState::Done), "{entries:?}");
    let carried_out = fs::read_to_string(folder.path().join("carried-out")).unwrap();
    let mut products: Vec<_> = carried_out.lines().map(|line| line.split_once(' ').unwrap().1).collect();
    assert_eq!(products.len(), entries.len());
    products.sort_unstable();
    assert!(products.windows(2).all(|two| two[0] != two[1]), "{products:?}");
    assert_eq!(reported_products.len(), (1..=8).sum::<usize>());
    for product in reported_products {
        assert!(products.contains(&product.as_str()), "{product} was lost");
    }
}
