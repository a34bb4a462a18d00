//! What the store knows of entries, targets and rosters; and how entries and sales are written.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::types::{OrgStockOp, UnitId};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::super::change::{Touched, Writer};
use super::super::stock::marking;
use super::super::units;
use super::super::warehouse::{self, Earmarks, Keeping, Lot, Measure, Row, by_ids, rows_of};
use super::decide::{Known, Stuff, Target};
use super::entry::{Entry, Record, Sale};
use super::roster::{Pseudonyms, roster};
use super::{booked, entry};
use crate::catalogue::contents::Kind;
use crate::ids::MemberId;
use crate::store::StoreError;

/// What is known of what ops name.
pub(super) fn known(
    connection: &Connection,
    writer: &Writer,
    ops: &[OrgStockOp],
    targets: &[Target],
) -> Result<Known, StoreError> {
    let mine = units::of(connection, &writer.member)?.into_iter().filter(|one| one.logistician);
    let known = Known {
        marking: marking(connection)?,
        mine: mine.map(|one| one.unit.id.into_string()).collect(),
        ..Known::default()
    };
    let mut entries = entries(connection, ops.iter().filter_map(named))?;
    entries.retain(|_, entry| entry.row.keeping.unit().is_some());
    let marks = ops.iter().any(|op| matches!(op, OrgStockOp::Stolen(_)));
    let mut loading = Loading { connection, writer, known, entries, marks, alike: BTreeMap::new() };
    for (op, target) in ops.iter().zip(targets) {
        loading.load(op, target)?;
    }
    loading.join()?;
    let Loading { mut known, entries, .. } = loading;
    known.entries = entries.into_values().collect();
    known.entries.sort_by_key(|entry| entry.row.age());
    Ok(known)
}

/// The entry that an op names.
fn named(op: &OrgStockOp) -> Option<&str> {
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

/// Rows by their ids with their earmarks, whosever they are, be they in a pool or not.
pub(in crate::backend) fn entries<'i>(
    connection: &Connection,
    ids: impl IntoIterator<Item = &'i str>,
) -> Result<BTreeMap<String, Entry>, StoreError> {
    marked(connection, by_ids(connection, ids)?)
}

/// Rows with their earmarks.
fn marked(
    connection: &Connection,
    rows: Vec<(MemberId, Lot, Row)>,
) -> Result<BTreeMap<String, Entry>, StoreError> {
    let mut earmarks = Earmarks::read(connection, rows.iter().map(|(_, _, row)| row.id.as_str()))?;
    let entry = |(holder, lot, row): (MemberId, Lot, Row)| {
        let earmarks = earmarks.remove(&row.id).unwrap_or_default();
        (row.id.clone(), Entry { holder, lot, row, earmarks })
    };
    Ok(rows.into_iter().map(entry).collect())
}

struct Loading<'c> {
    connection: &'c Connection,
    writer: &'c Writer,
    known: Known,
    /// By id.
    entries: BTreeMap<String, Entry>,
    /// Whether any op changes whether an entry is stolen.
    marks: bool,
    /// Lots of holders, by their keys, that stock may join.
    alike: BTreeMap<MemberId, BTreeMap<String, Lot>>,
}

impl Loading<'_> {
    /// All but entries that stock may join, which are looked up together at the end.
    fn load(&mut self, op: &OrgStockOp, target: &Target) -> Result<(), StoreError> {
        match op {
            OrgStockOp::BookIn(op) => {
                self.roster(&op.unit)?;
                for share in op.job_orders.iter().flatten() {
                    self.job_order(share.job_order.as_str())?;
                }
                for share in op.missions.iter().flatten() {
                    self.mission(share.mission.as_str())?;
                }
                let holder = self.holder(&op.unit, op.holder.as_str());
                if let (Some(holder), Target::Stuff(Ok(stuff), Some(place))) = (holder, target) {
                    let Stuff { kind, material, measure } = stuff.clone();
                    let quality = if kind == Kind::Item { 0 } else { op.quality.get() };
                    let location = place.clone();
                    let lot = Lot { kind, material, measure, location, quality, stolen: op.stolen };
                    self.like(&holder, &lot, op.merge_scu);
                }
            }
            OrgStockOp::BookOut(_) | OrgStockOp::Note(_) | OrgStockOp::Stolen(_) => {}
            OrgStockOp::Sell(op) => {
                for share in op.from_missions.iter().flatten() {
                    self.part_in(share.mission.as_str())?;
                }
            }
            OrgStockOp::MoveLocation(op) => {
                let entry = self.entries.get(op.entry.as_str()).cloned();
                if let (Some(Entry { holder, lot, .. }), Target::Place(Some(location))) = (entry, target) {
                    let lot = Lot { location: location.clone(), ..lot };
                    self.like(&holder, &lot, op.merge_scu);
                }
            }
            OrgStockOp::MoveHolder(op) => {
                self.roster(&op.to_unit)?;
                let entry = self.entries.get(op.entry.as_str()).cloned();
                let to = self.holder(&op.to_unit, op.holder.as_str());
                if let (Some(Entry { lot, .. }), Some(to)) = (entry, to) {
                    self.like(&to, &lot, op.merge_scu);
                }
            }
            OrgStockOp::MovePool(op) => {
                let entry = self.entries.get(op.entry.as_str()).cloned();
                if let Some(Entry { holder, lot, .. }) = entry {
                    self.belongs(&holder, &op.to_unit)?;
                    self.like(&holder, &lot, op.merge_scu);
                }
            }
        }
        Ok(())
    }

    /// Has what a holder has in pools that stock of a lot may join looked up: in either stolen state where earlier ops
    /// may change that.
    fn like(&mut self, holder: &MemberId, lot: &Lot, merge_scu: Option<bool>) {
        if lot.measure == Measure::Scu && merge_scu != Some(true) {
            return;
        }
        if !self.alike.contains_key(holder) {
            self.alike.insert(holder.clone(), BTreeMap::new());
        }
        if let Some(lots) = self.alike.get_mut(holder) {
            let twin = self.marks.then(|| lot.twin());
            lots.extend([lot.clone()].into_iter().chain(twin).map(|lot| (lot.key(), lot)));
        }
    }

    /// Looks up what stock may join.
    fn join(&mut self) -> Result<(), StoreError> {
        let mut new = Vec::new();
        for (holder, mut lots) in std::mem::take(&mut self.alike) {
            for (key, rows) in rows_of(self.connection, &holder, lots.keys().map(String::as_str))? {
                let Some(lot) = lots.remove(&key) else { continue };
                let is_new = |row: &Row| {
                    matches!(row.keeping, Keeping::Pool(_)) && !self.entries.contains_key(&row.id)
                };
                new.extend(rows.into_iter().filter(is_new).map(|row| (holder.clone(), lot.clone(), row)));
            }
        }
        self.entries.extend(marked(self.connection, new)?);
        Ok(())
    }

    /// The roster of a unit, if the member may name anybody there. A connected client calls members by its own
    /// names; who is on the web names them by their ids.
    fn roster(&mut self, unit: &UnitId) -> Result<(), StoreError> {
        let unit = unit.as_str();
        if self.known.rosters.contains_key(unit) || !self.known.mine.contains(unit) {
            return Ok(());
        }
        let client = self.writer.author.connected().map(|(client, _)| client);
        let names = client.map(|client| Pseudonyms::of(self.connection, client)).transpose()?;
        let named = |(member, _): (MemberId, String)| {
            let name = names.as_ref().map_or_else(|| member.to_string(), |names| names.name(&member));
            (name, member)
        };
        let members = roster(self.connection, unit)?.into_iter().map(named).collect();
        self.known.rosters.insert(unit.to_owned(), members);
        Ok(())
    }

    fn holder(&self, unit: &UnitId, reference: &str) -> Option<MemberId> {
        self.known.rosters.get(unit.as_str())?.get(reference).cloned()
    }

    /// Whether a holder directly belongs to a unit, their name kept back or not.
    fn belongs(&mut self, holder: &MemberId, unit: &UnitId) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM membership WHERE member = ?1 AND unit = ?2)";
        let mut belongs = self.connection.prepare_cached(sql)?;
        if belongs.query_row(params![holder, unit.as_str()], |row| row.get(0))? {
            self.known.belongs.insert((unit.as_str().to_owned(), holder.clone()));
        }
        Ok(())
    }

    /// What an open job order needs: materials, its items' among them, and items.
    fn job_order(&mut self, id: &str) -> Result<(), StoreError> {
        let mut needs = self.connection.prepare_cached(
            "SELECT n.kind, n.what FROM job_order j JOIN \
             (SELECT job_order, 'MATERIAL' AS kind, material AS what FROM job_order_material \
              UNION SELECT job_order, 'ITEM', item FROM job_order_item) n ON n.job_order = j.id \
             WHERE j.id = ?1 AND j.state IN ('open', 'in-progress')",
        )?;
        let mut needs = needs.query([id])?;
        while let Some(row) = needs.next()? {
            let kind = match row.get::<_, String>(0)?.as_str() {
                "ITEM" => Kind::Item,
                _ => Kind::Material,
            };
            self.known.needs.insert((id.to_owned(), kind, row.get(1)?));
        }
        Ok(())
    }

    fn mission(&mut self, id: &str) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM mission WHERE id = ?1)";
        if self.connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))? {
            self.known.missions.insert(id.to_owned());
        }
        Ok(())
    }

    /// Whether the member takes part in a mission.
    fn part_in(&mut self, mission: &str) -> Result<(), StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM mission_participant WHERE mission = ?1 AND member = ?2)";
        let mut part = self.connection.prepare_cached(sql)?;
        if part.query_row(params![mission, self.writer.member], |row| row.get(0))? {
            self.known.takes_part.insert(mission.to_owned());
        }
        Ok(())
    }
}

/// Writes entries with their earmarks, and sales with what missions receive.
pub(super) fn apply(
    connection: &Connection,
    writer: &Writer,
    touched: &[Touched<Record>],
) -> Result<(), StoreError> {
    let earmarks = |record| entry(record).map(|entry| &entry.earmarks);
    let remarked: Vec<(&str, Option<&Earmarks>)> = touched
        .iter()
        .map(|touched| (touched, earmarks(touched.before.as_ref()), earmarks(touched.after.as_ref())))
        .filter(|(_, before, after)| before != after)
        .map(|(touched, _, after)| (&*touched.key, after))
        .collect();
    // Before their rows: what is reserved of nothing is refused by the database.
    for (row, _) in &remarked {
        Earmarks::clear(connection, row)?;
    }
    warehouse::write(connection, &booked(touched))?;
    for (row, after) in &remarked {
        if let Some(earmarks) = after {
            earmarks.write(connection, row)?;
        }
    }
    for touched in touched {
        match (&touched.before, &touched.after) {
            (_, Some(Record::Sale(sale))) => write_sale(connection, writer, &touched.key, sale)?,
            (Some(Record::Sale(_)), None) => delete_sale(connection, &touched.key)?,
            _ => {}
        }
    }
    Ok(())
}

fn write_sale(connection: &Connection, writer: &Writer, id: &str, sale: &Sale) -> Result<(), StoreError> {
    let Sale { unit, kind, material, amount, terminal, proceeds, incomes } = sale;
    let sql = "INSERT INTO stock_sale (id, at, member, unit, kind, material, amount, terminal, proceeds) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
    let at = writer.now.millis();
    let sold = params![id, at, writer.member, unit, kind.as_str(), material, amount, terminal, proceeds];
    connection.prepare_cached(sql)?.execute(sold)?;
    let sql = "INSERT INTO mission_income (mission, sale, amount) VALUES (?1, ?2, ?3)";
    let mut income = connection.prepare_cached(sql)?;
    for (mission, amount) in incomes {
        income.execute(params![mission, id, amount])?;
    }
    Ok(())
}

/// A sale, with what missions received of it.
pub(super) fn sale(connection: &Connection, id: &str) -> Result<Option<Sale>, StoreError> {
    let sql = "SELECT mission, amount FROM mission_income WHERE sale = ?1";
    let mut incomes = connection.prepare_cached(sql)?;
    let incomes: BTreeMap<String, i64> =
        incomes.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let sql = "SELECT unit, kind, material, amount, terminal, proceeds FROM stock_sale WHERE id = ?1";
    let read = |row: &rusqlite::Row<'_>| {
        let kind = if row.get::<_, String>(1)? == Kind::Item.as_str() { Kind::Item } else { Kind::Material };
        let (unit, material, amount) = (row.get(0)?, row.get(2)?, row.get(3)?);
        let (terminal, proceeds, incomes) = (row.get(4)?, row.get(5)?, incomes.clone());
        Ok(Sale { unit, kind, material, amount, terminal, proceeds, incomes })
    };
    Ok(connection.prepare_cached(sql)?.query_row([id], read).optional()?)
}

/// Takes a sale back, and what missions received of it.
fn delete_sale(connection: &Connection, id: &str) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM mission_income WHERE sale = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM stock_sale WHERE id = ?1")?.execute([id])?;
    Ok(())
}

/// Lots of pools, by unit, for the feeds to tell of.
pub(super) fn lots(
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
