//! How fast somebody may ask: buckets that refill steadily (GCRA), one for each who asks.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use dpop_bound::Pending;

use super::Unavailable;
use crate::ids::{ClientId, MemberId};
use crate::peer::Peer;
use crate::time::Moment;

/// Who is counted, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// All requests of a source (LIM-04), by what limits count by ([`Peer::network`]).
    Address(IpAddr),
    /// All requests of a client for a member (LIM-18).
    Member(ClientId, MemberId),
    /// All requests of a client (LIM-18).
    Client(ClientId),
    /// Account checks of a client for a member (LIM-05).
    AccountCheck(ClientId, MemberId),
}

impl Bucket {
    /// The bucket of a source.
    #[must_use]
    pub fn of(peer: Peer) -> Self {
        Self::Address(peer.network())
    }
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// So many at once, and in each [`Policy::period`]. Zero counts as one.
    pub requests: u32,
    /// The period over which an empty bucket is full again.
    pub period: Duration,
}

impl Policy {
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

/// Counts requests.
pub trait RateLimiter: Send + Sync {
    /// Takes one request out of a bucket. One step.
    fn take<'a>(
        &'a self,
        bucket: &'a Bucket,
        policy: Policy,
        now: Moment,
    ) -> Pending<'a, Result<Taken, Unavailable>>;
}

/// In memory, bounded: when there are as many buckets as allowed, full ones are dropped, which are as if they
/// had never been; then those that are nearest to it.
pub struct MemoryRates {
    most: usize,
    /// When each bucket will be full, in microseconds since the epoch.
    full_at: Mutex<HashMap<Bucket, i64>>,
}

impl fmt::Debug for MemoryRates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryRates").field("most", &self.most).finish_non_exhaustive()
    }
}

impl MemoryRates {
    /// Of at most so many buckets.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), full_at: Mutex::default() }
    }

    /// How many buckets there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.full_at.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl RateLimiter for MemoryRates {
    fn take<'a>(
        &'a self,
        bucket: &'a Bucket,
        policy: Policy,
        now: Moment,
    ) -> Pending<'a, Result<Taken, Unavailable>> {
        // Each entry is written in one assignment, so a lock that is poisoned holds nothing half done.
        let mut all = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        let now = now.millis().saturating_mul(1000);
        let full_at = all.get(bucket).copied().unwrap_or(now);
        let (taken, full_at) = decide(full_at, policy, now);
        if let Some(own) = all.get_mut(bucket) {
            *own = full_at;
        } else {
            if all.len() >= self.most {
                make_room(&mut all, self.most, now);
            }
            all.insert(bucket.clone(), full_at);
        }
        Pending::ready(Ok(taken))
    }
}

/// What a request finds in a bucket that is full at some time, and when it is full after it.
fn decide(full_at: i64, policy: Policy, now: i64) -> (Taken, i64) {
    let (step, span) = (policy.step(), policy.span());
    // No bucket takes longer than that to fill: the clock was stepped back, and what it told before is void.
    let full_at = if full_at > now.saturating_add(span) { now } else { full_at.max(now) };
    let after = full_at.saturating_add(step);
    let over = after.saturating_sub(now).saturating_sub(span);
    if over > 0 {
        return (Taken::Refused { wait: micros(over) }, full_at);
    }
    let remaining = u32::try_from(-over / step.max(1)).unwrap_or(u32::MAX);
    (Taken::Allowed { remaining, full_in: micros(after - now) }, after)
}

/// Drops at least an eighth of the buckets, so that it is seldom done.
fn make_room(all: &mut HashMap<Bucket, i64>, most: usize, now: i64) {
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

/// The rules of every limiter, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// All of them.
    pub(crate) async fn every_rule<R: RateLimiter>(empty: impl AsyncFn() -> R) {
        a_full_bucket_gives_what_the_policy_says(&empty().await).await;
        it_refills_steadily(&empty().await).await;
        a_refusal_takes_nothing(&empty().await).await;
        buckets_are_apart(&empty().await).await;
        a_clock_that_steps_back_locks_nobody_out(&empty().await).await;
        one_wait_is_enough(&empty().await).await;
    }

    fn address(text: &str) -> Bucket {
        Bucket::of(Peer(text.parse().unwrap()))
    }

    fn member(name: &str) -> Bucket {
        Bucket::Member(ClientId::from("c"), MemberId::from(name))
    }

    async fn take(rates: &impl RateLimiter, bucket: &Bucket, policy: Policy, now: Moment) -> Taken {
        rates.take(bucket, policy, now).await.unwrap()
    }

    async fn is_allowed(rates: &impl RateLimiter, bucket: &Bucket, policy: Policy, now: Moment) -> bool {
        matches!(take(rates, bucket, policy, now).await, Taken::Allowed { .. })
    }

    async fn a_full_bucket_gives_what_the_policy_says(rates: &impl RateLimiter) {
        for left in (0..120).rev() {
            let full_in = Duration::from_millis(500) * (120 - left);
            let expected = Taken::Allowed { remaining: left, full_in };
            assert_eq!(take(rates, &member("m"), Policy::per_minute(120), NOW).await, expected);
        }
        let expected = Taken::Refused { wait: Duration::from_millis(500) };
        assert_eq!(take(rates, &member("m"), Policy::per_minute(120), NOW).await, expected);
    }

    async fn it_refills_steadily(rates: &impl RateLimiter) {
        let policy = Policy::per_minute(2);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        let late = NOW.plus(Duration::from_millis(29_999));
        let expected = Taken::Refused { wait: Duration::from_millis(1) };
        assert_eq!(take(rates, &member("m"), policy, late).await, expected);
        let later = NOW.plus(Duration::from_secs(30));
        assert!(is_allowed(rates, &member("m"), policy, later).await);
        assert!(!is_allowed(rates, &member("m"), policy, later).await);
    }

    async fn a_refusal_takes_nothing(rates: &impl RateLimiter) {
        let policy = Policy::per_minute(1);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        for _ in 0..10 {
            assert!(!is_allowed(rates, &member("m"), policy, NOW).await);
        }
        assert!(is_allowed(rates, &member("m"), policy, NOW.plus(Duration::from_secs(60))).await);
    }

    async fn buckets_are_apart(rates: &impl RateLimiter) {
        let policy = Policy::per_minute(1);
        let (client, other) = (ClientId::from("c"), ClientId::from("d"));
        let all = [
            member("m"),
            member("n"),
            Bucket::Member(other.clone(), MemberId::from("m")),
            Bucket::AccountCheck(client.clone(), MemberId::from("m")),
            Bucket::Client(client),
            Bucket::Client(other),
            address("192.0.2.1"),
            address("2001:db8::1"),
            address("2001:db8:0:1::1"),
        ];
        for bucket in &all {
            assert!(is_allowed(rates, bucket, policy, NOW).await, "{bucket:?}");
        }
        for bucket in &all {
            assert!(!is_allowed(rates, bucket, policy, NOW).await, "{bucket:?}");
        }
    }

    async fn a_clock_that_steps_back_locks_nobody_out(rates: &impl RateLimiter) {
        let policy = Policy::per_minute(1);
        assert!(is_allowed(rates, &member("m"), policy, NOW.plus(Duration::from_secs(86_400))).await);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        let expected = Taken::Refused { wait: Duration::from_secs(60) };
        assert_eq!(take(rates, &member("m"), policy, NOW).await, expected);
    }

    async fn one_wait_is_enough(rates: &impl RateLimiter) {
        for requests in [1, 7, 120, 1200] {
            let policy = Policy::per_minute(requests);
            let bucket = member(&requests.to_string());
            let mut now = NOW;
            let mut refused = 0;
            for _ in 0..requests * 2 {
                match take(rates, &bucket, policy, now).await {
                    Taken::Allowed { .. } => {}
                    Taken::Refused { wait } => {
                        refused += 1;
                        now = now.plus(wait).plus(Duration::from_millis(1));
                        assert!(is_allowed(rates, &bucket, policy, now).await, "{requests}");
                    }
                }
            }
            assert!(refused > 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    /// LIM-04, LIM-05, LIM-18
    #[tokio::test]
    async fn memory_keeps_the_rules() {
        contract::every_rule(async || MemoryRates::new(1000)).await;
    }

    /// However many there are: memory is bounded, and whoever has asked most stays counted.
    #[tokio::test]
    async fn buckets_are_bounded() {
        let rates = MemoryRates::new(64);
        let policy = Policy::per_minute(2);
        let busy = Bucket::of(Peer("192.0.2.1".parse().unwrap()));
        for _ in 0..2 {
            rates.take(&busy, policy, NOW).await.unwrap();
        }
        for host in 0..10_000_u32 {
            let other = Bucket::Address(IpAddr::V4(host.to_be_bytes().into()));
            rates.take(&other, policy, NOW).await.unwrap();
            assert!(rates.len() <= 64, "{}", rates.len());
        }
        let taken = rates.take(&busy, policy, NOW).await.unwrap();
        assert!(matches!(taken, Taken::Refused { .. }), "{taken:?}");
    }
}
