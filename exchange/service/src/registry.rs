//! The registry: the registered clients, their permissions, and the switch that turns the exchange on and
//! off.
//!
//! The gateway reads the complete registry through a cache that is at most five seconds old. The backend
//! reads one client for every request (GW-02). Both use the same rows and the same decision, so their results
//! agree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use contract_runtime::operation::Operation;
use exchange_api::error_responses::PlainCode;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use semver::Version;

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::store::{StoreError, read_setting};
use crate::time::Moment;

/// The maximum number of requests per minute and member that can be set for a client (LIM-18).
pub const MAX_REQUESTS_PER_MINUTE: u32 = 1200;
/// The maximum number of writes per day and member that can be set for a client (LIM-19).
pub const MAX_WRITES_PER_DAY: u32 = 5000;

/// All clients that are not disabled, and the state of the on/off switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// True if the exchange is switched on (ERR-39).
    pub switched_on: bool,
    /// The registered clients, by id.
    pub clients: BTreeMap<ClientId, RegisteredClient>,
}

/// A registered client (IDP-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredClient {
    /// The name that members see.
    pub name: String,
    /// True if the client is suspended (ERR-15).
    pub suspended: bool,
    /// The scopes that the client may be granted.
    pub scopes: BTreeSet<String>,
    /// The oldest version of the client that the exchange accepts (ERR-16).
    pub min_version: Option<MinVersion>,
    /// The number of requests per minute and member; `None` for the service's default (GW-06).
    pub requests_per_minute: Option<u32>,
    /// The number of writes per day and member; `None` for the service's default (GW-06).
    pub writes_per_day: Option<u32>,
}

/// The oldest version of a client that the exchange accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MinVersion {
    /// Older versions than this are refused.
    AtLeast(Version),
    /// The stored string is not a version. All requests of the client are refused.
    Unreadable,
}

impl MinVersion {
    fn parse(text: &str) -> Self {
        Version::parse(text).map_or(Self::Unreadable, Self::AtLeast)
    }
}

/// Formats the version as shown in the service document (SVC-05).
impl fmt::Display for MinVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(version) => version.fmt(f),
            Self::Unreadable => f.write_str("unreadable"),
        }
    }
}

impl Registry {
    /// Loads the complete registry.
    ///
    /// # Errors
    /// Returns a [`StoreError`] if the database fails.
    pub fn load(connection: &Connection) -> Result<Self, StoreError> {
        let mut clients = BTreeMap::new();
        let mut rows =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM client WHERE state != 'disabled'"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            clients.insert(row.get::<_, ClientId>(0)?, RegisteredClient::from_row(row)?);
        }
        let mut rows = connection.prepare_cached("SELECT client, scope FROM client_scope")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(client) = clients.get_mut(&row.get::<_, ClientId>(0)?) {
                client.scopes.insert(row.get(1)?);
            }
        }
        Ok(Self { switched_on: is_switched_on(connection)?, clients })
    }

    /// Returns a client if it may call the exchange.
    ///
    /// # Errors
    /// Returns the first code that applies: `EXCHANGE_DISABLED`, `CLIENT_NOT_ALLOWED`, `CLIENT_SUSPENDED`, or
    /// `REGISTRY_UNAVAILABLE` for a client with an unreadable entry.
    pub fn admit(&self, client: &ClientId) -> Result<&RegisteredClient, PlainCode> {
        let client = self.clients.get(client);
        check_may_call(self.switched_on, client)?;
        client.ok_or(PlainCode::ClientNotAllowed)
    }
}

/// Reads a client from the store and returns it if it may call the exchange. The decision is that of
/// [`Registry::admit`].
///
/// # Errors
/// Returns a [`StoreError`] if the database fails. The inner error is that of [`Registry::admit`].
pub fn admit_client(
    connection: &Connection,
    id: &ClientId,
) -> Result<Result<RegisteredClient, PlainCode>, StoreError> {
    let (switch, client) = switch_and_client(connection, id)?;
    let switched_on = switch.as_deref() == Some(ON);
    Ok(check_may_call(switched_on, client.as_ref()).and_then(|()| client.ok_or(PlainCode::ClientNotAllowed)))
}

fn check_may_call(switched_on: bool, client: Option<&RegisteredClient>) -> Result<(), PlainCode> {
    match client {
        _ if !switched_on => Err(PlainCode::ExchangeDisabled),
        None => Err(PlainCode::ClientNotAllowed),
        Some(client) if client.suspended => Err(PlainCode::ClientSuspended),
        Some(RegisteredClient { min_version: Some(MinVersion::Unreadable), .. }) => {
            Err(PlainCode::RegistryUnavailable)
        }
        Some(_) => Ok(()),
    }
}

/// Returns true if the exchange is switched on (ERR-39).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn is_switched_on(connection: &Connection) -> Result<bool, StoreError> {
    Ok(read_setting(connection, "exchange")?.as_deref() == Some(ON))
}

/// The stored value of the switch when the exchange is on.
const ON: &str = "on";

const COLUMNS: &str = "id, name, state, min_version, requests_per_minute, writes_per_day";

impl RegisteredClient {
    /// Reads a client from its columns. Its scopes are read separately.
    fn from_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let state: String = row.get(2)?;
        let min_version = row.get::<_, Option<String>>(3)?.map(|text| MinVersion::parse(&text));
        if min_version == Some(MinVersion::Unreadable) {
            let (client, advice): (String, _) = (row.get(0)?, "set a version such as 1.4.0, or none");
            tracing::error!(client, advice, "invalid minimum version in the registry: the client is refused");
        }
        Ok(Self {
            name: row.get(1)?,
            suspended: state == "suspended",
            scopes: BTreeSet::new(),
            min_version,
            requests_per_minute: row.get(4)?,
            writes_per_day: row.get(5)?,
        })
    }

    /// Returns the scopes that both the token and the registry grant, sorted (SVC-02).
    #[must_use]
    pub fn granted_scopes<'a>(&'a self, token: &'a BTreeSet<String>) -> Vec<&'a str> {
        self.scopes.intersection(token).map(String::as_str).collect()
    }

    /// Requires that both the token and the registry grant one of the operation's scopes (GW-04).
    ///
    /// # Errors
    /// Returns `SCOPE_MISSING` if they do not grant a common scope of the operation.
    pub fn authorize_operation(
        &self,
        token: &BTreeSet<String>,
        operation: &Operation,
    ) -> Result<(), PlainCode> {
        let granted = |scope: &str| token.contains(scope) && self.scopes.contains(scope);
        if operation.permits(granted) { Ok(()) } else { Err(PlainCode::ScopeMissing) }
    }
}

/// Reads from each table of the registry to check that the tables are readable.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn check_readable(connection: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting), EXISTS (SELECT 1 FROM client), \
               EXISTS (SELECT 1 FROM client_scope)";
    Ok(connection.prepare_cached(sql)?.query_row([], |_| Ok(()))?)
}

/// Finds a registered client, with its scopes.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_client(connection: &Connection, id: &ClientId) -> Result<Option<RegisteredClient>, StoreError> {
    Ok(switch_and_client(connection, id)?.1)
}

/// Reads the switch and one client with one statement, because every request needs both.
fn switch_and_client(
    connection: &Connection,
    id: &ClientId,
) -> Result<(Option<String>, Option<RegisteredClient>), StoreError> {
    // Names of scopes contain no spaces (RFC 6749, section 3.3). The first columns are those of `COLUMNS`.
    let mut one = connection.prepare_cached(
        "SELECT c.id, c.name, c.state, c.min_version, c.requests_per_minute, c.writes_per_day, \
         (SELECT group_concat(scope, ' ') FROM client_scope WHERE client = c.id), \
         (SELECT value FROM setting WHERE name = 'exchange') \
         FROM (SELECT 1) LEFT JOIN client c ON c.id = ?1 AND c.state != 'disabled'",
    )?;
    Ok(one.query_row([id], |row| {
        let client = match row.get_ref(0)? {
            ValueRef::Null => None,
            _ => {
                let mut client = RegisteredClient::from_row(row)?;
                let scopes = row.get_ref(6)?.as_str_or_null()?.unwrap_or_default();
                client.scopes = scopes.split_ascii_whitespace().map(str::to_owned).collect();
                Some(client)
            }
        };
        Ok((row.get(7)?, client))
    })?)
}

/// Returns true if an installation of any member and client with this key was disconnected. Such a key is
/// refused permanently (ERR-13).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn key_is_revoked(connection: &Connection, jkt: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM installation WHERE jkt = ?1 AND revoked_at IS NOT NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([jkt], |row| row.get(0))?)
}

/// Returns true if the member disconnected the client at or after the sign-in at `auth_time` (ERR-12).
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn client_is_revoked(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    auth_time: Moment,
) -> Result<bool, StoreError> {
    Ok(is_revoked(client_revoked_at(connection, client, member)?, auth_time))
}

/// The revocation state of a key and its client, and the installation of the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyStatus {
    /// Whether the key is revoked ([`key_is_revoked`]).
    pub key_revoked: bool,
    /// The time at which the member last disconnected the client.
    pub client_revoked_at: Option<Moment>,
    /// The installation and the time of its last recorded call; `None` before its first call.
    pub installation: Option<(InstallationId, Moment)>,
}

/// Reads the revocations and the installation of a key with one statement, because every request needs all of
/// them.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn find_key_status(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    jkt: &str,
) -> Result<KeyStatus, StoreError> {
    let mut one = connection.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM installation WHERE jkt = ?3 AND revoked_at IS NOT NULL), \
         (SELECT at FROM client_revocation WHERE client = ?1 AND member = ?2), i.id, i.last_seen \
         FROM (SELECT 1) LEFT JOIN installation i ON i.client = ?1 AND i.member = ?2 AND i.jkt = ?3",
    )?;
    Ok(one.query_row(params![client, member, jkt], |row| {
        let installation = match row.get(2)? {
            Some(id) => Some((id, Moment::from_millis(row.get(3)?))),
            None => None,
        };
        let revoked_at: Option<i64> = row.get(1)?;
        let client_revoked_at = revoked_at.map(Moment::from_millis);
        Ok(KeyStatus { key_revoked: row.get(0)?, client_revoked_at, installation })
    })?)
}

impl KeyStatus {
    /// Returns true if the member disconnected the client at or after the sign-in at `auth_time` (ERR-12).
    #[must_use]
    pub fn client_is_revoked(&self, auth_time: Moment) -> bool {
        is_revoked(self.client_revoked_at, auth_time)
    }
}

/// Returns true if the sign-in at `auth_time` is revoked. Sign-ins after the disconnect remain valid (ERR-12).
fn is_revoked(revoked_at: Option<Moment>, auth_time: Moment) -> bool {
    revoked_at.is_some_and(|revoked_at| auth_time <= revoked_at)
}

/// Returns the time at which the member last disconnected the client.
///
/// # Errors
/// Returns a [`StoreError`] if the database fails.
pub fn client_revoked_at(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
) -> Result<Option<Moment>, StoreError> {
    let sql = "SELECT at FROM client_revocation WHERE client = ?1 AND member = ?2";
    let revoked_at: Option<i64> =
        connection.prepare_cached(sql)?.query_row(params![client, member], |row| row.get(0)).optional()?;
    Ok(revoked_at.map(Moment::from_millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, StoreLocation, StoreOptions};

    /// ERR-14, ERR-15, ERR-16, ERR-39, ERR-40: the complete registry and the lookup of one client lead to the
    /// same decision. An unreadable entry does not affect other clients.
    #[tokio::test]
    async fn registry_and_client_lookup_agree() {
        let store = Store::open(&StoreOptions::new(StoreLocation::Memory)).unwrap();
        let seed = "INSERT INTO client (id, name, state, min_version, created_at) VALUES
            ('good', 'G', 'active', '1.4.0-rc.1', 0), ('plain', 'P', 'active', NULL, 0),
            ('torn', 'T', 'active', '1.4', 0), ('held', 'H', 'suspended', 'x', 0), ('off', 'O', 'disabled', NULL, 0);
            INSERT INTO client_scope VALUES ('good', 'exchange.connect'), ('off', 'exchange.connect')";
        for (switch, expect) in [
            (
                "off",
                [("good", Err(PlainCode::ExchangeDisabled)), ("nobody", Err(PlainCode::ExchangeDisabled))]
                    .to_vec(),
            ),
            (
                "on",
                vec![
                    ("good", Ok(())),
                    ("plain", Ok(())),
                    ("torn", Err(PlainCode::RegistryUnavailable)),
                    ("held", Err(PlainCode::ClientSuspended)),
                    ("off", Err(PlainCode::ClientNotAllowed)),
                    ("nobody", Err(PlainCode::ClientNotAllowed)),
                ],
            ),
        ] {
            let done = store.write(move |connection| {
                connection
                    .execute_batch("DELETE FROM client_scope; DELETE FROM client; DELETE FROM setting")?;
                connection.execute_batch(seed)?;
                connection.execute("INSERT INTO setting VALUES ('exchange', ?1)", [switch])?;
                let registry = Registry::load(connection)?;
                for (id, expect) in expect {
                    let id = ClientId::from(id);
                    let one = admit_client(connection, &id)?;
                    assert_eq!(one.as_ref().map(drop).map_err(|code| *code), expect, "{id}");
                    assert_eq!(one.as_ref(), registry.admit(&id).as_ref().copied(), "{id}");
                }
                Ok::<(), StoreError>(())
            });
            done.await.unwrap();
        }
    }
}
