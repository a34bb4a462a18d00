//! The outbox: a persistent queue of change sets that survives lost responses and restarts.
//!
//! [`Outbox::enqueue`] returns once the store holds a set: its exact bytes and its random idempotency key
//! (GW-12). The outbox then sends the set until its outcome is known, always with the same bytes and the same
//! key, so that the exchange applies it once. Sets of one area are sent in order. A set that cannot proceed
//! blocks only its own area.
//!
//! ```text
//!            ┌──── Retry-After, no connection, no response (up to three times) ────────────┐
//!            ▼                                                                             │
//! enqueue ▶ Pending ──────▶ Sending ──▶ Done         results are stored until forgotten    │
//!            ▲                 ├──────▶ Held         the member confirms on the web ───────┼─▶ resolve
//!            │                 ├──────▶ NeedsRebase  pull, merge, edit                     │
//!            ├──── edit ───────┼──────▶ Refused      never sent again unchanged            │
//!            ├──── resume ─────┼──────▶ Parked       signed out, halted                    │
//!            └──── resolve ────┴──────▶ Unknown      pull and compare ◀────────────────────┘
//! ```
//!
//! The state machine of an entry ([`OutboxEntry`]) does no I/O; [`Outbox`] drives it with an [`OutboxStore`].

mod entry;
mod event;
mod operations;
mod sender;
mod state_machine;
mod store;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::{
    entry::{ComparisonResult, EntryNumber, EntryState, OutboxEntry, ParkReason, UnreadableEntry},
    event::{OutboxEvent, WriteOutcome},
    operations::{OutboxContents, expire_decided},
    sender::Outbox,
    store::{EntryRow, MemoryOutbox, NewEntryRow, OutboxStore, StoreFuture},
};
use crate::{
    backoff::Backoff,
    changes::Lane,
    connection::WRITES_PER_DAY,
    error::{Error, ErrorKind},
    retention::MAX_ORGANISATION_AGE,
};

/// Limits and intervals of an outbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OutboxPolicy {
    /// Maximum number of ops in a set: `limits.batchMaxOps` of the service document.
    pub max_ops: usize,
    /// Number of writes that the exchange accepts in a day: `limits.writesPerDay` of the service document
    /// (LIM-19).
    ///
    /// A set of org stock counts once for each op (OST-18), and again when it is resent, because a replay
    /// counts like any request (A3). A set of another area counts once. Sets of org stock are therefore cut
    /// to two fifths of this limit, so that a set and its replay fit into one day and leave a fifth for other
    /// writes. A set that cannot be cut that small may use the whole limit. A larger set is never sent.
    pub writes_per_day: usize,
    /// Maximum number of ops in a set that is enqueued within an hour of `RELAY_BUSY`, which only affects
    /// large sets (ERR-36).
    pub max_ops_when_busy: usize,
    /// Number of max_resends of a set with an unknown outcome before it has to be compared with the feed.
    pub max_resends: u32,
    /// Time for which the exchange remembers an idempotency key: 24 hours (LIM-22), less a margin for clock
    /// errors. A set with an unknown outcome is not resent under an older key.
    pub key_lifetime: Duration,
    /// Time for which a request may still reach the exchange after the client gave up on its response. A
    /// comparison before that is not conclusive.
    pub quiet_period: Duration,
    /// Time for which decided sets of org stock are stored, whether or not the program read their outcome.
    ///
    /// They hold internal data of the organization, which may be stored for 7 days (OST-14). The outbox
    /// checks every hour, so the default is 7 days less two hours. Decided sets of other areas are stored
    /// until they are forgotten.
    pub decided_retention: Duration,
    /// Time after which a process that does not renew its lease is considered dead.
    pub lease_duration: Duration,
    /// Interval at which the store is checked for sets of other processes.
    pub poll_interval: Duration,
    /// Backoff before a set is resent (LIM-16).
    pub backoff: Backoff,
}

impl Default for OutboxPolicy {
    fn default() -> Self {
        Self {
            max_ops: 500,
            writes_per_day: WRITES_PER_DAY,
            max_ops_when_busy: 100,
            max_resends: 3,
            key_lifetime: Duration::from_secs(23 * 3600),
            quiet_period: Duration::from_secs(60),
            decided_retention: MAX_ORGANISATION_AGE.saturating_sub(Duration::from_secs(2 * 3600)),
            lease_duration: Duration::from_secs(120),
            poll_interval: Duration::from_secs(60),
            backoff: Backoff::default(),
        }
    }
}

impl OutboxPolicy {
    /// Returns the maximum number of ops of a set in `lane`, where the ops can be cut that small.
    fn default_max_ops(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.max_ops.min(self.writes_per_day.saturating_mul(2) / 5).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.max_ops,
        }
    }

    /// Returns the absolute maximum number of ops of a set in `lane`.
    fn daily_max_ops(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.max_ops.min(self.writes_per_day).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.max_ops,
        }
    }

    /// Returns the error for a set with more ops than the exchange accepts in a day.
    fn quota_error(&self, lane: Lane, ops: usize) -> Option<Error> {
        let day = self.writes_per_day.max(1);
        (lane == Lane::OrgStock && ops > day).then(|| {
            let message = format!(
                "each op on org stock counts as a write, and {ops} ops in one set exceed the daily limit of {day}: \
                 split them into several changes"
            );
            Error::new(ErrorKind::TooLarge, message)
        })
    }
}
