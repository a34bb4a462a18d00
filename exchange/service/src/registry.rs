//! The registry: which clients there are, what each may do, and whether the exchange is on.
//!
//! The gateway reads all of it through a cache of at most five seconds, the backend one client at every request
//! (GW-02); both by the same rows and the same decision, so that both answer alike.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use contract_runtime::operation::Operation;
use exchange_api::refusals::PlainCode;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use semver::Version;

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::store::{StoreError, setting};
use crate::time::Moment;

/// Requests per minute and member that a client may be given at most (LIM-18).
pub const MOST_REQUESTS: u32 = 1200;
/// Writes per day and member that a client may be given at most (LIM-19).
pub const MOST_WRITES: u32 = 5000;

/// All clients, and the switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// Whether the exchange is switched on (ERR-39).
    pub switched_on: bool,
    /// The registered clients.
    pub clients: BTreeMap<ClientId, Client>,
}

/// A registered client (IDP-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What the member sees.
    pub name: String,
    /// Whether it is suspended (ERR-15).
    pub suspended: bool,
    /// The scopes that it may be granted.
    pub scopes: BTreeSet<String>,
    /// The oldest version that is served (ERR-16).
    pub min_version: Option<MinVersion>,
    /// Requests per minute and member, where it has its own (GW-06).
    pub requests_per_minute: Option<u32>,
    /// Writes per day and member, where it has its own (GW-06).
    pub writes_per_day: Option<u32>,
}

/// The oldest version of a client that is served, as the registry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MinVersion {
    /// This one.
    At(Version),
    /// Text that is no version: nobody can tell what is old enough to be refused, so nothing is served.
    Unreadable,
}

impl MinVersion {
    fn read(text: &str) -> Self {
        Version::parse(text).map_or(Self::Unreadable, Self::At)
    }
}

/// As the service document has it (SVC-05).
impl fmt::Display for MinVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(version) => version.fmt(f),
            Self::Unreadable => f.write_str("unreadable"),
        }
    }
}

impl Registry {
    /// Reads it, whole.
    ///
    /// # Errors
    /// What the database says.
    pub fn read(connection: &Connection) -> Result<Self, StoreError> {
        let mut clients = BTreeMap::new();
        let mut rows =
            connection.prepare_cached(&format!("SELECT {COLUMNS} FROM client WHERE state != 'disabled'"))?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            clients.insert(row.get::<_, ClientId>(0)?, Client::of_row(row)?);
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

    /// The client, when it may call at all.
    ///
    /// # Errors
    /// `EXCHANGE_DISABLED`, `CLIENT_NOT_ALLOWED`, `CLIENT_SUSPENDED`, or `REGISTRY_UNAVAILABLE` for a client whose
    /// entry cannot be read, in this order.
    pub fn admit(&self, client: &ClientId) -> Result<&Client, PlainCode> {
        let client = self.clients.get(client);
        may_call(self.switched_on, client)?;
        client.ok_or(PlainCode::ClientNotAllowed)
    }
}

/// The client, when it may call at all: the same of one client, as the store has it now.
///
/// # Errors
/// As of [`Registry::admit`] inside, what the database says outside.
pub fn admit(connection: &Connection, id: &ClientId) -> Result<Result<Client, PlainCode>, StoreError> {
    let (switch, client) = switch_and_client(connection, id)?;
    let switched_on = switch.as_deref() == Some(ON);
    Ok(may_call(switched_on, client.as_ref()).and_then(|()| client.ok_or(PlainCode::ClientNotAllowed)))
}

fn may_call(switched_on: bool, client: Option<&Client>) -> Result<(), PlainCode> {
    match client {
        _ if !switched_on => Err(PlainCode::ExchangeDisabled),
        None => Err(PlainCode::ClientNotAllowed),
        Some(client) if client.suspended => Err(PlainCode::ClientSuspended),
        Some(Client { min_version: Some(MinVersion::Unreadable), .. }) => Err(PlainCode::RegistryUnavailable),
        Some(_) => Ok(()),
    }
}

/// Whether the exchange is switched on (ERR-39).
///
/// # Errors
/// What the database says.
pub fn is_switched_on(connection: &Connection) -> Result<bool, StoreError> {
    Ok(setting(connection, "exchange")?.as_deref() == Some(ON))
}

/// What the switch is set to.
const ON: &str = "on";

const COLUMNS: &str = "id, name, state, min_version, requests_per_minute, writes_per_day";

impl Client {
    /// From its columns, without its scopes.
    fn of_row(row: &Row<'_>) -> rusqlite::Result<Self> {
        let state: String = row.get(2)?;
        let min_version = row.get::<_, Option<String>>(3)?.map(|text| MinVersion::read(&text));
        if min_version == Some(MinVersion::Unreadable) {
            let (client, advice): (String, _) = (row.get(0)?, "write a version such as 1.4.0, or none");
            tracing::error!(
                client,
                advice,
                "the minimum version of a client cannot be read: it is not served"
            );
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

    /// The scopes that both the token and the registry grant (SVC-02), sorted.
    #[must_use]
    pub fn granted<'a>(&'a self, token: &'a BTreeSet<String>) -> Vec<&'a str> {
        self.scopes.intersection(token).map(String::as_str).collect()
    }

    /// Lets a route pass when the token and the registry both grant one of its scopes (GW-04).
    ///
    /// # Errors
    /// `SCOPE_MISSING`.
    pub fn allow(&self, token: &BTreeSet<String>, operation: &Operation) -> Result<(), PlainCode> {
        let granted = |scope: &str| token.contains(scope) && self.scopes.contains(scope);
        if operation.permits(granted) { Ok(()) } else { Err(PlainCode::ScopeMissing) }
    }
}

/// Asks for one row of each of its tables: whether they can be read at all.
///
/// # Errors
/// What the database says.
pub fn is_readable(connection: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM setting), EXISTS (SELECT 1 FROM client), \
               EXISTS (SELECT 1 FROM client_scope)";
    Ok(connection.prepare_cached(sql)?.query_row([], |_| Ok(()))?)
}

/// One client with its scopes, when it is registered.
///
/// # Errors
/// What the database says.
pub fn client(connection: &Connection, id: &ClientId) -> Result<Option<Client>, StoreError> {
    Ok(switch_and_client(connection, id)?.1)
}

/// The switch, and one client, in one statement: every request asks for both.
fn switch_and_client(
    connection: &Connection,
    id: &ClientId,
) -> Result<(Option<String>, Option<Client>), StoreError> {
    // Names of scopes have no blanks (RFC 6749, 3.3). The columns are those of `COLUMNS`, first.
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
                let mut client = Client::of_row(row)?;
                let scopes = row.get_ref(6)?.as_str_or_null()?.unwrap_or_default();
                client.scopes = scopes.split_ascii_whitespace().map(str::to_owned).collect();
                Some(client)
            }
        };
        Ok((row.get(7)?, client))
    })?)
}

/// Whether this key was disconnected, by whatever member and client it called before: it is refused
/// for good (ERR-13).
///
/// # Errors
/// What the database says.
pub fn key_is_revoked(connection: &Connection, jkt: &str) -> Result<bool, StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM installation WHERE jkt = ?1 AND revoked_at IS NOT NULL)";
    Ok(connection.prepare_cached(sql)?.query_row([jkt], |row| row.get(0))?)
}

/// Whether the member disconnected the client at or after this sign-in (ERR-12).
///
/// # Errors
/// What the database says.
pub fn client_is_revoked(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    auth_time: Moment,
) -> Result<bool, StoreError> {
    Ok(is_revoked(client_revoked_at(connection, client, member)?, auth_time))
}

/// What a key is, and of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether the key was disconnected ([`key_is_revoked`]).
    pub key_revoked: bool,
    /// When the member disconnected the client last.
    pub client_revoked_at: Option<Moment>,
    /// The installation, when it called before, and when it did last.
    pub installation: Option<(InstallationId, Moment)>,
}

/// What the functions around this say one by one, in one statement: every request asks for all of it.
///
/// # Errors
/// What the database says.
pub fn standing(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    jkt: &str,
) -> Result<Standing, StoreError> {
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
        Ok(Standing { key_revoked: row.get(0)?, client_revoked_at, installation })
    })?)
}

impl Standing {
    /// Whether the member disconnected the client at or after this sign-in (ERR-12).
    #[must_use]
    pub fn client_is_revoked(&self, auth_time: Moment) -> bool {
        is_revoked(self.client_revoked_at, auth_time)
    }
}

/// ERR-12: what was signed in for later goes on.
fn is_revoked(at: Option<Moment>, auth_time: Moment) -> bool {
    at.is_some_and(|at| auth_time <= at)
}

/// When the member disconnected the client last.
///
/// # Errors
/// What the database says.
pub fn client_revoked_at(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
) -> Result<Option<Moment>, StoreError> {
    let sql = "SELECT at FROM client_revocation WHERE client = ?1 AND member = ?2";
    let at: Option<i64> =
        connection.prepare_cached(sql)?.query_row(params![client, member], |row| row.get(0)).optional()?;
    Ok(at.map(Moment::from_millis))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Options, Place, Store};

    /// ERR-14, ERR-15, ERR-16, ERR-39, ERR-40: one decision for who reads all and who reads one; what cannot be read
    /// of one client is nothing to another.
    #[tokio::test]
    async fn both_ways_of_reading_answer_alike() {
        let store = Store::open(&Options::new(Place::Memory)).unwrap();
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
                let registry = Registry::read(connection)?;
                for (id, expect) in expect {
                    let id = ClientId::from(id);
                    let one = admit(connection, &id)?;
                    assert_eq!(one.as_ref().map(drop).map_err(|code| *code), expect, "{id}");
                    assert_eq!(one.as_ref(), registry.admit(&id).as_ref().copied(), "{id}");
                }
                Ok::<(), StoreError>(())
            });
            done.await.unwrap();
        }
    }
}
