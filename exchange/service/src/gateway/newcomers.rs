//! A limit on verifications for sources that have not proven anything recently.
//!
//! Verifying a token and a proof is the most expensive part of a request, and unauthenticated callers can trigger it.
//! The limit per address does not bound a flood from thousands of addresses. Sources with a recent valid proof are
//! therefore exempt, and all other sources share a number of verifications per second. Under a flood, newcomers wait
//! for each other, and known sources are not affected.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::ports::GatewayPorts;
use crate::peer::PeerAddr;
use crate::shared::rate::{DrawOutcome, RateBucket, RatePolicy};
use crate::time::Moment;

/// How long a source stays exempt after a valid proof.
const TRUST_DURATION: Duration = Duration::from_secs(600);
/// The minimum age of an entry before it is refreshed.
const REFRESH_STEP: Duration = Duration::from_secs(60);
/// The minimum wait of a refused source. Clients that wait for whole seconds would otherwise all retry at once.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// Recently proven sources, and the time of their last valid proof.
pub(super) struct RecentSources {
    proven: Cache<IpAddr, Moment>,
}

impl fmt::Debug for RecentSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentSources").finish_non_exhaustive()
    }
}

impl RecentSources {
    /// Creates a cache of at most `limit` sources, which evicts the least recently used.
    pub(super) fn new(limit: usize) -> Self {
        let proven = Cache::builder().max_capacity(limit.max(1) as u64);
        // LRU: the default policy admits a new entry only if it is requested often.
        Self { proven: proven.eviction_policy(EvictionPolicy::lru()).build() }
    }

    /// Returns the time of the source's last valid proof, if cached.
    pub(super) fn last_proven(&self, source: PeerAddr) -> Option<Moment> {
        self.proven.get(&source.network())
    }

    /// Records a valid proof. `last` is the result of [`Self::last_proven`] before the verification.
    pub(super) fn record_proof(&self, source: PeerAddr, last: Option<Moment>, now: Moment) {
        if last.is_none_or(|last| now.since(last) >= REFRESH_STEP) {
            self.proven.insert(source.network(), now);
        }
    }

    /// Removes a source that sent forged credentials.
    pub(super) fn forget(&self, source: PeerAddr) {
        self.proven.invalidate(&source.network());
    }
}

/// Takes one verification from the newcomers' limit, unless the source is exempt.
///
/// # Errors
/// The time to wait if the limit is exhausted.
pub(super) async fn admit_newcomer(
    ports: &GatewayPorts,
    last: Option<Moment>,
    now: Moment,
) -> Result<(), Duration> {
    if last.is_some_and(|last| now.since(last) < TRUST_DURATION) {
        return Ok(());
    }
    let policy = RatePolicy::per_second(ports.config.limits.newcomers_per_second);
    match ports.rates.take_request(&RateBucket::Newcomers, policy, now).await {
        Ok(DrawOutcome::Refused { wait }) => Err(wait.max(MIN_WAIT)),
        // If the limiter is unavailable, the limits after the token refuse the request.
        Ok(DrawOutcome::Allowed { .. }) | Err(_) => Ok(()),
    }
}
