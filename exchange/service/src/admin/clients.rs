//! Clients: registered by an administrator (IDP-04, GW-05), suspended, limited.

use std::collections::BTreeSet;

use exchange_api::scopes::Scope;
use rusqlite::{Connection, OptionalExtension as _, params};
use serde::Serialize;

use super::{AdminError, By, id, text};
use crate::ids::ClientId;
use crate::registry::{MOST_REQUESTS, MOST_WRITES};

/// Where a registered client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It may call.
    Active,
    /// Members may sign in for it, and the exchange refuses it (ERR-15).
    Suspended,
    /// It is not registered any more: nobody knows it.
    Disabled,
}

impl Standing {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Disabled => "disabled",
        }
    }

    fn of(text: &str) -> Self {
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
    /// Its id: it has no secret (IDP-04).
    pub id: ClientId,
    /// What members see.
    pub name: String,
    /// The scopes that it may ask for.
    pub scopes: BTreeSet<String>,
    /// The oldest version that is served.
    pub min_version: Option<String>,
}

/// Registers a client.
///
/// # Errors
/// [`AdminError::Exists`], [`AdminError::Wrong`], or what the database says.
pub fn add(connection: &Connection, by: &By<'_>, client: &NewClient) -> Result<(), AdminError> {
    id("a client's id", client.id.as_str(), 64)?;
    text("a client's name", &client.name, 100)?;
    if let Some(version) = &client.min_version {
        self::version(version)?;
    }
    if is_known(connection, &client.id)? {
        return Err(AdminError::Exists { what: "a client", id: client.id.to_string() });
    }
    connection.execute(
        "INSERT INTO client (id, name, state, min_version, created_at) VALUES (?1, ?2, 'active', ?3, ?4)",
        params![client.id, client.name, client.min_version, by.now.millis()],
    )?;
    grant(connection, &client.id, &client.scopes)?;
    let scopes = joined(&client.scopes);
    let detail = format!("{}: {scopes}", client.name);
    Ok(by.audit(connection, Some(&client.id), ("client.add", client.id.as_str()), &detail)?)
}

/// Suspends a client, takes it back, or ends its registration.
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn set_standing(
    connection: &Connection,
    by: &By<'_>,
    client: &ClientId,
    standing: Standing,
) -> Result<(), AdminError> {
    let sql = "UPDATE client SET state = ?2 WHERE id = ?1";
    known(connection.execute(sql, params![client, standing.as_str()])?, client)?;
    Ok(by.audit(connection, Some(client), ("client.state", client.as_str()), standing.as_str())?)
}

/// Whether a client may call.
///
/// # Errors
/// [`AdminError::Unknown`], or what the database says.
pub fn standing_of(connection: &Connection, client: &ClientId) -> Result<Standing, AdminError> {
    let sql = "SELECT state FROM client WHERE id = ?1";
    let state: Option<String> = connection.query_row(sql, [client], |row| row.get(0)).optional()?;
    let state = state.ok_or_else(|| AdminError::Unknown { what: "client", id: client.to_string() })?;
    Ok(Standing::of(&state))
}

/// The scopes that a client may be granted, in place of those that it had. What members granted before is
/// narrowed at once (SVC-02).
///
/// # Errors
/// [`AdminError::Unknown`], [`AdminError::Wrong`], or what the database says.
pub fn set_scopes(
    connection: &Connection,
    by: &By<'_>,
    client: &ClientId,
    scopes: &BTreeSet<String>,
) -> Result<(), AdminError> {
    known(connection.execute("UPDATE client SET id = id WHERE id = ?1", [client])?, client)?;
    connection.execute("DELETE FROM client_scope WHERE client = ?1", [client])?;
    grant(connection, client, scopes)?;
    Ok(by.audit(connection, Some(client), ("client.scopes", client.as_str()), &joined(scopes))?)
}

/// What is changed of a client's limits: the inner `None` is the service's own default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Requests per minute and member (LIM-18).
    pub requests_per_minute: Option<Option<u32>>,
    /// Writes per day and member (LIM-19).
    pub writes_per_day: Option<Option<u32>>,
    /// The oldest version that is served; none is every version (ERR-16).
    pub min_version: Option<Option<String>>,
}

/// Changes a client's limits.
///
/// # Errors
/// [`AdminError::Unknown`], [`AdminError::Wrong`], or what the database says.
pub fn limit(
    connection: &Connection,
    by: &By<'_>,
    client: &ClientId,
    changes: &Changes,
) -> Result<(), AdminError> {
    let Changes { requests_per_minute, writes_per_day, min_version } = changes;
    let mut told = Vec::new();
    let mut number = |column: &str, name: &str, change: &Option<Option<u32>>, most: u32| {
        let Some(value) = *change else { return Ok(()) };
        if value.is_some_and(|value| !(1..=most).contains(&value)) {
            return Err(AdminError::Wrong(format!("{name} are 1 to {most}, or the default")));
        }
        let sql = format!("UPDATE client SET {column} = ?2 WHERE id = ?1");
        known(connection.execute(&sql, params![client, value])?, client)?;
        told.push(match value {
            Some(value) => format!("{name} {value}"),
            None => format!("{name} by default"),
        });
        Ok(())
    };
    number("requests_per_minute", "requests per minute", requests_per_minute, MOST_REQUESTS)?;
    number("writes_per_day", "writes per day", writes_per_day, MOST_WRITES)?;
    if let Some(value) = min_version {
        if let Some(version) = value {
            self::version(version)?;
        }
        let sql = "UPDATE client SET min_version = ?2 WHERE id = ?1";
        known(connection.execute(sql, params![client, value])?, client)?;
        told.push(format!("oldest version {}", value.as_deref().unwrap_or("any")));
    }
    if told.is_empty() {
        return Err(AdminError::Wrong("name at least one limit to change".to_owned()));
    }
    Ok(by.audit(connection, Some(client), ("client.limits", client.as_str()), &told.join(", "))?)
}

/// A client as it is registered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// Its id.
    pub id: ClientId,
    /// What members see.
    pub name: String,
    /// Where it stands.
    pub state: Standing,
    /// The scopes that it may ask for.
    pub scopes: BTreeSet<String>,
    /// Requests per minute and member, where it has its own.
    pub requests_per_minute: Option<u32>,
    /// Writes per day and member, where it has its own.
    pub writes_per_day: Option<u32>,
    /// The oldest version that is served.
    pub min_version: Option<String>,
}

/// All clients, those too that are not registered any more.
///
/// # Errors
/// What the database says.
pub fn list(connection: &Connection) -> Result<Vec<Listed>, AdminError> {
    let sql =
        "SELECT id, name, state, requests_per_minute, writes_per_day, min_version FROM client ORDER BY id";
    let mut rows = connection.prepare(sql)?;
    let rows = rows.query_map([], |row| {
        Ok(Listed {
            id: row.get(0)?,
            name: row.get(1)?,
            state: Standing::of(&row.get::<_, String>(2)?),
            scopes: BTreeSet::new(),
            requests_per_minute: row.get(3)?,
            writes_per_day: row.get(4)?,
            min_version: row.get(5)?,
        })
    })?;
    let mut clients = rows.collect::<Result<Vec<Listed>, _>>()?;
    let mut scopes = connection.prepare("SELECT scope FROM client_scope WHERE client = ?1")?;
    for client in &mut clients {
        client.scopes = scopes.query_map([&client.id], |row| row.get(0))?.collect::<Result<_, _>>()?;
    }
    Ok(clients)
}

fn known(changed: usize, client: &ClientId) -> Result<(), AdminError> {
    match changed {
        0 => Err(AdminError::Unknown { what: "client", id: client.to_string() }),
        _ => Ok(()),
    }
}

fn grant(connection: &Connection, client: &ClientId, scopes: &BTreeSet<String>) -> Result<(), AdminError> {
    let unknown: Vec<_> = scopes.iter().filter(|scope| !Scope::from(scope.as_str()).is_known()).collect();
    if let Some(unknown) = unknown.first() {
        let all: Vec<_> = Scope::ALL.iter().map(Scope::as_str).collect();
        let said = format!("there is no scope `{}`; there are {}", unknown.escape_debug(), all.join(", "));
        return Err(AdminError::Wrong(said));
    }
    if scopes.is_empty() {
        return Err(AdminError::Wrong(
            "a client without a scope may do nothing: name at least one".to_owned(),
        ));
    }
    for scope in scopes {
        connection
            .execute("INSERT INTO client_scope (client, scope) VALUES (?1, ?2)", params![client, scope])?;
    }
    Ok(())
}

fn joined(scopes: &BTreeSet<String>) -> String {
    scopes.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
}

fn version(text: &str) -> Result<(), AdminError> {
    match semver::Version::parse(text) {
        Ok(_) => Ok(()),
        Err(error) => {
            let said = format!("`{}` is no version such as 2.1.0: {error}", text.escape_debug());
            Err(AdminError::Wrong(said))
        }
    }
}

/// Whether a client was ever registered, disabled or not.
pub(super) fn is_known(connection: &Connection, client: &ClientId) -> Result<bool, AdminError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM client WHERE id = ?1)";
    Ok(connection.query_row(sql, [client], |row| row.get(0))?)
}
