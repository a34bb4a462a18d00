//! Books the rows of lots after the target amount of each lot was decided.
//!
//! Each lot is booked once, by the difference between its initial and its target amount. If the amount of a
//! lot falls and that of its stolen twin rises, rows without a reservation or an offer are moved to the twin.
//! The remaining difference is booked out of one lot and into the other (STK-19).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::change::{EntryIds, WriteContext};
use super::super::warehouse::{Lot, Measure, StockOwnership, StockRow};
use super::decide::WorkingLot;
use crate::time::Moment;

/// Books the net change of every lot.
pub(super) fn book_lots(states: &mut BTreeMap<Lot, WorkingLot>, writer: &WriteContext) {
    let mut new_ids = EntryIds::new(writer);
    let changes: Vec<(Lot, i64)> = states
        .iter()
        .map(|(lot, state)| (lot.clone(), state.net_change()))
        .filter(|(_, by)| *by != 0)
        .collect();
    let (falls, rises): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, by)| *by < 0);
    let mut rises: BTreeMap<Lot, i64> = rises.into_iter().collect();
    for (lot, by) in falls {
        let (fall, twin) = (-by, lot.stolen_twin());
        let re_marked = rises.get(&twin).copied().unwrap_or(0).min(fall);
        let Some(state) = states.get_mut(&lot) else { continue };
        let moved = take_movable(&mut state.rows, re_marked, &mut new_ids);
        let sum: i64 = moved.iter().map(|row| row.amount).sum();
        book_out(&mut state.rows, fall - sum);
        if let (Some(rise), Some(twin)) = (rises.get_mut(&twin), states.get_mut(&twin)) {
            *rise -= sum;
            twin.rows.extend(moved);
        }
    }
    for (lot, rise) in rises.into_iter().filter(|(_, rise)| *rise > 0) {
        if let Some(state) = states.get_mut(&lot) {
            book_in(&mut state.rows, lot.measure, rise, writer.now, &mut new_ids);
        }
    }
    count_versions(states);
}

/// Returns the indexes of rows in the order in which they are booked out: personal rows, then shared rows,
/// then pool rows; within each group, oldest first (STK-16).
fn booking_order(rows: &[StockRow]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|&at| rows.get(at).map(|row| (row.keeping.booking_rank(), row.age_key())));
    places
}

/// Takes up to `wanted` of the amount that has neither a reservation nor an offer. The taken rows keep
/// ownership, age and note. A row that is only taken in part is split into two rows.
fn take_movable(rows: &mut Vec<StockRow>, wanted: i64, new_ids: &mut EntryIds<'_>) -> Vec<StockRow> {
    let (mut left, mut moved) = (wanted, Vec::new());
    for index in booking_order(rows) {
        let Some(row) = rows.get_mut(index) else { continue };
        let part = row.movable_amount().min(left);
        if part <= 0 {
            continue;
        }
        left -= part;
        row.amount -= part;
        let mut taken = StockRow { amount: part, reserved: 0, offer: None, ..row.clone() };
        if row.amount > 0 {
            (taken.id, taken.version, taken.number) = (new_ids.next_id(), 1, None);
        }
        moved.push(taken);
    }
    rows.retain(|row| row.amount > 0);
    moved
}

/// Books an amount out. Lowers an offer that exceeds the remaining amount of its row; the offer is deleted
/// together with its row (STK-17).
fn book_out(rows: &mut Vec<StockRow>, amount: i64) {
    let mut left = amount;
    for index in booking_order(rows) {
        let Some(row) = rows.get_mut(index) else { continue };
        let part = row.free_amount().min(left);
        left -= part;
        row.amount -= part;
        if let Some(offer) = &mut row.offer {
            offer.amount = offer.amount.min(row.amount);
        }
    }
    rows.retain(|row| row.amount > 0);
}

/// Books an amount in as personal stock. Pieces are added to an existing personal row (STK-15).
fn book_in(rows: &mut Vec<StockRow>, measure: Measure, amount: i64, now: Moment, new_ids: &mut EntryIds<'_>) {
    let first_row = booking_order(rows).first().and_then(|&at| rows.get_mut(at));
    match first_row.filter(|row| measure == Measure::Piece && row.keeping == StockOwnership::Personal) {
        Some(row) => row.amount += amount,
        None => rows.push(StockRow {
            id: new_ids.next_id(),
            amount,
            keeping: StockOwnership::Personal,
            version: 1,
            note: None,
            booked_at: now,
            reserved: 0,
            offer: None,
            number: None,
        }),
    }
}

/// Increments the version of every row that the batch changed or moved to another lot.
fn count_versions(states: &mut BTreeMap<Lot, WorkingLot>) {
    let mut before: HashMap<&str, (&Lot, &StockRow)> = HashMap::new();
    for (lot, state) in &*states {
        before.extend(state.before.rows.iter().map(|row| (&*row.id, (lot, row))));
    }
    let mut changed: HashSet<String> = HashSet::new();
    for (lot, state) in &*states {
        let is_changed = |row: &&StockRow| before.get(&*row.id).is_some_and(|was| *was != (lot, *row));
        changed.extend(state.rows.iter().filter(is_changed).map(|row| row.id.clone()));
    }
    for row in states.values_mut().flat_map(|state| &mut state.rows) {
        row.version += i64::from(changed.contains(&row.id));
    }
}
