//! Limits the verifications for newcomers: sources that have not sent a valid proof recently.
//!
//! Verifying a token and a proof is the most expensive part of a request, and unauthenticated callers can
//! trigger it. The limit per address does not bound a flood from thousands of addresses. Sources with a
//! recent valid proof are therefore exempt, and all newcomers share a limit of verifications per second.
//! During a flood, newcomers compete with each other, and other sources are not affected.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::ports::GatewayPorts;
use crate::peer::PeerAddr;
use crate::shared::rate::{DrawOutcome, RateBucket, RatePolicy};
use crate::time::Moment;

/// The period for which a source is exempt after a valid proof.
const TRUST_DURATION: Duration = Duration::from_secs(600);
/// The minimum age of an entry before a further proof refreshes it.
const REFRESH_STEP: Duration = Duration::from_secs(60);
/// The minimum delay after which a refused source may retry. Without this minimum, clients that round the
/// delay to whole seconds would all retry at once.
const MIN_WAIT: Duration = Duration::from_secs(1);

/// The sources with a recent valid proof, and the time of that proof.
pub(super) struct RecentSources {
    proven: Cache<IpAddr, Moment>,
}

impl fmt::Debug for RecentSources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RecentSources").finish_non_exhaustive()
    }
}

impl RecentSources {
    /// Creates a cache for at most `limit` sources. It evicts the least recently used source.
    pub(super) fn new(limit: usize) -> Self {
        let proven = Cache::builder().max_capacity(limit.max(1) as u64);
        // The LRU policy is needed, because the default policy admits a new entry only if it is requested
        // often.
        Self { proven: proven.eviction_policy(EvictionPolicy::lru()).build() }
    }

    /// Returns the time of the source's last valid proof, if it is in the cache.
    pub(super) fn last_proven(&self, source: PeerAddr) -> Option<Moment> {
        self.proven.get(&source.network())
    }

    /// Records a valid proof. `last` must be the result of [`Self::last_proven`] before the verification.
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

/// Counts one verification against the limit of newcomers, unless the source is exempt.
///
/// # Errors
/// Returns the delay before a retry if the limit is exhausted.
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
        // If the rate limiter is unavailable, the limits after the token refuse the request.
        Ok(DrawOutcome::Allowed { .. }) | Err(_) => Ok(()),
    }
}
