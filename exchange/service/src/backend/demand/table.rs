//! The tables of job orders, as far as demand is about them.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, Row};

use super::super::warehouse::Measure;
use super::decide::{Booked, Floor, Item, Material, Order};
use crate::catalogue::contents::Kind;
use crate::catalogue::{Index, Matching, shown_key};
use crate::ids::MemberId;
use crate::store::StoreError;

/// Whether the member may see the organisation's job orders (DEM-06): as a member of a unit that takes part in
/// profit sharing, or by leading a unit above one. What they administer is no reason.
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

/// Every order that counts (DEM-05), with all it needs and all that is booked to it.
pub(super) fn orders(
    connection: &Connection,
    index: &Index,
    member: &MemberId,
) -> Result<Vec<Order>, StoreError> {
    let mut orders: BTreeMap<String, Order> = BTreeMap::new();
    each(connection, member, "o.counts_variants", "", |id, row| {
        let matching = if row.get(1)? { Matching::Variants } else { Matching::Exact };
        let order = Order { matching, materials: Vec::new(), items: Vec::new(), booked: Vec::new() };
        orders.insert(id, order);
        Ok(())
    })?;
    let needs = "JOIN job_order_material n ON n.job_order = o.id";
    each(connection, member, "n.material, n.good_quality, n.amount", needs, |id, row| {
        let floor = if row.get(2)? { Floor::Good } else { Floor::Any };
        let need = Material { material: row.get(1)?, floor, amount: row.get(3)? };
        orders.entry(id).and_modify(|order| order.materials.push(need));
        Ok(())
    })?;
    let needs = "JOIN job_order_item n ON n.job_order = o.id";
    each(connection, member, "n.item, n.ordered, n.delivered", needs, |id, row| {
        let need = Item { item: row.get(1)?, ordered: row.get(2)?, delivered: row.get(3)? };
        orders.entry(id).and_modify(|order| order.items.push(need));
        Ok(())
    })?;
    let stock = "JOIN stock_earmark e ON e.kind = 'job-order' AND e.target = o.id \
                 JOIN stock_row r ON r.id = e.stock_row";
    let columns = "r.kind, r.material, r.measure, r.quality, e.amount, e.delivered";
    each(connection, member, columns, stock, |id, row| {
        let kind = if row.get::<_, String>(1)? == Kind::Item.as_str() { Kind::Item } else { Kind::Material };
        let (thing, measure): (String, String) = (row.get(2)?, row.get(3)?);
        // What was booked in another measure than the material has now cannot be taken from what is needed of it.
        if measure == measure_of(index, kind, &thing).as_str() {
            let (quality, amount, delivered) = (row.get(4)?, row.get(5)?, row.get(6)?);
            let booked = Booked { kind, thing, quality, amount, delivered };
            orders.entry(id).and_modify(|order| order.booked.push(booked));
        }
        Ok(())
    })?;
    Ok(orders.into_values().collect())
}

/// Goes through rows about the orders of the member's own units, each with the order's id in front.
fn each(
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

fn measure_of(index: &Index, kind: Kind, id: &str) -> Measure {
    let entry = index.entry(kind, &shown_key(id));
    Measure::of(kind, entry.map_or(&serde_json::Value::Null, |entry| &entry.facts))
}

/// The blueprints that the member holds, default ones too.
pub(super) fn blueprints(connection: &Connection, member: &MemberId) -> Result<BTreeSet<String>, StoreError> {
    let sql = "SELECT product FROM blueprint WHERE member = ?1 UNION SELECT product FROM default_blueprint";
    let mut statement = connection.prepare_cached(sql)?;
    let held = statement.query_map([member], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(held)
}
