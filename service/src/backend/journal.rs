//! The journal of what changed, and the audit of who did what.

use std::collections::HashMap;

use rusqlite::{Connection, params};
use serde::Serialize;

use super::change::{Touched, Writer};
use crate::records::{self, Deed};
use crate::store::{StoreError, limit, setting};
use crate::time::Moment;

/// Writes down what became of each entry; of what is set back, from which entry of the journal on its key is again as
/// it was before, so that nobody undoes it twice.
pub(super) fn record<E: Serialize>(
    connection: &Connection,
    writer: &Writer,
    area: &str,
    touched: &[Touched<E>],
    undoes: &HashMap<String, i64>,
) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO journal (at, member, area, key, change_set, channel, client, installation, removal, \
         override, undoes, before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    let (client, installation) = writer.author.connected().unzip();
    for Touched { key, before, after, removal, overridden } in touched {
        insert.execute(params![
            writer.now.millis(),
            writer.member,
            area,
            key,
            writer.change_set,
            writer.author.channel(),
            client,
            installation,
            removal,
            overridden,
            undoes.get(key),
            text(before.as_ref())?,
            text(after.as_ref())?,
        ])?;
    }
    Ok(())
}

fn text<E: Serialize>(entry: Option<&E>) -> Result<Option<String>, StoreError> {
    let text = entry.map(serde_json::to_string).transpose();
    text.map_err(|_| StoreError::Corrupt("an entry that cannot be written"))
}

/// Writes down who did what, through which client.
pub(super) fn audit(
    connection: &Connection,
    writer: &Writer,
    action: &str,
    subject: &str,
    detail: &str,
) -> Result<(), StoreError> {
    let client = writer.author.connected().map(|(client, _)| client);
    let deed = Deed { client, action, subject, detail };
    records::audit(connection, writer.now, writer.by.actor(), deed)
}

/// Removes at most so many entries that are older than a moment, from the oldest on; says how many.
///
/// They go in the order in which they came, so that what is left is whole from some moment on: the floor, which
/// rises in the same transaction. An entry that is not old holds up those behind it, whose time was told by a
/// clock that had stepped back.
///
/// # Errors
/// What the database says.
pub(crate) fn prune(connection: &Connection, before: Moment, most: usize) -> Result<usize, StoreError> {
    let mut first = connection.prepare_cached("SELECT id, at FROM journal ORDER BY id LIMIT ?1")?;
    let first: Vec<(i64, i64)> =
        first.query_map([limit(most)], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
    let old = first.iter().take_while(|(_, at)| *at < before.millis());
    let (Some((last, _)), Some(at)) = (old.clone().last(), old.clone().map(|(_, at)| *at).max()) else {
        return Ok(0);
    };
    let removed = connection.prepare_cached("DELETE FROM journal WHERE id <= ?1")?.execute([last])?;
    let floor = floor(connection)?.map_or(at, |floor| floor.millis().max(at));
    connection
        .prepare_cached(
            "INSERT INTO setting (name, value) VALUES ('journal-floor', ?1) \
             ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        )?
        .execute([floor.to_string()])?;
    Ok(removed)
}

/// The moment up to which entries may be gone; none as long as all are there.
pub(super) fn floor(connection: &Connection) -> Result<Option<Moment>, StoreError> {
    let found = setting(connection, "journal-floor")?;
    let corrupt = |_| StoreError::Corrupt("a floor of the journal that is no time");
    found.map(|text| text.parse().map(Moment::from_millis).map_err(corrupt)).transpose()
}
