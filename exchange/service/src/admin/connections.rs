//! Lists and ends the connections of members' clients (WEB-06).

use rusqlite::{Connection, params};
use serde::Serialize;

use super::{AdminContext, AdminError, clients, members};
use crate::idp::{DisconnectOutcome, disconnect_client, disconnect_installation};
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::time::Moment;

/// A filter for connections. The default value selects all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// Only connections of this member.
    pub member: Option<MemberId>,
    /// Only connections of this client.
    pub client: Option<ClientId>,
}

/// An installation, or a connection that has not yet called the exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedConnection {
    /// The id of the member.
    pub member: MemberId,
    /// The id of the client.
    pub client: ClientId,
    /// The installation; `None` before its first call.
    pub installation: Option<InstallationId>,
    /// The label that the client gave the installation.
    pub label: Option<String>,
    /// The time of the installation's first call; before that call, the time at which the connection was
    /// created.
    #[serde(rename = "since")]
    pub first_call: String,
    /// The time of the installation's last call; before the first call, the time of the last token refresh.
    #[serde(rename = "last")]
    pub last_call: String,
    /// Whether the installation has an active connection at the built-in provider; `None` if the provider is
    /// external.
    pub connected: Option<bool>,
    /// True if the installation was disconnected, so that its key is rejected permanently (ERR-13).
    pub disconnected: bool,
}

/// Lists installations and connections, ordered by member and client; within a client, the most recently used
/// is first.
///
/// # Errors
/// Returns [`AdminError::NotFound`] for an unknown member or client, or [`AdminError::Store`] if the database
/// fails.
pub fn list_connections(
    connection: &Connection,
    filter: &ConnectionFilter,
) -> Result<Vec<ListedConnection>, AdminError> {
    if let Some(member) = &filter.member
        && !members::is_known(connection, member)?
    {
        return Err(AdminError::NotFound { what: "member", id: member.to_string() });
    }
    if let Some(client) = &filter.client
        && !clients::is_known(connection, client)?
    {
        return Err(AdminError::NotFound { what: "client", id: client.to_string() });
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
        Ok(ListedConnection {
            member: row.get(0)?,
            client: row.get(1)?,
            installation: row.get(2)?,
            label: row.get(3)?,
            first_call: Moment::from_millis(row.get(4)?).to_string(),
            last_call: Moment::from_millis(row.get(5)?).to_string(),
            connected: row.get(6)?,
            disconnected: row.get(7)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Disconnects one installation permanently (ERR-13).
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn end_installation(
    connection: &Connection,
    admin: &AdminContext<'_>,
    installation: &InstallationId,
) -> Result<DisconnectOutcome, AdminError> {
    match disconnect_installation(connection, admin.actor(), installation, admin.now)? {
        DisconnectOutcome::NotFound => {
            Err(AdminError::NotFound { what: "installation", id: installation.to_string() })
        }
        done => Ok(done),
    }
}

/// Disconnects a member's client on all devices, until the member connects it again (ERR-12).
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn end_client(
    connection: &Connection,
    admin: &AdminContext<'_>,
    client: &ClientId,
    member: &MemberId,
) -> Result<DisconnectOutcome, AdminError> {
    match disconnect_client(connection, admin.actor(), client, member, admin.now)? {
        DisconnectOutcome::NotFound => {
            let (what, id) = match clients::is_known(connection, client)? {
                true => ("member", member.to_string()),
                false => ("client", client.to_string()),
            };
            Err(AdminError::NotFound { what, id })
        }
        done => Ok(done),
    }
}
