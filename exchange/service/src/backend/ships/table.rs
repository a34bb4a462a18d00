//! Reads and writes the database tables of ships.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::super::change::{EntryDelta, WriteContext};
use super::decide::ShipState;
use super::{NAME, ParsedShipOp, ShipAction, StoredShip};
use crate::feed::{self, FeedStream};
use crate::ids::{InstallationId, MemberId};
use crate::members;
use crate::store::{self, StoreError};

/// Loads the state of the ships to which ops refer by id or by external id.
pub(super) fn load_state(
    connection: &Connection,
    writer: &WriteContext,
    ops: &[ParsedShipOp],
) -> Result<ShipState, StoreError> {
    let installation = writer.author.client_installation().map(|(_, installation)| installation);
    let mut ids: BTreeSet<String> = BTreeSet::new();
    for ParsedShipOp { action, .. } in ops {
        let (external, ship) = match action {
            ShipAction::Link { external, ship } => (Some(external), Some(ship)),
            ShipAction::Upsert(upsert) => {
                (Some(&upsert.external), upsert.ship.as_ref().map(|(ship, _)| ship))
            }
            ShipAction::Remove { ship, .. } => (None, Some(ship)),
        };
        ids.extend(ship.cloned());
        if let Some((installation, external)) = installation.zip(external) {
            ids.extend(find_linked_ship(connection, installation, external)?);
        }
    }
    let units = members::list_units(connection, &writer.member)?.into_iter().collect();
    let mut state = ShipState { units, ..ShipState::default() };
    let mut missing = Vec::new();
    for id in ids {
        if let Some(ship) = find_ship(connection, &writer.member, &id)? {
            let missions = count_missions(connection, &id)?;
            state.missions.insert(id.clone(), missions);
            state.ships.insert(id, ship);
        } else {
            missing.push(id);
        }
    }
    let stream = FeedStream::of_member(NAME, &writer.member);
    let gone = feed::find_removals(connection, &stream, missing.iter().map(String::as_str))?;
    state.gone.extend(gone.into_iter().filter(|(_, gone)| writer.is_recent(gone)));
    Ok(state)
}

/// Returns the ship to which an installation linked an external id.
pub(super) fn find_linked_ship(
    connection: &Connection,
    installation: &InstallationId,
    external: &str,
) -> Result<Option<String>, StoreError> {
    let sql = "SELECT ship FROM ship_link WHERE installation = ?1 AND external_id = ?2";
    let mut one = connection.prepare_cached(sql)?;
    Ok(one.query_row(params![installation, external], |row| row.get(0)).optional()?)
}

/// Finds a ship of the member, with the external ids of all installations.
pub(super) fn find_ship(
    connection: &Connection,
    member: &MemberId,
    id: &str,
) -> Result<Option<StoredShip>, StoreError> {
    let sql = "SELECT ship_type, name, insured_months, location, fitted, unit, unit_version, version \
               FROM ship WHERE id = ?1 AND member = ?2";
    let mut one = connection.prepare_cached(sql)?;
    let Some(ship) = one.query_row(params![id, member], read_ship).optional()? else { return Ok(None) };
    let sql = "SELECT installation, external_id FROM ship_link WHERE ship = ?1";
    let mut links = connection.prepare_cached(sql)?;
    let links = links.query_map([id], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    Ok(Some(StoredShip { links, ..ship }))
}

/// Reads a ship without its links, which are loaded separately.
fn read_ship(row: &Row<'_>) -> rusqlite::Result<StoredShip> {
    Ok(StoredShip {
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

/// Counts the mission units that use a ship.
pub(super) fn count_missions(connection: &Connection, id: &str) -> Result<i64, StoreError> {
    let sql = "SELECT count(*) FROM mission_unit WHERE ship = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| row.get(0))?)
}

pub(super) fn count_ships(connection: &Connection, member: &MemberId) -> Result<u64, StoreError> {
    let sql = "SELECT count(*) FROM ship WHERE member = ?1";
    store::query_count(connection, sql, [member])
}

/// Returns the name and the type of a member's ship.
pub(super) fn ship_name(
    connection: &Connection,
    member: &MemberId,
    id: &str,
) -> Result<Option<(Option<String>, String)>, StoreError> {
    let sql = "SELECT name, ship_type FROM ship WHERE id = ?1 AND member = ?2";
    let mut one = connection.prepare_cached(sql)?;
    Ok(one.query_row(params![id, member], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

/// Writes decided changes to ships. Links are deleted before others are added, because an external id can
/// move between ships within one batch.
pub(super) fn write_ships(
    connection: &Connection,
    member: &MemberId,
    touched: &[EntryDelta<StoredShip>],
) -> Result<(), StoreError> {
    let mut untie =
        connection.prepare_cached("DELETE FROM ship_link WHERE installation = ?1 AND ship = ?2")?;
    for EntryDelta { key, before, after, .. } in touched {
        let Some(after) = after else {
            delete_ship(connection, key)?;
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
    for EntryDelta { key, after, .. } in touched {
        let Some(ship) = after else { continue };
        let StoredShip {
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

/// Deletes a ship and its links, and detaches the ship from mission units.
fn delete_ship(connection: &Connection, id: &str) -> Result<(), StoreError> {
    for sql in [
        "UPDATE mission_unit SET ship = NULL WHERE ship = ?1",
        "DELETE FROM ship_link WHERE ship = ?1",
        "DELETE FROM ship WHERE id = ?1",
    ] {
        connection.prepare_cached(sql)?.execute([id])?;
    }
    Ok(())
}
