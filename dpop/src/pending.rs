//! An answer that is there, or on its way: what the asynchronous seams of this crate return.
//!
//! Whoever implements a seam in memory answers at once and pays nothing for it; whoever asks a key store or a
//! database answers later. Either way the seam can be a trait object.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// A future that is ready from the start, or somebody else's in a box.
#[must_use = "nothing happens before it is awaited"]
pub struct Pending<'a, T>(State<'a, T>);

enum State<'a, T> {
    Ready(Option<T>),
    Later(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> Pending<'a, T> {
    /// What is there. Costs no allocation.
    pub const fn ready(answer: T) -> Self {
        Self(State::Ready(Some(answer)))
    }

    /// What somebody else answers.
    pub fn later(answer: impl Future<Output = T> + Send + 'a) -> Self {
        Self(State::Later(Box::pin(answer)))
    }
}

/// Nothing in it is pinned: what waits has a box of its own.
impl<T> Unpin for Pending<'_, T> {}

/// # Panics
/// When it is polled after it was ready, as futures may.
impl<T> Future for Pending<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.get_mut().0 {
            State::Ready(answer) => Poll::Ready(answer.take().expect("not polled again")),
            State::Later(answer) => answer.as_mut().poll(context),
        }
    }
}

/// Shows whether it is there, not what it is.
impl<T> fmt::Debug for Pending<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            State::Ready(_) => "Pending(ready)",
            State::Later(_) => "Pending(later)",
        })
    }
}
