//! The journaled records of org stock: entries of pools, and sales.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::journal::JournalEntry;
use super::super::warehouse::{EarmarkSet, Lot, PlacedRow, StockRow};
use crate::catalogue::contents::EntryKind;
use crate::ids::{MemberId, UnitId};

/// A stock row in a pool, with its holder and earmarks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PoolEntry {
    pub(crate) holder: MemberId,
    pub(crate) lot: Lot,
    pub(crate) row: StockRow,
    pub(crate) earmarks: EarmarkSet,
}

impl PoolEntry {
    /// Returns true if the entry is in the pool of the unit.
    pub(crate) fn is_in(&self, unit: &str) -> bool {
        self.row.keeping.pool_unit().is_some_and(|pool| pool.as_str() == unit)
    }

    pub(crate) fn as_placed(&self) -> PlacedRow<'_> {
        PlacedRow { holder: &self.holder, lot: &self.lot, key: None, row: &self.row }
    }

    /// Returns the amount that is offered on the Material Exchange, or 0.
    pub(crate) fn offered_amount(&self) -> i64 {
        self.row.offer.as_ref().map_or(0, |offer| offer.amount)
    }
}

/// A sale of stock out of a pool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StockSale {
    pub(crate) unit: UnitId,
    pub(crate) kind: EntryKind,
    pub(crate) material: String,
    pub(crate) amount: i64,
    pub(crate) terminal: String,
    /// The proceeds, in aUEC.
    pub(crate) proceeds: i64,
    /// The missions' shares of the proceeds, by mission; the rest belongs to the seller (A34).
    pub(crate) incomes: BTreeMap<String, i64>,
}

/// A journaled record of org stock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum PoolRecord {
    Entry(PoolEntry),
    Sale(StockSale),
}

impl JournalEntry for PoolRecord {}

impl PoolRecord {
    pub(crate) const fn as_entry(&self) -> Option<&PoolEntry> {
        match self {
            Self::Entry(entry) => Some(entry),
            Self::Sale(_) => None,
        }
    }

    /// Returns the unit of the entry's pool, or of the pool from which the stock was sold.
    pub(crate) const fn unit(&self) -> Option<&UnitId> {
        match self {
            Self::Entry(entry) => entry.row.keeping.pool_unit(),
            Self::Sale(sale) => Some(&sale.unit),
        }
    }
}
