//! What all requests of a session leave by, whichever exchange sends them: one budget, one breaker, what was asked of all.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::Notify;

use super::Settings;
use crate::{gates::Gates, pace::Pace};

/// One way to the exchange. Cloning shares it.
#[derive(Clone)]
pub(crate) struct Road(Arc<Shared>);

struct Shared {
    pace: Mutex<Pace>,
    /// What the pace goes by, too.
    gates: Gates,
    /// The pace became another: whoever waits looks again.
    changed: Notify,
}

impl Road {
    /// One that nobody went yet. What the exchange asked for already is in `gates`.
    pub(crate) fn new(gates: Gates, now: Duration) -> Self {
        let Settings { budget, backoff, .. } = Settings::default();
        let pace = Mutex::new(Pace::new(budget, backoff, gates.clone(), now));
        Self(Arc::new(Shared { pace, gates, changed: Notify::new() }))
    }

    /// The same by these limits, for all who share it.
    pub(super) fn limited(self, settings: &Settings, now: Duration) -> Self {
        self.pace().limit(settings.budget, settings.backoff, now);
        self.0.changed.notify_waiters();
        self
    }

    /// Every change is made whole under the lock.
    pub(super) fn pace(&self) -> MutexGuard<'_, Pace> {
        self.0.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn gates(&self) -> &Gates {
        &self.0.gates
    }

    pub(super) fn changed(&self) -> &Notify {
        &self.0.changed
    }
}
