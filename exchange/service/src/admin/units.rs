//! Imports org units with their members from a document, and sets the terms and the members who administer
//! the service.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::types::OrgUnitKind;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Deserialize;
use serde_json::Value;

use super::documents::{JsonDocument, invalid_at, parse_items};
use super::{AdminContext, AdminError, check_id, check_name};
use crate::backend;
use crate::ids::{MemberId, UnitId};
use crate::members::{self, RegistrationState, UnitRole};
use crate::names::{UnitName, UnitShorthand};
use crate::store::read_setting;

/// A unit as described by an imported document.
#[derive(Clone, Debug)]
pub struct NewUnit {
    id: UnitId,
    name: UnitName,
    shorthand: UnitShorthand,
    kind: String,
    /// Whether the unit takes part in profit sharing. `None` keeps the stored value.
    profit_sharing: Option<bool>,
    /// The parent unit. `None` keeps the stored value, `Some(None)` removes the parent.
    above: Option<Option<UnitId>>,
    /// The members of the unit. `None` keeps the stored members.
    members: Option<Vec<NewMembership>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewMembership {
    member: MemberId,
    #[serde(default)]
    role: UnitRole,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UnitDocument {
    id: UnitId,
    name: String,
    shorthand: String,
    kind: String,
    profit_sharing: Option<bool>,
    #[serde(default, deserialize_with = "deserialize_some")]
    above: Option<Option<UnitId>>,
    members: Option<Value>,
}

/// Deserializes a property that is present. This distinguishes `null` from an absent property.
fn deserialize_some<'de, D: serde::Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// Parses a JSON document with `units`. Each unit has `id`, `name`, `shorthand`, `kind`, and optionally
/// `profitSharing`, `above` (the parent unit) and `members`, a list of objects with `member` and `role`
/// (`member`, `logistician`, `leader`).
///
/// # Errors
/// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid value.
pub fn read_units(text: &str) -> Result<Vec<NewUnit>, AdminError> {
    let written: Vec<UnitDocument> = JsonDocument::parse_object(text, &["units"])?.take_list("units")?;
    let mut known = BTreeSet::new();
    let unit = |(index, written): (usize, UnitDocument)| {
        let place = format!("/units/{index}");
        let member = |name: &str| format!("{place}/{name}");
        let UnitDocument { id: unit, name, shorthand, kind, profit_sharing, above, members } = written;
        check_id(&member("id"), unit.as_str(), 128)?;
        if !known.insert(unit.clone()) {
            return Err(invalid_at(&member("id"), "duplicate unit id"));
        }
        if !OrgUnitKind::from(&*kind).is_known() {
            let all: Vec<_> = OrgUnitKind::ALL.iter().map(OrgUnitKind::as_str).collect();
            return Err(invalid_at(&member("kind"), format!("expected one of {}", all.join(", "))));
        }
        Ok(NewUnit {
            id: unit,
            name: name.parse().map_err(|error| invalid_at(&member("name"), format!("{error}")))?,
            shorthand: shorthand
                .parse()
                .map_err(|error| invalid_at(&member("shorthand"), format!("{error}")))?,
            kind,
            profit_sharing,
            above,
            members: members.map(|members| parse_items(members, &member("members"))).transpose()?,
        })
    };
    written.into_iter().enumerate().map(unit).collect()
}

/// Adds units, or changes the names, profit sharing, parents and members of existing ones. If a unit lists
/// members, all other members are removed from it. An absent property keeps its stored value; a new unit has
/// no profit sharing and no parent by default. A new name appears in the feeds (SHP-05, OST-07). The kind of
/// a unit cannot change.
///
/// # Errors
/// Returns [`AdminError::Invalid`], with the JSON Pointer of the invalid value, or [`AdminError::Store`] if the
/// database fails.
pub fn set_units(
    connection: &Connection,
    admin: &AdminContext<'_>,
    units: &[NewUnit],
) -> Result<(), AdminError> {
    for (index, unit) in units.iter().enumerate() {
        upsert_unit(connection, admin, unit, &format!("/units/{index}"))?;
    }
    // Parents are set last, because a unit may name a parent that follows it in the document.
    let mut set_above = connection.prepare("UPDATE unit SET above = ?2 WHERE id = ?1")?;
    for (index, unit) in units.iter().enumerate() {
        let Some(above) = &unit.above else { continue };
        if let Some(above) = above
            && !is_unit(connection, above)?
        {
            return Err(invalid_at(&format!("/units/{index}/above"), "unknown unit"));
        }
        set_above.execute(params![unit.id, above])?;
    }
    check_no_cycles(connection, units)?;
    for (index, unit) in units.iter().enumerate() {
        let detail = match &unit.members {
            Some(members) => {
                set_members(connection, admin, &unit.id, members, &format!("/units/{index}/members"))?;
                format!("with {} members", members.len())
            }
            None => String::new(),
        };
        admin.record_audit(connection, None, ("unit.set", unit.id.as_str()), &detail)?;
    }
    Ok(())
}

fn upsert_unit(
    connection: &Connection,
    admin: &AdminContext<'_>,
    unit: &NewUnit,
    place: &str,
) -> Result<(), AdminError> {
    let NewUnit { id, name, shorthand, kind, profit_sharing, .. } = unit;
    let sql = "SELECT name, shorthand, kind FROM unit WHERE id = ?1";
    let read = |row: &rusqlite::Row<'_>| -> rusqlite::Result<(String, String, String)> {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    };
    let before = connection.query_row(sql, [id], read).optional()?;
    if let Some((name_before, shorthand_before, kind_before)) = before {
        if kind_before != *kind {
            let message = "the unit exists with another kind, and a kind cannot change";
            return Err(invalid_at(&format!("{place}/kind"), message));
        }
        if (name_before, shorthand_before) != (name.to_string(), shorthand.to_string()) {
            backend::rename_unit(connection, (admin.actor(), admin.now), id, name, shorthand)?;
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

/// Requires that no unit is its own ancestor, because a unit's leader has rights over the units below it (DEM-06).
fn check_no_cycles(connection: &Connection, units: &[NewUnit]) -> Result<(), AdminError> {
    let mut rows = connection.prepare("SELECT id, above FROM unit WHERE above IS NOT NULL")?;
    let above = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let above: BTreeMap<UnitId, UnitId> = above.collect::<Result<_, _>>()?;
    for (index, unit) in units.iter().enumerate() {
        let ancestors = std::iter::successors(above.get(&unit.id), |next| above.get(*next));
        // A walk with as many steps as there are parents either reaches a root or follows a cycle.
        if ancestors.take(above.len()).any(|next| *next == unit.id) {
            return Err(invalid_at(&format!("/units/{index}/above"), "the unit would be below itself"));
        }
    }
    Ok(())
}

/// Replaces the members of a unit; writes only the differences.
fn set_members(
    connection: &Connection,
    admin: &AdminContext<'_>,
    unit: &UnitId,
    all: &[NewMembership],
    place: &str,
) -> Result<(), AdminError> {
    let mut named = BTreeSet::new();
    for (index, NewMembership { member, .. }) in all.iter().enumerate() {
        if !named.insert(member) {
            return Err(invalid_at(&format!("{place}/{index}/member"), "duplicate member of the unit"));
        }
    }
    let mut rows = connection.prepare("SELECT member FROM membership WHERE unit = ?1 ORDER BY member")?;
    let existing: Vec<MemberId> = rows.query_map([unit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let set = |member: &MemberId, role| {
        members::set_role(connection, (admin.actor(), admin.now), member, unit, role)
    };
    for member in existing.iter().filter(|member| !named.contains(member)) {
        set(member, None)?;
    }
    for (index, NewMembership { member, role }) in all.iter().enumerate() {
        if !set(member, Some(*role))? {
            return Err(invalid_at(&format!("{place}/{index}/member"), "unknown member"));
        }
    }
    Ok(())
}

/// Returns the version of the terms that members must have accepted (ERR-17); `None` if there are no terms.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn current_terms(connection: &Connection) -> Result<Option<String>, AdminError> {
    Ok(read_setting(connection, "terms")?)
}

/// Sets the version of the terms that members must accept before clients may act for them. `None` removes the
/// requirement.
///
/// # Errors
/// Returns [`AdminError::Invalid`], or [`AdminError::Store`] if the database fails.
pub fn set_terms(
    connection: &Connection,
    admin: &AdminContext<'_>,
    version: Option<&str>,
) -> Result<(), AdminError> {
    match version {
        Some(version) => connection.execute(
            "INSERT INTO setting (name, value) VALUES ('terms', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
            [check_name("a version of the terms", version, 100)?],
        )?,
        None => connection.execute("DELETE FROM setting WHERE name = 'terms'", [])?,
    };
    Ok(admin.record_audit(connection, None, ("terms", "terms"), version.unwrap_or("none"))?)
}

/// The maximum length of the text of the terms, in bytes.
const MAX_TERMS_BYTES: usize = 256 << 10;

/// Stores the text of a version of the terms, which members read on the page `/terms`. An empty line separates
/// paragraphs.
///
/// # Errors
/// Returns [`AdminError::Invalid`] for an empty text or one of more than 256 KiB, or [`AdminError::Store`] if
/// the database fails.
pub fn set_terms_text(
    connection: &Connection,
    admin: &AdminContext<'_>,
    version: &str,
    text: &str,
) -> Result<(), AdminError> {
    let text = text.replace("\r\n", "\n");
    if text.trim().is_empty() || text.len() > MAX_TERMS_BYTES || text.contains('\0') {
        let problem = "the text of the terms must have 1 byte to 256 KiB, without NUL characters";
        return Err(AdminError::Invalid(problem.to_owned()));
    }
    let sql = "INSERT INTO terms_text (version, text) VALUES (?1, ?2) \
               ON CONFLICT (version) DO UPDATE SET text = excluded.text";
    connection.execute(sql, params![check_name("a version of the terms", version, 100)?, text])?;
    Ok(admin.record_audit(connection, None, ("terms.text", "terms"), version)?)
}

/// Grants or revokes a member's right to administer the service on the web pages.
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn set_administrator(
    connection: &Connection,
    admin: &AdminContext<'_>,
    member: &MemberId,
    administers: bool,
) -> Result<(), AdminError> {
    let found = members::find_member(connection, member)?;
    if found.is_none_or(|found| found.state == RegistrationState::Deleted) {
        return Err(AdminError::NotFound { what: "member", id: member.to_string() });
    }
    let sql = "UPDATE member SET is_admin = ?2 WHERE id = ?1";
    connection.execute(sql, params![member, administers])?;
    let detail = if administers { "yes" } else { "no" };
    Ok(admin.record_audit(connection, None, ("member.administrator", member.as_str()), detail)?)
}
