//! What org-stock ops change: entries of pools; and what they add: sales.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::warehouse::{Earmarks, Lot, Placed, Row};
use crate::catalogue::contents::Kind;
use crate::ids::{MemberId, UnitId};

/// A row in a pool, with its holder and what it is earmarked to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) holder: MemberId,
    pub(crate) lot: Lot,
    pub(crate) row: Row,
    pub(crate) earmarks: Earmarks,
}

impl Entry {
    /// Whether it is in the pool of a unit.
    pub(crate) fn is_in(&self, unit: &str) -> bool {
        self.row.keeping.unit().is_some_and(|own| own.as_str() == unit)
    }

    pub(crate) fn placed(&self) -> Placed<'_> {
        Placed { holder: &self.holder, lot: &self.lot, key: None, row: &self.row }
    }

    /// What it offers on the Material Exchange.
    pub(crate) fn offered(&self) -> i64 {
        self.row.offer.as_ref().map_or(0, |offer| offer.amount)
    }
}

/// Stock that was sold out of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Sale {
    pub(crate) unit: UnitId,
    pub(crate) kind: Kind,
    pub(crate) material: String,
    pub(crate) amount: i64,
    pub(crate) terminal: String,
    /// In aUEC.
    pub(crate) proceeds: i64,
    /// What missions receive of the proceeds; the rest is the seller's (A34).
    pub(crate) incomes: BTreeMap<String, i64>,
}

/// What the journal keeps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Record {
    Entry(Entry),
    Sale(Sale),
}

impl Record {
    pub(crate) const fn entry(&self) -> Option<&Entry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Sale(_) => None,
        }
    }

    /// Whose pool it is in, or was sold out of.
    pub(crate) const fn unit(&self) -> Option<&UnitId> {
        match self {
            Self::Entry(entry) => entry.row.keeping.unit(),
            Self::Sale(sale) => Some(&sale.unit),
        }
    }
}
