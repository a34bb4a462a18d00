//! Events of an outbox: outcomes of entries, and actions that the program or the member has to take.

use std::time::Duration;

use exchange_api::{
    Contract as _,
    types::{BlueprintOp, ChangeResult, ConfirmationUrl, OrgStockOp, ShipOp, StockOp},
};

use super::entry::{EntryNumber, EntryState, OutboxEntry, ParkReason, unreadable_entry};
use crate::{
    changes::{ChangeBatch, ChangeOp, ChangeSetOutcome, Lane, MemberNotice},
    error::Error,
};

/// An event about an entry. Events are only notifications; the store has the authoritative state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum OutboxEvent {
    /// The change set is decided. Pull the feed from its new position (WRT-08), and check the outcome of each
    /// op.
    Decided {
        /// The number of the entry.
        entry: EntryNumber,
        /// The outcome of each op; `None` if a feed comparison decided the change set, or if this version
        /// cannot parse the request.
        written: Option<WriteOutcome>,
        /// True if an earlier request had been applied and its response was lost.
        replayed: bool,
        /// The area whose feed has to be pulled.
        lane: Lane,
    },
    /// The member has to confirm the change set in the web application. Show the link only to the member and
    /// do not store it (WRT-11). The outcome appears in the feed; see
    /// [`Outbox::resolve_unknown`](super::Outbox::resolve_unknown).
    Confirm {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area that the change set changes.
        lane: Lane,
        /// The secret link; `None` if the response contained no usable link.
        link: Option<ConfirmationUrl>,
    },
    /// The change set conflicts with another change: pull the feed, merge, and then edit or discard it
    /// (ERR-26).
    Rebase {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area whose feed has to be pulled.
        lane: Lane,
        /// The error response of the exchange.
        error: Error,
    },
    /// The exchange refused the change set: edit or discard it.
    Refused {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area that the change set changes.
        lane: Lane,
        /// The error response of the exchange.
        error: Error,
    },
    /// The outcome is unknown: pull the feed, compare, and report the result
    /// ([`Outbox::resolve_unknown`](super::Outbox::resolve_unknown)).
    CompareAfterPull {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area whose feed has to be pulled.
        lane: Lane,
    },
    /// The entry waits for an action or event, not for a timer; see
    /// [`Outbox::resume_parked`](super::Outbox::resume_parked).
    Parked {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area that the change set changes.
        lane: Lane,
        /// The reason the entry is parked.
        why: ParkReason,
        /// The error that parked the entry.
        error: Error,
    },
    /// The entry is sent again later.
    Waiting {
        /// The number of the entry.
        entry: EntryNumber,
        /// The area that the change set changes.
        lane: Lane,
        /// The time until the entry is sent again.
        time: Duration,
        /// The error that caused the wait.
        error: Error,
    },
    /// The store failed. The outbox tries again later.
    StoreError {
        /// The error of the store.
        error: Error,
    },
}

impl OutboxEvent {
    /// Returns the number of the entry that the event is about.
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
            Self::StoreError { .. } => None,
        }
    }

    /// Returns the area whose feed has to be pulled now: after each decided change set (WRT-08), before a
    /// merge, and before a comparison.
    #[must_use]
    pub const fn lane_to_pull(&self) -> Option<Lane> {
        match self {
            Self::Decided { lane, .. } | Self::Rebase { lane, .. } | Self::CompareAfterPull { lane, .. } => {
                Some(*lane)
            }
            _ => None,
        }
    }

    /// Creates the event for an entry whose request failed.
    pub(super) fn from_failure(entry: &OutboxEntry, error: &Error, now: u64) -> Self {
        let (number, lane, error) = (entry.number(), entry.lane, error.clone());
        match entry.state {
            EntryState::Held => {
                let link = error.problem().and_then(|problem| problem.confirmation_url.clone());
                Self::Confirm { entry: number, lane, link }
            }
            EntryState::NeedsRebase => Self::Rebase { entry: number, lane, error },
            EntryState::Refused => Self::Refused { entry: number, lane, error },
            EntryState::Parked(why) => Self::Parked { entry: number, lane, why, error },
            EntryState::Unknown => Self::CompareAfterPull { entry: number, lane },
            EntryState::Pending | EntryState::Sending | EntryState::Done => {
                let wait = entry.not_before.map_or(0, |at| at.saturating_sub(now));
                Self::Waiting { entry: number, lane, time: Duration::from_millis(wait), error }
            }
        }
    }
}

/// The outcome of a change set, in the types of its area.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WriteOutcome {
    /// The outcome of ops on the member's blueprints.
    Blueprints(ChangeSetOutcome<BlueprintOp>),
    /// The outcome of ops on the member's stock.
    Stock(ChangeSetOutcome<StockOp>),
    /// The outcome of ops on the member's ships.
    Ships(ChangeSetOutcome<ShipOp>),
    /// The outcome of ops on the pools of units.
    OrgStock(ChangeSetOutcome<OrgStockOp>),
}

impl WriteOutcome {
    /// Combines the stored response with the stored request. Returns `None` if there is no response yet.
    pub(super) fn from_entry(entry: &OutboxEntry) -> Result<Option<Self>, Error> {
        fn outcome<O: ChangeOp>(
            entry: &OutboxEntry,
            result: ChangeResult,
        ) -> Result<ChangeSetOutcome<O>, Error> {
            Ok(ChangeBatch::<O>::from_body(&entry.body)?.into_outcome(result))
        }
        let Some(result) = &entry.result else { return Ok(None) };
        let result = ChangeResult::parse(result).map_err(|_| unreadable_entry())?;
        Ok(Some(match entry.lane {
            Lane::Blueprints => Self::Blueprints(outcome(entry, result)?),
            Lane::Stock => Self::Stock(outcome(entry, result)?),
            Lane::Ships => Self::Ships(outcome(entry, result)?),
            Lane::OrgStock => Self::OrgStock(outcome(entry, result)?),
        }))
    }

    /// Returns true if the exchange now has everything that the change set requested.
    #[must_use]
    pub fn is_satisfied(&self) -> bool {
        match self {
            Self::Blueprints(outcome) => outcome.is_satisfied(),
            Self::Stock(outcome) => outcome.is_satisfied(),
            Self::Ships(outcome) => outcome.is_satisfied(),
            Self::OrgStock(outcome) => outcome.is_satisfied(),
        }
    }

    /// Returns the notices for the member (CLI-04, STK-18).
    #[must_use]
    pub fn notices(&self) -> Vec<MemberNotice> {
        match self {
            Self::Blueprints(outcome) => outcome.notices(),
            Self::Stock(outcome) => outcome.notices(),
            Self::Ships(outcome) => outcome.notices(),
            Self::OrgStock(outcome) => outcome.notices(),
        }
    }
}
