//! Another attempt, where that does no harm and there is hope.

use std::{
    fmt,
    hash::{BuildHasher, Hasher, RandomState},
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
    operation::Operation,
    transport::{Delivery, Sending, Timer, Transport, TransportError, TransportFault, with_body},
};

/// How often, how long between, and how much in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retries {
    /// Attempts in all, the first one too. Default three.
    pub attempts: u32,
    /// The longest first wait; each is drawn between nothing and its longest. Default 200 ms.
    pub first: Duration,
    /// The longest wait of all; the longest doubles with each attempt. Default ten seconds.
    pub longest: Duration,
    /// The longest `Retry-After` that is waited for; an answer with a longer one is the caller's.
    /// Default thirty seconds.
    pub patience: Duration,
    /// How many retries there may be beyond a tenth of the answers that came, over all calls, so
    /// that a server in trouble is not asked more than it is anyway. With zero there are none at
    /// all. Default ten.
    pub budget: u32,
}

impl Default for Retries {
    fn default() -> Self {
        Self {
            attempts: 3,
            first: Duration::from_millis(200),
            longest: Duration::from_secs(10),
            patience: Duration::from_secs(30),
            budget: 10,
        }
    }
}

/// How often a request was sent: among the extensions of the answer, and of the request for the
/// transport below, which then has the number of its own attempt. An error says it itself
/// ([`TransportError::attempts`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempts(pub u32);

/// Where a [`Retry`] writes down which attempt it is at, among the extensions of a request: for layers
/// around it that give the call up and never hear how it would have ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally(Arc<AtomicU32>);

impl Tally {
    /// The one of a request, which has one from here on.
    pub(super) fn of(extensions: &mut Extensions) -> Self {
        extensions.get_or_insert_default::<Self>().clone()
    }

    /// An error of this side that ends the call, with the attempts that there were.
    pub(super) fn count(&self, error: TransportError) -> TransportError {
        match self.0.load(Ordering::Relaxed) {
            0 => error,
            attempts => error.with_attempts(attempts),
        }
    }
}

/// Marks a request as this attempt.
fn mark(extensions: &mut Extensions, attempt: u32) {
    extensions.insert(Attempts(attempt));
    if let Some(Tally(tally)) = extensions.get() {
        tally.store(attempt, Ordering::Relaxed);
    }
}

/// What came in the end, with how often it was sent.
fn counted<B>(
    came: Result<http::Response<B>, TransportError>,
    attempts: u32,
) -> Result<http::Response<B>, TransportError> {
    let mut answer = came.map_err(|error| error.with_attempts(attempts))?;
    answer.extensions_mut().insert(Attempts(attempts));
    Ok(answer)
}

/// Sends a request again that got no answer, or one that says to come back, byte for byte.
///
/// What may act a second time ([`Repeat::Once`](crate::operation::Repeat)) is sent again only if no
/// byte of it left. An answer of `408`, `425`, `429`, `502`, `503` or `504` is waited for as long as
/// its `Retry-After` says. A body in pieces is never sent again.
#[derive(Clone)]
pub struct Retry<T> {
    transport: T,
    retries: Retries,
    timer: Arc<dyn Timer>,
    now: Arc<dyn Fn() -> SystemTime + Send + Sync>,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
    /// In tenths of a retry.
    budget: Arc<Mutex<u32>>,
}

impl<T> Retry<T> {
    /// Retries calls of this transport. Clones share the budget.
    pub fn new(transport: T, retries: Retries, timer: impl Timer + 'static) -> Self {
        Self {
            transport,
            retries,
            timer: Arc::new(timer),
            now: Arc::new(SystemTime::now),
            random: Arc::new(|| RandomState::new().build_hasher().finish()),
            budget: Arc::new(Mutex::new(retries.budget.saturating_mul(10))),
        }
    }

    /// Reads another clock, by which a date in `Retry-After` is understood where the answer has no `Date`.
    #[must_use]
    pub fn with_clock(mut self, now: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.now = Arc::new(now);
        self
    }

    /// Draws other numbers, by which waits differ.
    #[must_use]
    pub fn with_random(mut self, random: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.random = Arc::new(random);
        self
    }

    /// How long to wait for another attempt; `None` for what has come.
    fn wait(
        &self,
        operation: &Operation,
        attempt: u32,
        came: Result<(StatusCode, &HeaderMap), &TransportError>,
    ) -> Option<Duration> {
        let hope = match came {
            Err(error) => Hope::of_error(operation, error),
            Ok((status, headers)) => {
                self.earn();
                Hope::of_answer(operation, status, headers, (self.now)())
            }
        };
        let wait = match hope {
            Hope::None => return None,
            Hope::After(wait) if wait > self.retries.patience => return None,
            Hope::After(wait) => wait,
            Hope::Soon => self.drawn(attempt),
        };
        (attempt < self.retries.attempts && self.spend()).then_some(wait)
    }

    /// Between nothing and the longest wait of this attempt.
    pub(super) fn drawn(&self, attempt: u32) -> Duration {
        let factor = 1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX);
        let most = self.retries.first.saturating_mul(factor).min(self.retries.longest);
        let most = u64::try_from(most.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros((self.random)() % most.saturating_add(1).max(1))
    }

    fn earn(&self) {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        *budget = budget.saturating_add(1).min(self.retries.budget.saturating_mul(10));
    }

    fn spend(&self) -> bool {
        let mut budget = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let left = budget.checked_sub(10);
        *budget = left.unwrap_or(*budget);
        left.is_some()
    }
}

/// What another attempt would come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hope {
    None,
    /// After a while of this side's choice.
    Soon,
    /// After what the server says.
    After(Duration),
}

impl Hope {
    fn of_error(operation: &Operation, error: &TransportError) -> Self {
        let passing = match error.fault() {
            TransportFault::Connect | TransportFault::Timeout | TransportFault::Interrupted => true,
            TransportFault::Request
            | TransportFault::TooLarge
            | TransportFault::Declined
            | TransportFault::Other => false,
        };
        let harmless = error.delivery() == Delivery::NotSent || operation.repeat.is_harmless();
        if passing && harmless { Self::Soon } else { Self::None }
    }

    fn of_answer(operation: &Operation, status: StatusCode, headers: &HeaderMap, now: SystemTime) -> Self {
        if !matches!(status.as_u16(), 408 | 425 | 429 | 502..=504) || !operation.repeat.is_harmless() {
            return Self::None;
        }
        RetryAfter::wait(headers, now).map_or(Self::Soon, Self::After)
    }
}

impl<T> fmt::Debug for Retry<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry").field("retries", &self.retries).finish_non_exhaustive()
    }
}

impl<T: Transport> Retry<T> {
    async fn exchange(
        &self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> Result<http::Response<Bytes>, TransportError> {
        let mut attempt = 1;
        loop {
            let mut sent = with_body(&request, request.body().clone());
            mark(sent.extensions_mut(), attempt);
            let came = self.transport.send(operation, sent).await;
            let seen = came.as_ref().map(|answer| (answer.status(), answer.headers()));
            let Some(wait) = self.wait(operation, attempt, seen) else { return counted(came, attempt) };
            drop(came);
            self.timer.sleep(wait).await;
            attempt += 1;
        }
    }
}

impl<T: Transport> Transport for Retry<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(self.exchange(operation, request))
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.streams().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Retry<T> {
    fn open<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::Opening<'a> {
        Box::pin(async move {
            let streams = self.transport.streams().ok_or_else(crate::transport::no_streams)?;
            let (mut attempt, mut next) = (1, Some(request));
            loop {
                let Some(mut sent) = next.take() else { return Err(crate::transport::no_streams()) };
                next = sent.body().again().map(|body| with_body(&sent, body));
                mark(sent.extensions_mut(), attempt);
                let came = streams.open(operation, sent).await;
                let seen = came.as_ref().map(|answer| (answer.status(), answer.headers()));
                let wait = next.as_ref().and_then(|_| self.wait(operation, attempt, seen));
                let Some(wait) = wait else { return counted(came, attempt) };
                drop(came);
                self.timer.sleep(wait).await;
                attempt += 1;
            }
        })
    }
}
