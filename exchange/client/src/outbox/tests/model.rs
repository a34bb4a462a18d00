//! Any faults in any order: no set is carried out twice, and every one that was kept is carried out once the
//! exchange can be reached again.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use dpop_bound::UnixTime;
use exchange_api::{
    Contract as _,
    runtime::{
        operation::Operation,
        transport::{Delivery, Sending, Transport, TransportError, TransportFault},
    },
    types::ServiceDocument,
};
use http::{
    HeaderValue, Request, Response,
    header::{DATE, WWW_AUTHENTICATE},
};
use proptest::prelude::*;

use super::{blueprint, seconds};
use crate::{
    changes::Lane,
    connection::Connection,
    error::{Error, ErrorKind},
    outbox::*,
    testkit::{VirtualEnvironment, proof_time, signed_in},
    tokens::Note,
    transport::Settings,
    whose::Whose,
};

/// How long the model remembers a key.
const MEMORY: Duration = Duration::from_secs(24 * 3600);

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Answered,
    Refused,
    LostBefore,
    LostAfter,
    /// It arrives fifty seconds after it was given up.
    Late,
    /// It arrives twice, and the second copy is answered: its proof was used before.
    Twice,
    FailedBefore,
    FailedAfter,
    Busy,
    Limited,
    Held,
    NoAnswer,
    SignedOut,
}

#[derive(Clone, Copy)]
enum When {
    Now,
    Late,
}

/// What happens to the store's next deed.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Done,
    FailedBefore,
    FailedAfter,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue(bool),
    /// It is given up after so long.
    Flush(u64),
    /// Two processes at once.
    Both(u64),
    /// The process ends and is started again.
    Restart,
    Pass(u64),
    /// The member confirms what is held, or asks for it again, and compares what is unknown.
    Member(bool),
    /// The machine's clock is set back, so far that it stays behind what was noted.
    SetBack,
    /// It is set to so many seconds more or less than was right before. Nothing is on its way then: a process that sent
    /// nothing itself has no clock but this one to tell for how long it was quiet.
    SetBy(i64),
}

/// The exchange: sets by what they say, keys by when they were first used.
#[derive(Default)]
struct World {
    carried_out: HashMap<String, u32>,
    keys: HashMap<String, (Bytes, Duration)>,
    held: HashSet<String>,
    fates: VecDeque<Fate>,
}

#[derive(Clone)]
struct Exchange(Arc<Mutex<World>>, VirtualEnvironment);

impl Exchange {
    /// Carries a request out, unless it did so before; a late one not where the set was held meanwhile.
    fn act(&self, request: &Request<Bytes>, when: When) {
        let mut world = self.0.lock().unwrap();
        let now = self.1.elapsed();
        let key = request.headers()["idempotency-key"].to_str().unwrap().to_owned();
        let body = request.body().clone();
        match when {
            When::Now => drop(world.held.remove(&key)),
            When::Late if world.held.contains(&key) => return,
            When::Late => {}
        }
        match world.keys.get(&key).filter(|(_, at)| now - *at < MEMORY) {
            Some((known, _)) => assert_eq!(*known, body, "another body under a key"),
            None => {
                *world.carried_out.entry(product(&body)).or_default() += 1;
                world.keys.insert(key, (body, now));
            }
        }
    }

    /// What becomes of a request, and whether it is held: that is decided under its key, at one moment, so that a copy
    /// of it that arrives before the answer left is held with it. What is known by its key is never held.
    fn arrives(&self, request: &Request<Bytes>) -> (Fate, bool) {
        let mut world = self.0.lock().unwrap();
        let fate = world.fates.pop_front().unwrap_or(Fate::Answered);
        let key = request.headers()["idempotency-key"].to_str().unwrap().to_owned();
        let is_held = matches!(fate, Fate::Held) && !world.keys.contains_key(&key);
        if is_held {
            world.held.insert(key);
        }
        (fate, is_held)
    }

    fn has(&self, product: &str) -> bool {
        self.0.lock().unwrap().carried_out.contains_key(product)
    }
}

fn product(body: &[u8]) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap();
    json["ops"][0]["ref"]["bt"].as_str().unwrap().to_owned()
}

fn answer(status: u16, body: String) -> Result<Response<Bytes>, TransportError> {
    let kind = if status == 200 { "application/json" } else { "application/problem+json" };
    let answer = Response::builder().status(status).header("content-type", kind);
    let answer = if status == 503 { answer.header("retry-after", "10") } else { answer };
    Ok(answer.body(Bytes::from(body)).unwrap())
}

fn problem(status: u16, code: &str) -> Result<Response<Bytes>, TransportError> {
    answer(
        status,
        serde_json::json!({
            "status": status, "code": code, "title": "t", "detail": "d", "correlationId": "c-1"
        })
        .to_string(),
    )
}

fn success() -> Result<Response<Bytes>, TransportError> {
    let body = serde_json::json!({
        "dryRun": false, "applied": 1, "unchanged": 0, "notApplied": 0, "results": [], "warnings": []
    });
    answer(200, body.to_string())
}

impl Transport for Exchange {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            let now = self.1.true_time();
            let proof = request.headers()["dpop"].to_str().unwrap();
            if proof_time(proof).unwrap().abs_diff(now.as_secs()) > 30 {
                return refused_proof(now);
            }
            let (fate, is_held) = self.arrives(&request);
            tokio::time::sleep(seconds(1)).await;
            let lost = |delivery| Err(TransportError::new(TransportFault::Interrupted, delivery));
            match fate {
                Fate::Refused => lost(Delivery::NotSent),
                Fate::LostBefore => lost(Delivery::Unknown),
                Fate::LostAfter => {
                    self.act(&request, When::Now);
                    lost(Delivery::Unknown)
                }
                Fate::Late => {
                    let late = self.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(seconds(50)).await;
                        late.act(&request, When::Late);
                    });
                    lost(Delivery::Unknown)
                }
                Fate::FailedBefore => problem(502, "BACKEND_RELAY_FAILED"),
                Fate::FailedAfter => {
                    self.act(&request, When::Now);
                    problem(500, "INTERNAL_ERROR")
                }
                Fate::Busy => problem(503, "RELAY_BUSY"),
                Fate::Limited => problem(429, "RATE_LIMITED"),
                Fate::SignedOut => problem(401, "UNAUTHENTICATED"),
                Fate::Held if is_held => problem(409, "MASS_CHANGE_CONFIRMATION_REQUIRED"),
                Fate::NoAnswer => {
                    self.act(&request, When::Now);
                    pending().await
                }
                Fate::Twice => {
                    self.act(&request, When::Now);
                    refused_proof(self.1.true_time())
                }
                Fate::Answered | Fate::Held => {
                    self.act(&request, When::Now);
                    success()
                }
            }
        })
    }
}

/// What a gateway says of a proof, with its own time.
fn refused_proof(now: UnixTime) -> Result<Response<Bytes>, TransportError> {
    let mut answer = problem(401, "DPOP_INVALID")?;
    let challenge = HeaderValue::from_static("DPoP error=\"invalid_dpop_proof\"");
    answer.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + now.since_epoch());
    answer.headers_mut().insert(DATE, HeaderValue::try_from(date).unwrap());
    Ok(answer)
}

/// A store that fails, before or after it did what it was told.
#[derive(Clone)]
struct Failing {
    store: MemoryOutbox,
    deeds: Arc<Mutex<VecDeque<Deed>>>,
    failed: Arc<AtomicBool>,
}

impl Failing {
    fn deed<'a, T: Send + 'a>(&'a self, run: impl FnOnce() -> Keeping<'a, T> + Send + 'a) -> Keeping<'a, T> {
        let deed = self.deeds.lock().unwrap().pop_front().unwrap_or(Deed::Done);
        Box::pin(async move {
            let failure = Err(Error::new(ErrorKind::Storage, "the disk is full"));
            if matches!(deed, Deed::FailedBefore) {
                self.failed.store(true, Ordering::Relaxed);
                return failure;
            }
            let done = run().await;
            match deed {
                Deed::FailedAfter => {
                    self.failed.store(true, Ordering::Relaxed);
                    failure
                }
                _ => done,
            }
        })
    }
}

impl OutboxStore for Failing {
    fn append(&self, rows: Vec<NewRow>) -> Keeping<'_, Vec<u64>> {
        self.deed(|| self.store.append(rows))
    }
    fn replace(&self, row: Row) -> Keeping<'_, bool> {
        self.deed(|| self.store.replace(row))
    }
    fn remove(&self, number: u64, revision: u64) -> Keeping<'_, bool> {
        self.deed(move || self.store.remove(number, revision))
    }
    fn settle(&self) -> Keeping<'_, ()> {
        self.deed(|| self.store.settle())
    }
    fn row(&self, number: u64) -> Keeping<'_, Option<Row>> {
        self.store.row(number)
    }
    fn first<'a>(&'a self, owner: &'a str, lane: Lane) -> Keeping<'a, Option<Row>> {
        self.store.first(owner, lane)
    }
    fn rows<'a>(&'a self, owner: &'a str) -> Keeping<'a, Vec<Row>> {
        self.store.rows(owner)
    }
}

struct Model {
    machine: VirtualEnvironment,
    exchange: Exchange,
    store: Failing,
    outboxes: [Outbox; 2],
    enqueued: u32,
    /// By so many seconds the machine's clock is.
    behind: i64,
    kept: Vec<String>,
}

impl Model {
    fn new(fates: Vec<Fate>, deeds: Vec<Deed>) -> Self {
        let machine = VirtualEnvironment::new(3);
        let world = World { fates: fates.into(), ..World::default() };
        let exchange = Exchange(Arc::new(Mutex::new(world)), machine.clone());
        let deeds = Arc::new(Mutex::new(deeds.into()));
        let store = Failing { store: MemoryOutbox::new(), deeds, failed: Arc::default() };
        let outboxes = [(); 2].map(|()| outbox(&machine, &exchange, &store));
        Self { machine, exchange, store, outboxes, enqueued: 0, behind: 0, kept: Vec::new() }
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Enqueue(first) => {
                self.enqueued += 1;
                let product = format!("bp-{}", self.enqueued);
                if self.outboxes[usize::from(first)].enqueue(blueprint(&product)).await.is_ok() {
                    self.kept.push(product);
                }
            }
            Step::Flush(time) => {
                let _ = tokio::time::timeout(seconds(time), self.outboxes[0].flush()).await;
            }
            Step::Both(time) => {
                let [one, two] = &self.outboxes;
                let both = async { tokio::join!(one.run(), two.run()) };
                let _ = tokio::time::timeout(seconds(time), both).await;
            }
            Step::Restart => self.outboxes[0] = outbox(&self.machine, &self.exchange, &self.store),
            Step::Pass(time) => tokio::time::sleep(seconds(time)).await,
            Step::Member(confirms) => self.member(confirms).await,
            Step::SetBack => {
                self.behind += 100 * 86_400;
                self.machine.set_wrong_by(-self.behind);
            }
            Step::SetBy(by) => {
                tokio::time::sleep(seconds(60)).await;
                self.machine.set_wrong_by(by - self.behind);
            }
        }
    }

    async fn member(&self, confirms: bool) {
        let outbox = &self.outboxes[0];
        let _ = outbox.resume().await;
        for entry in outbox.entries().await.unwrap() {
            let number = entry.number();
            let rows = self.store.rows("me").await.unwrap();
            let row = rows.iter().find(|row| row.number == number.0).unwrap();
            let product = product(&row.body);
            match entry.state() {
                State::Held if confirms => {
                    // On the web, and then the feed shows it.
                    *self.exchange.0.lock().unwrap().carried_out.entry(product).or_default() += 1;
                    // Said again where the store failed, whichever way it did.
                    while outbox.entry(number).await.unwrap().state() == State::Held {
                        let _ = outbox.resolve(number, Found::Applied).await;
                    }
                }
                State::Held => {
                    let _ = outbox.retry(number).await;
                }
                // Also of what is sent again otherwise, however soon.
                State::Unknown | State::Pending | State::Parked(_) if entry.may_be_applied() => {
                    let found = if self.exchange.has(&product) { Found::Applied } else { Found::Missing };
                    let _ = outbox.resolve(number, found).await;
                }
                _ => {}
            }
        }
    }

    /// Nothing goes wrong any more, until everything is decided.
    async fn recover(&mut self) {
        self.exchange.0.lock().unwrap().fates.clear();
        self.store.deeds.lock().unwrap().clear();
        self.step(Step::Restart).await;
        for _ in 0..40 {
            tokio::time::sleep(seconds(4000)).await;
            self.step(Step::Flush(3000)).await;
            self.step(Step::Member(false)).await;
            let entries = self.outboxes[0].entries().await.unwrap();
            if entries.iter().all(|entry| entry.state() == State::Done) {
                break;
            }
        }
    }
}

fn outbox(machine: &VirtualEnvironment, exchange: &Exchange, store: &Failing) -> Outbox {
    let over =
        signed_in("https://gateway.test", exchange.clone(), &machine.environment(), Settings::default());
    let document = br#"{"apiVersion": "1.4", "capabilities": [], "installationId": "me",
        "limits": {"batchMaxOps": 500}, "deprecations": [], "docsUrl": "https://docs.example",
        "minClientVersion": null}"#;
    let connection = Connection::of(ServiceDocument::parse(document).unwrap(), over.identity(), None);
    drop(over.tokens().noted(&Whose::default(), Note::Installation("me")));
    over.outbox(store.clone(), &connection).unwrap()
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop::sample::select(vec![
        Fate::Answered,
        Fate::Refused,
        Fate::LostBefore,
        Fate::LostAfter,
        Fate::Late,
        Fate::Twice,
        Fate::FailedBefore,
        Fate::FailedAfter,
        Fate::Busy,
        Fate::Limited,
        Fate::Held,
        Fate::NoAnswer,
        Fate::SignedOut,
    ]);
    prop::collection::vec(fate, 0..24)
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let deed =
        prop_oneof![6 => Just(Deed::Done), 1 => Just(Deed::FailedBefore), 1 => Just(Deed::FailedAfter)];
    prop::collection::vec(deed, 0..40)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => any::<bool>().prop_map(Step::Enqueue),
        4 => (1_u64..200).prop_map(Step::Flush),
        2 => (1_u64..400).prop_map(Step::Both),
        2 => Just(Step::Restart),
        2 => (1_u64..200).prop_map(Step::Pass),
        1 => (1_u64..40).prop_map(|hours| Step::Pass(hours * 3600)),
        2 => any::<bool>().prop_map(Step::Member),
        1 => Just(Step::SetBack),
        2 => (-40_i64..40).prop_map(|hours| Step::SetBy(hours * 3600)),
        2 => (-40_i64..40).prop_map(Step::SetBy),
    ];
    prop::collection::vec(step, 1..24)
}

/// So many fit into a run of all tests; `OUTBOX_CASES` says how many else.
fn cases() -> u32 {
    std::env::var("OUTBOX_CASES").map_or(400, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// GW-12, LIM-22: lost, late, doubled and failing answers, crashes at any step of the store, restarts, two processes,
    /// more than a day in between, and clocks that are set by hours or seconds: at most once, and exactly once when the exchange can be reached again.
    #[test]
    fn every_set_is_carried_out_once(fates in fates(), deeds in deeds(), steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut model = Model::new(fates, deeds);
            for step in steps {
                model.step(step).await;
            }
            model.recover().await;
            let world = model.exchange.0.lock().unwrap();
            for (product, times) in &world.carried_out {
                assert_eq!(*times, 1, "{product} was carried out {times} times");
            }
            for product in &model.kept {
                assert!(world.carried_out.contains_key(product), "{product} was lost");
            }
        });
    }
}
