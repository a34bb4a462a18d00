//! The registry: which clients there are, what each may do, and whether the exchange is on.
//!
//! The gateway reads it through a cache of at most five seconds, the backend at every request (GW-02);
//! both by [`Registry::read`] and [`Registry::admit`], so that both answer alike.

use std::collections::{BTreeMap, BTreeSet};

use exchange_api::refusals::PlainCode;
use rusqlite::{Connection, OptionalExtension as _, params};

use crate::ids::{ClientId, InstallationId, MemberId};
use crate::store::StoreError;
use crate::time::Moment;

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
    pub min_version: Option<String>,
    /// Requests per minute and member, where it has its own (GW-06).
    pub requests_per_minute: Option<u32>,
    /// Writes per day and member, where it has its own (GW-06).
    pub writes_per_day: Option<u32>,
}

/// Which of its scopes lets a route pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// This one.
    Scope(&'static str),
    /// Any exchange scope (RES-02).
    AnyScope,
}

impl Registry {
    /// Reads it, whole.
    ///
    /// # Errors
    /// What the database says.
    pub fn read(connection: &Connection) -> Result<Self, StoreError> {
        let switch: Option<String> = connection
            .prepare_cached("SELECT value FROM setting WHERE name = 'exchange'")?
            .query_row([], |row| row.get(0))
            .optional()?;
        let mut clients = BTreeMap::new();
        let mut rows = connection.prepare_cached(
            "SELECT id, name, state, min_version, requests_per_minute, writes_per_day FROM client \
             WHERE state != 'disabled'",
        )?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            let state: String = row.get(2)?;
            let client = Client {
                name: row.get(1)?,
                suspended: state == "suspended",
                scopes: BTreeSet::new(),
                min_version: row.get(3)?,
                requests_per_minute: row.get(4)?,
                writes_per_day: row.get(5)?,
            };
            clients.insert(row.get::<_, ClientId>(0)?, client);
        }
        let mut rows = connection.prepare_cached("SELECT client, scope FROM client_scope")?;
        let mut rows = rows.query([])?;
        while let Some(row) = rows.next()? {
            if let Some(client) = clients.get_mut(&row.get::<_, ClientId>(0)?) {
                client.scopes.insert(row.get(1)?);
            }
        }
        Ok(Self { switched_on: switch.as_deref() == Some("on"), clients })
    }

    /// The client, when it may call at all.
    ///
    /// # Errors
    /// `EXCHANGE_DISABLED`, `CLIENT_NOT_ALLOWED` or `CLIENT_SUSPENDED`, in this order.
    pub fn admit(&self, client: &ClientId) -> Result<&Client, PlainCode> {
        if !self.switched_on {
            return Err(PlainCode::ExchangeDisabled);
        }
        let client = self.clients.get(client).ok_or(PlainCode::ClientNotAllowed)?;
        if client.suspended { Err(PlainCode::ClientSuspended) } else { Ok(client) }
    }
}

impl Client {
    /// The scopes that both the token and the registry grant (SVC-02), sorted.
    #[must_use]
    pub fn granted<'a>(&'a self, token: &'a BTreeSet<String>) -> Vec<&'a str> {
        self.scopes.intersection(token).map(String::as_str).collect()
    }

    /// Lets a route pass, or `SCOPE_MISSING` (GW-04).
    ///
    /// # Errors
    /// When the scope is not in the token, or not granted to the client.
    pub fn allow(&self, token: &BTreeSet<String>, needs: Needs) -> Result<(), PlainCode> {
        let allowed = match needs {
            Needs::Scope(scope) => token.contains(scope) && self.scopes.contains(scope),
            Needs::AnyScope => !self.granted(token).is_empty(),
        };
        if allowed { Ok(()) } else { Err(PlainCode::ScopeMissing) }
    }
}

/// One client with its scopes, when it is registered.
///
/// # Errors
/// What the database says.
pub fn client(connection: &Connection, id: &ClientId) -> Result<Option<Client>, StoreError> {
    let sql = "SELECT name, state, min_version, requests_per_minute, writes_per_day FROM client \
               WHERE id = ?1 AND state != 'disabled'";
    let client = connection
        .prepare_cached(sql)?
        .query_row([id], |row| {
            let state: String = row.get(1)?;
            Ok(Client {
                name: row.get(0)?,
                suspended: state == "suspended",
                scopes: BTreeSet::new(),
                min_version: row.get(2)?,
                requests_per_minute: row.get(3)?,
                writes_per_day: row.get(4)?,
            })
        })
        .optional()?;
    let Some(mut client) = client else { return Ok(None) };
    let mut rows = connection.prepare_cached("SELECT scope FROM client_scope WHERE client = ?1")?;
    client.scopes = rows.query_map([id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(Some(client))
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
    let at = client_revoked_at(connection, client, member)?;
    Ok(at.is_some_and(|at| auth_time <= at))
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

/// The installation of a key, when it called before.
///
/// # Errors
/// What the database says.
pub fn installation_of(
    connection: &Connection,
    client: &ClientId,
    member: &MemberId,
    jkt: &str,
) -> Result<Option<InstallationId>, StoreError> {
    let sql = "SELECT id FROM installation WHERE client = ?1 AND member = ?2 AND jkt = ?3";
    Ok(connection
        .prepare_cached(sql)?
        .query_row(params![client, member, jkt], |row| row.get(0))
        .optional()?)
}
