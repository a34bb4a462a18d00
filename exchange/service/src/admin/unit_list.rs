//! Lists org units in the form of an import document, and removes units.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::{AdminContext, AdminError};
use crate::ids::{MemberId, UnitId};
use crate::members;
use crate::store::query_count;

/// A unit, with the properties of an import document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedUnit {
    /// The unit's id.
    pub id: UnitId,
    /// The unit's name.
    pub name: String,
    /// The unit's shorthand.
    pub shorthand: String,
    /// The kind, such as `SQUADRON`.
    pub kind: String,
    /// Whether the unit takes part in profit sharing.
    pub profit_sharing: bool,
    /// The parent unit.
    pub above: Option<UnitId>,
    /// The members, ordered by id.
    pub members: Vec<ListedMembership>,
}

/// A member of a unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ListedMembership {
    /// The member's id.
    pub member: MemberId,
    /// The role: `member`, `logistician` or `leader`.
    pub role: &'static str,
}

/// Lists all units with their members, ordered by id.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn list_units(connection: &Connection) -> Result<Vec<ListedUnit>, AdminError> {
    let sql = "SELECT id, name, shorthand, kind, profit_sharing, above FROM unit ORDER BY id";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([], |row| {
        Ok(ListedUnit {
            id: row.get(0)?,
            name: row.get(1)?,
            shorthand: row.get(2)?,
            kind: row.get(3)?,
            profit_sharing: row.get(4)?,
            above: row.get(5)?,
            members: Vec::new(),
        })
    })?;
    let mut units: Vec<ListedUnit> = rows.collect::<Result<_, _>>()?;
    let sql = "SELECT member, logistician, leadership FROM membership WHERE unit = ?1 ORDER BY member";
    let mut rows = connection.prepare(sql)?;
    for unit in &mut units {
        let members = rows.query_map([&unit.id], |row| {
            let role = match (row.get(1)?, row.get(2)?) {
                (_, true) => "leader",
                (true, false) => "logistician",
                (false, false) => "member",
            };
            Ok(ListedMembership { member: row.get(0)?, role })
        })?;
        unit.members = members.collect::<Result<_, _>>()?;
    }
    Ok(units)
}

/// The data that prevents the removal of a unit: a description and the query for its number.
const DEPENDENTS: [(&str, &str); 4] = [
    ("stock entries in its pool", "SELECT count(*) FROM stock_row WHERE unit = ?1"),
    ("ships assigned to it", "SELECT count(*) FROM ship WHERE unit = ?1"),
    ("job orders", "SELECT count(*) FROM job_order WHERE unit = ?1"),
    ("units below it", "SELECT count(*) FROM unit WHERE above = ?1"),
];

/// Removes a unit and its memberships. In the members' feeds, the unit and its pool are gone (OST-05).
///
/// # Errors
/// Returns [`AdminError::NotFound`], [`AdminError::Invalid`] if the unit still has stock, ships, job orders or units
/// below it, or [`AdminError::Store`] if the database fails.
pub fn remove_unit(
    connection: &Connection,
    admin: &AdminContext<'_>,
    unit: &UnitId,
) -> Result<(), AdminError> {
    let mut left = Vec::new();
    for (what, sql) in DEPENDENTS {
        match query_count(connection, sql, [unit])? {
            0 => {}
            count => left.push(format!("{count} {what}")),
        }
    }
    if !left.is_empty() {
        return Err(AdminError::Invalid(format!(
            "unit `{unit}` cannot be removed, because it has {}: move or remove them first",
            left.join(", ")
        )));
    }
    let sql = "SELECT member FROM membership WHERE unit = ?1 ORDER BY member";
    let members: Vec<MemberId> =
        connection.prepare(sql)?.query_map([unit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for member in &members {
        members::set_role(connection, (admin.actor(), admin.now), member, unit, None)?;
    }
    if connection.execute("DELETE FROM unit WHERE id = ?1", params![unit])? == 0 {
        return Err(AdminError::NotFound { what: "unit", id: unit.to_string() });
    }
    Ok(admin.record_audit(connection, None, ("unit.remove", unit.as_str()), "")?)
}
