//! Org units and who is in them, from a document; the terms; and who administers the service.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::types::OrgUnitKind;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;
use serde_json::Value;

use super::documents::{Document, items, wrong};
use super::{AdminError, By, id, text};
use crate::backend;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, Role, State};
use crate::names::{Shorthand, UnitName};
use crate::store::setting;

/// A unit as a document has it.
#[derive(Clone, Debug)]
pub struct NewUnit {
    id: UnitId,
    name: UnitName,
    shorthand: Shorthand,
    kind: String,
    /// `None` where it stays as it is.
    profit_sharing: Option<bool>,
    /// `None` where it stays as it is, `Some(None)` where it stands below no other.
    above: Option<Option<UnitId>>,
    /// `None` where they stay.
    members: Option<Vec<NewMembership>>,
}

/// Somebody in a unit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMembership {
    member: MemberId,
    #[serde(default)]
    role: Role,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    id: UnitId,
    name: String,
    shorthand: String,
    kind: String,
    profit_sharing: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    above: Option<Option<UnitId>>,
    members: Option<Value>,
}

/// A member that is there, `null` among what it may be.
fn given<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Reads units out of a document with `units`: each has `id`, `name`, `shorthand`, `kind`, and perhaps `profitSharing`,
/// `above` (the unit that it stands below) and `members`, a list of `member` and `role` (`member`, `logistician`,
/// `leader`).
///
/// # Errors
/// [`AdminError::Wrong`], with the place of what is wrong.
pub fn read_units(text: &str) -> Result<Vec<NewUnit>, AdminError> {
    let written: Vec<Written> = Document::read(text, &["units"])?.list("units")?;
    let mut known = BTreeSet::new();
    let unit = |(at, written): (usize, Written)| {
        let place = format!("/units/{at}");
        let member = |name: &str| format!("{place}/{name}");
        let Written { id: unit, name, shorthand, kind, profit_sharing, above, members } = written;
        id(&member("id"), unit.as_str(), 128)?;
        if !known.insert(unit.clone()) {
            return Err(wrong(&member("id"), "this unit stands in the document already"));
        }
        if !OrgUnitKind::from(&*kind).is_known() {
            let all: Vec<_> = OrgUnitKind::ALL.iter().map(OrgUnitKind::as_str).collect();
            return Err(wrong(&member("kind"), format!("a unit is one of {}", all.join(", "))));
        }
        Ok(NewUnit {
            id: unit,
            name: name.parse().map_err(|error| wrong(&member("name"), format!("{error}")))?,
            shorthand: shorthand.parse().map_err(|error| wrong(&member("shorthand"), format!("{error}")))?,
            kind,
            profit_sharing,
            above,
            members: members.map(|members| items(members, &member("members"))).transpose()?,
        })
    };
    written.into_iter().enumerate().map(unit).collect()
}

/// Adds units, or changes what they are called and share, what they stand below and who is in them: where a unit names
/// members, it has those and no others from then on. What is not named stays as it is, of a new unit shares nothing and
/// stands below none. Feeds tell of another name (SHP-05, OST-07). The kind of a unit does not change.
///
/// # Errors
/// [`AdminError::Wrong`], with the place of what is wrong, or what the database says.
pub fn set_units(connection: &Connection, by: &By<'_>, units: &[NewUnit]) -> Result<(), AdminError> {
    for (at, unit) in units.iter().enumerate() {
        put(connection, by, unit, &format!("/units/{at}"))?;
    }
    // Only now all of them are there.
    let mut stand = connection.prepare("UPDATE unit SET above = ?2 WHERE id = ?1")?;
    for (at, unit) in units.iter().enumerate() {
        let Some(above) = &unit.above else { continue };
        if let Some(above) = above
            && !is_unit(connection, above)?
        {
            return Err(wrong(&format!("/units/{at}/above"), "there is no such unit"));
        }
        stand.execute(params![unit.id, above])?;
    }
    no_circles(connection, units)?;
    for (at, unit) in units.iter().enumerate() {
        let detail = match &unit.members {
            Some(members) => {
                fill(connection, by, &unit.id, members, &format!("/units/{at}/members"))?;
                format!("with {} members", members.len())
            }
            None => String::new(),
        };
        by.audit(connection, None, ("unit.set", unit.id.as_str()), &detail)?;
    }
    Ok(())
}

fn put(connection: &Connection, by: &By<'_>, unit: &NewUnit, place: &str) -> Result<(), AdminError> {
    let NewUnit { id, name, shorthand, kind, profit_sharing, .. } = unit;
    let sql = "SELECT name, shorthand, kind FROM unit WHERE id = ?1";
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(String, String, String)> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    };
    let before = connection.query_row(sql, [id], read).optional()?;
    if let Some((name_before, shorthand_before, kind_before)) = before {
        if kind_before != *kind {
            let said = "the unit is there with another kind, which does not change";
            return Err(wrong(&format!("{place}/kind"), said));
        }
        if (name_before, shorthand_before) != (name.to_string(), shorthand.to_string()) {
            backend::rename_unit(connection, (by.actor(), by.now), id, name, shorthand)?;
        }
    }
    connection.execute(
        "INSERT INTO unit (id, name, shorthand, kind, profit_sharing) VALUES (?1, ?2, ?3, ?4, coalesce(?5, 0)) \
         ON CONFLICT (id) DO UPDATE SET profit_sharing = coalesce(?5, profit_sharing)",
        params![id, name, shorthand, kind, profit_sharing],
    )?;
    Ok(())
}

fn is_unit(connection: &Connection, unit: &UnitId) -> Result<bool, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM unit WHERE id = ?1)";
    Ok(connection.query_row(sql, [unit], |row| row.get(0))?)
}

/// Whoever leads a unit has a seat above those below it (DEM-06): none stands below itself.
fn no_circles(connection: &Connection, units: &[NewUnit]) -> Result<(), AdminError> {
    let mut rows = connection.prepare("SELECT id, above FROM unit WHERE above IS NOT NULL")?;
    let above = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let above: BTreeMap<UnitId, UnitId> = above.collect::<Result<_, _>>()?;
    for (at, unit) in units.iter().enumerate() {
        let way = std::iter::successors(above.get(&unit.id), |next| above.get(*next));
        // As many steps as there are units lead round a circle, if not to an end.
        if way.take(above.len()).any(|next| *next == unit.id) {
            return Err(wrong(&format!("/units/{at}/above"), "the unit would stand below itself"));
        }
    }
    Ok(())
}

/// Has a unit have these members and no others. Only what that changes is written, each for itself.
fn fill(
    connection: &Connection,
    by: &By<'_>,
    unit: &UnitId,
    all: &[NewMembership],
    place: &str,
) -> Result<(), AdminError> {
    let mut named = BTreeSet::new();
    for (at, NewMembership { member, .. }) in all.iter().enumerate() {
        if !named.insert(member) {
            return Err(wrong(&format!("{place}/{at}/member"), "this member stands in the unit already"));
        }
    }
    let mut rows = connection.prepare("SELECT member FROM membership WHERE unit = ?1 ORDER BY member")?;
    let had: Vec<MemberId> = rows.query_map([unit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let set =
        |member: &MemberId, role| members::set_role(connection, (by.actor(), by.now), member, unit, role);
    for member in had.iter().filter(|member| !named.contains(member)) {
        set(member, None)?;
    }
    for (at, NewMembership { member, role }) in all.iter().enumerate() {
        if !set(member, Some(*role))? {
            return Err(wrong(&format!("{place}/{at}/member"), "there is no such member"));
        }
    }
    Ok(())
}

/// The version of the terms that members have to have accepted, where there are terms (ERR-17).
///
/// # Errors
/// What the database says.
pub fn terms(connection: &Connection) -> Result<Option<String>, AdminError> {
    Ok(setting(connection, "terms")?)
}

/// Has members accept this version of the terms before clients act for them again; none wants nothing of them.
///
/// # Errors
/// [`AdminError::Wrong`], or what the database says.
pub fn set_terms(connection: &Connection, by: &By<'_>, version: Option<&str>) -> Result<(), AdminError> {
    match version {
        Some(version) => connection.execute(
            "INSERT INTO setting (name, value) VALUES ('terms', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [text("a version of the terms", version, 100)?],
        )?,
        None => connection.execute("DELETE FROM setting WHERE name = 'terms'", [])?,
    };
    Ok(by.audit(connection, None, ("terms", "terms"), version.unwrap_or("none"))?)
}

/// Lets a member administer the service on its pages, or no longer.
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn set_administrator(
    connection: &Connection,
    by: &By<'_>,
    member: &MemberId,
    administers: bool,
) -> Result<(), AdminError> {
    let found = members::find(connection, member)?;
    if found.is_none_or(|found| found.state == State::Deleted) {
        return Err(AdminError::Unknown { what: "member", id: member.to_string() });
    }
    let sql = "UPDATE member SET is_admin = ?2 WHERE id = ?1";
    connection.execute(sql, params![member, administers])?;
    let detail = if administers { "yes" } else { "no" };
    Ok(by.audit(connection, None, ("member.administrator", member.as_str()), detail)?)
}
