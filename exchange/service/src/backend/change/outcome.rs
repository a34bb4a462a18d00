//! What the client is told of a change set: counts, ops that were not applied, warnings.

use contract_runtime::Map;
use exchange_api::reasons::{Reason, RefusedAs};
use exchange_api::types::{ChangeResult, JsonPointer, OpId, OpOutcome, OpResult, Warning, WarningCode};

/// How an op ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpEnd {
    /// It changed something.
    Applied,
    /// It found what it asked for.
    Unchanged,
    /// It was not applied.
    Refused(Reason),
}

/// What only some areas tell (WRT-07).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    pub(crate) detached_from_missions: Option<i64>,
    pub(crate) offers_reduced: Option<i64>,
    pub(crate) offers_removed: Option<i64>,
    /// Offers of others, lowered and removed: only the audit has them.
    pub(crate) offers_unsaid: (i64, i64),
}

impl Extras {
    /// What the audit says of them (STK-17, SHP-10); nothing where there is nothing to say.
    pub(crate) fn audited(&self) -> String {
        let counted = |count: Option<i64>, what: &str| match count {
            None | Some(0) => String::new(),
            Some(count) => format!(", {count} {what}"),
        };
        let (lowered, removed) = self.offers_unsaid;
        let offers = counted(self.offers_reduced.or(Some(lowered)), "offers lowered");
        let offers = offers + &counted(self.offers_removed.or(Some(removed)), "offers removed");
        offers + &counted(self.detached_from_missions, "mission units left")
    }
}

/// At most 50 of what was accepted but not understood; further ones are dropped (RES-12, A26).
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Vec<Warning>);

impl Warnings {
    /// How many there are at most.
    pub(crate) const MOST: usize = 50;

    /// For the undeclared fields of a body (CON-08). What has no room in a pointer was refused before
    /// (CON-09).
    pub(crate) fn unknown_fields(pointers: Vec<String>) -> Self {
        let mut warnings = Self::default();
        for pointer in pointers {
            warnings.add(&pointer, WarningCode::UnknownField);
        }
        warnings
    }

    /// For a localisation key that found nothing (RES-10).
    pub(crate) fn loc_key(&mut self, pointer: &str) {
        self.add(pointer, WarningCode::LocKeyUnresolved);
    }

    fn add(&mut self, pointer: &str, code: WarningCode) {
        if self.0.len() < Self::MOST
            && let Ok(pointer) = JsonPointer::new(pointer)
        {
            self.0.push(Warning { pointer, code, extra: Map::new() });
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.0
    }
}

/// Counts, and every op that was not applied (WRT-05, WRT-06).
pub(super) fn result<'o>(
    ops: impl Iterator<Item = (Option<&'o OpId>, OpEnd)>,
    dry_run: bool,
    warnings: Warnings,
    extras: Extras,
) -> ChangeResult {
    let (mut applied, mut unchanged, mut not_applied) = (0, 0, 0);
    let mut results = Vec::new();
    for (index, (op_id, end)) in (0_i64..).zip(ops) {
        let (result, reason) = match end {
            OpEnd::Applied => {
                applied += 1;
                continue;
            }
            OpEnd::Unchanged => {
                unchanged += 1;
                (OpResult::Unchanged, None)
            }
            OpEnd::Refused(reason) => {
                not_applied += 1;
                (refused_as(&reason), Some(reason))
            }
        };
        results.push(OpOutcome { index, op_id: op_id.cloned(), result, reason, extra: Map::new() });
    }
    let Extras { detached_from_missions, offers_reduced, offers_removed, .. } = extras;
    ChangeResult {
        dry_run,
        applied,
        unchanged,
        not_applied,
        results,
        warnings: warnings.into_list(),
        detached_from_missions,
        offers_reduced,
        offers_removed,
        #[allow(deprecated, reason = "every field is said, also one that nobody fills any more")]
        cursor: None,
        extra: Map::new(),
    }
}

/// The result that the contract gives a reason.
fn refused_as(reason: &Reason) -> OpResult {
    match reason.result() {
        Some(RefusedAs::Unmatched) => OpResult::Unmatched,
        Some(RefusedAs::Ambiguous) => OpResult::Ambiguous,
        _ => OpResult::Rejected,
    }
}
