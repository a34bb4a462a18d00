//! Tests of programs that are killed at every step: before and after each store call, and around each write
//! that the exchange applies. Each step runs in a separate process, which is killed at that step. The next
//! start continues with the files of the killed process.
#![allow(clippy::print_stdout, reason = "a child process prints its progress")]

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
        runtime::{operation::Operation, transport::ResponseFuture},
        types::{InstallationId, ServiceDocument},
    },
    changes::known::KnownItem,
    feed::{AreaState, Collection},
    outbox::{EntryRow, EntryState, NewEntryRow, OutboxPolicy, OutboxStore, StoreFuture},
    replica::{
        self, AreaCommit, CommitOutcome, DemandDocument, ForgottenCollection, OwnerNote, RemovalRecord,
        ReplicaStore,
    },
    sync::ReplicaSync,
};
use exchange_client_e2e::identity;
use exchange_client_sqlite::{SqliteOutbox, SqliteReplica};
use http::{Request, Response};

// Parameters of a child process: the test, the folder, and the step at which it is killed.
const CHILD: &str = "EXCHANGE_KILLED_CHILD";
const FOLDER: &str = "EXCHANGE_KILLED_FOLDER";
const STEP: &str = "EXCHANGE_KILLED_STEP";

/// The number of steps that remain before the process is killed.
#[derive(Clone)]
struct StepCounter(Arc<AtomicU64>);

impl StepCounter {
    fn left(steps: u64) -> Self {
        Self(Arc::new(AtomicU64::new(steps)))
    }

    /// Kills the process at step 0, without an orderly shutdown.
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

/// A store that kills the process before or after one of its calls.
struct KillingStore<S>(S, StepCounter);

impl<S: std::marker::Sync> KillingStore<S> {
    fn keeping<'a, T: Send + 'a>(&'a self, work: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        Box::pin(async move {
            self.1.step();
            let done = work.await;
            self.1.step();
            done
        })
    }
}

impl OutboxStore for KillingStore<SqliteOutbox> {
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        self.keeping(self.0.append(rows))
    }

    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        self.keeping(self.0.replace(row))
    }

    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        self.keeping(self.0.remove(number, revision))
    }

    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        self.keeping(self.0.purge_removed())
    }

    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        self.0.get_row(number)
    }

    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        self.0.first_pending(owner, lane)
    }

    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        self.0.list_rows(owner)
    }
}

impl ReplicaStore for KillingStore<SqliteReplica> {
    fn area_state(&self, area: Area) -> Result<AreaState, Error> {
        self.1.around(|| self.0.area_state(area))
    }

    fn commit(&self, commit: &AreaCommit) -> Result<CommitOutcome, Error> {
        self.1.around(|| self.0.commit(commit))
    }

    fn entry(&self, area: Area, key: &str) -> Result<Option<replica::ReplicaRow>, Error> {
        self.0.entry(area, key)
    }

    fn entries(
        &self,
        area: Area,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<replica::ReplicaRow>, Error> {
        self.0.entries(area, after, limit)
    }

    fn count(&self, area: Area) -> Result<u64, Error> {
        self.0.count(area)
    }

    fn removal(&self, area: Area, key: &str) -> Result<Option<RemovalRecord>, Error> {
        self.0.removal(area, key)
    }

    fn set_baseline(&self, area: Area, entries: &[replica::ReplicaRow], gone: &[&str]) -> Result<(), Error> {
        self.1.around(|| self.0.set_baseline(area, entries, gone))
    }

    fn baseline(&self, area: Area, key: &str) -> Result<Option<replica::ReplicaRow>, Error> {
        self.0.baseline(area, key)
    }

    fn demand(&self) -> Result<Option<DemandDocument>, Error> {
        self.0.demand()
    }

    fn store_demand(&self, demand: &DemandDocument, reader: &InstallationId) -> Result<bool, Error> {
        self.1.around(|| self.0.store_demand(demand, reader))
    }

    fn demand_requested_at(&self) -> Result<Option<UnixTime>, Error> {
        self.0.demand_requested_at()
    }

    fn note_demand_request(&self, at: UnixTime) -> Result<(), Error> {
        self.1.around(|| self.0.note_demand_request(at))
    }

    fn forget(
        &self,
        collections: &[Collection],
        owner: OwnerNote,
    ) -> Result<Vec<ForgottenCollection>, Error> {
        self.1.around(|| self.0.forget(collections, owner))
    }

    fn purge_removed(&self, now: UnixTime) -> Result<(), Error> {
        self.1.around(|| self.0.purge_removed(now))
    }
}

/// Returns the parameters of the child of a test; `None` in the process that runs all tests.
fn child(name: &str) -> Option<(PathBuf, StepCounter)> {
    if env::var(CHILD).ok()? != name {
        return None;
    }
    let steps = env::var(STEP).ok()?.parse().ok()?;
    Some((env::var_os(FOLDER)?.into(), StepCounter::left(steps)))
}

/// Runs the child process of a test up to a step. Returns true if the child completed before that step, and
/// its output.
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

/// A file with the keys of the applied writes, one per line. As at the exchange, a key is applied only once.
#[derive(Clone)]
struct AppliedWrites(PathBuf, StepCounter);

impl Transport for AppliedWrites {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
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
    let response = Response::builder().header("content-type", "application/json");
    response.body(Bytes::from_static(body.as_bytes())).unwrap()
}

fn outbox(folder: &Path, steps: &StepCounter) -> Outbox {
    let client =
        Client::new("https://gateway.test", AppliedWrites(folder.join("carried-out"), steps.clone()));
    let store = KillingStore(SqliteOutbox::open(folder).unwrap(), steps.clone());
    // The lease is zero, so that a killed process is considered dead immediately.
    let mut policy = OutboxPolicy::default();
    policy.lease_duration = Duration::ZERO;
    Outbox::new(client.api_client(), store, Environment::system(), "i-1", policy).unwrap()
}

/// Stores a change, sends it, and then removes the decided entry.
async fn writes(outbox: &Outbox) {
    let known = KnownItem { bt: Some("bp-1".parse().unwrap()), ..KnownItem::default() };
    let mut changes = BlueprintChanges::new();
    changes.add(known.item_ref().unwrap()).unwrap();
    outbox.enqueue(changes).await.unwrap();
    println!("kept");
    outbox.flush().await.unwrap();
    println!("sent");
    outbox.forget_decided().await.unwrap();
}

/// GW-12: at whatever step a program is killed, each stored change is applied, and none is applied twice.
#[tokio::test]
async fn outbox_survives_a_kill_at_every_step() {
    let name = "outbox_survives_a_kill_at_every_step";
    if let Some((folder, steps)) = child(name) {
        return writes(&outbox(&folder, &steps)).await;
    }
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let (is_whole, reported) = ends(name, folder.path(), steps);
        let next = outbox(folder.path(), &StepCounter::left(u64::MAX));
        next.flush().await.unwrap();
        let entries = next.entries().await.unwrap();
        assert!(entries.iter().all(|entry| entry.state() == EntryState::Done), "step {steps}: {entries:?}");
        let carried_out = fs::read_to_string(folder.path().join("carried-out")).unwrap_or_default();
        let times = carried_out.lines().count();
        assert!(times <= 1, "step {steps}: the change was applied {times} times");
        assert!(times == 1 || !reported.contains("kept"), "step {steps}: the change was lost");
        if is_whole {
            assert!(reported.contains("sent"), "{reported}");
            break;
        }
        steps += 1;
    }
    assert!(steps > 8, "there were only {steps} steps");
}

/// A transport that returns two pages of a snapshot, and then one page of the feed.
struct Pages;

impl Transport for Pages {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
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
        let response = Response::builder().header("content-type", "application/json");
        let response = response.body(Bytes::from(page)).unwrap();
        Box::pin(async move { Ok(response) })
    }
}

/// Reads all pages, as every start of the program does.
async fn reads(folder: &Path, steps: &StepCounter) -> Replica {
    let document = r#"{"apiVersion": "1.0", "installationId": "i-1", "limits": {"batchMaxOps": 500}, "deprecations": [],
        "capabilities": ["exchange.connect", "exchange.hangar.read"], "docsUrl": "https://docs.example", "minClientVersion": null}"#;
    let document = ServiceDocument::parse(document.as_bytes()).unwrap();
    let connection = Connection::from_document(document, &identity("desk"), None);
    let replica = Replica::new(KillingStore(SqliteReplica::open(folder).unwrap(), steps.clone()));
    let sync =
        ReplicaSync::new(Client::new("https://gateway.test", Pages), replica.clone(), Environment::system());
    sync.begin_session(&connection).await.unwrap();
    for _ in 0..2 {
        sync.sync_area(Area::Ships).await.unwrap();
    }
    replica
}

/// FED-03: at whatever step a program is killed, only complete pages are stored, and the next start reaches
/// the state of the exchange.
#[tokio::test]
async fn replica_survives_a_kill_at_every_step() {
    let name = "replica_survives_a_kill_at_every_step";
    if let Some((folder, steps)) = child(name) {
        reads(&folder, &steps).await;
        return;
    }
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        let (is_whole, reported) = ends(name, folder.path(), steps);
        let left = Replica::new(SqliteReplica::open(folder.path()).unwrap()).count(Area::Ships).unwrap();
        assert!([0, 2, 4, 5].contains(&left), "step {steps}: a page is incomplete, {left} ships");
        let replica = reads(folder.path(), &StepCounter::left(u64::MAX)).await;
        let ids = replica.ships().map(|ship| ship.unwrap().ship_id.to_string()).collect::<Vec<_>>();
        assert_eq!(ids, ["ship-1", "ship-2", "ship-3", "ship-4", "ship-5"], "step {steps}");
        assert!(replica.freshness(Area::Ships).unwrap().is_whole);
        if is_whole {
            assert_eq!(left, 5, "{reported}");
            break;
        }
        steps += 1;
    }
    assert!(steps > 6, "there were only {steps} steps");
}
