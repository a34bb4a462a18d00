//! Loads the entries, targets and rosters that ops need; writes entries and sales.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::types::{OrgStockOp, UnitId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::change::{EntryDelta, WriteContext};
use super::super::stock::is_marking_enabled;
use super::super::units;
use super::super::warehouse::{
    self, EarmarkSet, Lot, Measure, StockOwnership, StockRow, load_rows_by_id, load_rows_by_lot,
};
use super::decide::{OpTarget, PoolState, StockItem};
use super::pool_record::{PoolEntry, PoolRecord, StockSale};
use super::roster::{HolderPseudonyms, load_roster};
use super::{as_entry, to_bookings};
use crate::catalogue::contents::EntryKind;
use crate::ids::MemberId;
use crate::store::StoreError;

/// Loads the stored state that the ops depend on.
pub(super) fn load_state(
    connection: &Connection,
    writer: &WriteContext,
    ops: &[OrgStockOp],
    targets: &[OpTarget],
) -> Result<PoolState, StoreError> {
    let mine =
        units::direct_memberships(connection, &writer.member)?.into_iter().filter(|one| one.is_logistician);
    let loaded = PoolState {
        is_marking_enabled: is_marking_enabled(connection)?,
        logistician_units: mine.map(|one| one.unit.id.into_string()).collect(),
        ..PoolState::default()
    };
    let mut entries = load_entries(connection, ops.iter().filter_map(named_entry))?;
    entries.retain(|_, entry| entry.row.keeping.pool_unit().is_some());
    let marks = ops.iter().any(|op| matches!(op, OrgStockOp::Stolen(_)));
    let mut loading =
        StateLoader { connection, writer, state: loaded, entries, marks, joinable: BTreeMap::new() };
    for (op, target) in ops.iter().zip(targets) {
        loading.load_op(op, target)?;
    }
    loading.load_joinable()?;
    let StateLoader { state: mut loaded, entries, .. } = loading;
    loaded.entries = entries.into_values().collect();
    loaded.entries.sort_by_key(|entry| entry.row.age_key());
    Ok(loaded)
}

/// Returns the id of the entry to which an op refers.
fn named_entry(op: &OrgStockOp) -> Option<&str> {
    let entry = match op {
        OrgStockOp::BookIn(_) => return None,
        OrgStockOp::BookOut(op) => &op.entry,
        OrgStockOp::Sell(op) => &op.entry,
        OrgStockOp::MoveLocation(op) => &op.entry,
        OrgStockOp::MoveHolder(op) => &op.entry,
        OrgStockOp::MovePool(op) => &op.entry,
        OrgStockOp::Note(op) => &op.entry,
        OrgStockOp::Stolen(op) => &op.entry,
    };
    Some(entry.as_str())
}

/// Loads stock rows with their earmarks, by id. The rows can have any holder and need not be in a pool.
pub(in crate::backend) fn load_entries<'i>(
    connection: &Connection,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<BTreeMap<String, PoolEntry>, StoreError> {
    attach_earmarks(connection, load_rows_by_id(connection, ids)?)
}

fn attach_earmarks(
    connection: &Connection,
    rows: Vec<(MemberId, Lot, StockRow)>,
) -> Result<BTreeMap<String, PoolEntry>, StoreError> {
    let mut earmarks = EarmarkSet::load_earmarks(connection, rows.iter().map(|(_, _, row)| row.id.as_str()))?;
    let entry = |(holder, lot, row): (MemberId, Lot, StockRow)| {
        let earmarks = earmarks.remove(&row.id).unwrap_or_default();
        (row.id.clone(), PoolEntry { holder, lot, row, earmarks })
    };
    Ok(rows.into_iter().map(entry).collect())
}

struct StateLoader<'c> {
    connection: &'c Connection,
    writer: &'c WriteContext,
    state: PoolState,
    entries: BTreeMap<String, PoolEntry>,
    /// Whether any op changes a stolen flag.
    marks: bool,
    /// The lots whose entries stock may be merged with, by holder and lot key.
    joinable: BTreeMap<MemberId, BTreeMap<String, Lot>>,
}

impl StateLoader<'_> {
    /// Loads the state that one op needs. Entries with which stock may be merged are loaded for all ops
    /// together, at the end.
    fn load_op(&mut self, op: &OrgStockOp, target: &OpTarget) -> Result<(), StoreError> {
        match op {
            OrgStockOp::BookIn(op) => {
                self.load_unit_roster(&op.unit)?;
                for share in op.job_orders.iter().flatten() {
                    self.load_job_order(share.job_order.as_str())?;
                }
                for share in op.missions.iter().flatten() {
                    self.load_mission(share.mission.as_str())?;
                }
                let holder = self.find_holder(&op.unit, op.holder.as_str());
                if let (Some(holder), OpTarget::Item(Ok(item), Some(place))) = (holder, target) {
                    let StockItem { kind, material, measure } = item.clone();
                    let quality = if kind == EntryKind::Item { 0 } else { op.quality.get() };
                    let location = place.clone();
                    let lot = Lot { kind, material, measure, location, quality, stolen: op.stolen };
                    self.add_joinable(&holder, &lot, op.merge_scu);
                }
            }
            OrgStockOp::BookOut(_) | OrgStockOp::Note(_) | OrgStockOp::Stolen(_) => {}
            OrgStockOp::Sell(op) => {
                for share in op.from_missions.iter().flatten() {
                    self.load_participation(share.mission.as_str())?;
                }
            }
            OrgStockOp::MoveLocation(op) => {
                let entry = self.entries.get(op.entry.as_str()).cloned();
                if let (Some(PoolEntry { holder, lot, .. }), OpTarget::Place(Some(location))) =
                    (entry, target)
                {
                    let lot = Lot { location: location.clone(), ..lot };
                    self.add_joinable(&holder, &lot, op.merge_scu);
                }
            }
            OrgStockOp::MoveHolder(op) => {
                self.load_unit_roster(&op.to_unit)?;
                let entry = self.entries.get(op.entry.as_str()).cloned();
                let to = self.find_holder(&op.to_unit, op.holder.as_str());
                if let (Some(PoolEntry { lot, .. }), Some(to)) = (entry, to) {
                    self.add_joinable(&to, &lot, op.merge_scu);
                }
            }
            OrgStockOp::MovePool(op) => {
                let entry = self.entries.get(op.entry.as_str()).cloned();
                if let Some(PoolEntry { holder, lot, .. }) = entry {
                    self.load_membership(&holder, &op.to_unit)?;
                    self.add_joinable(&holder, &lot, op.merge_scu);
                }
            }
        }
        Ok(())
    }

    /// Adds a lot whose entries of this holder must be loaded because stock may be merged with them. Adds the
    /// stolen twin of the lot as well if an op of the change set may change the stolen flag.
    fn add_joinable(&mut self, holder: &MemberId, lot: &Lot, merge_scu: Option<bool>) {
        if lot.measure == Measure::Scu && merge_scu != Some(true) {
            return;
        }
        if !self.joinable.contains_key(holder) {
            self.joinable.insert(holder.clone(), BTreeMap::new());
        }
        if let Some(lots) = self.joinable.get_mut(holder) {
            let twin = self.marks.then(|| lot.stolen_twin());
            lots.extend([lot.clone()].into_iter().chain(twin).map(|lot| (lot.key(), lot)));
        }
    }

    /// Loads the entries with which stock may be merged.
    fn load_joinable(&mut self) -> Result<(), StoreError> {
        let mut new = Vec::new();
        for (holder, mut lots) in std::mem::take(&mut self.joinable) {
            for (key, rows) in load_rows_by_lot(self.connection, &holder, lots.keys().map(String::as_str))? {
                let Some(lot) = lots.remove(&key) else { continue };
                let is_new = |row: &StockRow| {
                    matches!(row.keeping, StockOwnership::Pool(_)) && !self.entries.contains_key(&row.id)
                };
                new.extend(rows.into_iter().filter(is_new).map(|row| (holder.clone(), lot.clone(), row)));
            }
        }
        self.entries.extend(attach_earmarks(self.connection, new)?);
        Ok(())
    }

    /// Loads the roster of a unit if the member may refer to its holders. For a connected client, the
    /// references are the client's pseudonyms; for other authors, they are member ids.
    fn load_unit_roster(&mut self, unit: &UnitId) -> Result<(), StoreError> {
        let unit = unit.as_str();
        if self.state.rosters.contains_key(unit) || !self.state.logistician_units.contains(unit) {
            return Ok(());
        }
        let client = self.writer.author.client_installation().map(|(client, _)| client);
        let names = client.map(|client| HolderPseudonyms::for_client(self.connection, client)).transpose()?;
        let named = |(member, _): (MemberId, String)| {
            let name = names.as_ref().map_or_else(|| member.to_string(), |names| names.pseudonym(&member));
            (name, member)
        };
        let members = load_roster(self.connection, unit)?.into_iter().map(named).collect();
        self.state.rosters.insert(unit.to_owned(), members);
        Ok(())
    }

    fn find_holder(&self, unit: &UnitId, reference: &str) -> Option<MemberId> {
        self.state.rosters.get(unit.as_str())?.get(reference).cloned()
    }

    /// Adds the membership if the holder is a direct member of the unit, even if the holder's name is
    /// withheld.
    fn load_membership(&mut self, holder: &MemberId, unit: &UnitId) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM membership WHERE member = ?1 AND unit = ?2)";
        let mut belongs = self.connection.prepare_cached(sql)?;
        if belongs.query_row(params![holder, unit.as_str()], |row| row.get(0))? {
            self.state.memberships.insert((unit.as_str().to_owned(), holder.clone()));
        }
        Ok(())
    }

    /// Loads the needs of an open job order: its items and its materials.
    fn load_job_order(&mut self, id: &str) -> Result<(), StoreError> {
        let mut needs = self.connection.prepare_cached(
            "SELECT n.kind, n.what FROM job_order j JOIN \
             (SELECT job_order, 'MATERIAL' AS kind, material AS what FROM job_order_material \
              UNION SELECT job_order, 'ITEM', item FROM job_order_item) n ON n.job_order = j.id \
             WHERE j.id = ?1 AND j.state IN ('open', 'in-progress')",
        )?;
        let mut needs = needs.query([id])?;
        while let Some(row) = needs.next()? {
            let kind = match row.get::<_, String>(0)?.as_str() {
                "ITEM" => EntryKind::Item,
                _ => EntryKind::Material,
            };
            self.state.needs.insert((id.to_owned(), kind, row.get(1)?));
        }
        Ok(())
    }

    fn load_mission(&mut self, id: &str) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)";
        if self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))? {
            self.state.missions.insert(id.to_owned());
        }
        Ok(())
    }

    /// Adds the mission if the member takes part in it.
    fn load_participation(&mut self, mission: &str) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM mission_participant WHERE mission = ?1 AND member = ?2)";
        let mut part = self.connection.prepare_cached(sql)?;
        if part.query_row(params![mission, self.writer.member], |row| row.get(0))? {
            self.state.joined_missions.insert(mission.to_owned());
        }
        Ok(())
    }
}

/// Writes entries with their earmarks, and sales with the income of the missions.
pub(super) fn write_records(
    connection: &Connection,
    writer: &WriteContext,
    touched: &[EntryDelta<PoolRecord>],
) -> Result<(), StoreError> {
    let earmarks = |record| as_entry(record).map(|entry| &entry.earmarks);
    let remarked: Vec<(&str, Option<&EarmarkSet>)> = touched
        .iter()
        .map(|touched| (touched, earmarks(touched.before.as_ref()), earmarks(touched.after.as_ref())))
        .filter(|(_, before, after)| before != after)
        .map(|(touched, _, after)| (&*touched.key, after))
        .collect();
    // Earmarks are deleted first, because the database rejects reservations above the amount of a row.
    for (row, _) in &remarked {
        EarmarkSet::delete_earmarks(connection, row)?;
    }
    warehouse::write_bookings(connection, &to_bookings(touched))?;
    for (row, after) in &remarked {
        if let Some(earmarks) = after {
            earmarks.insert_earmarks(connection, row)?;
        }
    }
    for touched in touched {
        match (&touched.before, &touched.after) {
            (_, Some(PoolRecord::Sale(sale))) => write_sale(connection, writer, &touched.key, sale)?,
            (Some(PoolRecord::Sale(_)), None) => delete_sale(connection, &touched.key)?,
            _ => {}
        }
    }
    Ok(())
}

fn write_sale(
    connection: &Connection,
    writer: &WriteContext,
    id: &str,
    sale: &StockSale,
) -> Result<(), StoreError> {
    let StockSale { unit, kind, material, amount, terminal, proceeds, incomes } = sale;
    let sql = "INSERT INTO stock_sale (id, at, member, unit, kind, material, amount, terminal, proceeds) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let time = writer.now.as_millis();
    let sold = params![id, time, writer.member, unit, kind.as_str(), material, amount, terminal, proceeds];
    connection.prepare_cached(sql)?.execute(sold)?;
    let sql = "INSERT INTO mission_income (mission, sale, amount) VALUES (?1, ?2, ?3)";
    let mut income = connection.prepare_cached(sql)?;
    for (mission, amount) in incomes {
        income.execute(params![mission, id, amount])?;
    }
    Ok(())
}

/// Finds a sale with the income of the missions.
pub(super) fn find_sale(connection: &Connection, id: &str) -> Result<Option<StockSale>, StoreError> {
    let sql = "SELECT mission, amount FROM mission_income WHERE sale = ?1";
    let mut incomes = connection.prepare_cached(sql)?;
    let incomes: BTreeMap<String, i64> =
        incomes.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let sql = "SELECT unit, kind, material, amount, terminal, proceeds FROM stock_sale WHERE id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let kind = if row.get::<_, String>(1)? == EntryKind::Item.as_str() {
            EntryKind::Item
        } else {
            EntryKind::Material
        };
        let (unit, material, amount) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let (terminal, proceeds, incomes) = (row.get(4)?, row.get(5)?, incomes.clone());
        Ok(StockSale { unit, kind, material, amount, terminal, proceeds, incomes })
    };
    Ok(connection.prepare_cached(sql)?.query_row([id], read).optional()?)
}

/// Deletes a sale with the income of the missions.
fn delete_sale(connection: &Connection, id: &str) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM mission_income WHERE sale = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM stock_sale WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Returns the pool lots that a query selects, by unit.
pub(super) fn list_lots(
    connection: &Connection,
    sql: &str,
    of: &str,
) -> Result<BTreeMap<crate::ids::UnitId, BTreeSet<String>>, StoreError> {
    let mut rows = connection.prepare_cached(sql)?;
    let mut rows = rows.query([of])?;
    let mut lots: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        lots.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(lots)
}
