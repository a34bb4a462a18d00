//! A limit for the number of concurrent calls.

use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker},
};

use bytes::Bytes;

use crate::{
    operation::Operation,
    transport::{ResponseFuture, Transport},
};

/// A transport that limits the number of concurrent calls. Further calls wait in order of arrival. A
/// streaming call counts until the head of its response arrives.
#[derive(Clone)]
pub struct ConcurrencyLimit<T> {
    transport: T,
    semaphore: Arc<FairSemaphore>,
}

#[derive(Default)]
struct FairSemaphore(Mutex<SemaphoreState>);

#[derive(Default)]
struct SemaphoreState {
    available: usize,
    /// Waiting calls by ticket number, oldest first. An admitted call is removed from this queue.
    waiting: VecDeque<(u64, Waker)>,
    next_ticket: u64,
    /// The ticket numbers of calls that were admitted but not polled since.
    admitted: Vec<u64>,
}

impl FairSemaphore {
    fn lock_state(&self) -> MutexGuard<'_, SemaphoreState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a permit and admits the call that has waited longest.
    fn release_permit(&self) {
        let mut state = self.lock_state();
        match state.waiting.pop_front() {
            Some((number, waker)) => {
                state.admitted.push(number);
                drop(state);
                waker.wake();
            }
            None => state.available += 1,
        }
    }
}

/// A permit, which is returned when it is dropped.
struct Permit<'a>(&'a FairSemaphore);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.release_permit();
    }
}

/// A future that resolves to a permit.
struct PermitFuture<'a> {
    semaphore: &'a FairSemaphore,
    ticket: Option<u64>,
}

impl<'a> Future for PermitFuture<'a> {
    type Output = Permit<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit<'a>> {
        let gate = self.semaphore;
        let mut state = gate.lock_state();
        let Some(number) = self.ticket else {
            if state.available > 0 {
                state.available -= 1;
                return Poll::Ready(Permit(gate));
            }
            let number = state.next_ticket;
            state.next_ticket += 1;
            state.waiting.push_back((number, context.waker().clone()));
            drop(state);
            self.ticket = Some(number);
            return Poll::Pending;
        };
        if let Some(at) = state.admitted.iter().position(|admitted| *admitted == number) {
            state.admitted.swap_remove(at);
            drop(state);
            self.ticket = None;
            return Poll::Ready(Permit(gate));
        }
        if let Some((_, waker)) = state.waiting.iter_mut().find(|(waiting, _)| *waiting == number) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

/// When dropped, the future leaves the queue, or returns its permit if it was already admitted.
impl Drop for PermitFuture<'_> {
    fn drop(&mut self) {
        let Some(number) = self.ticket else { return };
        let mut state = self.semaphore.lock_state();
        state.waiting.retain(|(waiting, _)| *waiting != number);
        let admitted = state.admitted.iter().position(|admitted| *admitted == number);
        if let Some(at) = admitted {
            state.admitted.swap_remove(at);
            drop(state);
            self.semaphore.release_permit();
        }
    }
}

impl<T> ConcurrencyLimit<T> {
    /// Creates a transport with at most `calls` concurrent calls, but at least one. Clones share the limit.
    pub fn new(transport: T, calls: usize) -> Self {
        let state = SemaphoreState { available: calls.max(1), ..SemaphoreState::default() };
        Self { transport, semaphore: Arc::new(FairSemaphore(Mutex::new(state))) }
    }

    fn acquire_permit(&self) -> PermitFuture<'_> {
        PermitFuture { semaphore: &self.semaphore, ticket: None }
    }
}

impl<T> fmt::Debug for ConcurrencyLimit<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConcurrencyLimit")
            .field("free", &self.semaphore.lock_state().available)
            .finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for ConcurrencyLimit<T> {
    fn send<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<Bytes>,
    ) -> ResponseFuture<'a> {
        Box::pin(async move {
            let _place = self.acquire_permit().await;
            self.transport.send(operation, request).await
        })
    }

    #[cfg(feature = "stream")]
    fn stream_transport(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.stream_transport().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for ConcurrencyLimit<T> {
    fn open_stream<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::StreamResponseFuture<'a> {
        Box::pin(async move {
            let streams =
                self.transport.stream_transport().ok_or_else(crate::transport::streams_unsupported)?;
            let _place = self.acquire_permit().await;
            streams.open_stream(operation, request).await
        })
    }
}
