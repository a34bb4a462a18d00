//! Token buckets (GCRA) in bounded memory. All rate limits use this algorithm.
//!
//! The crate `governor` is not used, because its map of keys is unbounded and requests cannot be refunded.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::time::Moment;

/// The size and refill rate of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RatePolicy {
    /// The number of requests that a full bucket allows, and that are refilled in each
    /// [`RatePolicy::period`]. 0 is treated as 1.
    pub requests: u32,
    /// The time in which an empty bucket becomes full.
    pub period: Duration,
}

impl RatePolicy {
    /// Creates a policy that allows `requests` requests per second.
    #[must_use]
    pub const fn per_second(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(1) }
    }

    /// Creates a policy that allows `requests` requests per minute.
    #[must_use]
    pub const fn per_minute(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(60) }
    }

    /// Creates a policy that allows `requests` requests per hour.
    #[must_use]
    pub const fn per_hour(requests: u32) -> Self {
        Self { requests, period: Duration::from_secs(3600) }
    }

    /// Returns the time in which one request is refilled, in microseconds to avoid rounding errors.
    fn micros_per_request(&self) -> i64 {
        self.period_micros() / i64::from(self.requests.max(1))
    }

    fn period_micros(&self) -> i64 {
        i64::try_from(self.period.as_micros()).unwrap_or(i64::MAX)
    }
}

/// The outcome of drawing a request from a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DrawOutcome {
    /// The request is allowed.
    Allowed {
        /// The number of requests that may still be sent immediately.
        remaining: u32,
        /// The time until the bucket is full again.
        full_in: Duration,
    },
    /// The bucket is empty, so nothing was drawn.
    Refused {
        /// The time until a request is allowed.
        wait: Duration,
    },
}

/// A bounded map of token buckets. At the capacity, full buckets are dropped first, because a full bucket is
/// equivalent to an absent one; then those that are nearest to full.
pub struct TokenBuckets<K> {
    capacity: usize,
    /// The time at which each bucket is full, in microseconds since the Unix epoch.
    full_at: Mutex<HashMap<K, i64>>,
}

impl<K> fmt::Debug for TokenBuckets<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenBuckets").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

impl<K: Clone + Eq + Hash> TokenBuckets<K> {
    /// Creates a map for at most `limit` buckets.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self { capacity: limit.max(1), full_at: Mutex::default() }
    }

    /// Returns the number of buckets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Returns true if the map has no buckets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Draws one request from a bucket. Draws nothing if the bucket is empty.
    pub fn draw_token(&self, key: &K, policy: RatePolicy, now: Moment) -> DrawOutcome {
        // Each entry is written with one assignment, so the map is consistent even if the lock is poisoned.
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.as_millis().saturating_mul(1000);
        if let Some(bucket) = all.get_mut(key) {
            let (taken, full_at) = evaluate_bucket(*bucket, policy, now);
            *bucket = full_at;
            return taken;
        }
        let (taken, full_at) = evaluate_bucket(now, policy, now);
        if all.len() >= self.capacity {
            make_room(&mut all, self.capacity, now);
        }
        all.insert(key.clone(), full_at);
        taken
    }

    /// Refunds one request to a bucket. The request must have been drawn with the same policy.
    pub fn give_back(&self, key: &K, policy: RatePolicy) {
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket_full_at) = all.get_mut(key) {
            *bucket_full_at = bucket_full_at.saturating_sub(policy.micros_per_request());
        }
    }
}

/// Draws a request from a bucket that is full at `full_at`. Returns the outcome and the new time at which the
/// bucket is full.
fn evaluate_bucket(full_at: i64, policy: RatePolicy, now: i64) -> (DrawOutcome, i64) {
    let (step, span) = (policy.micros_per_request(), policy.period_micros());
    // No bucket needs more than `span` to fill. If this one seems to need more, the clock was set back and
    // the true level is unknown. One request is then allowed, so that the key is not locked out but does not
    // get a full bucket either.
    let latest = now.saturating_add(span);
    let full_at = if full_at > latest { latest.saturating_sub(step) } else { full_at.max(now) };
    let after = full_at.saturating_add(step);
    let over = after.saturating_sub(now).saturating_sub(span);
    if over > 0 {
        return (DrawOutcome::Refused { wait: duration_from_micros(over) }, full_at);
    }
    let remaining = u32::try_from(-over / step.max(1)).unwrap_or(u32::MAX);
    (DrawOutcome::Allowed { remaining, full_in: duration_from_micros(after - now) }, after)
}

/// Drops at least an eighth of the buckets, so that this function runs rarely.
fn make_room<K: Eq + Hash>(all: &mut HashMap<K, i64>, limit: usize, now: i64) {
    let keep = limit - (limit / 8).max(1);
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

fn duration_from_micros(micros: i64) -> Duration {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// A refunded request can be drawn again, and a bucket never exceeds its size.
    #[test]
    fn returned_request_can_be_drawn_again() {
        let (buckets, policy) = (TokenBuckets::new(8), RatePolicy::per_minute(2));
        let allowed = |at| matches!(buckets.draw_token(&"a", policy, at), DrawOutcome::Allowed { .. });
        assert!(allowed(NOW) && allowed(NOW) && !allowed(NOW));
        buckets.give_back(&"a", policy);
        assert!(allowed(NOW) && !allowed(NOW));
        for _ in 0..9 {
            buckets.give_back(&"a", policy);
            buckets.give_back(&"nobody", policy);
        }
        assert!(allowed(NOW) && allowed(NOW) && !allowed(NOW));
    }

    /// The memory is bounded for any number of keys, and the emptiest bucket is kept.
    #[test]
    fn buckets_are_bounded() {
        let (buckets, policy) = (TokenBuckets::new(64), RatePolicy::per_minute(2));
        for _ in 0..2 {
            buckets.draw_token(&u32::MAX, policy, NOW);
        }
        for other in 0..10_000_u32 {
            buckets.draw_token(&other, policy, NOW);
            assert!(buckets.len() <= 64, "{}", buckets.len());
        }
        let taken = buckets.draw_token(&u32::MAX, policy, NOW);
        assert!(matches!(taken, DrawOutcome::Refused { .. }), "{taken:?}");
    }
}
