//! Waiting, which whoever runs the futures knows how to do.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// What [`Timer::sleep`] gives.
pub type Sleeping = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Waits. A test's timer need not.
pub trait Timer: Send + Sync {
    /// Ends when so much time is over.
    fn sleep(&self, time: Duration) -> Sleeping;
}

impl<T: Timer + ?Sized> Timer for Arc<T> {
    fn sleep(&self, time: Duration) -> Sleeping {
        (**self).sleep(time)
    }
}

/// The timer of tokio, inside of a runtime that has one.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

#[cfg(feature = "tokio")]
impl Timer for TokioTimer {
    fn sleep(&self, time: Duration) -> Sleeping {
        Box::pin(tokio::time::sleep(time))
    }
}
