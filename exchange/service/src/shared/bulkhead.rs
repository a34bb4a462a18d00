//! How many large change sets run at once (LIM-02).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dpop_bound::Pending;

use super::Unavailable;
use crate::time::Moment;

/// A place; dropping it gives it back.
pub struct Place(Option<Box<dyn FnOnce() + Send>>);

impl Place {
    /// A place that is given back by this.
    #[must_use]
    pub fn new(leave: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(leave)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(leave) = self.0.take() {
            leave();
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}

/// A number of places.
pub trait Bulkhead: Send + Sync {
    /// Takes a place, when one is free. It is free again when it is dropped, and at the latest when its lease is
    /// over: whoever holds it may have died.
    fn enter(&self, now: Moment) -> Pending<'_, Result<Option<Place>, Unavailable>>;
}

/// In memory.
#[derive(Clone, Debug)]
pub struct MemoryBulkhead {
    places: usize,
    lease: Duration,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    next: u64,
    /// Number and end of each.
    leases: Vec<(u64, Moment)>,
}

impl MemoryBulkhead {
    /// So many places, each for at most so long.
    #[must_use]
    pub fn new(places: usize, lease: Duration) -> Self {
        Self { places, lease, taken: Arc::default() }
    }
}

impl Bulkhead for MemoryBulkhead {
    fn enter(&self, now: Moment) -> Pending<'_, Result<Option<Place>, Unavailable>> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.leases.retain(|(_, end)| *end > now);
        if taken.leases.len() >= self.places {
            return Pending::ready(Ok(None));
        }
        let number = taken.next;
        taken.next += 1;
        taken.leases.push((number, now.plus(self.lease)));
        let all = Arc::clone(&self.taken);
        Pending::ready(Ok(Some(Place::new(move || {
            let mut taken = all.lock().unwrap_or_else(PoisonError::into_inner);
            taken.leases.retain(|(own, _)| *own != number);
        }))))
    }
}

/// The rules of every bulkhead, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// All of them, of bulkheads with these places and leases.
    pub(crate) async fn every_rule<B: Bulkhead>(empty: impl AsyncFn(usize, Duration) -> B) {
        let minute = Duration::from_secs(60);
        let bulkhead = empty(2, minute).await;
        let enter = async |at: Moment| bulkhead.enter(at).await.unwrap();
        let (first, second) = (enter(NOW).await, enter(NOW).await);
        assert!(first.is_some() && second.is_some());
        assert!(enter(NOW).await.is_none(), "both are taken");
        drop(first);
        let third = enter(NOW).await;
        assert!(third.is_some(), "one was given back");
        assert!(enter(NOW.plus(minute - Duration::from_millis(1))).await.is_none());
        let late = enter(NOW.plus(minute)).await;
        assert!(late.is_some(), "the leases are over");
        drop((second, third));
        let last = enter(NOW.plus(minute)).await;
        assert!(last.is_some());
        assert!(enter(NOW.plus(minute)).await.is_none(), "what was over is not given back twice");
        drop((late, last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// LIM-02
    #[tokio::test]
    async fn memory_keeps_the_rules() {
        contract::every_rule(async |places, lease| MemoryBulkhead::new(places, lease)).await;
    }
}
