//! Administration of the service: clients, the on/off switch of the exchange, members and accounts, units,
//! the catalogue, the terms, connections, signing keys, and the audit log.
//!
//! Each function that changes something runs within its caller's transaction and adds an audit entry in the
//! administrator's name. A running service applies changes within five seconds: it reloads the registry and
//! the keys at that interval, and reads everything else at each request.

mod audit;
mod catalogue;
mod clients;
mod connections;
mod documents;
mod members;
mod undo;
mod unit_list;
mod units;

use rusqlite::Connection;

pub use crate::backend::DeletedData;
pub use audit::{AuditFilter, AuditPage, AuditRecord, list_audit};
pub use catalogue::{
    ImportSummary, compare_catalogue, export_catalogue, import_catalogue, list_defaults, read_catalogue,
    read_defaults, set_defaults,
};
pub use clients::{
    ClientState, LimitChanges, ListedClient, NewClient, add_client, client_state, list_clients,
    set_client_state, set_limits, set_scopes,
};
pub use connections::{ConnectionFilter, ListedConnection, end_client, end_installation, list_connections};
pub use members::{
    ListedMember, NewMember, PasswordLink, add_member, create_password_link, delete_member, list_members,
    rename_member, set_password, set_state,
};

pub use undo::written_for;
pub use unit_list::{ListedMembership, ListedUnit, list_units, remove_unit};
pub use units::{
    NewUnit, current_terms, read_units, set_administrator, set_terms, set_terms_text, set_units,
};

pub use crate::registry::is_switched_on as is_on;

use crate::backend::undo::UndoError;
use crate::idp;
use crate::ids::{ClientId, MemberId};
use crate::names::is_display_name;
use crate::records::{self, Actor, AuditEntry};
use crate::store::{EditError, StoreError};
use crate::time::Moment;

/// The actor and the time of an administrative change.
#[derive(Clone, Copy, Debug)]
pub struct AdminContext<'a> {
    as_actor: Actor<'a>,
    /// The time of the change.
    pub now: Moment,
}

/// The reason an administrative function failed. A function that fails has changed nothing once its
/// transaction is rolled back.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AdminError {
    /// The object does not exist.
    #[error("unknown {what} `{id}`")]
    NotFound {
        /// The kind of object, such as `client`.
        what: &'static str,
        /// The id of the object.
        id: String,
    },
    /// The object already exists.
    #[error("{what} `{id}` already exists")]
    AlreadyExists {
        /// The kind of object with an indefinite article, such as `a client`.
        what: &'static str,
        /// The id of the object.
        id: String,
    },
    /// A value is invalid; the message describes the problem.
    #[error("{0}")]
    Invalid(String),
    /// A client's writes could not be undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The store could not be opened for editing.
    #[error(transparent)]
    Edit(#[from] EditError),
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for AdminError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Store(error.into())
    }
}

impl<'a> AdminContext<'a> {
    /// Creates a context for an administrator at a command line, by name.
    ///
    /// # Errors
    /// Returns [`AdminError::Invalid`] unless the name is a display name of at most 128 visible characters.
    pub fn new(name: &'a str, now: Moment) -> Result<Self, AdminError> {
        Ok(Self { as_actor: Actor::Administrator(check_name("an administrator's name", name, 128)?), now })
    }

    /// Creates a context for a member who administers the service on the web pages. The audit distinguishes
    /// such members from administrators at a command line.
    #[must_use]
    pub const fn for_member(member: &'a MemberId, now: Moment) -> Self {
        Self { as_actor: Actor::Member(member), now }
    }

    const fn actor(&self) -> Actor<'_> {
        self.as_actor
    }

    fn record_audit(
        &self,
        connection: &Connection,
        client: Option<&ClientId>,
        (action, subject): (&str, &str),
        detail: &str,
    ) -> Result<(), StoreError> {
        records::record_audit(
            connection,
            self.now,
            self.actor(),
            AuditEntry { client, action, subject, detail },
        )
    }
}

/// Switches the exchange on or off (ERR-39).
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails.
pub fn set_switch(connection: &Connection, admin: &AdminContext<'_>, on: bool) -> Result<(), AdminError> {
    let value = if on { "on" } else { "off" };
    connection.execute(
        "INSERT INTO setting (name, value) VALUES ('exchange', ?1) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        [value],
    )?;
    Ok(admin.record_audit(connection, None, ("switch", "exchange"), value)?)
}

/// Rotates the signing key of access tokens. The old key stays published until its tokens have expired.
///
/// # Errors
/// Returns [`AdminError::Store`] if the database fails or no key can be generated.
pub fn rotate_keys(connection: &Connection, admin: &AdminContext<'_>) -> Result<(), AdminError> {
    idp::rotate_signing_key(connection, admin.now)?;
    Ok(admin.record_audit(connection, None, ("keys.rotate", "access tokens"), "")?)
}

/// Returns the name if it is a display name of at most `limit` visible characters.
fn check_name<'a>(what: &str, text: &'a str, limit: usize) -> Result<&'a str, AdminError> {
    if is_display_name(text, limit) {
        return Ok(text);
    }
    let message = format!(
        "{what} must have 1 to {limit} visible characters, without whitespace around them; `{}` does not",
        text.escape_debug()
    );
    Err(AdminError::Invalid(message))
}

/// Returns the identifier if it has at most `limit` characters, all of which are safe in URLs and logs.
fn check_id<'a>(what: &str, id: &'a str, limit: usize) -> Result<&'a str, AdminError> {
    let usual = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    if (1..=limit).contains(&id.len()) && id.bytes().all(usual) {
        return Ok(id);
    }
    let message = format!(
        "{what} must have 1 to {limit} letters, digits, `-`, `.`, `_` or `~`; `{}` does not",
        id.escape_debug()
    );
    Err(AdminError::Invalid(message))
}
