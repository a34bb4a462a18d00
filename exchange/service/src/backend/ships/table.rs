//! The tables of ships: what is loaded for a decision, and how one is written.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::change::{Touched, Writer};
use super::decide::Known;
use super::{NAME, Op, Ship, Wish};
use crate::feed::{self, Stream};
use crate::ids::{InstallationId, MemberId};
use crate::members;
use crate::store::{self, StoreError};

/// What is known of the ships that ops name, and of those that the installation links to their ids.
pub(super) fn known(connection: &Connection, writer: &Writer, ops: &[Op]) -> Result<Known, StoreError> {
    let installation = writer.author.connected().map(|(_, installation)| installation);
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for Op { wish, .. } in ops {
        let (external, ship) = match wish {
            Wish::Link { external, ship } => (Some(external), Some(ship)),
            Wish::Upsert(upsert) => (Some(&upsert.external), upsert.ship.as_ref().map(|(ship, _)| ship)),
            Wish::Remove { ship, .. } => (None, Some(ship)),
        };
        ids.extend(ship.cloned());
        if let Some((installation, external)) = installation.zip(external) {
            ids.extend(linked(connection, installation, external)?);
        }
    }
    let units = members::units(connection, &writer.member)?.into_iter().collect();
    let mut known = Known { units, ..Known::default() };
    let mut missing = Vec::new();
    for id in ids {
        if let Some(ship) = find(connection, &writer.member, &id)? {
            let missions = missions(connection, &id)?;
            known.missions.insert(id.clone(), missions);
            known.ships.insert(id, ship);
        } else {
            missing.push(id);
        }
    }
    let stream = Stream::of_member(NAME, &writer.member);
    let gone = feed::removals(connection, &stream, missing.iter().map(String::as_str))?;
    known.gone.extend(gone.into_iter().filter(|(_, gone)| writer.remembers(gone)));
    Ok(known)
}

/// The ship that an installation links to an id.
pub(super) fn linked(
    connection: &Connection,
    installation: &InstallationId,
    external: &str,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT ship FROM ship_link WHERE installation = ?1 AND external_id = ?2";
    let mut one = connection.prepare_cached(sql)?;
    Ok(one.query_row(params![installation, external], |row| row.get(0)).optional()?)
}

/// The member's ship of an id, with the ids that clients have for it.
pub(super) fn find(connection: &Connection, member: &MemberId, id: &str) -> Result<Option<Ship>, StoreError> {
    let sql = "SELECT ship_type, name, insured_months, location, fitted, unit, unit_version, version \
               FROM ship WHERE id = ?1 AND member = ?2";
    let mut one = connection.prepare_cached(sql)?;
    let Some(ship) = one.query_row(params![id, member], ship).optional()? else { return Ok(None) };
    let sql = "SELECT installation, external_id FROM ship_link WHERE ship = ?1";
    let mut links = connection.prepare_cached(sql)?;
    let links = links.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(Some(Ship { links, ..ship }))
}

/// Without its links.
fn ship(row: &Row<'_>) -> rusqlite::Result<Ship> {
    Ok(Ship {
        ship_type: row.get(0)?,
        name: row.get(1)?,
        insured_months: row.get(2)?,
        location: row.get(3)?,
        fitted: row.get(4)?,
        unit: row.get(5)?,
        unit_version: row.get(6)?,
        version: row.get(7)?,
        links: BTreeMap::new(),
        replaces: None,
    })
}

/// How many parts of missions fly a ship.
pub(super) fn missions(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) FROM mission_unit WHERE ship = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
}

/// How many ships the member has.
pub(super) fn count(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM ship WHERE member = ?1";
    store::count(connection, sql, [member])
}

/// Writes what was decided. Ids change ships in any order within a batch, so that all that end go first.
pub(super) fn apply(
    connection: &Connection,
    member: &MemberId,
    touched: &[Touched<Ship>],
) -> Result<(), StoreError> {
    let mut untie =
        connection.prepare_cached("DELETE FROM ship_link WHERE installation = ?1 AND ship = ?2")?;
    for Touched { key, before, after, .. } in touched {
        let Some(after) = after else {
            remove(connection, key)?;
            continue;
        };
        for (installation, link) in before.iter().flat_map(|before| &before.links) {
            if after.links.get(installation) != Some(link) {
                untie.execute(params![installation, key])?;
            }
        }
    }
    let mut put = connection.prepare_cached(
        "INSERT INTO ship (id, member, ship_type, name, insured_months, location, fitted, unit, \
         unit_version, version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
         ON CONFLICT (id) DO UPDATE SET ship_type = excluded.ship_type, name = excluded.name, \
         insured_months = excluded.insured_months, location = excluded.location, \
         fitted = excluded.fitted, unit = excluded.unit, unit_version = excluded.unit_version, \
         version = excluded.version",
    )?;
    let mut tie = connection.prepare_cached(
        "INSERT INTO ship_link (installation, external_id, ship) VALUES (?1, ?2, ?3) \
         ON CONFLICT (installation, external_id) DO UPDATE SET ship = excluded.ship",
    )?;
    for Touched { key, after, .. } in touched {
        let Some(ship) = after else { continue };
        let Ship {
            ship_type,
            name,
            insured_months,
            location,
            fitted,
            unit,
            unit_version,
            version,
            links,
            replaces: _,
        } = ship;
        put.execute(params![
            key,
            member,
            ship_type,
            name,
            insured_months,
            location,
            fitted,
            unit,
            unit_version,
            version,
        ])?;
        for (installation, link) in links {
            tie.execute(params![installation, link, key])?;
        }
    }
    Ok(())
}

/// Deletes a ship: no part of a mission flies it any more, and no id of any installation is its.
fn remove(connection: &Connection, id: &str) -> Result<(), StoreError> {
    for sql in [
        "UPDATE mission_unit SET ship = NULL WHERE ship = ?1",
        "DELETE FROM ship_link WHERE ship = ?1",
        "DELETE FROM ship WHERE id = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}
