//! The way between a client and the service, on which anything can happen, and which remembers what it saw.

mod cut;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use exchange_client::{
    Clock, Sleep,
    api::{
        Transport,
        runtime::{
            operation::Operation,
            transport::{Delivery, Sending, TransportError, TransportFault},
        },
    },
    dpop::clock::Reading,
    testkit::proof_id,
};
use exchange_service::{
    sandbox::Sandbox,
    time::{Clock as _, MovedClock},
};
use http::{HeaderMap, Request, Response};
use tokio::time::Instant;

/// Numbers that a seed repeats: SplitMix64.
#[derive(Clone, Debug)]
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 to below this.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn of<T: Copy>(&mut self, these: &[T]) -> T {
        these[usize::try_from(self.below(these.len() as u64)).unwrap()]
    }
}

/// Tokio's paused clock moves the service's: both have one time, and nobody waits for it.
#[derive(Clone)]
pub(super) struct Time(Arc<TimeInner>);

struct TimeInner {
    clock: MovedClock,
    begun: Instant,
    start: i64,
    moved: Mutex<Duration>,
}

impl Time {
    pub(super) fn of(sandbox: &Sandbox) -> Self {
        let clock = sandbox.clock().clone();
        // Later than the seed's own times, on any machine.
        let start = clock.now().millis();
        Self(Arc::new(TimeInner { clock, begun: Instant::now(), start, moved: Mutex::default() }))
    }

    /// The true time, in milliseconds.
    fn millis(&self) -> i64 {
        let mut moved = self.0.moved.lock().unwrap();
        let passed = self.0.begun.elapsed();
        if passed > *moved {
            self.0.clock.advance(passed - *moved);
            *moved = passed;
        }
        self.0.clock.now().millis()
    }

    /// Since it began.
    pub(super) fn passed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.millis() - self.0.start).unwrap())
    }

    /// Nobody is there meanwhile.
    pub(super) fn skip(&self, time: Duration) {
        self.0.clock.advance(time);
    }
}

/// The clock of one machine, which can be wrong.
#[derive(Clone)]
pub(super) struct Watch {
    pub(super) time: Time,
    /// In seconds.
    pub(super) wrong_by: Arc<AtomicI64>,
}

impl Clock for Watch {
    fn now(&self) -> Reading {
        let wall = self.time.millis() + 1000 * self.wrong_by.load(Ordering::Relaxed);
        let wall = exchange_client::UnixTime::from_millis(u64::try_from(wall).unwrap());
        Reading { wall, monotonic: self.time.passed() }
    }

    fn sleep(&self, time: Duration) -> Sleep<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// Waits for what happens in other threads, while virtual time stands.
pub(super) async fn held<T>(work: impl Future<Output = T>) -> T {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    drop(tokio::task::spawn_blocking(move || waiting.recv()));
    let came = work.await;
    drop(done);
    came
}

/// What can happen to a request or its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Refused,
    CutBefore,
    CutAfter,
    /// Delivered at once; the answer comes late, or nobody waits for it any more.
    LateAnswer,
    /// The client hears that the connection is cut, and it is delivered afterwards.
    LateDelivery,
    /// Delivered twice; the second answer comes back.
    Twice,
    Truncated,
    Garbage,
    HtmlBefore,
    HtmlAfter,
    Unavailable,
    /// The same, and the connection ends in the middle of its page.
    UnavailableCut,
    Limited,
}

const FAULTS: [Fault; 13] = [
    Fault::Refused,
    Fault::CutBefore,
    Fault::CutAfter,
    Fault::LateAnswer,
    Fault::LateDelivery,
    Fault::Twice,
    Fault::Truncated,
    Fault::Garbage,
    Fault::HtmlBefore,
    Fault::HtmlAfter,
    Fault::Unavailable,
    Fault::UnavailableCut,
    Fault::Limited,
];

/// One installation's way to the network.
#[derive(Clone)]
pub(super) struct Wire(Arc<Inner>);

struct Inner {
    sandbox: Arc<Sandbox>,
    time: Time,
    seen: Mutex<Seen>,
}

/// A wait that was asked for: when it was, and until when.
#[derive(Clone, Copy, Default)]
struct Asked {
    at: Duration,
    until: Duration,
}

/// What happened on it.
pub(super) struct Seen {
    dice: Dice,
    /// How many of a hundred requests meet a fault; above 100 there is no network at all.
    pub(super) weather: u64,
    ids: HashSet<String>,
    /// By the operation that was asked to wait, or by the server of which all were.
    not_before: HashMap<&'static str, Asked>,
    /// The machine's clock was set forward, and waits that were written down seem to be over.
    pub(super) set_forward: bool,
    pub(super) secrets: HashSet<String>,
    pub(super) requests: u64,
    /// Cursors that the service refused (FED-09).
    pub(super) refused_cursors: u64,
    pub(super) faults: BTreeMap<Fault, u64>,
    /// Rules that the client broke.
    pub(super) breaks: Vec<String>,
}

impl Wire {
    pub(super) fn new(sandbox: &Arc<Sandbox>, time: &Time, dice: Dice) -> Self {
        let seen = Seen {
            dice,
            weather: 0,
            ids: HashSet::new(),
            not_before: HashMap::new(),
            set_forward: false,
            secrets: HashSet::new(),
            requests: 0,
            refused_cursors: 0,
            faults: BTreeMap::new(),
            breaks: Vec::new(),
        };
        Self(Arc::new(Inner { sandbox: Arc::clone(sandbox), time: time.clone(), seen: Mutex::new(seen) }))
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap()
    }

    /// What a process was asked to wait for goes with it, unless it has files: then the next one waits for the rest of
    /// it, but for what came at the very moment of the end.
    pub(super) fn new_process(&self, has_files: bool) {
        let now = self.0.time.passed();
        let mut seen = self.seen();
        let is_known = has_files && !std::mem::take(&mut seen.set_forward);
        seen.not_before.retain(|_, asked| is_known && asked.at < now);
    }

    async fn deliver(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.0.time.passed();
        held(self.0.sandbox.answer(request)).await.unwrap()
    }

    fn fault(&self, operation: &Operation) -> Option<(Fault, Duration)> {
        let mut seen = self.seen();
        if seen.weather > 100 {
            return Some((Fault::Refused, Duration::ZERO));
        }
        let weather = seen.weather;
        if !seen.dice.happens(weather) {
            return None;
        }
        let fault = seen.dice.of(&FAULTS);
        let late = match fault {
            Fault::LateAnswer => seen.dice.of(&[1, 20, 35, 90]),
            Fault::LateDelivery => seen.dice.of(&[1, 5, 24, 50]),
            _ => seen.dice.of(&[1, 3, 20, 400]),
        };
        // The provider's token is spent by being asked for: who loses that answer signs in anew, which is another
        // test's concern.
        let late = Duration::from_secs(late);
        let spends = operation.id.starts_with("oauth.");
        let loses = !matches!(
            fault,
            Fault::Refused
                | Fault::CutBefore
                | Fault::HtmlBefore
                | Fault::Unavailable
                | Fault::UnavailableCut
                | Fault::Limited
        );
        if spends && loses && !seen.dice.happens(10) {
            return None;
        }
        *seen.faults.entry(fault).or_default() += 1;
        Some((fault, late))
    }

    fn watch(&self, operation: &'static Operation, request: &Request<Bytes>) {
        let now = self.0.time.passed();
        let mut seen = self.seen();
        seen.requests += 1;
        let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(proof) = header("dpop") {
            let id = proof_id(proof).unwrap();
            if !seen.ids.insert(id) {
                seen.breaks.push(format!("{}: a proof id was used twice", operation.id));
            }
            seen.secrets.insert(proof.to_owned());
        }
        if let Some(token) = header("authorization").and_then(|value| value.strip_prefix("DPoP ")) {
            seen.secrets.insert(token.to_owned());
        }
        for whom in [operation.id, server(operation)] {
            if let Some(Asked { until, .. }) = seen.not_before.get(whom).copied()
                && now < until
            {
                let early = until - now;
                let id = operation.id;
                seen.breaks.push(format!("{id}: {early:?} earlier than {whom} was asked to wait"));
            }
        }
    }

    /// Whoever was told to wait for so long does not come back before that.
    fn asked(&self, whom: &'static str, wait: Duration) {
        let now = self.0.time.passed();
        let until = now + wait;
        let mut seen = self.seen();
        let before = seen.not_before.entry(whom).or_default();
        if until > before.until {
            *before = Asked { at: now, until };
        }
    }

    /// It is the client's from now on.
    fn hand(&self, operation: &'static Operation, answer: Response<Bytes>) -> Response<Bytes> {
        let wait = answer.headers().get("retry-after").and_then(|wait| wait.to_str().ok());
        if let Some(wait) = wait.and_then(|wait| wait.parse().ok()) {
            let whom = if is_for_all(operation, &answer) { server(operation) } else { operation.id };
            self.asked(whom, Duration::from_secs(wait));
        }
        let mut seen = self.seen();
        seen.refused_cursors += u64::from(answer.status() == 410);
        if operation.id.starts_with("oauth.")
            && let Ok(body) = serde_json::from_slice::<serde_json::Value>(answer.body())
        {
            let named = ["access_token", "refresh_token", "device_code"];
            seen.secrets.extend(named.iter().filter_map(|name| Some(body[*name].as_str()?.to_owned())));
        }
        answer
    }

    async fn go(
        &self,
        operation: &'static Operation,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, TransportError> {
        self.watch(operation, &request);
        let cut = |delivery| Err(TransportError::new(TransportFault::Interrupted, delivery));
        let Some((fault, late)) = self.fault(operation) else { return Ok(self.deliver(request).await) };
        match fault {
            Fault::Refused => Err(TransportError::new(TransportFault::Connect, Delivery::NotSent)),
            Fault::CutBefore => cut(Delivery::Unknown),
            Fault::CutAfter => {
                self.deliver(request).await;
                cut(Delivery::Unknown)
            }
            Fault::LateAnswer => {
                let answer = self.deliver(request).await;
                tokio::time::sleep(late).await;
                Ok(answer)
            }
            Fault::LateDelivery => {
                let wire = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(late).await;
                    wire.deliver(request).await;
                });
                cut(Delivery::Unknown)
            }
            Fault::Twice => {
                self.deliver(request.clone()).await;
                Ok(self.deliver(request).await)
            }
            Fault::Truncated => {
                let mut answer = self.deliver(request).await;
                let half = answer.body().len() / 2;
                answer.body_mut().truncate(half);
                Ok(answer)
            }
            Fault::Garbage => {
                let mut answer = self.deliver(request).await;
                *answer.body_mut() = Bytes::from_static(b"\xff{\"items\":");
                Ok(answer)
            }
            Fault::HtmlBefore => Ok(page(502, None)),
            Fault::HtmlAfter => {
                self.deliver(request).await;
                Ok(page(502, None))
            }
            Fault::Unavailable => Ok(page(503, Some(late))),
            Fault::UnavailableCut => {
                let came = held(cut::page(operation, late)).await;
                // Whatever the client makes of it: this was said.
                self.asked(server(operation), late);
                came
            }
            Fault::Limited => Ok(page(429, Some(late))),
        }
    }
}

/// All operations of the server that has this one: the provider and the gateway ask for themselves.
fn server(operation: &Operation) -> &'static str {
    if operation.id.starts_with("oauth.") { "the whole provider" } else { "the whole gateway" }
}

/// Whether an answer asks everybody to wait (CLI-02): it says that nothing works now, or, at the gateway, names no limit
/// of its own. Limits of the provider are those of its endpoints.
fn is_for_all(operation: &Operation, answer: &Response<Bytes>) -> bool {
    let is_down = answer.status().is_server_error();
    if operation.id.starts_with("oauth.") {
        return is_down;
    }
    let body = serde_json::from_slice::<serde_json::Value>(answer.body()).unwrap_or_default();
    body["code"].as_str().is_none() && (is_down || answer.status() == 429)
}

/// What a proxy says.
fn page(status: u16, wait: Option<Duration>) -> Response<Bytes> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "text/html".parse().unwrap());
    if let Some(wait) = wait {
        headers.insert("retry-after", wait.as_secs().into());
    }
    let mut answer = Response::new(Bytes::from_static(b"<h1>Not now</h1>"));
    *answer.status_mut() = status.try_into().unwrap();
    *answer.headers_mut() = headers;
    answer
}

impl Transport for Wire {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            let answer = self.go(operation, request).await?;
            Ok(self.hand(operation, answer))
        })
    }
}
