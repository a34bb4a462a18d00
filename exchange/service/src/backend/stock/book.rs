//! Booking: what becomes of rows, once it is known what each lot is to hold.
//!
//! A lot is booked once, by the difference between what it held and what it is to hold. A fall and a rise
//! of twins are re-marked as far as nothing stands on the stock; the rest is booked out and in (STK-19).

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::change::{Made, Writer};
use super::super::warehouse::{Keeping, Lot, Measure, Row};
use super::decide::State;
use crate::time::Moment;

/// Books every lot.
pub(super) fn book(states: &mut BTreeMap<Lot, State>, writer: &Writer) {
    let mut made = Made::new(writer);
    let changes: Vec<(Lot, i64)> =
        states.iter().map(|(lot, state)| (lot.clone(), state.change())).filter(|(_, by)| *by != 0).collect();
    let (falls, rises): (Vec<_>, Vec<_>) = changes.into_iter().partition(|(_, by)| *by < 0);
    let mut rises: BTreeMap<Lot, i64> = rises.into_iter().collect();
    for (lot, by) in falls {
        let (fall, twin) = (-by, lot.twin());
        let wanted = rises.get(&twin).copied().unwrap_or(0).min(fall);
        let Some(state) = states.get_mut(&lot) else { continue };
        let moved = remark(&mut state.rows, wanted, &mut made);
        let sum: i64 = moved.iter().map(|row| row.amount).sum();
        take(&mut state.rows, fall - sum);
        if let (Some(rise), Some(twin)) = (rises.get_mut(&twin), states.get_mut(&twin)) {
            *rise -= sum;
            twin.rows.extend(moved);
        }
    }
    for (lot, rise) in rises.into_iter().filter(|(_, rise)| *rise > 0) {
        if let Some(state) = states.get_mut(&lot) {
            put(&mut state.rows, lot.measure, rise, writer.now, &mut made);
        }
    }
    count_versions(states);
}

/// The places of rows in the order in which they are booked out: personal stock, then what is in no pool,
/// then the oldest (STK-16).
fn in_turn(rows: &[Row]) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    places.sort_by_key(|&at| rows.get(at).map(|row| (row.keeping.rank(), row.age())));
    places
}

/// Takes up to so much that nothing stands on, with its keeping, age and note: whole rows as they are, of
/// others a part as a row of its own.
fn remark(rows: &mut Vec<Row>, wanted: i64, made: &mut Made<'_>) -> Vec<Row> {
    let (mut left, mut moved) = (wanted, Vec::new());
    for at in in_turn(rows) {
        let Some(row) = rows.get_mut(at) else { continue };
        let part = row.movable().min(left);
        if part <= 0 {
            continue;
        }
        left -= part;
        row.amount -= part;
        let mut taken = Row { amount: part, reserved: 0, offer: None, ..row.clone() };
        if row.amount > 0 {
            (taken.id, taken.version, taken.number) = (made.id(), 1, None);
        }
        moved.push(taken);
    }
    rows.retain(|row| row.amount > 0);
    moved
}

/// Books so much out. An offer that promises more than is left of its row is lowered to that, and ends with
/// the row (STK-17).
fn take(rows: &mut Vec<Row>, amount: i64) {
    let mut left = amount;
    for at in in_turn(rows) {
        let Some(row) = rows.get_mut(at) else { continue };
        let part = row.free().min(left);
        left -= part;
        row.amount -= part;
        if let Some(offer) = &mut row.offer {
            offer.amount = offer.amount.min(row.amount);
        }
    }
    rows.retain(|row| row.amount > 0);
}

/// Books so much in as personal stock: counted pieces to those that are there (STK-15).
fn put(rows: &mut Vec<Row>, measure: Measure, amount: i64, now: Moment, made: &mut Made<'_>) {
    let there = in_turn(rows).first().and_then(|&at| rows.get_mut(at));
    match there.filter(|row| measure == Measure::Piece && row.keeping == Keeping::Personal) {
        Some(row) => row.amount += amount,
        None => rows.push(Row {
            id: made.id(),
            amount,
            keeping: Keeping::Personal,
            version: 1,
            note: None,
            booked_at: now,
            reserved: 0,
            offer: None,
            number: None,
        }),
    }
}

/// A row that the batch changed, or gave another lot, has its next version.
fn count_versions(states: &mut BTreeMap<Lot, State>) {
    let mut before: HashMap<&str, (&Lot, &Row)> = HashMap::new();
    for (lot, state) in &*states {
        before.extend(state.before.rows.iter().map(|row| (&*row.id, (lot, row))));
    }
    let mut changed: HashSet<String> = HashSet::new();
    for (lot, state) in &*states {
        let is_changed = |row: &&Row| before.get(&*row.id).is_some_and(|was| *was != (lot, *row));
        changed.extend(state.rows.iter().filter(is_changed).map(|row| row.id.clone()));
    }
    for row in states.values_mut().flat_map(|state| &mut state.rows) {
        row.version += i64::from(changed.contains(&row.id));
    }
}
