//! The interface of the daily write quota of a client for a member (GW-07).

use dpop_bound::MaybeReady;

use super::SharedStateError;
use crate::ids::{ClientId, MemberId};

/// The number of writes to count, with the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCount {
    /// The number of writes.
    pub count: u32,
    /// The limit of writes per day.
    pub limit: u32,
}

/// A persistent counter of writes per client, member and UTC day.
pub trait QuotaCounter: Send + Sync {
    /// Atomically counts the writes if the limit allows all of them. Otherwise counts none of them and
    /// returns false.
    fn take_writes<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: WriteCount,
    ) -> MaybeReady<'a, Result<bool, SharedStateError>>;

    /// Refunds writes that were counted on the given day.
    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> MaybeReady<'a, Result<(), SharedStateError>>;
}

/// Tests that every implementation of `QuotaCounter` must pass.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    pub(crate) async fn check_every_rule<Q: QuotaCounter>(empty: impl AsyncFn() -> Q) {
        check_limit(&empty().await).await;
        check_all_or_none(&empty().await).await;
        check_refund(&empty().await).await;
        check_separate_counters(&empty().await).await;
        check_concurrent_writes(&empty().await).await;
    }

    async fn take(quota: &impl QuotaCounter, who: (&str, &str, i64), count: u32, limit: u32) -> bool {
        let (client, member) = (ClientId::from(who.0), MemberId::from(who.1));
        quota.take_writes(&client, &member, who.2, WriteCount { count, limit }).await.unwrap()
    }

    async fn check_limit(quota: &impl QuotaCounter) {
        for index in 0..3 {
            assert!(take(quota, ("c", "m", 1), 1, 3).await, "{index}");
        }
        assert!(!take(quota, ("c", "m", 1), 1, 3).await);
        assert!(
            take(quota, ("c", "m", 1), 1, 4).await,
            "after the limit is raised, earlier writes still count"
        );
    }

    async fn check_all_or_none(quota: &impl QuotaCounter) {
        assert!(!take(quota, ("c", "m", 1), 4, 3).await);
        assert!(take(quota, ("c", "m", 1), 3, 3).await, "refused writes are not counted");
        assert!(take(quota, ("c", "m", 1), 0, 3).await, "a count of 0 is always allowed");
    }

    async fn check_refund(quota: &impl QuotaCounter) {
        assert!(take(quota, ("c", "m", 1), 3, 3).await);
        let (client, member) = (ClientId::from("c"), MemberId::from("m"));
        quota.give_back(&client, &member, 1, 2).await.unwrap();
        assert!(take(quota, ("c", "m", 1), 2, 3).await);
        quota.give_back(&client, &member, 1, 99).await.unwrap();
        quota.give_back(&client, &member, 2, 99).await.unwrap();
        assert!(!take(quota, ("c", "m", 1), 4, 3).await, "the count never becomes negative");
        assert!(
            !take(quota, ("c", "m", 2), 4, 3).await,
            "the count of a day without writes never becomes negative"
        );
    }

    async fn check_separate_counters(quota: &impl QuotaCounter) {
        assert!(take(quota, ("c", "m", 1), 1, 1).await);
        for other in [("d", "m", 1), ("c", "n", 1), ("c", "m", 2)] {
            assert!(take(quota, other, 1, 1).await, "{other:?}");
        }
        assert!(!take(quota, ("c", "m", 1), 1, 1).await);
    }

    async fn check_concurrent_writes(quota: &impl QuotaCounter) {
        let one = || take(quota, ("c", "m", 1), 1, 2);
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        assert_eq!([a, b, c, d].iter().filter(|taken| **taken).count(), 2);
    }
}
