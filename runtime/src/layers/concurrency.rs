//! So many calls at a time.

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
    transport::{Sending, Transport},
};

/// Lets so many calls through at a time; the others wait in the order in which they came. A stream
/// counts until the head of its answer is there.
#[derive(Clone)]
pub struct Concurrency<T> {
    transport: T,
    gate: Arc<Gate>,
}

#[derive(Default)]
struct Gate(Mutex<State>);

#[derive(Default)]
struct State {
    free: usize,
    /// Who waits, by number, the oldest first; one that may go is no longer among them.
    waiting: VecDeque<(u64, Waker)>,
    next: u64,
    /// Who was let through and has not been polled since.
    admitted: Vec<u64>,
}

impl Gate {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One place is free: the oldest takes it.
    fn release(&self) {
        let mut state = self.state();
        match state.waiting.pop_front() {
            Some((number, waker)) => {
                state.admitted.push(number);
                drop(state);
                waker.wake();
            }
            None => state.free += 1,
        }
    }
}

/// A place, given back when it is dropped.
struct Place<'a>(&'a Gate);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Waits for a place.
struct Waiting<'a> {
    gate: &'a Gate,
    number: Option<u64>,
}

impl<'a> Future for Waiting<'a> {
    type Output = Place<'a>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Place<'a>> {
        let gate = self.gate;
        let mut state = gate.state();
        let Some(number) = self.number else {
            if state.free > 0 {
                state.free -= 1;
                return Poll::Ready(Place(gate));
            }
            let number = state.next;
            state.next += 1;
            state.waiting.push_back((number, context.waker().clone()));
            drop(state);
            self.number = Some(number);
            return Poll::Pending;
        };
        if let Some(at) = state.admitted.iter().position(|admitted| *admitted == number) {
            state.admitted.swap_remove(at);
            drop(state);
            self.number = None;
            return Poll::Ready(Place(gate));
        }
        if let Some((_, waker)) = state.waiting.iter_mut().find(|(waiting, _)| *waiting == number) {
            waker.clone_from(context.waker());
        }
        Poll::Pending
    }
}

/// Who gives up leaves the line, or the place that was given to it.
impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let mut state = self.gate.state();
        state.waiting.retain(|(waiting, _)| *waiting != number);
        let admitted = state.admitted.iter().position(|admitted| *admitted == number);
        if let Some(at) = admitted {
            state.admitted.swap_remove(at);
            drop(state);
            self.gate.release();
        }
    }
}

impl<T> Concurrency<T> {
    /// At most so many calls at a time, one at least. Clones share the limit.
    pub fn new(transport: T, calls: usize) -> Self {
        let state = State { free: calls.max(1), ..State::default() };
        Self { transport, gate: Arc::new(Gate(Mutex::new(state))) }
    }

    fn place(&self) -> Waiting<'_> {
        Waiting { gate: &self.gate, number: None }
    }
}

impl<T> fmt::Debug for Concurrency<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Concurrency").field("free", &self.gate.state().free).finish_non_exhaustive()
    }
}

impl<T: Transport> Transport for Concurrency<T> {
    fn send<'a>(&'a self, operation: &'static Operation, request: http::Request<Bytes>) -> Sending<'a> {
        Box::pin(async move {
            let _place = self.place().await;
            self.transport.send(operation, request).await
        })
    }

    #[cfg(feature = "stream")]
    fn streams(&self) -> Option<&dyn crate::transport::StreamTransport> {
        self.transport.streams().map(|_| self as &dyn crate::transport::StreamTransport)
    }
}

#[cfg(feature = "stream")]
impl<T: Transport> crate::transport::StreamTransport for Concurrency<T> {
    fn open<'a>(
        &'a self,
        operation: &'static Operation,
        request: http::Request<crate::transport::RequestBody>,
    ) -> crate::transport::Opening<'a> {
        Box::pin(async move {
            let streams = self.transport.streams().ok_or_else(crate::transport::no_streams)?;
            let _place = self.place().await;
            streams.open(operation, request).await
        })
    }
}
