//! How much a client may write in a day for a member (GW-07).

use dpop_bound::Pending;

use super::Unavailable;
use crate::ids::{ClientId, MemberId};

/// Writes to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writes {
    /// How many.
    pub count: u32,
    /// How many the day allows.
    pub limit: u32,
}

/// Counts writes per client, member and UTC day. It outlives the process.
pub trait QuotaCounter: Send + Sync {
    /// Counts them when the day allows all of them; otherwise counts none and says no. One step.
    fn take<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        writes: Writes,
    ) -> Pending<'a, Result<bool, Unavailable>>;

    /// Gives so many back that were counted on that day.
    fn give_back<'a>(
        &'a self,
        client: &'a ClientId,
        member: &'a MemberId,
        day: i64,
        count: u32,
    ) -> Pending<'a, Result<(), Unavailable>>;
}

/// The rules of every counter, as tests.
#[cfg(test)]
pub(crate) mod contract {
    use super::*;

    /// All of them.
    pub(crate) async fn every_rule<Q: QuotaCounter>(empty: impl AsyncFn() -> Q) {
        counts_up_to_the_limit(&empty().await).await;
        takes_all_or_none(&empty().await).await;
        gives_back(&empty().await).await;
        keeps_members_clients_and_days_apart(&empty().await).await;
        counts_at_once(&empty().await).await;
    }

    async fn take(quota: &impl QuotaCounter, who: (&str, &str, i64), count: u32, limit: u32) -> bool {
        let (client, member) = (ClientId::from(who.0), MemberId::from(who.1));
        quota.take(&client, &member, who.2, Writes { count, limit }).await.unwrap()
    }

    async fn counts_up_to_the_limit(quota: &impl QuotaCounter) {
        for at in 0..3 {
            assert!(take(quota, ("c", "m", 1), 1, 3).await, "{at}");
        }
        assert!(!take(quota, ("c", "m", 1), 1, 3).await);
        assert!(take(quota, ("c", "m", 1), 1, 4).await, "a higher limit counts from what was used");
    }

    async fn takes_all_or_none(quota: &impl QuotaCounter) {
        assert!(!take(quota, ("c", "m", 1), 4, 3).await);
        assert!(take(quota, ("c", "m", 1), 3, 3).await, "what was refused is not counted");
        assert!(take(quota, ("c", "m", 1), 0, 3).await, "nothing always fits");
    }

    async fn gives_back(quota: &impl QuotaCounter) {
        assert!(take(quota, ("c", "m", 1), 3, 3).await);
        let (client, member) = (ClientId::from("c"), MemberId::from("m"));
        quota.give_back(&client, &member, 1, 2).await.unwrap();
        assert!(take(quota, ("c", "m", 1), 2, 3).await);
        quota.give_back(&client, &member, 1, 99).await.unwrap();
        quota.give_back(&client, &member, 2, 99).await.unwrap();
        assert!(!take(quota, ("c", "m", 1), 4, 3).await, "never below nothing");
        assert!(!take(quota, ("c", "m", 2), 4, 3).await, "nor on a day without writes");
    }

    async fn keeps_members_clients_and_days_apart(quota: &impl QuotaCounter) {
        assert!(take(quota, ("c", "m", 1), 1, 1).await);
        for other in [("d", "m", 1), ("c", "n", 1), ("c", "m", 2)] {
            assert!(take(quota, other, 1, 1).await, "{other:?}");
        }
        assert!(!take(quota, ("c", "m", 1), 1, 1).await);
    }

    async fn counts_at_once(quota: &impl QuotaCounter) {
        let one = || take(quota, ("c", "m", 1), 1, 2);
        let (a, b, c, d) = tokio::join!(one(), one(), one(), one());
        assert_eq!([a, b, c, d].iter().filter(|taken| **taken).count(), 2);
    }
}
