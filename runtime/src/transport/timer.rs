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

/// The same; outside of a runtime it never ends, instead of panicking.
#[cfg(all(feature = "tokio", feature = "stream"))]
pub(crate) struct TokioIfThere;

#[cfg(all(feature = "tokio", feature = "stream"))]
impl Timer for TokioIfThere {
    fn sleep(&self, time: Duration) -> Sleeping {
        match tokio::runtime::Handle::try_current() {
            Ok(_) => TokioTimer.sleep(time),
            Err(_) => Box::pin(std::future::pending()),
        }
    }
}
