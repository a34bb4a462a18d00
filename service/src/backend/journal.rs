//! The journal of what changed, and the audit of who did what.

use rusqlite::{Connection, params};
use serde::Serialize;

use super::change::{Touched, Writer};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;

/// Writes down what became of each entry.
pub(super) fn record<E: Serialize>(
    connection: &Connection,
    writer: &Writer,
    area: &str,
    touched: &[Touched<E>],
) -> Result<(), StoreError> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO journal (at, member, area, key, change_set, channel, client, installation, removal, \
         override, before, after) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
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
    records::audit(connection, writer.now, Actor::Member(&writer.member), deed)
}
