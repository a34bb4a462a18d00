//! Kills the real process with `kill -9` under load. Afterwards, acknowledged writes exist once, other writes
//! exist completely or not at all, and cursors and connections are still valid.
//!
//! Normal test runs have a few rounds. `CRASHES=200` sets the number of rounds, and `CRASH_SEED=7` the
//! moments of the crashes. Progress is printed to stderr (`--no-capture`).

#![allow(clippy::unwrap_used, reason = "a panic is a test failure")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dpop_bound::RandomSource as _;
use exchange_service::sandbox::{Sandbox, SandboxOptions, SeededRandom};
use exchange_service::time::{ManualClock, SystemClock};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::client::{Client, ClientResponse};
use super::support::command;

const WRITERS: usize = 8;
/// The number of ops per change set: several, so that a partial write would be detected.
const OPS: usize = 3;
/// The number of change sets per writer and round.
const SETS: usize = 8;
/// A duration that exceeds the lease of a crashed request's key (ERR-25).
const LEASE: Duration = Duration::from_secs(61);

/// A process that runs `exchange-service sandbox`.
struct Service(Child);

impl Service {
    fn start(folder: &Path, port: u16) -> Self {
        // Another process may be using the port for a moment.
        for _ in 0..50 {
            let mut command = command(&["sandbox", "--json", "--port", &port.to_string(), "--data"]);
            command.arg(folder);
            let mut service = Self(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
            let mut line = String::new();
            BufReader::new(service.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
            if line.starts_with('{') {
                return service;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("exchange-service does not start");
    }

    /// Kills the process, with SIGKILL on systems with signals.
    fn kill(&mut self) {
        // If a test fails, the process may already have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.kill();
    }
}

async fn control(origin: &str, path: &str, body: Value) {
    let request = reqwest::Client::new().post(format!("{origin}/_sandbox/{path}"));
    let response =
        request.header("content-type", "application/json").body(body.to_string()).send().await.unwrap();
    assert!(response.status().is_success(), "{path}: {}", response.status());
}

/// A counter of requests that triggers the crash.
#[derive(Default)]
struct Load {
    sent: AtomicUsize,
    fatal: usize,
    reached: Notify,
    over: AtomicBool,
}

impl Load {
    fn should_continue(&self) -> bool {
        if self.sent.fetch_add(1, Ordering::SeqCst) + 1 == self.fatal {
            self.reached.notify_one();
        }
        !self.over.load(Ordering::SeqCst)
    }
}

/// The number of results by kind.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    acknowledged: usize,
    lost_and_there: usize,
    lost_and_not_there: usize,
    lost_refreshes: usize,
}

/// The client of a member, which writes, reads the feed and refreshes its tokens.
struct Writer {
    member: String,
    client: Client,
    next: usize,
    /// The change set that was sent without receiving a response.
    pending: Option<usize>,
    /// The change sets that were acknowledged since the last crash, with their responses.
    answers: Vec<(usize, Bytes)>,
    /// The products that exist according to all acknowledged writes.
    truth: BTreeSet<String>,
    replica: BTreeSet<String>,
    cursor: String,
    tally: Tally,
}

fn products(set: usize) -> impl Iterator<Item = String> {
    (set * OPS..(set + 1) * OPS).map(|number| format!("BP_CRASH_{number:06}"))
}

/// Returns true if a product belongs to the test, and not to the seed.
fn is_ours(key: &str) -> bool {
    key.starts_with("BP_CRASH_")
}

impl Writer {
    /// Creates a writer and signs its client in.
    async fn new(number: usize, origin: &str, clock: ManualClock) -> Self {
        let mut client = Client::new(origin, &format!("{origin}/idp"), clock);
        let login = client.begin().await;
        let account = format!("sandbox-load-{number:02}");
        control(origin, "approve", json!({ "userCode": login.user_code, "account": account })).await;
        client.finish(&login).await;
        let mut writer = Self {
            member: format!("member-load-{number:02}"),
            client,
            next: 0,
            pending: None,
            answers: Vec::new(),
            truth: BTreeSet::new(),
            replica: BTreeSet::new(),
            cursor: String::new(),
            tally: Tally::default(),
        };
        writer.read().await.unwrap();
        writer
    }

    async fn write(&mut self, set: usize) -> reqwest::Result<ClientResponse> {
        let op = |key: String| json!({ "op": "add", "ref": { "bt": key } });
        let body = json!({ "ops": products(set).map(op).collect::<Vec<_>>() });
        let (path, key) = ("/exchange/v1/me/blueprints/changes", format!("crash-key-{set:06}"));
        self.pending = Some(set);
        let response = self.client.try_call("blueprints_write", path, Some(body), &key).await?;
        assert_eq!(response.status, 200, "{}", response.body);
        assert_eq!(response.body["applied"], OPS, "{}", response.body);
        self.pending = None;
        Ok(response)
    }

    /// Sends a change set, possibly again, and returns whether it had been applied before.
    async fn finish(&mut self, set: usize) -> reqwest::Result<bool> {
        let response = self.write(set).await?;
        self.answers.push((set, response.bytes));
        self.truth.extend(products(set));
        Ok(response.headers.contains_key("idempotency-replayed"))
    }

    /// Reads the feed to its end, with a cursor from before the crash (FED-08).
    async fn read(&mut self) -> reqwest::Result<()> {
        loop {
            let cursor =
                if self.cursor.is_empty() { String::new() } else { format!("&cursor={}", self.cursor) };
            let path = format!("/exchange/v1/me/blueprints?limit=100{cursor}");
            let page = self.client.try_call("blueprints_read", &path, None, "").await?;
            assert_eq!(page.status, 200, "{}", page.body);
            assert_eq!(page.body["removed"], json!([]));
            for item in page.body["items"].as_array().unwrap() {
                let key = item["key"].as_str().unwrap();
                // The feed contains each write only once.
                assert!(!is_ours(key) || self.replica.insert(key.to_owned()), "{key} is in the feed twice");
            }
            page.body["nextCursor"].as_str().unwrap().clone_into(&mut self.cursor);
            if page.body["hasMore"] == false {
                return Ok(());
            }
        }
    }

    /// Sends requests until the service crashes.
    async fn work(mut self, load: Arc<Load>) -> Self {
        let mut turn = 0;
        while load.should_continue() {
            turn += 1;
            let done = match turn % 4 {
                0 => match self.client.try_renew().await {
                    Ok((status, body)) => {
                        assert_eq!(status, 200, "{body}");
                        Ok(())
                    }
                    Err(error) => {
                        self.tally.lost_refreshes += 1;
                        Err(error)
                    }
                },
                2 => self.read().await,
                _ if self.answers.len() == SETS => self.read().await,
                _ => {
                    self.next += 1;
                    self.finish(self.next - 1).await.map(drop)
                }
            };
            if done.is_err() {
                break;
            }
        }
        self
    }

    /// Checks the complete state after a crash, and repeats the interrupted operation.
    async fn recover(mut self) -> Self {
        // A refresh can be repeated after a lost response.
        let (status, body) = self.client.renew().await;
        assert_eq!(status, 200, "{body}");
        self.tally.acknowledged += self.answers.len();
        let answers = std::mem::take(&mut self.answers);
        let pending = self.pending;
        self.read().await.unwrap();
        let cut: BTreeSet<String> = pending.into_iter().flat_map(products).collect();
        let is_there = !cut.is_empty() && cut.is_subset(&self.replica);
        if is_there {
            self.truth.extend(cut);
        }
        assert_eq!(
            self.replica, self.truth,
            "the replica of {} differs; {pending:?} was interrupted",
            self.member
        );
        if let Some(set) = pending {
            // Either both the write and its response are stored, or neither (WRT-03).
            assert_eq!(self.finish(set).await.unwrap(), is_there, "{set} of {}", self.member);
            self.tally.lost_and_there += usize::from(is_there);
            self.tally.lost_and_not_there += usize::from(!is_there);
            self.read().await.unwrap();
            assert_eq!(self.replica, self.truth);
            self.answers.clear();
        }
        for (set, bytes) in answers {
            let again = self.write(set).await.unwrap();
            assert_eq!((again.bytes, again.headers.contains_key("idempotency-replayed")), (bytes, true));
        }
        self
    }
}

/// Creates the sandbox's members, client and accounts, default products, and higher quotas.
async fn seed_store(folder: &Path, products: usize) {
    let options = SandboxOptions { data: Some(folder.to_owned()), ..SandboxOptions::default() };
    Sandbox::with_options(options).await.unwrap().stop().await;
    let database = open(folder);
    let insert = format!(
        "WITH RECURSIVE number (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < {products}) \
         INSERT INTO catalogue_entry (kind, id, name) \
         SELECT 'BLUEPRINT', printf('BP_CRASH_%06d', n), printf('Crash %06d', n) FROM number; \
         UPDATE client SET writes_per_day = 5000"
    );
    database.execute_batch(&insert).unwrap();
}

fn open(folder: &Path) -> rusqlite::Connection {
    let database = rusqlite::Connection::open(folder.join("exchange.db")).unwrap();
    database.busy_timeout(Duration::from_secs(5)).unwrap();
    database
}

/// Asserts that the tables contain no change that was applied twice or partially.
fn inspect(folder: &Path, writers: &[Writer]) {
    let database = open(folder);
    let number = |sql: &str, member: &str| -> usize {
        let number: i64 = database.query_row(sql, [member], |row| row.get(0)).unwrap();
        number.try_into().unwrap()
    };
    let integrity: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    for Writer { member, truth, .. } in writers {
        let (products, sets) = (truth.len(), truth.len() / OPS);
        for (sql, expect) in [
            ("SELECT count(*) FROM blueprint WHERE member = ?1", products),
            ("SELECT count(*) FROM journal WHERE member = ?1", products),
            ("SELECT count(DISTINCT key) FROM journal WHERE member = ?1", products),
            ("SELECT count(DISTINCT change_set) FROM journal WHERE member = ?1", sets),
            ("SELECT count(*) FROM idempotency WHERE member = ?1 AND status = 200", sets),
            ("SELECT count(*) FROM idempotency WHERE member = ?1", sets),
        ] {
            assert_eq!(number(sql, member), expect, "{sql} ({member})");
        }
    }
}

async fn each<F: Future<Output = Writer> + Send + 'static>(
    writers: Vec<Writer>,
    task: impl Fn(Writer) -> F,
) -> Vec<Writer> {
    let mut tasks = JoinSet::new();
    for writer in writers {
        tasks.spawn(task(writer));
    }
    tasks.join_all().await
}

/// WRT-03, GW-10, FED-08, LIM-12: acknowledged writes survive crashes (see the module documentation).
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_writes_survive_kill_9() {
    let setting = |name: &str, usual| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let (rounds, seed) = (setting("CRASHES", 3), setting("CRASH_SEED", 20));
    let random = SeededRandom::new(seed);
    let below = |limit: u64| {
        let mut bytes = [0; 8];
        random.fill(&mut bytes).unwrap();
        u64::from_be_bytes(bytes) % limit
    };
    let folder = tempfile::tempdir().unwrap();
    seed_store(folder.path(), (usize::try_from(rounds).unwrap() + 1) * SETS * OPS).await;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let origin = format!("http://127.0.0.1:{port}");
    let clock = ManualClock::offset_from(Arc::new(SystemClock));
    let (began, mut ahead) = (Instant::now(), Duration::ZERO);

    let mut service = Service::start(folder.path(), port);
    let mut writers = Vec::new();
    for number in 1..=WRITERS {
        writers.push(Writer::new(number, &origin, clock.clone()).await);
    }
    for _ in 0..rounds {
        let fatal = 4 + usize::try_from(below(80)).unwrap();
        let load = Arc::new(Load { fatal, ..Load::default() });
        let working = each(writers, |writer| writer.work(Arc::clone(&load)));
        let killing = async {
            load.reached.notified().await;
            // There is no synchronization, so that the crash happens at a random moment.
            tokio::time::sleep(Duration::from_micros(below(5000))).await;
            service.kill();
            load.over.store(true, Ordering::SeqCst);
        };
        writers = tokio::join!(working, killing).0;

        service = Service::start(folder.path(), port);
        // The clock advances, so that claims of crashed requests and tokens expire.
        ahead += LEASE;
        clock.advance(LEASE);
        control(&origin, "clock", json!({ "advanceSeconds": ahead.as_secs() })).await;
        writers = each(writers, Writer::recover).await;
    }
    service.kill();
    inspect(folder.path(), &writers);
    let mut sum = Tally::default();
    for Writer { tally, .. } in &writers {
        sum.acknowledged += tally.acknowledged;
        sum.lost_and_there += tally.lost_and_there;
        sum.lost_and_not_there += tally.lost_and_not_there;
        sum.lost_refreshes += tally.lost_refreshes;
    }
    eprintln!("{rounds} crashes in {:.0} s, seed {seed}: {sum:?}", began.elapsed().as_secs_f64());
    assert!(sum.acknowledged > 0, "no writes were acknowledged");
}
