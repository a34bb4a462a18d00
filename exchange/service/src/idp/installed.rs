//! The connected applications of a member: each client with its installations, and which installations are
//! new (WEB-04, WEB-05).

use rusqlite::{Connection, params};

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::store::StoreError;
use crate::time::Moment;

/// A client that may call the exchange for the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedApplication {
    /// The id of the client.
    pub client: ClientId,
    /// The registered name of the client.
    pub name: String,
    /// The installations, most recently used first. Empty before the client's first call.
    pub installations: Vec<ConnectedInstallation>,
    /// True if the client is also connected on a device from which it has not called the exchange yet.
    pub is_awaited: bool,
}

/// An installation, which is a client on one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedInstallation {
    /// The id that the client receives in the service document (SVC-03).
    pub id: InstallationId,
    /// The label that the client gave the installation (SVC-10).
    pub label: Option<String>,
    /// The time of the installation's first call.
    pub first_seen: Moment,
    /// The time of the installation's last call, accurate to a few minutes.
    pub last_seen: Moment,
    /// True if the member has not acknowledged the installation yet.
    pub is_new: bool,
    /// True if the installation has an active connection at the built-in provider.
    pub is_connected: bool,
}

/// Lists the connected clients of a member, sorted by name. A disconnected client appears again once the
/// member has connected it again.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn list_applications(
    connection: &Connection,
    member: &MemberId,
) -> Result<Vec<ConnectedApplication>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT i.client, coalesce(c.name, i.client), i.id, i.label, i.first_seen, i.last_seen, \
           i.acknowledged_at IS NULL, EXISTS \
           (SELECT 1 FROM connection o WHERE o.jkt = i.jkt AND o.client = i.client AND o.member = i.member \
              AND o.ended_at IS NULL) AS is_connected \
         FROM installation i LEFT JOIN client c ON c.id = i.client \
         WHERE i.member = ?1 AND i.revoked_at IS NULL AND (is_connected OR NOT EXISTS \
           (SELECT 1 FROM client_revocation r WHERE r.client = i.client AND r.member = i.member \
              AND r.at >= i.last_seen)) \
         UNION ALL \
         SELECT DISTINCT o.client, coalesce(c.name, o.client), NULL, NULL, 0, 0, 0, 1 \
         FROM connection o LEFT JOIN client c ON c.id = o.client \
         WHERE o.member = ?1 AND o.ended_at IS NULL AND NOT EXISTS \
           (SELECT 1 FROM installation i WHERE i.jkt = o.jkt AND i.client = o.client AND i.member = o.member) \
         ORDER BY 2, 1, 6 DESC, 3",
    )?;
    let mut rows = rows.query([member])?;
    let mut all: Vec<ConnectedApplication> = Vec::new();
    while let Some(row) = rows.next()? {
        let client: ClientId = row.get(0)?;
        if all.last().is_none_or(|last| last.client != client) {
            let (name, installations) = (row.get(1)?, Vec::new());
            all.push(ConnectedApplication { client, name, installations, is_awaited: false });
        }
        let Some(last) = all.last_mut() else { continue };
        let Some(id) = row.get(2)? else {
            last.is_awaited = true;
            continue;
        };
        last.installations.push(ConnectedInstallation {
            id,
            label: row.get(3)?,
            first_seen: Moment::from_millis(row.get(4)?),
            last_seen: Moment::from_millis(row.get(5)?),
            is_new: row.get(6)?,
            is_connected: row.get(7)?,
        });
    }
    Ok(all)
}

/// Acknowledges the installations that were first seen up to a moment. Also acknowledges the notices about new
/// connections and installations up to this moment. Later ones remain new.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn acknowledge_installations(
    connection: &Connection,
    member: &MemberId,
    until: Moment,
    now: Moment,
) -> Result<(), StoreError> {
    let sql = "UPDATE installation SET acknowledged_at = ?3 \
               WHERE member = ?1 AND first_seen <= ?2 AND acknowledged_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![member, until.as_millis(), now.as_millis()])?;
    let sql = "UPDATE notice SET acknowledged_at = ?3 WHERE member = ?1 AND at <= ?2 \
               AND kind IN ('connected', 'new-installation') AND acknowledged_at IS NULL";
    connection.prepare_cached(sql)?.execute(params![member, until.as_millis(), now.as_millis()])?;
    Ok(())
}
