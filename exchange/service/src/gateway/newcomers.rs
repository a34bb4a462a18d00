//! Sources whose requests were proven lately, and how many of all others are looked at.
//!
//! To verify a token and a proof is what a request costs most, and anybody can ask for it. The limit of an address
//! bounds one that does so often; from thousands of addresses it bounds nothing. So sources that have proven
//! something lately go on as ever, and all others share so many verifications a second: under a flood they wait
//! for each other, and nobody else for them.

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use moka::policy::EvictionPolicy;
use moka::sync::Cache;

use super::ports::Ports;
use crate::peer::Peer;
use crate::shared::rate::{Bucket, Policy, Taken};
use crate::time::Moment;

/// How long a source is known after it has proven something.
const LATELY: Duration = Duration::from_secs(600);
/// How old what is known may get before it is written anew.
const STEP: Duration = Duration::from_secs(60);
/// How long a source waits at least: some clients wait by whole seconds, and all of them would come at once.
const WAIT: Duration = Duration::from_secs(1);

/// Sources, and when they last proved something.
pub(super) struct Known {
    proven: Cache<IpAddr, Moment>,
}

impl fmt::Debug for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

impl Known {
    /// At most so many; those that were not seen for longest are forgotten first.
    pub(super) fn new(most: usize) -> Self {
        let proven = Cache::builder().max_capacity(most.max(1) as u64);
        // Who is new would have to come often, where the usual policy decides who stays.
        Self { proven: proven.eviction_policy(EvictionPolicy::lru()).build() }
    }

    /// When the source last proved something, as far as it is known.
    pub(super) fn last(&self, source: Peer) -> Option<Moment> {
        self.proven.get(&source.network())
    }

    /// A request of the source was proven, which had proven something before at this moment.
    pub(super) fn note(&self, source: Peer, last: Option<Moment>, now: Moment) {
        if last.is_none_or(|last| now.since(last) >= STEP) {
            self.proven.insert(source.network(), now);
        }
    }

    /// A request of the source was forged.
    pub(super) fn forget(&self, source: Peer) {
        self.proven.invalidate(&source.network());
    }
}

/// Takes a place among the newcomers, unless the source proved something lately.
///
/// # Errors
/// How long to wait, when there are too many of them now.
pub(super) async fn admit(ports: &Ports, last: Option<Moment>, now: Moment) -> Result<(), Duration> {
    if last.is_some_and(|last| now.since(last) < LATELY) {
        return Ok(());
    }
    let policy = Policy::per_second(ports.config.limits.newcomers_per_second);
    match ports.rates.take(&Bucket::Newcomers, policy, now).await {
        Ok(Taken::Refused { wait }) => Err(wait.max(WAIT)),
        // Where nobody can count, the limits behind the token say so.
        Ok(Taken::Allowed { .. }) | Err(_) => Ok(()),
    }
}
