//! Disconnecting an installation or a client, by its member or an administrator (WEB-06).
//!
//! The revocations that the gateway checks at each request, and the ends of connections that the provider checks at
//! each refresh, are written in one transaction. No request can pass in between.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::connections::{self, EndReason};
use super::device;
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records::{self, Actor, AuditEntry};
use crate::store::StoreError;
use crate::time::Moment;

/// The outcome of a disconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisconnectOutcome {
    /// It was connected, and is disconnected now.
    Disconnected,
    /// It was disconnected before.
    AlreadyDisconnected,
    /// It does not exist, or does not belong to the actor.
    NotFound,
}

/// Disconnects one installation. Its key is refused permanently (ERR-13).
///
/// # Errors
/// [`StoreError`] if the database fails.
pub fn disconnect_installation(
    connection: &Connection,
    actor: Actor<'_>,
    installation: &InstallationId,
    now: Moment,
) -> Result<DisconnectOutcome, StoreError> {
    let sql = "SELECT client, member, jkt, revoked_at FROM installation WHERE id = ?1";
    type InstallationRow = (ClientId, MemberId, String, Option<i64>);
    let found: Option<InstallationRow> = connection
        .prepare_cached(sql)?
        .query_row([installation], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .optional()?;
    let Some((client, member, jkt, revoked_at)) = found else { return Ok(DisconnectOutcome::NotFound) };
    if matches!(actor, Actor::Member(actor) if *actor != member) {
        return Ok(DisconnectOutcome::NotFound);
    }
    if revoked_at.is_some() {
        return Ok(DisconnectOutcome::AlreadyDisconnected);
    }
    connection
        .prepare_cached("UPDATE installation SET revoked_at = ?2 WHERE id = ?1")?
        .execute(params![installation, now.as_millis()])?;
    end_connections_where(connection, "jkt = ?1", params![jkt], actor, now)?;
    let (action, subject) = ("disconnect-installation", installation.as_str());
    records::notify_member(connection, now, &member, "installation-disconnected", subject)?;
    records::record_audit(
        connection,
        now,
        actor,
        AuditEntry { client: Some(&client), action, subject, detail: "" },
    )?;
    Ok(DisconnectOutcome::Disconnected)
}

/// Disconnects a client of a member. Tokens of sign-ins up to now are refused (ERR-12).
///
/// # Errors
/// [`StoreError`] if the database fails.
pub fn disconnect_client(
    connection: &Connection,
    actor: Actor<'_>,
    client: &ClientId,
    member: &MemberId,
    now: Moment,
) -> Result<DisconnectOutcome, StoreError> {
    if matches!(actor, Actor::Member(actor) if actor != member) {
        return Ok(DisconnectOutcome::NotFound);
    }
    let sql =
        "SELECT EXISTS (SELECT 1 FROM client WHERE id = ?1) AND EXISTS (SELECT 1 FROM member WHERE id = ?2)";
    if !connection.prepare_cached(sql)?.query_row(params![client, member], |row| row.get(0))? {
        return Ok(DisconnectOutcome::NotFound);
    }
    // `auth_time` is in whole seconds, and may be slightly in the future.
    let latest: Option<i64> = connection
        .prepare_cached(
            "SELECT max(auth_time) FROM connection WHERE client = ?1 AND member = ?2 AND ended_at IS NULL",
        )?
        .query_row(params![client, member], |row| row.get(0))?;
    let time = latest.map_or(now.as_millis(), |latest| latest.max(now.as_millis()));
    connection
        .prepare_cached(
            "INSERT INTO client_revocation (client, member, at) VALUES (?1, ?2, ?3) \
             ON CONFLICT (client, member) DO UPDATE SET at = max(at, excluded.at)",
        )?
        .execute(params![client, member, time])?;
    end_connections_where(connection, "client = ?1 AND member = ?2", params![client, member], actor, now)?;
    device::decline_approved(connection, client, member)?;
    records::notify_member(connection, now, member, "client-disconnected", client.as_str())?;
    let (action, subject) = ("disconnect-client", member.as_str());
    records::record_audit(
        connection,
        now,
        actor,
        AuditEntry { client: Some(client), action, subject, detail: "" },
    )?;
    Ok(DisconnectOutcome::Disconnected)
}

fn end_connections_where(
    connection: &Connection,
    condition: &str,
    parameters: &[&dyn rusqlite::ToSql],
    actor: Actor<'_>,
    now: Moment,
) -> Result<(), StoreError> {
    for id in connections::list_ids_where(connection, condition, parameters)? {
        if let Some(found) = connections::find_connection(connection, &id)? {
            connections::end_connection(connection, &found, EndReason::Disconnected, actor, now)?;
        }
    }
    Ok(())
}
