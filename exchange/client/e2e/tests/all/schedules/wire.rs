//! The connection between a client and the service. It injects faults and checks the traffic.

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
    Clock, SleepFuture,
    api::{
        Transport,
        runtime::{
            operation::Operation,
            transport::{Delivery, ResponseFuture, TransportError, TransportFault},
        },
    },
    dpop::clock::ClockReading,
    testkit::proof_id,
};
use exchange_service::{
    sandbox::Sandbox,
    time::{Clock as _, ManualClock},
};
use http::{HeaderMap, Request, Response};
use tokio::time::Instant;

/// SplitMix64, a pseudorandom generator with a reproducible seed.
#[derive(Clone, Debug)]
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    pub(super) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number from 0 up to but not including `end`.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.roll() % end
    }

    pub(super) fn happens(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[usize::try_from(self.below(items.len() as u64)).unwrap()]
    }
}

/// The clock of the service, which follows tokio's paused clock, so that tests run in virtual time.
#[derive(Clone)]
pub(super) struct Time(Arc<TimeInner>);

struct TimeInner {
    clock: ManualClock,
    begun: Instant,
    start: i64,
    moved: Mutex<Duration>,
}

impl Time {
    pub(super) fn from_sandbox(sandbox: &Sandbox) -> Self {
        let clock = sandbox.clock().clone();
        // This time is later than all times in the seed data.
        let start = clock.now().as_millis();
        Self(Arc::new(TimeInner { clock, begun: Instant::now(), start, moved: Mutex::default() }))
    }

    /// Returns the true time in milliseconds.
    fn millis(&self) -> i64 {
        let mut moved = self.0.moved.lock().unwrap();
        let passed = self.0.begun.elapsed();
        if passed > *moved {
            self.0.clock.advance(passed - *moved);
            *moved = passed;
        }
        self.0.clock.now().as_millis()
    }

    /// Returns the time since the start.
    pub(super) fn passed(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.millis() - self.0.start).unwrap())
    }

    /// Advances the time while no program runs.
    pub(super) fn skip(&self, time: Duration) {
        self.0.clock.advance(time);
    }
}

/// The clock of one machine, which may be wrong.
#[derive(Clone)]
pub(super) struct MachineClock {
    pub(super) time: Time,
    /// The offset of the wall clock in seconds.
    pub(super) wrong_by: Arc<AtomicI64>,
}

impl Clock for MachineClock {
    fn now(&self) -> ClockReading {
        let wall = self.time.millis() + 1000 * self.wrong_by.load(Ordering::Relaxed);
        let wall = exchange_client::UnixTime::from_millis(u64::try_from(wall).unwrap());
        ClockReading { wall, monotonic: self.time.passed() }
    }

    fn sleep(&self, time: Duration) -> SleepFuture<'_> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// Awaits work of other threads while virtual time is paused.
pub(super) async fn held<T>(work: impl Future<Output = T>) -> T {
    let (done, waiting) = std::sync::mpsc::channel::<()>();
    drop(tokio::task::spawn_blocking(move || waiting.recv()));
    let came = work.await;
    drop(done);
    came
}

/// A fault of a request or its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    Refused,
    CutBefore,
    CutAfter,
    /// The request is delivered immediately, and the response is late, possibly after the client's timeout.
    LateAnswer,
    /// The client's connection is closed, and the request is delivered afterwards.
    LateDelivery,
    /// The request is delivered twice, and the second response is returned.
    Twice,
    Truncated,
    Garbage,
    HtmlBefore,
    HtmlAfter,
    Unavailable,
    /// The server is unavailable, and the connection ends in the middle of the page.
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

/// The connection of one installation to the service.
#[derive(Clone)]
pub(super) struct Wire(Arc<Inner>);

struct Inner {
    sandbox: Arc<Sandbox>,
    time: Time,
    seen: Mutex<WireTraffic>,
}

/// A wait that a server requested, with its start and its end.
#[derive(Clone, Copy, Default)]
struct RequestedWait {
    at: Duration,
    until: Duration,
}

/// The traffic that was observed, and the state of the faults.
pub(super) struct WireTraffic {
    dice: SplitMix64,
    /// The percentage of requests with a fault. If it is above 100, there is no network.
    pub(super) weather: u64,
    ids: HashSet<String>,
    /// The waits that servers requested, by operation, or by server if a wait applies to all of its
    /// operations.
    not_before: HashMap<&'static str, RequestedWait>,
    /// True if the machine's clock was set forward, so that saved waits seem to have ended.
    pub(super) set_forward: bool,
    pub(super) secrets: HashSet<String>,
    pub(super) requests: u64,
    /// The number of cursors that the service refused (FED-09).
    pub(super) refused_cursors: u64,
    pub(super) faults: BTreeMap<Fault, u64>,
    /// The client's violations of the rules.
    pub(super) breaks: Vec<String>,
}

impl Wire {
    pub(super) fn new(sandbox: &Arc<Sandbox>, time: &Time, dice: SplitMix64) -> Self {
        let seen = WireTraffic {
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

    pub(super) fn seen(&self) -> MutexGuard<'_, WireTraffic> {
        self.0.seen.lock().unwrap()
    }

    /// Starts a new process. Without files, the waits of the previous process no longer apply. With files,
    /// the rest of each wait applies, except for a wait that was received at the moment when the process
    /// ended.
    pub(super) fn new_process(&self, has_files: bool) {
        let now = self.0.time.passed();
        let mut seen = self.seen();
        let is_known = has_files && !std::mem::take(&mut seen.set_forward);
        seen.not_before.retain(|_, wait| is_known && wait.at < now);
    }

    async fn deliver(&self, request: Request<Bytes>) -> Response<Bytes> {
        self.0.time.passed();
        held(self.0.sandbox.handle_request(request)).await.unwrap()
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
        let fault = seen.dice.pick(&FAULTS);
        let late = match fault {
            Fault::LateAnswer => seen.dice.pick(&[1, 20, 35, 90]),
            Fault::LateDelivery => seen.dice.pick(&[1, 5, 24, 50]),
            _ => seen.dice.pick(&[1, 3, 20, 400]),
        };
        // A request with the refresh token consumes it. If the client loses the response, it has to sign in
        // again, which another test covers.
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
            if let Some(RequestedWait { until, .. }) = seen.not_before.get(whom).copied()
                && now < until
            {
                let early = until - now;
                let id = operation.id;
                seen.breaks.push(format!("{id}: {early:?} earlier than {whom} was asked to wait"));
            }
        }
    }

    /// Records the end of a wait that a server requested. The longest wait applies.
    fn record_requested_wait(&self, whom: &'static str, wait: Duration) {
        let now = self.0.time.passed();
        let until = now + wait;
        let mut seen = self.seen();
        let before = seen.not_before.entry(whom).or_default();
        if until > before.until {
            *before = RequestedWait { at: now, until };
        }
    }

    /// Records the `Retry-After` and the secrets of a response, and returns it.
    fn hand(&self, operation: &'static Operation, response: Response<Bytes>) -> Response<Bytes> {
        let wait = response.headers().get("retry-after").and_then(|wait| wait.to_str().ok());
        if let Some(wait) = wait.and_then(|wait| wait.parse().ok()) {
            let whom = if is_for_all(operation, &response) { server(operation) } else { operation.id };
            self.record_requested_wait(whom, Duration::from_secs(wait));
        }
        let mut seen = self.seen();
        seen.refused_cursors += u64::from(response.status() == 410);
        if operation.id.starts_with("oauth.")
            && let Ok(body) = serde_json::from_slice::<serde_json::Value>(response.body())
        {
            let named = ["access_token", "refresh_token", "device_code"];
            seen.secrets.extend(named.iter().filter_map(|name| Some(body[*name].as_str()?.to_owned())));
        }
        response
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
                let response = self.deliver(request).await;
                tokio::time::sleep(late).await;
                Ok(response)
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
                let mut response = self.deliver(request).await;
                let half = response.body().len() / 2;
                response.body_mut().truncate(half);
                Ok(response)
            }
            Fault::Garbage => {
                let mut response = self.deliver(request).await;
                *response.body_mut() = Bytes::from_static(b"\xff{\"items\":");
                Ok(response)
            }
            Fault::HtmlBefore => Ok(page(502, None)),
            Fault::HtmlAfter => {
                self.deliver(request).await;
                Ok(page(502, None))
            }
            Fault::Unavailable => Ok(page(503, Some(late))),
            Fault::UnavailableCut => {
                let came = held(cut::page(operation, late)).await;
                // The response was delivered even if the client discards it.
                self.record_requested_wait(server(operation), late);
                came
            }
            Fault::Limited => Ok(page(429, Some(late))),
        }
    }
}

/// Returns the server of an operation. A `Retry-After` of the provider does not apply to the gateway, and
/// vice versa.
fn server(operation: &Operation) -> &'static str {
    if operation.id.starts_with("oauth.") { "the whole provider" } else { "the whole gateway" }
}

/// Returns true if the `Retry-After` of a response applies to all calls (CLI-02): the server is down, or a
/// response of the gateway with status 429 has no error code. The provider's limits apply to single
/// endpoints.
fn is_for_all(operation: &Operation, response: &Response<Bytes>) -> bool {
    let is_down = response.status().is_server_error();
    if operation.id.starts_with("oauth.") {
        return is_down;
    }
    let body = serde_json::from_slice::<serde_json::Value>(response.body()).unwrap_or_default();
    body["code"].as_str().is_none() && (is_down || response.status() == 429)
}

/// Builds the page of a proxy.
fn page(status: u16, wait: Option<Duration>) -> Response<Bytes> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", "text/html".parse().unwrap());
    if let Some(wait) = wait {
        headers.insert("retry-after", wait.as_secs().into());
    }
    let mut response = Response::new(Bytes::from_static(b"<h1>Not now</h1>"));
    *response.status_mut() = status.try_into().unwrap();
    *response.headers_mut() = headers;
    response
}

impl Transport for Wire {
    fn send<'a>(&'a self, operation: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let response = self.go(operation, request).await?;
            Ok(self.hand(operation, response))
        })
    }
}
