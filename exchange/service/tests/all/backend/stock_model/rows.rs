//! How stock stands in rows, as the plainest interpreter books it: which rows a fall takes and in which order, what is
//! re-marked, what a rise joins, and what is left of offers.

use std::collections::BTreeMap;

use exchange_service::time::Moment;

use super::super::stock::At;

/// Whose a row is beside its holder, in the order in which rows are booked out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kept {
    Personal,
    Shared,
    Pool(usize),
}

impl Kept {
    /// All pools alike.
    fn turn(self) -> u8 {
        match self {
            Self::Personal => 0,
            Self::Shared => 1,
            Self::Pool(_) => 2,
        }
    }
}

/// What a row is, but for how old it is.
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

    /// What nothing stands on.
    fn movable(&self) -> i64 {
        self.amount - self.reserved.max(self.offered)
    }

    fn lose(&mut self, amount: i64) {
        self.amount -= amount;
        self.offered = self.offered.min(self.amount);
    }
}

/// When a row was booked in, and its place among those of that moment: none until the service has written it, which
/// makes it the youngest of them.
pub(super) type Age = (Moment, Option<i64>);

/// A member's rows by lots, the oldest first.
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

    /// What of a lot cannot be booked out.
    pub(super) fn reserved(&self, at: At) -> i64 {
        self.of(at).iter().map(|(_, row)| row.reserved).sum()
    }

    /// The lots that hold anything.
    pub(super) fn lots(&self) -> BTreeMap<At, i64> {
        self.0.keys().map(|at| (*at, self.held(*at))).filter(|(_, held)| *held > 0).collect()
    }

    /// Books what a batch came to, by how much each lot changed.
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

    /// Gets what another member gave: it is written anew, and nothing of it is offered any more.
    pub(super) fn get(&mut self, at: At, given: Vec<(Age, Row)>) {
        let given = given.into_iter().map(|((at, _), row)| ((at, None), Row { offered: 0, ..row }));
        let rows = self.of_mut(at);
        rows.extend(given);
        rows.sort_by_key(|(age, _)| written(*age));
    }

    /// STK-15: new personal stock, which counted pieces join where there is some.
    fn put(&mut self, at: At, amount: i64, now: Moment) {
        let rows = self.of_mut(at);
        let personal = rows.iter_mut().filter(|(_, row)| row.kept == Kept::Personal);
        match personal.min_by_key(|(age, _)| written(*age)).filter(|_| at.is_counted()) {
            Some((_, row)) => row.amount += amount,
            None => rows.push(((now, None), Row { amount, kept: Kept::Personal, reserved: 0, offered: 0 })),
        }
    }
}

/// The less, the older.
fn written((at, number): Age) -> (Moment, i64) {
    (at, number.unwrap_or(i64::MAX))
}

/// STK-16: takes up to so much of what may be taken of rows, of personal stock first, then of what is in no pool, then of
/// the oldest. What is taken of a row is as old as the row; a part is written anew.
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
