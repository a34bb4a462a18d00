//! What each source takes of something that there is only so much of, so that none takes all of it.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

type Taken<K> = HashMap<K, usize>;

/// What one source may take: whoever is behind a network ([`crate::peer::Peer::network`]), or a member, say. A handle:
/// clones count together.
#[derive(Clone, Debug)]
pub(crate) struct Shares<K = IpAddr> {
    most: usize,
    taken: Arc<Mutex<Taken<K>>>,
}

/// What a source took, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share<K: Eq + Hash = IpAddr> {
    source: K,
    count: usize,
    taken: Arc<Mutex<Taken<K>>>,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// So much for each.
    pub(crate) fn of(most: usize) -> Self {
        Self { most, taken: Arc::default() }
    }

    /// So much for this source; none when it would have more than its share.
    pub(crate) fn take(&self, source: K, count: usize) -> Option<Share<K>> {
        let mut taken = locked(&self.taken);
        let own = taken.get(&source).copied().unwrap_or_default().saturating_add(count);
        if own > self.most {
            return None;
        }
        taken.insert(source.clone(), own);
        Some(Share { source, count, taken: Arc::clone(&self.taken) })
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        let mut taken = locked(&self.taken);
        if let Some(own) = taken.get_mut(&self.source) {
            *own = own.saturating_sub(self.count);
            if *own == 0 {
                taken.remove(&self.source);
            }
        }
    }
}

/// Counts are right whoever panicked beside them.
fn locked<K>(taken: &Mutex<Taken<K>>) -> MutexGuard<'_, Taken<K>> {
    taken.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_source_has_its_own() {
        let shares = Shares::of(3);
        let (one, other): (IpAddr, IpAddr) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
        let first = shares.take(one, 2).unwrap();
        assert!(shares.take(one, 2).is_none());
        let second = shares.take(one, 1).unwrap();
        assert!(shares.take(one, 1).is_none());
        assert!(shares.take(other, 3).is_some());
        drop(first);
        assert!(shares.take(one, 2).is_some());
        drop(second);
        assert!(locked(&shares.taken).is_empty(), "who has nothing takes no room");
    }
}
