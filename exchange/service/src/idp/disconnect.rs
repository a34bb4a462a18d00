//! Disconnects an installation or a client, on behalf of its member or of an administrator (WEB-06).
//!
//! One transaction writes both the revocations, which the gateway checks for each request, and the ends of
//! the connections, which the provider checks for each refresh. No request can be accepted in between.

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
    /// The installation or client is now disconnected.
    Disconnected,
    /// The installation was already disconnected.
    AlreadyDisconnected,
    /// The installation, client or member does not exist, or the installation or client does not belong to
    /// the actor.
    NotFound,
}

/// Disconnects one installation. Its key is refused permanently (ERR-13).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
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

/// Disconnects a member's client. The tokens of all sign-ins up to now are refused (ERR-12).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
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
    // `auth_time` has a resolution of one second, and can be slightly in the future.
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
