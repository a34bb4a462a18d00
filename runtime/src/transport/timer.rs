//! Timers for the async runtime that polls the futures.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

/// The future that [`Timer::sleep`] returns.
pub type SleepFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A source of delays. Tests may use a timer that does not wait.
pub trait Timer: Send + Sync {
    /// Returns a future that completes after `time`.
    fn sleep(&self, time: Duration) -> SleepFuture;
}

impl<T: Timer + ?Sized> Timer for Arc<T> {
    fn sleep(&self, time: Duration) -> SleepFuture {
        (**self).sleep(time)
    }
}

/// The timer of tokio. It panics outside a tokio runtime with an enabled timer.
#[cfg(feature = "tokio")]
#[derive(Clone, Copy, Debug, Default)]
pub struct TokioTimer;

#[cfg(feature = "tokio")]
impl Timer for TokioTimer {
    fn sleep(&self, time: Duration) -> SleepFuture {
        Box::pin(tokio::time::sleep(time))
    }
}

/// The timer of the JavaScript host in WebAssembly: `setTimeout`.
#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
#[derive(Clone, Copy, Debug, Default)]
pub struct HostTimer;

#[cfg(all(feature = "reqwest", target_arch = "wasm32"))]
impl Timer for HostTimer {
    fn sleep(&self, time: Duration) -> SleepFuture {
        // WebAssembly has one thread. `SendWrapper` checks the thread.
        Box::pin(send_wrapper::SendWrapper::new(gloo_timers::future::sleep(time)))
    }
}

/// The timer of tokio. Outside a tokio runtime, it never fires, whereas [`TokioTimer`] panics.
#[cfg(all(feature = "tokio", feature = "stream"))]
pub(crate) struct OptionalTokioTimer;

#[cfg(all(feature = "tokio", feature = "stream"))]
impl Timer for OptionalTokioTimer {
    fn sleep(&self, time: Duration) -> SleepFuture {
        match tokio::runtime::Handle::try_current() {
            Ok(_) => TokioTimer.sleep(time),
            Err(_) => Box::pin(std::future::pending()),
        }
    }
}
