//! Programs that end at every step: before and after whatever a store is asked for, and around what the exchange carries
//! out. Each step is a process of its own that is broken off there; the next start goes on with what lies in the files.
#![allow(clippy::print_stdout, reason = "a process that ends tells what it did before")]

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use exchange_client::{
    Area, BlueprintChanges, Connection, Environment, Error, Lane, Outbox, Replica, UnixTime,
    api::{
        Client, Contract as _, Transport,
        runtime::{operation::Operation, transport::Sending},
        types::{InstallationId, ServiceDocument},
    },
    changes::known::Known,
    feed::{Collection, Kept},
    outbox::{Keeping, NewRow, OutboxStore, Policy, Row, State},
    replica::{self, Commit, Document, Forgotten, Outcome, OwnerNote, Removal, ReplicaStore},
    sync::Sync,
};
use exchange_client_e2e::identity;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use http::{Request, Response};

/// What a process that ends is told: which child it is, its folder, and the step.
const CHILD: &str = "EXCHANGE_KILLED_CHILD";
const FOLDER: &str = "EXCHANGE_KILLED_FOLDER";
const STEP: &str = "EXCHANGE_KILLED_STEP";

/// Steps that are left before the process is broken off.
#[derive(Clone)]
struct Steps(Arc<AtomicU64>);

impl Steps {
    fn left(steps: u64) -> Self {
        Self(Arc::new(AtomicU64::new(steps)))
    }

    /// Nothing that is under way is ended in order from here on.
    fn step(&self) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            std::process::abort();
        }
    }

    fn around<T>(&self, work: impl FnOnce() -> T) -> T {
        self.step();
        let done = work();
        self.step();
        done
    }
}

/// A store that ends the process before or after one of its calls.
struct Ending<S>(S, Steps);

impl<S: std::marker::Sync> Ending<S> {
    fn keeping<'a, T: Send + 'a>(&'a self, work: Keeping<'a, T>) -> Keeping<'a, T> {
        Box::pin(async move {
            self.1.step();
            let done = work.await;
            self.1.step();
            done
        })
    }
}

impl OutboxStore for Ending<SqliteOutbox> {
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        self.keeping(self.0.append(rows))
    }

    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        self.keeping(self.0.replace(row))
    }

    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        self.keeping(self.0.remove(number, revision))
    }

    fn settle(&self) -> Keeping<'_, ()> {
        self.keeping(self.0.settle())
    }

    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        self.0.row(number)
    }

    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        self.0.first(owner, lane)
    }

    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        self.0.rows(owner)
    }
}

impl ReplicaStore for Ending<SqliteReplica> {
    fn kept(&self, area: Area) -> Result<Kept, Error> {
        self.1.around(|| self.0.kept(area))
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome, Error> {
        self.1.around(|| self.0.commit(commit))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<replica::Row>, Error> {
        self.0.entry(area, key)
    }

    fn entries(&self, area: Area, after: Option<&str>, most: usize) -> Result<Vec<replica::Row>, Error> {
        self.0.entries(area, after, most)
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.0.count(area)
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<Removal>, Error> {
        self.0.removal(area, key)
    }

    fn agree(&self, area: Area, entries: &[replica::Row], gone: &[&str]) -> Result<(), Error> {
        self.1.around(|| self.0.agree(area, entries, gone))
    }

    fn agreed(&self, area: Area, key: &str) -> Result<Option<replica::Row>, Error> {
        self.0.agreed(area, key)
    }

    fn demand(&self) -> Result<Option<Document>, Error> {
        self.0.demand()
    }

    fn keep_demand(&self, demand: &Document, of: &InstallationId) -> Result<bool, Error> {
        self.1.around(|| self.0.keep_demand(demand, of))
    }

    fn demand_asked_at(&self) -> Result<Option<UnixTime>, Error> {
        self.0.demand_asked_at()
    }

    fn note_demand_asked(&self, at: UnixTime) -> Result<(), Error> {
        self.1.around(|| self.0.note_demand_asked(at))
    }

    fn forget(&self, collections: &[Collection], owner: OwnerNote) -> Result<Vec<Forgotten>, Error> {
        self.1.around(|| self.0.forget(collections, owner))
    }

    fn settle(&self, now: UnixTime) -> Result<(), Error> {
        self.1.around(|| self.0.settle(now))
    }
}

/// What the child of a test does, and where it ends; nothing in the process of all tests.
fn child(name: &str) -> Option<(PathBuf, Steps)> {
    if env::var(CHILD).ok()? != name {
        return None;
    }
    let steps = env::var(STEP).ok()?.parse().ok()?;
    Some((env::var_os(FOLDER)?.into(), Steps::left(steps)))
}

/// Runs the child to a step: whether it came to its end before that, and what it told.
fn ends(name: &str, folder: &Path, step: u64) -> (bool, String) {
    let child = Command::new(env::current_exe().unwrap())
        .args([format!("killed::{name}").as_str(), "--exact", "--nocapture"])
        .env(CHILD, name)
        .env(FOLDER, folder)
        .env(STEP, step.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    (child.status.success(), String::from_utf8_lossy(&child.stdout).into_owned())
}

/// Keys and products that were carried out, a line each: once for each key, as the exchange does.
#[derive(Clone)]
struct CarriedOut(PathBuf, Steps);

impl Transport for CarriedOut {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            self.1.step();
            let key = request.headers()["idempotency-key"].to_str().unwrap();
            if !fs::read_to_string(&self.0).unwrap_or_default().contains(key) {
                let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
                writeln!(file, "{key}").unwrap();
            }
            self.1.step();
            let body = r#"{"dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []}"#;
            Ok(json(body))
        })
    }
}

fn json(body: &'static str) -> Response<Bytes> {
    let answer = Response::builder().header("content-type", "application/json");
    answer.body(Bytes::from_static(body.as_bytes())).unwrap()
}

fn outbox(folder: &Path, steps: &Steps) -> Outbox {
    let client = Client::new("https://gateway.test", CarriedOut(folder.join("carried-out"), steps.clone()));
    let store = Ending(SqliteOutbox::open(folder).unwrap(), steps.clone());
    // Whoever ended is given up at once.
    let mut policy = Policy::default();
    policy.lease = Duration::ZERO;
    Outbox::new(client.core(), store, Environment::system(), "i-1", policy).unwrap()
}

/// Keeps a change, sends it, and forgets what became of it.
async fn writes(outbox: &Outbox) {
    let known = Known { bt: Some("bp-1".parse().unwrap()), ..Known::default() };
    let mut changes = BlueprintChanges::new();
    changes.add(known.item_ref().unwrap()).unwrap();
    outbox.enqueue(changes).await.unwrap();
    println!("kept");
    outbox.flush().await.unwrap();
    println!("sent");
    outbox.forget_decided().await.unwrap();
}

/// GW-12: wherever a program ends, what it was told is kept is carried out, and nothing is carried out twice.
#[tokio::test]
async fn the_outbox_outlives_the_end_at_every_step() {
    let name = "the_outbox_outlives_the_end_at_every_step";
    if let Some((folder, steps)) = child(name) {
        return writes(&outbox(&folder, &steps)).await;
    }
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let (is_whole, told) = ends(name, folder.path(), steps);
        let next = outbox(folder.path(), &Steps::left(u64::MAX));
        next.flush().await.unwrap();
        let entries = next.entries().await.unwrap();
        assert!(entries.iter().all(|entry| entry.state() == State::Done), "step {steps}: {entries:?}");
        let carried_out = fs::read_to_string(folder.path().join("carried-out")).unwrap_or_default();
        let times = carried_out.lines().count();
        assert!(times <= 1, "step {steps}: it was carried out {times} times");
        assert!(times == 1 || !told.contains("kept"), "step {steps}: it was lost");
        if is_whole {
            assert!(told.contains("sent"), "{told}");
            break;
        }
        steps += 1;
    }
    assert!(steps > 8, "there were {steps} steps alone");
}

/// Two pages of a snapshot, and one of the feed after it.
struct Pages;

impl Transport for Pages {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        let query = request.uri().query().unwrap_or_default();
        let cursor = query.split('&').find_map(|pair| pair.strip_prefix("cursor=")).unwrap_or_default();
        let (ids, more, next): (&[&str], _, _) = match cursor {
            "" => (&["ship-1", "ship-2"], true, "snapshot-2"),
            "snapshot-2" => (&["ship-3", "ship-4"], false, "feed-1"),
            "feed-1" => (&["ship-5"], false, "feed-2"),
            _ => (&[], false, "feed-2"),
        };
        let ship = |id: &&str| {
            format!(
                r#"{{"shipId": "{id}", "version": 1, "shipType": {{"bt": "ship-type", "name": "Hauler"}}, "insurance": {{"kind": "LTI"}}, "fitted": false, "orgUnitVersion": 0}}"#
            )
        };
        let ships: Vec<String> = ids.iter().map(ship).collect();
        let page = format!(
            r#"{{"items": [{}], "removed": [], "hasMore": {more}, "nextCursor": "{next}"}}"#,
            ships.join(", ")
        );
        let answer = Response::builder().header("content-type", "application/json");
        let answer = answer.body(Bytes::from(page)).unwrap();
        Box::pin(async move { Ok(answer) })
    }
}

/// Reads all there is, as every start does.
async fn reads(folder: &Path, steps: &Steps) -> Replica {
    let document = r#"{"apiVersion": "1.0", "installationId": "i-1", "limits": {"batchMaxOps": 500}, "deprecations": [],
        "capabilities": ["exchange.connect", "exchange.hangar.read"], "docsUrl": "https://docs.example", "minClientVersion": null}"#;
    let document = ServiceDocument::parse(document.as_bytes()).unwrap();
    let connection = Connection::of(document, &identity("desk"), None);
    let replica = Replica::new(Ending(SqliteReplica::open(folder).unwrap(), steps.clone()));
    let sync = Sync::new(Client::new("https://gateway.test", Pages), replica.clone(), Environment::system());
    sync.session(&connection).await.unwrap();
    for _ in 0..2 {
        sync.area(Area::Ships).await.unwrap();
    }
    replica
}

/// FED-03: wherever a program ends, what is there are whole pages, and the next start comes to what the exchange has.
#[tokio::test]
async fn the_replica_outlives_the_end_at_every_step() {
    let name = "the_replica_outlives_the_end_at_every_step";
    if let Some((folder, steps)) = child(name) {
        reads(&folder, &steps).await;
        return;
    }
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let (is_whole, told) = ends(name, folder.path(), steps);
        let left = Replica::new(SqliteReplica::open(folder.path()).unwrap()).count(Area::Ships).unwrap();
        assert!([0, 2, 4, 5].contains(&left), "step {steps}: a page in part, {left} ships");
        let replica = reads(folder.path(), &Steps::left(u64::MAX)).await;
        let ids = replica.ships().map(|ship| ship.unwrap().ship_id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids, ["ship-1", "ship-2", "ship-3", "ship-4", "ship-5"], "step {steps}");
        assert!(replica.freshness(Area::Ships).unwrap().is_whole);
        if is_whole {
            assert_eq!(left, 5, "{told}");
            break;
        }
        steps += 1;
    }
    assert!(steps > 6, "there were {steps} steps alone");
}
