//! The outbox: change sets that are on their way, over lost answers, restarts and a member who has to be asked.
//!
//! [`Outbox::enqueue`] returns when a set is kept: its exact bytes and its random key (GW-12). From then on it is
//! sent until it is known what became of it, always the same bytes under the same key, so that the exchange
//! carries it out once. Sets of one area go one after another; one that cannot go on holds up its own area alone.
//!
//! ```text
//!            ┌──────────── asked to wait, no way there, no answer (three times) ───────────┐
//!            ▼                                                                             │
//! enqueue ▶ Pending ──────▶ Sending ──▶ Done         the results are kept until forgotten  │
//!            ▲                 ├──────▶ Held         the member confirms on the web ───────┼─▶ resolve
//!            │                 ├──────▶ NeedsRebase  pull, merge, edit                     │
//!            ├──── edit ───────┼──────▶ Refused      never again unchanged                 │
//!            ├──── resume ─────┼──────▶ Parked       signed out, halted                    │
//!            └──── resolve ────┴──────▶ Unknown      pull and compare ◀────────────────────┘
//! ```
//!
//! What decides ([`Entry`]) is a state machine without I/O; [`Outbox`] drives it over an [`OutboxStore`].

mod decide;
mod drive;
mod entry;
mod event;
mod face;
mod store;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use self::{
    drive::Outbox,
    entry::{Entry, EntryNumber, Found, State, Unreadable, Why},
    event::{OutboxEvent, Written},
    face::{Contents, expire},
    store::{Keeping, MemoryOutbox, NewRow, OutboxStore, Row},
};
use crate::{
    backoff::Backoff,
    changes::Lane,
    connection::WRITES_PER_DAY,
    error::{Error, ErrorKind},
    retention::ORGANISATION_FOR,
};

/// The numbers of an outbox.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Policy {
    /// The most ops of a set: `limits.batchMaxOps` of the service document.
    pub most_ops: usize,
    /// How many writes the exchange takes in a day: `limits.writesPerDay` of the service document (LIM-19). Each op on
    /// org stock is one of them (OST-18), and once more when its set is sent again, as a replay counts like any
    /// request (A3); a set of another area is one. So sets of org stock are cut to two fifths of it: such a set and its
    /// replay fit one day, and leave a fifth for other writes. What cannot be cut so small may be as large as the
    /// whole; what is larger yet is never sent.
    pub writes_per_day: usize,
    /// The most ops of sets enqueued within an hour of `RELAY_BUSY` (ERR-36), which concerns larger ones alone.
    pub most_ops_when_busy: usize,
    /// How often a set whose outcome is unknown is sent again before the feed has to tell.
    pub resends: u32,
    /// How long the exchange surely knows a key (24 hours, LIM-22, less what clocks may be wrong by): a set
    /// whose outcome is unknown is not sent again under a key older than that.
    pub key_memory: Duration,
    /// How long a request may still be on its way to the exchange after its answer was given up; comparing
    /// earlier says nothing.
    pub quiet: Duration,
    /// How long decided sets on org stock are kept that nobody forgot before, whether anybody was told of them or not:
    /// they hold internal data of the organisation, which is kept 7 days at most (OST-14). They are looked for every
    /// hour, and so it is 7 days less two hours. Those of other areas are kept until they are forgotten.
    pub keep_decided: Duration,
    /// How long a process that does not say otherwise is believed to be sending.
    pub lease: Duration,
    /// How often the store is looked at for sets of other processes.
    pub look: Duration,
    /// How long to wait before a set is sent again (LIM-16).
    pub backoff: Backoff,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            most_ops: 500,
            writes_per_day: WRITES_PER_DAY,
            most_ops_when_busy: 100,
            resends: 3,
            key_memory: Duration::from_secs(23 * 3600),
            quiet: Duration::from_secs(60),
            keep_decided: ORGANISATION_FOR.saturating_sub(Duration::from_secs(2 * 3600)),
            lease: Duration::from_secs(120),
            look: Duration::from_secs(60),
            backoff: Backoff::default(),
        }
    }
}

impl Policy {
    /// The most ops of a set of an area, where its ops can be cut so.
    fn usual_ops(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.most_ops.min(self.writes_per_day.saturating_mul(2) / 5).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.most_ops,
        }
    }

    /// The most ops of a set of an area at all.
    fn ops_of_a_day(&self, lane: Lane) -> usize {
        match lane {
            Lane::OrgStock => self.most_ops.min(self.writes_per_day).max(1),
            Lane::Blueprints | Lane::Stock | Lane::Ships => self.most_ops,
        }
    }

    /// Why the exchange would take a set of so many ops on no day, if it would not.
    fn over_quota(&self, lane: Lane, ops: usize) -> Option<Error> {
        let day = self.writes_per_day.max(1);
        (lane == Lane::OrgStock && ops > day).then(|| {
            let what = format!(
                "each op on org stock counts as a write, and {ops} in one set are more than the {day} of a day: make \
                 several changes of them, one after the other"
            );
            Error::new(ErrorKind::TooLarge, what)
        })
    }
}
