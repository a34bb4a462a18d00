//! The outcome of a change set, assigned to its ops.

use std::{collections::HashMap, fmt};

use exchange_api::{
    reasons::Reason,
    types::{ChangeResult, Extensions, OpId, OpResult, Warning},
};

use super::{ChangeBatch, Changes, op::ChangeOp};

/// The outcome of a change set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChangeSetOutcome<O> {
    /// True if nothing was written, because the request was a dry run.
    pub dry_run: bool,
    /// The ops with their verdicts, in the order in which the exchange decided them.
    pub ops: Vec<OpOutcome<O>>,
    /// Warnings about parts of the request that the exchange accepted but did not understand.
    pub warnings: Vec<Warning>,
    /// The number of mission units from which removed ships were detached.
    pub detached_from_missions: i64,
    /// The number of the member's offers that were reduced.
    pub offers_reduced: i64,
    /// The number of the member's offers that were removed.
    pub offers_removed: i64,
    /// Third-party extension data of the request.
    pub extensions: Option<Extensions>,
}

/// An op and its verdict.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct OpOutcome<O> {
    /// The op as it was sent.
    pub op: O,
    /// The decision of the exchange about the op.
    pub verdict: OpVerdict,
}

/// The decision of the exchange about an op.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpVerdict {
    /// The op changed something. In a dry run, it would have changed something.
    Applied,
    /// The requested state already existed.
    Unchanged,
    /// The op was not applied. This includes results and reasons that are unknown to this version (CON-12).
    NotApplied {
        /// The result: unmatched, ambiguous, rejected, or a value of a later version.
        result: OpResult,
        /// The reason, if the exchange returned one.
        reason: Option<Reason>,
    },
    /// The results contradict each other about this op: pull the feed and compare.
    Unclear,
}

/// The next step for an op that was not applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OpRemedy {
    /// Show the unmatched reference to the member; do not send it again (RES-13).
    ShowMember,
    /// Let the member choose one of several entries (RES-13).
    LetMemberPick,
    /// Ask the member before sending the op with `override` ([`ChangeSetOutcome::override_changes`], WRT-14).
    AskThenOverride,
    /// Read the locations again.
    ReadLocations,
    /// Use the unit of the material.
    CorrectUnit,
    /// Pull the feed, merge, and send the op under a new key.
    PullAndMerge,
    /// Ask the member to release the reservation in the web application (STK-13).
    ReleaseReservation,
    /// Pull the feed and link again (SHP-20).
    PullAndRelink,
    /// Read the member's units again (SHP-20).
    ReadUnits,
    /// Pull the feed and let the member choose again, showing the current unit and its counter (SHP-20).
    AskForUnitAgain,
    /// Read the roster of the receiving unit again (OST-32).
    ReadRoster,
    /// Ask the member to lower the offer on the Material Exchange.
    LowerOffer,
    /// Correct the earmarks.
    CorrectEarmarks,
    /// Notify the member; there is no remedy.
    NotifyMember,
}

impl OpRemedy {
    /// Returns the remedy for a reason.
    #[must_use]
    pub const fn from_reason(reason: &Reason) -> Self {
        match reason {
            Reason::Unmatched => Self::ShowMember,
            Reason::Ambiguous => Self::LetMemberPick,
            Reason::RemovedElsewhere => Self::AskThenOverride,
            Reason::LocationUnknown => Self::ReadLocations,
            Reason::UnitMismatch => Self::CorrectUnit,
            Reason::VersionConflict | Reason::InsufficientStock => Self::PullAndMerge,
            Reason::StockEarmarked => Self::ReleaseReservation,
            Reason::LinkTargetTaken => Self::PullAndRelink,
            Reason::OrgUnitNotAllowed => Self::ReadUnits,
            Reason::OrgUnitVersionConflict => Self::AskForUnitAgain,
            Reason::HolderUnknown => Self::ReadRoster,
            Reason::StockOffered => Self::LowerOffer,
            Reason::OverAllocation | Reason::EarmarkTargetInvalid => Self::CorrectEarmarks,
            // This arm includes unknown reasons.
            _ => Self::NotifyMember,
        }
    }

    /// Returns true if the feed has to be pulled before the remedy.
    #[must_use]
    pub const fn needs_pull(self) -> bool {
        matches!(self, Self::PullAndMerge | Self::PullAndRelink | Self::AskForUnitAgain)
    }

    /// Returns the remedy as a sentence for the member.
    #[must_use]
    pub const fn message(self) -> &'static str {
        match self {
            Self::ShowMember => "the exchange does not know this name",
            Self::LetMemberPick => "several entries match: choose one",
            Self::AskThenOverride => "this was removed elsewhere: restore it anyway?",
            Self::ReadLocations => "the exchange does not know this place",
            Self::CorrectUnit => "this is counted in another unit",
            Self::PullAndMerge => "this was changed in the meantime: synchronize, then review it",
            Self::ReleaseReservation => {
                "this is reserved: release the reservation in the web application first"
            }
            Self::PullAndRelink => "the ship is linked to another of yours: synchronize, then link it again",
            Self::ReadUnits => "you are no longer a member of this unit",
            Self::AskForUnitAgain => {
                "the ship's unit was changed in the meantime: synchronize, then choose it again"
            }
            Self::ReadRoster => "this holder is no longer on the unit's roster",
            Self::LowerOffer => "this is offered on the Material Exchange: lower the offer first",
            Self::CorrectEarmarks => "the earmarks do not match",
            Self::NotifyMember => "the exchange does not support this",
        }
    }
}

impl OpVerdict {
    /// Returns true if the exchange now has the requested state.
    #[must_use]
    pub const fn is_satisfied(&self) -> bool {
        matches!(self, Self::Applied | Self::Unchanged)
    }

    /// Returns the remedy, or `None` if there is nothing to do.
    #[must_use]
    pub const fn remedy(&self) -> Option<OpRemedy> {
        match self {
            Self::Applied | Self::Unchanged => None,
            Self::Unclear => Some(OpRemedy::PullAndMerge),
            Self::NotApplied { reason: Some(reason), .. } => Some(OpRemedy::from_reason(reason)),
            Self::NotApplied { result: OpResult::Unmatched, .. } => Some(OpRemedy::ShowMember),
            Self::NotApplied { result: OpResult::Ambiguous, .. } => Some(OpRemedy::LetMemberPick),
            Self::NotApplied { .. } => Some(OpRemedy::NotifyMember),
        }
    }
}

/// A notice for the member about a whole change set, in addition to the verdicts of its ops (CLI-04, STK-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemberNotice {
    /// Offers on the Material Exchange were reduced or removed; undoing the change does not restore them.
    OffersLowered {
        /// The number of reduced offers.
        reduced: i64,
        /// The number of removed offers.
        removed: i64,
    },
    /// Ops refer to things that match no catalog entry.
    Unmatched {
        /// The number of ops with such a reference.
        ops: usize,
    },
    /// Removed ships were detached from the mission units that used them (SHP-10).
    Detached {
        /// The number of affected mission units.
        missions: i64,
    },
}

impl fmt::Display for MemberNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OffersLowered { reduced, removed } => write!(
                f,
                "your offers on the Material Exchange: {reduced} lowered, {removed} removed; undoing the \
                 change does not bring them back"
            ),
            Self::Unmatched { ops } => write!(f, "{ops} of the entries match nothing at the exchange"),
            Self::Detached { missions } => write!(f, "{missions} mission units lost a ship"),
        }
    }
}

impl<O: ChangeOp> ChangeSetOutcome<O> {
    /// Assigns the results to the ops: by op id if the result has one, otherwise by index. Ops without a
    /// result were applied if their number equals the count in the response, or if the response contains
    /// results but no count. Otherwise the response contradicts itself or is incomplete, and their verdict is
    /// [`OpVerdict::Unclear`].
    pub(super) fn from_result(batch: ChangeBatch<O>, result: ChangeResult) -> Self {
        let (ops, extensions) = batch.into_parts();
        let places: HashMap<&OpId, usize> =
            ops.iter().enumerate().filter_map(|(at, op)| Some((op.id()?, at))).collect();
        let mut verdicts: Vec<Option<OpVerdict>> = vec![None; ops.len()];
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let total = count(ops.len());
        let remaining = |unchanged, not_applied| total.saturating_sub(unchanged).saturating_sub(not_applied);
        let applied = result.applied.or_else(|| Some(remaining(result.unchanged?, result.not_applied?)));
        let mut clear = applied.is_some() || result.results.is_some();
        for outcome in result.results.into_iter().flatten() {
            let by_id = outcome.op_id.as_ref().map(|id| places.get(id).copied());
            let by_place = || usize::try_from(outcome.index).ok();
            let place = by_id.unwrap_or_else(by_place);
            match place.and_then(|at| verdicts.get_mut(at)) {
                Some(verdict) if verdict.is_none() => {
                    *verdict = Some(match (outcome.result, outcome.reason) {
                        (OpResult::Unchanged, None) => OpVerdict::Unchanged,
                        (result, reason) => OpVerdict::NotApplied { result, reason },
                    });
                }
                _ => clear = false,
            }
        }
        let matches = |wanted: fn(&Option<OpVerdict>) -> bool, expected: Option<i64>| {
            let found = count(verdicts.iter().filter(|verdict| wanted(verdict)).count());
            expected.is_none_or(|expected| found == expected)
        };
        clear &= matches(Option::is_none, applied);
        clear &= matches(|verdict| matches!(verdict, Some(OpVerdict::Unchanged)), result.unchanged);
        let rest = if clear { OpVerdict::Applied } else { OpVerdict::Unclear };
        let settled = ops.into_iter().zip(verdicts).map(|(op, verdict)| {
            let verdict = verdict.unwrap_or_else(|| rest.clone());
            OpOutcome { op, verdict }
        });
        Self {
            dry_run: result.dry_run,
            ops: settled.collect(),
            warnings: result.warnings.unwrap_or_default(),
            detached_from_missions: result.detached_from_missions.unwrap_or(0),
            offers_reduced: result.offers_reduced.unwrap_or(0),
            offers_removed: result.offers_removed.unwrap_or(0),
            extensions,
        }
    }

    /// Returns true if the exchange now has everything that was requested.
    #[must_use]
    pub fn is_satisfied(&self) -> bool {
        self.ops.iter().all(|op| op.verdict.is_satisfied())
    }

    /// Returns the op with this id and its verdict.
    #[must_use]
    pub fn find_op(&self, id: &OpId) -> Option<&OpOutcome<O>> {
        self.ops.iter().find(|settled| settled.op.id() == Some(id))
    }

    /// Returns the ops that were not applied, each with its remedy.
    pub fn unapplied_ops(&self) -> impl Iterator<Item = (&OpOutcome<O>, OpRemedy)> {
        self.ops.iter().filter_map(|settled| Some((settled, settled.verdict.remedy()?)))
    }

    /// Returns the notices for the member.
    #[must_use]
    pub fn notices(&self) -> Vec<MemberNotice> {
        let (reduced, removed, missions) =
            (self.offers_reduced, self.offers_removed, self.detached_from_missions);
        let unmatched = self.unapplied_ops().filter(|(_, remedy)| *remedy == OpRemedy::ShowMember).count();
        let notices = [
            (reduced > 0 || removed > 0).then_some(MemberNotice::OffersLowered { reduced, removed }),
            (unmatched > 0).then_some(MemberNotice::Unmatched { ops: unmatched }),
            (missions > 0).then_some(MemberNotice::Detached { missions }),
        ];
        notices.into_iter().flatten().collect()
    }

    /// Returns the changes to send again with `override` (WRT-14): the ops that were rejected because their
    /// entry was removed elsewhere, if the member still wants them. Calls `wants` for each such op. Returns
    /// `None` if the member wants none.
    #[must_use]
    pub fn override_changes(&self, mut wants: impl FnMut(&O) -> bool) -> Option<Changes<O>> {
        let confirmable = self.unapplied_ops().filter(|(_, remedy)| *remedy == OpRemedy::AskThenOverride);
        let wanted = confirmable.filter_map(|(settled, _)| settled.op.with_override().filter(|op| wants(op)));
        let mut changes = Changes::new();
        if let Some(extensions) = &self.extensions {
            changes = changes.with_extensions(extensions.clone());
        }
        for op in wanted {
            // These ops and their ids already passed this check before.
            changes.push(op).ok()?;
        }
        (!changes.is_empty()).then_some(changes)
    }
}
