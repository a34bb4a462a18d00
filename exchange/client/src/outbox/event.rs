//! What an outbox tells: what became of entries, and what somebody has to do.

use std::time::Duration;

use exchange_api::{
    Contract as _,
    types::{BlueprintOp, ChangeResult, ConfirmationUrl, OrgStockOp, ShipOp, StockOp},
};

use super::entry::{Entry, EntryNumber, State, Why, damaged};
use crate::{
    changes::{Batch, Lane, Notice, Op, Outcome},
    error::Error,
};

/// Something that happened to an entry. A hint: what stands in the store is what counts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OutboxEvent {
    /// It is decided. Pull the feed for the new position (WRT-08), and look at what became of each op.
    Decided {
        /// The entry.
        entry: EntryNumber,
        /// What became of its ops; none when it was the feed that told, or when this version cannot read what was sent.
        written: Option<Written>,
        /// Whether an earlier sending had been carried out and its answer was lost.
        replayed: bool,
        /// Its area.
        lane: Lane,
    },
    /// The member has to confirm it: show the link to nobody else, keep it nowhere (WRT-11). After that the
    /// feed tells; see [`Outbox::resolve`](super::Outbox::resolve).
    Confirm {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
        /// The secret link; none when the answer had none that can be used.
        link: Option<ConfirmationUrl>,
    },
    /// Pull the feed, merge, and edit or discard it (ERR-26).
    Rebase {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
        /// What the exchange says.
        error: Error,
    },
    /// The exchange does not take it: edit or discard it.
    Refused {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
        /// What the exchange says.
        error: Error,
    },
    /// Nobody can tell what became of it: pull the feed, compare, and say so
    /// ([`Outbox::resolve`](super::Outbox::resolve)).
    CompareAfterPull {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
    },
    /// It waits for something else than time; see [`Outbox::resume`](super::Outbox::resume).
    Parked {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
        /// For what.
        why: Why,
        /// What happened.
        error: Error,
    },
    /// It is sent again later.
    Waiting {
        /// The entry.
        entry: EntryNumber,
        /// Its area.
        lane: Lane,
        /// How long.
        time: Duration,
        /// What happened.
        error: Error,
    },
    /// The store cannot be used at the moment.
    Stuck {
        /// What it says.
        error: Error,
    },
}

impl OutboxEvent {
    /// Which entry it is about.
    #[must_use]
    pub const fn entry(&self) -> Option<EntryNumber> {
        match self {
            Self::Decided { entry, .. }
            | Self::Confirm { entry, .. }
            | Self::Rebase { entry, .. }
            | Self::Refused { entry, .. }
            | Self::CompareAfterPull { entry, .. }
            | Self::Parked { entry, .. }
            | Self::Waiting { entry, .. } => Some(*entry),
            Self::Stuck { .. } => None,
        }
    }

    /// The area whose feed has to be pulled now: after every set that was decided (WRT-08), before a merge and
    /// before a comparison.
    #[must_use]
    pub const fn pulls(&self) -> Option<Lane> {
        match self {
            Self::Decided { lane, .. } | Self::Rebase { lane, .. } | Self::CompareAfterPull { lane, .. } => {
                Some(*lane)
            }
            _ => None,
        }
    }

    /// What a failure made of an entry.
    pub(super) fn of_failure(entry: &Entry, error: &Error, now: u64) -> Self {
        let (number, lane, error) = (entry.number(), entry.lane, error.clone());
        match entry.state {
            State::Held => {
                let link = error.problem().and_then(|problem| problem.confirmation_url.clone());
                Self::Confirm { entry: number, lane, link }
            }
            State::NeedsRebase => Self::Rebase { entry: number, lane, error },
            State::Refused => Self::Refused { entry: number, lane, error },
            State::Parked(why) => Self::Parked { entry: number, lane, why, error },
            State::Unknown => Self::CompareAfterPull { entry: number, lane },
            State::Pending | State::Sending | State::Done => {
                let wait = entry.not_before.map_or(0, |at| at.saturating_sub(now));
                Self::Waiting { entry: number, lane, time: Duration::from_millis(wait), error }
            }
        }
    }
}

/// What became of a change set, in the types of its area.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Written {
    /// Of the member's blueprints.
    Blueprints(Outcome<BlueprintOp>),
    /// Of the member's stock.
    Stock(Outcome<StockOp>),
    /// Of the member's ships.
    Ships(Outcome<ShipOp>),
    /// Of a unit's pool.
    OrgStock(Outcome<OrgStockOp>),
}

impl Written {
    /// Puts what was kept of an answer on what was kept of its request.
    pub(super) fn of(entry: &Entry) -> Result<Option<Self>, Error> {
        fn outcome<O: Op>(entry: &Entry, result: ChangeResult) -> Result<Outcome<O>, Error> {
            Ok(Batch::<O>::read(&entry.body)?.outcome(result))
        }
        let Some(result) = &entry.result else { return Ok(None) };
        let result = ChangeResult::parse(result).map_err(|_| damaged())?;
        Ok(Some(match entry.lane {
            Lane::Blueprints => Self::Blueprints(outcome(entry, result)?),
            Lane::Stock => Self::Stock(outcome(entry, result)?),
            Lane::Ships => Self::Ships(outcome(entry, result)?),
            Lane::OrgStock => Self::OrgStock(outcome(entry, result)?),
        }))
    }

    /// Whether the exchange now has all that was asked for.
    #[must_use]
    pub fn is_as_asked(&self) -> bool {
        match self {
            Self::Blueprints(outcome) => outcome.is_as_asked(),
            Self::Stock(outcome) => outcome.is_as_asked(),
            Self::Ships(outcome) => outcome.is_as_asked(),
            Self::OrgStock(outcome) => outcome.is_as_asked(),
        }
    }

    /// What the member is told (CLI-04, STK-18).
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        match self {
            Self::Blueprints(outcome) => outcome.notices(),
            Self::Stock(outcome) => outcome.notices(),
            Self::Ships(outcome) => outcome.notices(),
            Self::OrgStock(outcome) => outcome.notices(),
        }
    }
}
