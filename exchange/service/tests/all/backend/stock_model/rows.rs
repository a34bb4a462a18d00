//! A direct interpreter of the rows of stock: booking order, re-marking, joining, and offers.

use std::collections::BTreeMap;

use exchange_service::time::Moment;

use super::super::stock::LotKey;

/// The ownership of a row, in booking order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowOwnership {
    Personal,
    Shared,
    Pool(usize),
}

impl RowOwnership {
    /// Returns the rank in the booking order, which is the same for all pools.
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
    pub(super) ownership: RowOwnership,
    pub(super) reserved: i64,
    pub(super) offered: i64,
}

impl Row {
    fn free(&self) -> i64 {
        self.amount - self.reserved
    }

    /// Returns the amount that is neither reserved nor offered.
    fn movable(&self) -> i64 {
        self.amount - self.reserved.max(self.offered)
    }

    fn lose(&mut self, amount: i64) {
        self.amount -= amount;
        self.offered = self.offered.min(self.amount);
    }
}

/// The time at which a row was booked in, and its insertion order at that time. The insertion order is `None`
/// until the service has inserted the row, which makes it the youngest.
pub(super) type Age = (Moment, Option<i64>);

/// The rows of a member by lot, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(BTreeMap<LotKey, Vec<(Age, Row)>>);

impl Rows {
    pub(super) fn rows_of(&self, lot_key: LotKey) -> &[(Age, Row)] {
        self.0.get(&lot_key).map_or(&[], Vec::as_slice)
    }

    pub(super) fn of_mut(&mut self, lot_key: LotKey) -> &mut Vec<(Age, Row)> {
        self.0.entry(lot_key).or_default()
    }

    pub(super) fn held(&self, lot_key: LotKey) -> i64 {
        self.rows_of(lot_key).iter().map(|(_, row)| row.amount).sum()
    }

    /// Returns the amount of a lot that is reserved.
    pub(super) fn reserved(&self, lot_key: LotKey) -> i64 {
        self.rows_of(lot_key).iter().map(|(_, row)| row.reserved).sum()
    }

    /// Returns the amounts of all lots that are not empty.
    pub(super) fn lots(&self) -> BTreeMap<LotKey, i64> {
        self.0.keys().map(|lot_key| (*lot_key, self.held(*lot_key))).filter(|(_, held)| *held > 0).collect()
    }

    /// Books the net change of each lot.
    pub(super) fn book(&mut self, changes: &BTreeMap<LotKey, i64>, now: Moment) {
        let mut lacks = changes.clone();
        for (&lot_key, &change) in changes.iter().filter(|(_, change)| **change < 0) {
            let twin = LotKey { stolen: !lot_key.stolen, ..lot_key };
            // STK-19: stock that is only re-marked moves between the twins.
            let rise = changes.get(&twin).copied().unwrap_or(0).max(0);
            let remarked = take(self.of_mut(lot_key), rise.min(-change), Row::movable);
            let sum: i64 = remarked.iter().map(|(_, row)| row.amount).sum();
            take(self.of_mut(lot_key), -change - sum, Row::free);
            if sum > 0 {
                self.of_mut(twin).extend(remarked);
                lacks.entry(twin).and_modify(|rise| *rise -= sum);
            }
        }
        for (lot_key, rise) in lacks.into_iter().filter(|(_, rise)| *rise > 0) {
            self.put(lot_key, rise, now);
        }
        self.0.values_mut().for_each(|rows| rows.sort_by_key(|(age, _)| written(*age)));
    }

    /// Adds rows of another member as new rows without offers.
    pub(super) fn get(&mut self, lot_key: LotKey, received: Vec<(Age, Row)>) {
        let received = received.into_iter().map(|((time, _), row)| ((time, None), Row { offered: 0, ..row }));
        let rows = self.of_mut(lot_key);
        rows.extend(received);
        rows.sort_by_key(|(age, _)| written(*age));
    }

    /// STK-15: adds personal stock; pieces join an existing row.
    fn put(&mut self, lot_key: LotKey, amount: i64, now: Moment) {
        let rows = self.of_mut(lot_key);
        let personal = rows.iter_mut().filter(|(_, row)| row.ownership == RowOwnership::Personal);
        match personal.min_by_key(|(age, _)| written(*age)).filter(|_| lot_key.is_counted()) {
            Some((_, row)) => row.amount += amount,
            None => rows.push((
                (now, None),
                Row { amount, ownership: RowOwnership::Personal, reserved: 0, offered: 0 },
            )),
        }
    }
}

/// Returns the sort key for age.
fn written((time, number): Age) -> (Moment, i64) {
    (time, number.unwrap_or(i64::MAX))
}

/// STK-16: takes up to an amount from rows, of which `may` returns the available part: personal stock first,
/// then shared stock, then pools, each from the oldest row. A part that is taken keeps the age of its row and
/// is inserted as a new row.
fn take(rows: &mut Vec<(Age, Row)>, amount: i64, may: fn(&Row) -> i64) -> Vec<(Age, Row)> {
    let mut turns: Vec<&mut (Age, Row)> = rows.iter_mut().collect();
    turns.sort_by_key(|(age, row)| (row.ownership.turn(), written(*age)));
    let (mut left, mut taken) = (amount, Vec::new());
    for ((booked_at, number), row) in turns {
        let part = may(row).min(left).max(0);
        left -= part;
        row.lose(part);
        let number = number.filter(|_| row.amount == 0);
        taken.push((
            (*booked_at, number),
            Row { amount: part, ownership: row.ownership, reserved: 0, offered: 0 },
        ));
    }
    rows.retain(|(_, row)| row.amount > 0);
    taken.retain(|(_, row)| row.amount > 0);
    taken
}
