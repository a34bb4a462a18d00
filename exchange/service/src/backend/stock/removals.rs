//! Determines the lots of a batch whose change the mass-change guard counts as a removal (STK-21, STK-22).

use std::collections::{BTreeMap, BTreeSet};

use super::super::warehouse::{Lot, total_amount};
use super::decide::WorkingLot;
use crate::catalogue::contents::EntryKind;

/// Returns the lots that are set to 0, or to at most a tenth of their baseline, unless they were already
/// counted. The baseline is the amount before the client's first change within the window, plus what the client
/// added since then. A decrease that is fully covered by increases of the
/// same material is a move and does not count. The decreases are covered in the order of the batch.
pub(super) fn find_removals(states: &BTreeMap<Lot, WorkingLot>) -> BTreeSet<Lot> {
    let mut rises: BTreeMap<(EntryKind, &str), i64> = BTreeMap::new();
    let mut falls: Vec<(&Lot, &WorkingLot)> = Vec::new();
    for (lot, state) in states {
        match state.net_change() {
            by if by > 0 => *rises.entry((lot.kind, &lot.material)).or_default() += by,
            by if by < 0 => falls.push((lot, state)),
            _ => {}
        }
    }
    falls.sort_by_key(|(_, state)| state.first);
    let mut removed = BTreeSet::new();
    for (lot, state) in falls {
        let fall = -state.net_change();
        if let Some(cover) = rises.get_mut(&(lot.kind, &*lot.material)).filter(|cover| **cover >= fall) {
            *cover -= fall;
            continue;
        }
        let base = state.before.base.unwrap_or_else(|| total_amount(&state.before.rows));
        let is_cut = state.holds == 0 || state.holds.saturating_mul(10) <= base;
        if is_cut && !state.before.is_counted {
            removed.insert(lot.clone());
        }
    }
    removed
}
