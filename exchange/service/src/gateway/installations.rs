//! Installations, which are identified by their keys. An installation is created at its first call that
//! passes stage 8 (GW-05, A32).

use std::time::Duration;

use dpop_bound::MaybeReady;
use rusqlite::{Connection, params};

use super::facts::InstallationStatus;
use crate::Environment;
use crate::ids::{ClientId, InstallationId, MemberId};
use crate::records;
use crate::registry;
use crate::shared::SharedStateError;
use crate::store::{Store, StoreError};
use crate::time::Moment;

/// The minimum interval between two updates of `lastSeenAt` (LIM-27).
pub(super) const LAST_SEEN_STEP: Duration = Duration::from_secs(300);

/// The period over which new installations are counted (GW-05).
const DAY: Duration = Duration::from_secs(86_400);

/// The client, the member and the key that identify an installation.
#[derive(Clone, Debug)]
pub struct InstallationKey {
    /// The id of the client.
    pub client: ClientId,
    /// The id of the member.
    pub member: MemberId,
    /// The RFC 7638 thumbprint of the key, as a string.
    pub jkt: String,
    /// The time at which the member signed in to get the token.
    pub auth_time: Moment,
}

/// The result of recording a call of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedCall {
    /// The id of the installation.
    pub id: InstallationId,
    /// The number of the member's new installations in the last 24 hours; `None` if the installation is not
    /// new.
    pub new_in_day: Option<u32>,
}

/// A store of installations.
pub trait InstallationStore: Send + Sync {
    /// Returns the revocation state and, if the installation has called before, its id.
    fn status(
        &self,
        installation: InstallationKey,
    ) -> MaybeReady<'_, Result<InstallationStatus, SharedStateError>>;

    /// Creates the installation and notifies the member, or updates `lastSeenAt`. Returns `None` if the key
    /// or the client is revoked.
    fn record_call<'a>(
        &'a self,
        installation: InstallationKey,
        environment: &'a Environment,
    ) -> MaybeReady<'a, Result<Option<RecordedCall>, SharedStateError>>;
}

impl InstallationStore for Store {
    fn status(
        &self,
        installation: InstallationKey,
    ) -> MaybeReady<'_, Result<InstallationStatus, SharedStateError>> {
        MaybeReady::boxed(async move {
            let read = self.query_inline(move |connection| find_status(connection, &installation)).await;
            read.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }

    fn record_call<'a>(
        &'a self,
        installation: InstallationKey,
        environment: &'a Environment,
    ) -> MaybeReady<'a, Result<Option<RecordedCall>, SharedStateError>> {
        MaybeReady::boxed(async move {
            let (now, id) = (environment.now(), environment.random_token::<16>());
            let id = InstallationId::new(id.map_err(|error| SharedStateError::from_error(&error))?);
            let seen = self.write(move |connection| record_call(connection, &installation, id, now)).await;
            seen.map_err(|error: StoreError| SharedStateError::from_error(&error))
        })
    }
}

fn find_status(connection: &Connection, key: &InstallationKey) -> Result<InstallationStatus, StoreError> {
    let standing = registry::find_key_status(connection, &key.client, &key.member, &key.jkt)?;
    Ok(InstallationStatus {
        key_revoked: standing.key_revoked,
        client_revoked: standing.client_is_revoked(key.auth_time),
        installation: standing.installation,
    })
}

fn record_call(
    connection: &Connection,
    installation: &InstallationKey,
    id: InstallationId,
    now: Moment,
) -> Result<Option<RecordedCall>, StoreError> {
    let standing = find_status(connection, installation)?;
    // The key or the client may have been revoked since the status was checked.
    if standing.key_revoked || standing.client_revoked {
        return Ok(None);
    }
    if let Some((id, _)) = standing.installation {
        let sql = "UPDATE installation SET last_seen = max(last_seen, ?2) WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![id, now.as_millis()])?;
        return Ok(Some(RecordedCall { id, new_in_day: None }));
    }
    let sql = "INSERT INTO installation (id, client, member, jkt, first_seen, last_seen) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        id,
        installation.client,
        installation.member,
        installation.jkt,
        now.as_millis()
    ])?;
    records::notify_member(connection, now, &installation.member, "new-installation", id.as_str())?;
    let sql = "SELECT count(*) FROM installation WHERE member = ?1 AND first_seen > ?2";
    let since = now.minus(DAY).as_millis();
    let new =
        connection.prepare_cached(sql)?.query_row(params![installation.member, since], |row| row.get(0))?;
    Ok(Some(RecordedCall { id, new_in_day: Some(new) }))
}
