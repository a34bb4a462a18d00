//! Buckets that refill steadily (GCRA), in memory and bounded: one algorithm for whatever is counted.
//!
//! Not `governor`: its map of keys has no bound, and what was taken out of a bucket cannot be given back.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::time::Moment;

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// So many at once, and in each [`Policy::period`]. Zero counts as one.
    pub requests: u32,
    /// The period over which an empty bucket is full again.
    pub period: Duration,
}

impl Policy {
    /// So many a second.
    #[must_use]
    pub const fn per_second(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(1) }
    }

    /// So many a minute.
    #[must_use]
    pub const fn per_minute(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(60) }
    }

    /// So many an hour.
    #[must_use]
    pub const fn per_hour(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(3600) }
    }

    /// In microseconds, so that nothing is lost to rounding: how long one request takes to refill.
    fn step(&self) -> i64 {
        self.span() / i64::from(self.requests.max(1))
    }

    fn span(&self) -> i64 {
        i64::try_from(self.period.as_micros()).unwrap_or(i64::MAX)
    }
}

/// What a request found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It may go on.
    Allowed {
        /// How many more may come at once.
        remaining: u32,
        /// How long until the bucket is full again.
        full_in: Duration,
    },
    /// The bucket is empty; nothing was taken.
    Refused {
        /// How long until one request is free.
        wait: Duration,
    },
}

/// Buckets by whoever has them. When there are as many as allowed, full ones are dropped, which are as if they had
/// never been; then those that are nearest to it.
pub struct Buckets<K> {
    most: usize,
    /// When each will be full, in microseconds since the epoch.
    full_at: Mutex<HashMap<K, i64>>,
}

impl<K> fmt::Debug for Buckets<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buckets").field("most", &self.most).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> Buckets<K> {
    /// At most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), full_at: Mutex::default() }
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes one out of a bucket, if there is one.
    pub fn draw(&self, key: &K, policy: Policy, now: Moment) -> Taken {
        // Each entry is written in one assignment, so a lock that is poisoned holds nothing half done.
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.millis().saturating_mul(1000);
        if let Some(own) = all.get_mut(key) {
            let (taken, full_at) = decide(*own, policy, now);
            *own = full_at;
            return taken;
        }
        let (taken, full_at) = decide(now, policy, now);
        if all.len() >= self.most {
            make_room(&mut all, self.most, now);
        }
        all.insert(key.clone(), full_at);
        taken
    }

    /// Gives one back that was taken by this policy.
    pub fn give_back(&self, key: &K, policy: Policy) {
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = all.get_mut(key) {
            *own = own.saturating_sub(policy.step());
        }
    }
}

/// What a request finds in a bucket that is full at some time, and when it is full after it.
fn decide(full_at: i64, policy: Policy, now: i64) -> (Taken, i64) {
    let (step, span) = (policy.step(), policy.span());
    // No bucket takes longer than that to fill. Where it seems to, the clock was stepped back, and nobody knows what has
    // been taken since: one is left in it, so that nobody is locked out, and nobody has all of it again.
    let longest = now.saturating_add(span);
    let full_at = if full_at > longest { longest.saturating_sub(step) } else { full_at.max(now) };
    let after = full_at.saturating_add(step);
    let over = after.saturating_sub(now).saturating_sub(span);
    if over > 0 {
        return (Taken::Refused { wait: micros(over) }, full_at);
    }
    let remaining = u32::try_from(-over / step.max(1)).unwrap_or(u32::MAX);
    (Taken::Allowed { remaining, full_in: micros(after - now) }, after)
}

/// Drops at least an eighth of the buckets, so that it is seldom done.
fn make_room<K: Eq + Hash>(all: &mut HashMap<K, i64>, most: usize, now: i64) {
    let keep = most - (most / 8).max(1);
    all.retain(|_, full_at| *full_at > now);
    if all.len() > keep {
        let mut times: Vec<i64> = all.values().copied().collect();
        let drop = all.len() - keep;
        let (_, last, _) = times.select_nth_unstable(drop - 1);
        let last = *last;
        let mut left = drop;
        all.retain(|_, full_at| {
            let goes = left > 0 && *full_at <= last;
            left -= usize::from(goes);
            !goes
        });
    }
}

fn micros(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// What is given back can be taken again, and never more than was there.
    #[test]
    fn one_is_given_back() {
        let (buckets, policy) = (Buckets::new(8), Policy::per_minute(2));
        let allowed = |at| matches!(buckets.draw(&"a", policy, at), Taken::Allowed { .. });
        assert!(allowed(NOW) && allowed(NOW) && !allowed(NOW));
        buckets.give_back(&"a", policy);
        assert!(allowed(NOW) && !allowed(NOW));
        for _ in 0..9 {
            buckets.give_back(&"a", policy);
            buckets.give_back(&"nobody", policy);
        }
        assert!(allowed(NOW) && allowed(NOW) && !allowed(NOW));
    }

    /// However many there are: memory is bounded, and whoever has asked most stays counted.
    #[test]
    fn buckets_are_bounded() {
        let (buckets, policy) = (Buckets::new(64), Policy::per_minute(2));
        for _ in 0..2 {
            buckets.draw(&u32::MAX, policy, NOW);
        }
        for other in 0..10_000_u32 {
            buckets.draw(&other, policy, NOW);
            assert!(buckets.len() <= 64, "{}", buckets.len());
        }
        let taken = buckets.draw(&u32::MAX, policy, NOW);
        assert!(matches!(taken, Taken::Refused { .. }), "{taken:?}");
    }
}
