//! The ledger of a change set, which applies decided ops to the loaded entries in memory. It makes no
//! decisions and rejects nothing.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::super::super::change::{
    BatchDecision, ChangeExtras, EntryDelta, EntryIds, MemberNotice, OpStatus, WriteContext,
};
use super::super::super::warehouse::{EarmarkPurpose, EarmarkSet, Lot, StockOwnership, StockRow};
use super::super::pool_record::{PoolEntry, PoolRecord, StockSale};
use crate::ids::{MemberId, UnitId};
use crate::time::Moment;

/// Stock that was taken out of an entry and not yet added to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StockPart {
    pub(super) holder: MemberId,
    pub(super) lot: Lot,
    pub(super) unit: UnitId,
    pub(super) amount: i64,
    pub(super) note: Option<String>,
    pub(super) booked_at: Moment,
    pub(super) earmarks: EarmarkSet,
}

/// The entries of a change set, before the first op and after the ops applied so far.
pub(super) struct PoolLedger<'w> {
    writer: &'w WriteContext,
    before: BTreeMap<String, PoolEntry>,
    current: BTreeMap<String, PoolEntry>,
    /// The ids of entries by holder and lot, sorted from oldest to newest. A lot and its stolen twin have the
    /// same list. Among entries with the same time, new ones follow existing ones. An op changes only the
    /// pool or the stolen flag of an entry, so an entry always stays in its list.
    joinable: HashMap<(MemberId, Lot), Vec<(Moment, String)>>,
    sales: Vec<(String, StockSale)>,
    notices: BTreeSet<MemberNotice>,
    new_ids: EntryIds<'w>,
}

impl<'w> PoolLedger<'w> {
    /// Creates a ledger over entries, which must be sorted from oldest to newest.
    pub(super) fn new(entries: Vec<PoolEntry>, writer: &'w WriteContext) -> Self {
        let mut joinable: HashMap<_, Vec<_>> = HashMap::with_capacity(entries.len());
        for PoolEntry { holder, lot, row, .. } in &entries {
            joinable.entry(twin_key(holder, lot)).or_default().push((row.booked_at, row.id.clone()));
        }
        let now: BTreeMap<String, PoolEntry> =
            entries.into_iter().map(|entry| (entry.row.id.clone(), entry)).collect();
        let (sales, notices) = Default::default();
        Self {
            writer,
            before: now.clone(),
            current: now,
            joinable,
            sales,
            notices,
            new_ids: EntryIds::new(writer),
        }
    }

    pub(super) fn now(&self) -> Moment {
        self.writer.now
    }

    /// Returns an entry in its current state, after the ops applied so far.
    pub(super) fn entry(&self, id: &str) -> Option<&PoolEntry> {
        self.current.get(id)
    }

    /// Adds a notice to a member, unless the member is the writer (OST-19).
    pub(super) fn notify_member(&mut self, member: &MemberId, kind: &'static str) {
        if *member != self.writer.member {
            self.notices.insert(MemberNotice { member: member.clone(), kind });
        }
    }

    /// Changes an entry and increments its version (A14).
    pub(super) fn update_entry(&mut self, id: &str, change: impl FnOnce(&mut PoolEntry)) {
        if let Some(entry) = self.current.get_mut(id) {
            change(entry);
            entry.row.reserved = entry.earmarks.reserved_amount();
            entry.row.version += 1;
        }
    }

    /// Takes an amount out of an entry, with the given shares of its earmarks. Deletes the entry if it is
    /// then empty. Lowers an offer that exceeds the remaining amount (OST-19).
    pub(super) fn take_stock(
        &mut self,
        id: &str,
        amount: i64,
        shares: &[(EarmarkPurpose, String, i64)],
    ) -> Option<StockPart> {
        let unit = self.current.get(id)?.row.keeping.pool_unit()?.clone();
        let mut part = None;
        self.update_entry(id, |entry| {
            let mut earmarks = EarmarkSet::default();
            for (purpose, target, share) in shares {
                if let Some(taken) = entry.earmarks.take_earmark(*purpose, target, *share) {
                    earmarks.add_earmark(*purpose, target, taken);
                }
            }
            entry.row.amount -= amount;
            if let Some(offer) = &mut entry.row.offer {
                offer.amount = offer.amount.min(entry.row.amount);
            }
            let PoolEntry { holder, lot, row, .. } = entry.clone();
            let StockRow { note, booked_at, .. } = row;
            part = Some(StockPart { holder, lot, unit, amount, note, booked_at, earmarks });
        });
        if self.current.get(id).is_some_and(|entry| entry.row.amount == 0) {
            self.current.remove(id);
        }
        part
    }

    /// Adds stock to a pool. If `joins` is set, the stock is merged with the holder's oldest suitable entry;
    /// otherwise, or if there is none, it becomes a new entry. An existing entry keeps its note unless `note`
    /// is given.
    pub(super) fn put_stock(&mut self, part: StockPart, joins: bool, note: Option<String>) {
        let other = if joins { self.find_joinable(&part, None) } else { None };
        let StockPart { holder, lot, unit, amount, earmarks, .. } = part;
        let Some(other) = other else {
            let id = self.new_ids.next_id();
            let row = StockRow {
                id: id.clone(),
                amount,
                keeping: StockOwnership::Pool(unit),
                version: 1,
                note: part.note,
                booked_at: part.booked_at,
                reserved: earmarks.reserved_amount(),
                offer: None,
                number: None,
            };
            let joinable = self.joinable.entry(twin_key(&holder, &lot)).or_default();
            let at = joinable.partition_point(|(booked_at, _)| *booked_at <= row.booked_at);
            joinable.insert(at, (row.booked_at, id.clone()));
            self.current.insert(id, PoolEntry { holder, lot, row, earmarks });
            return;
        };
        self.update_entry(&other, |entry| {
            entry.row.amount += amount;
            for (purpose, target, earmark) in earmarks.iter() {
                entry.earmarks.add_earmark(purpose, target, earmark);
            }
            if note.is_some() {
                entry.row.note = note;
            }
        });
    }

    /// Moves a whole entry to another pool, or merges it with an entry in that pool. An entry with an offer
    /// is never merged, because the offer refers to the entry.
    pub(super) fn move_whole(&mut self, id: &str, unit: UnitId, joins: bool) {
        let Some(PoolEntry { holder, lot, row, earmarks }) = self.current.get(id).cloned() else { return };
        let StockRow { amount, note, booked_at, offer, .. } = row;
        let part = StockPart { holder, lot, unit: unit.clone(), amount, note, booked_at, earmarks };
        if joins && offer.is_none() && self.find_joinable(&part, Some(id)).is_some() {
            self.current.remove(id);
            self.put_stock(part, true, None);
        } else {
            self.update_entry(id, |entry| entry.row.keeping = StockOwnership::Pool(unit));
        }
    }

    /// Records a sale with the income of the missions.
    pub(super) fn record_sale(
        &mut self,
        part: StockPart,
        terminal: &str,
        proceeds: i64,
        incomes: BTreeMap<String, i64>,
    ) {
        let StockPart { lot, unit, amount, .. } = part;
        let Lot { kind, material, .. } = lot;
        let terminal = terminal.to_owned();
        let id = self.new_ids.next_id();
        self.sales.push((id, StockSale { unit, kind, material, amount, terminal, proceeds, incomes }));
    }

    /// Finds the oldest entry with which a part can be merged: same holder, lot and pool, compatible
    /// earmarks, and a sum within the maximum of a quantity.
    fn find_joinable(&self, part: &StockPart, but: Option<&str>) -> Option<String> {
        let fits = |id: &&String| {
            let Some(entry) = self.current.get(*id).filter(|_| but != Some(id.as_str())) else {
                return false;
            };
            entry.holder == part.holder
                && entry.lot == part.lot
                && entry.is_in(part.unit.as_str())
                && entry.row.amount + part.amount <= part.lot.measure.max_amount()
                && entry.earmarks.is_compatible_with(&part.earmarks)
        };
        self.joinable.get(&twin_key(&part.holder, &part.lot))?.iter().map(|(_, id)| id).find(fits).cloned()
    }

    /// Converts the ledger into the decision of the batch.
    pub(super) fn into_decision(self, ends: Vec<OpStatus>) -> BatchDecision<PoolRecord> {
        let Self { before, current: now, sales, notices, new_ids: made, .. } = self;
        let offers_unsaid = count_offer_changes(&before, &now);
        let ids: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
        let mut changed: Vec<_> = ids.into_iter().filter(|id| before.get(*id) != now.get(*id)).collect();
        // Existing entries come first, by age. New entries follow in the order of their creation, which is
        // also the order in which they are inserted (STK-16).
        changed.sort_by_key(|id| (made.position(id), before.get(*id).map(|entry| entry.row.age_key())));
        let entry = |id: &String| EntryDelta {
            key: id.clone(),
            before: before.get(id).cloned().map(PoolRecord::Entry),
            after: now.get(id).cloned().map(PoolRecord::Entry),
            // A16: the guard does not apply to org stock.
            removal: false,
            overridden: false,
        };
        let sale = |(key, sale): (String, StockSale)| EntryDelta {
            key,
            before: None,
            after: Some(PoolRecord::Sale(sale)),
            removal: false,
            overridden: false,
        };
        let touched = changed.into_iter().map(entry).chain(sales.into_iter().map(sale)).collect();
        let extras = ChangeExtras { unreported_offers: offers_unsaid, ..ChangeExtras::default() };
        BatchDecision { statuses: ends, touched, extras, notices: notices.into_iter().collect() }
    }
}

/// Returns a key that is equal for a lot and its stolen twin.
fn twin_key(holder: &MemberId, lot: &Lot) -> (MemberId, Lot) {
    (holder.clone(), Lot { stolen: false, ..lot.clone() })
}

/// Counts the offers that were lowered and the offers that were removed.
fn count_offer_changes(
    before: &BTreeMap<String, PoolEntry>,
    now: &BTreeMap<String, PoolEntry>,
) -> (i64, i64) {
    let (mut lowered, mut gone) = (0, 0);
    for (id, entry) in before {
        match now.get(id).map_or(0, PoolEntry::offered_amount) {
            left if left == entry.offered_amount() => {}
            0 => gone += 1,
            _ => lowered += 1,
        }
    }
    (lowered, gone)
}
