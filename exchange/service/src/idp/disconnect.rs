//! Disconnecting: one installation, or a whole client, by its member or an administrator (WEB-06).
//!
//! What the gateway asks of each request (revoked key, revoked client) and what the provider asks of each
//! refresh are written in one step with the end of the connections, so that no order of the two
//! lets anybody through.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::connections::{self, End};
use super::device;
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records::{self, Actor, Deed};
use crate::store::StoreError;
use crate::time::Moment;

/// Whether there was something to disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disconnected {
    /// It is disconnected now.
    Now,
    /// It was before.
    Before,
    /// There is no such thing, or it is not the actor's.
    NotFound,
}

/// Disconnects one installation: its key is refused for good (ERR-13).
///
/// # Errors
/// What the database says.
pub fn disconnect_installation(
    connection: &Connection,
    actor: Actor<'_>,
    installation: &InstallationId,
    now: Moment,
) -> Result<Disconnected, StoreError> {
    let sql = "SELECT client, member, jkt, revoked_at FROM installation WHERE id = ?1";
    type Row = (ClientId, MemberId, String, Option<i64>);
    let found: Option<Row> = connection
        .prepare_cached(sql)?
        .query_row([installation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((client, member, jkt, revoked_at)) = found else { return Ok(Disconnected::NotFound) };
    if matches!(actor, Actor::Member(actor) if *actor != member) {
        return Ok(Disconnected::NotFound);
    }
    if revoked_at.is_some() {
        return Ok(Disconnected::Before);
    }
    connection
        .prepare_cached("UPDATE installation SET revoked_at = ?2 WHERE id = ?1")?
        .execute(params![installation, now.millis()])?;
    end(connection, "jkt = ?1", params![jkt], actor, now)?;
    let (action, subject) = ("disconnect-installation", installation.as_str());
    records::notice(connection, now, &member, "installation-disconnected", subject)?;
    records::audit(connection, now, actor, Deed { client: Some(&client), action, subject, detail: "" })?;
    Ok(Disconnected::Now)
}

/// Disconnects a client of a member: tokens of a sign-in up to now are refused (ERR-12).
///
/// # Errors
/// What the database says.
pub fn disconnect_client(
    connection: &Connection,
    actor: Actor<'_>,
    client: &ClientId,
    member: &MemberId,
    now: Moment,
) -> Result<Disconnected, StoreError> {
    if matches!(actor, Actor::Member(actor) if actor != member) {
        return Ok(Disconnected::NotFound);
    }
    let sql =
        "SELECT EXISTS (SELECT 1 FROM client WHERE id = ?1) AND EXISTS (SELECT 1 FROM member WHERE id = ?2)";
    if !connection.prepare_cached(sql)?.query_row(params![client, member], |row| row.get(0))? {
        return Ok(Disconnected::NotFound);
    }
    // A sign-in is told in whole seconds, which may lie a little ahead of now.
    let latest: Option<i64> = connection
        .prepare_cached(
            "SELECT max(auth_time) FROM connection WHERE client = ?1 AND member = ?2 AND ended_at IS NULL",
        )?
        .query_row(params![client, member], |row| row.get(0))?;
    let at = latest.map_or(now.millis(), |latest| latest.max(now.millis()));
    connection
        .prepare_cached(
            "INSERT INTO client_revocation (client, member, at) VALUES (?1, ?2, ?3) \
             ON CONFLICT (client, member) DO UPDATE SET at = max(at, excluded.at)",
        )?
        .execute(params![client, member, at])?;
    end(connection, "client = ?1 AND member = ?2", params![client, member], actor, now)?;
    device::decline_approved(connection, client, member)?;
    records::notice(connection, now, member, "client-disconnected", client.as_str())?;
    let (action, subject) = ("disconnect-client", member.as_str());
    records::audit(connection, now, actor, Deed { client: Some(client), action, subject, detail: "" })?;
    Ok(Disconnected::Now)
}

fn end(
    connection: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    for id in connections::ids_where(connection, condition, parameters)? {
        if let Some(found) = connections::find(connection, &id)? {
            connections::end(connection, &found, End::Disconnected, actor, now)?;
        }
    }
    Ok(())
}
