//! Decides stock ops with pure functions over the loaded state.
//!
//! The status of an op depends only on the total of its lot. The rows are booked after all ops are decided,
//! once per lot ([`book_lots`]). Booking never changes reserved amounts, so it cannot change the status of an
//! op.

use std::collections::BTreeMap;

use exchange_api::reasons::Reason;

use super::super::change::{BatchDecision, ChangeExtras, EntryDelta, OpStatus, WriteContext};
use super::super::warehouse::{Lot, StockOffer, StockRow, total_amount};
use super::LotHolding;
use super::booking::book_lots;
use super::removals::find_removals;
use crate::feed::KeyRemoval;

/// The lot and amounts of an op, after the checks against the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QuantityTarget {
    pub(crate) lot: Lot,
    pub(crate) quantity: i64,
    pub(crate) expected: i64,
    pub(crate) overrides_removal: bool,
}

/// The stored state of the lots to which ops refer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StockState {
    /// Whether stock may be marked as stolen on this exchange.
    pub(crate) is_marking_enabled: bool,
    pub(crate) lots: BTreeMap<Lot, LotState>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LotState {
    /// The lot's key, if it is already known; this saves computing its hash.
    pub(crate) key: Option<String>,
    /// The rows, sorted from oldest to newest.
    pub(crate) rows: Vec<StockRow>,
    /// The last removal, if the lot is empty.
    pub(crate) last_removal: Option<KeyRemoval>,
    /// The amount before the client's first change within the guard's window, plus the amounts by which the
    /// client raised the lot since then; `None` if the client made no change.
    pub(crate) base: Option<i64>,
    /// Whether the guard has already counted a removal of the lot within the window. Each lot counts once.
    pub(crate) is_counted: bool,
}

/// The state of a lot while the ops of a batch are decided.
#[derive(Clone, Debug)]
pub(super) struct WorkingLot {
    pub(super) before: LotState,
    /// The rows of the lot, which are booked after all ops are decided.
    pub(super) rows: Vec<StockRow>,
    /// The total amount after the ops decided so far.
    pub(super) holds: i64,
    /// The reserved amount, which no op of a batch can change.
    reserved: i64,
    gone: Option<KeyRemoval>,
    overridden: bool,
    /// The index of the first op that changed the lot.
    pub(super) first: Option<usize>,
}

impl WorkingLot {
    fn from_state(lot_state: LotState) -> Self {
        Self {
            rows: lot_state.rows.clone(),
            holds: total_amount(&lot_state.rows),
            reserved: lot_state.rows.iter().map(|row| row.reserved).sum(),
            gone: lot_state.last_removal.clone(),
            overridden: false,
            first: None,
            before: lot_state,
        }
    }

    /// Returns the net change of the lot's total by the batch.
    pub(super) fn net_change(&self) -> i64 {
        self.holds - total_amount(&self.before.rows)
    }

    /// Returns true if the lot must be recorded in the journal and the feed: its rows changed, or it was
    /// filled and emptied within the batch (STK-12).
    fn is_touched(&self) -> bool {
        self.rows != self.before.rows || (self.first.is_some() && self.rows.is_empty())
    }
}

/// Decides the ops in order, each with the effects of the ops before it (WRT-02), then books the results.
pub(crate) fn decide_ops(
    loaded: StockState,
    targets: &[Result<QuantityTarget, Reason>],
    writer: &WriteContext,
) -> BatchDecision<LotHolding> {
    let StockState { is_marking_enabled: marking, lots } = loaded;
    let mut states: BTreeMap<Lot, WorkingLot> =
        lots.into_iter().map(|(lot, lot_state)| (lot, WorkingLot::from_state(lot_state))).collect();
    let end = |(index, target): (usize, &Result<QuantityTarget, Reason>)| match target {
        Err(reason) => OpStatus::Refused(reason.clone()),
        Ok(goal) => {
            let state =
                states.entry(goal.lot.clone()).or_insert_with(|| WorkingLot::from_state(LotState::default()));
            decide_op(state, index, goal, marking, writer)
        }
    };
    let ends = targets.iter().enumerate().map(end).collect();
    book_lots(&mut states, writer);
    let removed = find_removals(&states);
    let extras = offer_extras(
        states.values().flat_map(|state| &state.before.rows),
        states.values().flat_map(|state| &state.rows),
    );
    let touched = states.iter().filter(|(_, state)| state.is_touched());
    let touched = touched.map(|(lot, state)| {
        let [before, after] = LotHolding::delta_pair(lot, [&state.before.rows, &state.rows]);
        let (removal, overridden) = (removed.contains(lot), state.overridden);
        let key = state.before.key.clone().unwrap_or_else(|| lot.key());
        EntryDelta { key, before, after, removal, overridden }
    });
    BatchDecision { statuses: ends, touched: touched.collect(), extras, notices: Vec::new() }
}

/// Decides one op with the checks of STK-09 to STK-13, in this order. The first check that fails determines
/// the reason.
fn decide_op(
    state: &mut WorkingLot,
    index: usize,
    goal: &QuantityTarget,
    marking: bool,
    writer: &WriteContext,
) -> OpStatus {
    let QuantityTarget { lot, quantity, expected, overrides_removal } = goal;
    // A43: an op that empties the lot marks nothing as stolen.
    if lot.stolen && *quantity > 0 && !marking {
        return OpStatus::Refused(Reason::StolenMarkingDisabled);
    }
    // The expected amount is compared with the amount that clients see, which is limited to the contract's
    // maximum.
    let seen = lot.measure.clamp_amount(state.holds);
    if seen != *expected {
        return OpStatus::Refused(Reason::VersionConflict);
    }
    if seen == *quantity {
        return OpStatus::Unchanged;
    }
    let elsewhere = state.holds == 0 && state.gone.as_ref().is_some_and(|gone| writer.needs_override(gone));
    if elsewhere && !overrides_removal {
        return OpStatus::Refused(Reason::RemovedElsewhere);
    }
    if *quantity < state.reserved {
        return OpStatus::Refused(Reason::StockEarmarked);
    }
    state.overridden |= elsewhere;
    state.first.get_or_insert(index);
    state.holds = *quantity;
    let removal = || KeyRemoval { at: writer.now, by: writer.author.clone() };
    state.gone = (*quantity == 0).then(removal);
    OpStatus::Applied
}

/// Counts the offers that were lowered and the offers that were removed (STK-17).
pub(super) fn offer_extras<'r>(
    before: impl Iterator<Item = &'r StockRow>,
    after: impl Iterator<Item = &'r StockRow>,
) -> ChangeExtras {
    let after: BTreeMap<&str, i64> =
        after.filter_map(|row| row.offer.as_ref()).map(|offer| (&*offer.id, offer.amount)).collect();
    let (mut reduced, mut removed) = (0, 0);
    for StockOffer { id, amount } in before.filter_map(|row| row.offer.as_ref()) {
        match after.get(&**id) {
            None => removed += 1,
            Some(left) if left < amount => reduced += 1,
            Some(_) => {}
        }
    }
    ChangeExtras { offers_reduced: Some(reduced), offers_removed: Some(removed), ..ChangeExtras::default() }
}

#[cfg(test)]
mod tests;
