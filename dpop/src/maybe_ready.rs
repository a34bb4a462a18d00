//! The future type of the asynchronous traits of this crate.
//!
//! An in-memory implementation returns a ready value without allocation; an implementation with a key store
//! or a database returns a boxed future. Either way the traits stay usable as trait objects.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

/// A future that is either ready from the start or boxed.
#[must_use = "nothing happens before it is awaited"]
pub struct MaybeReady<'a, T>(FutureState<'a, T>);

enum FutureState<'a, T> {
    Ready(Option<T>),
    Boxed(Pin<Box<dyn Future<Output = T> + Send + 'a>>),
}

impl<'a, T> MaybeReady<'a, T> {
    /// Creates a future that is ready with this value. Does not allocate.
    pub const fn ready(response: T) -> Self {
        Self(FutureState::Ready(Some(response)))
    }

    /// Creates a `MaybeReady` from a future, which is boxed.
    pub fn boxed(response: impl Future<Output = T> + Send + 'a) -> Self {
        Self(FutureState::Boxed(Box::pin(response)))
    }
}

/// Sound because no data is pinned inside of this type: a pending future is in a box.
impl<T> Unpin for MaybeReady<'_, T> {}

/// # Panics
/// Panics if it is polled after it was ready, as the contract of `Future` permits.
impl<T> Future for MaybeReady<'_, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match &mut self.get_mut().0 {
            FutureState::Ready(answer) => Poll::Ready(answer.take().expect("polled after completion")),
            FutureState::Boxed(answer) => answer.as_mut().poll(context),
        }
    }
}

/// Shows the state, but not the value.
impl<T> fmt::Debug for MaybeReady<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            FutureState::Ready(_) => "Pending(ready)",
            FutureState::Boxed(_) => "Pending(later)",
        })
    }
}
