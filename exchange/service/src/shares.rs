//! Limits on the part of a shared resource that each source may use, so that no source can use all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type ShareCounts<K> = HashMap<K, usize>;

/// A counter of the units of a resource that each source uses. A source is a network
/// ([`crate::peer::PeerAddr::network`]), a member, or another key. Clones share the counts.
#[derive(Clone, Debug)]
pub(crate) struct ShareLimiter<K = IpAddr> {
    limit: usize,
    taken: Arc<Mutex<ShareCounts<K>>>,
}

/// The units of a resource that a source uses. They are returned when the permit is dropped.
#[derive(Debug)]
pub(crate) struct SharePermit<K: Eq + Hash = IpAddr> {
    source: K,
    count: usize,
    taken: Arc<Mutex<ShareCounts<K>>>,
}

impl<K: Clone + Eq + Hash> ShareLimiter<K> {
    /// Creates a limiter that allows each source at most `maximum` units.
    pub(crate) fn new(maximum: usize) -> Self {
        Self { limit: maximum, taken: Arc::default() }
    }

    /// Takes `count` units for a source. Returns `None` if the source would exceed its limit.
    pub(crate) fn try_acquire(&self, source: K, count: usize) -> Option<SharePermit<K>> {
        let mut taken = lock_counts(&self.taken);
        let count_of_source = taken.get(&source).copied().unwrap_or_default().saturating_add(count);
        if count_of_source > self.limit {
            return None;
        }
        taken.insert(source.clone(), count_of_source);
        Some(SharePermit { source, count, taken: Arc::clone(&self.taken) })
    }
}

impl<K: Eq + Hash> Drop for SharePermit<K> {
    fn drop(&mut self) {
        let mut taken = lock_counts(&self.taken);
        if let Some(taken_by_source) = taken.get_mut(&self.source) {
            *taken_by_source = taken_by_source.saturating_sub(self.count);
            if *taken_by_source == 0 {
                taken.remove(&self.source);
            }
        }
    }
}

/// Locks the counts. They remain consistent if a holder of the lock panics, so a poisoned lock is ignored.
fn lock_counts<K>(taken: &Mutex<ShareCounts<K>>) -> MutexGuard<'_, ShareCounts<K>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_its_own_share() {
        let shares = ShareLimiter::new(3);
        let (one, other): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let first = shares.try_acquire(one, 2).unwrap();
        assert!(shares.try_acquire(one, 2).is_none());
        let second = shares.try_acquire(one, 1).unwrap();
        assert!(shares.try_acquire(one, 1).is_none());
        assert!(shares.try_acquire(other, 3).is_some());
        drop(first);
        assert!(shares.try_acquire(one, 2).is_some());
        drop(second);
        assert!(lock_counts(&shares.taken).is_empty(), "a source without units needs no memory");
    }
}
