//! Changes of ships by the web pages and the system, not by a connected client.

use std::collections::{BTreeMap, HashMap};

use exchange_api::types::{ChangeResult, ShipChangeSet};
use rusqlite::{Connection, params};

use super::super::Backend;
use super::super::change::{ChangeError, EntryDelta, WriteContext, publish_and_journal};
use super::super::journal;
use super::super::org_stock;
use super::{NAME, ShipArea, StoredShip, table};
use crate::feed::{self, ChangeAuthor, FeedStream, KeyChange};
use crate::ids::{MemberId, UnitId};
use crate::names::{UnitName, UnitShorthand};
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use crate::time::Moment;

impl Backend {
    /// Changes a member's ships on behalf of an author other than a connected client. Such an author cannot
    /// link external ids. The guard does not apply, removals need no override, and no response is stored for
    /// repetition.
    ///
    /// # Errors
    /// Returns a [`ChangeError`] if the change fails; nothing is written in that case.
    pub async fn change_ships(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        body: ShipChangeSet,
    ) -> Result<ChangeResult, ChangeError> {
        self.change_server_side::<ShipArea>(member, author, body).await
    }

    /// Transfers a ship to another member. The feed of the first member gets a tombstone (SHP-05), and all
    /// external ids are unlinked. Returns false if the member has no such ship.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn give_ship(
        &self,
        member: &MemberId,
        author: ChangeAuthor,
        ship: &str,
        to: &MemberId,
    ) -> Result<bool, StoreError> {
        let (backend, member, id, to) = (self.clone(), member.clone(), ship.to_owned(), to.clone());
        let give = move |connection: &Connection| {
            let Some(before) = table::find_ship(connection, &member, &id)? else { return Ok(false) };
            let links = BTreeMap::new();
            let after = StoredShip { version: before.version + 1, links, ..before.clone() };
            // The member who gives the ship is the audit actor of both changes.
            let by = backend.write_context(&member, author.clone())?.actor;
            connection.prepare_cached("DELETE FROM ship_link WHERE ship = ?1")?.execute([&id])?;
            let sql = "UPDATE ship SET member = ?2, version = ?3 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute(params![id, to, after.version])?;
            for (member, before, after) in [(member, Some(before), None), (to, None, Some(after))] {
                let writer =
                    WriteContext { actor: by.clone(), ..backend.write_context(&member, author.clone())? };
                let key = id.clone();
                let touched = [EntryDelta { key, before, after, removal: false, overridden: false }];
                publish_and_journal::<ShipArea>(
                    connection,
                    &writer,
                    &touched,
                    &HashMap::new(),
                    &backend.fault_injector,
                )?;
                audit_transfer(connection, &writer, &id)?;
            }
            Ok(true)
        };
        self.store.write(give).await
    }

    /// Renames a unit on behalf of the service. Returns false if the unit does not exist.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the write fails; nothing is written in that case.
    pub async fn rename_unit(
        &self,
        unit: &UnitId,
        name: UnitName,
        shorthand: UnitShorthand,
    ) -> Result<bool, StoreError> {
        let (unit, now) = (unit.clone(), self.environment.now());
        let rename = move |connection: &Connection| {
            rename_unit(connection, (Actor::Service, now), &unit, &name, &shorthand)
        };
        self.store.write(rename).await
    }
}

/// Changes a unit's name and shorthand. Records the unit's ships in the feeds of their members (SHP-05), and
/// the lots of its pool, which contain the name, in the feed of the pool (OST-07). Returns false if the unit
/// does not exist.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub(crate) fn rename_unit(
    connection: &Connection,
    (actor, now): (Actor<'_>, Moment),
    unit: &UnitId,
    name: &UnitName,
    shorthand: &UnitShorthand,
) -> Result<bool, StoreError> {
    let sql = "UPDATE unit SET name = ?2, shorthand = ?3 WHERE id = ?1";
    if connection.prepare_cached(sql)?.execute(params![unit, name, shorthand])? == 0 {
        return Ok(false);
    }
    org_stock::publish_unit_change(connection, unit, now)?;
    let detail = "as the members' ships and the unit's pool show it from now on";
    let entry = AuditEntry { client: None, action: "unit.rename", subject: unit.as_str(), detail };
    records::record_audit(connection, now, actor, entry)?;
    let mut ships = connection.prepare_cached("SELECT member, id FROM ship WHERE unit = ?1 ORDER BY id")?;
    let mut rows = ships.query([unit])?;
    let mut changed: BTreeMap<MemberId, Vec<String>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        changed.entry(row.get(0)?).or_default().push(row.get(1)?);
    }
    for (member, ships) in changed {
        let changes = ships.iter().map(|key| KeyChange { key, gone: false });
        feed::record_changes(
            connection,
            &FeedStream::of_member(NAME, &member),
            &ChangeAuthor::System,
            now,
            changes,
        )?;
    }
    Ok(true)
}

fn audit_transfer(connection: &Connection, writer: &WriteContext, ship: &str) -> Result<(), StoreError> {
    let detail = format!("{}: from one member to another", writer.author.channel());
    journal::write_audit(connection, writer, "ships.give", ship, &detail)
}
