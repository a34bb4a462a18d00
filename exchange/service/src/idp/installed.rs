//! The connected applications of a member: each client with its installations, and which installations are
//! new (WEB-04, WEB-05).

use std::time::Duration;

use rusqlite::{Connection, Row, params};

use super::scopes::ScopeSet;
use crate::config::IdpConfig;
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::secrets::Sha256Hash;
use crate::store::StoreError;
use crate::time::Moment;

const DAY: Duration = Duration::from_secs(86_400);

/// A client that may call the exchange for the member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectedApplication {
    /// The id of the client.
    pub client: ClientId,
    /// The registered name of the client.
    pub name: String,
    /// The installations, most recently used first. Empty before the client's first call.
    pub installations: Vec<ConnectedInstallation>,
    /// The connections on devices from which the client has not called the exchange yet.
    pub awaited: Vec<ConnectionTerms>,
    /// True if an administrator suspended the client.
    pub is_suspended: bool,
}

/// The permissions and the end of an active connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTerms {
    /// The granted scopes.
    pub scopes: ScopeSet,
    /// The time at which the connection ends at the latest.
    pub ends_at: Moment,
    /// Whether the connection ends with the member's browser session.
    pub ends_with_session: bool,
    /// The time at which the connection ends if it is not used until then.
    pub ends_unused_at: Moment,
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
    /// The active connection of the installation at the built-in provider.
    pub connection: Option<ConnectionTerms>,
}

/// Lists the connected clients of a member, sorted by name. A disconnected client appears again once the
/// member has connected it again.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn list_applications(
    connection: &Connection,
    member: &MemberId,
    config: &IdpConfig,
) -> Result<Vec<ConnectedApplication>, StoreError> {
    let mut rows = connection.prepare_cached(
        "SELECT i.client, coalesce(c.name, i.client), coalesce(c.state = 'suspended', 0), \
           i.id, i.label, i.first_seen, i.last_seen, i.acknowledged_at IS NULL, \
           o.scopes, o.created_at, o.used_at, o.session, s.expires_at \
         FROM installation i LEFT JOIN client c ON c.id = i.client \
         LEFT JOIN connection o ON o.jkt = i.jkt AND o.client = i.client AND o.member = i.member \
           AND o.ended_at IS NULL \
         LEFT JOIN session s ON s.hash = o.session \
         WHERE i.member = ?1 AND i.revoked_at IS NULL AND (o.id IS NOT NULL OR NOT EXISTS \
           (SELECT 1 FROM client_revocation r WHERE r.client = i.client AND r.member = i.member \
              AND r.at >= i.last_seen)) \
         UNION ALL \
         SELECT o.client, coalesce(c.name, o.client), coalesce(c.state = 'suspended', 0), \
           NULL, NULL, 0, 0, 0, o.scopes, o.created_at, o.used_at, o.session, s.expires_at \
         FROM connection o LEFT JOIN client c ON c.id = o.client LEFT JOIN session s ON s.hash = o.session \
         WHERE o.member = ?1 AND o.ended_at IS NULL AND NOT EXISTS \
           (SELECT 1 FROM installation i WHERE i.jkt = o.jkt AND i.client = o.client AND i.member = o.member) \
         ORDER BY 2, 1, 7 DESC, 4, 10 DESC",
    )?;
    let mut rows = rows.query([member])?;
    let mut all: Vec<ConnectedApplication> = Vec::new();
    while let Some(row) = rows.next()? {
        let client: ClientId = row.get(0)?;
        if all.last().is_none_or(|last| last.client != client) {
            let (name, is_suspended) = (row.get(1)?, row.get(2)?);
            let (installations, awaited) = (Vec::new(), Vec::new());
            all.push(ConnectedApplication { client, name, installations, awaited, is_suspended });
        }
        let Some(last) = all.last_mut() else { continue };
        let terms = read_terms(row, config)?;
        let Some(id) = row.get(3)? else {
            last.awaited.extend(terms);
            continue;
        };
        let installation = ConnectedInstallation {
            id,
            label: row.get(4)?,
            first_seen: Moment::from_millis(row.get(5)?),
            last_seen: Moment::from_millis(row.get(6)?),
            is_new: row.get(7)?,
            connection: terms,
        };
        // A key has one active connection. If there were several, the installation is listed once.
        if last.installations.last().is_none_or(|previous| previous.id != installation.id) {
            last.installations.push(installation);
        }
    }
    Ok(all)
}

/// Reads the columns of an active connection, if there is one.
fn read_terms(row: &Row<'_>, config: &IdpConfig) -> Result<Option<ConnectionTerms>, StoreError> {
    let Some(scopes) = row.get::<_, Option<String>>(8)? else { return Ok(None) };
    let created_at = Moment::from_millis(row.get(9)?);
    let used_at = Moment::from_millis(row.get(10)?);
    let session: Option<Sha256Hash> = row.get(11)?;
    let session_end = row.get::<_, Option<i64>>(12)?.map_or(Moment::default(), Moment::from_millis);
    let longest = created_at.plus(DAY.saturating_mul(config.longest_days));
    let ends_with_session = session.is_some() && session_end < longest;
    Ok(Some(ConnectionTerms {
        scopes: ScopeSet::from_stored(&scopes),
        ends_at: if ends_with_session { session_end } else { longest },
        ends_with_session,
        ends_unused_at: used_at.plus(DAY.saturating_mul(config.unused_days)),
    }))
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
