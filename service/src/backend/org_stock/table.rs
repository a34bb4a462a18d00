//! What the store knows of entries, targets and rosters; and how entries and sales are written.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::types::{OrgStockOp, UnitId};
use rusqlite::{Connection, params};

use super::super::change::{Touched, Writer};
use super::super::stock::marking;
use super::super::units;
use super::super::warehouse::{self, Earmarks, Keeping, Lot, Measure, by_id, rows};
use super::decide::{Known, Stuff, Target};
use super::entry::{Entry, Record, Sale};
use super::roster::{Pseudonyms, roster};
use super::undo::delete_sale;
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
    let mut loading = Loading { connection, writer, known, entries: BTreeMap::new() };
    for (op, target) in ops.iter().zip(targets) {
        loading.load(op, target)?;
    }
    let Loading { mut known, entries, .. } = loading;
    known.entries = entries.into_values().flatten().collect();
    known
        .entries
        .sort_by(|one, other| (one.row.booked_at, &one.row.id).cmp(&(other.row.booked_at, &other.row.id)));
    Ok(known)
}

struct Loading<'c> {
    connection: &'c Connection,
    writer: &'c Writer,
    known: Known,
    /// By id; none for one that is in no pool.
    entries: BTreeMap<String, Option<Entry>>,
}

impl Loading<'_> {
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
                    self.like(&holder, &lot, op.merge_scu)?;
                }
            }
            OrgStockOp::BookOut(op) => drop(self.entry(op.entry.as_str())?),
            OrgStockOp::Sell(op) => {
                self.entry(op.entry.as_str())?;
                for share in op.from_missions.iter().flatten() {
                    self.part_in(share.mission.as_str())?;
                }
            }
            OrgStockOp::MoveLocation(op) => {
                let entry = self.entry(op.entry.as_str())?;
                if let (Some(Entry { holder, lot, .. }), Target::Place(Some(location))) = (entry, target) {
                    let lot = Lot { location: location.clone(), ..lot };
                    self.like(&holder, &lot, op.merge_scu)?;
                }
            }
            OrgStockOp::MoveHolder(op) => {
                self.roster(&op.to_unit)?;
                let entry = self.entry(op.entry.as_str())?;
                let to = self.holder(&op.to_unit, op.holder.as_str());
                if let (Some(Entry { lot, .. }), Some(to)) = (entry, to) {
                    self.like(&to, &lot, op.merge_scu)?;
                }
            }
            OrgStockOp::MovePool(op) => {
                if let Some(Entry { holder, lot, .. }) = self.entry(op.entry.as_str())? {
                    self.belongs(&holder, &op.to_unit)?;
                    self.like(&holder, &lot, op.merge_scu)?;
                }
            }
            OrgStockOp::Note(op) => drop(self.entry(op.entry.as_str())?),
            OrgStockOp::Stolen(op) => drop(self.entry(op.entry.as_str())?),
        }
        Ok(())
    }

    /// An entry of a pool, whosever it is.
    fn entry(&mut self, id: &str) -> Result<Option<Entry>, StoreError> {
        if let Some(known) = self.entries.get(id) {
            return Ok(known.clone());
        }
        let entry = match by_id(self.connection, id)? {
            Some((holder, lot, row)) if row.keeping.unit().is_some() => {
                Some(Entry { holder, lot, earmarks: Earmarks::read(self.connection, id)?, row })
            }
            _ => None,
        };
        self.entries.insert(id.to_owned(), entry.clone());
        Ok(entry)
    }

    /// What a holder has in pools that stock of a lot may join: in either stolen state, since earlier ops may
    /// change that.
    fn like(&mut self, holder: &MemberId, lot: &Lot, merge_scu: Option<bool>) -> Result<(), StoreError> {
        if lot.measure == Measure::Scu && merge_scu != Some(true) {
            return Ok(());
        }
        for lot in [lot.clone(), lot.twin()] {
            for row in rows(self.connection, holder, &lot.key())? {
                if matches!(row.keeping, Keeping::Pool(_)) && !self.entries.contains_key(&row.id) {
                    let earmarks = Earmarks::read(self.connection, &row.id)?;
                    let (id, holder, lot) = (row.id.clone(), holder.clone(), lot.clone());
                    self.entries.insert(id, Some(Entry { holder, lot, row, earmarks }));
                }
            }
        }
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
