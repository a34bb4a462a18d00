//! A model test with random faults in any order: no change set is applied twice, and each stored change set
//! is applied once the exchange can be reached.

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
        transport::{Delivery, ResponseFuture, Transport, TransportError, TransportFault},
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
    ownership::Ownership,
    testkit::{VirtualEnvironment, proof_time, signed_in_exchange},
    token_source::ConnectionNote,
    transport::TransportSettings,
};

/// The time for which the model stores a key.
const MEMORY: Duration = Duration::from_secs(24 * 3600);

/// The simulated outcome of a request.
#[derive(Clone, Copy, Debug)]
enum SimulatedOutcome {
    Applied,
    Refused,
    LostBefore,
    LostAfter,
    /// The request arrives fifty seconds after the client's timeout.
    Late,
    /// The request arrives twice. The client gets the response to the second copy, whose proof was already
    /// used.
    Twice,
    FailedBefore,
    FailedAfter,
    Busy,
    Limited,
    Held,
    NoResponse,
    SignedOut,
}

#[derive(Clone, Copy)]
enum ArrivalTime {
    Now,
    Late,
}

/// The result of the next store call.
#[derive(Clone, Copy, Debug)]
enum CallOutcome {
    Done,
    FailedBefore,
    FailedAfter,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enqueue(bool),
    /// Flushes the outbox, and drops the future after this time in seconds.
    Flush(u64),
    /// Runs the outboxes of two processes at once for this time in seconds.
    Both(u64),
    /// Ends the process and starts it again.
    Restart,
    Pass(u64),
    /// The member confirms held change sets (if true) or requests their links, and compares unknown ones.
    Member(bool),
    /// Sets the machine's clock back by 100 days, so that it stays behind the recorded times.
    SetBack,
    /// Sets the clock to an offset in seconds while no request is in flight. A process that did not send the
    /// request itself can measure the quiet period only with this clock.
    SetBy(i64),
}

/// The model of the exchange: how often a change to each product was applied, and the first use of each
/// key.
#[derive(Default)]
struct ExchangeState {
    carried_out: HashMap<String, u32>,
    keys: HashMap<String, (Bytes, Duration)>,
    held: HashSet<String>,
    outcomes: VecDeque<SimulatedOutcome>,
}

#[derive(Clone)]
struct Exchange(Arc<Mutex<ExchangeState>>, VirtualEnvironment);

impl Exchange {
    /// Applies a request unless its key was used before. A late request is dropped if its change set is held.
    fn apply_request(&self, request: &Request<Bytes>, arrival: ArrivalTime) {
        let mut state = self.0.lock().unwrap();
        let now = self.1.elapsed();
        let key = request.headers()["idempotency-key"].to_str().unwrap().to_owned();
        let body = request.body().clone();
        match arrival {
            ArrivalTime::Now => drop(state.held.remove(&key)),
            ArrivalTime::Late if state.held.contains(&key) => return,
            ArrivalTime::Late => {}
        }
        match state.keys.get(&key).filter(|(_, at)| now - *at < MEMORY) {
            Some((known, _)) => assert_eq!(*known, body, "a key was used with two bodies"),
            None => {
                *state.carried_out.entry(product(&body)).or_default() += 1;
                state.keys.insert(key, (body, now));
            }
        }
    }

    /// Decides the outcome of a request and whether its change set is held. Both are decided at one moment, so
    /// that a copy that arrives before the response is held as well. A request with a known key is never
    /// held.
    fn receive_request(&self, request: &Request<Bytes>) -> (SimulatedOutcome, bool) {
        let mut state = self.0.lock().unwrap();
        let outcome = state.outcomes.pop_front().unwrap_or(SimulatedOutcome::Applied);
        let key = request.headers()["idempotency-key"].to_str().unwrap().to_owned();
        let is_held = matches!(outcome, SimulatedOutcome::Held) && !state.keys.contains_key(&key);
        if is_held {
            state.held.insert(key);
        }
        (outcome, is_held)
    }

    fn has(&self, product: &str) -> bool {
        self.0.lock().unwrap().carried_out.contains_key(product)
    }
}

fn product(body: &[u8]) -> String {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap();
    json["ops"][0]["ref"]["bt"].as_str().unwrap().to_owned()
}

fn json_response(status: u16, body: String) -> Result<Response<Bytes>, TransportError> {
    let kind = if status == 200 { "application/json" } else { "application/problem+json" };
    let response = Response::builder().status(status).header("content-type", kind);
    let response = if status == 503 { response.header("retry-after", "10") } else { response };
    Ok(response.body(Bytes::from(body)).unwrap())
}

fn problem_response(status: u16, code: &str) -> Result<Response<Bytes>, TransportError> {
    json_response(
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
    json_response(200, body.to_string())
}

impl Transport for Exchange {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let now = self.1.true_time();
            let proof = request.headers()["dpop"].to_str().unwrap();
            if proof_time(proof).unwrap().abs_diff(now.as_secs()) > 30 {
                return refused_proof(now);
            }
            let (outcome, is_held) = self.receive_request(&request);
            tokio::time::sleep(seconds(1)).await;
            let lost = |delivery| Err(TransportError::new(TransportFault::Interrupted, delivery));
            match outcome {
                SimulatedOutcome::Refused => lost(Delivery::NotSent),
                SimulatedOutcome::LostBefore => lost(Delivery::Unknown),
                SimulatedOutcome::LostAfter => {
                    self.apply_request(&request, ArrivalTime::Now);
                    lost(Delivery::Unknown)
                }
                SimulatedOutcome::Late => {
                    let late = self.clone();
                    tokio::spawn(async move {
                        tokio::time::sleep(seconds(50)).await;
                        late.apply_request(&request, ArrivalTime::Late);
                    });
                    lost(Delivery::Unknown)
                }
                SimulatedOutcome::FailedBefore => problem_response(502, "BACKEND_RELAY_FAILED"),
                SimulatedOutcome::FailedAfter => {
                    self.apply_request(&request, ArrivalTime::Now);
                    problem_response(500, "INTERNAL_ERROR")
                }
                SimulatedOutcome::Busy => problem_response(503, "RELAY_BUSY"),
                SimulatedOutcome::Limited => problem_response(429, "RATE_LIMITED"),
                SimulatedOutcome::SignedOut => problem_response(401, "UNAUTHENTICATED"),
                SimulatedOutcome::Held if is_held => {
                    problem_response(409, "MASS_CHANGE_CONFIRMATION_REQUIRED")
                }
                SimulatedOutcome::NoResponse => {
                    self.apply_request(&request, ArrivalTime::Now);
                    pending().await
                }
                SimulatedOutcome::Twice => {
                    self.apply_request(&request, ArrivalTime::Now);
                    refused_proof(self.1.true_time())
                }
                SimulatedOutcome::Applied | SimulatedOutcome::Held => {
                    self.apply_request(&request, ArrivalTime::Now);
                    success()
                }
            }
        })
    }
}

/// Returns a `DPOP_INVALID` response with the gateway's time in `Date`.
fn refused_proof(now: UnixTime) -> Result<Response<Bytes>, TransportError> {
    let mut response = problem_response(401, "DPOP_INVALID")?;
    let challenge = HeaderValue::from_static("DPoP error=\"invalid_dpop_proof\"");
    response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + now.since_epoch());
    response.headers_mut().insert(DATE, HeaderValue::try_from(date).unwrap());
    Ok(response)
}

/// A store that can fail before or after it performs a call.
#[derive(Clone)]
struct Failing {
    store: MemoryOutbox,
    call_outcomes: Arc<Mutex<VecDeque<CallOutcome>>>,
    failed: Arc<AtomicBool>,
}

impl Failing {
    fn act<'a, T: Send + 'a>(
        &'a self,
        run: impl FnOnce() -> StoreFuture<'a, T> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        let act = self.call_outcomes.lock().unwrap().pop_front().unwrap_or(CallOutcome::Done);
        Box::pin(async move {
            let failure = Err(Error::new(ErrorKind::Storage, "the disk is full"));
            if matches!(act, CallOutcome::FailedBefore) {
                self.failed.store(true, Ordering::Relaxed);
                return failure;
            }
            let done = run().await;
            match act {
                CallOutcome::FailedAfter => {
                    self.failed.store(true, Ordering::Relaxed);
                    failure
                }
                _ => done,
            }
        })
    }
}

impl OutboxStore for Failing {
    fn append(&self, rows: Vec<NewEntryRow>) -> StoreFuture<'_, Vec<u64>> {
        self.act(|| self.store.append(rows))
    }
    fn replace(&self, row: EntryRow) -> StoreFuture<'_, bool> {
        self.act(|| self.store.replace(row))
    }
    fn remove(&self, number: u64, revision: u64) -> StoreFuture<'_, bool> {
        self.act(move || self.store.remove(number, revision))
    }
    fn purge_removed(&self) -> StoreFuture<'_, ()> {
        self.act(|| self.store.purge_removed())
    }
    fn get_row(&self, number: u64) -> StoreFuture<'_, Option<EntryRow>> {
        self.store.get_row(number)
    }
    fn first_pending<'a>(&'a self, owner: &'a str, lane: Lane) -> StoreFuture<'a, Option<EntryRow>> {
        self.store.first_pending(owner, lane)
    }
    fn list_rows<'a>(&'a self, owner: &'a str) -> StoreFuture<'a, Vec<EntryRow>> {
        self.store.list_rows(owner)
    }
}

struct Model {
    machine: VirtualEnvironment,
    exchange: Exchange,
    store: Failing,
    outboxes: [Outbox; 2],
    enqueued: u32,
    /// The number of seconds by which the machine's clock is behind.
    behind: i64,
    kept: Vec<String>,
}

impl Model {
    fn new(outcomes: Vec<SimulatedOutcome>, call_outcomes: Vec<CallOutcome>) -> Self {
        let machine = VirtualEnvironment::new(3);
        let state = ExchangeState { outcomes: outcomes.into(), ..ExchangeState::default() };
        let exchange = Exchange(Arc::new(Mutex::new(state)), machine.clone());
        let call_outcomes = Arc::new(Mutex::new(call_outcomes.into()));
        let store = Failing { store: MemoryOutbox::new(), call_outcomes, failed: Arc::default() };
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
                self.machine.set_clock_offset(-self.behind);
            }
            Step::SetBy(by) => {
                tokio::time::sleep(seconds(60)).await;
                self.machine.set_clock_offset(by - self.behind);
            }
        }
    }

    async fn member(&self, confirms: bool) {
        let outbox = &self.outboxes[0];
        let _ = outbox.resume_parked().await;
        for entry in outbox.entries().await.unwrap() {
            let number = entry.number();
            let rows = self.store.list_rows("me").await.unwrap();
            let row = rows.iter().find(|row| row.number == number.0).unwrap();
            let product = product(&row.body);
            match entry.state() {
                EntryState::Held if confirms => {
                    // The member confirms in the web application, and the change then appears in the feed.
                    *self.exchange.0.lock().unwrap().carried_out.entry(product).or_default() += 1;
                    // The call is repeated if the store failed.
                    while outbox.entry(number).await.unwrap().state() == EntryState::Held {
                        let _ = outbox.resolve_unknown(number, ComparisonResult::Applied).await;
                    }
                }
                EntryState::Held => {
                    let _ = outbox.retry(number).await;
                }
                // This includes a change set that would be sent again anyway.
                EntryState::Unknown | EntryState::Pending | EntryState::Parked(_)
                    if entry.may_be_applied() =>
                {
                    let found = if self.exchange.has(&product) {
                        ComparisonResult::Applied
                    } else {
                        ComparisonResult::Missing
                    };
                    let _ = outbox.resolve_unknown(number, found).await;
                }
                _ => {}
            }
        }
    }

    /// Runs without faults until all change sets are decided.
    async fn recover(&mut self) {
        self.exchange.0.lock().unwrap().outcomes.clear();
        self.store.call_outcomes.lock().unwrap().clear();
        self.step(Step::Restart).await;
        for _ in 0..40 {
            tokio::time::sleep(seconds(4000)).await;
            self.step(Step::Flush(3000)).await;
            self.step(Step::Member(false)).await;
            let entries = self.outboxes[0].entries().await.unwrap();
            if entries.iter().all(|entry| entry.state() == EntryState::Done) {
                break;
            }
        }
    }
}

fn outbox(machine: &VirtualEnvironment, exchange: &Exchange, store: &Failing) -> Outbox {
    let over = signed_in_exchange(
        "https://gateway.test",
        exchange.clone(),
        &machine.environment(),
        TransportSettings::default(),
    );
    let document = br#"{"apiVersion": "1.4", "capabilities": [], "installationId": "me",
        "limits": {"batchMaxOps": 500}, "deprecations": [], "docsUrl": "https://docs.example",
        "minClientVersion": null}"#;
    let connection =
        Connection::from_document(ServiceDocument::parse(document).unwrap(), over.identity(), None);
    drop(over.tokens().record_note(&Ownership::default(), ConnectionNote::Installation("me")));
    over.outbox(store.clone(), &connection).unwrap()
}

fn outcomes() -> impl Strategy<Value = Vec<SimulatedOutcome>> {
    let outcome = prop::sample::select(vec![
        SimulatedOutcome::Applied,
        SimulatedOutcome::Refused,
        SimulatedOutcome::LostBefore,
        SimulatedOutcome::LostAfter,
        SimulatedOutcome::Late,
        SimulatedOutcome::Twice,
        SimulatedOutcome::FailedBefore,
        SimulatedOutcome::FailedAfter,
        SimulatedOutcome::Busy,
        SimulatedOutcome::Limited,
        SimulatedOutcome::Held,
        SimulatedOutcome::NoResponse,
        SimulatedOutcome::SignedOut,
    ]);
    prop::collection::vec(outcome, 0..24)
}

fn call_outcomes() -> impl Strategy<Value = Vec<CallOutcome>> {
    let act = prop_oneof![6 => Just(CallOutcome::Done), 1 => Just(CallOutcome::FailedBefore), 1 => Just(CallOutcome::FailedAfter)];
    prop::collection::vec(act, 0..40)
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

/// The number of random cases; the environment variable `OUTBOX_CASES` overrides it.
fn cases() -> u32 {
    std::env::var("OUTBOX_CASES").map_or(400, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// GW-12, LIM-22: each change set is applied at most once, and exactly once when the exchange can be
    /// reached again. The runs include lost, late, duplicate and failing responses, crashes at any step of
    /// the store, restarts, two processes, pauses of more than a day, and clocks that are changed by hours or
    /// seconds.
    #[test]
    fn every_set_is_applied_once(outcomes in outcomes(), call_outcomes in call_outcomes(), steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let mut model = Model::new(outcomes, call_outcomes);
            for step in steps {
                model.step(step).await;
            }
            model.recover().await;
            let state = model.exchange.0.lock().unwrap();
            for (product, times) in &state.carried_out {
                assert_eq!(*times, 1, "{product} was applied {times} times");
            }
            for product in &model.kept {
                assert!(state.carried_out.contains_key(product), "{product} was lost");
            }
        });
    }
}
