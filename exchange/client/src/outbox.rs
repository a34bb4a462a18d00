//! The outbox: a persistent queue of change sets that survives lost responses and restarts.
//!
//! [`Outbox::enqueue`] returns once the store holds a change set: its exact bytes and its random idempotency
//! key (GW-12). The outbox then sends the change set until its outcome is known, always with the same bytes
//! and the same key, so that the exchange applies it once. Change sets of one area are sent in order. A
//! change set that cannot proceed blocks only its own area.
//!
//! ```text
//!            ┌──── Retry-After, no connection, no response (up to three times) ────────────┐
//!            ▼                                                                             │
//! enqueue ▶ Pending ──────▶ Sending ──▶ Done         results are stored until forgotten    │
//!            ▲                 ├──────▶ Held         the member confirms in the browser ───┼─▶ resolve
//!            │                 ├──────▶ NeedsRebase  pull, merge, edit                     │
//!            ├──── edit ───────┼──────▶ Refused      never sent again unchanged            │
//!            ├──── resume ─────┼──────▶ Parked       signed out, halted                    │
//!            └──── resolve ────┴──────▶ Unknown      pull and compare ◀────────────────────┘
//! ```
//!
//! The state machine of an entry ([`OutboxEntry`]) performs no I/O. [`Outbox`] runs it with an
//! [`OutboxStore`].

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
    /// The maximum number of ops in a change set: `limits.batchMaxOps` of the service document.
    pub max_ops: usize,
    /// The number of writes that the exchange accepts per day: `limits.writesPerDay` of the service document
    /// (LIM-19).
    ///
    /// A change set of org stock counts once for each op (OST-18), and again when it is sent again, because a
    /// replay counts like any other request (A3). A change set of another area counts once. Changes to org
    /// stock are therefore split into change sets of at most two fifths of this limit, so that a change set
    /// and its replay fit into one day and leave a fifth for other writes. A change set that cannot be split
    /// that far may use the whole limit. A larger change set is never sent.
    pub writes_per_day: usize,
    /// The maximum number of ops in a change set that is enqueued less than an hour after a `RELAY_BUSY`
    /// error. The exchange returns this error only for large change sets (ERR-36).
    pub max_ops_when_busy: usize,
    /// The number of times that a change set with an unknown outcome is sent again before it has to be
    /// compared with the feed.
    pub max_resends: u32,
    /// The time for which the exchange stores an idempotency key: 24 hours (LIM-22), minus a margin for clock
    /// errors. A change set with an unknown outcome is not sent again under an older key.
    pub key_lifetime: Duration,
    /// The time after the client stopped waiting for a response in which the request may still reach the
    /// exchange. A comparison within this time is not conclusive.
    pub quiet_period: Duration,
    /// The time for which decided change sets of org stock are stored, whether or not the program has read
    /// their outcome.
    ///
    /// They contain internal data of the organization, which may be stored for 7 days (OST-14). The outbox
    /// checks every hour, so the default is 7 days minus two hours. Decided change sets of other areas are
    /// stored until the program calls [`Outbox::forget_entries`] or [`Outbox::forget_decided`].
    pub decided_retention: Duration,
    /// The time after which a process that does not renew its lease is considered dead.
    pub lease_duration: Duration,
    /// The interval at which the store is checked for change sets of other processes.
    pub poll_interval: Duration,
    /// The back-off before a change set is sent again (LIM-16).
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
    /// Returns the maximum number of ops of a change set in `lane`, unless tied ops require a larger one.
    fn default_max_ops(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.max_ops.min(self.writes_per_day.saturating_mul(2) / 5).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.max_ops,
        }
    }

    /// Returns the number of ops that no change set in `lane` may exceed.
    fn daily_max_ops(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.max_ops.min(self.writes_per_day).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.max_ops,
        }
    }

    /// Returns an error if a change set has more ops than the exchange accepts per day.
    fn quota_error(&self, lane: Lane, ops: usize) -> Option<Error> {
        let day = self.writes_per_day.max(1);
        (lane == Lane::OrgStock && ops > day).then(|| {
            let message = format!(
                "each op on org stock counts as a write, and {ops} ops in one change set exceed the daily limit of {day}: \
                 split them into several changes"
            );
            Error::new(ErrorKind::TooLarge, message)
        })
    }
}
