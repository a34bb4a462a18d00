//! Tests of each layer over a scripted transport.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{Request, Response};

use super::*;
use crate::{
    operation::{Operation, RepeatSafety},
    transport::{Delivery, ResponseFuture, SleepFuture, Timer, Transport, TransportError, TransportFault},
};

static READ: Operation = Operation { id: "read", repeat: RepeatSafety::Safe, ..Operation::EMPTY };
static KEYED: Operation = Operation { id: "keyed", repeat: RepeatSafety::Keyed, ..Operation::EMPTY };
static ONCE: Operation = Operation { id: "once", repeat: RepeatSafety::NonIdempotent, ..Operation::EMPTY };

/// The outcome of a request: a status with `Retry-After`, a 503 with `Date` and `Retry-After`, a fault, or no
/// response at all.
#[derive(Clone, Copy)]
enum ScriptedOutcome {
    Status(u16, &'static str),
    Dated(&'static str, &'static str),
    Fault(TransportFault, Delivery),
    Never,
}

use ScriptedOutcome::{Dated, Fault, Never, Status};

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    script: VecDeque<ScriptedOutcome>,
    bodies: Vec<Bytes>,
    slept: Vec<u128>,
}

impl Fake {
    fn new(script: &[ScriptedOutcome]) -> Self {
        let script = script.iter().copied().collect();
        Self(Arc::new(Mutex::new(Inner { script, ..Inner::default() })))
    }

    fn sent(&self) -> usize {
        self.0.lock().unwrap().bodies.len()
    }

    fn slept(&self) -> Vec<u128> {
        self.0.lock().unwrap().slept.clone()
    }
}

impl Transport for Fake {
    fn send<'a>(&'a self, _: &'static Operation, request: Request<Bytes>) -> ResponseFuture<'a> {
        Box::pin(async move {
            let outcome = {
                let mut inner = self.0.lock().unwrap();
                inner.bodies.push(request.body().clone());
                inner.script.pop_front().expect("a response for each request")
            };
            match outcome {
                Status(status, after) => {
                    let response = Response::builder().status(status);
                    let response =
                        if after.is_empty() { response } else { response.header("retry-after", after) };
                    Ok(response.body(Bytes::new()).unwrap())
                }
                Dated(date, after) => {
                    let response = Response::builder().status(503).header("date", date);
                    Ok(response.header("retry-after", after).body(Bytes::new()).unwrap())
                }
                Fault(fault, delivery) => Err(TransportError::new(fault, delivery)),
                Never => std::future::pending().await,
            }
        })
    }
}

/// A timer that records the delays and does not wait.
impl Timer for Fake {
    fn sleep(&self, time: Duration) -> SleepFuture {
        self.0.lock().unwrap().slept.push(time.as_millis());
        Box::pin(async {})
    }
}

fn request() -> Request<Bytes> {
    Request::new(Bytes::from_static(b"body"))
}

/// Returns the status or fault of a call with retries, the number of requests, and the delays.
async fn retried(operation: &'static Operation, script: &[ScriptedOutcome]) -> (String, usize, Vec<u128>) {
    let fake = Fake::new(script);
    let retry = Retry::new(fake.clone(), RetryOptions::default(), fake.clone())
        .with_random(|| 150_000)
        .with_clock(|| SystemTime::UNIX_EPOCH);
    let came = match retry.send(operation, request()).await {
        Ok(answer) => {
            assert_eq!(answer.extensions().get(), Some(&AttemptCount(u32::try_from(fake.sent()).unwrap())));
            answer.status().as_u16().to_string()
        }
        Err(error) => {
            assert_eq!(error.attempts(), Some(u32::try_from(fake.sent()).unwrap()));
            format!("{:?}", error.fault())
        }
    };
    assert!(fake.0.lock().unwrap().bodies.iter().all(|body| body == "body"));
    (came, fake.sent(), fake.slept())
}

const LOST: ScriptedOutcome = Fault(TransportFault::Interrupted, Delivery::Unknown);
const REFUSED: ScriptedOutcome = Fault(TransportFault::Connect, Delivery::NotSent);

#[tokio::test]
async fn safe_requests_are_retried() {
    let ok = Status(200, "");
    assert_eq!(retried(&READ, &[LOST, LOST, ok]).await, ("200".into(), 3, vec![150, 150]));
    assert_eq!(retried(&KEYED, &[LOST, ok]).await, ("200".into(), 2, vec![150]));
    assert_eq!(retried(&ONCE, &[REFUSED, ok]).await, ("200".into(), 2, vec![150]));
    assert_eq!(retried(&ONCE, &[LOST]).await, ("Interrupted".into(), 1, vec![]));
    assert_eq!(retried(&ONCE, &[Status(503, "1")]).await, ("503".into(), 1, vec![]));
    assert_eq!(retried(&READ, &[LOST, LOST, LOST]).await, ("Interrupted".into(), 3, vec![150, 150]));
    let declined = Fault(TransportFault::Declined, Delivery::NotSent);
    assert_eq!(retried(&READ, &[declined]).await, ("Declined".into(), 1, vec![]));
    assert_eq!(retried(&READ, &[Status(500, "")]).await, ("500".into(), 1, vec![]));
}

/// The `Retry-After` delay is honored up to its limit (RFC 9110, 10.2.3).
#[tokio::test]
async fn retry_after_delays_the_retry() {
    let ok = Status(200, "");
    assert_eq!(retried(&READ, &[Status(429, "7"), ok]).await, ("200".into(), 2, vec![7000]));
    let date = Status(503, "Thu, 01 Jan 1970 00:00:05 GMT");
    assert_eq!(retried(&READ, &[date, ok]).await, ("200".into(), 2, vec![5000]));
    assert_eq!(retried(&READ, &[Status(503, ""), ok]).await, ("200".into(), 2, vec![150]));
    // A date is relative to the server's clock, which differs from the local one.
    let served = Dated("Sun, 06 Nov 1994 08:49:17 GMT", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(retried(&READ, &[served, ok]).await, ("200".into(), 2, vec![20_000]));
    // If the delay exceeds the limit, the response is returned.
    assert_eq!(retried(&READ, &[Status(429, "31")]).await, ("429".into(), 1, vec![]));
}

#[tokio::test]
async fn a_budget_bounds_all_calls_together() {
    let fake = Fake::new(&[LOST; 40]);
    let retries = RetryOptions { max_attempts: 10, retry_budget: 3, ..RetryOptions::default() };
    let retry = Retry::new(fake.clone(), retries, fake.clone());
    retry.send(&READ, request()).await.unwrap_err();
    assert_eq!(fake.sent(), 4);
    retry.clone().send(&READ, request()).await.unwrap_err();
    assert_eq!(fake.sent(), 5);
    // Ten responses earn one retry.
    fake.0.lock().unwrap().script = [Status(200, ""); 10].into();
    for _ in 0..10 {
        retry.send(&READ, request()).await.unwrap();
    }
    fake.0.lock().unwrap().script = [LOST; 5].into();
    retry.send(&READ, request()).await.unwrap_err();
    assert_eq!(fake.sent(), 17);
}

#[test]
fn waits_double_up_to_the_maximum() {
    let drawn = |attempt| {
        let retry = Retry::new((), RetryOptions::default(), Fake::default()).with_random(|| u64::MAX);
        let max_delay = 200_000_u64.saturating_mul(1_u64 << (attempt - 1)).min(10_000_000);
        assert!(retry.backoff_delay(attempt) <= Duration::from_micros(max_delay), "{attempt}");
        assert_eq!(
            Retry::new((), RetryOptions::default(), Fake::default()).with_random(|| 0).backoff_delay(attempt),
            Duration::ZERO
        );
    };
    (1..=12).for_each(drawn);
}

#[tokio::test]
async fn call_times_out() {
    let fake = Fake::new(&[Never, Status(204, "")]);
    let timed = Timeout::new(fake.clone(), Duration::from_secs(20), fake.clone());
    let error = timed.send(&READ, request()).await.unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Timeout, Delivery::Unknown));
    assert_eq!(timed.send(&READ, request()).await.unwrap().status(), 204);
    assert_eq!(fake.slept(), [20_000, 20_000]);
}

/// If an outer layer ends the call, its error contains the number of attempts so far.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn timed_out_call_reports_its_attempts() {
    let attempts = async |ready: TransportStack, script: &[ScriptedOutcome]| {
        let transport = ready.wrap(Fake::new(script), crate::transport::TokioTimer);
        transport.send(&READ, request()).await.unwrap_err().attempts()
    };
    let call_time = Some(Duration::from_secs(30));
    let bounded = TransportStack { call_timeout: call_time, ..TransportStack::default() };
    assert_eq!(attempts(bounded, &[LOST, LOST, Never]).await, Some(3));
    let timed = TransportStack { attempt_timeout: Some(Duration::from_secs(20)), ..bounded };
    assert_eq!(attempts(timed, &[Never, Never]).await, Some(2));
    // Without retries there is no number of attempts.
    assert_eq!(attempts(TransportStack { retry: None, ..bounded }, &[Never]).await, None);
}

fn poll<T>(future: &mut Pin<Box<dyn Future<Output = T> + Send + '_>>) -> Poll<T> {
    future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn concurrency_is_limited_in_arrival_order() {
    let fake = Fake::new(&[Never, Never, Never, Status(200, ""), Status(200, "")]);
    let limited = ConcurrencyLimit::new(fake.clone(), 2);
    let mut calls: Vec<_> = (0..5).map(|_| limited.send(&READ, request())).collect();
    assert!(calls.iter_mut().all(|call| poll(call).is_pending()));
    assert_eq!(fake.sent(), 2);
    // The third call is dropped while it waits, so the fourth is next.
    let third = calls.remove(2);
    drop(third);
    drop(calls.remove(0));
    assert!(poll(&mut calls[2]).is_pending(), "the last call is not next");
    assert_eq!(fake.sent(), 2);
    assert!(poll(&mut calls[1]).is_pending());
    assert_eq!(fake.sent(), 3);
    // If a permit was granted to a dropped call, the next waiting call gets it.
    let mut last = limited.send(&READ, request());
    assert!(poll(&mut last).is_pending());
    drop(calls.remove(0));
    drop(calls.remove(1));
    assert!(poll(&mut last).is_ready());
    drop(calls);
    assert!(poll(&mut limited.send(&READ, request())).is_ready());
}

/// Returns the duration of a call over all layers in seconds, its status or fault, and the number of
/// attempts.
#[cfg(feature = "tokio")]
async fn ready(ready: TransportStack, script: &[ScriptedOutcome]) -> (u64, String, usize) {
    let (fake, start) = (Fake::new(script), tokio::time::Instant::now());
    let came = ready.wrap(fake.clone(), crate::transport::TokioTimer).send(&READ, request()).await;
    let came =
        came.map_or_else(|error| format!("{:?}", error.fault()), |response| response.status().to_string());
    (start.elapsed().as_secs(), came, fake.sent())
}

#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn layers_cooperate_around_one_call() {
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let usual = TransportStack::default();
    let timed = TransportStack { attempt_timeout: seconds(20), ..usual };
    assert_eq!(ready(timed, &[Never, Never, Never]).await, (60, "Timeout".into(), 3));
    // The timeout of the call ends the call during an attempt.
    let bounded = TransportStack { call_timeout: seconds(30), ..timed };
    assert_eq!(ready(bounded, &[Never, Never]).await, (30, "Timeout".into(), 2));
    assert_eq!(ready(usual, &[Status(503, "9"), Status(200, "")]).await, (9, "200 OK".into(), 2));
    let once = TransportStack { retry: None, ..usual };
    assert_eq!(ready(once, &[Status(503, "9")]).await, (0, "503 Service Unavailable".into(), 1));
}

/// A call that waits for its next attempt holds no permit, and the timeout of an attempt starts when the
/// attempt has a permit.
#[cfg(feature = "tokio")]
#[tokio::test(start_paused = true)]
async fn concurrency_permits_are_per_attempt() {
    let start = tokio::time::Instant::now();
    let both = async |ready: TransportStack, script: &[ScriptedOutcome]| {
        let transport = ready.wrap(Fake::new(script), crate::transport::TokioTimer);
        let begun = start.elapsed();
        let call = async || {
            let _came = transport.send(&READ, request()).await;
            (start.elapsed() - begun).as_secs()
        };
        tokio::join!(call(), call())
    };
    let one = TransportStack { max_concurrency: Some(1), ..TransportStack::default() };
    assert_eq!(both(one, &[Status(503, "10"), Status(200, ""), Status(200, "")]).await, (10, 0));
    let timed = TransportStack { retry: None, attempt_timeout: Some(Duration::from_secs(20)), ..one };
    assert_eq!(both(timed, &[Never, Never]).await, (20, 40));
    let all = TransportStack { max_concurrency: None, ..timed };
    assert_eq!(both(all, &[Never, Never]).await, (20, 20));
}

/// Each call has one span with all documented fields, regardless of the number of attempts.
#[cfg(all(feature = "tokio", feature = "tracing"))]
#[tokio::test(start_paused = true)]
async fn a_call_has_one_span() {
    use std::{collections::BTreeMap, fmt};

    use ::tracing::{
        Event, Metadata, Subscriber,
        field::{Field, Visit},
        span,
    };

    type Fields = BTreeMap<&'static str, String>;

    /// Records the fields of each span.
    #[derive(Clone, Default)]
    struct Recorder(Arc<Mutex<Vec<Fields>>>);

    struct Visitor<'a>(&'a mut Fields);
    impl Visit for Visitor<'_> {
        fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
            self.0.insert(field.name(), format!("{value:?}"));
        }
        fn record_str(&mut self, field: &Field, value: &str) {
            self.0.insert(field.name(), value.to_owned());
        }
    }

    impl Subscriber for Recorder {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }
        fn new_span(&self, attributes: &span::Attributes<'_>) -> span::Id {
            let mut fields = Fields::from([("span", attributes.metadata().name().to_owned())]);
            attributes.record(&mut Visitor(&mut fields));
            let mut spans = self.0.lock().unwrap();
            spans.push(fields);
            span::Id::from_u64(spans.len() as u64)
        }
        fn record(&self, span: &span::Id, values: &span::Record<'_>) {
            let mut spans = self.0.lock().unwrap();
            let at = usize::try_from(span.into_u64()).unwrap() - 1;
            values.record(&mut Visitor(&mut spans[at]));
        }
        fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
        fn event(&self, _: &Event<'_>) {}
        fn enter(&self, _: &span::Id) {}
        fn exit(&self, _: &span::Id) {}
    }

    static SHIP: Operation =
        Operation { id: "ship.read", path: "/ships/{id}", repeat: RepeatSafety::Safe, ..Operation::EMPTY };
    let recorder = Recorder::default();
    let _guard = ::tracing::subscriber::set_default(recorder.clone());
    let spans = async |ready: TransportStack, script: &[ScriptedOutcome]| {
        let transport = ready.wrap(Fake::new(script), crate::transport::TokioTimer);
        let request = Request::get("https://exchange.example:8443/ships/secret?key=secret");
        let _came = transport.send(&SHIP, request.body(Bytes::new()).unwrap()).await;
        std::mem::take(&mut *recorder.0.lock().unwrap())
    };
    let check =
        async |ready: TransportStack, script: &[ScriptedOutcome], expected: &[(&'static str, &str)]| {
            let mut fields = Fields::from(
                [
                    ("span", "http.client"),
                    ("operation", "ship.read"),
                    ("http.request.method", "GET"),
                    ("url.template", "/ships/{id}"),
                    ("server.address", "exchange.example"),
                    ("server.port", "8443"),
                ]
                .map(|(name, value)| (name, value.to_owned())),
            );
            fields.extend(expected.iter().map(|(name, value)| (*name, (*value).to_owned())));
            assert_eq!(spans(ready, script).await, [fields]);
        };
    let (usual, ok) = (TransportStack::default(), Status(200, ""));
    let status = "http.response.status_code";
    let resent = "http.request.resend_count";
    check(usual, &[ok], &[(status, "200")]).await;
    check(usual, &[LOST, LOST, ok], &[(status, "200"), (resent, "2")]).await;
    check(usual, &[Status(404, "")], &[(status, "404"), ("error.type", "404")]).await;
    check(usual, &[LOST, LOST, LOST], &[("error.type", "interrupted"), (resent, "2")]).await;
    let refused = [REFUSED, Fault(TransportFault::Declined, Delivery::NotSent)];
    check(usual, &refused, &[("error.type", "declined"), (resent, "1")]).await;
    // A call whose timeout expires between two attempts has its span as well.
    let bounded = TransportStack { call_timeout: Some(Duration::from_secs(30)), ..usual };
    check(bounded, &[LOST, Never], &[("error.type", "timeout"), (resent, "1")]).await;
    check(bounded, &[Never], &[("error.type", "timeout")]).await;
    // Inside the retries, there is one span for each attempt, with the number of the attempt.
    let attempts =
        Retry::new(TracingTransport::new(Fake::new(&[LOST, ok])), RetryOptions::default(), Fake::default());
    attempts.send(&SHIP, request()).await.unwrap();
    let each = std::mem::take(&mut *recorder.0.lock().unwrap());
    let each: Vec<_> = each.iter().map(|fields| fields.get(resent).map(String::as_str)).collect();
    assert_eq!(each, [None, Some("1")]);
    assert!(spans(TransportStack { tracing: false, ..usual }, &[ok]).await.is_empty());
}

#[cfg(feature = "reqwest")]
#[test]
fn default_layers_take_one_line() {
    let transport = crate::client::ReqwestTransport::with_default_layers().unwrap();
    let shared: Arc<dyn Transport> = transport;
    drop(crate::client::ApiClient::new("http://localhost", shared));
}

#[cfg(feature = "tower")]
#[tokio::test]
async fn any_service_is_a_transport() {
    use ::tower::service_fn;

    let echo = service_fn(|request: Request<BufferedBody>| async move {
        let operation = *request.extensions().get::<&'static Operation>().unwrap();
        let body = axum::body::Body::from(format!("{} {:?}", operation.id, request.into_body().into_bytes()));
        Ok::<_, TransportError>(Response::new(body))
    });
    let transport = TowerTransport::new(echo);
    let response = transport.send(&READ, request()).await.unwrap();
    assert_eq!(response.body(), "read b\"body\"");
    let error = transport.with_max_body_size(3).send(&READ, request()).await.unwrap_err();
    assert_eq!(error.fault(), TransportFault::TooLarge);
    let fails = service_fn(|_: Request<BufferedBody>| async {
        Err::<Response<axum::body::Body>, _>(std::io::Error::other("http://secret"))
    });
    let error = TowerTransport::new(fails).send(&READ, request()).await.unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Other, Delivery::Unknown));
    assert!(!format!("{error} {error:?}").contains("secret"));
}

/// A client and a server of the same contract can be tested against each other without a socket.
#[cfg(all(feature = "tower", feature = "server"))]
#[tokio::test]
async fn axum_router_is_a_transport() {
    let router = axum::Router::new().fallback(|request: axum::extract::Request| async move {
        let line = format!("{} {}", request.method(), request.uri().path());
        let body = axum::body::to_bytes(request.into_body(), 100).await.unwrap();
        format!("{line} {body:?}")
    });
    let transport = TowerTransport::new(router);
    let sent = request();
    let expected = format!("{} {} {:?}", sent.method(), sent.uri().path(), sent.body());
    let response = transport.send(&READ, sent).await.unwrap();
    assert_eq!((response.status().as_u16(), response.body()), (200, &Bytes::from(expected)));
    drop(crate::client::ApiClient::new("http://localhost", transport));
}

/// An error of the body is classified by the service, and the request counts as sent.
#[cfg(feature = "tower")]
#[tokio::test]
async fn failing_body_of_a_service() {
    use ::tower::service_fn;

    struct BrokenBody;
    impl http_body::Body for BrokenBody {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            Poll::Ready(Some(Err(std::io::Error::other("http://secret"))))
        }
    }
    let breaks =
        service_fn(|_: Request<BufferedBody>| async { Ok::<_, TransportError>(Response::new(BrokenBody)) });
    let transport = TowerTransport::new(breaks);
    let error = transport.send(&READ, request()).await.unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Interrupted, Delivery::Unknown));
    let transport = transport.with_error_classifier(|_| (TransportFault::Timeout, Delivery::NotSent));
    let error = transport.send(&READ, request()).await.unwrap_err();
    assert_eq!((error.fault(), error.delivery()), (TransportFault::Timeout, Delivery::Unknown));
    assert!(!format!("{error} {error:?}").contains("secret"));
}

/// The head of an error response determines the status and the `Retry-After` delay even if the body is
/// incomplete.
#[cfg(feature = "tower")]
#[tokio::test]
async fn service_error_response_is_valid_without_its_body() {
    use ::tower::service_fn;

    use crate::transport::PartialBody;

    /// A body of one chunk, followed by an error.
    struct CutBody(bool);
    impl http_body::Body for CutBody {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<Bytes>, std::io::Error>>> {
            let is_first = !std::mem::replace(&mut self.0, true);
            let piece = || http_body::Frame::data(Bytes::from_static(b"slowly"));
            let cut = || std::io::Error::other("cut");
            Poll::Ready(Some(if is_first { Ok(piece()) } else { Err(cut()) }))
        }
    }
    let transport = TowerTransport::new(service_fn(|_: Request<BufferedBody>| async {
        let response = Response::builder().status(503).header("retry-after", "7");
        Ok::<_, TransportError>(response.body(CutBody(false)).unwrap())
    }));
    for (limit, body, fault) in
        [(6, "slowly", TransportFault::Interrupted), (5, "", TransportFault::TooLarge)]
    {
        let response = transport.clone().with_max_body_size(limit).send(&READ, request()).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), &response.headers()["retry-after"]),
            (503, &"7".parse().unwrap())
        );
        assert_eq!(
            (&response.body()[..], response.extensions().get()),
            (body.as_bytes(), Some(&PartialBody(fault)))
        );
    }
}
