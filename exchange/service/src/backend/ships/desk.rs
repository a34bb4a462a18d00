//! What happens to ships elsewhere than in a connected client: on the web, by the system.

use std::collections::{BTreeMap, HashMap};

use exchange_api::types::{ChangeResult, ShipChangeSet};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::change::{ChangeError, Touched, Writer, told};
use super::super::journal;
use super::super::org_stock;
use super::{NAME, Ship, Ships, table};
use crate::feed::{self, Author, Change, Stream};
use crate::ids::{MemberId, UnitId};
use crate::names::{Shorthand, UnitName};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;
use crate::time::Moment;

impl Backend {
    /// Changes a member's ships by another way than a connected client. Ids of clients are linked by nobody
    /// else; no guard asks, no removal has to be overruled, and nothing is answered twice.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing is written then.
    pub async fn change_ships(
        &self,
        member: &MemberId,
        author: Author,
        body: ShipChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_beside::<Ships>(member, author, body).await
    }

    /// Gives a ship to another member: to the first its tombstone follows (SHP-05), and nobody's ids are its
    /// any more. Says whether the member has such a ship.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn give_ship(
        &self,
        member: &MemberId,
        author: Author,
        ship: &str,
        to: &MemberId,
    ) -> Result<bool, StoreError> {
        let (backend, member, id, to) = (self.clone(), member.clone(), ship.to_owned(), to.clone());
        let give = move |connection: &Connection| {
            let Some(before) = table::find(connection, &member, &id)? else { return Ok(false) };
            let links = BTreeMap::new();
            let after = Ship { version: before.version + 1, links, ..before.clone() };
            // Of both halves the giver knows.
            let by = backend.writer(&member, author.clone())?.by;
            connection.prepare_cached("DELETE FROM ship_link WHERE ship = ?1")?.execute([&id])?;
            let sql = "UPDATE ship SET member = ?2, version = ?3 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute(params![id, to, after.version])?;
            for (member, before, after) in [(member, Some(before), None), (to, None, Some(after))] {
                let writer = Writer { by: by.clone(), ..backend.writer(&member, author.clone())? };
                let key = id.clone();
                let touched = [Touched { key, before, after, removal: false, overridden: false }];
                told::<Ships>(connection, &writer, &touched, &HashMap::new(), &backend.interruption)?;
                given(connection, &writer, &id)?;
            }
            Ok(true)
        };
        self.store.write(give).await
    }

    /// Gives a unit another name and shorthand, by a rule of the service.
    ///
    /// # Errors
    /// What the store says; nothing is written then.
    pub async fn rename_unit(
        &self,
        unit: &UnitId,
        name: UnitName,
        shorthand: Shorthand,
    ) -> Result<bool, StoreError> {
        let (unit, now) = (unit.clone(), self.environment.now());
        let rename = move |connection: &Connection| {
            rename_unit(connection, (Actor::Service, now), &unit, &name, &shorthand)
        };
        self.store.write(rename).await
    }
}

/// Gives a unit another name and shorthand; the feeds of all whose ships belong to it tell of these ships (SHP-05), and
/// its pool of all its lots, which carry its name (OST-07). Says whether there is such a unit.
///
/// # Errors
/// What the database says.
pub(crate) fn rename_unit(
    connection: &Connection,
    (actor, now): (Actor<'_>, Moment),
    unit: &UnitId,
    name: &UnitName,
    shorthand: &Shorthand,
) -> Result<bool, StoreError> {
    let sql = "UPDATE unit SET name = ?2, shorthand = ?3 WHERE id = ?1";
    if connection.prepare_cached(sql)?.execute(params![unit, name, shorthand])? == 0 {
        return Ok(false);
    }
    org_stock::tell_of_unit(connection, unit, now)?;
    let detail = "as the members' ships and the unit's pool show it from now on";
    let deed = Deed { client: None, action: "unit.rename", subject: unit.as_str(), detail };
    records::audit(connection, now, actor, deed)?;
    let mut ships = connection.prepare_cached("SELECT member, id FROM ship WHERE unit = ?1 ORDER BY id")?;
    let mut rows = ships.query([unit])?;
    let mut told: BTreeMap<MemberId, Vec<String>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        told.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    for (member, ships) in told {
        let changes = ships.iter().map(|key| Change { key, gone: false });
        feed::record(connection, &Stream::of_member(NAME, &member), &Author::System, now, changes)?;
    }
    Ok(true)
}

fn given(connection: &Connection, writer: &Writer, ship: &str) -> Result<(), StoreError> {
    let detail = format!("{}: from one member to another", writer.author.channel());
    journal::audit(connection, writer, "ships.give", ship, &detail)
}
