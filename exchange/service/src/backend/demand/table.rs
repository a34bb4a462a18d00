//! Reads the tables of job orders to compute the demand.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row};

use super::super::warehouse::Measure;
use super::decide::{BookedStock, ItemNeed, JobOrder, MaterialNeed, QualityFloor};
use crate::catalogue::contents::EntryKind;
use crate::catalogue::{CatalogueIndex, VariantMatching, shown_key};
use crate::ids::MemberId;
use crate::store::StoreError;

/// Returns true if the member may see the organization's job orders (DEM-06): as a member of a unit that
/// takes part in profit sharing, or as the leader of a unit that is above such a unit. The administrator role
/// does not grant this permission.
pub(super) fn is_permitted(connection: &Connection, member: &MemberId) -> Result<bool, StoreError> {
    let sql = "WITH RECURSIVE
               below (unit) AS (
                   SELECT u.id FROM membership m JOIN unit u ON u.above = m.unit
                   WHERE m.member = ?1 AND m.leadership = 1
                   UNION SELECT u.id FROM below b JOIN unit u ON u.above = b.unit),
               seen (unit) AS (
                   SELECT unit FROM membership WHERE member = ?1 UNION SELECT unit FROM below)
               SELECT EXISTS (SELECT 1 FROM seen s JOIN unit u ON u.id = s.unit WHERE u.profit_sharing = 1)";
    Ok(connection.prepare_cached(sql)?.query_row([member], |row| row.get(0))?)
}

/// Loads every order that counts for the demand (DEM-05), with its needs and its booked stock.
pub(super) fn load_orders(
    connection: &Connection,
    index: &CatalogueIndex,
    member: &MemberId,
) -> Result<Vec<JobOrder>, StoreError> {
    let mut orders: BTreeMap<String, JobOrder> = BTreeMap::new();
    for_each_row(connection, member, "o.counts_variants", "", |id, row| {
        let matching = if row.get(1)? { VariantMatching::Variants } else { VariantMatching::Exact };
        let order = JobOrder { matching, materials: Vec::new(), items: Vec::new(), booked: Vec::new() };
        orders.insert(id, order);
        Ok(())
    })?;
    let needs = "JOIN job_order_material n ON n.job_order = o.id";
    for_each_row(connection, member, "n.material, n.good_quality, n.amount", needs, |id, row| {
        let floor = if row.get(2)? { QualityFloor::Good } else { QualityFloor::Any };
        let need = MaterialNeed { material: row.get(1)?, floor, amount: row.get(3)? };
        orders.entry(id).and_modify(|order| order.materials.push(need));
        Ok(())
    })?;
    let needs = "JOIN job_order_item n ON n.job_order = o.id";
    for_each_row(connection, member, "n.item, n.ordered, n.delivered", needs, |id, row| {
        let need = ItemNeed { item: row.get(1)?, ordered: row.get(2)?, delivered: row.get(3)? };
        orders.entry(id).and_modify(|order| order.items.push(need));
        Ok(())
    })?;
    let stock = "JOIN stock_earmark e ON e.kind = 'job-order' AND e.target = o.id \
                 JOIN stock_row r ON r.id = e.stock_row";
    let columns = "r.kind, r.material, r.measure, r.quality, e.amount, e.delivered";
    for_each_row(connection, member, columns, stock, |id, row| {
        let kind = if row.get::<_, String>(1)? == EntryKind::Item.as_str() {
            EntryKind::Item
        } else {
            EntryKind::Material
        };
        let (thing, measure): (String, String) = (row.get(2)?, row.get(3)?);
        // The measure of a material can change. Stock in an earlier measure cannot be compared with the need.
        if measure == measure_of(index, kind, &thing).as_str() {
            let (quality, amount, delivered) = (row.get(4)?, row.get(5)?, row.get(6)?);
            let booked = BookedStock { kind, thing, quality, amount, delivered };
            orders.entry(id).and_modify(|order| order.booked.push(booked));
        }
        Ok(())
    })?;
    Ok(orders.into_values().collect())
}

/// Runs a query over the open job orders of the member's direct units, and calls `take` with the order's id
/// and the row for each row.
fn for_each_row(
    connection: &Connection,
    member: &MemberId,
    columns: &str,
    beside: &str,
    mut take: impl FnMut(String, &Row<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let sql = format!(
        "SELECT o.id, {columns} FROM membership m \
         JOIN job_order o ON o.unit = m.unit AND o.state IN ('open', 'in-progress') {beside} \
         WHERE m.member = ?1"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut rows = statement.query([member])?;
    while let Some(row) = rows.next()? {
        take(row.get(0)?, row)?;
    }
    Ok(())
}

fn measure_of(index: &CatalogueIndex, kind: EntryKind, id: &str) -> Measure {
    let entry = index.find_entry(kind, &shown_key(id));
    Measure::for_item(kind, entry.map_or(&serde_json::Value::Null, |entry| &entry.facts))
}

/// Returns the products of all blueprints that the member holds, including default ones.
pub(super) fn held_blueprints(
    connection: &Connection,
    member: &MemberId,
) -> Result<BTreeSet<String>, StoreError> {
    let sql = "SELECT product FROM blueprint WHERE member = ?1 UNION SELECT product FROM default_blueprint";
    let mut statement = connection.prepare_cached(sql)?;
    let products = statement.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(products)
}
