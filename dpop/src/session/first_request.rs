//! Coordination of the first request to each server.
//!
//! If a server requires nonces, ten concurrent requests to it would receive ten challenges. Therefore one
//! request is sent first and the others wait. They continue when its response arrives; if it fails, one of
//! them is sent next.

use std::{
    collections::HashMap,
    fmt,
    num::NonZeroUsize,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use super::{SharedState, Transmission, lock_state};

/// The result of preparing a transmission.
#[derive(Debug)]
#[must_use]
pub enum PrepareOutcome {
    /// Send this transmission now.
    Send(Transmission),
    /// Another request to the same server is in flight, and the server has not responded yet. Await the
    /// future, then prepare the request again.
    Wait(FirstResponse),
}

/// The servers that have responded, and the first requests in flight.
#[derive(Default)]
pub(super) struct FirstRequests {
    /// The origins that have responded. Invariant: sorted by last response, the most recent last.
    responded: Vec<Box<str>>,
    /// The wakers of the requests that wait for each first request.
    in_flight: HashMap<Box<str>, Vec<Waker>>,
}

impl FirstRequests {
    pub(super) fn has_answered(&self, origin: &str) -> bool {
        self.responded.iter().any(|known| **known == *origin)
    }

    pub(super) fn is_in_flight(&self, origin: &str) -> bool {
        self.in_flight.contains_key(origin)
    }

    /// Registers the caller as the first request. Returns false if another one is in flight.
    pub(super) fn try_claim(&mut self, origin: &str) -> bool {
        if self.is_in_flight(origin) {
            return false;
        }
        self.in_flight.insert(origin.into(), Vec::new());
        true
    }

    /// Removes the wakers of all requests to servers for which the predicate is true. Wake them only after
    /// releasing the lock.
    #[must_use]
    pub(super) fn take_waiters(&mut self, is_known: impl Fn(&str) -> bool) -> Vec<Waker> {
        let known = self.in_flight.iter_mut().filter(|(origin, _)| is_known(origin));
        known.flat_map(|(_, waiting)| std::mem::take(waiting)).collect()
    }

    /// Records that the origin has responded. Of all recorded origins, only the latest `max_origins` are
    /// kept.
    pub(super) fn record_response(&mut self, origin: &str, max_origins: NonZeroUsize) {
        if self.responded.last().is_some_and(|known| **known == *origin) {
            return;
        }
        self.responded.retain(|known| **known != *origin);
        self.responded.push(origin.into());
        self.responded.drain(..self.responded.len().saturating_sub(max_origins.get()));
    }
}

/// The registration as the first request to a server. Dropping it wakes all waiting requests.
pub(super) struct FirstRequestGuard {
    origin: Box<str>,
    known: Arc<SharedState>,
}

impl FirstRequestGuard {
    pub(super) fn new(origin: &str, known: &Arc<SharedState>) -> Self {
        Self { origin: origin.into(), known: Arc::clone(known) }
    }
}

impl Drop for FirstRequestGuard {
    fn drop(&mut self) {
        let waiting = lock_state(&self.known).first_requests.in_flight.remove(&self.origin);
        wake_all(waiting.unwrap_or_default());
    }
}

/// Wakes waiting requests. Must not be called under the lock: a waker may run the task immediately.
pub(super) fn wake_all(waiting: Vec<Waker>) {
    waiting.into_iter().for_each(Waker::wake);
}

/// A future that completes when the first request to a server has ended. It works with any async runtime.
/// Prepare the request again afterwards: it may then be the first one itself.
#[must_use = "futures do nothing unless awaited"]
pub struct FirstResponse {
    origin: Box<str>,
    known: Arc<SharedState>,
}

impl FirstResponse {
    pub(super) fn new(origin: &str, known: &Arc<SharedState>) -> Self {
        Self { origin: origin.into(), known: Arc::clone(known) }
    }
}

impl Future for FirstResponse {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = lock_state(&self.known);
        if state.is_open(&self.origin) {
            return Poll::Ready(());
        }
        match state.first_requests.in_flight.get_mut(&self.origin) {
            None => Poll::Ready(()),
            Some(waiting) => {
                if !waiting.iter().any(|waker| waker.will_wake(context.waker())) {
                    waiting.push(context.waker().clone());
                }
                Poll::Pending
            }
        }
    }
}

/// Shows the origin.
impl fmt::Debug for FirstResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FirstResponse").field(&self.origin).finish()
    }
}
