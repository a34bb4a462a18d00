//! Earmarks: the parts of a stock row that are reserved for targets.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use crate::store::{StoreError, json_list};

/// The maximum number of targets per purpose that an entry can have.
const MAX_TARGETS: usize = 1000;

/// The purpose of an earmark. Purposes overlap: the same part of a row can be earmarked both to a job order
/// and to a mission (OST-11).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EarmarkPurpose {
    /// The stock is for a job order of a unit.
    JobOrder,
    /// The stock is for a mission of the organization.
    Mission,
    /// The stock is for a donation that the holder pledged. Clients can neither see nor use it.
    Donation,
}

impl EarmarkPurpose {
    /// Returns the stored name.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::JobOrder => "job-order",
            Self::Mission => "mission",
            Self::Donation => "donation",
        }
    }

    /// Parses the stored name.
    pub(crate) fn from_name(name: &str) -> Result<Self, StoreError> {
        let all = [Self::JobOrder, Self::Mission, Self::Donation];
        let purpose = all.into_iter().find(|purpose| purpose.as_str() == name);
        purpose.ok_or(StoreError::Corrupt("unknown earmark kind"))
    }
}

/// The part of a row that is earmarked to one target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Earmark {
    /// The earmarked amount. Invariant: greater than 0.
    pub(crate) amount: i64,
    /// Whether the job order has received the amount.
    pub(crate) delivered: bool,
}

/// All earmarks of a row, by purpose and target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct EarmarkSet(BTreeMap<EarmarkPurpose, BTreeMap<String, Earmark>>);

impl EarmarkSet {
    /// Returns the total of all earmarks for a purpose.
    pub(crate) fn purpose_total(&self, purpose: EarmarkPurpose) -> i64 {
        self.0.get(&purpose).map_or(0, |targets| targets.values().map(|earmark| earmark.amount).sum())
    }

    /// Returns the reserved amount of the row, which is the largest total of any purpose.
    pub(crate) fn reserved_amount(&self) -> i64 {
        self.0.keys().map(|purpose| self.purpose_total(*purpose)).max().unwrap_or(0)
    }

    /// Returns the amount that is earmarked to a target, or 0.
    pub(crate) fn target_amount(&self, purpose: EarmarkPurpose, target: &str) -> i64 {
        self.0.get(&purpose).and_then(|targets| targets.get(target)).map_or(0, |earmark| earmark.amount)
    }

    /// Returns an iterator over the earmarks, as tuples of purpose, target and earmark.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (EarmarkPurpose, &str, Earmark)> {
        let of = |(purpose, targets): (&EarmarkPurpose, _)| {
            let (purpose, targets): (EarmarkPurpose, &BTreeMap<String, Earmark>) = (*purpose, targets);
            targets.iter().map(move |(target, earmark)| (purpose, target.as_str(), *earmark))
        };
        self.0.iter().flat_map(of)
    }

    /// Adds an amount to the earmark of a target. Does nothing for an amount of 0.
    pub(crate) fn add_earmark(&mut self, purpose: EarmarkPurpose, target: &str, more: Earmark) {
        if more.amount > 0 {
            let targets = self.0.entry(purpose).or_default();
            targets.entry(target.to_owned()).or_insert(Earmark { amount: 0, ..more }).amount += more.amount;
        }
    }

    /// Takes up to `amount` from the earmark of a target and returns the taken part. Returns `None` if there
    /// is no such earmark.
    pub(crate) fn take_earmark(
        &mut self,
        purpose: EarmarkPurpose,
        target: &str,
        amount: i64,
    ) -> Option<Earmark> {
        let targets = self.0.get_mut(&purpose)?;
        let remaining = targets.get_mut(target)?;
        let taken = Earmark { amount: amount.min(remaining.amount), ..*remaining };
        remaining.amount -= taken.amount;
        if remaining.amount == 0 {
            targets.remove(target);
        }
        if targets.is_empty() {
            self.0.remove(&purpose);
        }
        Some(taken)
    }

    /// Returns true if two rows with these earmarks can be merged: each common target is delivered in both
    /// rows or in neither, and the number of targets stays within the limit.
    pub(crate) fn is_compatible_with(&self, others: &Self) -> bool {
        others.0.iter().all(|(purpose, others)| {
            let Some(targets) = self.0.get(purpose) else { return true };
            let agree = |(target, other): (&String, &Earmark)| {
                targets.get(target).is_none_or(|earmark| earmark.delivered == other.delivered)
            };
            let more = others.keys().filter(|target| !targets.contains_key(*target)).count();
            others.iter().all(agree) && targets.len() + more <= MAX_TARGETS
        })
    }

    /// Returns true if each purpose has at most [`MAX_TARGETS`] targets.
    pub(crate) fn fits_limit(&self) -> bool {
        self.0.values().all(|targets| targets.len() <= MAX_TARGETS)
    }

    /// Loads the earmarks of rows, by row id. Rows without earmarks are omitted.
    pub(crate) fn load_earmarks<'r>(
        connection: &Connection,
        rows: impl IntoIterator<Item = &'r str>,
    ) -> Result<HashMap<String, Self>, StoreError> {
        let mut found = connection.prepare_cached(
            "SELECT e.stock_row, e.kind, e.target, e.amount, e.delivered \
             FROM (SELECT DISTINCT value FROM json_each(?1)) k CROSS JOIN stock_earmark e \
             WHERE e.stock_row = k.value",
        )?;
        let mut found = found.query([json_list(rows)])?;
        let mut all: HashMap<String, Self> = HashMap::new();
        while let Some(row) = found.next()? {
            let (kind, target): (String, String) = (row.get(1)?, row.get(2)?);
            let earmark = Earmark { amount: row.get(3)?, delivered: row.get(4)? };
            all.entry(row.get(0)?).or_default().add_earmark(
                EarmarkPurpose::from_name(&kind)?,
                &target,
                earmark,
            );
        }
        Ok(all)
    }

    /// Inserts the earmarks of a row for which no earmarks are stored.
    pub(crate) fn insert_earmarks(&self, connection: &Connection, row: &str) -> Result<(), StoreError> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO stock_earmark (stock_row, kind, target, amount, delivered) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (purpose, target, Earmark { amount, delivered }) in self.iter() {
            insert.execute(params![row, purpose.as_str(), target, amount, delivered])?;
        }
        Ok(())
    }

    pub(crate) fn delete_earmarks(connection: &Connection, row: &str) -> Result<(), StoreError> {
        connection.prepare_cached("DELETE FROM stock_earmark WHERE stock_row = ?1")?.execute([row])?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// OST-11: purposes overlap, so the largest total of a purpose is reserved.
    #[test]
    fn earmark_purposes_overlap() {
        let mut earmarks = EarmarkSet::default();
        let part = |amount| Earmark { amount, delivered: false };
        for (purpose, target, amount) in [
            (EarmarkPurpose::JobOrder, "a", 3),
            (EarmarkPurpose::JobOrder, "b", 4),
            (EarmarkPurpose::Mission, "a", 5),
            (EarmarkPurpose::Donation, "a", 0),
        ] {
            earmarks.add_earmark(purpose, target, part(amount));
        }
        assert_eq!((earmarks.reserved_amount(), earmarks.iter().count()), (7, 3));
        assert_eq!(
            earmarks.take_earmark(EarmarkPurpose::JobOrder, "b", 9),
            Some(part(4)),
            "the taken part is at most the earmarked amount"
        );
        assert_eq!(earmarks.take_earmark(EarmarkPurpose::JobOrder, "b", 1), None);
        assert_eq!(earmarks.reserved_amount(), 5);
        earmarks.add_earmark(EarmarkPurpose::Donation, "c", part(6));
        assert_eq!(
            (earmarks.reserved_amount(), earmarks.target_amount(EarmarkPurpose::Donation, "c")),
            (6, 6)
        );
    }

    /// OST-11: rows with a delivered and an undelivered earmark for the same order cannot be merged.
    #[test]
    fn delivered_and_open_earmarks_do_not_merge() {
        let of = |target: &str, delivered| {
            let mut earmarks = EarmarkSet::default();
            earmarks.add_earmark(EarmarkPurpose::JobOrder, target, Earmark { amount: 1, delivered });
            earmarks
        };
        assert!(
            of("a", true).is_compatible_with(&of("a", true))
                && of("a", true).is_compatible_with(&of("b", false))
        );
        assert!(!of("a", true).is_compatible_with(&of("a", false)));
        let mut many = EarmarkSet::default();
        for target in 0..MAX_TARGETS {
            many.add_earmark(
                EarmarkPurpose::Mission,
                &target.to_string(),
                Earmark { amount: 1, delivered: false },
            );
        }
        let mission = |target: &str| {
            let mut earmarks = EarmarkSet::default();
            earmarks.add_earmark(EarmarkPurpose::Mission, target, Earmark { amount: 1, delivered: false });
            earmarks
        };
        assert!(many.fits_limit());
        assert!(
            many.is_compatible_with(&mission("7"))
                && !many.is_compatible_with(&mission("another"))
                && many.is_compatible_with(&of("a", false))
        );
    }
}
