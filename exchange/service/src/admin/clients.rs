//! Registered clients (IDP-04, GW-05): registration, state, scopes and limits.

use std::collections::BTreeSet;

use exchange_api::scopes::Scope;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::{AdminContext, AdminError, check_id, check_name};
use crate::ids::ClientId;
use crate::registry::{MAX_REQUESTS_PER_MINUTE, MAX_WRITES_PER_DAY};

/// The state of a client's registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientState {
    /// The client may call the exchange.
    Active,
    /// Members may sign in to the client, but the exchange rejects its calls (ERR-15).
    Suspended,
    /// The client is no longer registered and is treated as unknown.
    Disabled,
}

impl ClientState {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Disabled => "disabled",
        }
    }

    fn from_stored(text: &str) -> Self {
        match text {
            "active" => Self::Active,
            "suspended" => Self::Suspended,
            _ => Self::Disabled,
        }
    }
}

/// A client to register.
#[derive(Clone, Debug)]
pub struct NewClient {
    /// The client's id. There is no client secret (IDP-04).
    pub id: ClientId,
    /// The name that members see.
    pub name: String,
    /// The scopes that the client may request.
    pub scopes: BTreeSet<String>,
    /// The oldest version of the client that the exchange accepts.
    pub min_version: Option<String>,
}

/// Registers a client.
///
/// # Errors
/// Returns [`AdminError::AlreadyExists`], [`AdminError::Invalid`], or [`AdminError::Store`] if the database
/// fails.
pub fn add_client(
    connection: &Connection,
    admin: &AdminContext<'_>,
    client: &NewClient,
) -> Result<(), AdminError> {
    check_id("a client's id", client.id.as_str(), 64)?;
    check_name("a client's name", &client.name, 100)?;
    if let Some(version) = &client.min_version {
        self::check_version(version)?;
    }
    if is_known(connection, &client.id)? {
        return Err(AdminError::AlreadyExists { what: "a client", id: client.id.to_string() });
    }
    connection.execute(
        "INSERT INTO client (id, name, state, min_version, created_at) VALUES (?1, ?2, 'active', ?3, ?4)",
        params![client.id, client.name, client.min_version, admin.now.as_millis()],
    )?;
    insert_scopes(connection, &client.id, &client.scopes)?;
    let scopes = join_scopes(&client.scopes);
    let detail = format!("{}: {scopes}", client.name);
    Ok(admin.record_audit(connection, Some(&client.id), ("client.add", client.id.as_str()), &detail)?)
}

/// Activates, suspends or disables a client.
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn set_client_state(
    connection: &Connection,
    admin: &AdminContext<'_>,
    client: &ClientId,
    standing: ClientState,
) -> Result<(), AdminError> {
    let sql = "UPDATE client SET state = ?2 WHERE id = ?1";
    require_changed(connection.execute(sql, params![client, standing.as_str()])?, client)?;
    Ok(admin.record_audit(connection, Some(client), ("client.state", client.as_str()), standing.as_str())?)
}

/// Returns the state of a client.
///
/// # Errors
/// Returns [`AdminError::NotFound`], or [`AdminError::Store`] if the database fails.
pub fn client_state(connection: &Connection, client: &ClientId) -> Result<ClientState, AdminError> {
    let sql = "SELECT state FROM client WHERE id = ?1";
    let state: Option<String> = connection.query_row(sql, [client], |row| row.get(0)).optional()?;
    let state = state.ok_or_else(|| AdminError::NotFound { what: "client", id: client.to_string() })?;
    Ok(ClientState::from_stored(&state))
}

/// Replaces the scopes that a client may be granted. Existing grants are narrowed immediately (SVC-02).
///
/// # Errors
/// Returns [`AdminError::NotFound`], [`AdminError::Invalid`], or [`AdminError::Store`] if the database fails.
pub fn set_scopes(
    connection: &Connection,
    admin: &AdminContext<'_>,
    client: &ClientId,
    scopes: &BTreeSet<String>,
) -> Result<(), AdminError> {
    require_changed(connection.execute("UPDATE client SET id = id WHERE id = ?1", [client])?, client)?;
    connection.execute("DELETE FROM client_scope WHERE client = ?1", [client])?;
    insert_scopes(connection, client, scopes)?;
    Ok(admin.record_audit(
        connection,
        Some(client),
        ("client.scopes", client.as_str()),
        &join_scopes(scopes),
    )?)
}

/// Changes to a client's limits. For each limit, the outer `None` keeps the current value, and the inner
/// `None` restores the service's default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitChanges {
    /// The number of requests per minute and member (LIM-18).
    pub requests_per_minute: Option<Option<u32>>,
    /// The number of writes per day and member (LIM-19).
    pub writes_per_day: Option<Option<u32>>,
    /// The oldest version of the client that the exchange accepts (ERR-16). The inner `None` accepts every
    /// version.
    pub min_version: Option<Option<String>>,
}

/// Changes a client's limits.
///
/// # Errors
/// Returns [`AdminError::NotFound`], [`AdminError::Invalid`], or [`AdminError::Store`] if the database fails.
pub fn set_limits(
    connection: &Connection,
    admin: &AdminContext<'_>,
    client: &ClientId,
    changes: &LimitChanges,
) -> Result<(), AdminError> {
    let LimitChanges { requests_per_minute, writes_per_day, min_version } = changes;
    let mut changes_made = Vec::new();
    let mut number = |column: &str, name: &str, change: &Option<Option<u32>>, limit: u32| {
        let Some(value) = *change else { return Ok(()) };
        if value.is_some_and(|value| !(1..=limit).contains(&value)) {
            return Err(AdminError::Invalid(format!("{name} must be 1 to {limit}, or the default")));
        }
        let sql = format!("UPDATE client SET {column} = ?2 WHERE id = ?1");
        require_changed(connection.execute(&sql, params![client, value])?, client)?;
        changes_made.push(match value {
            Some(value) => format!("{name} {value}"),
            None => format!("{name} by default"),
        });
        Ok(())
    };
    number("requests_per_minute", "requests per minute", requests_per_minute, MAX_REQUESTS_PER_MINUTE)?;
    number("writes_per_day", "writes per day", writes_per_day, MAX_WRITES_PER_DAY)?;
    if let Some(value) = min_version {
        if let Some(version) = value {
            self::check_version(version)?;
        }
        let sql = "UPDATE client SET min_version = ?2 WHERE id = ?1";
        require_changed(connection.execute(sql, params![client, value])?, client)?;
        changes_made.push(format!("oldest version {}", value.as_deref().unwrap_or("any")));
    }
    if changes_made.is_empty() {
        return Err(AdminError::Invalid("give at least one limit to change".to_owned()));
    }
    Ok(admin.record_audit(
        connection,
        Some(client),
        ("client.limits", client.as_str()),
        &changes_made.join(", "),
    )?)
}

/// An entry of the list of registered clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedClient {
    /// The client's id.
    pub id: ClientId,
    /// The name that members see.
    pub name: String,
    /// The state of the registration.
    pub state: ClientState,
    /// The scopes that the client may request.
    pub scopes: BTreeSet<String>,
    /// The number of requests per minute and member; `None` for the service's default.
    pub requests_per_minute: Option<u32>,
    /// The number of writes per day and member; `None` for the service's default.
    pub writes_per_day: Option<u32>,
    /// The oldest version of the client that the exchange accepts; `None` if it accepts every version.
    pub min_version: Option<String>,
}

/// Lists all clients, including disabled ones.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn list_clients(connection: &Connection) -> Result<Vec<ListedClient>, AdminError> {
    let sql =
        "SELECT id, name, state, requests_per_minute, writes_per_day, min_version FROM client ORDER BY id";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([], |row| {
        Ok(ListedClient {
            id: row.get(0)?,
            name: row.get(1)?,
            state: ClientState::from_stored(&row.get::<_, String>(2)?),
            scopes: BTreeSet::new(),
            requests_per_minute: row.get(3)?,
            writes_per_day: row.get(4)?,
            min_version: row.get(5)?,
        })
    })?;
    let mut clients = rows.collect::<Result<Vec<ListedClient>, _>>()?;
    let mut scopes = connection.prepare("SELECT scope FROM client_scope WHERE client = ?1")?;
    for client in &mut clients {
        client.scopes = scopes.query_map([&client.id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    }
    Ok(clients)
}

fn require_changed(changed: usize, client: &ClientId) -> Result<(), AdminError> {
    match changed {
        0 => Err(AdminError::NotFound { what: "client", id: client.to_string() }),
        _ => Ok(()),
    }
}

fn insert_scopes(
    connection: &Connection,
    client: &ClientId,
    scopes: &BTreeSet<String>,
) -> Result<(), AdminError> {
    let unknown: Vec<_> = scopes.iter().filter(|scope| !Scope::from(scope.as_str()).is_known()).collect();
    if let Some(unknown) = unknown.first() {
        let all: Vec<_> = Scope::ALL.iter().map(Scope::as_str).collect();
        let message =
            format!("unknown scope `{}`; the known ones are {}", unknown.escape_debug(), all.join(", "));
        return Err(AdminError::Invalid(message));
    }
    if scopes.is_empty() {
        return Err(AdminError::Invalid("a client needs at least one scope".to_owned()));
    }
    for scope in scopes {
        connection
            .execute("INSERT INTO client_scope (client, scope) VALUES (?1, ?2)", params![client, scope])?;
    }
    Ok(())
}

fn join_scopes(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn check_version(text: &str) -> Result<(), AdminError> {
    match semver::Version::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = format!("`{}` is not a version such as 2.1.0: {error}", text.escape_debug());
            Err(AdminError::Invalid(message))
        }
    }
}

/// Returns true if the client is registered or was registered earlier, even if it is disabled now.
pub(super) fn is_known(connection: &Connection, client: &ClientId) -> Result<bool, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM client WHERE id = ?1)";
    Ok(connection.query_row(sql, [client], |row| row.get(0))?)
}
