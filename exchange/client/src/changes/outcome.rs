//! What became of the ops of a change set, each on the op itself.

use std::{collections::HashMap, fmt};

use exchange_api::{
    reasons::Reason,
    types::{ChangeResult, Extensions, OpId, OpResult, Warning},
};

use super::{Batch, Changes, op::Op};

/// What became of a change set.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome<O> {
    /// Nothing was written: it was asked what would become of it.
    pub dry_run: bool,
    /// Every op with its verdict, in the order in which they were decided.
    pub ops: Vec<Settled<O>>,
    /// What was accepted but not understood.
    pub warnings: Vec<Warning>,
    /// Mission units that removed ships were detached from.
    pub detached_from_missions: i64,
    /// Offers of the member's that were lowered.
    pub offers_reduced: i64,
    /// Offers of the member's that were removed.
    pub offers_removed: i64,
    /// Data of others that were sent with it.
    pub extensions: Option<Extensions>,
}

/// An op and what became of it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settled<O> {
    /// The op.
    pub op: O,
    /// What became of it.
    pub verdict: Verdict,
}

/// What became of an op.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// It changed something, or would have in a dry run.
    Applied,
    /// It found what it asked for.
    Unchanged,
    /// It was not applied: a result or a reason that nobody here knows counts as this too (CON-12).
    NotApplied {
        /// How the exchange puts it: unmatched, ambiguous, rejected, or a word of a later version.
        result: OpResult,
        /// Why.
        reason: Option<Reason>,
    },
    /// The answer contradicts itself about it: pull the feed and look.
    Unclear,
}

/// What an op that was not applied asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Remedy {
    /// Show the member what matches nothing; do not send it again (RES-13).
    ShowMember,
    /// Let the member pick one of several entries (RES-13).
    LetMemberPick,
    /// Ask the member first, only then send it with `override` ([`Outcome::overridden`], WRT-14).
    AskThenOverride,
    /// Read the locations again.
    ReadLocations,
    /// Use the material's own unit.
    CorrectUnit,
    /// Pull the feed, merge, and send it under a new key.
    PullAndMerge,
    /// Ask the member to release the reservation in the web application (STK-13).
    ReleaseReservation,
    /// Pull the feed and link again (SHP-20).
    PullAndRelink,
    /// Read the member's units again (SHP-20).
    ReadUnits,
    /// Pull the feed and ask again, with the unit and its counter shown (SHP-20).
    AskForUnitAgain,
    /// Read the roster of the receiving unit again (OST-32).
    ReadRoster,
    /// Ask the member to lower the offer on the Material Exchange.
    LowerOffer,
    /// Correct what is earmarked.
    CorrectEarmarks,
    /// Nothing can be done about it: tell the member.
    Tell,
}

impl Remedy {
    /// What a reason asks for.
    #[must_use]
    pub const fn of(reason: &Reason) -> Self {
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
            // Those that nobody here knows with them.
            _ => Self::Tell,
        }
    }

    /// Whether the feed has to be pulled before anything else is of use.
    #[must_use]
    pub const fn needs_pull(self) -> bool {
        matches!(self, Self::PullAndMerge | Self::PullAndRelink | Self::AskForUnitAgain)
    }

    /// The same as a sentence for the member.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::ShowMember => "the exchange knows nothing of this name",
            Self::LetMemberPick => "several entries match: choose one",
            Self::AskThenOverride => "this was removed elsewhere: bring it back all the same?",
            Self::ReadLocations => "the exchange does not know this place",
            Self::CorrectUnit => "this is counted in another unit",
            Self::PullAndMerge => "this was changed meanwhile: synchronise, then look at it again",
            Self::ReleaseReservation => {
                "this is reserved: release the reservation in the web application first"
            }
            Self::PullAndRelink => "the ship is linked to another of yours: synchronise, then link it again",
            Self::ReadUnits => "you do not belong to this unit any more",
            Self::AskForUnitAgain => {
                "the ship's unit was changed meanwhile: synchronise, then choose it again"
            }
            Self::ReadRoster => "this holder is not on the unit's roster any more",
            Self::LowerOffer => "this is offered on the Material Exchange: lower the offer first",
            Self::CorrectEarmarks => "what is earmarked does not fit",
            Self::Tell => "the exchange does not do this",
        }
    }
}

impl Verdict {
    /// Whether the exchange now has what the op asked for.
    #[must_use]
    pub const fn is_as_asked(&self) -> bool {
        matches!(self, Self::Applied | Self::Unchanged)
    }

    /// What is to be done about it; nothing when there is nothing to do.
    #[must_use]
    pub const fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Applied | Self::Unchanged => None,
            Self::Unclear => Some(Remedy::PullAndMerge),
            Self::NotApplied { reason: Some(reason), .. } => Some(Remedy::of(reason)),
            Self::NotApplied { result: OpResult::Unmatched, .. } => Some(Remedy::ShowMember),
            Self::NotApplied { result: OpResult::Ambiguous, .. } => Some(Remedy::LetMemberPick),
            Self::NotApplied { .. } => Some(Remedy::Tell),
        }
    }
}

/// What the member is told about a change set, beside what became of single ops (CLI-04, STK-18).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice {
    /// Offers on the Material Exchange became smaller or went; undoing the change does not bring them back.
    OffersLowered {
        /// How many were lowered.
        reduced: i64,
        /// How many were removed.
        removed: i64,
    },
    /// References that match nothing.
    Unmatched {
        /// How many.
        ops: usize,
    },
    /// Removed ships were detached from missions.
    Detached {
        /// How many mission units.
        missions: i64,
    },
}

impl fmt::Display for Notice {
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

impl<O: Op> Outcome<O> {
    /// Puts the results on the ops. One that names an id is that op's, wherever it stands; others go by their
    /// place. Ops that no result names were applied, if there are as many as the answer counts; an answer that
    /// contradicts itself says nothing about them.
    pub(super) fn of(batch: Batch<O>, result: ChangeResult) -> Self {
        let (ops, extensions) = batch.into_parts();
        let places: HashMap<&OpId, usize> =
            ops.iter().enumerate().filter_map(|(at, op)| Some((op.id()?, at))).collect();
        let mut verdicts: Vec<Option<Verdict>> = vec![None; ops.len()];
        let mut clear = true;
        for outcome in result.results {
            let by_id = outcome.op_id.as_ref().map(|id| places.get(id).copied());
            let by_place = || usize::try_from(outcome.index).ok();
            let place = by_id.unwrap_or_else(by_place);
            match place.and_then(|at| verdicts.get_mut(at)) {
                Some(verdict) if verdict.is_none() => {
                    *verdict = Some(match (outcome.result, outcome.reason) {
                        (OpResult::Unchanged, None) => Verdict::Unchanged,
                        (result, reason) => Verdict::NotApplied { result, reason },
                    });
                }
                _ => clear = false,
            }
        }
        let count = |wanted: fn(&Option<Verdict>) -> bool| {
            i64::try_from(verdicts.iter().filter(|verdict| wanted(verdict)).count()).ok()
        };
        clear &= count(Option::is_none) == Some(result.applied);
        clear &= count(|verdict| matches!(verdict, Some(Verdict::Unchanged))) == Some(result.unchanged);
        let rest = if clear { Verdict::Applied } else { Verdict::Unclear };
        let settled = ops.into_iter().zip(verdicts).map(|(op, verdict)| {
            let verdict = verdict.unwrap_or_else(|| rest.clone());
            Settled { op, verdict }
        });
        Self {
            dry_run: result.dry_run,
            ops: settled.collect(),
            warnings: result.warnings,
            detached_from_missions: result.detached_from_missions.unwrap_or(0),
            offers_reduced: result.offers_reduced.unwrap_or(0),
            offers_removed: result.offers_removed.unwrap_or(0),
            extensions,
        }
    }

    /// Whether the exchange now has all that was asked for.
    #[must_use]
    pub fn is_as_asked(&self) -> bool {
        self.ops.iter().all(|op| op.verdict.is_as_asked())
    }

    /// The op of an id.
    #[must_use]
    pub fn op(&self, id: &OpId) -> Option<&Settled<O>> {
        self.ops.iter().find(|settled| settled.op.id() == Some(id))
    }

    /// The ops that were not applied, with what each asks for.
    pub fn open(&self) -> impl Iterator<Item = (&Settled<O>, Remedy)> {
        self.ops.iter().filter_map(|settled| Some((settled, settled.verdict.remedy()?)))
    }

    /// What the member is told.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        let (reduced, removed, missions) =
            (self.offers_reduced, self.offers_removed, self.detached_from_missions);
        let unmatched = self.open().filter(|(_, remedy)| *remedy == Remedy::ShowMember).count();
        let notices = [
            (reduced > 0 || removed > 0).then_some(Notice::OffersLowered { reduced, removed }),
            (unmatched > 0).then_some(Notice::Unmatched { ops: unmatched }),
            (missions > 0).then_some(Notice::Detached { missions }),
        ];
        notices.into_iter().flatten().collect()
    }

    /// The ops that were removed elsewhere and that the member, asked about each, wants all the same: to be
    /// sent anew, with `override` (WRT-14). Nothing when the member wants none.
    #[must_use]
    pub fn overridden(&self, mut wants: impl FnMut(&O) -> bool) -> Option<Changes<O>> {
        let asked = self.open().filter(|(_, remedy)| *remedy == Remedy::AskThenOverride);
        let wanted = asked.filter_map(|(settled, _)| settled.op.overridden().filter(|op| wants(op)));
        let mut changes = Changes::new();
        if let Some(extensions) = &self.extensions {
            changes = changes.with_extensions(extensions.clone());
        }
        for op in wanted {
            // The ids and the ops were good enough before.
            changes.push(op).ok()?;
        }
        (!changes.is_empty()).then_some(changes)
    }
}
