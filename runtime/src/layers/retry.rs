//! Repeats requests that failed temporarily, if it is safe to repeat them.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{Extensions, HeaderMap, StatusCode};

use crate::{
    client::RetryAfter,
    clock,
    operation::Operation,
    random::random_u64,
    transport::{Delivery, ResponseFuture, Timer, Transport, TransportError, TransportFault, copy_with_body},
};

/// The limits for retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryOptions {
    /// The maximum number of attempts, including the first. The default is 3.
    pub max_attempts: u32,
    /// The upper bound of the first delay. Each delay is random between zero and its upper bound. The default
    /// is 200 ms.
    pub initial_delay: Duration,
    /// The maximum upper bound of a delay. The bound doubles with each attempt. The default is 10 s.
    pub max_delay: Duration,
    /// The longest `Retry-After` delay that is honored. A response with a longer delay is returned to the
    /// caller. The default is 30 s.
    pub max_retry_after: Duration,
    /// The number of retries that are allowed beyond a tenth of the received responses, counted over all
    /// calls. The budget prevents retries from overloading a failing server. Zero disables retries. The
    /// default is 10.
    pub retry_budget: u32,
}

impl Default for RetryOptions {
    fn default() -> Self {
        Self {
            max_attempts: 3,
            initial_delay: Duration::from_millis(200),
            max_delay: Duration::from_secs(10),
            max_retry_after: Duration::from_secs(30),
            retry_budget: 10,
        }
    }
}

/// The number of attempts. A response has the total number among its extensions. The request that the inner
/// transport receives has the number of the current attempt. For errors, see [`TransportError::attempts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptCount(pub u32);

/// The current attempt of a [`Retry`], among the extensions of a request. If an outer layer ends the call, it
/// adds the number of attempts to its error.
#[derive(Clone, Debug, Default)]
pub(super) struct AttemptTally(Arc<AtomicU32>);

impl AttemptTally {
    /// Returns the tally of a request, creating it if necessary.
    pub(super) fn from_extensions(extensions: &mut Extensions) -> Self {
        extensions.get_or_insert_default::<Self>().clone()
    }

    /// Adds the number of attempts to an error that ends the call.
    pub(super) fn annotate_error(&self, error: TransportError) -> TransportError {
        match self.0.load(Ordering::Relaxed) {
            0 => error,
            attempts => error.with_attempts(attempts),
        }
    }
}

/// Records the number of the attempt in the request.
fn mark_attempt(extensions: &mut Extensions, attempt: u32) {
    extensions.insert(AttemptCount(attempt));
    if let Some(AttemptTally(tally)) = extensions.get() {
        tally.store(attempt, Ordering::Relaxed);
    }
}

/// Adds the number of attempts to the final result.
fn with_attempt_count<B>(
    came: Result<http::Response<B>, TransportError>,
    attempts: u32,
) -> Result<http::Response<B>, TransportError> {
    let mut response = came.map_err(|error| error.with_attempts(attempts))?;
    response.extensions_mut().insert(AttemptCount(attempts));
    Ok(response)
}

/// A transport that repeats a request byte for byte after a temporary failure, if it is safe to repeat it.
///
/// An operation that is not idempotent ([`RepeatSafety::NonIdempotent`](crate::operation::RepeatSafety)) is
/// repeated only if no byte was sent. Other operations are also repeated after a timeout or an interrupted
/// connection, and after the responses `408`, `425`, `429`, `502`, `503` and `504`. The delay is the one in
/// `Retry-After`, or else random. A streaming body is never repeated.
#[derive(Clone)]
pub struct Retry<T> {
    transport: T,
    options: RetryOptions,
    timer: Arc<dyn Timer>,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// The remaining budget, in tenths of a retry.
    budget: Arc<Mutex<u32>>,
}

impl<T> Retry<T> {
    /// Creates a transport that repeats the calls of the given transport. Clones share the budget.
    pub fn new(transport: T, retries: RetryOptions, timer: impl Timer + 'static) -> Self {
        Self {
            transport,
            options: retries,
            timer: Arc::new(timer),
            now: Arc::new(clock::system_time),
            random: Arc::new(random_u64),
            budget: Arc::new(Mutex::new(retries.retry_budget.saturating_mul(10))),
        }
    }

    /// Replaces the clock. It is used for a date in `Retry-After` if the response has no `Date`.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Replaces the source of randomness for delays.
    #[must_use]
    pub fn with_random(mut self, random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.random = Arc::new(random);
        self
    }

    /// Returns the delay before the next attempt, or `None` if the result is final.
    fn next_delay(
        &self,
        operation: &Operation,
        attempt: u32,
        came: Result<(StatusCode, &HeaderMap), &TransportError>,
    ) -> Option<Duration> {
        let hope = match came {
            Err(error) => RetryDecision::of_error(operation, error),
            Ok((status, headers)) => {
                self.credit_budget();
                RetryDecision::of_answer(operation, status, headers, (self.now)())
            }
        };
        let wait = match hope {
            RetryDecision::GiveUp => return None,
            RetryDecision::After(wait) if wait > self.options.max_retry_after => return None,
            RetryDecision::After(wait) => wait,
            RetryDecision::Backoff => self.backoff_delay(attempt),
        };
        (attempt < self.options.max_attempts && self.spend_budget()).then_some(wait)
    }

    /// Returns a random delay up to the bound of this attempt.
    pub(super) fn backoff_delay(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let max_delay = self.options.initial_delay.saturating_mul(factor).min(self.options.max_delay);
        let max_delay = u64::try_from(max_delay.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros((self.random)() % max_delay.saturating_add(1).max(1))
    }

    fn credit_budget(&self) {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        *budget = budget.saturating_add(1).min(self.options.retry_budget.saturating_mul(10));
    }

    fn spend_budget(&self) -> bool {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let left = budget.checked_sub(10);
        *budget = left.unwrap_or(*budget);
        left.is_some()
    }
}

/// The decision whether and when to repeat an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RetryDecision {
    GiveUp,
    /// Repeat after a random delay.
    Backoff,
    /// Repeat after the delay that the server requested.
    After(Duration),
}

impl RetryDecision {
    fn of_error(operation: &Operation, error: &TransportError) -> Self {
        let passing = match error.fault() {
            TransportFault::Connect | TransportFault::Timeout | TransportFault::Interrupted => true,
            TransportFault::Request
            | TransportFault::TooLarge
            | TransportFault::Declined
            | TransportFault::Other => false,
        };
        let harmless = error.delivery() == Delivery::NotSent || operation.repeat.is_harmless();
        if passing && harmless { Self::Backoff } else { Self::GiveUp }
    }

    fn of_answer(operation: &Operation, status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Self {
        if !matches!(status.as_u16(), 408 | 425 | 429 | 502..=504) || !operation.repeat.is_harmless() {
            return Self::GiveUp;
        }
        RetryAfter::wait_from_headers(headers, now).map_or(Self::Backoff, Self::After)
    }
}

impl<T> fmt::Debug for Retry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("options", &self.options).finish_non_exhaustive()
    }
}

impl<T: Transport> Retry<T> {
    async fn send_with_retries(
        &self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut attempt = 1;
        loop {
            let mut sent = copy_with_body(&request, request.body().clone());
            mark_attempt(sent.extensions_mut(), attempt);
            let came = self.transport.send(operation, sent).await;
            let seen = came.as_ref().map(|response| (response.status(), response.headers()));
            let Some(wait) = self.next_delay(operation, attempt, seen) else {
                return with_attempt_count(came, attempt);
            };
            drop(came);
            self.timer.sleep(wait).await;
            attempt += 1;
        }
    }
}

impl<T: Transport> Transport for Retry<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(self.send_with_retries(operation, request))
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Retry<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        Box::pin(async move {
            let streams =
                self.transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            let (mut attempt, mut next) = (1, Some(request));
            loop {
                let Some(mut sent) = next.take() else { return Err(crate::transport::streams_unsupported()) };
                next = sent.body().try_clone().map(|body| copy_with_body(&sent, body));
                mark_attempt(sent.extensions_mut(), attempt);
                let came = streams.open_stream(operation, sent).await;
                let seen = came.as_ref().map(|response| (response.status(), response.headers()));
                let wait = next.as_ref().and_then(|_| self.next_delay(operation, attempt, seen));
                let Some(wait) = wait else { return with_attempt_count(came, attempt) };
                drop(came);
                self.timer.sleep(wait).await;
                attempt += 1;
            }
        })
    }
}
