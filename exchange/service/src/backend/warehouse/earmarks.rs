//! Earmarks: what of a row stands ready for something, and so is not free.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, list};

/// How many targets of one purpose an entry can show.
const MOST_TARGETS: usize = 1000;

/// What stock is earmarked to. The purposes stand beside each other: the same part can be earmarked to a job
/// order and to a mission at once (OST-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Work that a unit is responsible for.
    JobOrder,
    /// A mission.
    Mission,
    /// A pledge of the holder's. No client sees it or can take of it.
    Donation,
}

impl Purpose {
    /// Its name in the store.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::JobOrder => "job-order",
            Self::Mission => "mission",
            Self::Donation => "donation",
        }
    }

    /// From its name in the store.
    pub(crate) fn named(name: &str) -> Result<Self, StoreError> {
        let all = [Self::JobOrder, Self::Mission, Self::Donation];
        let purpose = all.into_iter().find(|purpose| purpose.as_str() == name);
        purpose.ok_or(StoreError::Corrupt("an earmark of no known kind"))
    }
}

/// A part of a row for one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Earmark {
    /// More than 0.
    pub(crate) amount: i64,
    /// Whether the job order took its share.
    pub(crate) delivered: bool,
}

/// All earmarks of a row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Earmarks(BTreeMap<Purpose, BTreeMap<String, Earmark>>);

impl Earmarks {
    /// What is earmarked for a purpose.
    pub(crate) fn sum(&self, purpose: Purpose) -> i64 {
        self.0.get(&purpose).map_or(0, |targets| targets.values().map(|earmark| earmark.amount).sum())
    }

    /// The part of the row that is not free: the largest sum of a purpose.
    pub(crate) fn reserved(&self) -> i64 {
        self.0.keys().map(|purpose| self.sum(*purpose)).max().unwrap_or(0)
    }

    /// What is earmarked to a target.
    pub(crate) fn amount(&self, purpose: Purpose, target: &str) -> i64 {
        self.0.get(&purpose).and_then(|targets| targets.get(target)).map_or(0, |earmark| earmark.amount)
    }

    /// Every earmark.
    pub(crate) fn all(&self) -> impl Iterator<Item = (Purpose, &str, Earmark)> {
        let of = |(purpose, targets): (&Purpose, _)| {
            let (purpose, targets): (Purpose, &BTreeMap<String, Earmark>) = (*purpose, targets);
            targets.iter().map(move |(target, earmark)| (purpose, target.as_str(), *earmark))
        };
        self.0.iter().flat_map(of)
    }

    /// Earmarks more to a target; nothing more is no earmark.
    pub(crate) fn add(&mut self, purpose: Purpose, target: &str, more: Earmark) {
        if more.amount > 0 {
            let targets = self.0.entry(purpose).or_default();
            targets.entry(target.to_owned()).or_insert(Earmark { amount: 0, ..more }).amount += more.amount;
        }
    }

    /// Takes so much from a target's part, at most what there is; it stays what it was.
    pub(crate) fn take(&mut self, purpose: Purpose, target: &str, amount: i64) -> Option<Earmark> {
        let targets = self.0.get_mut(&purpose)?;
        let there = targets.get_mut(target)?;
        let taken = Earmark { amount: amount.min(there.amount), ..*there };
        there.amount -= taken.amount;
        if there.amount == 0 {
            targets.remove(target);
        }
        if targets.is_empty() {
            self.0.remove(&purpose);
        }
        Some(taken)
    }

    /// Whether these and those can stand on one row: no target has taken its share of one part only, and all
    /// of them can be shown.
    pub(crate) fn fit(&self, others: &Self) -> bool {
        others.0.iter().all(|(purpose, others)| {
            let Some(own) = self.0.get(purpose) else { return true };
            let agree = |(target, other): (&String, &Earmark)| {
                own.get(target).is_none_or(|own| own.delivered == other.delivered)
            };
            let more = others.keys().filter(|target| !own.contains_key(*target)).count();
            others.iter().all(agree) && own.len() + more <= MOST_TARGETS
        })
    }

    /// Whether all of them can be shown.
    pub(crate) fn are_shown(&self) -> bool {
        self.0.values().all(|targets| targets.len() <= MOST_TARGETS)
    }

    /// Those of rows, by the rows' ids; rows without any are left out.
    pub(crate) fn read<'r>(
        connection: &Connection,
        rows: impl IntoIterator<Item = &'r str>,
    ) -> Result<HashMap<String, Self>, StoreError> {
        let mut found = connection.prepare_cached(
            "SELECT e.stock_row, e.kind, e.target, e.amount, e.delivered \
             FROM (SELECT DISTINCT value FROM json_each(?1)) k CROSS JOIN stock_earmark e \
             WHERE e.stock_row = k.value",
        )?;
        let mut found = found.query([list(rows)])?;
        let mut all: HashMap<String, Self> = HashMap::new();
        while let Some(row) = found.next()? {
            let (kind, target): (String, String) = (row.get(1)?, row.get(2)?);
            let earmark = Earmark { amount: row.get(3)?, delivered: row.get(4)? };
            all.entry(row.get(0)?).or_default().add(Purpose::named(&kind)?, &target, earmark);
        }
        Ok(all)
    }

    /// Writes them for a row that has none.
    pub(crate) fn write(&self, connection: &Connection, row: &str) -> Result<(), StoreError> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO stock_earmark (stock_row, kind, target, amount, delivered) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (purpose, target, Earmark { amount, delivered }) in self.all() {
            insert.execute(params![row, purpose.as_str(), target, amount, delivered])?;
        }
        Ok(())
    }

    /// Takes all earmarks of a row away.
    pub(crate) fn clear(connection: &Connection, row: &str) -> Result<(), StoreError> {
        connection.prepare_cached("DELETE FROM stock_earmark WHERE stock_row = ?1")?.execute([row])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OST-11: purposes stand beside each other, so the largest sum is what is not free.
    #[test]
    fn purposes_stand_beside_each_other() {
        let mut earmarks = Earmarks::default();
        let part = |amount| Earmark { amount, delivered: false };
        for (purpose, target, amount) in [
            (Purpose::JobOrder, "a", 3),
            (Purpose::JobOrder, "b", 4),
            (Purpose::Mission, "a", 5),
            (Purpose::Donation, "a", 0),
        ] {
            earmarks.add(purpose, target, part(amount));
        }
        assert_eq!((earmarks.reserved(), earmarks.all().count()), (7, 3));
        assert_eq!(earmarks.take(Purpose::JobOrder, "b", 9), Some(part(4)), "at most what there is");
        assert_eq!(earmarks.take(Purpose::JobOrder, "b", 1), None);
        assert_eq!(earmarks.reserved(), 5);
        earmarks.add(Purpose::Donation, "c", part(6));
        assert_eq!((earmarks.reserved(), earmarks.amount(Purpose::Donation, "c")), (6, 6));
    }

    /// OST-11: what was delivered and what was not are two earmarks of an order, so of two entries.
    #[test]
    fn parts_of_which_one_was_delivered_do_not_fit() {
        let of = |target: &str, delivered| {
            let mut earmarks = Earmarks::default();
            earmarks.add(Purpose::JobOrder, target, Earmark { amount: 1, delivered });
            earmarks
        };
        assert!(of("a", true).fit(&of("a", true)) && of("a", true).fit(&of("b", false)));
        assert!(!of("a", true).fit(&of("a", false)));
        let mut many = Earmarks::default();
        for target in 0..MOST_TARGETS {
            many.add(Purpose::Mission, &target.to_string(), Earmark { amount: 1, delivered: false });
        }
        let mission = |target: &str| {
            let mut earmarks = Earmarks::default();
            earmarks.add(Purpose::Mission, target, Earmark { amount: 1, delivered: false });
            earmarks
        };
        assert!(many.are_shown());
        assert!(many.fit(&mission("7")) && !many.fit(&mission("another")) && many.fit(&of("a", false)));
    }
}
