//! The interface of rate limits, with one bucket per source, client or member.

use std::net::IpAddr;

use dpop_bound::MaybeReady;

use super::SharedStateError;
use super::buckets::TokenBuckets;
pub use super::buckets::{DrawOutcome, RatePolicy};
use crate::ids::{ClientId, MemberId};
use crate::peer::PeerAddr;
use crate::time::Moment;

/// The key of a bucket, which identifies the caller and the kind of request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RateBucket {
    /// All requests from a source (LIM-04), identified by [`PeerAddr::network`].
    Address(IpAddr),
    /// The verifications for all newcomers together, which are sources without a recent valid proof.
    Newcomers,
    /// All requests of one client for one member (LIM-18).
    Member(ClientId, MemberId),
    /// All requests of one client (LIM-18).
    Client(ClientId),
    /// The account checks of one client for one member (LIM-05).
    AccountCheck(ClientId, MemberId),
}

impl RateBucket {
    /// Returns the bucket for the source of a request.
    #[must_use]
    pub fn for_peer(peer: PeerAddr) -> Self {
        Self::Address(peer.network())
    }
}

/// A limiter of requests per time.
pub trait RateLimiter: Send + Sync {
    /// Atomically draws one request from a bucket.
    fn take_request<'a>(
        &'a self,
        bucket: &'a RateBucket,
        policy: RatePolicy,
        now: Moment,
    ) -> MaybeReady<'a, Result<DrawOutcome, SharedStateError>>;
}

/// A rate limiter in memory.
pub type MemoryRateLimiter = TokenBuckets<RateBucket>;

impl RateLimiter for MemoryRateLimiter {
    fn take_request<'a>(
        &'a self,
        bucket: &'a RateBucket,
        policy: RatePolicy,
        now: Moment,
    ) -> MaybeReady<'a, Result<DrawOutcome, SharedStateError>> {
        MaybeReady::ready(Ok(self.draw_token(bucket, policy, now)))
    }
}

/// Tests that every implementation of `RateLimiter` must pass.
#[cfg(test)]
pub(crate) mod contract {
    use std::time::Duration;

    use super::*;

    const NOW: Moment = Moment::from_secs(1_790_000_000);

    pub(crate) async fn check_every_rule<R: RateLimiter>(empty: impl AsyncFn() -> R) {
        check_burst(&empty().await).await;
        check_refill(&empty().await).await;
        check_rejections_take_nothing(&empty().await).await;
        check_separate_buckets(&empty().await).await;
        check_clock_set_back(&empty().await).await;
        check_reported_wait(&empty().await).await;
    }

    fn address(text: &str) -> RateBucket {
        RateBucket::for_peer(PeerAddr(text.parse().unwrap()))
    }

    fn member(name: &str) -> RateBucket {
        RateBucket::Member(ClientId::from("c"), MemberId::from(name))
    }

    async fn take(
        rates: &impl RateLimiter,
        bucket: &RateBucket,
        policy: RatePolicy,
        now: Moment,
    ) -> DrawOutcome {
        rates.take_request(bucket, policy, now).await.unwrap()
    }

    async fn is_allowed(
        rates: &impl RateLimiter,
        bucket: &RateBucket,
        policy: RatePolicy,
        now: Moment,
    ) -> bool {
        matches!(take(rates, bucket, policy, now).await, DrawOutcome::Allowed { .. })
    }

    async fn check_burst(rates: &impl RateLimiter) {
        for left in (0..120).rev() {
            let full_in = Duration::from_millis(500) * (120 - left);
            let expected = DrawOutcome::Allowed { remaining: left, full_in };
            assert_eq!(take(rates, &member("m"), RatePolicy::per_minute(120), NOW).await, expected);
        }
        let expected = DrawOutcome::Refused { wait: Duration::from_millis(500) };
        assert_eq!(take(rates, &member("m"), RatePolicy::per_minute(120), NOW).await, expected);
    }

    async fn check_refill(rates: &impl RateLimiter) {
        let policy = RatePolicy::per_minute(2);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        let late = NOW.plus(Duration::from_millis(29_999));
        let expected = DrawOutcome::Refused { wait: Duration::from_millis(1) };
        assert_eq!(take(rates, &member("m"), policy, late).await, expected);
        let later = NOW.plus(Duration::from_secs(30));
        assert!(is_allowed(rates, &member("m"), policy, later).await);
        assert!(!is_allowed(rates, &member("m"), policy, later).await);
    }

    async fn check_rejections_take_nothing(rates: &impl RateLimiter) {
        let policy = RatePolicy::per_minute(1);
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        for _ in 0..10 {
            assert!(!is_allowed(rates, &member("m"), policy, NOW).await);
        }
        assert!(is_allowed(rates, &member("m"), policy, NOW.plus(Duration::from_secs(60))).await);
    }

    async fn check_separate_buckets(rates: &impl RateLimiter) {
        let policy = RatePolicy::per_minute(1);
        let (client, other) = (ClientId::from("c"), ClientId::from("d"));
        let all = [
            member("m"),
            member("n"),
            RateBucket::Member(other.clone(), MemberId::from("m")),
            RateBucket::AccountCheck(client.clone(), MemberId::from("m")),
            RateBucket::Client(client),
            RateBucket::Client(other),
            RateBucket::Newcomers,
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

    async fn check_clock_set_back(rates: &impl RateLimiter) {
        let policy = RatePolicy::per_minute(2);
        assert!(is_allowed(rates, &member("m"), policy, NOW.plus(Duration::from_secs(86_400))).await);
        // One request is allowed, however many were drawn at the later time.
        assert!(is_allowed(rates, &member("m"), policy, NOW).await);
        let expected = DrawOutcome::Refused { wait: Duration::from_secs(30) };
        assert_eq!(take(rates, &member("m"), policy, NOW).await, expected);
        let later = NOW.plus(Duration::from_secs(30));
        assert!(is_allowed(rates, &member("m"), policy, later).await);
        assert!(!is_allowed(rates, &member("m"), policy, later).await);
    }

    async fn check_reported_wait(rates: &impl RateLimiter) {
        for requests in [1, 7, 120, 1200] {
            let policy = RatePolicy::per_minute(requests);
            let bucket = member(&requests.to_string());
            let mut now = NOW;
            let mut refused = 0;
            for _ in 0..requests * 2 {
                match take(rates, &bucket, policy, now).await {
                    DrawOutcome::Allowed { .. } => {}
                    DrawOutcome::Refused { wait } => {
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

    /// LIM-04, LIM-05, LIM-18: the limiter in memory passes the contract tests.
    #[tokio::test]
    async fn memory_passes_the_contract_tests() {
        contract::check_every_rule(async || MemoryRateLimiter::new(1000)).await;
    }
}
