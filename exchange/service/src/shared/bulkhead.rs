//! A bulkhead: a limit on large change sets that run at once (LIM-02).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dpop_bound::MaybeReady;

use super::SharedStateError;
use crate::time::Moment;

/// A permit to run a large change set. Dropping the permit returns it to the bulkhead.
pub struct BulkheadPermit(Option<Box<dyn FnOnce() + Send>>);

impl BulkheadPermit {
    /// Creates a permit that calls `leave` when it is dropped.
    #[must_use]
    pub fn new(leave: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(leave)))
    }
}

impl Drop for BulkheadPermit {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

impl fmt::Debug for BulkheadPermit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BulkheadPermit")
    }
}

/// A limit on large change sets that run at once, with a fixed number of permits.
pub trait Bulkhead: Send + Sync {
    /// Acquires a permit if one is free. It becomes free again when it is dropped or when its lease expires,
    /// because its holder may have crashed.
    fn try_enter(&self, now: Moment) -> MaybeReady<'_, Result<Option<BulkheadPermit>, SharedStateError>>;
}

/// A bulkhead in memory. Clones share the permits.
#[derive(Clone, Debug)]
pub struct MemoryBulkhead {
    places: usize,
    lease: Duration,
    taken: Arc<Mutex<LeaseTable>>,
}

#[derive(Debug, Default)]
struct LeaseTable {
    next_number: u64,
    /// The number and the expiry time of each lease.
    leases: Vec<(u64, Moment)>,
}

impl MemoryBulkhead {
    /// Creates a bulkhead with `places` permits. Each permit expires after `lease`.
    #[must_use]
    pub fn new(places: usize, lease: Duration) -> Self {
        Self { places, lease, taken: Arc::default() }
    }
}

impl Bulkhead for MemoryBulkhead {
    fn try_enter(&self, now: Moment) -> MaybeReady<'_, Result<Option<BulkheadPermit>, SharedStateError>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.leases.retain(|(_, end)| *end > now);
        if taken.leases.len() >= self.places {
            return MaybeReady::ready(Ok(None));
        }
        let number = taken.next_number;
        taken.next_number += 1;
        taken.leases.push((number, now.plus(self.lease)));
        let all = Arc::clone(&self.taken);
        MaybeReady::ready(Ok(Some(BulkheadPermit::new(move || {
            let mut taken = all.lock().unwrap_or_else(PoisonError::into_inner);
            taken.leases.retain(|(lease, _)| *lease != number);
        }))))
    }
}

/// Tests that every implementation of `Bulkhead` must pass.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// Runs all tests. `empty` must create a bulkhead with the given number of permits and the given lease.
    pub(crate) async fn check_every_rule<B: Bulkhead>(empty: impl AsyncFn(usize, Duration) -> B) {
        let minute = Duration::from_secs(60);
        let bulkhead = empty(2, minute).await;
        let enter = async |time: Moment| bulkhead.try_enter(time).await.unwrap();
        let (first, second) = (enter(NOW).await, enter(NOW).await);
        assert!(first.is_some() && second.is_some());
        assert!(enter(NOW).await.is_none(), "both permits are taken");
        drop(first);
        let third = enter(NOW).await;
        assert!(third.is_some(), "a returned permit is free again");
        assert!(enter(NOW.plus(minute - Duration::from_millis(1))).await.is_none());
        let late = enter(NOW.plus(minute)).await;
        assert!(late.is_some(), "expired leases free their permits");
        drop((second, third));
        let last = enter(NOW.plus(minute)).await;
        assert!(last.is_some());
        assert!(enter(NOW.plus(minute)).await.is_none(), "dropping an expired permit frees no other");
        drop((late, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-02: the bulkhead in memory passes the contract tests.
    #[tokio::test]
    async fn memory_passes_the_contract_tests() {
        contract::check_every_rule(async |places, lease| MemoryBulkhead::new(places, lease)).await;
    }
}
