//! Builds the response to a change set: counts, ops that were not applied, and warnings.

use contract_runtime::Map;
use exchange_api::reasons::{Reason, RefusedAs};
use exchange_api::types::{ChangeResult, JsonPointer, OpId, OpOutcome, OpResult, Warning, WarningCode};

/// The status of one op after the decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OpStatus {
    Applied,
    /// The entry already had the requested state.
    Unchanged,
    Refused(Reason),
}

/// Counts that only some areas report (WRT-07).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChangeExtras {
    pub(crate) detached_from_missions: Option<i64>,
    pub(crate) offers_reduced: Option<i64>,
    pub(crate) offers_removed: Option<i64>,
    /// The number of lowered offers and the number of removed offers of other members. The audit contains
    /// these numbers, and the response does not.
    pub(crate) unreported_offers: (i64, i64),
}

impl ChangeExtras {
    /// Formats the counts for the audit's detail (STK-17, SHP-10). Returns an empty string if all counts are
    /// zero.
    pub(crate) fn audit_suffix(&self) -> String {
        let counted = |count: Option<i64>, what: &str| match count {
            None | Some(0) => String::new(),
            Some(count) => format!(", {count} {what}"),
        };
        let (lowered, removed) = self.unreported_offers;
        let offers = counted(self.offers_reduced.or(Some(lowered)), "offers lowered");
        let offers = offers + &counted(self.offers_removed.or(Some(removed)), "offers removed");
        offers + &counted(self.detached_from_missions, "mission units left")
    }
}

/// A list of at most 50 warnings about input that was accepted but not fully understood; further warnings are
/// dropped (RES-12, A26).
#[derive(Clone, Debug, Default)]
pub(crate) struct WarningList(Vec<Warning>);

impl WarningList {
    /// The maximum number of warnings in a response.
    pub(crate) const MAX_WARNINGS: usize = 50;

    /// Creates warnings for the undeclared fields of a body (CON-08). Fields whose names do not fit into a
    /// JSON Pointer were rejected earlier (CON-09).
    pub(crate) fn unknown_fields(pointers: Vec<String>) -> Self {
        let mut warnings = Self::default();
        for pointer in pointers {
            warnings.push_warning(&pointer, WarningCode::UnknownField);
        }
        warnings
    }

    /// Adds a warning for a localization key that resolved to nothing (RES-10).
    pub(crate) fn push_unresolved_loc_key(&mut self, pointer: &str) {
        self.push_warning(pointer, WarningCode::LocKeyUnresolved);
    }

    fn push_warning(&mut self, pointer: &str, code: WarningCode) {
        if self.0.len() < Self::MAX_WARNINGS
            && let Ok(pointer) = JsonPointer::new(pointer)
        {
            self.0.push(Warning { pointer, code, extra: Map::new() });
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.0
    }
}

/// Builds the response from the counts and every op that was not applied (WRT-05, WRT-06).
pub(super) fn change_result<'o>(
    ops: impl Iterator<Item = (Option<&'o OpId>, OpStatus)>,
    dry_run: bool,
    warnings: WarningList,
    extras: ChangeExtras,
) -> ChangeResult {
    let (mut applied, mut unchanged, mut not_applied) = (0, 0, 0);
    let mut results = Vec::new();
    for (index, (op_id, end)) in (0_i64..).zip(ops) {
        let (result, reason) = match end {
            OpStatus::Applied => {
                applied += 1;
                continue;
            }
            OpStatus::Unchanged => {
                unchanged += 1;
                (OpResult::Unchanged, None)
            }
            OpStatus::Refused(reason) => {
                not_applied += 1;
                (rejected_result(&reason), Some(reason))
            }
        };
        results.push(OpOutcome { index, op_id: op_id.cloned(), result, reason, extra: Map::new() });
    }
    let ChangeExtras { detached_from_missions, offers_reduced, offers_removed, .. } = extras;
    ChangeResult {
        dry_run,
        applied: Some(applied),
        unchanged: Some(unchanged),
        not_applied: Some(not_applied),
        results: Some(results),
        warnings: Some(warnings.into_list()),
        detached_from_missions,
        offers_reduced,
        offers_removed,
        #[allow(deprecated, reason = "constructing the struct requires every field; this one is never set")]
        cursor: None,
        extra: Map::new(),
    }
}

/// Returns the op result that the contract assigns to a rejection reason.
fn rejected_result(reason: &Reason) -> OpResult {
    match reason.result() {
        Some(RefusedAs::Unmatched) => OpResult::Unmatched,
        Some(RefusedAs::Ambiguous) => OpResult::Ambiguous,
        _ => OpResult::Rejected,
    }
}
