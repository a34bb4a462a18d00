//! Rows of stock in a direct interpreter: booking order, re-marking, joining, and offers.

use std::collections::BTreeMap;

use exchange_service::time::Moment;

use super::super::stock::At;

/// The ownership of a row, in booking order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    Personal,
    Shared,
    Pool(usize),
}

impl Kept {
    /// The rank for booking; the same for all pools.
    fn turn(self) -> u8 {
        match self {
            Self::Personal => 0,
            Self::Shared => 1,
            Self::Pool(_) => 2,
        }
    }
}

/// A row without its age.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) amount: i64,
    pub(super) kept: Kept,
    pub(super) reserved: i64,
    pub(super) offered: i64,
}

impl Row {
    fn free(&self) -> i64 {
        self.amount - self.reserved
    }

    /// Returns the amount without reservation and offer.
    fn movable(&self) -> i64 {
        self.amount - self.reserved.max(self.offered)
    }

    fn lose(&mut self, amount: i64) {
        self.amount -= amount;
        self.offered = self.offered.min(self.amount);
    }
}

/// When a row was booked in, and its insertion order at that moment; none until the service has inserted it,
/// which makes it the youngest.
pub(super) type Age = (Moment, Option<i64>);

/// A member's rows by lot, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(BTreeMap<At, Vec<(Age, Row)>>);

impl Rows {
    pub(super) fn of(&self, at: At) -> &[(Age, Row)] {
        self.0.get(&at).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_mut(&mut self, at: At) -> &mut Vec<(Age, Row)> {
        self.0.entry(at).or_default()
    }

    pub(super) fn held(&self, at: At) -> i64 {
        self.of(at).iter().map(|(_, row)| row.amount).sum()
    }

    /// Returns the amount of a lot that cannot be booked out.
    pub(super) fn reserved(&self, at: At) -> i64 {
        self.of(at).iter().map(|(_, row)| row.reserved).sum()
    }

    /// Returns the lots that are not empty.
    pub(super) fn lots(&self) -> BTreeMap<At, i64> {
        self.0.keys().map(|at| (*at, self.held(*at))).filter(|(_, held)| *held > 0).collect()
    }

    /// Books the net change of each lot.
    pub(super) fn book(&mut self, changes: &BTreeMap<At, i64>, now: Moment) {
        let mut lacks = changes.clone();
        for (&at, &change) in changes.iter().filter(|(_, change)| **change < 0) {
            let twin = At { stolen: !at.stolen, ..at };
            // STK-19
            let rise = changes.get(&twin).copied().unwrap_or(0).max(0);
            let remarked = take(self.of_mut(at), rise.min(-change), Row::movable);
            let sum: i64 = remarked.iter().map(|(_, row)| row.amount).sum();
            take(self.of_mut(at), -change - sum, Row::free);
            if sum > 0 {
                self.of_mut(twin).extend(remarked);
                lacks.entry(twin).and_modify(|rise| *rise -= sum);
            }
        }
        for (at, rise) in lacks.into_iter().filter(|(_, rise)| *rise > 0) {
            self.put(at, rise, now);
        }
        self.0.values_mut().for_each(|rows| rows.sort_by_key(|(age, _)| written(*age)));
    }

    /// Receives another member's stock: it is inserted anew, without offers.
    pub(super) fn get(&mut self, at: At, given: Vec<(Age, Row)>) {
        let given = given.into_iter().map(|((at, _), row)| ((at, None), Row { offered: 0, ..row }));
        let rows = self.of_mut(at);
        rows.extend(given);
        rows.sort_by_key(|(age, _)| written(*age));
    }

    /// STK-15: adds personal stock; pieces join existing ones.
    fn put(&mut self, at: At, amount: i64, now: Moment) {
        let rows = self.of_mut(at);
        let personal = rows.iter_mut().filter(|(_, row)| row.kept == Kept::Personal);
        match personal.min_by_key(|(age, _)| written(*age)).filter(|_| at.is_counted()) {
            Some((_, row)) => row.amount += amount,
            None => rows.push(((now, None), Row { amount, kept: Kept::Personal, reserved: 0, offered: 0 })),
        }
    }
}

/// Returns the sort key for age.
fn written((at, number): Age) -> (Moment, i64) {
    (at, number.unwrap_or(i64::MAX))
}

/// STK-16: takes up to an amount from the free parts of rows: personal stock first, then shared, then pools,
/// each from the oldest. A taken part keeps the row's age and is inserted as a new row.
fn take(rows: &mut Vec<(Age, Row)>, amount: i64, may: fn(&Row) -> i64) -> Vec<(Age, Row)> {
    let mut turns: Vec<&mut (Age, Row)> = rows.iter_mut().collect();
    turns.sort_by_key(|(age, row)| (row.kept.turn(), written(*age)));
    let (mut left, mut taken) = (amount, Vec::new());
    for ((booked_at, number), row) in turns {
        let part = may(row).min(left).max(0);
        left -= part;
        row.lose(part);
        let number = number.filter(|_| row.amount == 0);
        taken.push(((*booked_at, number), Row { amount: part, kept: row.kept, reserved: 0, offered: 0 }));
    }
    rows.retain(|(_, row)| row.amount > 0);
    taken.retain(|(_, row)| row.amount > 0);
    taken
}
