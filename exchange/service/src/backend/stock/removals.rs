//! Which lots a batch removes, to the mass-change guard (STK-21, STK-22).

use std::collections::{BTreeMap, BTreeSet};

use super::super::warehouse::{Lot, held};
use super::decide::State;
use crate::catalogue::contents::Kind;

/// Lots that are set to 0, or cut to at most a tenth of what they held before the client's first change to
/// them in the window, and did not count before. A fall that the batch's rises of the same material cover
/// whole is a move, and counts nowhere; falls are covered in the order of the batch.
pub(super) fn removals(states: &BTreeMap<Lot, State>) -> BTreeSet<Lot> {
    let mut rises: BTreeMap<(Kind, &str), i64> = BTreeMap::new();
    let mut falls: Vec<(&Lot, &State)> = Vec::new();
    for (lot, state) in states {
        match state.change() {
            by if by > 0 => *rises.entry((lot.kind, &lot.material)).or_default() += by,
            by if by < 0 => falls.push((lot, state)),
            _ => {}
        }
    }
    falls.sort_by_key(|(_, state)| state.first);
    let mut removed = BTreeSet::new();
    for (lot, state) in falls {
        let fall = -state.change();
        if let Some(cover) = rises.get_mut(&(lot.kind, &*lot.material)).filter(|cover| **cover >= fall) {
            *cover -= fall;
            continue;
        }
        let base = state.before.base.unwrap_or_else(|| held(&state.before.rows));
        let is_cut = state.holds == 0 || state.holds.saturating_mul(10) <= base;
        if is_cut && !state.before.counted {
            removed.insert(lot.clone());
        }
    }
    removed
}
