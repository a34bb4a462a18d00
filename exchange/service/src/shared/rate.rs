//! How fast somebody may ask: a bucket for each who asks.

use std::net::IpAddr;

use dpop_bound::Pending;

use super::Unavailable;
use super::buckets::Buckets;
pub use super::buckets::{Policy, Taken};
use crate::ids::{ClientId, MemberId};
use crate::peer::Peer;
use crate::time::Moment;

/// Who is counted, and for what.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// All requests of a source (LIM-04), by what limits count by ([`Peer::network`]).
    Address(IpAddr),
    /// Requests of all sources that have proven nothing lately.
    Newcomers,
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

/// In memory.
pub type MemoryRates = Buckets<Bucket>;

impl RateLimiter for MemoryRates {
    fn take<'a>(
        &'a self,
        bucket: &'a Bucket,
        policy: Policy,
        now: Moment,
    ) -> Pending<'a, Result<Taken, Unavailable>> {
        Pending::ready(Ok(self.draw(bucket, policy, now)))
    }
}

/// The rules of every limiter, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use std::time::Duration;

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
            Bucket::Newcomers,
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
        let policy = Policy::per_minute(2);
        assert!(is_allowed(rates, &member("m"), policy, NOW.plus(Duration::from_secs(86_400))).await);
        // One is left, whatever was taken by the other time.
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        let expected = Taken::Refused { wait: Duration::from_secs(30) };
        assert_eq!(take(rates, &member("m"), policy, NOW).await, expected);
        let later = NOW.plus(Duration::from_secs(30));
        assert!(is_allowed(rates, &member("m"), policy, later).await);
        assert!(!is_allowed(rates, &member("m"), policy, later).await);
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

    /// LIM-04, LIM-05, LIM-18
    #[tokio::test]
    async fn memory_keeps_the_rules() {
        contract::every_rule(async || MemoryRates::new(1000)).await;
    }
}
