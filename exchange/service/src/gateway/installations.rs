//! Installations: known by their key, made at the first call that passed all before (GW-05, A32).

use std::time::Duration;

use dpop_bound::Pending;
use rusqlite::{Connection, params};

use super::facts::Standing;
use crate::Environment;
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records;
use crate::registry;
use crate::shared::Unavailable;
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// `lastSeenAt` moves at most this often (LIM-27).
pub(super) const STEP: Duration = Duration::from_secs(300);

/// What is counted for the alert (GW-05).
const DAY: Duration = Duration::from_secs(86_400);

/// Whose installation is meant.
#[derive(Clone, Debug)]
pub struct Of {
    /// The client.
    pub client: ClientId,
    /// The member.
    pub member: MemberId,
    /// The key's thumbprint, as text.
    pub jkt: String,
    /// When the member signed in for the token.
    pub auth_time: Moment,
}

/// What a call was to its installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The installation.
    pub id: InstallationId,
    /// When it is new: how many of the member's are, in the last 24 hours.
    pub new: Option<u32>,
}

/// Where installations are kept.
pub trait Installations: Send + Sync {
    /// What was disconnected, and which installation it is, if it called before.
    fn standing(&self, of: Of) -> Pending<'_, Result<Standing, Unavailable>>;

    /// Makes the installation when it is not there, and tells the member; moves `lastSeenAt` when it is.
    fn seen<'a>(
        &'a self,
        of: Of,
        environment: &'a Environment,
    ) -> Pending<'a, Result<Option<Seen>, Unavailable>>;
}

impl Installations for Store {
    fn standing(&self, of: Of) -> Pending<'_, Result<Standing, Unavailable>> {
        Pending::later(async move {
            let read = self.ask(move |connection| standing(connection, &of)).await;
            read.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }

    fn seen<'a>(
        &'a self,
        of: Of,
        environment: &'a Environment,
    ) -> Pending<'a, Result<Option<Seen>, Unavailable>> {
        Pending::later(async move {
            let (now, id) = (environment.now(), environment.token::<16>());
            let id = InstallationId::new(id.map_err(|error| Unavailable::because(&error))?);
            let seen = self.write(move |connection| seen(connection, &of, id, now)).await;
            seen.map_err(|error: StoreError| Unavailable::because(&error))
        })
    }
}

fn standing(connection: &Connection, of: &Of) -> Result<Standing, StoreError> {
    let standing = registry::standing(connection, &of.client, &of.member, &of.jkt)?;
    Ok(Standing {
        key_revoked: standing.key_revoked,
        client_revoked: standing.client_is_revoked(of.auth_time),
        installation: standing.installation,
    })
}

fn seen(
    connection: &Connection,
    of: &Of,
    id: InstallationId,
    now: Moment,
) -> Result<Option<Seen>, StoreError> {
    let standing = standing(connection, of)?;
    // Whatever was disconnected since the check is not made again.
    if standing.key_revoked || standing.client_revoked {
        return Ok(None);
    }
    if let Some((id, _)) = standing.installation {
        let sql = "UPDATE installation SET last_seen = max(last_seen, ?2) WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![id, now.millis()])?;
        return Ok(Some(Seen { id, new: None }));
    }
    let sql = "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?5)";
    connection.prepare_cached(sql)?.execute(params![id, of.client, of.member, of.jkt, now.millis()])?;
    records::notice(connection, now, &of.member, "new-installation", id.as_str())?;
    let sql = "SELECT count(*) FROM installation WHERE member = ?1 AND first_seen > ?2";
    let since = now.minus(DAY).millis();
    let new = connection.prepare_cached(sql)?.query_row(params![of.member, since], |row| row.get(0))?;
    Ok(Some(Seen { id, new: Some(new) }))
}
