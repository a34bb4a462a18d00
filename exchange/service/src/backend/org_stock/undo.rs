//! Reverts pools. An entry gets back its earlier holder, pool, location, stolen flag, note and earmarks; a
//! sale is deleted. Entries between which a change set moved stock are reverted together, as are a sale and
//! its entry (OST-20 to OST-28).
//!
//! The journal records the change of an entry under the Logistician who made it. Changes by other
//! Logisticians and by the holder are therefore detected by comparison: a change does not start from the
//! state that the previous one left, or the current entry differs from the last recorded state.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

use super::super::change::{ChangeExtras, EntryDelta, MemberNotice, WriteContext};
use super::super::undo::moves::{MoveSide, gave_and_got};
use super::super::undo::{EntryChange, RevertOutcome, UndoConflict, UndoableArea};
use super::super::units;
use super::super::warehouse::{EarmarkPurpose, Lot, StockRow};
use super::OrgStockArea;
use super::pool_record::{PoolEntry, PoolRecord, StockSale};
use super::table::{find_sale, load_entries};
use crate::catalogue::contents::EntryKind;
use crate::ids::{MemberId, UnitId};
use crate::records::OwnedActor;
use crate::store::StoreError;

const NOTICE: &str = "org-stock.undo";

/// The combined changes that a client made to one entry or to one sale.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordHistory {
    change: EntryChange<PoolRecord>,
    /// The last state in which the record existed.
    last: Option<PoolRecord>,
    /// Whether each change started from the state that the previous change left.
    is_whole: bool,
}

/// The current state of the entries and sales to revert.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CurrentRecords {
    records: BTreeMap<String, PoolRecord>,
    /// The units of which the member is a Logistician.
    logistician_units: BTreeSet<String>,
    /// The pairs of unit and holder from earlier states in which the holder is still a direct member of the
    /// unit.
    memberships: BTreeSet<(UnitId, MemberId)>,
    /// The targets of earlier earmarks that still exist: missions, and job orders that are not done.
    targets: BTreeSet<(EarmarkPurpose, String)>,
}

impl UndoableArea for OrgStockArea {
    type EntryHistory = RecordHistory;
    type CurrentState = CurrentRecords;

    const MOVES: bool = true;

    fn linked_changes(changes: &[EntryChange<PoolRecord>]) -> Vec<Vec<usize>> {
        gave_and_got(changes.iter().map(move_shares)).collect()
    }

    fn fold_change(past: Option<RecordHistory>, change: EntryChange<PoolRecord>) -> RecordHistory {
        let last = change.after.clone().or_else(|| change.before.clone());
        match past {
            None => RecordHistory { change, last, is_whole: true },
            Some(RecordHistory { change: before, last: earlier, is_whole }) => RecordHistory {
                is_whole: is_whole && is_same_record(before.after.as_ref(), change.before.as_ref()),
                change: EntryChange { before: before.before, after: change.after },
                last: last.or(earlier),
            },
        }
    }

    fn history_delta(key: &str, past: &RecordHistory) -> EntryDelta<PoolRecord> {
        record_delta(key, past.last.clone(), None)
    }

    fn load_current(
        connection: &Connection,
        member: &MemberId,
        pasts: &[(&str, &RecordHistory)],
    ) -> Result<CurrentRecords, StoreError> {
        let mine =
            units::direct_memberships(connection, member)?.into_iter().filter(|one| one.is_logistician);
        let mine = mine.map(|one| one.unit.id.into_string()).collect();
        let is_entry =
            |past: &RecordHistory| past.last.as_ref().is_some_and(|last| last.as_entry().is_some());
        let (of_entries, of_sales): (Vec<_>, Vec<_>) = pasts.iter().partition(|(_, past)| is_entry(past));
        let entries = load_entries(connection, of_entries.iter().map(|(key, _)| *key))?;
        let records = entries.into_iter().map(|(id, entry)| (id, PoolRecord::Entry(entry))).collect();
        let mut present = CurrentRecords { records, logistician_units: mine, ..CurrentRecords::default() };
        for (key, _) in of_sales {
            let sale = find_sale(connection, key)?.map(|sale| ((*key).to_owned(), PoolRecord::Sale(sale)));
            present.records.extend(sale);
        }
        for (_, past) in of_entries {
            if let Some(PoolRecord::Entry(before)) = &past.change.before {
                present.load_requirements(connection, before)?;
            }
        }
        Ok(present)
    }

    fn revert_entries(
        present: &CurrentRecords,
        pasts: &[(&str, &RecordHistory)],
        writer: &WriteContext,
    ) -> RevertOutcome<PoolRecord> {
        let ends: Vec<_> =
            pasts.iter().map(|(key, past)| revert_record(present, key, past, writer)).collect();
        let notices = collect_notices(ends.iter().flatten().flatten(), writer);
        RevertOutcome { results: ends, extras: ChangeExtras::default(), notices }
    }
}

impl CurrentRecords {
    /// Records which of the earlier unit, holder and earmark targets of an entry still exist.
    fn load_requirements(&mut self, connection: &Connection, before: &PoolEntry) -> Result<(), StoreError> {
        let PoolEntry { holder, row, earmarks, .. } = before;
        if let Some(unit) = row.keeping.pool_unit() {
            let sql = "SELECT EXISTS (SELECT 1 FROM membership s JOIN member m ON m.id = s.member \
                       WHERE s.member = ?1 AND s.unit = ?2 AND m.state <> 'deleted')";
            if connection.prepare_cached(sql)?.query_row(params![holder, unit], |row| row.get(0))? {
                self.memberships.insert((unit.clone(), holder.clone()));
            }
        }
        for (purpose, target, _) in earmarks.iter() {
            let sql = match purpose {
                EarmarkPurpose::Mission => "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)",
                EarmarkPurpose::JobOrder => {
                    "SELECT EXISTS (SELECT 1 FROM job_order WHERE id = ?1 AND state IN ('open', 'in-progress'))"
                }
                // Clients cannot remove donations, so a revert never restores one.
                EarmarkPurpose::Donation => continue,
            };
            if connection.prepare_cached(sql)?.query_row([target], |row| row.get(0))? {
                self.targets.insert((purpose, target.to_owned()));
            }
        }
        Ok(())
    }
}

/// Returns the stock that a change gave or received, under names that are equal for both sides of a move or a
/// sale.
fn move_shares(EntryChange { before, after }: &EntryChange<PoolRecord>) -> Vec<(String, MoveSide)> {
    let sold = |kind: EntryKind, material: &str| format!("{}:{material}", kind.as_str());
    if let (None, Some(PoolRecord::Sale(StockSale { kind, material, .. }))) = (before, after) {
        return vec![(sold(*kind, material), MoveSide::Got)];
    }
    let [before, after] = [before, after].map(|record| record.as_ref().and_then(PoolRecord::as_entry));
    let Some(Lot { kind, material, measure, quality, .. }) = before.or(after).map(|entry| &entry.lot) else {
        return Vec::new();
    };
    let amount = |entry: Option<&PoolEntry>| entry.map_or(0, |entry| entry.row.amount);
    let side = match amount(after) - amount(before) {
        0 => return Vec::new(),
        more if more > 0 => MoveSide::Got,
        _ => MoveSide::Gave,
    };
    // The name omits location, pool, holder and stolen flag, because a move can change them. Sold stock may
    // have been booked in by the same change set.
    let moved = format!("{}:{}:{quality}:{material}", kind.as_str(), measure.as_str());
    vec![(moved, side), (sold(*kind, material), MoveSide::Gave)]
}

/// Decides how to revert one entry or sale.
fn revert_record(
    present: &CurrentRecords,
    key: &str,
    past: &RecordHistory,
    writer: &WriteContext,
) -> Result<Option<EntryDelta<PoolRecord>>, UndoConflict> {
    let RecordHistory { change: EntryChange { before, after }, last, is_whole } = past;
    let now = present.records.get(key);
    if !is_whole {
        return Err(UndoConflict::ChangedSince(None));
    }
    if !is_same_record(now, after.as_ref()) {
        return Err(conflict_reason(now, after.as_ref()));
    }
    if is_same_record(now, before.as_ref()) {
        return Ok(None);
    }
    // For administrators and the system, the current permissions of the member do not matter.
    let may = |record: &PoolRecord| {
        record.unit().is_none_or(|unit| present.logistician_units.contains(unit.as_str()))
    };
    if matches!(writer.actor, OwnedActor::Member(_)) && !now.into_iter().chain(before).all(may) {
        return Err(UndoConflict::NotPermitted);
    }
    let is = now.and_then(PoolRecord::as_entry);
    let offered = is.map_or(0, PoolEntry::offered_amount);
    let Some(PoolRecord::Entry(before)) = before else {
        return if offered > 0 {
            Err(UndoConflict::Offered)
        } else {
            Ok(Some(record_delta(key, now.cloned(), None)))
        };
    };
    let Some(last) = is.or(last.as_ref().and_then(PoolRecord::as_entry)) else { return Ok(None) };
    if offered > before.row.amount {
        return Err(UndoConflict::Offered);
    }
    let place =
        |entry: &PoolEntry| entry.row.keeping.pool_unit().map(|unit| (unit.clone(), entry.holder.clone()));
    let comes = place(before).filter(|place_before| is.and_then(place).as_ref() != Some(place_before));
    if comes.is_some_and(|place| !present.memberships.contains(&place)) {
        return Err(UndoConflict::HolderLeft);
    }
    let has = |purpose, target: &str| is.map_or(0, |is| is.earmarks.target_amount(purpose, target));
    let mut gains =
        before.earmarks.iter().filter(|(purpose, target, one)| one.amount > has(*purpose, target));
    if gains.any(|(purpose, target, _)| !present.targets.contains(&(purpose, target.to_owned()))) {
        return Err(UndoConflict::TargetEnded);
    }
    let row = StockRow {
        version: last.row.version + 1,
        reserved: before.earmarks.reserved_amount(),
        offer: is.and_then(|is| is.row.offer.clone()),
        ..before.row.clone()
    };
    let requested = PoolRecord::Entry(PoolEntry { row, ..before.clone() });
    Ok(Some(record_delta(key, now.cloned(), Some(requested))))
}

/// Returns the reason why a record is not reverted. Call this only for a record that differs from the state
/// in which the client left it.
fn conflict_reason(now: Option<&PoolRecord>, after: Option<&PoolRecord>) -> UndoConflict {
    match (now, after) {
        (_, Some(PoolRecord::Sale(_))) => UndoConflict::SaleChanged,
        (Some(PoolRecord::Entry(now)), Some(PoolRecord::Entry(after))) => {
            let as_marked = PoolEntry { earmarks: after.earmarks.clone(), ..now.clone() };
            let mut marks = now.earmarks.iter();
            let has_new_earmark = marks
                .any(|(purpose, target, one)| one.amount > after.earmarks.target_amount(purpose, target));
            if has_new_earmark && is_same_entry(&as_marked, after) {
                UndoConflict::Reserved
            } else {
                UndoConflict::ChangedSince(None)
            }
        }
        _ => UndoConflict::ChangedSince(None),
    }
}

/// Returns true if both records are equal except for offers and versions, or if both are missing.
fn is_same_record(one: Option<&PoolRecord>, other: Option<&PoolRecord>) -> bool {
    match (one, other) {
        (Some(PoolRecord::Entry(one)), Some(PoolRecord::Entry(other))) => is_same_entry(one, other),
        (one, other) => one == other,
    }
}

/// Returns true if two entries have the same holder, lot, earmarks, amount, ownership and note. Ignores offers,
/// which are handled separately, and versions, which every revert changes.
fn is_same_entry(one: &PoolEntry, other: &PoolEntry) -> bool {
    let parts = |entry: &PoolEntry| (entry.row.amount, entry.row.keeping.clone(), entry.row.note.clone());
    (&one.holder, &one.lot, &one.earmarks) == (&other.holder, &other.lot, &other.earmarks)
        && parts(one) == parts(other)
}

/// Returns notices to all other members whose entries gain, lose or move stock (OST-19).
fn collect_notices<'t>(
    touched: impl Iterator<Item = &'t EntryDelta<PoolRecord>>,
    writer: &WriteContext,
) -> Vec<MemberNotice> {
    let mut notified = BTreeSet::new();
    for EntryDelta { before, after, .. } in touched {
        let [before, after] = [before, after].map(|record| record.as_ref().and_then(PoolRecord::as_entry));
        let is_reserved = |entry: &PoolEntry| {
            (entry.holder.clone(), entry.lot.location.clone(), entry.row.keeping.clone(), entry.row.amount)
        };
        if before.map(is_reserved) != after.map(is_reserved) {
            let holders = before.into_iter().chain(after).map(|entry| entry.holder.clone());
            notified.extend(holders.filter(|holder| *holder != writer.member));
        }
    }
    notified.into_iter().map(|member| MemberNotice { member, kind: NOTICE }).collect()
}

fn record_delta(key: &str, before: Option<PoolRecord>, after: Option<PoolRecord>) -> EntryDelta<PoolRecord> {
    EntryDelta { key: key.to_owned(), before, after, removal: false, overridden: false }
}
