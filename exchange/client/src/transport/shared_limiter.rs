//! The limiter that all clients of a session share: rate limit, circuit breaker, and `Retry-After` times.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::TransportSettings;
use crate::{rate_limiter::RateLimiter, retry_after::RetryAfterTable};

/// A shared [`RateLimiter`]. Clones use the same limiter.
#[derive(Clone)]
pub(crate) struct SharedLimiter(Arc<SharedLimiterInner>);

struct SharedLimiterInner {
    limiter: Mutex<RateLimiter>,
    /// The table that the limiter uses as well.
    retry_after: RetryAfterTable,
    /// Notified when waiting requests should check the limiter again.
    changed: Notify,
}

impl SharedLimiter {
    /// Creates a limiter with default limits. `gates` contains the earlier `Retry-After` times of the
    /// exchange.
    pub(crate) fn new(gates: RetryAfterTable, now: Duration) -> Self {
        let TransportSettings { rate_limit: budget, backoff, .. } = TransportSettings::default();
        let pace = Mutex::new(RateLimiter::new(budget, backoff, gates.clone(), now));
        Self(Arc::new(SharedLimiterInner { limiter: pace, retry_after: gates, changed: Notify::new() }))
    }

    /// Changes the limits for all clients that use the limiter.
    pub(super) fn with_settings(self, settings: &TransportSettings, now: Duration) -> Self {
        self.lock_limiter().set_limit(settings.rate_limit, settings.backoff, now);
        self.0.changed.notify_waiters();
        self
    }

    /// Locks the limiter. Every change is completed while the lock is held.
    pub(super) fn lock_limiter(&self) -> MutexGuard<'_, RateLimiter> {
        self.0.limiter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn retry_after_table(&self) -> &RetryAfterTable {
        &self.0.retry_after
    }

    pub(super) fn change_notify(&self) -> &Notify {
        &self.0.changed
    }
}
