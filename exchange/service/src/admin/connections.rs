//! Connected clients of members: listed, and ended (WEB-06).

use rusqlite::{Connection, params};
use serde::Serialize;

use super::{AdminError, By, clients, members};
use crate::idp::{Disconnected, disconnect_client, disconnect_installation};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::time::Moment;

/// Whose connections; none is everybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this member.
    pub member: Option<MemberId>,
    /// Of this client.
    pub client: Option<ClientId>,
}

/// An installation that called the exchange, or a connection that has not called yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The member.
    pub member: MemberId,
    /// The client.
    pub client: ClientId,
    /// The installation; none until it calls.
    pub installation: Option<InstallationId>,
    /// What the member calls it.
    pub label: Option<String>,
    /// When it was first seen, or connected.
    pub since: String,
    /// When it was last seen, or connected.
    pub last: String,
    /// Whether it has a connection at the provider of this service that goes on; none where that is not known.
    pub connected: Option<bool>,
    /// Whether it was disconnected: its key is refused for good (ERR-13).
    pub disconnected: bool,
}

/// Installations and connections, by member and client; the ones seen last come first.
///
/// # Errors
/// [`AdminError::Unknown`] for a member or client that never was, or what the database says.
pub fn list(connection: &Connection, filter: &Filter) -> Result<Vec<Listed>, AdminError> {
    if let Some(member) = &filter.member
        && !members::is_known(connection, member)?
    {
        return Err(AdminError::Unknown { what: "member", id: member.to_string() });
    }
    if let Some(client) = &filter.client
        && !clients::is_known(connection, client)?
    {
        return Err(AdminError::Unknown { what: "client", id: client.to_string() });
    }
    let sql = "SELECT member, client, id, label, first_seen, last_seen, \
                 EXISTS (SELECT 1 FROM connection WHERE connection.jkt = installation.jkt \
                   AND connection.client = installation.client \
                   AND connection.member = installation.member AND ended_at IS NULL), \
                 revoked_at IS NOT NULL \
               FROM installation WHERE (?1 IS NULL OR member = ?1) AND (?2 IS NULL OR client = ?2) \
               UNION ALL \
               SELECT member, client, NULL, NULL, created_at, used_at, 1, 0 FROM connection \
               WHERE ended_at IS NULL AND (?1 IS NULL OR member = ?1) AND (?2 IS NULL OR client = ?2) \
                 AND NOT EXISTS (SELECT 1 FROM installation WHERE connection.jkt = installation.jkt \
                   AND connection.client = installation.client AND connection.member = installation.member) \
               ORDER BY 1, 2, 6 DESC, 3";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map(params![filter.member, filter.client], |row| {
        Ok(Listed {
            member: row.get(0)?,
            client: row.get(1)?,
            installation: row.get(2)?,
            label: row.get(3)?,
            since: Moment::from_millis(row.get(4)?).to_string(),
            last: Moment::from_millis(row.get(5)?).to_string(),
            connected: row.get(6)?,
            disconnected: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Disconnects one installation for good (ERR-13).
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn end_installation(
    connection: &Connection,
    by: &By<'_>,
    installation: &InstallationId,
) -> Result<Disconnected, AdminError> {
    match disconnect_installation(connection, by.actor(), installation, by.now)? {
        Disconnected::NotFound => {
            Err(AdminError::Unknown { what: "installation", id: installation.to_string() })
        }
        done => Ok(done),
    }
}

/// Disconnects a client of a member, on all devices, until the member connects it anew (ERR-12).
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn end_client(
    connection: &Connection,
    by: &By<'_>,
    client: &ClientId,
    member: &MemberId,
) -> Result<Disconnected, AdminError> {
    match disconnect_client(connection, by.actor(), client, member, by.now)? {
        Disconnected::NotFound => {
            let (what, id) = match clients::is_known(connection, client)? {
                true => ("member", member.to_string()),
                false => ("client", client.to_string()),
            };
            Err(AdminError::Unknown { what, id })
        }
        done => Ok(done),
    }
}
